"""What lies at places of the order along an axis, for order statistics."""

from __future__ import annotations

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import index
from clarray._engine.expr.view import contiguous
from clarray._numpy.manipulation import shapes
from clarray._numpy.reduction import reductions
from clarray._numpy.sorting import selection

_INT64 = np.dtype(np.int64)

__all__ = ["elements_of_lines", "from_start", "ordered_at", "rows_at", "sorted_lines"]


def sorted_lines(a: DeviceArray, axis: int) -> DeviceArray:
    """In memory of its own: results may be windows on it."""
    return wrap(launchers.sort.sort_rows(a._node, axis)) if a.shape[axis] > 1 and a.size else creation.copy(a)


def ordered_at(a: DeviceArray, axis: int, *places: np.ndarray) -> tuple[DeviceArray, list[np.ndarray], DeviceArray]:
    """What has the elements that lie at places of sorted lines, at which of its own; and the last of each line.

    Of a line with NaN, the last of which is one, what lies at its places may be anything.
    """
    if selection.pays(a, sum(each.size for each in places)):
        wanted = np.unique(np.concatenate([each.ravel() for each in places]))
        last = reductions.max(a)
        return selection.elements_at(a, wanted), [np.searchsorted(wanted, each) for each in places], last
    found = sorted_lines(a, axis)
    return found, list(places), shapes.moveaxis(found, axis, 0)[-1, ...]


def rows_at(a: DeviceArray, places: np.ndarray, axis: int) -> DeviceArray:
    """Elements at places along an axis; the places' axes come first.

    Parameters
    ----------
    places : ndarray
        One list for all lines, or one that broadcasts over the other axes too.
    """
    rest = a.shape[:axis] + a.shape[axis + 1 :]
    if places.ndim == 0:
        return shapes.moveaxis(a, axis, 0)[int(places), ...]
    strides = contiguous(a.shape)
    step, others = strides[axis], strides[:axis] + strides[axis + 1 :]
    if places.size == 1:  # one row, as a window
        row = shapes.moveaxis(a, axis, 0)[int(places.reshape(())), ...]
        return shapes.reshape(row, places.shape[: places.ndim] + rest)
    shape = places.shape + rest
    numbers = creation.array(places.reshape(places.shape + (1,) * len(rest)) * step, device=a.device)
    lines = index(shape, (0,) * places.ndim + others, _INT64)
    return wrap(launchers.gather.gather(a._node, (numbers + wrap(lines))._node))


def elements_of_lines(a: DeviceArray, places: np.ndarray, axis: int) -> DeviceArray:
    """Elements at places of each line of an array: (k, *other axes) of both."""
    strides = contiguous(a.shape)
    step, others = strides[axis], strides[:axis] + strides[axis + 1 :]
    lines = index(places.shape, (0,) * (places.ndim - len(others)) + others, _INT64)
    numbers = creation.array(places.astype(np.int64) * step, device=a.device)
    return wrap(launchers.gather.gather(a._node, (numbers + wrap(lines))._node))


def from_start(places: np.ndarray, count: int) -> np.ndarray:
    """Places counted from the start; NumPy would raise for others."""
    moved = np.where(places < 0, places + count, places).astype(np.int64)
    if ((moved < 0) | (moved >= count)).any():
        raise IndexError(f"index {int(places.ravel()[0])} is out of bounds for axis 0 with size {count}")
    return np.asarray(moved)
