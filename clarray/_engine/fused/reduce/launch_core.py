"""What the compiled core is told of a reduction."""

from __future__ import annotations

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import is_contiguous
from clarray._engine.fused.reduce.launch import prepared_for, run_limit
from clarray._engine.fused.reduce.launch_first import awaited_reduction
from clarray._engine.fused.reduce.prepare import EXTENT, prepare_reduction
from clarray._engine.fused.reduce.source import Epilogue
from clarray._engine.launch.core_launch import CoreLaunch, planned_at_once, use_launches
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import Device
from clarray._engine.speedups import called_by_core


@called_by_core
@planned_at_once
def reduction_for_core(device: Device, root: Node, run: bool) -> CoreLaunch | None:
    """What the core keeps of a reduction in one launch; None of one that takes two, or that tells positions.

    Parameters
    ----------
    device : Device
        Whose lock is held.
    root : Node
        The pending reduction, its inputs memory and constants.
    run : bool
        One axis is reduced to a number, and the launch shall be for every length below `run_limit`.
    """
    cache = kernel_cache_of(device)
    policy = cache.policies.reduce
    use_launches(cache).limit_reductions(run_limit(policy), policy.at_once if device.inline is not None else 0)
    awaited = awaited_reduction(cache, root)
    if awaited is not None and not (awaited.ready or awaited.launched):
        return None
    strides = result_strides(root)
    alone = Epilogue(root, root, ())
    found = prepare_reduction(cache, alone, strides) if run else prepared_for(cache, alone, strides)[0]
    if found.second is not None or found.position is not None:
        return None
    split = found.parts > 1
    return CoreLaunch(
        kernel=found.first,
        device=device,
        work_group=found.work_group,
        strides=strides,
        contiguous=is_contiguous(root.shape, strides),
        inline_bytes=found.inline_bytes,
        most_size=INT_LIMIT,
        groups=found.groups,
        nbytes=found.nbytes,
        shifts=found.shifts,
        sizes=found.sizes,
        lengths=(EXTENT,) if run else (),
        states=tuple([found.outputs * found.parts * d.itemsize for d in found.states]) if split else (),
        counters=cache.counters if split else 0,
    )
