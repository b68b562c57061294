"""Launch the search for the values of a small range that occur: one kernel fills a table, which the host reads."""

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

MAX_SIZE = 1 << 32  # elements whose counts fit in 32 bits


class Table(NamedTuple):
    """The values that occur among `low`, `low` + 1, ...

    Parameters
    ----------
    low : int
        0 for bools.
    cells : ndarray
        The number of occurrences of each value, or a flag, not zero if the value occurs.
    """

    low: int
    cells: np.ndarray


def slot_count(value: Node, counted: bool) -> int:
    """Return the slots of the table for the values of an array, or 0 if a sort is faster.

    Parameters
    ----------
    value : Node
        A nonempty bool or integer array.
    counted : bool
        Whether the table counts the values.
    """
    if value.size >= MAX_SIZE:
        return 0
    cache = kernel_cache_of(device_of(value))
    return slots_for(value.dtype, value.size, counted, cache.policies)


@replanned
def range_table(value: Node, slots: int, counted: bool) -> Node:
    """Launch the pass that fills the tables.

    Parameters
    ----------
    value : Node
        An expression, computed in the kernel's loads.
    slots : int
        See `slot_count`.
    counted : bool

    Returns
    -------
    Node
        A leaf of bytes: the tables, and the value range of each work-group.
    """
    device = device_of(value)
    with device.lock:
        return _launch(kernel_cache_of(device), flat_operands_of(value, ordered=False), slots, counted)


def _launch(cache: KernelCache, line: FlatOperands, slots: int, counted: bool) -> Node:
    value = line.value
    plan = _plan(cache, line, slots, counted)
    key = ("range table", line.operands.signature, plan)
    kernel = cache.kernel_for(key, range_table_source, plan, value, line.operands.nodes, cache.capabilities)
    groups = group_count(value.size, plan, cache.units)
    tables = groups if plan.policy.chunked else 1
    ranges_offset = table_bytes(slots, counted, plan.policy.chunked) * tables
    memory = cache.device.allocate(ranges_offset + RANGE_BYTES * groups)
    if not plan.policy.chunked:
        cache.device.fill_zero(memory)
    args = kernel.arguments(
        inputs=line.operands.arguments(line.shifts),
        memory=memory.buffer,
        ranges=memory.buffer,
        ranges_at=ranges_offset // 8,
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


def read_range_table(filled: Node, dtype: np.dtype, slots: int, counted: bool) -> Table | None:
    """Read the result of `range_table` for values of `dtype`. Waits for the device.

    Returns
    -------
    Table or None
        None if the range of the values exceeds the slots.
    """
    memory = filled.memory
    assert memory is not None
    device = memory.device
    host = np.empty(filled.size, np.uint8)
    device.read(memory, 0, host)
    chunked = kernel_cache_of(device).policies.reduce.chunked
    nbytes = table_bytes(slots, counted, chunked)
    tables = filled.size // (nbytes + RANGE_BYTES) if chunked else 1
    slot_bytes, ranges = host[: tables * nbytes], host[tables * nbytes :]
    low, values = (0 if dtype.kind in "bu" else int(np.iinfo(dtype).min)), slots
    if is_checked(dtype, slots):
        spans = ranges.view(np.uint64 if dtype.kind == "u" else np.int64).reshape(-1, 2)
        low, high = int(spans[:, 0].min()), int(spans[:, 1].max())
        values = high - low + 1
        if values > slots:
            return None
    if counted:
        cells = slot_bytes.view(np.uint32).reshape(-1, slots).sum(axis=0, dtype=np.int64)
    elif chunked:
        cells = slot_bytes.reshape(-1, slots)
        cells = np.bitwise_or.reduce(cells) if len(cells) > 1 else cells[0]
    else:
        cells = np.unpackbits(slot_bytes, bitorder="little")
    if dtype.kind == "b":
        return Table(0, cells[[0, -1]])  # kernels represent bools as 0 and -1
    start = low % slots
    return Table(low, np.concatenate((cells[start : start + values], cells[: max(0, start + values - slots)])))


__all__ = ["Table", "range_table", "read_range_table", "slot_count"]
