"""Run histograms eagerly: launches that count into tables, each followed by a launch that merges the tables.

Pending operands are fused into the launches that count. The result is always materialized.
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
    choose_tables,
    launch_units,
    private_groups,
    sum_chunks,
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
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.runtime import Kernel, Memory

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)
_CACHED_BINS = 1 << 16  # counters that are reused by the next histogram, reset to zero
_LINE_BYTES = 128  # two cache lines, which are prefetched together: tables of two threads must not share them


class Axis(NamedTuple):
    """An axis of a histogram.

    Parameters
    ----------
    kind : str
        The search for the bin of a value: `histogram.plan.UNIFORM` etc.
    value : Node
    dtype : dtype
        The dtype in which values are compared with edges.
    bins : int
    edges : Node or None
        A contiguous leaf of bins + 1 edges (float32 for float16 values).
    scalars : tuple of float
        The result of `histogram.plan.equal_bins`, or for other kinds the first and the last edge.
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
    """A histogram with its operands, its result, and the resources of its launches."""

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


def count_values(value: Node, weight: Node | None, bins: int, upper_bound: int | None) -> tuple[Node, int]:
    """Count the integers 0 .. bins-1, or sum their weights.

    Parameters
    ----------
    upper_bound : int or None
        An upper bound of the values. With a bound, nothing waits for the largest value.

    Returns
    -------
    Node
        A leaf of `bins` int64 counts, or float64 sums of weights.
    int
        The upper bound, or the largest value. A number of at least 2^31 only means that a value is so large or
        negative.
    """
    device = device_of(value, *([weight] if weight else []))
    dtype = np.dtype(np.uint32 if value.dtype.itemsize <= 4 else np.uint64)
    out = _INT64 if weight is None else _FLOAT64
    with device.lock:
        axis = Axis(DIRECT, value, dtype, bins)
        result = histogram([axis], weight, out, "" if weight is None else "float64")
        memory = result.memory
        assert memory is not None
        if upper_bound is not None:
            return result, upper_bound
        bits = device.read_scalar(memory, bins * out.itemsize, _INT64)  # unlike a float, a guard of programs
        top = int(bits.view(out))
        if top < 2**31:
            record_range(value, 0, top)
        return result, top


@replanned
def histogram(axes: Sequence[Axis], weight: Node | None, out: np.dtype, summed: str) -> Node:
    """Count the elements in each bin, or sum their weights.

    Parameters
    ----------
    axes : sequence of Axis
        Axes whose values have the same shape.
    weight : Node or None
        Weights of the same shape.
    out : dtype
        The dtype of the result.
    summed : str
        Dtype of the sums, ``'pair'`` for pairs of floats, or '' without weights.

    Returns
    -------
    Node
        A leaf of one axis, with the bins in C order.

    Raises
    ------
    MemoryError
        If the device has no memory for the bins.
    """
    roots = [a.value for a in axes] + ([weight] if weight is not None else [])
    device = device_of(*roots)
    with device.lock:
        for root in roots:
            materialize_shared(root)
        cache = kernel_cache_of(device)
        constants = [c for a in axes for c in a.steps or ()]
        operands = collect_operands(*roots, *constants)
        bins = 1
        for axis in axes:
            bins *= axis.bins
        # and one element for the largest value
        result = contiguous_leaf(device.allocate((bins + 1) * out.itemsize), (bins,), out)
        shape = roots[0].shape
        strides = operands.strides(len(shape))
        space = collapse(shape, strides)
        if summed and any(
            space.offsets
        ):  # reversed axes would make the order of the sum depend on whether the operand is pending
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
            for key in (_COUNTERS, _STATUS):  # they may not be zero
                cache.prepared.pop(key, None)
            raise
        if job.status is not None:
            cache.give_zeros(_STATUS, job.status)
        if any(r.flags & EAGER for r in roots):
            device.synchronize()
    return result


class PreparedHistogram(NamedTuple):
    """A kernel that counts, its division into launches of `step` units, and its extents and strides by name."""

    plan: HistogramPlan
    tables: Tables
    kernel: Kernel
    units: int
    step: int
    layout: dict[str, Any]


def _run(job: Job) -> None:
    """Run all launches. Each is merged into the result."""
    key = (
        "histogram",
        tuple((a.kind, a.dtype.char) for a in job.axes),
        job.weight is not None,
        job.summed,
        job.operands.signature,
        job.space,
        tuple(n.offset * n.dtype.itemsize % ALIGNMENT for n in job.operands.nodes if n.memory is not None),
        job.bins,
        job.result.dtype.char,
    )
    prepared = job.cache.value_for(key, _prepare, job)
    begin = 0
    while True:
        end = min(prepared.units, begin + prepared.step)
        _count(job, prepared, begin, end, again=begin > 0)
        begin = end
        if begin >= prepared.units:
            return


