"""Arrays read through a map of positions per axis: what rolling, padding and repeating are made of."""

from __future__ import annotations

from typing import NamedTuple

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import axis_order, new_leaf
from clarray._core.views import view_of
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.index_map.plan import SAME, Axis
from clarray._engine.expr.view import View


class Map(NamedTuple):
    """How an axis of a result is read: an `Axis` of the plan without what the source tells."""

    extent: int
    map: str = SAME
    before: int = 0
    values: tuple = ()


def remapped(array: DeviceArray, maps: list[Map], order: str = "C") -> DeviceArray:
    """A new array of elements of another, one map per axis, in one pass.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}
        Memory layout of the result; 'K': the array's.
    """
    view = view_of(array)
    axes = axis_order(view, order)
    if _lies_across(view, axes):
        array = array.copy(order)
        view = view_of(array)
    made = new_leaf(array.device, tuple(m.extent for m in maps), array.dtype, order, view)
    loops = [
        Axis(m.map, m.extent, view.strides[a], view.shape[a], m.before, m.values)
        for a, m in ((a, maps[a]) for a in axes)
    ]
    launchers.index_map.index_map(array._node, view, loops, made)
    return wrap(made)


def _lies_across(view: View, axes: list[int]) -> bool:
    """Whether the innermost axis of the result strides through memory that another axis follows."""
    if not axes or abs(view.strides[axes[-1]]) < 2:
        return False
    return any(abs(view.strides[a]) == 1 and view.shape[a] > 1 for a in axes[:-1])


def repeated(array: DeviceArray, view: View) -> DeviceArray:
    """A C-contiguous copy of a view of an array in which elements occur again and again."""
    made = new_leaf(array.device, view.shape, array.dtype)
    loops = [Axis(SAME, n, s) for n, s in zip(view.shape, view.strides, strict=True)]
    launchers.index_map.index_map(array._node, view, loops, made)
    return wrap(made)
