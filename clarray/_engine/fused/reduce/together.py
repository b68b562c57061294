"""Several reductions in one pass over memory.

Reductions over the same axes of one shape, such as the mean, the standard deviation and the maximum of an array, read
their inputs once. Each combines its values in the same order as alone, so its bits are the same. Reductions whose order
would change have a pass of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.graph import inputs_of, signature_of
from clarray._engine.expr.layout import Shape
from clarray._engine.expr.node import Node, memory_of
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.launch import scalars_of
from clarray._engine.fused.reduce.launch_tiered import reduction_passes
from clarray._engine.fused.reduce.plan import reduce_space
from clarray._engine.fused.reduce.prepare import (
    PlannedReduction,
    kernel_plan,
    loop_numbers,
    loop_strides,
    plan_reduction,
    position_of,
    prepare_combine,
    select_monoid,
    select_policy,
    state_dtypes,
)
from clarray._engine.fused.reduce.source import loop_fields, member_tag, reduce_source
from clarray._engine.launch.host_tier import HostLaunch
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, append_inputs, inline_limit
from clarray._engine.ops.monoids import Monoid
from clarray._engine.runtime import Kernel, Memory

_MOST_STATES = 16  # components of the states of one pass: local memory and registers have room for them


class _Member(NamedTuple):
    """A reduction, its plan alone, and its number among all that are asked for together."""

    number: int
    epilogue: Epilogue
    monoid: Monoid
    position: Node | None
    planned: PlannedReduction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """Reductions that one launch computes, or the parts of their states."""

    numbers: tuple[int, ...]
    kernel: Kernel
    second: Kernel | None  # combines the parts, if the first launch does not
    second_groups: int
    second_numbers: dict[str, Any]
    position: Node | None
    shifts: tuple[int, ...]
    loops: tuple[int, ...]
    groups: int
    work_group: int
    outputs: int
    parts: int
    states: tuple[tuple[Any, ...], ...]
    nbytes: int
    inline_bytes: int


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
    for group in _passes(cache, epilogues, targets):
        nodes = inputs_of(*(epilogues[number].reduced for number in group.numbers))
        operands = Operands(nodes)
        if group.position is not None:
            operands = operands.with_index(group.position)
        own = [waiting.pop(number) for number in group.numbers]
        launches += _launches(cache, group, operands, own, [targets[number] for number in group.numbers])
    for number, epilogue in waiting.items():
        target = targets[number]
        launches += reduction_passes(cache, epilogue, memory_of(target), target.offset, target.strides)
    return launches


def _passes(cache: KernelCache, epilogues: Sequence[Epilogue], targets: Sequence[Node]) -> tuple[_Pass, ...]:
    """Return the passes of two reductions or more. The others have a pass of their own."""
    value = epilogues[0].reduced.args[0]
    policy = cache.policies.reduce
    at_once = policy.at_once if targets[0].size == 1 else policy.inline_bytes
    is_small = value.size * value.dtype.itemsize <= at_once
    if is_small and cache.device.inline is not None:  # each is computed by the calling thread, or by NumPy
        return ()
    layouts = tuple([target.strides for target in targets])
    key: list[Any] = ["together", _structure(epilogues), value.shape, layouts]
    append_inputs(inputs_of(*(each.reduced for each in epilogues)), key, [], not policy.explicit)
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
    kernel = cache.kernel_for(
        ("reduce", structure, plan),
        reduce_source,
        plan,
        monoids,
        position,
        operands.nodes,
        epilogues,
        cache.capabilities,
    )
    second: Kernel | None = None
    second_groups, second_numbers = 0, dict[str, Any]()
    if plan.partial and not plan.last:
        second, second_groups, second_numbers = prepare_combine(
            cache, plan, structure, monoids, epilogues, space, division.parts
        )
    return _Pass(
        numbers=tuple([member.number for member in members]),
        kernel=kernel,
        second=second,
        second_groups=second_groups,
        second_numbers=second_numbers,
        position=position,
        shifts=space.offsets[1:] if any(space.offsets) else (),
        loops=tuple(loop_fields(plan).fill(**loop_numbers(space, plan, operands.names, division, task.lanes))),
        groups=division.groups,
        work_group=policy.work_group,
        outputs=prod(space.kept),
        parts=division.parts,
        states=tuple([state_dtypes(member.monoid, member.position) for member in members]),
        nbytes=inputs.nbytes + sum(each.root.size * each.root.dtype.itemsize for each in epilogues),
        inline_bytes=inline_limit(policy.inline_bytes, *[arg for each in epilogues for arg in each.reduced.args]),
    )


def _launches(
    cache: KernelCache, group: _Pass, operands: Operands, epilogues: Sequence[Epilogue], targets: Sequence[Node]
) -> list[Launch]:
    """Return the launch of a pass, and the one that combines the states of its parts."""
    results: dict[str, Any] = {}
    for number, (target, epilogue) in enumerate(zip(targets, epilogues, strict=True)):
        name = f"y{number or ''}"
        results |= {f"{name}p": memory_of(target).buffer, f"{name}o": target.offset}
        results[f"constants{member_tag(number)}"] = scalars_of(epilogue.constants)
    states: list[Memory] = []
    buffers: dict[str, Any] = {}
    for number, dtypes in enumerate(group.states if group.parts > 1 else ()):
        own = [cache.device.allocate(group.outputs * group.parts * dtype.itemsize) for dtype in dtypes]
        buffers[f"states{member_tag(number)}"] = [memory.buffer for memory in own]
        states += own
    given = {"inputs": operands.arguments(group.shifts), "loops": group.loops, **buffers}
    if group.second is None:
        given |= results
        if states:
            given["counters"] = cache.counters.buffer
    local, inline = (group.work_group,), group.nbytes <= group.inline_bytes
    state_bytes = sum(memory.nbytes for memory in states)
    args = group.kernel.arguments(**given)
    launches = [Launch(group.kernel, (group.groups,), local, args, inline, group.nbytes + state_bytes, states)]
    if group.second is not None:
        args = group.second.arguments(**buffers, **results, **group.second_numbers)
        launches.append(Launch(group.second, (group.second_groups,), local, args, inline, state_bytes, states))
    return launches
