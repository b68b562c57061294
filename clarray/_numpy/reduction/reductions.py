"""Reductions over axes: NumPy's sums, products, extrema and truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import one_hold
from clarray._engine.ops.monoids import statistic_monoid
from clarray._engine.speedups import recorded_growth
from clarray._numpy.reduction.reduce_calls import (
    as_of_copy,
    axes_of,
    check_out,
    check_shape,
    finished,
    full_node,
    kept_shape,
    operand,
    reduced,
    ufunc_reduce,
)

_NO = np._NoValue
_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "max",
    "min",
    "prod",
    "ptp",
    "sum",
]


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:
    """Sum of elements over axes; float sums are compensated.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None
        Axes to reduce; all if None.
    dtype : dtype, optional
        Of the accumulation and the result; by default NumPy's: 64-bit for smaller integers.
    out : DeviceArray, optional
        Where to put the result.
    keepdims : bool
        Keep reduced axes with one element.
    initial : scalar, optional
        What the reduction begins with.
    where : array_like of bool, optional
        Elements to include.

    Returns
    -------
    DeviceArray
        Pending; 0-d for a full reduction.

    Raises
    ------
    numpy.exceptions.AxisError
        There is no such axis.
    ValueError
        `out` has another shape; or of what has no neutral element, such as `max`, there are no elements, or `where`
        is given, and there is no `initial`.
    TypeError
        The device has no such dtype.

    References
    ----------
    A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(6).reshape(2, 3)
    >>> x.sum(axis=0).tolist(), int(x.sum())
    ([3, 5, 7], 15)
    """
    return ufunc_reduce(np.add, a, axis, dtype, out, keepdims, initial, where)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:
    """Product of elements over axes; see `sum` for the parameters."""
    return ufunc_reduce(np.multiply, a, axis, dtype, out, keepdims, initial, where)


def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:
    """Largest element over axes; NaN if there is one. See `sum` for the parameters."""
    return ufunc_reduce(np.maximum, a, axis, None, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
    where: Any = True,
) -> DeviceArray:
    """Smallest element over axes; NaN if there is one. See `sum` for the parameters."""
    return ufunc_reduce(np.minimum, a, axis, None, out, keepdims, initial, where)


amax, amin = max, min


def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> DeviceArray:
    """Whether any element is true over axes. See `sum` for the parameters."""
    return ufunc_reduce(np.logical_or, a, axis, None, out, keepdims, _NO, where)


def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> DeviceArray:
    """Whether all elements are true over axes. See `sum` for the parameters."""
    return ufunc_reduce(np.logical_and, a, axis, None, out, keepdims, _NO, where)


@recorded_growth
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> DeviceArray:
    """Number of elements that are not zero, over axes.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None
        Axes to reduce; all if None.
    keepdims : bool
        Keep reduced axes with one element.

    Returns
    -------
    DeviceArray of int64

    Raises
    ------
    numpy.exceptions.AxisError
        There is no such axis.
    """
    node = operand(a)
    if node.dtype == _BOOL:
        return ufunc_reduce(np.add, wrap(node), axis, _INT64, None, keepdims)
    found = ufunc_reduce(np.add, wrap(ufunc_calls.cast(node, _BOOL)), axis, _INT64, None, keepdims)
    return as_of_copy(found, node, axis, None)


@recorded_growth
@one_hold("out")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> DeviceArray:
    """Largest minus smallest element over axes; parameters as in `sum`."""
    check_out(out)
    high = ufunc_reduce(np.maximum, a, axis, None, None, keepdims)
    low = ufunc_reduce(np.minimum, a, axis, None, None, keepdims)
    if out is not None:  # where NumPy has the largest before it subtracts
        check_shape(out, high.shape)
        high = wrap(ufunc_calls.cast(high._node, out.dtype))
    found: DeviceArray = ufunc_calls.call(np.subtract, (high, low), out=out)
    return found


def _arg(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> DeviceArray:
    check_out(out)
    node = operand(a)
    keepdims = bool(keepdims)  # whatever it is, unlike other reductions'
    if axis is not None and not isinstance(axis, tuple):
        axes = axes_of(node, axis)
    elif axis is None:
        axes = tuple(range(len(node.shape)))
    else:
        raise TypeError("'tuple' object cannot be interpreted as an integer")
    shape = kept_shape(node.shape, axes, keepdims)
    if math.prod(node.shape[i] for i in axes) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if out is not None and out.shape == shape and not np.can_cast(out.dtype, _INT64, "safe"):
        # NumPy asks whether the output's dtype can be cast, not that of the positions
        raise TypeError(f"Cannot cast array data from {out.dtype!r} to {_INT64!r} according to the rule 'safe'")
    if not axes:
        return finished(full_node(0, _INT64, shape), out)
    found = reduced(statistic_monoid(name, node.dtype), node, None, axes, keepdims)
    return finished(found, out)


@recorded_growth
@one_hold("out")
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Position of the first largest element, of the first NaN if there is one.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None: of the flattened array.
    out : DeviceArray, optional
        Where to put the result.
    keepdims : bool
        Keep reduced axes with one element.

    Returns
    -------
    DeviceArray of int64
        Position along `axis`, or in the flattened array.

    Raises
    ------
    numpy.exceptions.AxisError
        There is no such axis.
    ValueError
        There are no elements.
    TypeError
        `axis` is a tuple.
    """
    return _arg("argmax", a, axis, out, keepdims)


@recorded_growth
@one_hold("out")
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Position of the first smallest element, of the first NaN if there is one; see `argmax`."""
    return _arg("argmin", a, axis, out, keepdims)
