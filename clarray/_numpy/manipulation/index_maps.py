"""Copies of an array through one index map per axis. Rolling, padding and repeating use them."""

from __future__ import annotations

from typing import NamedTuple

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import axis_order, new_leaf
from clarray._core.views import view_of
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.index_map.plan import SAME, Axis
from clarray._engine.expr.view import View


class AxisMap(NamedTuple):
    """Index map of one axis of a result: an `Axis` of the plan without the stride and extent of the source."""

    extent: int
    map: str = SAME
    before: int = 0
    values: tuple = ()


def read_through_maps(array: DeviceArray, maps: list[AxisMap], order: str = "C") -> DeviceArray:
    """Copy an array through one index map per axis, in one pass.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}
        Memory layout of the result. 'K' keeps the array's.
    """
    view = view_of(array)
    axes = axis_order(view, order)
    if _is_transposed(view, axes):
        array = array.copy(order)
        view = view_of(array)
    target = new_leaf(array.device, tuple(m.extent for m in maps), array.dtype, order, view)
    loops = [
        Axis(m.map, m.extent, view.strides[a], view.shape[a], m.before, m.values)
        for a, m in ((a, maps[a]) for a in axes)
    ]
    launchers.index_map.index_map(array._node, view, loops, target)
    return wrap(target)


def _is_transposed(view: View, axes: list[int]) -> bool:
    """Return whether the result's innermost axis is strided in memory while another axis has stride 1."""
    if not axes or abs(view.strides[axes[-1]]) < 2:
        return False
    return any(abs(view.strides[a]) == 1 and view.shape[a] > 1 for a in axes[:-1])


def copy_repeated(array: DeviceArray, view: View) -> DeviceArray:
    """Return a C-contiguous copy of a view that repeats elements of an array."""
    target = new_leaf(array.device, view.shape, array.dtype)
    loops = [Axis(SAME, n, s) for n, s in zip(view.shape, view.strides, strict=True)]
    launchers.index_map.index_map(array._node, view, loops, target)
    return wrap(target)
