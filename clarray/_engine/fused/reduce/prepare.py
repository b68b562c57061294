"""Prepare reductions: make the kernels and the arguments that follow from shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.graph import inputs_of, signature_of
from clarray._engine.expr.layout import (
    ALIGNMENT,
    Shape,
    access,
    explicit_width,
    furthest,
    index_type,
    starts_aligned,
    vector_width,
)
from clarray._engine.expr.node import CONST, INDEX, Node, index
from clarray._engine.expr.overlap import outermost_first
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import contiguous
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.monoid_code import lane_dtype
from clarray._engine.fused.reduce.plan import (
    COLUMNS,
    ROWS,
    ReducePlan,
    ReduceSpace,
    Split,
    TaskShape,
    ascending,
    lanes_for,
    merge_row_tasks,
    power_of_two,
    reduce_space,
    rows_per_item,
    split,
)
from clarray._engine.fused.reduce.products import is_product
from clarray._engine.fused.reduce.source import combine_source, loop_fields, reduce_source
from clarray._engine.launch.kernel_cache import COUNTERS, KernelCache
from clarray._engine.launch.operands import Operands, inline_limit
from clarray._engine.ops.monoids import Monoid, extremum_monoid, widened_monoid
from clarray._engine.runtime import Kernel
from clarray._engine.tuning import ReducePolicy

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionLaunch:
    """The kernels of one pass of reductions, with all arguments that follow from shapes and strides.

    Parameters
    ----------
    position : Node, optional
        The index node of an indexed monoid.
    shifts : tuple of int
        Added to the offsets of the inputs, for reversed axes. Empty if no axis is reversed.
    loops : tuple of int
        Values of the fields `loops` of the first kernel.
    extent_at : int
        Position in `loops` of the extent of the innermost reduced axis.
    outputs : int
        Number of results.
    states : tuple of tuple of dtype
        For each reduction the dtypes of a state's components.
    second_numbers : dict
        Values of the second kernel's fields that are numbers, by name.
    """

    first: Kernel
    second: Kernel | None
    position: Node | None
    shifts: tuple[int, ...]
    loops: tuple[int, ...]
    extent_at: int
    groups: int
    work_group: int
    outputs: int
    parts: int
    states: tuple[tuple[np.dtype, ...], ...]
    second_groups: int
    second_numbers: dict[str, Any]
    nbytes: int
    out_bytes: int
    inline_bytes: int


def position_of(reduced: Node, monoid: Monoid) -> Node | None:
    """Return the index node of an indexed monoid: the positions along the reduced axes.

    `argmax` counts positions in C order. Of equal extrema the first one in memory order counts, as NumPy reduces in it.
    """
    if not monoid.indexed:
        return None
    axes, shape = reduced.op.axes, reduced.args[0].shape
    if monoid.algebra == "extremum":
        views = [result_view(arg) for arg in reduced.args if arg.op is not CONST]
        axes = tuple(axis for axis in outermost_first(views, len(shape)) if axis in axes)
    strides = [0] * len(shape)
    for axis, stride in zip(axes, contiguous(tuple(shape[axis] for axis in axes)), strict=True):
        strides[axis] = stride
    extent = prod(shape[axis] for axis in axes)
    return index(shape, tuple(strides), _INT32 if extent < 2**31 else _INT64)


def loop_strides(reduced: Node, operands: Operands, out: Shape) -> tuple[Shape, ...]:
    """Return the strides of the output (0 on reduced axes) and of the inputs, over the unreduced shape."""
    shape = reduced.args[0].shape
    axes = reduced.op.axes
    kept_axes = [a for a in range(len(shape)) if a not in axes]
    if len(out) > len(kept_axes):
        steps = {axis: out[axis] for axis in kept_axes}
    else:
        steps = dict(zip(kept_axes, out, strict=True))
    return (tuple([steps.get(axis, 0) for axis in range(len(shape))]), *operands.strides(len(shape)))


def structure_of(epilogue: Epilogue, position: Node | None) -> tuple[Any, ...]:
    """Return the key of the sources, without the plan. It has no axes, unless an epilogue's signature has them."""
    reduced = epilogue.reduced
    if epilogue.root is reduced:
        graph: tuple[int, ...] = (reduced.op.monoid.code, signature_of(*reduced.args))
    else:
        graph = (signature_of(epilogue.root),)
    return graph, position.dtype if position is not None else _INT64


