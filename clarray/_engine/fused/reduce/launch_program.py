"""Programs of reductions in one launch."""

from __future__ import annotations

from typing import Any

from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import is_contiguous
from clarray._engine.fused.reduce.launch import prepared_for, run_limit
from clarray._engine.fused.reduce.launch_tiered import awaited_reduction
from clarray._engine.fused.reduce.prepare import EXTENT, prepare_reduction
from clarray._engine.fused.reduce.source import Epilogue
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.launch.program import ExpressionProgram, planned_at_once, use_programs
from clarray._engine.runtime import Device
from clarray._engine.runtime.steps import KEPT, LENGTH, NUMBER, OPERANDS, OUTPUT, OUTPUT_OFFSET, TEMPORARY, KernelStep


@planned_at_once
def plan_reduction(device: Device, root: Node, run: bool) -> ExpressionProgram | None:
    """Return the program of a reduction in one launch. None if it takes two, or gives positions.

    Parameters
    ----------
    device : Device
        Its lock is held.
    root : Node
        The pending reduction, its inputs memory and constants.
    run : bool
        One axis is reduced to a number: plan for every length below `run_limit`.
    """
    cache = kernel_cache_of(device)
    policy = cache.policies.reduce
    use_programs(cache).limit_reductions(run_limit(policy), policy.at_once if device.inline is not None else 0)
    awaited = awaited_reduction(cache, root)
    if awaited is not None and not (awaited.ready or awaited.launched):
        return None
    strides = result_strides(root)
    alone = Epilogue(root, root, ())
    found = prepare_reduction(cache, alone, strides) if run else prepared_for(cache, alone, strides)[0]
    if found.second is not None or found.position is not None:
        return None
    letters = OPERANDS
    args: list[Any] = [found.shifts]
    temporaries: tuple[int, ...] = ()
    if found.parts > 1:  # the groups leave the states of their parts in temporaries, and count themselves
        temporaries = tuple([found.outputs * found.parts * d.itemsize for d in found.states])
        letters += TEMPORARY * len(temporaries) + KEPT
        args += [*range(len(temporaries)), cache.counters]
    letters += OUTPUT + OUTPUT_OFFSET
    args += [None, 0]
    for field, size in enumerate(found.sizes):
        is_length = run and field == EXTENT
        letters += LENGTH if is_length else NUMBER
        args.append(None if is_length else size)
    step = KernelStep(
        kernel=found.first,
        groups=(found.groups,),
        local=(found.work_group,),
        letters=letters,
        args=tuple(args),
        inline_bytes=found.inline_bytes,
        nbytes=None if run else found.nbytes,
    )
    return ExpressionProgram(
        steps=(step,),
        strides=strides,
        contiguous=is_contiguous(root.shape, strides),
        most_size=INT_LIMIT,
        temporaries=temporaries,
    )
