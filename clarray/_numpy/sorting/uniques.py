"""Distinct values: by a table for integers of a small range, else by sorting.

A run of sorted values begins where one differs from the one before it::

    values     7 5 7 5 9        sorted     5 5 7 7 9
                                begins     x   x   x
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.gather.selection import IndexSelection
from clarray._engine.evaluate import evaluate, positions, select
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.node import Node, contiguous_leaf, index, leaf
from clarray._engine.expr.view import View
from clarray._engine.ops.monoids import fold_monoid
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import current_capture
from clarray._engine.speedups import captured
from clarray._engine.writing import write
from clarray._numpy.manipulation import joining, shapes
from clarray._numpy.reduction import reductions
from clarray._numpy.sorting.sorting import ascontiguous, flattened, refine_order, sort

_INT64 = np.dtype(np.int64)
# Elements up to which a program sorts integers: the host reads a table, which no program can.
MAX_CAPTURED_SORT = 1 << 10


class Unique(NamedTuple):
    """The results of `unique`. Each result that was not requested is None."""

    values: DeviceArray
    first: DeviceArray | None = None
    inverse: DeviceArray | None = None
    counts: DeviceArray | None = None


def distinct_values(array: DeviceArray, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> Unique:
    """Return the distinct elements. The inverse is 1-d."""
    device = array.device
    if not array.size:
        return Unique(creation.empty(0, array.dtype, device=device), *_empty_positions(device, index, inverse, counts))
    sorts = current_capture() is not None and array.size <= MAX_CAPTURED_SORT
    if not index and array.dtype.kind in "biu" and not sorts:
        table = range_table(array, counts)
        if table is not None:
            return _distinct_by_table(array, table, inverse, counts)
    if not (index or inverse or counts) and array.dtype.kind == "f" and array.dtype.itemsize == 2 and equal_nan:
        return Unique(_distinct_float16(array))
    if not (index or inverse or counts):
        host_values = launchers.unique_hash_table.distinct_by_hash_table(array._node, equal_nan)
        if host_values is not None:
            return Unique(creation.array(np.unique(host_values), device=array.device))
        compacted = (
            launchers.unique_bitmap.distinct_by_bitmap(flattened(array)._node)
            if equal_nan or array.dtype.kind in "iu"
            else None
        )
        if compacted is not None:
            return Unique(wrap(compacted))
        values = flattened(array)
        # NumPy keeps the first of several complex NaNs. The maximum is that one, the last sorted element may not be
        last = reductions.max(values, keepdims=True).evaluate() if equal_nan and array.dtype.kind == "c" else None
        return Unique(_compact_runs(sort(values), equal_nan, last))
    return _distinct_by_sort(flattened(array), index, inverse, counts, equal_nan)


# Tables -------------------------------------------------------------------------------------------


def _empty_positions(device: Device, *requested: bool) -> list[DeviceArray | None]:
    """Return an empty array for each requested result, None for the others."""
    return [creation.zeros(0, _INT64, device=device) if flag else None for flag in requested]


def range_table(array: DeviceArray, counted: bool) -> launchers.unique_range_table.Table | None:
    """Return a table of the bools or integers that occur, with counts if `counted`. None if sorting is faster."""
    slots = launchers.unique_range_table.slot_count(array._node, counted)
    if not slots:
        return None
    table = _fill_table(array, slots, counted)
    return launchers.unique_range_table.read_range_table(table._node, array.dtype, slots, counted)


@captured
def _fill_table(array: DeviceArray, slots: int, counted: bool) -> DeviceArray:
    return wrap(launchers.unique_range_table.range_table(array._node, slots, counted))


def _distinct_by_table(
    array: DeviceArray, table: launchers.unique_range_table.Table, inverse: bool, counts: bool
) -> Unique:
    device, dtype = array.device, array.dtype
    slots = np.flatnonzero(table.cells)
    values = (slots.astype(np.uint64) + np.uint64(table.low % 2**64)).astype(dtype)
    ranks = None
    if inverse:
        # subtract the least value in the array's own dtype: an overflow wraps to the right unsigned distance
        offsets = flattened(array)
        if table.low:
            offsets = offsets - dtype.type(table.low)
        signed = dtype.kind == "i"
        offsets = offsets.astype(f"u{dtype.itemsize}").astype(_INT64) if signed else offsets.astype(_INT64)
        ranks_by_slot = creation.array(np.cumsum(table.cells != 0) - 1, _INT64, device=device)
        ranks = wrap(launchers.gather.gather(ranks_by_slot._node, offsets._node))
    occurrences = creation.array(table.cells[slots], _INT64, device=device) if counts else None
    return Unique(creation.array(values, device=device), None, ranks, occurrences)


def _distinct_float16(array: DeviceArray) -> DeviceArray:
    """Return the distinct float16 values: a table of their bits, and `numpy.unique` of the ones that occur."""
    node = evaluate(array._node)
    assert node.memory is not None
    bits = leaf(node.memory, node.shape, node.strides, node.offset, np.dtype(np.uint16))
    table = range_table(wrap(bits), False)
    assert table is not None
    occurring = np.flatnonzero(table.cells).astype(np.uint16).view(array.dtype)
    return creation.array(np.unique(occurring), device=array.device)


# Runs of sorted elements --------------------------------------------------------------------------


def _differs_from_previous(ordered: DeviceArray, equal_nan: bool) -> DeviceArray:
    """Return a mask of the sorted elements, without the first, that differ from the element before them."""
    before, after = ordered[:-1], ordered[1:]
    differs = before != after
    if equal_nan and ordered.dtype.kind in "fc":
        return differs & (before == before)  # NaNs are last, so only another NaN follows a NaN
    return differs


def _compact_runs(ordered: DeviceArray, equal_nan: bool, last: DeviceArray | None) -> DeviceArray:
    """Return the last element of each run of equal sorted elements. `last` replaces the last one unless it is None."""
    size = ordered.size
    if size == 1:
        return ordered
    last = ordered[-1:] if last is None else last
    run_ends = select(ordered[:-1]._node, _differs_from_previous(ordered, equal_nan)._node, room=1)
    memory, dtype = run_ends.memory, run_ends.dtype
    assert memory is not None
    write(leaf(memory, (1,), (1,), run_ends.size, dtype), last._node)
    return wrap(contiguous_leaf(memory, (run_ends.size + 1,), dtype))


def _distinct_by_sort(array: DeviceArray, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> Unique:
    size = array.size
    order = None
    if index or inverse:
        positions = _narrow_positions(size)
        ordered, order = launchers.sort.sort_pairs(array._node, positions)
    else:
        ordered = sort(array)._node
    begins = _differs_from_previous(wrap(ordered), equal_nan)
    if inverse:
        begins.evaluate()  # it has two consumers
    starts = _run_starts(begins)
    values = wrap(launchers.gather.gather(ordered, starts._node))
    return Unique(values, *_positions_and_counts(order, begins, starts, size, index, inverse, counts))


def _narrow_positions(size: int) -> Node:
    """Return the positions 0, 1, 2 ... in the narrowest dtype, to be sorted with the values."""
    dtype = np.dtype(np.int32) if size < 2**31 else _INT64
    return index((size,), (1,), dtype)


def _run_starts(begins: DeviceArray) -> DeviceArray:
    """Return the start of each run. The first starts at 0."""
    first = creation.zeros(1, _INT64, device=begins.device)
    return joining.concatenate((first, wrap(positions(begins._node)) + 1))


def _positions_and_counts(
    order: Node | None,
    begins: DeviceArray,
    starts: DeviceArray,
    size: int,
    index: bool,
    inverse: bool,
    counts: bool,
) -> tuple[DeviceArray | None, ...]:
    """Return the first positions, inverse and counts from the sorting order and the runs."""
    first = ranks = occurrences = None
    if index:
        assert order is not None
        first = wrap(launchers.gather.gather(order, starts._node)).astype(_INT64)
    if inverse:
        assert order is not None
        ranks = wrap(_inverse_ranks(order, begins, size))
    if counts:
        ends = joining.concatenate((starts[1:], creation.full(1, size, _INT64, device=begins.device)))
        occurrences = ends - starts
    return first, ranks, occurrences


def _inverse_ranks(order: Node, begins: DeviceArray, size: int) -> Node:
    """Return the run number of each element, in the order before the sort."""
    device = begins.device
    memory = device.allocate(8 * size)
    ranks = contiguous_leaf(memory, (size,), _INT64)
    write(leaf(memory, (1,), (1,), 0, _INT64), creation.zeros(1, _INT64, device=device)._node)
    if size > 1:
        rest = leaf(memory, (size - 1,), (1,), 1, _INT64)
        launchers.scan.scan(begins.astype(_INT64)._node, fold_monoid(np.add, _INT64), 0, rest)
    target = contiguous_leaf(device.allocate(8 * size), (size,), _INT64)
    where = IndexSelection(order, (size,), (size,), (1,), View((), (), 0), 0)
    launchers.gather.scatter_selection(target, where, ranks, once=True)
    record_range(target, 0, size - 1)
    return target


# Slices -------------------------------------------------------------------------------------------


def distinct_slices(array: DeviceArray, axis: int, index: bool, inverse: bool, counts: bool) -> Unique:
    """Return the distinct slices along an axis. They are sorted column by column, by the first one last."""
    slices_first = shapes.moveaxis(array, axis, 0)
    shape = slices_first.shape
    size, columns = shape[0], prod(shape[1:])
    rows = wrap(ascontiguous(slices_first))
    device = array.device
    if not size:
        return Unique(array.copy(), *_empty_positions(device, index, inverse, counts))
    table = shapes.reshape(rows, (size, columns))
    order = _row_order(table, size, columns)
    if size > 1 and columns:
        ordered = _gather_rows(table, order, columns)
        begins = reductions.any(ordered[1:] != ordered[:-1], axis=1)
        begins.evaluate()
    else:
        begins = creation.zeros(size - 1, bool, device=device)
    starts = _run_starts(begins)
    first = wrap(launchers.gather.gather(order, starts._node))
    values = _gather_rows(table, evaluate(first._node), columns) if columns else table[: starts.size].copy()
    values = shapes.reshape(values, (starts.size, *shape[1:]))
    positions_counts = _positions_and_counts(order, begins, starts, size, index, inverse, counts)
    return Unique(shapes.moveaxis(values, 0, axis), *positions_counts)


def _row_order(table: DeviceArray, size: int, columns: int) -> Node:
    """Return the positions that sort the rows."""
    if size < 2 or not columns:
        return evaluate(wrap(index((size,), (1,), _INT64))._node)
    order = launchers.sort.argsort_rows(table[:, columns - 1]._node, 0)
    for column in range(columns - 2, -1, -1):
        order = refine_order(table[:, column]._node, order, 0)
    return order


def _gather_rows(table: DeviceArray, rows: Node, columns: int) -> DeviceArray:
    """Gather rows at positions."""
    row_starts = shapes.expand_dims(wrap(rows), 1) * columns
    column_offsets = wrap(index((1, columns), (0, 1), _INT64))
    return wrap(launchers.gather.gather(table._node, (row_starts + column_offsets)._node))


__all__ = ["Unique", "distinct_slices", "distinct_values"]