class PlannedReduction(NamedTuple):
    """The plan of a reduction and the values that it follows from."""

    plan: ReducePlan
    operands: Operands
    space: ReduceSpace
    division: Split
    lanes: int
    task: TaskShape


def prepare_reduction(cache: KernelCache, epilogue: Epilogue, out: Shape) -> ReductionLaunch:
    """Return the kernels of `reduction_launches` and the arguments that follow from shapes and strides.

    Parameters
    ----------
    out : tuple of int
        Strides of the epilogue's root in memory.
    """
    reduced = epilogue.reduced
    inputs = Operands(inputs_of(reduced))
    policy = select_policy(cache, reduced.args[0])
    monoid = select_monoid(cache, reduced.op.monoid, policy)
    position = position_of(reduced, monoid)
    planned = plan_reduction(cache, reduced, monoid, position, inputs, out, policy)
    return prepare_launch(cache, planned, (monoid,), (epilogue,), position, structure_of(epilogue, position))


def prepare_launch(
    cache: KernelCache,
    planned: PlannedReduction,
    monoids: Sequence[Monoid],
    epilogues: Sequence[Epilogue],
    position: Node | None,
    structure: tuple[Any, ...],
) -> ReductionLaunch:
    """Return the kernels of some reductions in one pass, and the arguments that follow from shapes and strides.

    Parameters
    ----------
    planned : PlannedReduction
        Of all of them.
    structure : tuple
        The key of the sources, without the plan. The dtype of positions is last.
    """
    plan, operands, space, division, lanes, _ = planned
    first = cache.kernel_for(
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
    second_groups = 0
    second_numbers: dict[str, Any] = {}
    if plan.partial and not plan.last:
        second, second_groups, second_numbers = prepare_combine(
            cache, plan, structure, monoids, epilogues, space, division.parts
        )
    fields = loop_fields(plan)
    out_bytes = sum([each.root.size * each.root.dtype.itemsize for each in epilogues])
    return ReductionLaunch(
        first=first,
        second=second,
        position=position,
        shifts=space.offsets[1:] if any(space.offsets) else (),
        loops=tuple(fields.fill(**loop_numbers(space, plan, operands.names, division, lanes))),
        extent_at=fields.start("r"),
        groups=division.groups,
        work_group=plan.policy.work_group,
        outputs=prod(space.kept),
        parts=division.parts,
        states=tuple([state_dtypes(monoid, position) for monoid in monoids]),
        second_groups=second_groups,
        second_numbers=second_numbers,
        nbytes=operands.nbytes + out_bytes,
        out_bytes=out_bytes,
        inline_bytes=inline_limit(plan.policy.inline_bytes, *[arg for each in epilogues for arg in each.reduced.args]),
    )


def select_monoid(cache: KernelCache, monoid: Monoid, policy: ReducePolicy) -> Monoid:
    """Return the monoid in the type in which the device computes it."""
    wide = policy.widen and cache.capabilities.fp64 and monoid.in_dtype.kind == "f"  # complex values have no vectors
    return widened_monoid(monoid) if wide else extremum_monoid(monoid)


def plan_reduction(
    cache: KernelCache,
    reduced: Node,
    monoid: Monoid,
    position: Node | None,
    inputs: Operands,
    out: Shape,
    policy: ReducePolicy,
) -> PlannedReduction:
    """Choose the loops, the vectors and the division of a reduction."""
    operands = inputs if position is None else inputs.with_index(position)
    dtypes = [*inputs.dtypes(*reduced.args), *[d for n, d in monoid.components if n != "i"]]
    ordered = not monoid.associative
    explicit = explicit_width(dtypes, policy.explicit) and not ordered
    products = policy.block_products if explicit and _sums_products(reduced, monoid, policy) else 0
    # the size of a block does not depend on the expressions of the factors
    widest = (reduced.args[0].dtype,) if products else dtypes
    vector = 1 if ordered else vector_width(widest, policy.vector_bytes, policy.max_width)
    strides = loop_strides(reduced, operands, out)
    space = reduce_space(reduced.args[0].shape, reduced.op.axes, strides, vector, policy.short, ordered)
    inner_strides = _innerstrides(space)
    task = _task_shape(policy, space, vector, ordered)
    if not policy.explicit and any(s not in (0, 1) for s in inner_strides[1:]):
        # neighbouring positions go to neighbouring work-items, not to one of them
        if space.form == ROWS:
            loads = task.loads * vector
            vector = 1
            task = replace(_task_shape(policy, space, vector, ordered), loads=loads)
        elif task.strip == 1:
            task = replace(task, spread=True)
    if products:
        task = replace(task, block=products if space.form == ROWS else task.loads)
    division = split(space, task, policy, cache.units, ordered, monoid.max_length)
    rows = 1
    fits_registers = products or len(monoid.components) == 1  # the states of several rows
    if explicit and vector > 1 and fits_registers and "pairs" not in operands.accesses(inner_strides[1:], explicit):
        rows = rows_per_item(space, division, vector, policy)
    if rows > 1:
        division = merge_row_tasks(division, rows)
    plan = kernel_plan(policy, space, operands, position, task, division, explicit)
    if rows > 1:
        plan = replace(plan, rows_per_item=rows, common=_common_inputs(space))
    if products:
        plan = replace(plan, products=products)
    return PlannedReduction(plan, operands, space, division, task.lanes, task)


def _sums_products(reduced: Node, monoid: Monoid, policy: ReducePolicy) -> bool:
    """Return whether a reduction sums products in blocks, if the policy has blocks."""
    value, *mask = reduced.args
    sums = monoid.algebra in ("compensated", "widened")
    # short rows are as fast and as exact without blocks; if one launch is for all lengths, the length does not count
    alone = len(reduced.op.axes) == len(value.shape)
    long = alone or prod(value.shape[axis] for axis in reduced.op.axes) >= policy.short
    return sums and not mask and long and policy.work_group == 1 and is_product(value)


def select_policy(cache: KernelCache, value: Node) -> ReducePolicy:
    """Return the policy for reductions of an expression."""
    return cache.policies.products if is_product(value) else cache.policies.reduce


def _common_inputs(space: ReduceSpace) -> tuple[int, ...]:
    """Return the numbers of the inputs that are the same in every row."""
    return tuple(number for number, strides in enumerate(space.kept_strides[1:]) if not any(strides))


def _innerstrides(space: ReduceSpace) -> list[int]:
    axes = space.kept_strides if space.form == COLUMNS else space.reduced_strides
    return [s[-1] if s else 0 for s in axes]


def _task_shape(policy: ReducePolicy, space: ReduceSpace, vector: int, ordered: bool) -> TaskShape:
    if ordered:
        return TaskShape(vector=vector, lanes=1, strip=1, loads=1)
    inner = (space.kept if space.form == COLUMNS else space.reduced) or (1,)
    lanes = lanes_for(space.form, prod(space.kept), inner[-1], prod(space.reduced), vector, policy)
    if space.form != COLUMNS:
        return TaskShape(vector=vector, lanes=lanes, strip=1, loads=policy.loads)
    rows = -(-prod(space.reduced) // lanes)
    loads = min(policy.column_loads, power_of_two(rows + 1) // 2)
    return TaskShape(vector=vector, lanes=lanes, strip=policy.strip, loads=loads)


def kernel_plan(
    policy: ReducePolicy,
    space: ReduceSpace,
    operands: Operands,
    position: Node | None,
    task: TaskShape,
    division: Split,
    explicit: bool,
) -> ReducePlan:
    inner = _innerstrides(space)
    shape = space.kept + space.reduced
    steps = [k + r for k, r in zip(space.kept_strides, space.reduced_strides, strict=True)]
    largest_position = furthest(shape, steps, prod(shape))
    last = -1 if space.form != COLUMNS else len(space.kept) - 1
    # a vector has neighbouring elements, which is not the case if the elements of a work-item are spread
    vectors_aligned = (
        not policy.explicit
        and not task.spread
        and all(
            n.op is INDEX or s[last] != 1 or _are_vectors_aligned(n, s, shift)
            for n, s, shift in zip(operands.non_constants, steps[1:], space.offsets[1:], strict=True)
        )
    )
    ordered = position is None or ascending(space.reduced, space.reduced_strides[-1])
    stores_vectors = space.form == COLUMNS and division.parts == 1
    return ReducePlan(
        form=space.form,
        accesses=operands.accesses(inner[1:], explicit),
        out_access="zero" if space.form != COLUMNS else access(inner[0]),
        kept_rank=len(space.kept),
        reduced_rank=len(space.reduced),
        vector=task.vector,
        explicit=explicit,
        loads=task.loads,
        lanes=task.lanes if task.lanes in (1, policy.work_group) else 0,
        strip=task.strip,
        index=index_type(largest_position, policy.chunked),
        aligned=vectors_aligned,
        out_aligned=stores_vectors and not task.spread and space.kept[-1] % ALIGNMENT == 0,
        spread=task.spread,
        partial=division.parts > 1,
        ascending=ordered,
        last=_last_group_combines(policy, space.form, explicit, division),
        policy=policy,
    )


def _are_vectors_aligned(node: Node, steps: tuple[int, ...], shift: int) -> bool:
    """Return whether all vectors along the only axis of stride 1 are aligned."""
    unaligned = sum(not starts_aligned(node.dtype, step) for step in steps)
    # offset and shift, not their sum: the alignment of the sum is not in the key of a prepared launch
    return unaligned == 1 and starts_aligned(node.dtype, node.offset, shift)


def _last_group_combines(policy: ReducePolicy, form: str, explicit: bool, division: Split) -> bool:
    """Return whether the last work-group of each block combines its parts, in the same launch.

    Columns have many states. A second launch reads them with the whole device.
    """
    possible = bool(policy.fence) and form == ROWS and not explicit
    return possible and division.parts > 1 and division.blocks <= COUNTERS


def state_dtypes(monoid: Monoid, position: Node | None) -> tuple[np.dtype, ...]:
    return tuple([position.dtype if position is not None and n == "i" else lane_dtype(d) for n, d in monoid.components])


def loop_numbers(
    space: ReduceSpace, plan: ReducePlan, arrays: Sequence[str], division: Split, lanes: int
) -> dict[str, Any]:
    """Return the values of the fields `loop_fields` by name. `arrays` are the names of the inputs with strides."""
    reduced = prod(space.reduced)
    inner = space.reduced[-1] if space.reduced else 1
    values: dict[str, Any] = {
        "tasks": division.tasks,
        "outputs": prod(space.kept),
        "rows": reduced if plan.form == COLUMNS else reduced // inner,
        "k": space.kept[::-1],
        "r": space.reduced[::-1],
    }
    if plan.partial:
        values["parts"] = division.parts
        values["rows_per_part"] = division.rows_per_part
        values["inner_parts"] = division.inner_parts
        values["inner_per_part"] = division.inner_per_part
    if not plan.lanes:
        values["lanes"] = lanes
    for name, k, r in zip(arrays, space.kept_strides[1:], space.reduced_strides[1:], strict=True):
        values[f"{name}k"], values[f"{name}r"] = k[::-1], r[::-1]
    if plan.last or not plan.partial:
        values["yk"] = space.kept_strides[0][::-1]
    return values


def prepare_combine(
    cache: KernelCache,
    plan: ReducePlan,
    structure: tuple[Any, ...],
    monoids: Sequence[Monoid],
    epilogues: Sequence[Epilogue],
    space: ReduceSpace,
    parts: int,
) -> tuple[Kernel, int, dict[str, Any]]:
    """Return the kernel of the second launch, its number of work-groups, and its numbers by name.

    It combines the parts of some reductions.
    """
    policy, outputs = plan.policy, prod(space.kept)
    # work-items of neighbouring outputs make whole memory transactions, the other work-items share the parts
    side = min(policy.work_group, power_of_two(outputs), 32)
    lanes = min(policy.work_group // side, power_of_two(parts))
    shared = lanes > 1
    *_, index_dtype = structure
    kernel = cache.kernel_for(
        ("combine", structure, shared, plan.kept_rank, plan.policy),
        combine_source,
        plan,
        monoids,
        index_dtype,
        shared,
        epilogues,
        cache.capabilities,
    )
    side = policy.work_group // lanes
    most_groups = cache.units * policy.groups_per_unit if policy.chunked else 2**20
    values = {"outputs": outputs, "parts": parts, "k": space.kept[::-1], "yk": space.kept_strides[0][::-1]}
    if shared:
        values["lanes"] = lanes
    return kernel, max(1, min(-(-outputs // side), most_groups)), values
