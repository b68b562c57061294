"""Which of the values of a small range occur: one launch, and a table that the host reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.flat_operands import FlatOperands, flat_operands_of
from clarray._engine.algorithms.unique.plan_range_table import RangeTablePlan, group_count, slots_for
from clarray._engine.algorithms.unique.source_range_table import range_table_source
from clarray._engine.expr.node import Node
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


def distinct_by_range_table(value: Node, counted: bool = False) -> Table | None:
    """Find out which values occur, if they lie close enough together for a table.

    Parameters
    ----------
    value : Node
        Bool or integers, at least one; computed while it is read.
    counted : bool
        Whether to count them.

    Returns
    -------
    Table or None
        None where a table does not pay: the values are to be sorted.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        cache = kernel_cache_of(device)
        slots = slots_for(value.dtype, value.size, counted, cache.policies)
        if not slots or value.size >= MOST:
            return None
        return _read(cache, flat_operands_of(value, ordered=False), slots, counted)


def _read(cache: KernelCache, line: FlatOperands, slots: int, counted: bool) -> Table | None:
    value = line.value
    plan = _plan(cache, line, slots, counted)
    key = ("range table", value.sig, line.operands.pattern, plan)
    kernel = cache.kernel_for(key, range_table_source, plan, value, line.operands.nodes, cache.capabilities)
    groups = group_count(value.size, plan, cache.units)
    tables = groups if plan.policy.chunked else 1
    table_bytes = int(slots * plan.cell_bytes) * tables
    memory = cache.device.allocate(table_bytes + 16 * groups)
    if not plan.policy.chunked:
        cache.device.fill_zero(memory)
    args = line.operands.arguments(line.shifts)
    args += [memory.buffer, memory.buffer, table_bytes // 8, value.size, *line.steps]
    nbytes = line.operands.nbytes
    inline = nbytes <= plan.policy.inline_bytes
    Launch(kernel, (groups,), (plan.policy.work_group,), args, inline, nbytes).run()
    host = np.empty(table_bytes + 16 * groups, np.uint8)
    cache.device.read(memory, 0, host)
    return _table(plan, value.dtype, host[:table_bytes], host[table_bytes:])


def _plan(cache: KernelCache, line: FlatOperands, slots: int, counted: bool) -> RangeTablePlan:
    policy = cache.policies.reduce
    loads = line.loads(policy)
    bits = 8 * line.value.dtype.itemsize
    return RangeTablePlan(
        accesses=line.accesses,
        vector=loads.vector,
        explicit=loads.explicit,
        index=loads.index,
        aligned=loads.aligned,
        slots=slots,
        counted=counted,
        checked=slots < 1 << bits,
        block=cache.policies.unique.range_block,
        policy=policy,
    )


def _table(plan: RangeTablePlan, dtype: np.dtype, tables: np.ndarray, ranges: np.ndarray) -> Table | None:
    """What the work-groups have found, together, from the least value on."""
    low, values = (0 if dtype.kind in "bu" else int(np.iinfo(dtype).min)), plan.slots
    if plan.checked:
        spans = ranges.view(np.uint64 if dtype.kind == "u" else np.int64).reshape(-1, 2)
        low, high = int(spans[:, 0].min()), int(spans[:, 1].max())
        values = high - low + 1
        if values > plan.slots:
            return None
    if plan.counted:
        cells = tables.view(np.uint32).reshape(-1, plan.slots).sum(axis=0, dtype=np.int64)
    elif plan.policy.chunked:
        cells = tables.reshape(-1, plan.slots)
        cells = np.bitwise_or.reduce(cells) if len(cells) > 1 else cells[0]
    else:
        cells = np.unpackbits(tables, bitorder="little")
    if dtype.kind == "b":
        return Table(0, cells[[0, -1]])  # in a kernel a bool is 0 or -1
    start = low % plan.slots
    return Table(low, np.concatenate((cells[start : start + values], cells[: max(0, start + values - plan.slots)])))


__all__ = ["Table", "distinct_by_range_table"]
