"""Rows in one pass: reductions along rows, and elementwise results that read them.

    e = exp(x - x.max(axis=1, keepdims=True)); e / e.sum(axis=1, keepdims=True)

The work-items of a row go along it several times. Only the first time reads memory: a row fits in the caches.

    row -> stage 0: max -> stage 1: sum(exp(x - max)) -> exp(x - max) / sum

Each reduction combines its values in the same order as in a launch of its own, so its bits are the same.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.graph import graph_of, postorder, signature_of
from clarray._engine.expr.layout import Shape, access, aligned, starts_aligned
from clarray._engine.expr.node import CONST, Node, leaf, memory_of
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.plan import ROWS, ReducePlan, reduce_space
from clarray._engine.fused.reduce.prepare import (
    PlannedReduction,
    kernel_plan,
    loop_numbers,
    loop_strides,
    plan_reduction,
    select_monoid,
    select_policy,
)
from clarray._engine.fused.reduce.source import RowStages, loop_fields, member_tag, output_name, reduce_source
from clarray._engine.fused.reduce.together import combining_order
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, append_inputs, inline_limit
from clarray._engine.ops.monoids import Monoid, Reduction
from clarray._engine.runtime import Kernel

_LONGEST_ROW = 1 << 18  # bytes of all inputs along a row, which the caches of a core keep
_MOST_REDUCTIONS = 6
_PLAIN = frozenset(["unit", "zero", "const"])  # accesses along a row


class _Operands(Operands):
    """The inputs of expressions that read results of reductions. Such a result is an input of its own."""

    __slots__ = ("_dtypes",)

    def __init__(self, nodes: Sequence[Node], dtypes: set[np.dtype]) -> None:
        super().__init__(nodes)
        self._dtypes = dtypes

    def dtypes(self, *roots: Node) -> list[np.dtype]:
        return [*self._dtypes]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A kernel for rows with all arguments that follow from shapes and strides."""

    kernel: Kernel
    order: tuple[int, ...]  # of the reductions, by their stages
    loops: tuple[int, ...]
    strides: dict[str, tuple[int, ...]]  # of the outputs
    groups: int
    work_group: int
    nbytes: int
    inline_bytes: int


def fits_rows(cache: KernelCache, reductions: Sequence[Node], outputs: Sequence[Node]) -> bool:
    """Return whether one launch can compute reductions along rows and elementwise results of the rows' shape."""
    return _find(cache, reductions, outputs)[0] is not None


def rows_launch(
    cache: KernelCache, reductions: Sequence[Node], outputs: Sequence[Node], targets: Sequence[Node]
) -> Launch:
    """Return the launch that computes what `fits_rows` has accepted.

    Parameters
    ----------
    reductions, outputs : sequence of Node
        The pending reductions, operands before their users, and the elementwise results.
    targets : sequence of Node
        The leaf of each of them, in that order.
    """
    rows, inputs = _find(cache, reductions, outputs)
    assert rows is not None
    places = dict(zip(reductions, targets, strict=False))
    operands = Operands([places.get(node, node) for node in inputs])
    given: dict[str, Any] = {"inputs": operands.arguments(), "loops": rows.loops, **rows.strides}
    for number, at in enumerate(rows.order):
        name, target = output_name(number), targets[at]
        given |= {f"{name}p": memory_of(target).buffer, f"{name}o": target.offset, f"constants{member_tag(number)}": ()}
    mapped = targets[len(reductions) :]
    given["mapped"] = [each for target in mapped for each in (memory_of(target).buffer, target.offset)]
    inline = rows.nbytes <= rows.inline_bytes
    args = rows.kernel.arguments(**given)
    return Launch(rows.kernel, (rows.groups,), (rows.work_group,), args, inline, rows.nbytes)


def _find(cache: KernelCache, reductions: Sequence[Node], outputs: Sequence[Node]) -> tuple[_Rows | None, list[Node]]:
    """Return what is prepared for these layouts, and the inputs: leaves and constants, and then the reductions."""
    graph = graph_of(*reductions, *outputs)
    inputs = [*graph.inputs, *reductions]
    key: list[Any] = ["rows", graph.signature, outputs[0].shape]
    append_inputs(graph.inputs, key, [], True)
    key += [result_strides(node) for node in (*reductions, *outputs)]
    rows: _Rows | None = cache.value_for(tuple(key), _prepare, cache, reductions, outputs, inputs)
    return rows, inputs


def _order_until(roots: Sequence[Node], ends: Container[Node]) -> list[Node]:
    return postorder(roots, lambda node: () if node in ends else node.args)


