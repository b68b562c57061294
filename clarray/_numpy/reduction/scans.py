"""Running sums and products, and what undoes them: differences, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import as_array, empty
from clarray._core.creation_like import empty_like
from clarray._core.device_array import DeviceArray
from clarray._core.writes import one_hold
from clarray._engine.expr.axes import axis_number, normalize_axis, strict_axis
from clarray._engine.speedups import recorded, recorded_growth
from clarray._numpy.manipulation.joining import concatenate
from clarray._numpy.manipulation.shapes import atleast_1d, broadcast_to, ravel
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.accumulations import accumulate, accumulated_dtype
from clarray._numpy.reduction.nanfunctions import replaced, without_nan

__all__ = [
    "cumsum",
    "cumprod",
    "cumulative_sum",
    "cumulative_prod",
    "nancumsum",
    "nancumprod",
    "diff",
    "ediff1d",
    "trapezoid",
]

_NO = np._NoValue


@one_hold("out")
def _running(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> DeviceArray:
    array = as_array(a, out.device if isinstance(out, DeviceArray) else None)
    if axis is not None:
        axis = axis_number(axis)
    if (axis is None and array.ndim != 1) or array.ndim == 0:
        array = ravel(array)
    return accumulate(ufunc, array, axis or 0, dtype, out)


@recorded
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """The running sum along an axis; see `numpy.cumsum`.

    Parameters
    ----------
    a : array_like
        Computed while it is read, where it is a pending expression.
    axis : int, optional
        None runs through all elements in C order.
    dtype : dtype, optional
        Of the computation and of the result; by default 64-bit for bools and smaller integers.
    out : DeviceArray, optional
        Where the result goes, converted.

    Returns
    -------
    DeviceArray
        Of the shape of `a`, or one-dimensional without an axis. Float sums are at least as exact as
        NumPy's, and the same bits in every run.

    Raises
    ------
    numpy.exceptions.AxisError
        The axis is out of range.
    ValueError
        `out` has another shape.

    Examples
    --------
    >>> import clarray
    >>> clarray.cumsum([1, 2, 3]).tolist()
    [1, 3, 6]
    """
    return _running(np.add, a, axis, dtype, out)


@recorded
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """The running product along an axis; see `clarray.cumsum`."""
    return _running(np.multiply, a, axis, dtype, out)


@one_hold("out")
def _cumulative(ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> DeviceArray:
    array = atleast_1d(as_array(x, out.device if isinstance(out, DeviceArray) else None))
    if axis is None:
        if array.ndim >= 2:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if not include_initial:
        return accumulate(ufunc, array, axis, dtype, out)
    place = strict_axis(axis, array.ndim)
    if out is None:
        shape = (*array.shape[:place], array.shape[place] + 1, *array.shape[place + 1 :])
        dtype = accumulated_dtype(ufunc, array, dtype)
        out = empty_like(array, dtype, shape=shape)
    before = (slice(None),) * place
    accumulate(ufunc, array, place, dtype, out[(*before, slice(1, None))])
    out[(*before, 0)] = ufunc.identity
    found: DeviceArray = out
    return found


@recorded
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> DeviceArray:
    """The running sum along an axis, as the Array API standard has it; see `numpy.cumulative_sum`.

    Parameters
    ----------
    x : array_like
    axis : int, optional
        May be left out for one dimension only.
    dtype, out
        As for `clarray.cumsum`.
    include_initial : bool
        Begin with 0, so that the result is one longer along the axis.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        There is more than one axis and none is named.
    """
    return _cumulative(np.add, x, axis, dtype, out, include_initial)


@recorded
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> DeviceArray:
    """The running product along an axis; see `clarray.cumulative_sum`."""
    return _cumulative(np.multiply, x, axis, dtype, out, include_initial)


@recorded
@one_hold("out")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """The running sum along an axis, NaN counting as zero; see `clarray.cumsum`."""
    return without_nan(cumsum(replaced(a, 0), axis, dtype, out), a, (), out)


@recorded
@one_hold("out")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """The running product along an axis, NaN counting as one; see `clarray.cumsum`."""
    return without_nan(cumprod(replaced(a, 1), axis, dtype, out), a, (), out)


def _beside(value: Any, array: DeviceArray, axis: int) -> DeviceArray:
    """What goes before or after an array: a scalar stands for one slice."""
    part = as_array(value, array.device)
    if part.ndim == 0:
        part = broadcast_to(part, (*array.shape[:axis], 1, *array.shape[axis + 1 :]))
    return part


@recorded_growth
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = _NO, append: Any = _NO) -> Any:
    """The differences of neighbours along an axis, `n` times; see `numpy.diff`.

    Parameters
    ----------
    a : array_like
    n : int
        0 gives `a` back.
    axis : int
    prepend, append : array_like, optional
        Joined to `a` before; a scalar stands for one slice.

    Returns
    -------
    DeviceArray
        Pending: a difference of two views. Of bools it tells where neighbours differ.

    Raises
    ------
    ValueError
        `n` is negative, or `a` has no axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.diff([1, 4, 9]).tolist()
    [3, 5]
    """
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    array = as_array(a)
    if array.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    place = normalize_axis(axis, array.ndim)
    parts = [array]
    if prepend is not _NO:
        parts.insert(0, _beside(prepend, array, place))
    if append is not _NO:
        parts.append(_beside(append, array, place))
    if len(parts) > 1:
        array = concatenate(parts, place)
    before = (slice(None),) * place
    later, earlier = (*before, slice(1, None)), (*before, slice(None, -1))
    difference: Any = np.not_equal if array.dtype == bool else np.subtract
    for _ in range(n):
        array = difference(array[later], array[earlier])
        if not array.shape[place]:  # and so are all further differences
            break
    return array


@recorded_growth
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> DeviceArray:
    """The differences of neighbours of all elements in C order; see `numpy.ediff1d`.

    Parameters
    ----------
    ary : array_like
    to_end, to_begin : array_like, optional
        Put after and before the differences.

    Returns
    -------
    DeviceArray
        Of one axis, and the dtype of `ary`.

    Raises
    ------
    TypeError
        They cannot be converted to the dtype of `ary` under the rule ``'same_kind'``.
    """
    array = ravel(as_array(ary))
    if to_begin is None and to_end is None:
        found: DeviceArray = array[1:] - array[:-1]
        return found
    parts: list[Any] = []
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        part = None if value is None else as_array(value, array.device)
        if part is not None and not np.can_cast(part.dtype, array.dtype, casting="same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.append(None if part is None else ravel(part))
    begin = 0 if parts[0] is None else parts[0].size
    end = 0 if parts[1] is None else parts[1].size
    count = max(array.size - 1, 0)
    result = empty(begin + count + end, array.dtype, device=array.device)
    if begin:
        result[:begin] = parts[0]
    if end:
        result[begin + count :] = parts[1]
    np.subtract(array[1:], array[:-1], result[begin : begin + count])
    return result


@recorded
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The area under a curve by the trapezoidal rule; see `numpy.trapezoid`.

    Parameters
    ----------
    y : array_like
    x : array_like, optional
        Where the values are: one-dimensional, or of the shape of `y`.
    dx : scalar
        The distance of neighbours where `x` is not given.
    axis : int

    Returns
    -------
    DeviceArray
        One reduction, which computes the areas while it reads.
    """
    values = as_array(y, x.device if isinstance(x, DeviceArray) else None)
    if x is None:
        width = dx
    else:
        places = as_array(x, values.device)
        if places.ndim == 1:
            width = diff(places)
            shape = [1] * values.ndim
            shape[axis] = width.shape[0]
            width = width.reshape(shape)
        else:
            width = diff(places, axis=axis)
    before = [slice(None)] * values.ndim
    later, earlier = list(before), list(before)
    later[axis], earlier[axis] = slice(1, None), slice(None, -1)
    areas = width * (values[tuple(later)] + values[tuple(earlier)]) / 2.0
    return reductions.sum(areas, axis)
