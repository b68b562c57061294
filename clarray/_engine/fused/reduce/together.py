"""Several reductions in one pass over memory.

Reductions over the same axes of one shape, such as the mean, the standard deviation and the maximum of an array, read
their inputs once. Each combines its values in the same order as alone, so its bits are the same. Reductions whose order
would change have a pass of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.graph import inputs_of, signature_of
from clarray._engine.expr.layout import Shape
from clarray._engine.expr.node import Node, memory_of
from clarray._engine.fused.reduce.launch import ReductionResult, is_reduced_at_once, pass_launches
from clarray._engine.fused.reduce.launch_tiered import reduction_passes
from clarray._engine.fused.reduce.plan import reduce_space
from clarray._engine.fused.reduce.prepare import (
    PlannedReduction,
    ReductionLaunch,
    kernel_plan,
    loop_strides,
    plan_reduction,
    position_of,
    prepare_launch,
    select_monoid,
    select_policy,
)
from clarray._engine.launch.host_tier import HostLaunch
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, append_inputs
from clarray._engine.ops.monoids import Monoid

_MOST_STATES = 16  # components of the states of one pass: local memory and registers have room for them


class _Member(NamedTuple):
    """A reduction, its plan alone, and its number among all that are asked for together."""

    number: int
    epilogue: Epilogue
    monoid: Monoid
    position: Node | None
    planned: PlannedReduction


class _Pass(NamedTuple):
    """Reductions that share a pass, by their numbers, and what is prepared for it."""

    numbers: tuple[int, ...]
    prepared: ReductionLaunch


def reductions_together(
    cache: KernelCache, epilogues: Sequence[Epilogue], targets: Sequence[Node]
) -> list[Launch | HostLaunch]:
    """Return the launches that write reductions with their epilogues to leaves, with as few passes as possible.

    Parameters
    ----------
    epilogues : sequence of Epilogue
        Of reductions over the same axes of one shape, whose operands hold no pending reductions.
    targets : sequence of Node
        The leaf of each one's root.
    """
    launches: list[Launch | HostLaunch] = []
    waiting = dict(enumerate(epilogues))
    for numbers, prepared in _passes(cache, epilogues, targets):
        own = [waiting.pop(number) for number in numbers]
        operands = Operands(inputs_of(*(epilogue.reduced for epilogue in own)))
        if prepared.position is not None:
            operands = operands.with_index(prepared.position)
        results = [
            ReductionResult(epilogue.constants, memory_of(targets[number]), targets[number].offset)
            for number, epilogue in zip(numbers, own, strict=True)
        ]
        launches += pass_launches(cache, prepared, operands.arguments(prepared.shifts), results)
    for number, epilogue in waiting.items():
        target = targets[number]
        launches += reduction_passes(cache, epilogue, memory_of(target), target.offset, target.strides)
    return launches


def _passes(cache: KernelCache, epilogues: Sequence[Epilogue], targets: Sequence[Node]) -> tuple[_Pass, ...]:
    """Return the passes of two reductions or more. The others have a pass of their own."""
    value = epilogues[0].reduced.args[0]
    if is_reduced_at_once(cache, value, targets[0].size):
        return ()
    layouts = tuple([target.strides for target in targets])
    key: list[Any] = ["together", _structure(epilogues), value.shape, layouts]
    append_inputs(inputs_of(*(each.reduced for each in epilogues)), key, [], not cache.policies.reduce.explicit)
    passes: tuple[_Pass, ...] = cache.value_for(tuple(key), _prepare, cache, epilogues, layouts)
    return passes


def _structure(epilogues: Sequence[Epilogue]) -> tuple[int, int]:
    """Return the structure of the roots and that of the reductions, which decides what their inputs are."""
    return signature_of(*(each.root for each in epilogues)), signature_of(*(each.reduced for each in epilogues))


def _prepare(cache: KernelCache, epilogues: Sequence[Epilogue], layouts: tuple[Shape, ...]) -> tuple[_Pass, ...]:
    """Divide reductions into passes, by the order in which each combines its values."""
    groups: dict[Any, list[list[_Member]]] = {}
    for number, (epilogue, out) in enumerate(zip(epilogues, layouts, strict=True)):
        reduced = epilogue.reduced
        policy = select_policy(cache, reduced.args[0])
        monoid = select_monoid(cache, reduced.op.monoid, policy)
        position = position_of(reduced, monoid)
        planned = plan_reduction(cache, reduced, monoid, position, Operands(inputs_of(reduced)), out, policy)
        plan = planned.plan
        if plan.products or plan.rows_per_item > 1 or not monoid.associative or monoid.algebra == "extremum":
            continue
        if any(planned.space.offsets) and len(planned.space.reduced) > 1:  # which of the axes are reversed?
            continue
        member = _Member(number, epilogue, monoid, position, planned)
        for members in groups.setdefault((out, combining_order(planned)), [[]]):
            if sum(len(each.monoid.components) for each in (*members, member)) <= _MOST_STATES:
                members.append(member)
                break
        else:
            groups[out, combining_order(planned)].append([member])
    divided = [(out, members) for (out, _), several in groups.items() for members in several]
    prepared = [_prepare_pass(cache, out, members) for out, members in divided if len(members) > 1]
    return tuple([each for each in prepared if each is not None])


def combining_order(planned: PlannedReduction) -> tuple[Any, ...]:
    """Return all that the order depends on in which a reduction combines its values."""
    plan, space = planned.plan, planned.space
    kernel = replace(plan, accesses=(), out_access="", index="", aligned=False, out_aligned=False, ascending=True)
    has_pairs = "pairs" in plan.accesses
    is_reversed = any(space.offsets)
    return (
        kernel,
        (has_pairs, is_reversed),
        (space.kept, space.reduced, space.kept_strides[0]),
        planned.division,
        planned.task,
    )


def _prepare_pass(cache: KernelCache, out: Shape, members: Sequence[_Member]) -> _Pass | None:
    """Return the pass of some reductions. None if they would combine their values in another order than alone."""
    first = members[0]
    reduced, policy = first.epilogue.reduced, first.planned.plan.policy
    inputs = Operands(inputs_of(*(member.epilogue.reduced for member in members)))
    position = next((member.position for member in members if member.position is not None), None)
    operands = inputs if position is None else inputs.with_index(position)
    task, division = first.planned.task, first.planned.division
    strides = loop_strides(reduced, operands, out)
    space = reduce_space(reduced.args[0].shape, reduced.op.axes, strides, task.vector, policy.short, False)
    plan = kernel_plan(policy, space, operands, position, task, division, first.planned.plan.explicit)
    planned = PlannedReduction(plan, operands, space, division, task.lanes, task)
    if combining_order(planned) != combining_order(first.planned):
        return None
    epilogues = [member.epilogue for member in members]
    monoids = [member.monoid for member in members]
    index_dtype = position.dtype if position is not None else np.dtype(np.int64)
    structure = ("together", _structure(epilogues), index_dtype)
    prepared = prepare_launch(cache, planned, monoids, epilogues, position, structure)
    return _Pass(tuple([member.number for member in members]), prepared)
