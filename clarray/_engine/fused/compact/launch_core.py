"""What the compiled core is told of a selection by a mask."""

from __future__ import annotations

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.fused.compact.launch import COUNT_BYTES, prepare_compact
from clarray._engine.launch.core_launch import CoreLaunch, planned_at_once, use_launches
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import Device
from clarray._engine.speedups import called_by_core


@called_by_core
@planned_at_once
def selection_for_core(device: Device, value: Node, mask: Node) -> CoreLaunch | None:
    """What the core keeps of a selection that one work-item does; None where many do, or the host sees no count.

    Parameters
    ----------
    device : Device
        Whose lock is held.
    value, mask : Node
        Of one shape; what they read lies one element after the other, or is a constant.
    """
    cache = kernel_cache_of(device)
    use_launches(cache)
    policy = cache.policies.compact
    if not (policy.chunked and cache.capabilities.host_memory):
        return None
    found = prepare_compact(cache, value, mask, value.shape, True)
    if found is None or found.steps or found.nbytes:
        return None
    itemsize = value.dtype.itemsize
    return CoreLaunch(
        kernel=found.kernels["compact_once"],
        device=device,
        work_group=1,
        strides=(1,),
        contiguous=True,
        inline_bytes=policy.inline_bytes,
        most_size=min(policy.small_bytes // itemsize, INT_LIMIT - 1),
        element_bytes=found.element_bytes + itemsize,
        states=(COUNT_BYTES,),
    )
