"""Order statistics along an axis: the elements at positions of the sorted lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers, creation, ufunc_calls
from clarray._core.conversion import MOST_GUARDS
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import index
from clarray._engine.expr.view import contiguous
from clarray._engine.runtime.capture import current_capture
from clarray._numpy.indexing import selecting
from clarray._numpy.manipulation import shapes
from clarray._numpy.reduction import reductions
from clarray._numpy.sorting import selection

_INT64 = np.dtype(np.int64)

__all__ = [
    "count_numbers",
    "interpolate",
    "take_from_lines",
    "normalize_positions",
    "order_statistics",
    "take_slices",
    "sorted_lines",
]


def sorted_lines(a: DeviceArray, axis: int) -> DeviceArray:
    """Return a copy of an array, sorted along an axis. It is always new memory, so callers may return views of it."""
    return wrap(launchers.sort.sort_rows(a._node, axis)) if a.shape[axis] > 1 and a.size else creation.copy(a)


def order_statistics(
    a: DeviceArray, axis: int, *positions: np.ndarray
) -> tuple[DeviceArray, list[np.ndarray], DeviceArray]:
    """Return ``(elements, positions, last)`` for positions of the sorted lines.

    The positions are relative to `elements`, and `last` is the maximum of each line. A line with NaN has NaN there,
    and its other elements are undefined.
    """
    if selection.is_faster_than_sort(a, sum(group.size for group in positions)):
        distinct = np.unique(np.concatenate([group.ravel() for group in positions]))
        last = reductions.max(a)
        return selection.select_positions(a, distinct), [np.searchsorted(distinct, group) for group in positions], last
    ordered = sorted_lines(a, axis)
    return ordered, list(positions), shapes.moveaxis(ordered, axis, 0)[-1, ...]


def take_slices(a: DeviceArray, positions: np.ndarray, axis: int) -> DeviceArray:
    """Take slices at positions along an axis. The axes of the positions come first.

    Parameters
    ----------
    positions : ndarray
        Positions for all lines, in any shape.
    """
    other_extents = a.shape[:axis] + a.shape[axis + 1 :]
    if positions.ndim == 0:
        return shapes.moveaxis(a, axis, 0)[int(positions), ...]
    strides = contiguous(a.shape)
    axis_stride, other_strides = strides[axis], strides[:axis] + strides[axis + 1 :]
    if positions.size == 1:  # one slice, as a view
        row = shapes.moveaxis(a, axis, 0)[int(positions.reshape(())), ...]
        return shapes.reshape(row, positions.shape[: positions.ndim] + other_extents)
    shape = positions.shape + other_extents
    axis_offsets = creation.array(
        positions.reshape(positions.shape + (1,) * len(other_extents)) * axis_stride, device=a.device
    )
    line_offsets = index(shape, (0,) * positions.ndim + other_strides, _INT64)
    return wrap(launchers.gather.gather(a._node, (axis_offsets + wrap(line_offsets))._node))


def take_from_lines(a: DeviceArray, positions: np.ndarray, axis: int) -> DeviceArray:
    """Take elements at positions of each line. Positions and result have the shape ``(k, *other axes)``."""
    strides = contiguous(a.shape)
    axis_stride, other_strides = strides[axis], strides[:axis] + strides[axis + 1 :]
    line_offsets = index(positions.shape, (0,) * (positions.ndim - len(other_strides)) + other_strides, _INT64)
    axis_offsets = creation.array(positions.astype(np.int64) * axis_stride, device=a.device)
    return wrap(launchers.gather.gather(a._node, (axis_offsets + wrap(line_offsets))._node))


def normalize_positions(positions: np.ndarray, count: int) -> np.ndarray:
    """Return positions counted from the start. IndexError, as in NumPy, for positions out of bounds."""
    normalized = np.where(positions < 0, positions + count, positions).astype(np.int64)
    if ((normalized < 0) | (normalized >= count)).any():
        raise IndexError(f"index {int(positions.ravel()[0])} is out of bounds for axis 0 with size {count}")
    return np.asarray(normalized)


def count_numbers(a: DeviceArray, axis: int) -> np.ndarray:
    """Count the elements of each line that are not NaN, on the host. Warn of lines with NaN only."""
    extent = a.shape[axis]
    numbers = extent - reductions.count_nonzero(ufunc_calls.call(np.isnan, (a,)), axis)
    if current_capture() is not None and numbers.size > MOST_GUARDS and bool((numbers == extent).all()):
        return np.full(numbers.shape, extent)  # one guard in place of many
    count = numbers.get()
    if not count.all():
        callers.warn_user("All-NaN slice encountered", RuntimeWarning)
    return count


def interpolate(a: DeviceArray, b: DeviceArray, t: Any) -> DeviceArray:
    """Interpolate linearly, exactly at both ends and monotonically, as NumPy does."""
    difference = b - a
    if not isinstance(t, np.ndarray) or t.size == 1:
        if isinstance(t, np.ndarray) and t.ndim == 0:
            t = t[()]
        elif isinstance(t, np.ndarray):
            above = bool(t.ravel()[0] >= 0.5)
            t = creation.array(t, device=a.device)
            return b - difference * (1 - t) if above else a + difference * t
        return b - difference * (1 - t) if t >= 0.5 else a + difference * t
    upper = creation.array(t >= 0.5, device=a.device)
    weight = creation.array(t, device=a.device)
    return selecting.lazy_where(upper, b - difference * (1 - weight), a + difference * weight)
