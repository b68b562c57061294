"""Launches of elementwise kernels.

Small arrays take the flat path: all operands are contiguous or have one element. It makes the key and the arguments
in one walk over the inputs. All other operands take the strided path, whose loops and arguments are prepared once
for each combination of shapes and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.layout import (
    ALIGNMENT,
    COUNT,
    INT_LIMIT,
    STEPPED,
    UNIT,
    ZERO,
    Shape,
    Space,
    access,
    aligned,
    collapse,
    explicit_width,
    furthest,
    index_type,
    starts_aligned,
    vector_width,
)
from clarray._engine.expr.node import CONST, INDEX, Node, leaf
from clarray._engine.expr.view import contiguous
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.elementwise.plan import STAGED_LIMIT, TILE, ElementwisePlan, groups, tile_axis
from clarray._engine.fused.elementwise.source import elementwise_source, loop_fields
from clarray._engine.launch.host_tier import HostLaunch, TieredKernel, may_compute_on_host
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import (
    Operands,
    append_flat_inputs,
    append_inputs,
    collect_operands,
    inline_limit,
)
from clarray._engine.runtime import Kernel, Memory


class FlatKernel(NamedTuple):
    """A flat kernel, and what its launches need for their grid."""

    kernel: Kernel | TieredKernel
    vector: int
    element_bytes: int  # moved per element
    single_group_bytes: int  # a launch that moves fewer bytes has one work-group
    inline_bytes: int  # a launch that moves no more bytes runs on the calling thread


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedKernel:
    """A strided kernel with the arguments that follow from shapes and strides.

    Parameters
    ----------
    shifts : tuple of int
        Added to the offsets of the inputs, for reversed axes. Empty if no axis is reversed.
    out_shift : int
        Added to the offset of the output.
    loops : tuple of int
        Values of the fields `loops`.
    stride_starts : tuple of int
        For each operand with strides: the position of the first one in `loops`.
    segment : int
        Elements of a row per work unit.
    """

    kernel: Kernel | TieredKernel
    shifts: tuple[int, ...]
    out_shift: int
    loops: tuple[int, ...]
    stride_starts: tuple[int, ...]
    groups: tuple[int, ...]
    segment: int
    nbytes: int
    inline_bytes: int


def flat_launch(
    cache: KernelCache, root: Node, memory: Memory, offset: int, allow_host_tier: bool = True
) -> Launch | HostLaunch | None:
    """Return the launch that writes `root` to memory in C order, from the element `offset` on. None if it is not flat.

    Parameters
    ----------
    allow_host_tier : bool
        Whether NumPy may compute the values if the kernel is not compiled yet.
    """
    inputs: list[Any] = []
    flat = flat_kernel(cache, root, offset, inputs)
    if flat is None:
        return None
    tiered_kernel = _uncompiled_kernel(flat) if allow_host_tier else None
    if tiered_kernel is not None:
        target = leaf(memory, root.shape, contiguous(root.shape), offset, root.dtype)
        if tiered_kernel.use_host_tier(root, target, root.size):
            kernel_launch = partial(flat_launch, cache, root, memory, offset, False)
            return HostLaunch(tiered_kernel, root, target, kernel_launch, "n")
    policy = cache.policies.elementwise
    size = root.size
    nbytes = size * flat.element_bytes
    count = 1 if nbytes < flat.single_group_bytes else groups(-(-size // flat.vector), nbytes, cache.units, policy)
    kernel, inline = resolve_kernel(flat, root), nbytes <= flat.inline_bytes
    args = kernel.arguments(inputs=inputs, yp=memory.buffer, yo=offset, loops=(size,))
    return _record(tiered_kernel, Launch(kernel, (count,), (policy.work_group,), args, inline, nbytes))


def _uncompiled_kernel(planned: FlatKernel | StridedKernel) -> TieredKernel | None:
    """Return the kernel if NumPy may still compute instead of it."""
    kernel = planned.kernel
    return kernel if isinstance(kernel, TieredKernel) and not kernel.ready else None


def _record(tiered_kernel: TieredKernel | None, launch: Launch) -> Launch:
    """Record a launch in its kernel if that is a tiered one, and return it."""
    if tiered_kernel is not None:
        tiered_kernel.record_launch(launch)
    return launch


def resolve_kernel(planned: FlatKernel | StridedKernel, root: Node) -> Kernel:
    """Return the kernel, rendered if it is a tiered one that has not been used."""
    kernel = planned.kernel
    return kernel.kernel(root) if isinstance(kernel, TieredKernel) else kernel


def flat_kernel(cache: KernelCache, root: Node, offset: int, inputs: list[Any]) -> FlatKernel | None:
    """Return the kernel of `flat_launch`, and append the inputs' arguments to `inputs`. None if it is not flat."""
    policy = cache.policies.elementwise
    explicit = policy.explicit
    graph = graph_of(root)
    key: list[Any] = [graph.signature]
    unaligned = append_flat_inputs(graph.inputs, root.shape, key, inputs, not explicit, False)
    if unaligned is None:
        return None
    size = root.size
    if not explicit and offset * root.dtype.itemsize % ALIGNMENT:
        unaligned = True
    stream = 0 < policy.stream_bytes <= size * root.dtype.itemsize and offset * root.dtype.itemsize % 64 == 0
    key.append((stream, size < INT_LIMIT, unaligned))
    return cache.value_for(tuple(key), _prepare_flat, cache, root, not unaligned, stream)


