"""What a reduction needs that follows from shapes and strides: its kernels, how they are divided, their arguments."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

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
from clarray._engine.fused.reduce.monoid_code import lane_dtype
from clarray._engine.fused.reduce.plan import (
    COLUMNS,
    ROWS,
    ReducePlan,
    ReduceSpace,
    Split,
    ascending,
    lanes_for,
    power_of_two,
    reduce_space,
    rows_abreast,
    split,
    tasks_abreast,
)
from clarray._engine.fused.reduce.products import is_product
from clarray._engine.fused.reduce.source import Epilogue, combine_source, reduce_source
from clarray._engine.launch.kernel_cache import COUNTERS, KernelCache
from clarray._engine.launch.operands import Operands, inline_limit
from clarray._engine.ops.monoids import Monoid, Reduction, extremum_monoid, widened_monoid
from clarray._engine.runtime import Kernel
from clarray._engine.tuning import ReducePolicy
from clarray._engine.values import dataclass

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)
_NONE: tuple[int, ...] = ()

TASKS, EXTENT = 0, 3  # where `Prepared.sizes` have what there is to do, and the length of a single axis in one part


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The kernels of a reduction with every argument that follows from shapes and strides."""

    first: Kernel
    second: Kernel | None
    position: Node | None
    shifts: tuple[int, ...]
    sizes: tuple[int, ...]
    groups: int
    work_group: int
    outputs: int
    parts: int
    states: tuple[np.dtype, ...]
    second_groups: int
    second_sizes: tuple[int, ...]
    nbytes: int
    out_bytes: int
    inline_bytes: int


def _position(reduced: Node, monoid: Monoid) -> Node | None:
    """Return the index node of an indexed monoid: the positions along the reduced axes.

    `argmax` counts them in C order. An extremum is the first one in the order of the memory, in which NumPy reduces.
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


def _strides(reduced: Node, operands: Operands, out: Shape) -> tuple[Shape, ...]:
    """Strides of the output (0 on reduced axes) and of the inputs, over the reduced shape."""
    shape = reduced.args[0].shape
    axes = reduced.op.axes
    kept = [a for a in range(len(shape)) if a not in axes]
    steps = {axis: out[axis] for axis in kept} if len(out) > len(kept) else dict(zip(kept, out, strict=True))
    return (tuple(steps.get(axis, 0) for axis in range(len(shape))), *operands.strides(len(shape)))


def _pattern(epilogue: Epilogue, operands: Operands) -> tuple[int, ...]:
    """Which inputs are one: of an epilogue its constants too, of which there is one in ``t * t``, two in ``t * u``."""
    return operands.pattern if epilogue.root is epilogue.reduced else Operands(epilogue.root.inputs).pattern


def _structure(epilogue: Epilogue, operands: Operands, position: Node | None) -> tuple[Any, ...]:
    """What the sources depend on besides a plan; not the axes, unless an epilogue's signature has them."""
    reduced = epilogue.reduced
    if epilogue.root is reduced:
        tree: tuple[int, ...] = (reduced.op.monoid.code, *[a.sig for a in reduced.args])
    else:
        tree = (epilogue.root.sig,)
    return tree, _pattern(epilogue, operands), position.dtype if position is not None else _INT64


