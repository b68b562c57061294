"""How distinct values are found: by a table where integers lie close together, else by sorting.

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
from clarray._engine.expr.bounds import remember
from clarray._engine.expr.node import Node, contiguous_leaf, index, leaf
from clarray._engine.expr.view import View
from clarray._engine.ops.monoids import fold_monoid
from clarray._engine.runtime import Device
from clarray._engine.speedups import recorded
from clarray._engine.writing import write
from clarray._numpy.manipulation import joining, shapes
from clarray._numpy.reduction import reductions
from clarray._numpy.sorting.sorting import ascontiguous, flat, sort, then_by

_INT64 = np.dtype(np.int64)


class Unique(NamedTuple):
    """What was asked for."""

    values: DeviceArray
    first: DeviceArray | None = None
    inverse: DeviceArray | None = None
    counts: DeviceArray | None = None


def of_values(array: DeviceArray, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> Unique:
    """Distinct elements; the inverse is of one axis."""
    device = array.device
    if not array.size:
        return Unique(creation.empty(0, array.dtype, device=device), *_of_nothing(device, index, inverse, counts))
    if not index and array.dtype.kind in "biu":
        table = table_of(array, counts)
        if table is not None:
            return _of_table(array, table, inverse, counts)
    if not (index or inverse or counts) and array.dtype.kind == "f" and array.dtype.itemsize == 2 and equal_nan:
        return Unique(_of_few_bits(array))
    if not (index or inverse or counts):
        few = launchers.unique_hash_table.distinct_by_hash_table(array._node, equal_nan)
        if few is not None:
            return Unique(creation.array(np.unique(few), device=array.device))
        kept = (
            launchers.unique_bitmap.distinct_by_bitmap(flat(array)._node)
            if equal_nan or array.dtype.kind in "iu"
            else None
        )
        if kept is not None:
            return Unique(wrap(kept))
        values = flat(array)
        # of several complex NaNs NumPy keeps the first, which is the maximum too, not the last in order
        last = reductions.max(values, keepdims=True).evaluate() if equal_nan and array.dtype.kind == "c" else None
        return Unique(_of_sorted(sort(values), equal_nan, last))
    return _of_runs(flat(array), index, inverse, counts, equal_nan)


# Tables -------------------------------------------------------------------------------------------


def _of_nothing(device: Device, *asked: bool) -> list[DeviceArray | None]:
    """An array for each that is asked for, where there are no elements."""
    return [creation.zeros(0, _INT64, device=device) if one else None for one in asked]


def table_of(array: DeviceArray, counted: bool) -> launchers.unique_range_table.Table | None:
    """Which bools or integers occur, and how often if that is asked; None where a table does not pay."""
    slots = launchers.unique_range_table.slots_of(array._node, counted)
    if not slots:
        return None
    filled = _filled(array, slots, counted)
    return launchers.unique_range_table.occurring(filled._node, array.dtype, slots, counted)


@recorded
def _filled(array: DeviceArray, slots: int, counted: bool) -> DeviceArray:
    return wrap(launchers.unique_range_table.range_table(array._node, slots, counted))


def _of_table(array: DeviceArray, table: launchers.unique_range_table.Table, inverse: bool, counts: bool) -> Unique:
    device, dtype = array.device, array.dtype
    slots = np.flatnonzero(table.cells)
    values = (slots.astype(np.uint64) + np.uint64(table.low % 2**64)).astype(dtype)
    ranks = None
    if inverse:
        # counted from the least value, in the values' own dtype: what wraps round is the distance
        away = flat(array)
        if table.low:
            away = away - dtype.type(table.low)
        signed = dtype.kind == "i"
        away = away.astype(f"u{dtype.itemsize}").astype(_INT64) if signed else away.astype(_INT64)
        order = creation.array(np.cumsum(table.cells != 0) - 1, _INT64, device=device)
        ranks = wrap(launchers.gather.gather(order._node, away._node))
    found = creation.array(table.cells[slots], _INT64, device=device) if counts else None
    return Unique(creation.array(values, device=device), None, ranks, found)


def _of_few_bits(array: DeviceArray) -> DeviceArray:
    """Floats of 16 bits by a table of them: NumPy judges the few that occur."""
    node = evaluate(array._node)
    assert node.memory is not None
    bits = leaf(node.memory, node.shape, node.strides, node.offset, np.dtype(np.uint16))
    table = table_of(wrap(bits), False)
    assert table is not None
    found = np.flatnonzero(table.cells).astype(np.uint16).view(array.dtype)
    return creation.array(np.unique(found), device=array.device)


# Runs of sorted elements --------------------------------------------------------------------------


def _begins(ordered: DeviceArray, equal_nan: bool) -> DeviceArray:
    """Whether each sorted element but the first differs from the one before it."""
    before, after = ordered[:-1], ordered[1:]
    differs = before != after
    if equal_nan and ordered.dtype.kind in "fc":
        return differs & (before == before)  # NaN come last: what follows one is another
    return differs


def _of_sorted(ordered: DeviceArray, equal_nan: bool, last: DeviceArray | None) -> DeviceArray:
    """Return the last element of each run of equal sorted elements, but `last` of the last run if it is given."""
    size = ordered.size
    if size == 1:
        return ordered
    last = ordered[-1:] if last is None else last
    found = select(ordered[:-1]._node, _begins(ordered, equal_nan)._node, room=1)
    memory, dtype = found.memory, found.dtype
    assert memory is not None
    write(leaf(memory, (1,), (1,), found.size, dtype), last._node)
    return wrap(contiguous_leaf(memory, (found.size + 1,), dtype))


def _of_runs(array: DeviceArray, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> Unique:
    size = array.size
    order = None
    if index or inverse:
        numbers = _numbers(size)
        ordered, order = launchers.sort.sort_pairs(array._node, numbers)
    else:
        ordered = sort(array)._node
    begins = _begins(wrap(ordered), equal_nan)
    if inverse:
        begins.evaluate()  # it is read twice
    starts = _starts(begins)
    values = wrap(launchers.gather.gather(ordered, starts._node))
    return Unique(values, *_indices(order, begins, starts, size, index, inverse, counts))


def _numbers(size: int) -> Node:
    """0, 1, 2 ... as narrow as they fit: what is sorted with the values."""
    dtype = np.dtype(np.int32) if size < 2**31 else _INT64
    return index((size,), (1,), dtype)


def _starts(begins: DeviceArray) -> DeviceArray:
    """Where runs begin, the first at 0."""
    first = creation.zeros(1, _INT64, device=begins.device)
    return joining.concatenate((first, wrap(positions(begins._node)) + 1))


def _indices(
    order: Node | None,
    begins: DeviceArray,
    starts: DeviceArray,
    size: int,
    index: bool,
    inverse: bool,
    counts: bool,
) -> tuple[DeviceArray | None, ...]:
    """What `unique` can return beside the values, from the order that sorts and the runs."""
    first = ranks = number = None
    if index:
        assert order is not None
        first = wrap(launchers.gather.gather(order, starts._node)).astype(_INT64)
    if inverse:
        assert order is not None
        ranks = wrap(_inverse(order, begins, size))
    if counts:
        ends = joining.concatenate((starts[1:], creation.full(1, size, _INT64, device=begins.device)))
        number = ends - starts
    return first, ranks, number


def _inverse(order: Node, begins: DeviceArray, size: int) -> Node:
    """The number of its run for every element, in the order before the sort."""
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
    remember(target, 0, size - 1)
    return target


# Slices -------------------------------------------------------------------------------------------


def of_slices(array: DeviceArray, axis: int, index: bool, inverse: bool, counts: bool) -> Unique:
    """Distinct slices along an axis: sorted column by column, the first one last."""
    moved = shapes.moveaxis(array, axis, 0)
    shape = moved.shape
    size, columns = shape[0], prod(shape[1:])
    rows = wrap(ascontiguous(moved))
    device = array.device
    if not size:
        return Unique(array.copy(), *_of_nothing(device, index, inverse, counts))
    table = shapes.reshape(rows, (size, columns))
    order = _order(table, size, columns)
    if size > 1 and columns:
        ordered = _taken(table, order, columns)
        begins = reductions.any(ordered[1:] != ordered[:-1], axis=1)
        begins.evaluate()
    else:
        begins = creation.zeros(size - 1, bool, device=device)
    starts = _starts(begins)
    first = wrap(launchers.gather.gather(order, starts._node))
    values = _taken(table, evaluate(first._node), columns) if columns else table[: starts.size].copy()
    values = shapes.reshape(values, (starts.size, *shape[1:]))
    found = _indices(order, begins, starts, size, index, inverse, counts)
    return Unique(shapes.moveaxis(values, 0, axis), *found)


def _order(table: DeviceArray, size: int, columns: int) -> Node:
    """Positions that sort rows."""
    if size < 2 or not columns:
        return evaluate(wrap(index((size,), (1,), _INT64))._node)
    order = launchers.sort.argsort_rows(table[:, columns - 1]._node, 0)
    for column in range(columns - 2, -1, -1):
        order = then_by(table[:, column]._node, order, 0)
    return order


def _taken(table: DeviceArray, rows: Node, columns: int) -> DeviceArray:
    """Rows at positions."""
    numbers = shapes.expand_dims(wrap(rows), 1) * columns
    along = wrap(index((1, columns), (0, 1), _INT64))
    return wrap(launchers.gather.gather(table._node, (numbers + along)._node))


__all__ = ["Unique", "of_slices", "of_values"]