def _prepare(job: Job) -> PreparedHistogram:
    width = _sum_bytes(job.summed) if job.summed else 0
    chosen = choose_tables(job.bins, width, job.cache.capabilities.local_bytes, job.policy)
    plan = _plan(job, chosen)
    key = (
        "histogram",
        job.weight is not None,
        job.operands.signature,
        plan,
    )
    values, constants = [a.value for a in job.axes], [a.steps for a in job.axes]
    kernel = job.cache.kernel_for(
        key, histogram_source, plan, values, constants, job.weight, job.operands.nodes, job.cache.capabilities
    )
    length = 1 if plan.space == PRIVATE else plan.vector
    inner = job.space.shape[-1] if job.space.shape else 1
    units = (job.size // inner) * -(-inner // length) if job.size else 0
    layout: dict[str, Any] = {"n_": (job.space.shape or (1,))[::-1]}
    for name, steps in zip(job.operands.names, job.space.strides, strict=True):
        layout[f"{name}s"] = (steps or (0,))[::-1]
    step = units if job.summed else launch_units(length, job.policy)
    return PreparedHistogram(plan, chosen, kernel, units, step, layout)


class _Loads(NamedTuple):
    """The loads of the inputs of a histogram."""

    accesses: tuple[str, ...]
    vector: int
    explicit: bool
    aligned: bool
    position: str


def _has_vectors(job: Job) -> bool:
    """Return whether work-items process several consecutive elements. They do not for sums of weights on a GPU."""
    return job.policy.chunked or not job.summed


def _choose_loads(job: Job) -> _Loads:
    policy = job.policy
    dtypes = {np.dtype(a.dtype) for a in job.axes}
    dtypes.update(job.operands.dtypes(*(a.value for a in job.axes), *([job.weight] if job.weight else [])))
    if job.summed:
        dtypes.add(np.dtype(np.float32 if job.summed == "pair" else job.summed))
    strides = [s or (0,) for s in job.space.strides]
    shape = job.space.shape or (1,)
    explicit = explicit_width(list(dtypes), policy.explicit) and all(a.kind != STEPS for a in job.axes)
    # comparisons with many edges pay for whole registers
    widest = 16 if any(a.kind == FEW for a in job.axes) else policy.max_width
    vector = vector_width(list(dtypes), policy.vector_bytes, widest)
    accesses = job.operands.accesses([s[-1] for s in strides], explicit)
    if not _has_vectors(job) or (not policy.explicit and STRIDED in accesses):
        vector = 1  # so that neighbouring work-items load neighbouring elements
    aligned = not policy.explicit and job.operands.rows_aligned(
        strides, job.operands.shifted_offsets(job.space.offsets)
    )
    position = index_type(furthest(shape, strides, 2 * job.size), policy.chunked)
    return _Loads(accesses, vector, explicit and vector > 1, aligned, position)


def _plan(job: Job, chosen: Tables) -> HistogramPlan:
    policy, loads = job.policy, _choose_loads(job)
    vectors = _has_vectors(job)
    return HistogramPlan(
        kinds=tuple(a.kind for a in job.axes),
        dtypes=tuple(a.dtype.name for a in job.axes),
        accesses=loads.accesses,
        rank=len(job.space.shape or (1,)),
        vector=loads.vector,
        loads=policy.loads if vectors else 1,
        explicit=loads.explicit,
        index=loads.position,
        aligned=loads.aligned,
        summed=job.summed,
        space=chosen.space,
        table=chosen.table,
        copies=chosen.copies,
        shifted=chosen.passes > 1,
        last=job.result.dtype.name if _is_fused_merge(job, chosen) else "",
        work_group=policy.work_group if vectors else policy.sum_group,
        policy=policy,
    )


def _is_fused_merge(job: Job, chosen: Tables) -> bool:
    """Return whether the last work-group of a launch computes the result, instead of a separate launch."""
    possible = bool(job.policy.fence) and not job.summed and chosen.space == LOCAL
    return possible and chosen.passes == 1 and job.bins <= _CACHED_BINS


class _LaunchTables(NamedTuple):
    """The tables in memory of a launch, and the number of work-groups that count into them."""

    groups: int
    rows: int
    stride: int
    memory: Memory
    owners: Memory | None = None
    zero: bool = False


def _allocate_tables(job: Job, prepared: PreparedHistogram, units: int) -> _LaunchTables:
    """Allocate the tables for a launch over `units` units of work."""
    policy, plan, device = job.policy, prepared.plan, job.cache.device
    width = _sum_bytes(job.summed)
    if plan.space == PRIVATE:
        row_bytes = (job.bins + 1) * width
        if job.summed:
            count = sum_chunks(units, job.bins, row_bytes, policy)
        else:
            count = private_groups(units, job.operands.nbytes, row_bytes, job.cache.units, policy)
        rows = count * prepared.tables.copies
        stride = -(-(job.bins + 1) * width // _LINE_BYTES) * _LINE_BYTES // width
        return _LaunchTables(count, rows, stride, device.allocate(rows * stride * width))
    if job.summed:
        count = _sum_groups(job, plan, width, units)
        memory = device.allocate(count * job.bins * width)
        owners = device.allocate(count * job.bins * 4) if plan.space == GLOBAL else None
        return _LaunchTables(count, count, job.bins, memory, owners)
    per_group = plan.work_group * max(1, plan.loads)
    count = max(1, min(job.cache.units * policy.groups_per_unit, -(-units // per_group)))
    memory, zero = _counters(job.cache, job.bins)
    return _LaunchTables(count, 1, job.bins, memory, None, zero)


def _count(job: Job, prepared: PreparedHistogram, begin: int, end: int, again: bool) -> None:
    """Count the units begin .. end-1 in all passes over the bins, and merge the tables."""
    plan, chosen = prepared.plan, prepared.tables
    nbytes = job.operands.nbytes
    inline = nbytes + 4 * job.bins <= job.policy.inline_bytes
    launch_tables = _allocate_tables(job, prepared, end - begin)
    values = prepared.layout | {
        "begin": begin,
        "end": end,
        "stride_": launch_tables.stride,
        "tables": launch_tables.memory.buffer,
    }
    values["inputs"] = job.operands.arguments(job.space.offsets if any(job.space.offsets) else ())
    for k, axis in enumerate(job.axes):
        if axis.edges is not None:
            values |= {f"e{k}": memory_of(axis.edges).buffer, f"n{k}": axis.bins}
            names = [f"{name}{k}" for name in SCALARS.get(axis.kind, ())]
            values |= zip(names, axis.scalars[: len(names)], strict=True)
    if launch_tables.owners is not None:
        values["owners"] = launch_tables.owners.buffer
    if job.status is not None:
        values["status"] = job.status.buffer
    if plan.last:
        values |= {"yp": memory_of(job.result).buffer, "again": int(again), "done": job.cache.counters.buffer}
    for number in range(chosen.passes):
        low = number * chosen.per_pass
        args = prepared.kernel.arguments(low=low, bins=min(chosen.per_pass, job.bins - low), **values)
        Launch(prepared.kernel, (launch_tables.groups,), (plan.work_group,), args, inline, nbytes).run()
    if not plan.last:
        _merge(job, launch_tables, again, inline)
    if launch_tables.zero:
        job.cache.give_zeros(_COUNTERS, launch_tables.memory)


def _sum_groups(job: Job, plan: HistogramPlan, width: int, elements: int) -> int:
    policy = job.policy
    fitting = policy.table_bytes // (job.bins * (width + 4)) if plan.space == GLOBAL else policy.sum_groups
    return max(1, min(policy.sum_groups, fitting, -(-elements // plan.work_group)))


def _sum_bytes(summed: str) -> int:
    return 4 if not summed else 8 if summed == "pair" else np.dtype(summed).itemsize


def _merge(job: Job, launch_tables: _LaunchTables, again: bool, inline: bool) -> None:
    """Add the tables into the result."""
    policy = job.policy
    plan = MergePlan(job.summed, job.result.dtype.name, job.status is not None, launch_tables.zero, policy)
    kernel = job.cache.kernel_for(("histogram merge", plan), merge_source, plan, job.cache.capabilities)
    values: dict[str, Any] = {
        "tables": launch_tables.memory.buffer,
        "rows": launch_tables.rows,
        "stride": launch_tables.stride,
        "bins": job.bins,
    }
    if job.status is not None:
        values |= {"status": job.status.buffer, "capacity": job.bins}
    args = kernel.arguments(yp=memory_of(job.result).buffer, again=int(again), **values)
    nbytes = launch_tables.rows * job.bins * _sum_bytes(job.summed) + job.bins * job.result.dtype.itemsize
    side = policy.merge_group // policy.merge_lanes
    count = min(-(-job.bins // side), 1 << 16)
    if policy.chunked:
        count = max(1, min(job.cache.units, nbytes // (1 << 16)))
    Launch(kernel, (max(1, count),), (policy.merge_group,), args, inline, nbytes, launch_tables.memory).run()


_COUNTERS = ("histogram", "counters")
_STATUS = ("histogram", "status")  # the cache key of the memory for the largest value


def _counters(cache: KernelCache, bins: int) -> tuple[Memory, bool]:
    """Return counters that are zero, and whether the merge must reset them to zero."""
    if bins > _CACHED_BINS:
        memory = cache.device.allocate(4 * bins)
        cache.device.fill_zero(memory)
        return memory, False
    return cache.take_zeros(_COUNTERS, 4 * _CACHED_BINS), True


__all__ = ["LOCAL", "Axis", "count_values", "histogram", "sum_types"]
