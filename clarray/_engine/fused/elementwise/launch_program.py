"""Programs of elementwise expressions."""

from __future__ import annotations

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import Shape, contiguous, is_contiguous
from clarray._engine.fused.elementwise.launch import (
    FlatKernel,
    StridedKernel,
    flat_kernel,
    resolve_kernel,
    strided_kernel,
)
from clarray._engine.launch.host_tier import TieredKernel, setting
from clarray._engine.launch.kernel_cache import KernelCache, kernel_cache_of
from clarray._engine.launch.program import ExpressionProgram, argument_sources, planned_at_once, use_programs
from clarray._engine.runtime import Device
from clarray._engine.runtime.steps import LOOPS, OPERANDS, OUTPUT, OUTPUT_OFFSET, SIZE, KernelStep, WorkShare


@planned_at_once
def plan_elementwise(
    device: Device, root: Node, offset: int, strides: Shape | None, flat: bool, any_extent: bool
) -> ExpressionProgram | None:
    """Return the program of an elementwise expression, or None to leave it to Python.

    Parameters
    ----------
    device : Device
        Its lock is held.
    root : Node
        The pending elementwise expression. Its inputs are memory and constants.
    offset : int
        Offset of the output in its memory, in elements.
    strides : tuple of int or None
        Strides of the output, in elements. None for NumPy's order of the result.
    flat : bool
        Whether all inputs, and the output, are contiguous or have one element.
    any_extent : bool
        Plan for loops of any extents. The loops are the axes in their order.
    """
    cache = kernel_cache_of(device)
    use_programs(cache)
    if strides is None:
        strides = contiguous(root.shape) if flat else result_strides(root)
    most_size = INT_LIMIT - 1
    stream_bytes = cache.policies.elementwise.stream_bytes
    if stream_bytes:  # larger results have another kernel
        most_size = min(most_size, (stream_bytes - 1) // root.dtype.itemsize)
    if flat:
        step = _flat_step(cache, root, offset, most_size)
    else:
        step = _strided_step(cache, root, offset, strides, any_extent)
    if step is None:
        return None
    return ExpressionProgram(
        steps=(step,), strides=strides, contiguous=is_contiguous(root.shape, strides), most_size=most_size
    )


def _flat_step(cache: KernelCache, root: Node, offset: int, most_size: int) -> KernelStep | None:
    """Return the launch over all elements in C order, for results of at most `most_size` elements."""
    flat = flat_kernel(cache, (root,), (offset,), [])
    if flat is None or root.size > most_size or _uses_host_tier(flat):
        return None
    kernel = resolve_kernel(flat, (root,))
    letters, args = argument_sources(
        kernel,
        inputs=(OPERANDS, ((),)),
        outputs=(OUTPUT + OUTPUT_OFFSET, (None, 0)),
        loops=(SIZE, (None,)),
    )
    return KernelStep(
        kernel=kernel,
        groups=None,
        local=(cache.policies.elementwise.work_group,),
        letters=letters,
        args=args,
        inline_bytes=flat.inline_bytes,
        nbytes=0,
        element_bytes=flat.element_bytes,
        share=_share(cache, flat.vector),
    )


def _strided_step(cache: KernelCache, root: Node, offset: int, strides: Shape, any_extent: bool) -> KernelStep | None:
    """Return the launch for given strides, for loops of any extents or only of the extents of `root`."""
    strided, _ = strided_kernel(cache, (root,), (offset,), (strides,), [])
    if _uses_host_tier(strided):
        return None
    kernel = resolve_kernel(strided, (root,))
    letters, args = argument_sources(
        kernel,
        inputs=(OPERANDS, (strided.shifts,)),
        outputs=(OUTPUT + OUTPUT_OFFSET, (None, strided.out_shifts[0])),
        loops=(LOOPS, ((strided.loops, strided.stride_starts),)),
    )
    return KernelStep(
        kernel=kernel,
        groups=None if any_extent else strided.groups,
        local=(cache.policies.elementwise.work_group,),
        letters=letters,
        args=args,
        inline_bytes=strided.inline_bytes,
        nbytes=None if any_extent else strided.nbytes,
        share=_share(cache, strided.segment) if any_extent else None,
    )


def _share(cache: KernelCache, unit: int) -> WorkShare:
    """Return how work-groups share the work of a launch, in units of `unit` elements."""
    policy = cache.policies.elementwise
    most_groups = cache.units * policy.groups_per_unit
    return WorkShare(unit, most_groups, max(policy.chunk_bytes, 1), policy.chunked)


def _uses_host_tier(planned: FlatKernel | StridedKernel) -> bool:
    """Return whether no queue of the device may have the kernel yet. The core checks each queue itself."""
    kernel = planned.kernel
    return setting.on and isinstance(kernel, TieredKernel) and not (kernel.ready or kernel.launched)
