"""Launches of elementwise kernels.

Small arrays take the flat path: all operands are contiguous or have one element. It makes the key and the arguments
in one walk over the inputs. All other operands take the strided path, whose loops and arguments are prepared once
for each combination of shapes and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

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
from clarray._engine.fused.elementwise.source import elementwise_source, loop_fields, output_names
from clarray._engine.launch.host_tier import HostLaunch, TieredKernel, may_compute_on_host
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import (
    Operands,
    append_flat_inputs,
    append_inputs,
    collect_operands,
    inline_limit,
)
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.runtime import Kernel, Memory
from clarray._engine.tuning.policy import ElementwisePolicy


class Output(NamedTuple):
    """A place in memory that a kernel writes: shape and dtype are those of an expression."""

    memory: Memory
    offset: int
    strides: Shape


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
    out_shifts : tuple of int
        Added to the offset of each output.
    loops : tuple of int
        Values of the fields `loops`.
    stride_starts : tuple of int
        For each operand with strides: the position of the first one in `loops`.
    segment : int
        Elements of a row per work unit.
    """

    kernel: Kernel | TieredKernel
    shifts: tuple[int, ...]
    out_shifts: tuple[int, ...]
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
    flat = flat_kernel(cache, (root,), (offset,), inputs)
    if flat is None:
        return None
    tiered_kernel = _uncompiled_kernel(flat) if allow_host_tier else None
    if tiered_kernel is not None:
        target = leaf(memory, root.shape, contiguous(root.shape), offset, root.dtype)
        if tiered_kernel.use_host_tier(root, target, root.size):
            kernel_launch = partial(flat_launch, cache, root, memory, offset, False)
            return HostLaunch(tiered_kernel, root, target, kernel_launch, "n")
    return _record(tiered_kernel, _flat_launch(cache, flat, (root,), inputs, [memory.buffer, offset]))