def _prepare(
    cache: KernelCache, reductions: Sequence[Node], outputs: Sequence[Node], inputs: Sequence[Node]
) -> _Rows | None:
    """Return the kernel for rows. None if a reduction would combine its values in another order than alone."""
    shape, axes = outputs[0].shape, reductions[0].op.axes
    if len(reductions) > _MOST_REDUCTIONS:
        return None
    # leaves that stand for the results: only their layouts count
    results = {node: leaf(cache.counters, node.shape, result_strides(node), 0, node.dtype) for node in reductions}
    if any(_crosses_rows(result, shape, axes) for result in results.values()):
        return None
    levels = [_level(node) for node in reductions]
    order = sorted(range(len(reductions)), key=lambda at: levels[at])
    alone: list[tuple[Monoid, PlannedReduction]] = []
    for at in order:
        planned = _plan_alone(cache, reductions[at], results)
        if planned is None or combining_order(planned[1]) != combining_order((alone or [planned])[0][1]):
            return None
        alone.append(planned)
    is_complex = any(node.dtype.kind == "c" for node in graph_of(*reductions, *outputs).pending)
    if is_complex and any(planned.plan.explicit for _, planned in alone):  # complex values have no vectors
        return None
    counts = tuple([len([*group]) for _, group in groupby(levels[at] for at in order)])
    nodes = [results.get(node, node) for node in inputs]
    ordered = [reductions[at] for at in order]
    together = _plan_together(ordered[0], alone[0][1], outputs, nodes)
    if together is None:
        return None
    planned_rows, strides = together
    rows = _stages(counts, [results[node] for node in ordered], outputs, planned_rows.plan, strides)
    plan, operands, space, division, lanes, _ = planned_rows
    epilogues = [Epilogue(node, node, ()) for node in ordered]
    structure = signature_of(*ordered, *outputs)
    kernel = cache.kernel_for(
        ("rows", structure, plan, rows.counts, rows.accesses, rows.aligned),
        reduce_source,
        plan,
        [monoid for monoid, _ in alone],
        None,
        operands.nodes,
        epilogues,
        cache.capabilities,
        rows,
    )
    loops = loop_fields(plan).fill(**loop_numbers(space, plan, operands.names, division, lanes))
    names = [f"z{number}{axis}" for number in range(len(outputs)) for axis in "kr"]
    everything = [node for node in nodes if node.op is not CONST]
    nbytes = sum(node.size * node.dtype.itemsize for node in (*everything, *reductions, *outputs))
    return _Rows(
        kernel=kernel,
        order=tuple(order),
        loops=tuple(loops),
        strides=dict(zip(names, [steps[::-1] for both in strides for steps in both], strict=True)),
        groups=division.groups,
        work_group=plan.policy.work_group,
        nbytes=nbytes,
        inline_bytes=inline_limit(plan.policy.inline_bytes, *outputs),
    )


def _crosses_rows(result: Node, shape: Shape, axes: Shape) -> bool:
    """Return whether the result of a row is read by elements of other rows, as if it is broadcast without keepdims."""
    steps = aligned(result.shape, result.strides, len(shape))
    return any(steps[axis] for axis in axes) or any(
        not step and extent > 1 and axis not in axes
        for axis, (step, extent) in enumerate(zip(steps, shape, strict=True))
    )


def _level(reduced: Node) -> int:
    """Return how many reductions are computed one after the other before this one."""
    levels: dict[Node, int] = {}
    for node in postorder((reduced,), lambda each: each.args if each.memory is None else ()):
        below = max([levels[arg] for arg in node.args], default=0)
        levels[node] = below + isinstance(node.op, Reduction)
    return levels[reduced]


def _plan_alone(cache: KernelCache, reduced: Node, results: dict[Node, Node]) -> tuple[Monoid, PlannedReduction] | None:
    """Return the monoid and the plan of a reduction by itself. None if no work-group goes along whole rows."""
    policy = select_policy(cache, reduced.args[0])
    monoid = select_monoid(cache, reduced.op.monoid, policy)
    if monoid.indexed or not monoid.associative:
        return None
    below = _order_until(reduced.args, results)
    nodes = [results.get(node, node) for node in below if node in results or not node.args]
    dtypes = {node.dtype for node in (*reduced.args, *nodes)}
    for node in below:
        if node.args and node not in results:
            dtypes |= {node.dtype, *node.op.in_dtypes}
    planned = plan_reduction(cache, reduced, monoid, None, _Operands(nodes, dtypes), result_strides(reduced), policy)
    plan = planned.plan
    along_rows = plan.form == ROWS and not plan.partial and plan.rows_per_item == 1 and not plan.products
    return (monoid, planned) if along_rows else None


def _plan_together(
    reduced: Node, alone: PlannedReduction, outputs: Sequence[Node], nodes: Sequence[Node]
) -> tuple[PlannedReduction, list[tuple[Shape, Shape]]] | None:
    """Return the plan of all stages, and the strides of the outputs over the loops. None if the loops would differ."""
    shape, axes, policy = reduced.args[0].shape, reduced.op.axes, alone.plan.policy
    operands = Operands(nodes)
    strides = loop_strides(reduced, operands, result_strides(reduced))
    layouts = [result_strides(output) for output in outputs]
    space = reduce_space(shape, axes, strides, alone.task.vector, policy.short, False)
    whole = reduce_space(shape, axes, (*strides, *layouts), alone.task.vector, policy.short, False)
    plan = kernel_plan(policy, space, operands, None, alone.task, alone.division, alone.plan.explicit)
    planned = alone._replace(plan=plan, operands=operands, space=space)
    is_same = combining_order(planned) == combining_order(alone) and whole[:2] == space[:2]
    row_bytes = sum(n.dtype.itemsize for n in nodes if n.op is not CONST) * reduced.args[0].size // max(1, reduced.size)
    # a stride along the rows would change the order of a value that is stored if it is not in this pass
    is_plain = _PLAIN.issuperset(plan.accesses) and not any(space.offsets) and not any(whole.offsets)
    if not is_same or not is_plain or row_bytes > _LONGEST_ROW:
        return None
    own = slice(1 + len(operands.non_constants), None)
    return planned, [*zip(whole.kept_strides[own], whole.reduced_strides[own], strict=True)]


def _stages(
    counts: tuple[int, ...],
    results: Sequence[Node],
    outputs: Sequence[Node],
    plan: ReducePlan,
    strides: Sequence[tuple[Shape, Shape]],
) -> RowStages:
    return RowStages(
        counts=counts,
        results=tuple(results),
        outputs=tuple(outputs),
        accesses=tuple([access(inner[-1]) for _, inner in strides]),
        aligned=tuple(
            [
                not plan.explicit and inner[-1] == 1 and starts_aligned(output.dtype, *kept, *inner[:-1])
                for output, (kept, inner) in zip(outputs, strides, strict=True)
            ]
        ),
    )
