"""Running sums and products, differences, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import as_array, empty
from clarray._core.creation_like import empty_like
from clarray._core.device_array import DeviceArray
from clarray._core.writes import with_device_lock
from clarray._engine.expr.axes import axis_number, normalize_axis, strict_axis
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.manipulation.joining import concatenate
from clarray._numpy.manipulation.ranks import atleast_1d
from clarray._numpy.manipulation.shapes import broadcast_to, ravel
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.accumulations import accumulate, accumulated_dtype
from clarray._numpy.reduction.nanfunctions import layout_without_nan, replace_nan

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

_NO_VALUE = np._NoValue


@with_device_lock("out")
def _cumulate(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> DeviceArray:
    array = as_array(a, out.device if isinstance(out, DeviceArray) else None)
    if axis is not None:
        axis = axis_number(axis)
    if (axis is None and array.ndim != 1) or array.ndim == 0:
        array = ravel(array)
    return accumulate(ufunc, array, axis or 0, dtype, out)


@captured(operands=1)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """Return the running sum along an axis.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        Axis of the sum. None sums all elements in C order.
    dtype : dtype, optional
        Dtype of the computation and of the result. By default 64 bits for bools and smaller integers, else the dtype of
        `a`.
    out : DeviceArray, optional
        Array for the result, which is converted to its dtype.

    Returns
    -------
    DeviceArray
        Has the same shape as `a`, or one-dimensional without an axis.

    Raises
    ------
    numpy.exceptions.AxisError
        `axis` does not exist.
    ValueError
        `out` has another shape.

    Notes
    -----
    A pending expression is computed as the scan reads it. Float sums are at least as exact as NumPy's, and have the
    same bits in every run.

    Examples
    --------
    >>> import clarray
    >>> clarray.cumsum([1, 2, 3]).tolist()
    [1, 3, 6]
    """
    return _cumulate(np.add, a, axis, dtype, out)


@captured(operands=1)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """Return the running product along an axis.

    Parameters, result and errors as in `clarray.cumsum`.

    Examples
    --------
    >>> import clarray
    >>> clarray.cumprod([1, 2, 3, 4]).tolist()
    [1, 2, 6, 24]
    """
    return _cumulate(np.multiply, a, axis, dtype, out)


@with_device_lock("out")
def _cumulate_standard(ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> DeviceArray:
    array = atleast_1d(as_array(x, out.device if isinstance(out, DeviceArray) else None))
    if axis is None:
        if array.ndim >= 2:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if not include_initial:
        return accumulate(ufunc, array, axis, dtype, out)
    scan_axis = strict_axis(axis, array.ndim)
    if out is None:
        shape = (*array.shape[:scan_axis], array.shape[scan_axis] + 1, *array.shape[scan_axis + 1 :])
        dtype = accumulated_dtype(ufunc, array, dtype)
        out = empty_like(array, dtype, shape=shape)
    leading = (slice(None),) * scan_axis
    accumulate(ufunc, array, scan_axis, dtype, out[(*leading, slice(1, None))])
    out[(*leading, 0)] = ufunc.identity
    running: DeviceArray = out
    return running


@captured(operands=1)
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> DeviceArray:
    """Return the running sum along an axis. This is the function of the Array API standard.

    Parameters
    ----------
    x : array_like
    axis : int, optional
        Axis of the sum. Required for more than one axis.
    dtype, out
        As for `clarray.cumsum`.
    include_initial : bool
        Begin with 0. The result is then longer by one along the axis.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `x` has more than one axis, and `axis` is missing.

    Examples
    --------
    >>> import clarray
    >>> clarray.cumulative_sum([1, 2, 3], include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _cumulate_standard(np.add, x, axis, dtype, out, include_initial)


@captured(operands=1)
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> DeviceArray:
    """Return the running product along an axis. This is the function of the Array API standard.

    Parameters, result and errors as in `clarray.cumulative_sum`. With `include_initial` the result begins with 1.

    Examples
    --------
    >>> import clarray
    >>> clarray.cumulative_prod([2, 3, 4], include_initial=True).tolist()
    [1, 2, 6, 24]
    """
    return _cumulate_standard(np.multiply, x, axis, dtype, out, include_initial)


@captured(operands=1)
@with_device_lock("out")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """Return the running sum along an axis, with each NaN counted as zero.

    Parameters, result and errors as in `clarray.cumsum`.

    Examples
    --------
    >>> import clarray
    >>> clarray.nancumsum([1.0, clarray.nan, 2.0]).tolist()
    [1.0, 1.0, 3.0]
    """
    return layout_without_nan(cumsum(replace_nan(a, 0), axis, dtype, out), a, (), out)


@captured(operands=1)
@with_device_lock("out")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> DeviceArray:
    """Return the running product along an axis, with each NaN counted as one.

    Parameters, result and errors as in `clarray.cumsum`.

    Examples
    --------
    >>> import clarray
    >>> clarray.nancumprod([2.0, clarray.nan, 3.0]).tolist()
    [2.0, 2.0, 6.0]
    """
    return layout_without_nan(cumprod(replace_nan(a, 1), axis, dtype, out), a, (), out)


def _as_slices(edge: Any, array: DeviceArray, axis: int) -> DeviceArray:
    """Return the slices to put before or after an array. A scalar fills one slice."""
    slices = as_array(edge, array.device)
    if slices.ndim == 0:
        slices = broadcast_to(slices, (*array.shape[:axis], 1, *array.shape[axis + 1 :]))
    return slices


@captured_growth(operands=1)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = _NO_VALUE, append: Any = _NO_VALUE) -> Any:
    """Return the differences between neighbours along an axis.

    Parameters
    ----------
    a : array_like
    n : int
        Number of times to take the differences. 0 returns `a`.
    axis : int
        Axis of the neighbours.
    prepend, append : array_like, optional
        Values to join to `a` before its first and after its last element. A scalar stands for one slice.

    Returns
    -------
    DeviceArray
        Shorter by `n` along the axis. For bools, whether neighbours differ.

    Raises
    ------
    ValueError
        `n` is negative, or `a` has no axis.

    Notes
    -----
    The result is lazy: it is the difference of two views of `a`.

    Examples
    --------
    >>> import clarray
    >>> clarray.diff([1, 4, 9]).tolist(), clarray.diff([1, 4, 9], n=2).tolist()
    ([3, 5], [2])
    """
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    array = as_array(a)
    if array.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    diff_axis = normalize_axis(axis, array.ndim)
    parts = [array]
    if prepend is not _NO_VALUE:
        parts.insert(0, _as_slices(prepend, array, diff_axis))
    if append is not _NO_VALUE:
        parts.append(_as_slices(append, array, diff_axis))
    if len(parts) > 1:
        array = concatenate(parts, diff_axis)
    leading = (slice(None),) * diff_axis
    later, earlier = (*leading, slice(1, None)), (*leading, slice(None, -1))
    difference: Any = np.not_equal if array.dtype == bool else np.subtract
    for _ in range(n):
        array = difference(array[later], array[earlier])
        if not array.shape[diff_axis]:  # further differences are empty, too
            break
    return array