def prepare_reduction(cache: KernelCache, epilogue: Epilogue, out: Shape) -> Prepared:
    """The kernels of `reduction_launches`, and the arguments that follow from shapes and strides."""
    reduced = epilogue.reduced
    inputs = Operands(reduced.inputs)
    out_bytes = epilogue.root.size * epilogue.root.dtype.itemsize
    op: Reduction = reduced.op
    policy = policy_of(cache, reduced.args[0])
    wide = policy.widen and cache.capabilities.fp64 and op.monoid.in_dtype.kind == "f"  # complex values have no vectors
    monoid = widened_monoid(op.monoid) if wide else extremum_monoid(op.monoid)
    position = _position(reduced, monoid)
    operands = inputs if position is None else inputs.followed_by(position)
    dtypes = [*inputs.dtypes(*reduced.args), *(d for n, d in monoid.components if n != "i")]
    ordered = not monoid.associative
    explicit = explicit_width(dtypes, policy.explicit) and not ordered
    products = policy.block_products if explicit and _are_summed(reduced, monoid, policy) else 0
    # what a block is does not depend on what the products are still computed of
    widest = (reduced.args[0].dtype,) if products else dtypes
    vector = 1 if ordered else vector_width(widest, policy.vector_bytes, policy.max_width)
    strides = _strides(reduced, operands, out)
    space = reduce_space(reduced.args[0].shape, op.axes, strides, vector, policy.short, ordered)
    inner_strides = _inner_strides(space)
    lanes, strip, loads = _shape(policy, space, vector, ordered)
    spread = False
    if not policy.explicit and any(s not in (0, 1) for s in inner_strides[1:]):
        # neighbouring work-items, not elements of one, take neighbouring positions
        if space.form == ROWS:
            loads, vector = loads * vector, 1
            lanes, strip, _ = _shape(policy, space, vector, ordered)
        elif strip == 1:
            spread = True
    divided = split(
        space,
        space.form,
        vector,
        lanes,
        strip,
        loads,
        policy,
        cache.units,
        ordered,
        monoid.max_length,
        (products if space.form == ROWS else loads) if products else 1,
    )
    accesses = operands.accesses(inner_strides[1:], explicit)
    rows = 1
    roomy = products or len(monoid.components) == 1  # registers hold the sums of several rows
    if explicit and vector > 1 and roomy and "pairs" not in accesses:
        rows = rows_abreast(space, divided, vector, policy)
    if rows > 1:
        divided = tasks_abreast(divided, rows)
    plan = _plan(
        policy, space, operands, position, inner_strides, vector, explicit, loads, lanes, strip, spread, divided
    )
    if rows > 1:
        plan = replace(plan, abreast=rows, common=_common(space))
    if products:
        plan = replace(plan, products=products)
    structure = _structure(epilogue, inputs, position)
    first = cache.kernel_for(
        ("reduce", structure, plan),
        reduce_source,
        plan,
        monoid,
        reduced.args[0],
        reduced.args[1] if op.masked else None,
        position,
        operands.nodes,
        epilogue,
        cache.capabilities,
    )
    second: Kernel | None = None
    second_groups, second_sizes = 0, _NONE
    outputs = prod(space.kept)
    if plan.partial and not plan.last:
        second, second_groups, second_sizes = _second(
            cache, plan, structure, monoid, epilogue, space, outputs, divided.parts
        )
    return Prepared(
        first=first,
        second=second,
        position=position,
        shifts=space.offsets[1:] if any(space.offsets) else (),
        sizes=_sizes(space, plan, divided, outputs, lanes),
        groups=divided.groups,
        work_group=policy.work_group,
        outputs=outputs,
        parts=divided.parts,
        states=_state_dtypes(monoid, position),
        second_groups=second_groups,
        second_sizes=second_sizes,
        nbytes=inputs.nbytes + out_bytes,
        out_bytes=out_bytes,
        inline_bytes=inline_limit(policy.inline_bytes, *reduced.args),
    )


def _are_summed(reduced: Node, monoid: Monoid, policy: ReducePolicy) -> bool:
    """Whether a reduction sums products, in blocks where the policy has any."""
    value, *mask = reduced.args
    sums = monoid.algebra in ("compensated", "widened")
    # few are as quick, and exact; not asked where one launch is for all lengths
    alone = len(reduced.op.axes) == len(value.shape)
    long = alone or prod(value.shape[axis] for axis in reduced.op.axes) >= policy.short
    return sums and not mask and long and policy.work_group == 1 and is_product(value)


def policy_of(cache: KernelCache, value: Node) -> ReducePolicy:
    """How reductions of such values are shaped."""
    return cache.policies.products if is_product(value) else cache.policies.reduce


def _common(space: ReduceSpace) -> tuple[int, ...]:
    """The inputs that are the same in every row."""
    return tuple(number for number, kept in enumerate(space.kept_strides[1:]) if not any(kept))


def _inner_strides(space: ReduceSpace) -> list[int]:
    axes = space.kept_strides if space.form == COLUMNS else space.reduced_strides
    return [s[-1] if s else 0 for s in axes]


