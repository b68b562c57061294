"""Launches of matrix products: made and run at once, the result is memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.matmul.launch_narrow import Narrow, prepare_narrow, run_narrow
from clarray._engine.algorithms.matmul.launch_trial import is_trusted, tensor_tiles
from clarray._engine.algorithms.matmul.plan import (
    Matrix,
    PackedPlan,
    Parts,
    Problem,
    Side,
    TiledPlan,
    Update,
    batch_numbers,
    choose_blocks,
    choose_parts,
    merge_batch,
    pack_plan,
    packed_plan,
    rounded,
    side_of,
    smallest,
    work_dtype,
)
from clarray._engine.algorithms.matmul.plan_narrow import takes_narrow
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
_PLACES = 16  # offsets that differ by a multiple of so many elements are alike to vectors


def matmul(a: Node, b: Node, target: Node) -> None:
    """Multiply matrices into a leaf.

    Parameters
    ----------
    a, b : Node
        Leaves of shapes (..., m, k) and (..., k, n), of equal batch axes (which may repeat: stride 0); nothing empty.
        Their dtypes must convert safely to the one that is summed in.
    target : Node
        A contiguous leaf (..., m, n) that shares no memory with the operands.
    """
    device = device_of((a, b, target))
    with device.lock:
        cache = kernel_cache_of(device)
        _run(cache, a, b, target)
        if (a.flags | b.flags) & EAGER or (target.memory is not None and target.memory.shared):
            device.synchronize()


def _run(cache: KernelCache, a: Node, b: Node, target: Node) -> None:
    stream = _streamed(cache, target)
    # where a CPU's vectors begin is all the same
    places = () if cache.policies.matmul.packed else tuple(node.offset % _PLACES for node in (a, b, target))
    key = ("matmul", a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, target.dtype, places, stream)
    found = cache.value_for(key, _prepare, cache, a, b, target, stream)
    if isinstance(found, Narrow):
        run_narrow(found, a, b, target)
    elif isinstance(found, Packed):
        _packed(cache, found, a, b, target)
    else:
        _tiled(cache, *found, work_dtype(target.dtype), a, b, target)


def _matrices(a: Node, b: Node) -> tuple[Problem, Matrix, Matrix]:
    batch, (ab, bb) = merge_batch(a.shape[:-2], (a.strides[:-2], b.strides[:-2]))
    return (
        Problem(a.shape[-2], b.shape[-1], a.shape[-1], batch),
        Matrix(a.strides[-2], a.strides[-1], ab, a.offset, a.dtype.itemsize),
        Matrix(b.strides[-1], b.strides[-2], bb, b.offset, b.dtype.itemsize),
    )


def _tiled(
    cache: KernelCache,
    problem: Problem,
    left: Matrix,
    right: Matrix,
    work: np.dtype,
    a: Node,
    b: Node,
    target: Node,
) -> None:
    found = _parts(cache, problem, work, converted=not a.dtype == b.dtype == work)
    depth = _depth(cache, found, work)
    out = _sums(cache, target, work, found.parts, not cache.policies.matmul.total and depth < found.part_depth)
    _tiled_launch(cache, problem, left, right, work, found, (a, b, out), depth).run()
    if out is not target:
        _add_parts(out, target)


def update_launch(
    cache: KernelCache, a: Node, b: Node, target: Node, lower: bool = False, conjugated: bool = False
) -> Launch:
    """The launch of ``target -= a @ b``, in tiles.

    Parameters
    ----------
    a, b, target : Node
        Leaves (m, k), (k, n) and (m, n) of one floating dtype, nothing empty; the elements of a row of `target` follow
        each other, and none is an operand's.
    lower : bool
        What lies above the diagonal of the target may be subtracted from or not.
    conjugated : bool
        Subtract ``a @ conj(b)``.
    """
    update = Update(lower, conjugated and target.dtype.kind == "c")
    problem, left, right = _matrices(a, b)
    found = _parts(cache, problem, target.dtype, False, update)
    depth = _depth(cache, found, target.dtype)
    return _tiled_launch(cache, problem, left, right, target.dtype, found, (a, b, target), depth, update)


class Product(NamedTuple):
    """The launch of a product in tiles, with every argument that follows from shapes and strides."""

    kernel: Kernel
    groups: tuple[int, ...]
    local: tuple[int, ...]
    sizes: dict[str, Any]
    nbytes: int

    def launch(self, a: Node, b: Node, target: Node) -> Launch:
        """The launch of a product that is not scaled, of such leaves as it was made for."""
        args = self.kernel.arguments(**leaf_arguments(a=a, b=b, c=target), **self.sizes)
        return Launch(self.kernel, self.groups, self.local, args, False, self.nbytes)

    def run(self, a: Node, b: Node, target: Node, alpha: float, beta: float, other: Node) -> None:
        """Launch ``target = alpha * a @ b + beta * other`` for such leaves as it was made for."""
        place = leaf_arguments(a=a, b=b, c=target)
        place |= {"dp": memory_of(other).buffer, "d_o": other.offset, "ds": other.strides[-2], "dm": _apart(other)}
        args = self.kernel.arguments(alpha=alpha, beta=beta, **place, **self.sizes)
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
) -> Product:
    """The launch of ``target = alpha * a @ b + beta * other``, in tiles.

    Parameters
    ----------
    a, b, target, other : Node
        Leaves (m, k), (k, n), (m, n) and (m, n) of one floating dtype, nothing empty, or stacks of as many of each;
        the elements of a row of `target` and of `other` follow each other. When it runs nothing pending reads the
        target, and none of its elements is an operand's. `other` is not read where `beta` is 0.
    adjoint : bool
        Take ``conj(a)``.
    mirrored : bool
        The sum is Hermitian: it is computed below and on the diagonal, and stored on both sides.
    """
    nodes = (a, b, target, target if other is None else other)
    key = ("scaled", adjoint, mirrored, a.dtype, *((x.shape, x.strides, x.offset % _PLACES) for x in nodes))
    return cache.value_for(key, _prepare_scaled, cache, nodes, adjoint, mirrored)


def _prepare_scaled(cache: KernelCache, nodes: tuple[Node, ...], adjoint: bool, mirrored: bool) -> Product:
    a, b, target, other = nodes
    update = Update(adjoint=adjoint and target.dtype.kind == "c", scaled=True, mirrored=mirrored)
    problem, left, right = _matrices(a, b)
    found = _parts(cache, problem, target.dtype, False, update)
    depth = _depth(cache, found, target.dtype)
    return _tiled_product(cache, problem, left, right, target.dtype, found, (a, b, target), depth, update, other)


def _parts(
    cache: KernelCache,
    problem: Problem,
    work: np.dtype,
    split: bool = True,
    update: Update | None = None,
    converted: bool = False,
) -> Parts:
    device = cache.capabilities
    while True:
        tensor = tensor_tiles(cache) if work == _FLOAT64 else ()
        if update is not None and update.scaled:  # is stored once
            tensor = tuple(tile for tile in tensor if tile.total)
        if converted:
            tensor = tuple(tile for tile in tensor if not tile.copied)
        found = choose_parts(
            problem,
            work.itemsize,
            cache.units,
            device.local_bytes,
            device.max_work_group,
            cache.policies.matmul,
            split,
            tensor,
            update is not None and (update.lower or update.mirrored),
        )
        if not isinstance(found.tile, WarpTile) or is_trusted(cache, found.tile, _tiled_launch):
            return found


def _depth(cache: KernelCache, found: Parts, work: np.dtype) -> int:
    """How many products are added up before their sum is added to a second one."""
    return found.part_depth if work.kind in "iu" else rounded(cache.policies.matmul, found.tile)


def _tiled_launch(
    cache: KernelCache,
    problem: Problem,
    left: Matrix,
    right: Matrix,
    work: np.dtype,
    found: Parts,
    nodes: tuple[Node, Node, Node],
    depth: int,
    update: Update | None = None,
) -> Launch:
    """The launch that multiplies the first two leaves into the third."""
    return _tiled_product(cache, problem, left, right, work, found, nodes, depth, update).launch(*nodes)


def _tiled_product(
    cache: KernelCache,
    problem: Problem,
    left: Matrix,
    right: Matrix,
    work: np.dtype,
    found: Parts,
    nodes: tuple[Node, Node, Node],
    depth: int,
    update: Update | None = None,
    other: Node | None = None,
) -> Product:
    """Plan the product of two leaves into a third."""
    a, b, out = nodes
    policy, tile = cache.policies.matmul, found.tile
    most = max(1, policy.vector_bytes // work.itemsize) if work.kind != "c" else 1
    lanes = min(most, 2) if isinstance(tile, WarpTile) else min(most, tile.item_rows, tile.item_columns)
    sides = tuple(
        side_of(matrix, extent, node.dtype, work, tile, lanes)
        for matrix, extent, node in ((left, problem.m, a), (right, problem.n, b))
    )
    whole = out.dtype.itemsize == work.itemsize and out.dtype.kind != "b" and out.offset % lanes == 0
    beside = (out,) if other is None else (out, other)
    if update is not None:
        whole = whole and not any(step % lanes for x in beside for step in (x.offset, *x.strides[:-1]))
    plan = TiledPlan(
        tile=tile,
        work=work,
        a=_fitting(sides[0], tile.rows, tile),
        b=_fitting(sides[1], tile.columns, tile),
        out=out.dtype,
        out_vectors=whole and problem.n % lanes == 0 and lanes > 1,
        lanes=lanes,
        rank=len(problem.batch),
        policy=policy,
        update=update,
    )
    kernel = _kernel(cache, plan, tiled_source)
    sizes: dict[str, Any] = {"m": problem.m, "n": problem.n, "k": problem.k}
    sizes |= {"as": left.outer, "ak": left.inner, "bs": right.outer, "bk": right.inner}
    sizes |= {"parts": found.parts, "part_depth": found.part_depth, "depth": depth, "matrices": problem.matrices}
    sizes["batch"] = batch_numbers(problem.batch, left.batch, right.batch)
    if update is not None:
        sizes["cs"] = out.strides[-2]
    if update is not None and update.scaled:
        sizes["cm"] = _apart(out)
    groups = -(-problem.m // tile.rows) * -(-problem.n // tile.columns) * problem.matrices * found.parts
    nbytes = sum(n.size * n.dtype.itemsize for n in nodes)
    return Product(kernel, (groups,), (tile.work_items,), sizes, nbytes)


def _apart(stack: Node) -> int:
    """How far the matrices of a stack, or the one that there is, lie from each other."""
    return stack.strides[0] if len(stack.shape) > 2 else 0


def _sum_dtype(dtype: np.dtype, work: np.dtype, parts: int, again: bool) -> np.dtype:
    """What the kernel sums into: the result's dtype, or a wider one for parts and for what is read again."""
    if parts == 1 and not (again and wide_dtype(dtype) != dtype):
        return dtype
    return dtype if work.kind in "iu" else work