@captured_growth(operands=1)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> DeviceArray:
    """Return the differences between neighbours of the flattened array.

    Parameters
    ----------
    ary : array_like
        Flattened in C order.
    to_end, to_begin : array_like, optional
        Values to put after and before the differences.

    Returns
    -------
    DeviceArray
        Has one axis and the same dtype as `ary`.

    Raises
    ------
    TypeError
        `to_end` or `to_begin` cannot be converted to the dtype of `ary` under the rule ``'same_kind'``.

    Examples
    --------
    >>> import clarray
    >>> clarray.ediff1d([1, 4, 9], to_begin=0).tolist()
    [0, 3, 5]
    """
    array = ravel(as_array(ary))
    if to_begin is None and to_end is None:
        differences: DeviceArray = array[1:] - array[:-1]
        return differences
    parts: list[Any] = []
    for name, edge in (("to_begin", to_begin), ("to_end", to_end)):
        edge_array = None if edge is None else as_array(edge, array.device)
        if edge_array is not None and not np.can_cast(edge_array.dtype, array.dtype, casting="same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.append(None if edge_array is None else ravel(edge_array))
    begin = 0 if parts[0] is None else parts[0].size
    end = 0 if parts[1] is None else parts[1].size
    count = max(array.size - 1, 0)
    output = empty(begin + count + end, array.dtype, device=array.device)
    if begin:
        output[:begin] = parts[0]
    if end:
        output[begin + count :] = parts[1]
    np.subtract(array[1:], array[:-1], output[begin : begin + count])
    return output


@captured(operands=2)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the area under a curve by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        Values of the curve.
    x : array_like, optional
        Positions of the values: one-dimensional, or of the shape of `y`.
    dx : scalar
        Distance of neighbours if `x` is not given.
    axis : int
        Axis along which to integrate.

    Returns
    -------
    DeviceArray
        Without the axis.

    Notes
    -----
    Takes one reduction, which computes the areas as it reads the elements.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.trapezoid([1.0, 2.0, 3.0], dx=2.0))
    8.0
    """
    values = as_array(y, x.device if isinstance(x, DeviceArray) else None)
    if x is None:
        width = dx
    else:
        coordinates = as_array(x, values.device)
        if coordinates.ndim == 1:
            width = diff(coordinates)
            shape = [1] * values.ndim
            shape[axis] = width.shape[0]
            width = width.reshape(shape)
        else:
            width = diff(coordinates, axis=axis)
    key = [slice(None)] * values.ndim
    later, earlier = list(key), list(key)
    later[axis], earlier[axis] = slice(1, None), slice(None, -1)
    areas = width * (values[tuple(later)] + values[tuple(earlier)]) / 2.0
    return reductions.sum(areas, axis)