def _flat_access(node: Node, shape: tuple[int, ...]) -> str:
    if node.memory is None:
        return "const" if node.op is CONST else COUNT
    return UNIT if node.shape == shape and node.contiguous else ZERO


def _prepare_flat(cache: KernelCache, root: Node, aligned_starts: bool, stream: bool) -> FlatKernel:
    policy = cache.policies.elementwise
    operands = collect_operands(root)
    accesses = tuple(_flat_access(n, root.shape) for n in operands.nodes)
    dtypes = operands.dtypes(root)
    vector = vector_width(dtypes, policy.vector_bytes, policy.max_width)
    explicit = explicit_width(dtypes, policy.explicit)
    plan = ElementwisePlan(
        accesses=accesses,
        out_access=UNIT,
        rank=0,
        vector=vector,
        explicit=explicit,
        index=index_type(root.size, policy.chunked),
        aligned=aligned_starts and not explicit and not policy.explicit,
        stream=stream and explicit and vector * root.dtype.itemsize == 64,
        policy=policy,
    )
    read_bytes = [n.dtype.itemsize for n, kind in zip(operands.nodes, accesses, strict=True) if kind == UNIT]
    return FlatKernel(
        _kernel(cache, plan, root, operands),
        vector,
        root.dtype.itemsize + sum(read_bytes),
        2 * policy.chunk_bytes if policy.chunked else 0,
        inline_limit(policy.inline_bytes, root),
    )


def _kernel(cache: KernelCache, plan: ElementwisePlan, root: Node, operands: Operands) -> Kernel | TieredKernel:
    key = ("elementwise", operands.signature, plan)
    kernel: Kernel | TieredKernel | None = cache.rendered.get(key)
    if kernel is None and may_compute_on_host(cache.capabilities, root):
        kernel = cache.store_rendered(key, TieredKernel(partial(_render_kernel, cache, plan)))
    if kernel is not None:
        return kernel
    return cache.store_rendered(key, _render_kernel(cache, plan, root))


def _render_kernel(cache: KernelCache, plan: ElementwisePlan, root: Node) -> Kernel:
    return cache.render_kernel(elementwise_source, plan, root, collect_operands(root).nodes, cache.capabilities)


def strided_launch(
    cache: KernelCache, root: Node, memory: Memory, offset: int, strides: Shape, allow_host_tier: bool = True
) -> Launch | HostLaunch:
    """Return the launch that writes `root` to memory with any strides, from the element `offset` on.

    Parameters
    ----------
    allow_host_tier : bool
        Whether NumPy may compute the values if the kernel is not compiled yet.
    """
    inputs: list[Any] = []
    strided, nodes = strided_kernel(cache, root, offset, strides, inputs)
    tiered_kernel = _uncompiled_kernel(strided) if allow_host_tier else None
    if tiered_kernel is not None:
        target = leaf(memory, root.shape, strides, offset, root.dtype)
        if tiered_kernel.use_host_tier(root, target, root.size):
            kernel_launch = partial(strided_launch, cache, root, memory, offset, strides, False)
            return HostLaunch(tiered_kernel, root, target, kernel_launch, "rows")
    if strided.shifts:
        inputs = Operands(nodes).arguments(strided.shifts)
    nbytes = strided.nbytes
    local = (cache.policies.elementwise.work_group,)
    kernel, inline = resolve_kernel(strided, root), nbytes <= strided.inline_bytes
    args = kernel.arguments(inputs=inputs, yp=memory.buffer, yo=offset + strided.out_shift, loops=strided.loops)
    return _record(tiered_kernel, Launch(kernel, strided.groups, local, args, inline, nbytes))


def strided_kernel(
    cache: KernelCache, root: Node, offset: int, strides: Shape, inputs: list[Any]
) -> tuple[StridedKernel, list[Node]]:
    """Return the kernel of `strided_launch` and the distinct inputs, and append their arguments to `inputs`."""
    policy = cache.policies.elementwise
    graph = graph_of(root)
    key: list[Any] = [graph.signature, root.shape, strides]
    if not policy.explicit:
        key.append(offset * root.dtype.itemsize % ALIGNMENT == 0)
    append_inputs(graph.inputs, key, inputs, not policy.explicit)
    return cache.value_for(tuple(key), _prepare_strided, cache, root, offset, strides), graph.inputs