def _sums(cache: KernelCache, target: Node, work: np.dtype, parts: int, again: bool) -> Node:
    """Where the kernel puts its sums: the result, or memory for its parts."""
    dtype = _sum_dtype(target.dtype, work, parts, again)
    if parts == 1 and dtype == target.dtype:
        return target
    memory = cache.device.allocate(parts * target.size * dtype.itemsize)
    return contiguous_leaf(memory, (parts, *target.shape), dtype)


def _kernel(cache: KernelCache, plan: Any, write_source: Callable[..., Source]) -> Kernel:
    key = ("matmul", plan)
    found = cache.kernel_for(key, write_source, plan, cache.capabilities)
    kernel: Kernel = found
    return kernel


class Packing(NamedTuple):
    """The launch that packs an operand, with every argument that follows from shapes and strides."""

    kernel: Kernel
    nbytes: int
    sizes: dict[str, Any]
    groups: int
    steps: list[int]  # how many matrices lie between two along each axis of the batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The launches of a packed product."""

    kernel: Kernel
    left: Packing
    right: Packing
    sizes: dict[str, Any]
    groups: int
    parts: int
    again: bool  # the sum goes to memory more than once
    inline: bool


def _streamed(cache: KernelCache, target: Node) -> bool:
    """Whether a result is written past the caches, if that is possible: it is large, and begins where a line does."""
    itemsize, least = target.dtype.itemsize, cache.policies.elementwise.stream_bytes
    return 0 < least <= target.size * itemsize and target.offset * itemsize % 64 == 0