def _flat_launch(
    cache: KernelCache, flat: FlatKernel, roots: Sequence[Node], inputs: list[Any], outputs: list[Any]
) -> Launch:
    policy = cache.policies.elementwise
    size = roots[0].size
    nbytes = size * flat.element_bytes
    count = 1 if nbytes < flat.single_group_bytes else groups(-(-size // flat.vector), nbytes, cache.units, policy)
    kernel, inline = resolve_kernel(flat, roots), nbytes <= flat.inline_bytes
    args = kernel.arguments(inputs=inputs, outputs=outputs, loops=(size,))
    return Launch(kernel, (count,), (policy.work_group,), args, inline, nbytes)


def region_launch(cache: KernelCache, roots: Sequence[Node], outputs: Sequence[Output]) -> Launch:
    """Return the launch that computes several expressions of one shape, which share their inputs and operations."""
    inputs: list[Any] = []
    shape = roots[0].shape
    offsets = [out.offset for out in outputs]
    if all(out.strides == contiguous(shape) for out in outputs):
        flat = flat_kernel(cache, roots, offsets, inputs)
        if flat is not None:
            places = [each for out in outputs for each in (out.memory.buffer, out.offset)]
            return _flat_launch(cache, flat, roots, inputs, places)
        inputs.clear()
    strided, nodes = strided_kernel(cache, roots, offsets, [out.strides for out in outputs], inputs)
    return _strided_launch(cache, strided, roots, nodes, inputs, outputs)


def _uncompiled_kernel(planned: FlatKernel | StridedKernel) -> TieredKernel | None:
    """Return the kernel if NumPy may still compute instead of it."""
    kernel = planned.kernel
    return kernel if isinstance(kernel, TieredKernel) and not kernel.ready else None


def _record(tiered_kernel: TieredKernel | None, launch: Launch) -> Launch:
    """Record a launch in its kernel if that is a tiered one, and return it."""
    if tiered_kernel is not None:
        tiered_kernel.record_launch(launch)
    return launch


def resolve_kernel(planned: FlatKernel | StridedKernel, roots: Sequence[Node]) -> Kernel:
    """Return the kernel, rendered if it is a tiered one that has not been used."""
    kernel = planned.kernel
    return kernel.kernel(roots) if isinstance(kernel, TieredKernel) else kernel


def flat_kernel(
    cache: KernelCache, roots: Sequence[Node], offsets: Sequence[int], inputs: list[Any]
) -> FlatKernel | None:
    """Return the kernel that writes `roots` in C order, and append the inputs' arguments. None if it is not flat.

    Parameters
    ----------
    roots : sequence of Node
        Expressions of one shape.
    offsets : sequence of int
        Where the outputs start in their memory, in elements.
    inputs : list
        Has some arguments if None is returned.
    """
    policy = cache.policies.elementwise
    explicit = policy.explicit
    graph = graph_of(*roots)
    key: list[Any] = [graph.signature]
    size = roots[0].size
    unaligned = append_flat_inputs(graph.inputs, roots[0].shape, key, inputs, not explicit, False)
    if unaligned is None:
        return None
    stream = policy.stream_bytes > 0
    for root, offset in zip(roots, offsets, strict=True):
        itemsize = root.dtype.itemsize
        unaligned = unaligned or (not explicit and offset * itemsize % ALIGNMENT != 0)
        stream = stream and policy.stream_bytes <= size * itemsize and offset * itemsize % 64 == 0
    key.append((stream, size < INT_LIMIT, unaligned))
    return cache.value_for(tuple(key), _prepare_flat, cache, roots, not unaligned, stream)


def _flat_access(node: Node, shape: tuple[int, ...]) -> str:
    if node.memory is None:
        return "const" if node.op is CONST else COUNT
    return UNIT if node.shape == shape and node.contiguous else ZERO


def _vector_width(policy: ElementwisePolicy, roots: Sequence[Node], dtypes: Sequence[np.dtype]) -> int:
    """Return the number of elements that a work-item computes at a time."""
    weight = sum(node.op.weight for node in graph_of(*roots).pending if isinstance(node.op, Loop))
    is_heavy = 0 < policy.vector_weight < weight
    return 1 if is_heavy else vector_width(dtypes, policy.vector_bytes, policy.max_width)


def _prepare_flat(cache: KernelCache, roots: Sequence[Node], aligned_starts: bool, stream: bool) -> FlatKernel:
    policy = cache.policies.elementwise
    operands = collect_operands(*roots)
    shape, size = roots[0].shape, roots[0].size
    accesses = tuple(_flat_access(n, shape) for n in operands.nodes)
    dtypes = operands.dtypes(*roots)
    vector = _vector_width(policy, roots, dtypes)
    explicit = explicit_width(dtypes, policy.explicit)
    plan = ElementwisePlan(
        accesses=accesses,
        out_accesses=(UNIT,) * len(roots),
        rank=0,
        vector=vector,
        explicit=explicit,
        index=index_type(size, policy.chunked),
        aligned=aligned_starts and not explicit and not policy.explicit,
        stream=stream and explicit and all(vector * root.dtype.itemsize == 64 for root in roots),
        policy=policy,
    )
    read_bytes = [n.dtype.itemsize for n, kind in zip(operands.nodes, accesses, strict=True) if kind == UNIT]
    return FlatKernel(
        _kernel(cache, plan, roots, operands),
        vector,
        sum(root.dtype.itemsize for root in roots) + sum(read_bytes),
        2 * policy.chunk_bytes if policy.chunked else 0,
        inline_limit(policy.inline_bytes, *roots),
    )


def _kernel(
    cache: KernelCache, plan: ElementwisePlan, roots: Sequence[Node], operands: Operands
) -> Kernel | TieredKernel:
    key = ("elementwise", operands.signature, plan)
    kernel: Kernel | TieredKernel | None = cache.rendered.get(key)
    if kernel is None and len(roots) == 1 and may_compute_on_host(cache.capabilities, roots[0]):
        kernel = cache.store_rendered(key, TieredKernel(partial(_render_kernel, cache, plan)))
    if kernel is not None:
        return kernel
    return cache.store_rendered(key, _render_kernel(cache, plan, roots))


def _render_kernel(cache: KernelCache, plan: ElementwisePlan, roots: Sequence[Node]) -> Kernel:
    return cache.render_kernel(elementwise_source, plan, roots, collect_operands(*roots).nodes, cache.capabilities)


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
    strided, nodes = strided_kernel(cache, (root,), (offset,), (strides,), inputs)
    tiered_kernel = _uncompiled_kernel(strided) if allow_host_tier else None
    if tiered_kernel is not None:
        target = leaf(memory, root.shape, strides, offset, root.dtype)
        if tiered_kernel.use_host_tier(root, target, root.size):
            kernel_launch = partial(strided_launch, cache, root, memory, offset, strides, False)
            return HostLaunch(tiered_kernel, root, target, kernel_launch, "rows")
    launch = _strided_launch(cache, strided, (root,), nodes, inputs, (Output(memory, offset, strides),))
    return _record(tiered_kernel, launch)


def _strided_launch(
    cache: KernelCache,
    strided: StridedKernel,
    roots: Sequence[Node],
    nodes: Sequence[Node],
    inputs: list[Any],
    outputs: Sequence[Output],
) -> Launch:
    if strided.shifts:
        inputs = Operands(nodes).arguments(strided.shifts)
    nbytes = strided.nbytes
    local = (cache.policies.elementwise.work_group,)
    kernel, inline = resolve_kernel(strided, roots), nbytes <= strided.inline_bytes
    places = [
        each
        for out, shift in zip(outputs, strided.out_shifts, strict=True)
        for each in (out.memory.buffer, out.offset + shift)
    ]
    args = kernel.arguments(inputs=inputs, outputs=places, loops=strided.loops)
    return Launch(kernel, strided.groups, local, args, inline, nbytes)


def strided_kernel(
    cache: KernelCache,
    roots: Sequence[Node],
    offsets: Sequence[int],
    strides: Sequence[Shape],
    inputs: list[Any],
) -> tuple[StridedKernel, list[Node]]:
    """Return the kernel that writes `roots` with any strides and the distinct inputs, and append their arguments.

    Parameters
    ----------
    roots : sequence of Node
        Expressions of one shape.
    offsets, strides : sequence
        Where each output starts in its memory, and its strides, in elements.
    """
    policy = cache.policies.elementwise
    graph = graph_of(*roots)
    key: list[Any] = [graph.signature, roots[0].shape, *strides]
    if not policy.explicit:
        key += [offset * root.dtype.itemsize % ALIGNMENT == 0 for root, offset in zip(roots, offsets, strict=True)]
    append_inputs(graph.inputs, key, inputs, not policy.explicit)
    return cache.value_for(tuple(key), _prepare_strided, cache, roots, offsets, strides), graph.inputs


def _prepare_strided(
    cache: KernelCache, roots: Sequence[Node], offsets: Sequence[int], out_strides: Sequence[Shape]
) -> StridedKernel:
    """Plan the loops of a strided launch, and return its kernel with the arguments that follow from them."""
    policy = cache.policies.elementwise
    operands = collect_operands(*roots)
    root = roots[0]
    ndim, count = len(root.shape), len(roots)
    space = collapse(root.shape, (*[aligned(root.shape, out, ndim) for out in out_strides], *operands.strides(ndim)))
    if not space.shape:  # one element: the source has at least one loop
        space = Space((1,), ((0,),) * len(space.strides), space.offsets)
    shape, out_loops, in_loops = space.shape, space.strides[:count], space.strides[count:]
    plan = _strided_plan(cache, roots, offsets, operands, space)
    rows = root.size // shape[-1]
    names = (*operands.names, *output_names(count))
    loops, stride_starts = _loop_numbers(plan, rows, shape, names, (*in_loops, *out_loops))
    segment = policy.segment or plan.vector
    units = _work_units(shape, rows, plan.tile_axis, segment, policy.work_group)
    nbytes = operands.nbytes + root.size * sum(root.dtype.itemsize for root in roots)
    return StridedKernel(
        kernel=_kernel(cache, plan, roots, operands),
        shifts=space.offsets[count:] if any(space.offsets) else (),
        out_shifts=space.offsets[:count],
        loops=loops,
        stride_starts=stride_starts,
        groups=(groups(units, nbytes, cache.units, policy),),
        segment=segment,
        nbytes=nbytes,
        inline_bytes=inline_limit(policy.inline_bytes, *roots),
    )


def _strided_plan(
    cache: KernelCache, roots: Sequence[Node], offsets: Sequence[int], operands: Operands, space: Space
) -> ElementwisePlan:
    """Plan the kernel for at least one loop. The first strides and offsets of `space` are the outputs'."""
    policy = cache.policies.elementwise
    count = len(roots)
    shape, out_loops, in_loops = space.shape, space.strides[:count], list(space.strides[count:])
    dtypes = operands.dtypes(*roots)
    vector = _vector_width(policy, roots, dtypes)
    explicit = explicit_width(dtypes, policy.explicit)
    # An output has an access class of its own: an in-place operation has the same node on both sides.
    out_accesses = tuple([access(steps[-1]) for steps in out_loops])
    accesses = operands.accesses([s[-1] for s in in_loops], explicit)
    axis, staged = _tiles(cache, operands, shape, in_loops)
    if not explicit and (axis or _is_scattered((*accesses, *out_accesses), (*in_loops, *out_loops))):
        vector = 1  # neighbouring work-items take neighbouring elements
    rows_aligned = not policy.explicit and operands.are_aligned
    rows_aligned = rows_aligned and operands.rows_aligned(in_loops, space.offsets[count:])
    for root, offset, start, steps in zip(roots, offsets, space.offsets, out_loops, strict=False):
        rows_aligned = rows_aligned and starts_aligned(root.dtype, offset)
        rows_aligned = rows_aligned and (steps[-1] != 1 or starts_aligned(root.dtype, start, *steps[:-1]))
    return ElementwisePlan(
        accesses=accesses,
        out_accesses=out_accesses,
        rank=len(shape),
        vector=vector,
        explicit=explicit,
        index=index_type(furthest(shape, space.strides, roots[0].size), policy.chunked),
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
    fields = loop_fields(plan.index, plan.rank, plan.accesses, plan.out_accesses)
    kinds = [a for a in (*plan.accesses, *plan.out_accesses) if a != "const"]
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


__all__ = [
    "INT_LIMIT",
    "Output",
    "flat_kernel",
    "flat_launch",
    "region_launch",
    "resolve_kernel",
    "strided_kernel",
    "strided_launch",
]