def _prepare_strided(cache: KernelCache, root: Node, offset: int, out_strides: Shape) -> StridedKernel:
    """Plan the loops of a strided launch, and return its kernel with the arguments that follow from them."""
    policy = cache.policies.elementwise
    operands = collect_operands(root)
    ndim = len(root.shape)
    space = collapse(root.shape, (aligned(root.shape, out_strides, ndim), *operands.strides(ndim)))
    if not space.shape:  # one element: the source has at least one loop
        space = Space((1,), ((0,),) * len(space.strides), space.offsets)
    shape, (out_loop, *in_loops) = space.shape, space.strides
    plan = _strided_plan(cache, root, offset, operands, space)
    rows = root.size // shape[-1]
    loops, stride_starts = _loop_numbers(plan, rows, shape, (*operands.names, "y"), (*in_loops, out_loop))
    segment = policy.segment or plan.vector
    units = _work_units(shape, rows, plan.tile_axis, segment, policy.work_group)
    nbytes = operands.nbytes + root.size * root.dtype.itemsize
    return StridedKernel(
        kernel=_kernel(cache, plan, root, operands),
        shifts=space.offsets[1:] if any(space.offsets) else (),
        out_shift=space.offsets[0],
        loops=loops,
        stride_starts=stride_starts,
        groups=(groups(units, nbytes, cache.units, policy),),
        segment=segment,
        nbytes=nbytes,
        inline_bytes=inline_limit(policy.inline_bytes, root),
    )


def _strided_plan(cache: KernelCache, root: Node, offset: int, operands: Operands, space: Space) -> ElementwisePlan:
    """Plan the kernel for at least one loop. The first strides and offset of `space` are the output's."""
    policy = cache.policies.elementwise
    shape, (out_loop, *in_loops) = space.shape, space.strides
    dtypes = operands.dtypes(root)
    vector = vector_width(dtypes, policy.vector_bytes, policy.max_width)
    explicit = explicit_width(dtypes, policy.explicit)
    # The output has an access class of its own: an in-place operation has the same node on both sides.
    out_access = access(out_loop[-1])
    accesses = operands.accesses([s[-1] for s in in_loops], explicit)
    axis, staged = _tiles(cache, operands, shape, in_loops)
    if not explicit and (axis or _is_scattered((*accesses, out_access), (*in_loops, out_loop))):
        vector = 1  # neighbouring work-items take neighbouring elements
    rows_aligned = not policy.explicit and operands.are_aligned and starts_aligned(root.dtype, offset)
    rows_aligned = rows_aligned and operands.rows_aligned(in_loops, space.offsets[1:])
    rows_aligned = rows_aligned and (out_access != UNIT or starts_aligned(root.dtype, space.offsets[0], *out_loop[:-1]))
    return ElementwisePlan(
        accesses=accesses,
        out_access=out_access,
        rank=len(shape),
        vector=vector,
        explicit=explicit,
        index=index_type(furthest(shape, space.strides, root.size), policy.chunked),
        aligned=rows_aligned,
        stream=False,
        policy=policy,
        tile_axis=axis,
        staged=staged,
    )


def _is_scattered(accesses: Sequence[str], strides: Sequence[Shape]) -> bool:
    """Return whether an operand has neighbours in the innermost loop that are not adjacent in memory."""
    kinds = [access for access in accesses if access != "const"]
    return any(kind == "strided" and s[-1] != -1 for kind, s in zip(kinds, strides, strict=True))


def _loop_numbers(
    plan: ElementwisePlan, rows: int, shape: Shape, names: Sequence[str], strides: Sequence[Shape]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the values of the fields `loop_fields`, and the positions of each operand's first stride among them.

    Parameters
    ----------
    names, strides : sequence
        Names of the operands with strides, and their strides, innermost last.
    """
    fields = loop_fields(plan.index, plan.rank, plan.accesses, plan.out_access)
    kinds = [a for a in (*plan.accesses, plan.out_access) if a != "const"]
    groups = {
        f"{name}s": steps[::-1] if kind in STEPPED else steps[-2::-1]
        for name, steps, kind in zip(names, strides, kinds, strict=True)
    }
    numbers = fields.fill(rows=rows, n=shape[::-1], **groups)
    return tuple(numbers), tuple([fields.start(group) for group in groups])


def _work_units(shape: tuple[int, ...], rows: int, axis: int, segment: int, work_group: int) -> int:
    """Return the number of work units of a strided kernel: segments of rows, or work-items for all tiles."""
    if not axis:
        return rows * -(-shape[-1] // segment)
    down, across = -(-shape[-1 - axis] // TILE), -(-shape[-1] // TILE)
    return rows // shape[-1 - axis] * down * across * work_group


def _tiles(cache: KernelCache, operands: Operands, shape: Shape, strides: list[Shape]) -> tuple[int, tuple[bool, ...]]:
    """Return the axis of a tiled kernel, or 0, and which inputs are staged in local memory."""
    policy = cache.policies.elementwise
    if not policy.chunked and policy.work_group < TILE:
        return 0, ()
    arrays = [(n, s) for n, s in zip(operands.non_constants, strides, strict=True) if n.op is not INDEX]
    axis = tile_axis(shape, [s for _, s in arrays])
    transposed = [n for n, s in arrays if axis and s[-1 - axis] == 1 and s[-1] not in (0, 1)]
    return axis, tuple(n in transposed[:STAGED_LIMIT] for n in operands.nodes)


__all__ = ["INT_LIMIT", "flat_kernel", "flat_launch", "resolve_kernel", "strided_kernel", "strided_launch"]
