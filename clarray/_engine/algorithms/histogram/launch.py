"""Launches of histograms: one or more that count, each followed by one that adds the tables up.

A histogram is an algorithm of its own, so its result is memory; its operands may be pending, and are
then computed while they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.histogram.plan import (
    DIRECT,
    FEW,
    GLOBAL,
    LOCAL,
    PRIVATE,
    SCALARS,
    STEPS,
    HistogramPlan,
    MergePlan,
    Tables,
    launch_units,
    private_groups,
    sum_chunks,
    tables,
)
from clarray._engine.algorithms.histogram.policy import HistogramPolicy
from clarray._engine.algorithms.histogram.source import Steps, histogram_source, merge_source, sum_types
from clarray._engine.evaluate import materialize_shared
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.layout import (
    ALIGNMENT,
    STRIDED,
    Space,
    collapse,
    collapse_in_c_order,
    explicit_width,
    furthest,
    index_type,
    vector_width,
)
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of, replanned
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import Operands
from clarray._engine.runtime import Kernel, Memory

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)
_KEPT_BINS = 1 << 16  # counters that are kept, zero, from one histogram to the next
_LINES = 128  # bytes: two lines of a cache, which come together; threads that count in the same wait for each other


class Axis(NamedTuple):
    """One axis of a histogram.

    Parameters
    ----------
    kind : str
        How values become bins: `histogram.plan.UNIFORM` and so on.
    value : Node
    dtype : dtype
        In which values are compared with edges.
    bins : int
    edges : Node or None
        A contiguous leaf of bins + 1 edges (of float32 for float16).
    scalars : tuple of float
        From `histogram.plan.equal_bins`; of other kinds first and last edge.
    steps : Steps or None
    """

    kind: str
    value: Node
    dtype: np.dtype
    bins: int
    edges: Node | None = None
    scalars: tuple[float, ...] = ()
    steps: Steps | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A histogram that is being made: what every launch of it needs."""

    cache: KernelCache
    policy: HistogramPolicy
    axes: Sequence[Axis]
    weight: Node | None
    operands: Operands
    space: Space
    size: int
    bins: int
    summed: str
    result: Node
    status: Memory | None


def count_values(value: Node, weight: Node | None, bins: int, known: int | None) -> tuple[Node, int]:
    """Count the integers 0 .. bins-1, or sum their weights.

    Parameters
    ----------
    known : int or None
        What no value exceeds, where that will do and nobody has to wait for the largest one.

    Returns
    -------
    Node
        A leaf of `bins` int64, or float64 where there are weights.
    int
        `known`, or the largest value. From 2^31 on it only says that there are such or negative values.
    """
    device = device_of((*(value.inputs or (value,)), *((weight.inputs or (weight,)) if weight else ())))
    dtype = np.dtype(np.uint32 if value.dtype.itemsize <= 4 else np.uint64)
    out = _INT64 if weight is None else _FLOAT64
    with device.lock:
        axis = Axis(DIRECT, value, dtype, bins)
        found = histogram([axis], weight, out, "" if weight is None else "float64")
        memory = found.memory
        assert memory is not None
        if known is not None:
            return found, known
        top = int(device.read_scalar(memory, bins * out.itemsize, out))
        if top < 2**31:
            record_range(value, 0, top)
        return found, top


