"""Programs of selections by a mask."""

from __future__ import annotations

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.fused.compact.launch import COUNT_BYTES, prepare_compact
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.launch.program import ExpressionProgram, argument_sources, planned_at_once, use_programs
from clarray._engine.runtime import Device
from clarray._engine.runtime.steps import OPERANDS, OUTPUT, SIZE, TEMPORARY, KernelStep


@planned_at_once
def plan_selection(device: Device, value: Node, mask: Node) -> ExpressionProgram | None:
    """Return the program of a selection by one work-item. None if it takes several, or the host cannot read the count.

    Parameters
    ----------
    device : Device
        Its lock is held.
    value, mask : Node
        Nodes of the same shape. Their inputs are contiguous, or constants.
    """
    cache = kernel_cache_of(device)
    use_programs(cache)
    policy = cache.policies.compact
    if not (policy.chunked and cache.capabilities.host_memory):
        return None
    kernels = prepare_compact(cache, value, mask, value.shape, True)
    if kernels is None or kernels.steps or kernels.nbytes:
        return None
    itemsize = value.dtype.itemsize
    element_bytes = kernels.element_bytes + itemsize
    kernel = kernels.by_name["compact_once"]
    letters, args = argument_sources(
        kernel,
        inputs=(OPERANDS, ((),)),
        steps=("", ()),
        size=(SIZE, (None,)),
        counts=(TEMPORARY, (0,)),
        yp=(OUTPUT, (None,)),
    )
    step = KernelStep(
        kernel=kernel,
        groups=(1,),
        local=(1,),
        letters=letters,
        args=args,
        inline_bytes=policy.inline_bytes,
        nbytes=0,
        element_bytes=element_bytes,
    )
    return ExpressionProgram(
        steps=(step,),
        strides=(1,),
        contiguous=True,
        most_size=min(policy.small_bytes // itemsize, INT_LIMIT - 1),
        temporaries=(COUNT_BYTES,),
    )
