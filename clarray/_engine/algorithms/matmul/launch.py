"""Run matrix products eagerly: choose between narrow, packed and tiled kernels, and launch them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.matmul.launch_narrow import PreparedNarrow, prepare_narrow, run_narrow
from clarray._engine.algorithms.matmul.launch_self_test import passes_self_test, tensor_tiles
from clarray._engine.algorithms.matmul.plan import (
    Matrix,
    OperandLoad,
    PackedPlan,
    Parts,
    Problem,
    StridedProduct,
    TiledPlan,
    Update,
    accumulation_depth,
    batch_numbers,
    choose_blocks,
    choose_load,
    choose_parts,
    merge_batch,
    pack_plan,
    packed_plan,
    smallest_tile,
    tile_limits,
    work_dtype,
)
from clarray._engine.algorithms.matmul.plan_narrow import is_narrow
from clarray._engine.algorithms.matmul.policy import MatmulPolicy
from clarray._engine.algorithms.matmul.policy_tensor import WarpTile
from clarray._engine.algorithms.matmul.source import pack_source, packed_source, tiled_source
from clarray._engine.codegen.render import Source
from clarray._engine.expr import build
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import leaf_arguments
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import fold_monoid, reduction_op
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Kernel
from clarray._engine.writing import write

_FLOAT64 = np.dtype(np.float64)
_ALIGNMENT_PERIOD = 16  # in elements: the alignment of vectors depends only on offsets modulo this number


def matmul(a: Node, b: Node, target: Node) -> None:
    """Multiply matrices into a leaf.

    Parameters
    ----------
    a, b : Node
        Leaves of shapes (..., m, k) and (..., k, n) with equal batch axes, none of them empty. A batch axis may have
        stride 0. The dtypes must convert safely to the dtype of the sums.
    target : Node
        A contiguous leaf (..., m, n) that shares no memory with the operands.
    """
    device = device_of(a, b, target)
    with device.lock:
        cache = kernel_cache_of(device)
        _run(cache, a, b, target)
        if (a.flags | b.flags) & EAGER or (target.memory is not None and target.memory.shared):
            device.synchronize()


def _run(cache: KernelCache, a: Node, b: Node, target: Node) -> None:
    stream = _is_streamed(cache, target)
    # packed products load their vectors from panels, so the alignment of the operands does not matter
    alignment = () if cache.policies.matmul.packed else tuple(n.offset % _ALIGNMENT_PERIOD for n in (a, b, target))
    key = ("matmul", a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, target.dtype, alignment, stream)
    prepared = cache.value_for(key, _prepare, cache, a, b, target, stream)
    if isinstance(prepared, PreparedNarrow):
        run_narrow(prepared, a, b, target)
    elif isinstance(prepared, PreparedPacked):
        _run_packed(cache, prepared, a, b, target)
    else:
        _run_tiled(cache, prepared, a, b, target)


def _strided_product(a: Node, b: Node, work: np.dtype, update: Update | None = None) -> StridedProduct:
    """Describe the product of two leaves that is summed in the dtype `work`."""
    batch, (ab, bb) = merge_batch(a.shape[:-2], (a.strides[:-2], b.strides[:-2]))
    return StridedProduct(
        Problem(a.shape[-2], b.shape[-1], a.shape[-1], batch),
        Matrix(a.strides[-2], a.strides[-1], ab, a.offset, a.dtype.itemsize),
        Matrix(b.strides[-1], b.strides[-2], bb, b.offset, b.dtype.itemsize),
        work,
        update,
    )


def _run_tiled(cache: KernelCache, product: StridedProduct, a: Node, b: Node, target: Node) -> None:
    work = product.work
    parts = _choose_parts(cache, product, converted=not a.dtype == b.dtype == work)
    depth = _accumulation_depth(cache, parts, work)
    accumulated = not cache.policies.matmul.total and depth < parts.part_depth
    out = _output_of_sums(cache, target, work, parts.parts, accumulated)
    _tiled_launch(cache, product, parts, depth, (a, b, out)).run()
    if out is not target:
        _add_parts(out, target)


def update_launch(
    cache: KernelCache, a: Node, b: Node, target: Node, lower: bool = False, conjugated: bool = False
) -> Launch:
    """Return the launch of ``target -= a @ b``, in tiles.

    Parameters
    ----------
    a, b, target : Node
        Leaves (m, k), (k, n) and (m, n) of one floating dtype, none of them empty. The rows of `target` must be
        contiguous, and `target` must share no element with the operands.
    lower : bool
        Whether elements of the target above the diagonal may have any value afterwards.
    conjugated : bool
        Whether to subtract ``a @ conj(b)``.
    """
    update = Update(lower, conjugated and target.dtype.kind == "c")
    product = _strided_product(a, b, target.dtype, update)
    parts = _choose_parts(cache, product)
    depth = _accumulation_depth(cache, parts, target.dtype)
    return _tiled_launch(cache, product, parts, depth, (a, b, target))


class PreparedProduct(NamedTuple):
    """A tiled kernel with all its arguments that depend only on shapes and strides."""

    kernel: Kernel
    groups: tuple[int, ...]
    local: tuple[int, ...]
    sizes: dict[str, Any]
    nbytes: int

    def launch(self, a: Node, b: Node, target: Node) -> Launch:
        """Return the launch of an unscaled product of leaves with the prepared shapes and strides."""
        args = self.kernel.arguments(**leaf_arguments(a=a, b=b, c=target), **self.sizes)
        return Launch(self.kernel, self.groups, self.local, args, False, self.nbytes)

    def run(self, a: Node, b: Node, target: Node, alpha: float, beta: float, other: Node) -> None:
        """Launch ``target = alpha * a @ b + beta * other`` for leaves with the prepared shapes and strides."""
        leaves = leaf_arguments(a=a, b=b, c=target)
        other_buffer = memory_of(other).buffer
        leaves |= {"dp": other_buffer, "d_o": other.offset, "ds": other.strides[-2], "dm": _matrix_stride(other)}
        args = self.kernel.arguments(alpha=alpha, beta=beta, **leaves, **self.sizes)
        self.kernel.launch(self.groups, self.local, args, False, self.nbytes)


def scaled_product(
    cache: KernelCache,
    a: Node,
    b: Node,
    target: Node,
    other: Node | None = None,
    *,
    adjoint: bool = False,
    mirrored: bool = False,
) -> PreparedProduct:
    """Prepare the launch of ``target = alpha * a @ b + beta * other``, in tiles.

    Parameters
    ----------
    a, b, target, other : Node
        Leaves (m, k), (k, n), (m, n) and (m, n) of one floating dtype, none of them empty, or stacks of equal length.
        The rows of `target` and `other` must be contiguous. At the launch no pending node may read the target, and
        the target must share no element with the operands. `other` is not read if `beta` is 0.
    adjoint : bool
        Whether to multiply ``conj(a)``.
    mirrored : bool
        Whether the sum is Hermitian. Then only its lower triangle is computed, and stored in both triangles.
    """
    nodes = (a, b, target, target if other is None else other)
    key = ("scaled", adjoint, mirrored, a.dtype, *((x.shape, x.strides, x.offset % _ALIGNMENT_PERIOD) for x in nodes))
    return cache.value_for(key, _prepare_scaled, cache, nodes, adjoint, mirrored)


def _prepare_scaled(cache: KernelCache, nodes: tuple[Node, ...], adjoint: bool, mirrored: bool) -> PreparedProduct:
    a, b, target, other = nodes
    update = Update(adjoint=adjoint and target.dtype.kind == "c", scaled=True, mirrored=mirrored)
    product = _strided_product(a, b, target.dtype, update)
    parts = _choose_parts(cache, product)
    depth = _accumulation_depth(cache, parts, target.dtype)
    return _prepare_tiled(cache, product, parts, depth, (a, b, target), other)


def _choose_parts(cache: KernelCache, product: StridedProduct, converted: bool = False) -> Parts:
    """Choose the tile of a product and the split of its summed axis.

    Parameters
    ----------
    converted : bool
        Whether the kernel converts elements while it loads them, which asynchronous copies cannot.
    """
    update = product.update
    limits = tile_limits(cache.capabilities)
    while True:
        tensor = tensor_tiles(cache) if product.work == _FLOAT64 else ()
        if update is not None and update.scaled:  # the kernel scales the sum when it stores it, so only once
            tensor = tuple(tile for tile in tensor if tile.total)
        if converted:
            tensor = tuple(tile for tile in tensor if not tile.copied)
        parts = choose_parts(
            product.problem,
            product.work.itemsize,
            cache.policies.matmul,
            limits,
            split=update is None,
            tensor=tensor,
            lower=update is not None and (update.lower or update.mirrored),
        )
        if not isinstance(parts.tile, WarpTile) or passes_self_test(cache, parts.tile, _tiled_launch):
            return parts


def _accumulation_depth(cache: KernelCache, parts: Parts, work: np.dtype) -> int:
    """Return the number of products that are added up before their sum is added to a second sum."""
    return parts.part_depth if work.kind in "iu" else accumulation_depth(cache.policies.matmul, parts.tile)


def _tiled_launch(
    cache: KernelCache, product: StridedProduct, parts: Parts, depth: int, nodes: tuple[Node, Node, Node]
) -> Launch:
    """Return the launch that multiplies the first two leaves into the third."""
    return _prepare_tiled(cache, product, parts, depth, nodes).launch(*nodes)


def _prepare_tiled(
    cache: KernelCache,
    product: StridedProduct,
    parts: Parts,
    depth: int,
    nodes: tuple[Node, Node, Node],
    other: Node | None = None,
) -> PreparedProduct:
    """Prepare the kernel that multiplies two leaves into a third, and adds `other` if the product is scaled."""
    problem, left, right, _, update = product
    out, tile = nodes[2], parts.tile
    plan = _tiled_plan(cache.policies.matmul, product, tile, nodes, other)
    kernel = _kernel(cache, plan, tiled_source)
    sizes: dict[str, Any] = {"m": problem.m, "n": problem.n, "k": problem.k}
    sizes |= {"as": left.outer, "ak": left.inner, "bs": right.outer, "bk": right.inner}
    sizes |= {"parts": parts.parts, "part_depth": parts.part_depth, "depth": depth, "matrices": problem.matrices}
    sizes["batch"] = batch_numbers(problem.batch, left.batch, right.batch)
    if update is not None:
        sizes["cs"] = out.strides[-2]
    if update is not None and update.scaled:
        sizes["cm"] = _matrix_stride(out)
    groups = -(-problem.m // tile.rows) * -(-problem.n // tile.columns) * problem.matrices * parts.parts
    nbytes = sum(n.size * n.dtype.itemsize for n in nodes)
    return PreparedProduct(kernel, (groups,), (tile.work_items,), sizes, nbytes)


def _tiled_plan(
    policy: MatmulPolicy,
    product: StridedProduct,
    tile: Any,
    nodes: tuple[Node, Node, Node],
    other: Node | None,
) -> TiledPlan:
    """Choose the loads and stores of a tile."""
    a, b, out = nodes
    problem, left, right, work, update = product
    widest = max(1, policy.vector_bytes // work.itemsize) if work.kind != "c" else 1
    lanes = min(widest, 2) if isinstance(tile, WarpTile) else min(widest, tile.item_rows, tile.item_columns)
    loads = tuple(
        choose_load(matrix, extent, node.dtype, work, tile, lanes)
        for matrix, extent, node in ((left, problem.m, a), (right, problem.n, b))
    )
    vectors = out.dtype.itemsize == work.itemsize and out.dtype.kind != "b" and out.offset % lanes == 0
    if update is not None:
        stored = (out,) if other is None else (out, other)
        vectors = vectors and not any(step % lanes for x in stored for step in (x.offset, *x.strides[:-1]))
    return TiledPlan(
        tile=tile,
        work=work,
        a=_divisible_load(loads[0], tile.rows, tile),
        b=_divisible_load(loads[1], tile.columns, tile),
        out=out.dtype,
        out_vectors=vectors and problem.n % lanes == 0 and lanes > 1,
        lanes=lanes,
        rank=len(problem.batch),
        policy=policy,
        update=update,
    )


def _matrix_stride(stack: Node) -> int:
    """Return the stride between the matrices of a stack, or 0 for a single matrix."""
    return stack.strides[0] if len(stack.shape) > 2 else 0


def _sum_dtype(dtype: np.dtype, work: np.dtype, parts: int, accumulated: bool) -> np.dtype:
    """Return the dtype that a kernel stores its sums in.

    That is the dtype of the result, or a wider one if sums are split into parts or `accumulated` in memory.
    """
    if parts == 1 and not (accumulated and wide_dtype(dtype) != dtype):
        return dtype
    return dtype if work.kind in "iu" else work


def _output_of_sums(cache: KernelCache, target: Node, work: np.dtype, parts: int, accumulated: bool) -> Node:
    """Return the leaf that a kernel stores its sums in: the target, or a new stack of partial sums."""
    dtype = _sum_dtype(target.dtype, work, parts, accumulated)
    if parts == 1 and dtype == target.dtype:
        return target
    memory = cache.device.allocate(parts * target.size * dtype.itemsize)
    return contiguous_leaf(memory, (parts, *target.shape), dtype)


def _kernel(cache: KernelCache, plan: Any, write_source: Callable[..., Source]) -> Kernel:
    return cache.kernel_for(("matmul", plan), write_source, plan, cache.capabilities)


class PreparedPacking(NamedTuple):
    """A kernel that packs an operand, with all its arguments that depend only on shapes and strides."""

    kernel: Kernel
    nbytes: int
    sizes: dict[str, Any]
    groups: int
    strides: list[int]  # of the packed matrices along each batch axis, in matrices


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPacked:
    """The kernels of a packed product, with all their arguments that depend only on shapes and strides."""

    kernel: Kernel
    left: PreparedPacking
    right: PreparedPacking
    sizes: dict[str, Any]
    groups: int
    parts: int
    accumulated: bool  # whether sums are loaded from the output and stored again
    inline: bool


def _is_streamed(cache: KernelCache, target: Node) -> bool:
    """Return whether to store a result past the caches: it is large and starts at a cache line."""
    itemsize, least = target.dtype.itemsize, cache.policies.elementwise.stream_bytes
    return 0 < least <= target.size * itemsize and target.offset * itemsize % 64 == 0


def _prepare(
    cache: KernelCache, a: Node, b: Node, target: Node, stream: bool
) -> PreparedPacked | PreparedNarrow | StridedProduct:
    policy = cache.policies.matmul
    product = _strided_product(a, b, work_dtype(target.dtype))
    problem = product.problem
    if is_narrow(policy, problem.m * problem.matrices, problem.n, problem.k, target.dtype):
        return prepare_narrow(cache, product, (a, b, target), stream)
    return _prepare_packed(cache, product, (a, b, target)) if policy.packed else product


def _prepare_packed(cache: KernelCache, product: StridedProduct, nodes: tuple[Node, Node, Node]) -> PreparedPacked:
    a, b, target = nodes
    policy = cache.policies.matmul
    problem, left, right, work, _ = product
    plan = packed_plan(problem, work, target.dtype, policy, cache.capabilities.wide_registers)
    blocks = choose_blocks(problem, plan, cache.units)
    accumulated = policy.depth < blocks.part_depth
    plan = replace(plan, out=_sum_dtype(target.dtype, work, blocks.parts, accumulated))
    a_packing = _prepare_packing(cache, problem, left, problem.m, a.dtype, plan, plan.rows)
    b_packing = _prepare_packing(cache, problem, right, problem.n, b.dtype, plan, plan.vectors * plan.lanes)
    sizes: dict[str, Any] = {"m": problem.m, "n": problem.n, "k": problem.k}
    sizes |= {"block_rows": blocks.rows, "block_columns": blocks.columns, "parts": blocks.parts}
    sizes |= {"part_depth": blocks.part_depth, "depth": policy.depth, "matrices": problem.matrices}
    sizes["batch"] = batch_numbers(problem.batch, a_packing.strides, b_packing.strides)
    return PreparedPacked(
        kernel=_kernel(cache, plan, packed_source),
        left=a_packing,
        right=b_packing,
        sizes=sizes,
        groups=blocks.down * blocks.across * blocks.parts * problem.matrices,
        parts=blocks.parts,
        accumulated=accumulated,
        inline=problem.m * problem.n * problem.k * problem.matrices <= policy.inline_work,
    )


def _prepare_packing(
    cache: KernelCache,
    problem: Problem,
    matrix: Matrix,
    extent: int,
    dtype: np.dtype,
    plan: PackedPlan,
    width: int,
) -> PreparedPacking:
    axes = [axis for axis, stride in enumerate(matrix.batch) if stride]
    strides = [0] * len(problem.batch)
    matrices = 1
    for axis in reversed(axes):
        strides[axis] = matrices
        matrices *= problem.batch[axis]
    panels = -(-extent // width) * matrices
    units = panels * -(-problem.k // plan.policy.pack_block)
    sizes: dict[str, Any] = {"extent": extent, "k": problem.k, "outer": matrix.outer, "inner": matrix.inner}
    batch = [(problem.batch[axis], matrix.batch[axis]) for axis in axes]
    sizes |= {"units": units, "batch": batch_numbers(*zip(*batch, strict=True))}
    kernel = _kernel(cache, pack_plan(matrix, dtype, plan, width), pack_source)
    nbytes = panels * width * problem.k * plan.work.itemsize
    return PreparedPacking(kernel, nbytes, sizes, max(1, min(units, 4 * cache.units)), strides)


def _run_packed(cache: KernelCache, prepared: PreparedPacked, a: Node, b: Node, target: Node) -> None:
    panels = []
    for node, packing in ((a, prepared.left), (b, prepared.right)):
        memory = cache.device.allocate(packing.nbytes)
        panels.append(memory)
        args = packing.kernel.arguments(pp=memory.buffer, **leaf_arguments(x=node), **packing.sizes)
        nbytes = 2 * packing.nbytes
        Launch(packing.kernel, (packing.groups,), (1,), args, prepared.inline, nbytes, memory).run()
    out = _output_of_sums(cache, target, work_dtype(target.dtype), prepared.parts, prepared.accumulated)
    ap, bp = (m.buffer for m in panels)
    args = prepared.kernel.arguments(ap=ap, bp=bp, **leaf_arguments(c=out), **prepared.sizes)
    nbytes = prepared.left.nbytes + prepared.right.nbytes + out.size * out.dtype.itemsize
    Launch(prepared.kernel, (prepared.groups,), (1,), args, prepared.inline, nbytes, panels).run()
    if out is not target:
        _add_parts(out, target)


def _divisible_load(load: OperandLoad, extent: int, tile: Any) -> OperandLoad:
    """Fall back to scalar loads if the vectors of a tile do not divide evenly among its work-items."""
    if extent * tile.depth // load.lanes % tile.work_items:
        return OperandLoad(load.dtype, load.along, 1)
    return load


def _add_parts(parts: Node, target: Node) -> None:
    """Add the partial sums into the result, in the order of the parts."""
    ufunc = np.logical_or if target.dtype.kind == "b" else np.add
    op = reduction_op(fold_monoid(ufunc, parts.dtype), (0,), len(parts.shape), False)
    total = build.reduction(op, (parts,), target.shape)
    if total.dtype != target.dtype:
        total = build.unary(cast_loop(target.dtype), total)
    write(target, total)


def worthwhile(policy: MatmulPolicy, m: int, n: int, k: int, dtype: np.dtype, matrices: int = 1) -> bool:
    """Return whether a matrix kernel multiplies a stack of `matrices` faster than a fused reduction."""
    if m == 1 or n == 1 or k == 1:
        return False
    if is_narrow(policy, m * matrices, n, k, dtype):
        return True
    rows, columns = smallest_tile(policy, work_dtype(dtype))
    padded = -(-m // rows) * rows * -(-n // columns) * columns
    return padded <= policy.waste * m * n


__all__ = ["matmul", "scaled_product", "update_launch", "worthwhile"]