@replanned
def histogram(axes: Sequence[Axis], weight: Node | None, out: np.dtype, summed: str) -> Node:
    """Count the elements in each bin, or sum their weights.

    Parameters
    ----------
    axes : sequence of Axis
        Their values have one shape.
    weight : Node or None
        Of the same shape.
    out : dtype
        Of the result.
    summed : str
        Dtype of the sums, ``'pair'`` for two floats, or '' without weights.

    Returns
    -------
    Node
        A leaf of one axis: the bins in C order.

    Raises
    ------
    MemoryError
        There is no room for the bins.
    """
    roots = [a.value for a in axes] + ([weight] if weight is not None else [])
    device = device_of([n for r in roots for n in (r.inputs or (r,))])
    with device.lock:
        for root in roots:
            materialize_shared(root)
        cache = kernel_cache_of(device)
        constants = [c for a in axes for c in a.steps or ()]
        operands = Operands([n for r in roots for n in (r.inputs or (r,))] + constants)
        bins = 1
        for axis in axes:
            bins *= axis.bins
        # one more element, for the largest value
        result = contiguous_leaf(device.allocate((bins + 1) * out.itemsize), (bins,), out)
        shape = roots[0].shape
        strides = operands.strides(len(shape))
        space = collapse(shape, strides)
        if summed and any(space.offsets):  # a pending operand and its result would be summed in opposite orders
            space = collapse_in_c_order(shape, strides)
        job = Job(
            cache=cache,
            policy=cache.policies.histogram,
            axes=axes,
            weight=weight,
            operands=operands,
            space=space,
            size=roots[0].size,
            bins=bins,
            summed=summed,
            result=result,
            status=cache.take_zeros(_STATUS, 4) if axes[0].kind == DIRECT else None,
        )
        try:
            _run(job)
        except BaseException:
            for kept in (_KEPT, _STATUS):  # counters may be left in them
                cache.prepared.pop(kept, None)
            raise
        if job.status is not None:
            cache.give_zeros(_STATUS, job.status)
        if any(r.flags & EAGER for r in roots):
            device.synchronize()
    return result


class Prepared(NamedTuple):
    """A kernel that counts, how its launches are divided, and its extents and strides by name."""

    plan: HistogramPlan
    tables: Tables
    kernel: Kernel
    units: int
    step: int
    layout: dict[str, Any]


def _run(job: Job) -> None:
    """Count launch by launch; each is merged into the result."""
    key = (
        "histogram",
        tuple((a.kind, a.value.sig, a.dtype.char) for a in job.axes),
        job.weight.sig if job.weight is not None else None,
        job.summed,
        job.operands.pattern,
        job.space,
        tuple(n.offset * n.dtype.itemsize % ALIGNMENT for n in job.operands.nodes if n.memory is not None),
        job.bins,
        job.result.dtype.char,
    )
    found = job.cache.value_for(key, _prepared, job)
    begin = 0
    while True:
        end = min(found.units, begin + found.step)
        _count(job, found, begin, end, again=begin > 0)
        begin = end
        if begin >= found.units:
            return


