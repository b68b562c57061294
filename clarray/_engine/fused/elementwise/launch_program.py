"""Programs of elementwise expressions."""

from __future__ import annotations

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import Shape, contiguous, is_contiguous
from clarray._engine.fused.elementwise.launch import Flat, Strided, flat_kernel, kernel_of, strided_kernel
from clarray._engine.launch.host_tier import Awaited, setting
from clarray._engine.launch.kernel_cache import KernelCache, kernel_cache_of
from clarray._engine.launch.program import ExpressionProgram, planned_at_once, use_programs
from clarray._engine.runtime import Device
from clarray._engine.runtime.steps import LOOPS, OPERANDS, OUTPUT, OUTPUT_OFFSET, SIZE, KernelStep, WorkShare


@planned_at_once
def plan_elementwise(
    device: Device, root: Node, offset: int, strides: Shape | None, flat: bool, every: bool
) -> ExpressionProgram | None:
    """Return the program of an elementwise expression, or None to leave it to Python.

    Parameters
    ----------
    device : Device
        Its lock is held.
    root : Node
        Pending, elementwise, its inputs memory and constants.
    offset : int
        Offset of the output in its memory, in elements.
    strides : tuple of int or None
        Strides of the output, in elements; None for the order that NumPy gives the result.
    flat : bool
        Whether all inputs, and the output, are contiguous or have one element.
    every : bool
        Plan for loops of all extents, which are the axes in their order.
    """
    cache = kernel_cache_of(device)
    use_programs(cache)
    if strides is None:
        strides = contiguous(root.shape) if flat else result_strides(root)
    most = INT_LIMIT - 1
    stream_bytes = cache.policies.elementwise.stream_bytes
    if stream_bytes:  # from there on it is another kernel
        most = min(most, (stream_bytes - 1) // root.dtype.itemsize)
    step = _flat_step(cache, root, offset, most) if flat else _strided_step(cache, root, offset, strides, every)
    if step is None:
        return None
    return ExpressionProgram(
        steps=(step,), strides=strides, contiguous=is_contiguous(root.shape, strides), most_size=most
    )


def _flat_step(cache: KernelCache, root: Node, offset: int, most: int) -> KernelStep | None:
    """Return the launch over all elements in C order, for results of at most so many."""
    flat = flat_kernel(cache, root, offset, [])
    if flat is None or root.size > most or _is_awaited(flat):
        return None
    return KernelStep(
        kernel=kernel_of(flat, root),
        groups=None,
        local=(cache.policies.elementwise.work_group,),
        letters=OPERANDS + OUTPUT + OUTPUT_OFFSET + SIZE,
        args=((), None, 0, None),
        inline_bytes=flat.inline_bytes,
        nbytes=0,
        element_bytes=flat.element_bytes,
        share=_share(cache, flat.vector),
    )


def _strided_step(cache: KernelCache, root: Node, offset: int, strides: Shape, every: bool) -> KernelStep | None:
    """Return the launch over these strides, for loops of all extents or of these only."""
    strided, _ = strided_kernel(cache, root, offset, strides, [])
    if _is_awaited(strided):
        return None
    return KernelStep(
        kernel=kernel_of(strided, root),
        groups=None if every else strided.groups,
        local=(cache.policies.elementwise.work_group,),
        letters=OPERANDS + OUTPUT + OUTPUT_OFFSET + LOOPS,
        args=(strided.shifts, None, strided.out_shift, (strided.sizes, strided.steps_at)),
        inline_bytes=strided.inline_bytes,
        nbytes=None if every else strided.nbytes,
        share=_share(cache, strided.segment) if every else None,
    )


def _share(cache: KernelCache, unit: int) -> WorkShare:
    """Return how many groups share the work of a launch, in units of so many elements."""
    policy = cache.policies.elementwise
    most_groups = cache.units * policy.groups_per_unit
    return WorkShare(unit, most_groups, max(policy.chunk_bytes, 1), policy.chunked)


def _is_awaited(plan: Flat | Strided) -> bool:
    """Return whether neither queue may have the kernel yet; the core looks which of them has it."""
    kernel = plan.kernel
    return setting.on and isinstance(kernel, Awaited) and not (kernel.ready or kernel.launched)
