"""Ranges and joined arrays written as indices: ``mgrid[0:3, 0:1:5j]``, ``r_[1:4, a, 0]``.

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


def _limits(given: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step, those that are not given being 0 and 1."""
    return 0 if given.start is None else given.start, given.stop, 1 if given.step is None else given.step


class _Range:
    """One slice of a grid: ``start:stop:step``, an imaginary step being a number of points."""

    def __init__(self, given: slice) -> None:
        start, stop, step = _limits(given)
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
        """Grow its numbers along an axis."""
        places = ufunc_calls.cast(positions_along(axis, self.count, ndim), dtype)
        start, step = dtype.type(self.start), dtype.type(self.step)
        return composing.apply_ufunc(np.add, composing.apply_ufunc(np.multiply, places, step), start)


class _Grid:
    """Make the coordinates of a grid by indexing `mgrid` or `ogrid` with slices: ``mgrid[0:3, 0:1:5j]``.

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
        ranges = [_Range(one) for one in (key if isinstance(key, tuple) else (key,))]
        if not ranges:
            return () if self._sparse else empty((0,), int)
        dtype = np.result_type(*(kind for one in ranges for kind in one.kinds))
        along = [one.values(axis, len(ranges), dtype) for axis, one in enumerate(ranges)]
        if not isinstance(key, tuple):
            return wrap(along[0])
        return grid(tuple(one.count for one in ranges), along, dtype, self._sparse)


mgrid = _Grid("mgrid", False)
ogrid = _Grid("ogrid", True)


class _Joiner:
    """Join arrays, scalars and ranges by indexing `r_` or `c_`: ``r_[1:4, a, 0]``.

    `r_` joins along the first axis. `c_` makes columns of 1-d arrays and joins along the last axis. A text at first, as
    ``'0,2'``, gives the axis, the least number of axes, and the place of the arrays' own axes among them.

    Examples
    --------
    >>> import clarray
    >>> clarray.r_[1:4, 0].tolist()
    [1, 2, 3, 0]
    >>> clarray.c_[[1, 2], [3, 4]].tolist()
    [[1, 3], [2, 4]]
    """

    def __init__(self, name: str, axis: int, ndmin: int, place: int) -> None:
        self._name = name
        self._how = axis, ndmin, place

    def __repr__(self) -> str:
        return f"<clarray.{self._name}>"

    def __reduce__(self) -> str:
        return self._name

    def __getitem__(self, key: Any) -> DeviceArray:
        try:
            return self._joined(key)
        except HostOnly:
            pass
        theirs: Any = getattr(np, self._name)
        made: DeviceArray = by_numpy(theirs.__getitem__, (key,), {})
        return made

    def _joined(self, key: Any) -> DeviceArray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self._how
        if items and isinstance(items[0], str):
            axis, ndmin, place = _directive(items.pop(0), *self._how)
        device = ufunc_calls.device_of_operands(tuple(items))
        parts: list[Any] = []
        for item in items:
            if isinstance(item, str):
                raise ValueError("special directives must be the first entry.")
            if isinstance(item, slice):
                item = _range(item)
            # Python's scalars are weak, and have no axis that could be put anywhere
            parts.append(item if weak_type(item) is not None else _placed(as_array(item, device), ndmin, place))
        if not parts:
            raise ValueError("need at least one array to concatenate")
        dtype = np.result_type(*(x if weak_type(x) is not None else x.dtype for x in parts))
        return concatenate([array(x, dtype, copy=None, ndmin=max(1, ndmin), device=device) for x in parts], axis)


def _directive(text: str, axis: int, ndmin: int, place: int) -> tuple[int, int, int]:
    """Read ``'axis'``, ``'axis,ndmin'`` or ``'axis,ndmin,place'``."""
    if text in ("r", "c"):
        raise ValueError(f"special directive {text!r} asks for a matrix, which clarray has not")
    try:
        given = [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    if len(given) > 3:
        raise ValueError(f"unknown special directive {text!r}")
    how = [axis, ndmin, place]
    how[: len(given)] = given
    return how[0], how[1], how[2]


def _range(item: slice) -> DeviceArray:
    start, stop, step = _limits(item)
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, stop, int(abs(complex(step))))
    return arange(start, stop, step)


def _placed(item: DeviceArray, ndmin: int, place: int) -> DeviceArray:
    """An array of at least `ndmin` axes, its own from the axis `place` on; -1 puts them last."""
    added = ndmin - item.ndim
    if added <= 0:
        return item
    wide = item.reshape((1,) * added + item.shape)
    if place == -1:
        return wide
    first = place if place >= 0 else place + added + 1
    axes = list(range(ndmin))
    new, own = axes[:added], axes[added:]
    return transpose(wide, [*new[:first], *own, *new[first:]])


r_ = _Joiner("r_", 0, 1, -1)
c_ = _Joiner("c_", -1, 2, 0)
