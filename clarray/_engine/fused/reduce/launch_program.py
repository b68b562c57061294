"""Programs of reductions that take one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.layout import INT_LIMIT
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import is_contiguous
from clarray._engine.fused.reduce.launch import any_length_limit, find_or_prepare
from clarray._engine.fused.reduce.launch_tiered import tiered_reduction
from clarray._engine.fused.reduce.prepare import ReductionLaunch, prepare_reduction
from clarray._engine.launch.kernel_cache import KernelCache, kernel_cache_of
from clarray._engine.launch.program import ExpressionProgram, Sources, argument_sources, planned_at_once, use_programs
from clarray._engine.runtime import Device
from clarray._engine.runtime.steps import (
    LENGTH,
    NUMBER,
    OPERANDS,
    OUTPUT,
    OUTPUT_OFFSET,
    PERSISTENT,
    TEMPORARY,
    KernelStep,
)

_NONE: Sources = ("", ())
_OUTPUT: Sources = (OUTPUT, (None,))
_OFFSET: Sources = (OUTPUT_OFFSET, (0,))


@planned_at_once
def plan_reduction(device: Device, root: Node, any_length: bool) -> ExpressionProgram | None:
    """Return the program of a reduction. None if it takes two launches, or if its result is positions.

    Parameters
    ----------
    device : Device
        Its lock is held.
    root : Node
        The pending reduction. Its inputs are memory and constants.
    any_length : bool
        Whether it reduces one axis to a scalar, and the program is for all lengths below `any_length_limit`.
    """
    cache = kernel_cache_of(device)
    policy = cache.policies.reduce
    at_once = (policy.at_once, policy.inline_bytes) if device.inline is not None else (0, 0)
    use_programs(cache).limit_reductions(any_length_limit(policy), *at_once)
    tiered_kernel = tiered_reduction(cache, root)
    if tiered_kernel is not None and not (tiered_kernel.ready or tiered_kernel.launched):
        return None
    strides = result_strides(root)
    epilogue = Epilogue(root, root, ())
    if any_length:
        prepared = prepare_reduction(cache, epilogue, strides)
    else:
        prepared, *_ = find_or_prepare(cache, epilogue, strides)
    if prepared.second is not None or prepared.position is not None:
        return None
    temporaries: tuple[int, ...] = ()
    if prepared.parts > 1:  # for the states of the parts
        (dtypes,) = prepared.states
        temporaries = tuple([prepared.outputs * prepared.parts * dtype.itemsize for dtype in dtypes])
    letters, args = _arguments(cache, prepared, any_length)
    step = KernelStep(
        kernel=prepared.first,
        groups=(prepared.groups,),
        local=(prepared.work_group,),
        letters=letters,
        args=args,
        inline_bytes=prepared.inline_bytes,
        nbytes=None if any_length else prepared.nbytes,
    )
    return ExpressionProgram(
        steps=(step,),
        strides=strides,
        contiguous=is_contiguous(root.shape, strides),
        most_size=INT_LIMIT,
        temporaries=temporaries,
    )


def _arguments(cache: KernelCache, prepared: ReductionLaunch, any_length: bool) -> tuple[str, tuple[Any, ...]]:
    """Return the sources of the arguments of a reduction that takes one launch."""
    kernel, inputs = prepared.first, (OPERANDS, (prepared.shifts,))
    loops: Sources = (NUMBER * len(prepared.loops), prepared.loops)
    if any_length:
        loops = _with_length(*loops, prepared.extent_at)
    if prepared.parts == 1:
        return argument_sources(kernel, inputs=inputs, constants=_NONE, yp=_OUTPUT, yo=_OFFSET, loops=loops)
    # work-groups write the states of their parts to temporaries, and count how many are done
    (dtypes,) = prepared.states
    states = (TEMPORARY * len(dtypes), range(len(dtypes)))
    counters = (PERSISTENT, (cache.counters,))
    return argument_sources(
        kernel,
        inputs=inputs,
        constants=_NONE,
        states=states,
        counters=counters,
        yp=_OUTPUT,
        yo=_OFFSET,
        loops=loops,
    )


def _with_length(letters: str, values: Sequence[int], at: int) -> Sources:
    """Replace a number by the length of the reduced axis."""
    return letters[:at] + LENGTH + letters[at + 1 :], (*values[:at], None, *values[at + 1 :])