def _shape(policy: ReducePolicy, space: ReduceSpace, vector: int, ordered: bool) -> tuple[int, int, int]:
    """Work-items per output, vectors per work-item, loads per iteration."""
    if ordered:
        return 1, 1, 1
    inner = (space.kept if space.form == COLUMNS else space.reduced) or (1,)
    lanes = lanes_for(space.form, prod(space.kept), inner[-1], prod(space.reduced), vector, policy)
    if space.form != COLUMNS:
        return lanes, 1, policy.loads
    rows = -(-prod(space.reduced) // lanes)
    return lanes, policy.strip, min(policy.column_loads, power_of_two(rows + 1) // 2)


def _plan(
    policy: ReducePolicy,
    space: ReduceSpace,
    operands: Operands,
    position: Node | None,
    inner: list[int],
    vector: int,
    explicit: bool,
    loads: int,
    lanes: int,
    strip: int,
    spread: bool,
    divided: Split,
) -> ReducePlan:
    shape = space.kept + space.reduced
    steps = [k + r for k, r in zip(space.kept_strides, space.reduced_strides, strict=True)]
    reached = furthest(shape, steps, prod(shape))
    last = -1 if space.form != COLUMNS else len(space.kept) - 1
    # a vector is of neighbours: not where the elements of a work-item are spread, be they contiguous or not
    whole = (
        not policy.explicit
        and not spread
        and all(
            n.op is INDEX or s[last] != 1 or _aligned(n, s, shift)
            for n, s, shift in zip(operands.placed, steps[1:], space.offsets[1:], strict=True)
        )
    )
    ordered = position is None or ascending(space.reduced, space.reduced_strides[-1])
    stored = space.form == COLUMNS and divided.parts == 1  # by this launch, and as vectors
    return ReducePlan(
        form=space.form,
        accesses=operands.accesses(inner[1:], explicit),
        out_access="zero" if space.form != COLUMNS else access(inner[0]),
        kept_rank=len(space.kept),
        reduced_rank=len(space.reduced),
        vector=vector,
        explicit=explicit,
        loads=loads,
        lanes=lanes if lanes in (1, policy.work_group) else 0,
        strip=strip,
        index=index_type(reached, policy.chunked),
        aligned=whole,
        out_aligned=stored and not spread and space.kept[-1] % ALIGNMENT == 0,
        spread=spread,
        partial=divided.parts > 1,
        ascending=ordered,
        last=_counted(policy, space.form, explicit, divided),
        policy=policy,
    )


def _aligned(node: Node, steps: tuple[int, ...], shift: int) -> bool:
    """Whether all vectors along the one axis of stride 1 are aligned."""
    odd = sum(not starts_aligned(node.dtype, step) for step in steps)
    # place and shift, not their sum: the alignment of that is not part of a prepared launch's key
    return odd == 1 and starts_aligned(node.dtype, node.offset, shift)


def _counted(policy: ReducePolicy, form: str, explicit: bool, divided: Split) -> bool:
    """Whether the last work-group of each block combines its parts, in the same launch.

    Not for columns: their states are many, and a second launch reads them with the whole device.
    """
    possible = bool(policy.fence) and form == ROWS and not explicit
    return possible and divided.parts > 1 and divided.blocks <= COUNTERS


def _state_dtypes(monoid: Monoid, position: Node | None) -> tuple[np.dtype, ...]:
    return tuple(position.dtype if position is not None and n == "i" else lane_dtype(d) for n, d in monoid.components)


def _sizes(space: ReduceSpace, plan: ReducePlan, divided: Split, outputs: int, lanes: int) -> tuple[int, ...]:
    """Arguments after the data, in the order of `reduce.source.reduce_source`."""
    reduced = prod(space.reduced)
    inner = space.reduced[-1] if space.reduced else 1
    rows = reduced if plan.form == COLUMNS else reduced // inner
    parts = (divided.parts, divided.rows_per_part, divided.inner_parts, divided.inner_per_part)
    found = [
        divided.tasks,
        outputs,
        rows,
        *(parts if plan.partial else ()),
        *([] if plan.lanes else [lanes]),
        *reversed(space.kept),
        *reversed(space.reduced),
    ]
    for k, r in zip(space.kept_strides[1:], space.reduced_strides[1:], strict=True):
        found += [*reversed(k), *reversed(r)]
    if plan.last or not plan.partial:
        found += reversed(space.kept_strides[0])
    return tuple(found)


def _second(
    cache: KernelCache,
    plan: ReducePlan,
    structure: tuple[Any, ...],
    monoid: Monoid,
    epilogue: Epilogue,
    space: ReduceSpace,
    outputs: int,
    parts: int,
) -> tuple[Kernel, int, tuple[int, ...]]:
    policy = plan.policy
    # neighbouring outputs side by side for whole memory transactions, the rest down the parts
    side = min(policy.work_group, power_of_two(outputs), 32)
    lanes = min(policy.work_group // side, power_of_two(parts))
    shared = lanes > 1
    *_, index_dtype = structure
    kernel = cache.kernel_for(
        ("combine", structure, shared, plan.kept_rank, plan.policy),
        combine_source,
        plan,
        monoid,
        index_dtype,
        shared,
        epilogue,
        cache.capabilities,
    )
    side = policy.work_group // lanes
    most = cache.units * policy.groups_per_unit if policy.chunked else 2**20
    return (
        kernel,
        max(1, min(-(-outputs // side), most)),
        (*([lanes] if shared else []), *reversed(space.kept), *reversed(space.kept_strides[0])),
    )