def _prepare(
    cache: KernelCache, a: Node, b: Node, target: Node, stream: bool
) -> Packed | Narrow | tuple[Problem, Matrix, Matrix]:
    policy = cache.policies.matmul
    problem, left, right = _matrices(a, b)
    if takes_narrow(policy, problem.m * problem.matrices, problem.n, problem.k, target.dtype):
        return prepare_narrow(cache, problem, (left, right), (a, b, target), cache.capabilities.wide_registers, stream)
    if not policy.packed:
        return problem, left, right
    return _prepare_packed(cache, problem, left, right, (a, b, target))


def _prepare_packed(
    cache: KernelCache, problem: Problem, left: Matrix, right: Matrix, nodes: tuple[Node, Node, Node]
) -> Packed:
    a, b, target = nodes
    policy = cache.policies.matmul
    work = work_dtype(target.dtype)
    plan = packed_plan(problem, work, target.dtype, policy, cache.capabilities.wide_registers)
    blocks = choose_blocks(problem, plan, cache.units)
    again = policy.depth < blocks.part_depth
    plan = replace(plan, out=_sum_dtype(target.dtype, work, blocks.parts, again))
    one = _prepare_packing(cache, problem, left, problem.m, a.dtype, plan, plan.rows)
    two = _prepare_packing(cache, problem, right, problem.n, b.dtype, plan, plan.vectors * plan.lanes)
    sizes: dict[str, Any] = {"m": problem.m, "n": problem.n, "k": problem.k}
    sizes |= {"block_rows": blocks.rows, "block_columns": blocks.columns, "parts": blocks.parts}
    sizes |= {"part_depth": blocks.part_depth, "depth": policy.depth, "matrices": problem.matrices}
    sizes["batch"] = batch_numbers(problem.batch, one.steps, two.steps)
    return Packed(
        kernel=_kernel(cache, plan, packed_source),
        left=one,
        right=two,
        sizes=sizes,
        groups=blocks.down * blocks.across * blocks.parts * problem.matrices,
        parts=blocks.parts,
        again=again,
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
) -> Packing:
    axes = [axis for axis, step in enumerate(matrix.batch) if step]
    steps = [0] * len(problem.batch)
    matrices = 1
    for axis in reversed(axes):
        steps[axis] = matrices
        matrices *= problem.batch[axis]
    panels = -(-extent // width) * matrices
    units = panels * -(-problem.k // plan.policy.pack_block)
    sizes: dict[str, Any] = {"extent": extent, "k": problem.k, "outer": matrix.outer, "inner": matrix.inner}
    batch = [(problem.batch[axis], matrix.batch[axis]) for axis in axes]
    sizes |= {"units": units, "batch": batch_numbers(*zip(*batch, strict=True))}
    kernel = _kernel(cache, pack_plan(matrix, dtype, plan, width), pack_source)
    nbytes = panels * width * problem.k * plan.work.itemsize
    return Packing(kernel, nbytes, sizes, max(1, min(units, 4 * cache.units)), steps)


def _packed(cache: KernelCache, found: Packed, a: Node, b: Node, target: Node) -> None:
    panels = []
    for node, packing in ((a, found.left), (b, found.right)):
        memory = cache.device.allocate(packing.nbytes)
        panels.append(memory)
        args = packing.kernel.arguments(pp=memory.buffer, **leaf_arguments(x=node), **packing.sizes)
        nbytes = 2 * packing.nbytes
        Launch(packing.kernel, (packing.groups,), (1,), args, found.inline, nbytes, memory).run()
    out = _sums(cache, target, work_dtype(target.dtype), found.parts, found.again)
    ap, bp = (m.buffer for m in panels)
    args = found.kernel.arguments(ap=ap, bp=bp, **leaf_arguments(c=out), **found.sizes)
    nbytes = found.left.nbytes + found.right.nbytes + out.size * out.dtype.itemsize
    Launch(found.kernel, (found.groups,), (1,), args, found.inline, nbytes, panels).run()
    if out is not target:
        _add_parts(out, target)


def _fitting(side: Side, outer: int, tile: Any) -> Side:
    """Vectors only where they divide the work between all work-items."""
    if outer * tile.depth // side.lanes % tile.work_items:
        return Side(side.dtype, side.along, 1)
    return side


def _add_parts(parts: Node, target: Node) -> None:
    """Add the sums of the parts, in their order, into the result."""
    ufunc = np.logical_or if target.dtype.kind == "b" else np.add
    op = reduction_op(fold_monoid(ufunc, parts.dtype), (0,), len(parts.shape), False)
    total = build.reduction(op, (parts,), target.shape)
    if total.dtype != target.dtype:
        total = build.unary(cast_loop(target.dtype), total)
    write(target, total)


def worthwhile(policy: MatmulPolicy, m: int, n: int, k: int, dtype: np.dtype, matrices: int = 1) -> bool:
    """Whether products of so many matrices are quicker with tiles, panels or rows in registers than as a reduction."""
    if m == 1 or n == 1 or k == 1:
        return False
    if takes_narrow(policy, m * matrices, n, k, dtype):
        return True
    rows, columns = smallest(policy, work_dtype(dtype))
    padded = -(-m // rows) * rows * -(-n // columns) * columns
    return padded <= policy.waste * m * n


__all__ = ["matmul", "scaled_product", "update_launch", "worthwhile"]
