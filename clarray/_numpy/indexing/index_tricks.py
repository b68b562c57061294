"""Make ranges, grids and joined arrays by index notation, as NumPy's `mgrid`, `ogrid`, `r_` and `c_`.

>>> import clarray
>>> clarray.r_[1:4, 0].tolist()
[1, 2, 3, 0]
>>> [x.tolist() for x in clarray.ogrid[0:2, 0:3]]
[[[0], [1]], [[0, 1, 2]]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import index_exp, s_

from clarray._core import composing, ufunc_calls
from clarray._core.creation import array, as_array, empty
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.fallback import by_numpy
from clarray._core.operands import weak_type
from clarray._engine.ops.dtypes import HostOnly
from clarray._numpy.creation.sequences import arange, linspace
from clarray._numpy.indexing.index_tables import grid, positions_along
from clarray._numpy.manipulation.joining import concatenate
from clarray._numpy.manipulation.shapes import transpose

__all__ = ["c_", "index_exp", "mgrid", "ogrid", "r_", "s_"]


def _slice_limits(item: slice) -> tuple[Any, Any, Any]:
    """Return start, stop and step of a slice, by default from 0 in steps of 1."""
    return 0 if item.start is None else item.start, item.stop, 1 if item.step is None else item.step


class _GridRange:
    """Hold the coordinates of a grid along an axis, from a slice whose imaginary step is a number of points."""

    def __init__(self, item: slice) -> None:
        start, stop, step = _slice_limits(item)
        kinds = [start, stop, step]
        if isinstance(step, complex | np.complexfloating):
            self.count = int(abs(complex(step)))
            step = (stop - start) / (self.count - 1) if self.count > 1 else 0.0
            kinds = [start, stop, float(0)]
        else:
            self.count = max(0, int(np.ceil((stop - start) / step)))
        self.start, self.step = start, step
        self.kinds = kinds

    def values(self, axis: int, ndim: int, dtype: np.dtype) -> Any:
        """Return a node of the coordinates along an axis of a grid with `ndim` axes."""
        positions = ufunc_calls.cast(positions_along(axis, self.count, ndim), dtype)
        start, step = dtype.type(self.start), dtype.type(self.step)
        return composing.apply_ufunc(np.add, composing.apply_ufunc(np.multiply, positions, step), start)


class _Grid:
    """Make the coordinates of a grid by indexing `mgrid` or `ogrid` with slices.

    An imaginary step is a number of points, and the stop is then included. `mgrid` returns one array with an axis in
    front that counts the axes. `ogrid` returns a tuple of arrays of length 1 along the other axes, so that they
    broadcast.

    Examples
    --------
    >>> import clarray
    >>> clarray.mgrid[0:2, 0:3].tolist()
    [[[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]]
    >>> [x.tolist() for x in clarray.ogrid[0:2, 0:3]]
    [[[0], [1]], [[0, 1, 2]]]
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __repr__(self) -> str:
        return f"<clarray.{self._name}>"

    def __reduce__(self) -> str:
        return self._name

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple) and not isinstance(key.step, complex | np.complexfloating):
            return arange(0 if key.start is None else key.start, key.stop, key.step)
        ranges = [_GridRange(item) for item in (key if isinstance(key, tuple) else (key,))]
        if not ranges:
            return () if self._sparse else empty((0,), int)
        dtype = np.result_type(*(kind for axis_range in ranges for kind in axis_range.kinds))
        coordinates = [axis_range.values(axis, len(ranges), dtype) for axis, axis_range in enumerate(ranges)]
        if not isinstance(key, tuple):
            return wrap(coordinates[0])
        return grid(tuple(axis_range.count for axis_range in ranges), coordinates, dtype, self._sparse)


mgrid = _Grid("mgrid", False)
ogrid = _Grid("ogrid", True)


class _Joiner:
    """Join arrays, scalars and ranges by indexing `r_` or `c_`.

    `r_` joins along the first axis. `c_` makes columns of 1-d arrays and joins along the last axis. A leading string
    such as ``'0,2'`` sets the axis, the minimum number of axes, and the first of an array's own axes among them.

    Examples
    --------
    >>> import clarray
    >>> clarray.r_[1:4, 0].tolist()
    [1, 2, 3, 0]
    >>> clarray.c_[[1, 2], [3, 4]].tolist()
    [[1, 3], [2, 4]]
    """

    def __init__(self, name: str, axis: int, ndmin: int, first_axis: int) -> None:
        self._name = name
        self._axes = axis, ndmin, first_axis

    def __repr__(self) -> str:
        return f"<clarray.{self._name}>"

    def __reduce__(self) -> str:
        return self._name

    def __getitem__(self, key: Any) -> DeviceArray:
        try:
            return self._concatenate(key)
        except HostOnly:
            pass
        numpy_joiner: Any = getattr(np, self._name)
        result: DeviceArray = by_numpy(numpy_joiner.__getitem__, (key,), {})
        return result

    def _concatenate(self, key: Any) -> DeviceArray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, first_axis = self._axes
        if items and isinstance(items[0], str):
            axis, ndmin, first_axis = _parse_directive(items.pop(0), *self._axes)
        device = ufunc_calls.device_of_operands(tuple(items))
        parts: list[Any] = []
        for item in items:
            if isinstance(item, str):
                raise ValueError("special directives must be the first entry.")
            if isinstance(item, slice):
                item = _range_array(item)
            # Python scalars are weak, and have no axes to position
            parts.append(
                item if weak_type(item) is not None else _with_min_axes(as_array(item, device), ndmin, first_axis)
            )
        if not parts:
            raise ValueError("need at least one array to concatenate")
        dtype = np.result_type(*(x if weak_type(x) is not None else x.dtype for x in parts))
        return concatenate([array(x, dtype, copy=None, ndmin=max(1, ndmin), device=device) for x in parts], axis)


def _parse_directive(text: str, axis: int, ndmin: int, first_axis: int) -> tuple[int, int, int]:
    """Parse ``'axis'``, ``'axis,ndmin'`` or ``'axis,ndmin,first_axis'``. Missing parts keep their defaults."""
    if text in ("r", "c"):
        raise ValueError(f"special directive {text!r} asks for a matrix, which clarray has not")
    try:
        parts = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    if len(parts) > 3:
        raise ValueError(f"unknown special directive {text!r}")
    axis, ndmin, first_axis = (*parts, *(axis, ndmin, first_axis)[len(parts) :])
    return axis, ndmin, first_axis


def _range_array(item: slice) -> DeviceArray:
    """Return the elements of a slice as an array. An imaginary step is a number of points."""
    start, stop, step = _slice_limits(item)
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, stop, int(abs(complex(step))))
    return arange(start, stop, step)


def _with_min_axes(item: DeviceArray, ndmin: int, first_axis: int) -> DeviceArray:
    """Add axes of length 1 up to `ndmin` axes. The array's own axes start at `first_axis`, or are the last for -1."""
    added = ndmin - item.ndim
    if added <= 0:
        return item
    expanded = item.reshape((1,) * added + item.shape)
    if first_axis == -1:
        return expanded
    first = first_axis if first_axis >= 0 else first_axis + added + 1
    axes = list(range(ndmin))
    new_axes, own_axes = axes[:added], axes[added:]
    return transpose(expanded, [*new_axes[:first], *own_axes, *new_axes[first:]])


r_ = _Joiner("r_", 0, 1, -1)
c_ = _Joiner("c_", -1, 2, 0)
