"""Which of the values of a small range occur: one launch, and a table that the host reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.flat_operands import FlatOperands, flat_operands_of
from clarray._engine.algorithms.unique.plan_range_table import (
    RANGE_BYTES,
    RangeTablePlan,
    group_count,
    is_checked,
    slots_for,
    table_bytes,
)
from clarray._engine.algorithms.unique.source_range_table import range_table_source
from clarray._engine.expr.node import Node, contiguous_leaf, replanned
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of

MOST = 1 << 32  # elements that a count of 32 bits holds


class Table(NamedTuple):
    """The values that occur among `low`, `low` + 1, ...

    Parameters
    ----------
    low : int
        Of a bool, 0.
    cells : ndarray
        Per value, from `low` on: not zero if it occurs; how often, if that was asked for.
    """

    low: int
    cells: np.ndarray


def slots_of(value: Node, counted: bool) -> int:
    """Slots of the table in which the values of an array are looked for; 0 where none pays: they are to be sorted.

    Parameters
    ----------
    value : Node
        Bool or integers, at least one.
    counted : bool
        Whether they are to be counted.
    """
    if value.size >= MOST:
        return 0
    cache = kernel_cache_of(device_of(value.inputs or (value,)))
    return slots_for(value.dtype, value.size, counted, cache.policies)


@replanned
def range_table(value: Node, slots: int, counted: bool) -> Node:
    """Launch the pass that fills the tables.

    Parameters
    ----------
    value : Node
        Computed while it is read.
    slots : int
        From `slots_of`.
    counted : bool

    Returns
    -------
    Node
        A leaf of bytes: the tables, and the range of the values of each work-group.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        return _launched(kernel_cache_of(device), flat_operands_of(value, ordered=False), slots, counted)


def _launched(cache: KernelCache, line: FlatOperands, slots: int, counted: bool) -> Node:
    value = line.value
    plan = _plan(cache, line, slots, counted)
    key = ("range table", value.sig, line.operands.pattern, plan)
    kernel = cache.kernel_for(key, range_table_source, plan, value, line.operands.nodes, cache.capabilities)
    groups = group_count(value.size, plan, cache.units)
    tables = groups if plan.policy.chunked else 1
    before = table_bytes(slots, counted, plan.policy.chunked) * tables
    memory = cache.device.allocate(before + RANGE_BYTES * groups)
    if not plan.policy.chunked:
        cache.device.fill_zero(memory)
    args = kernel.arguments(
        inputs=line.operands.arguments(line.shifts),
        memory=memory.buffer,
        ranges=memory.buffer,
        ranges_at=before // 8,
        n=value.size,
        steps=line.steps,
    )
    nbytes = line.operands.nbytes
    inline = nbytes <= plan.policy.inline_bytes
    Launch(kernel, (groups,), (plan.policy.work_group,), args, inline, nbytes).run()
    return contiguous_leaf(memory, (memory.nbytes,), np.dtype(np.uint8))


def _plan(cache: KernelCache, line: FlatOperands, slots: int, counted: bool) -> RangeTablePlan:
    policy = cache.policies.reduce
    loads = line.loads(policy)
    return RangeTablePlan(
        accesses=line.accesses,
        vector=loads.vector,
        explicit=loads.explicit,
        index=loads.index,
        aligned=loads.aligned,
        slots=slots,
        counted=counted,
        checked=is_checked(line.value.dtype, slots),
        block=cache.policies.unique.range_block,
        policy=policy,
    )


def occurring(filled: Node, dtype: np.dtype, slots: int, counted: bool) -> Table | None:
    """Wait for what `range_table` has launched, and read which values of `dtype` occur.

    Returns
    -------
    Table or None
        None where they lie too far apart.
    """
    memory = filled.memory
    assert memory is not None
    device = memory.device
    host = np.empty(filled.size, np.uint8)
    device.read(memory, 0, host)
    chunked = kernel_cache_of(device).policies.reduce.chunked
    each = table_bytes(slots, counted, chunked)
    tables = filled.size // (each + RANGE_BYTES) if chunked else 1
    found, ranges = host[: tables * each], host[tables * each :]
    low, values = (0 if dtype.kind in "bu" else int(np.iinfo(dtype).min)), slots
    if is_checked(dtype, slots):
        spans = ranges.view(np.uint64 if dtype.kind == "u" else np.int64).reshape(-1, 2)
        low, high = int(spans[:, 0].min()), int(spans[:, 1].max())
        values = high - low + 1
        if values > slots:
            return None
    if counted:
        cells = found.view(np.uint32).reshape(-1, slots).sum(axis=0, dtype=np.int64)
    elif chunked:
        cells = found.reshape(-1, slots)
        cells = np.bitwise_or.reduce(cells) if len(cells) > 1 else cells[0]
    else:
        cells = np.unpackbits(found, bitorder="little")
    if dtype.kind == "b":
        return Table(0, cells[[0, -1]])  # in a kernel a bool is 0 or -1
    start = low % slots
    return Table(low, np.concatenate((cells[start : start + values], cells[: max(0, start + values - slots)])))


__all__ = ["Table", "occurring", "range_table", "slots_of"]