def _prepared(job: Job) -> Prepared:
    width = _sum_bytes(job.summed) if job.summed else 0
    found = tables(job.bins, width, job.cache.capabilities.local_bytes, job.policy)
    plan = _plan(job, found)
    key = (
        "histogram",
        tuple(a.value.sig for a in job.axes),
        job.weight.sig if job.weight else None,
        job.operands.pattern,
        plan,
    )
    values, steps_of = [a.value for a in job.axes], [a.steps for a in job.axes]
    kernel = job.cache.kernel_for(
        key, histogram_source, plan, values, steps_of, job.weight, job.operands.nodes, job.cache.capabilities
    )
    length = 1 if plan.space == PRIVATE else plan.vector
    inner = job.space.shape[-1] if job.space.shape else 1
    units = (job.size // inner) * -(-inner // length) if job.size else 0
    layout: dict[str, Any] = {"n_": (job.space.shape or (1,))[::-1]}
    for name, steps in zip(job.operands.names, job.space.strides, strict=True):
        layout[f"{name}s"] = (steps or (0,))[::-1]
    step = units if job.summed else launch_units(length, job.policy)
    return Prepared(plan, found, kernel, units, step, layout)


class _Reading(NamedTuple):
    """How the inputs of a histogram are read."""

    accesses: tuple[str, ...]
    vector: int
    explicit: bool
    aligned: bool
    position: str


def _counted(job: Job) -> bool:
    """Whether work-items take several elements in a row: a GPU's take one each where weights are summed."""
    return job.policy.chunked or not job.summed


def _reading(job: Job) -> _Reading:
    policy = job.policy
    dtypes = {np.dtype(a.dtype) for a in job.axes}
    dtypes.update(job.operands.dtypes(*(a.value for a in job.axes), *([job.weight] if job.weight else [])))
    if job.summed:
        dtypes.add(np.dtype(np.float32 if job.summed == "pair" else job.summed))
    strides = [s or (0,) for s in job.space.strides]
    shape = job.space.shape or (1,)
    explicit = explicit_width(list(dtypes), policy.explicit) and all(a.kind != STEPS for a in job.axes)
    # comparing with many edges is worth whole registers
    widest = 16 if any(a.kind == FEW for a in job.axes) else policy.max_width
    vector = vector_width(list(dtypes), policy.vector_bytes, widest)
    accesses = job.operands.accesses([s[-1] for s in strides], explicit)
    if not _counted(job) or (not policy.explicit and STRIDED in accesses):
        vector = 1  # neighbouring work-items take neighbouring elements
    whole = not policy.explicit and job.operands.rows_aligned(strides, job.operands.shifted_offsets(job.space.offsets))
    position = index_type(furthest(shape, strides, 2 * job.size), policy.chunked)
    return _Reading(accesses, vector, explicit and vector > 1, whole, position)


def _plan(job: Job, found: Tables) -> HistogramPlan:
    policy, reading = job.policy, _reading(job)
    counted = _counted(job)
    return HistogramPlan(
        kinds=tuple(a.kind for a in job.axes),
        dtypes=tuple(a.dtype.name for a in job.axes),
        accesses=reading.accesses,
        rank=len(job.space.shape or (1,)),
        vector=reading.vector,
        loads=policy.loads if counted else 1,
        explicit=reading.explicit,
        index=reading.position,
        aligned=reading.aligned,
        summed=job.summed,
        space=found.space,
        table=found.table,
        copies=found.copies,
        shifted=found.passes > 1,
        last=job.result.dtype.name if _counted_last(job, found) else "",
        work_group=policy.work_group if counted else policy.sum_group,
        policy=policy,
    )


def _counted_last(job: Job, found: Tables) -> bool:
    """Whether the last work-group to finish makes the result, in the same launch."""
    possible = bool(job.policy.fence) and not job.summed and found.space == LOCAL
    return possible and found.passes == 1 and job.bins <= _KEPT_BINS


class _Held(NamedTuple):
    """Tables in memory that work-groups count into, and how many groups there are."""

    groups: int
    rows: int
    stride: int
    memory: Memory
    owners: Memory | None = None
    zero: bool = False


def _held(job: Job, prepared: Prepared, units: int) -> _Held:
    """Tables for a launch over so many units."""
    policy, plan, device = job.policy, prepared.plan, job.cache.device
    width = _sum_bytes(job.summed)
    if plan.space == PRIVATE:
        row_bytes = (job.bins + 1) * width
        if job.summed:
            count = sum_chunks(units, job.bins, row_bytes, policy)
        else:
            count = private_groups(units, job.operands.nbytes, row_bytes, job.cache.units, policy)
        rows = count * prepared.tables.copies
        stride = -(-(job.bins + 1) * width // _LINES) * _LINES // width
        return _Held(count, rows, stride, device.allocate(rows * stride * width))
    if job.summed:
        count = _sum_groups(job, plan, width, units)
        memory = device.allocate(count * job.bins * width)
        owners = device.allocate(count * job.bins * 4) if plan.space == GLOBAL else None
        return _Held(count, count, job.bins, memory, owners)
    per_group = plan.work_group * max(1, plan.loads)
    count = max(1, min(job.cache.units * policy.groups_per_unit, -(-units // per_group)))
    memory, zero = _counters(job.cache, job.bins)
    return _Held(count, 1, job.bins, memory, None, zero)


def _count(job: Job, prepared: Prepared, begin: int, end: int, again: bool) -> None:
    """Count the units begin .. end-1, in as many passes as there are, and merge."""
    plan, found = prepared.plan, prepared.tables
    nbytes = job.operands.nbytes
    inline = nbytes + 4 * job.bins <= job.policy.inline_bytes
    held = _held(job, prepared, end - begin)
    values = prepared.layout | {"begin": begin, "end": end, "stride_": held.stride, "tables": held.memory.buffer}
    values["inputs"] = job.operands.arguments(job.space.offsets if any(job.space.offsets) else ())
    for k, axis in enumerate(job.axes):
        if axis.edges is not None:
            values |= {f"e{k}": memory_of(axis.edges).buffer, f"n{k}": axis.bins}
            names = [f"{name}{k}" for name in SCALARS.get(axis.kind, ())]
            values |= zip(names, axis.scalars[: len(names)], strict=True)
    if held.owners is not None:
        values["owners"] = held.owners.buffer
    if job.status is not None:
        values["status"] = job.status.buffer
    if plan.last:
        values |= {"yp": memory_of(job.result).buffer, "again": int(again), "done": job.cache.counters.buffer}
    for number in range(found.passes):
        low = number * found.per_pass
        args = prepared.kernel.arguments(low=low, bins=min(found.per_pass, job.bins - low), **values)
        Launch(prepared.kernel, (held.groups,), (plan.work_group,), args, inline, nbytes).run()
    if not plan.last:
        _merge(job, held, again, inline)
    if held.zero:
        job.cache.give_zeros(_KEPT, held.memory)


def _sum_groups(job: Job, plan: HistogramPlan, width: int, elements: int) -> int:
    policy = job.policy
    fitting = policy.table_bytes // (job.bins * (width + 4)) if plan.space == GLOBAL else policy.sum_groups
    return max(1, min(policy.sum_groups, fitting, -(-elements // plan.work_group)))


def _sum_bytes(summed: str) -> int:
    return 4 if not summed else 8 if summed == "pair" else np.dtype(summed).itemsize


def _merge(job: Job, held: _Held, again: bool, inline: bool) -> None:
    """Add the tables up into the result."""
    policy = job.policy
    plan = MergePlan(job.summed, job.result.dtype.name, job.status is not None, held.zero, policy)
    kernel = job.cache.kernel_for(("histogram merge", plan), merge_source, plan, job.cache.capabilities)
    values: dict[str, Any] = {"tables": held.memory.buffer, "rows": held.rows, "stride": held.stride, "bins": job.bins}
    if job.status is not None:
        values |= {"status": job.status.buffer, "capacity": job.bins}
    args = kernel.arguments(yp=memory_of(job.result).buffer, again=int(again), **values)
    nbytes = held.rows * job.bins * _sum_bytes(job.summed) + job.bins * job.result.dtype.itemsize
    side = policy.merge_group // policy.merge_lanes
    count = min(-(-job.bins // side), 1 << 16)
    if policy.chunked:
        count = max(1, min(job.cache.units, nbytes // (1 << 16)))
    Launch(kernel, (max(1, count),), (policy.merge_group,), args, inline, nbytes, held.memory).run()


_KEPT = ("histogram", "counters")
_STATUS = ("histogram", "status")  # where the largest value is found


def _counters(cache: KernelCache, bins: int) -> tuple[Memory, bool]:
    """Zeros to count in, and whether they are to be left zero."""
    if bins > _KEPT_BINS:
        memory = cache.device.allocate(4 * bins)
        cache.device.fill_zero(memory)
        return memory, False
    return cache.take_zeros(_KEPT, 4 * _KEPT_BINS), True


__all__ = ["LOCAL", "Axis", "count_values", "histogram", "sum_types"]
