"""Reductions over axes: sums, products, extrema, tests of truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import with_device_lock
from clarray._engine.ops.monoids import statistic_monoid
from clarray._engine.speedups import captured_growth
from clarray._numpy.reduction.reduce_calls import (
    build_reduction,
    check_out,
    check_shape,
    constant_node,
    layout_as_copied,
    operand_node,
    reduced_shape,
    reduction_axes,
    ufunc_reduce,
    write_result,
)

_NO_VALUE = np._NoValue
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
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the sum of the elements over axes.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None
        Axes to reduce. None reduces all axes.
    dtype : dtype, optional
        Dtype of the computation and of the result. By default 64 bits for bools and smaller integers, else the dtype of
        `a`.
    out : DeviceArray, optional
        Array for the result, with the shape of the result.
    keepdims : bool
        Keep the reduced axes, with an extent of one.
    initial : scalar, optional
        Starting value.
    where : array_like of bool, optional
        Elements to include, broadcast to the shape of `a`.

    Returns
    -------
    DeviceArray
        Without axes if all are reduced.

    Raises
    ------
    numpy.exceptions.AxisError
        An axis does not exist.
    ValueError
        `out` has another shape. Or there are no elements or a `where`, but no `initial`, and the operation has no
        neutral element (`max`, `min`).
    TypeError
        The device does not support the dtype.

    See Also
    --------
    nansum, cumsum, mean

    Notes
    -----
    The result is lazy, and the reduction computes pending elements as it reads them. Float sums are compensated.

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
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the product of the elements over axes.

    Parameters, result and errors as in `sum`.

    Examples
    --------
    >>> import clarray
    >>> clarray.prod([[1, 2], [3, 4]], axis=0).tolist()
    [3, 8]
    """
    return ufunc_reduce(np.multiply, a, axis, dtype, out, keepdims, initial, where)


def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the largest element over axes.

    The result is NaN if an element is NaN. Parameters and errors as in `sum`.

    Returns
    -------
    DeviceArray
        Has the same dtype as `a`.

    See Also
    --------
    nanmax, argmax, maximum

    Examples
    --------
    >>> import clarray
    >>> clarray.max([[1, 5], [4, 2]], axis=0).tolist()
    [4, 5]
    """
    return ufunc_reduce(np.maximum, a, axis, None, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the smallest element over axes.

    The result is NaN if an element is NaN. Parameters and errors as in `sum`.

    Returns
    -------
    DeviceArray
        Has the same dtype as `a`.

    See Also
    --------
    nanmin, argmin, minimum

    Examples
    --------
    >>> import clarray
    >>> clarray.min([[1, 5], [4, 2]], axis=0).tolist()
    [1, 2]
    """
    return ufunc_reduce(np.minimum, a, axis, None, out, keepdims, initial, where)


amax, amin = max, min


def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> DeviceArray:
    """Return whether any element along the given axes is true.

    All numbers other than zero are true, and so is NaN. Parameters and errors as in `sum`.

    Returns
    -------
    DeviceArray of bool

    Examples
    --------
    >>> import clarray
    >>> clarray.any([[0, 0], [0, 1]], axis=1).tolist()
    [False, True]
    """
    return ufunc_reduce(np.logical_or, a, axis, None, out, keepdims, _NO_VALUE, where)


def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> DeviceArray:
    """Return whether all elements along the given axes are true.

    All numbers other than zero are true, and so is NaN. Parameters and errors as in `sum`.

    Returns
    -------
    DeviceArray of bool

    Examples
    --------
    >>> import clarray
    >>> clarray.all([[1, 1], [0, 1]], axis=1).tolist()
    [True, False]
    """
    return ufunc_reduce(np.logical_and, a, axis, None, out, keepdims, _NO_VALUE, where)


@captured_growth(operands=1)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> DeviceArray:
    """Return the number of nonzero elements over axes.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None
        Axes to reduce. None reduces all axes.
    keepdims : bool
        Keep the reduced axes, with an extent of one.

    Returns
    -------
    DeviceArray of int64

    Raises
    ------
    numpy.exceptions.AxisError
        An axis does not exist.

    Examples
    --------
    >>> import clarray
    >>> clarray.count_nonzero([[0, 1], [2, 3]], axis=1).tolist()
    [1, 2]
    """
    node = operand_node(a)
    if node.dtype == _BOOL:
        return ufunc_reduce(np.add, wrap(node), axis, _INT64, None, keepdims)
    counts = ufunc_reduce(np.add, wrap(ufunc_calls.cast(node, _BOOL)), axis, _INT64, None, keepdims)
    return layout_as_copied(counts, node, axis, None)


@captured_growth(operands=1)
@with_device_lock("out")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> DeviceArray:
    """Return the range of the elements over axes: the largest minus the smallest element.

    Parameters and errors as in `sum`.

    Returns
    -------
    DeviceArray
        Has the same dtype as `a`, so that small integers may wrap around.

    Examples
    --------
    >>> import clarray
    >>> clarray.ptp([[1, 5], [4, 2]], axis=1).tolist()
    [4, 2]
    """
    check_out(out)
    high = ufunc_reduce(np.maximum, a, axis, None, None, keepdims)
    low = ufunc_reduce(np.minimum, a, axis, None, None, keepdims)
    if out is not None:  # NumPy stores the largest elements there before it subtracts
        check_shape(out, high.shape)
        high = wrap(ufunc_calls.cast(high._node, out.dtype))
    ranges: DeviceArray = ufunc_calls.call(np.subtract, (high, low), out=out)
    return ranges


def _arg_extremum(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> DeviceArray:
    check_out(out)
    node = operand_node(a)
    keepdims = bool(keepdims)  # any object, unlike in other reductions
    if axis is not None and not isinstance(axis, tuple):
        axes = reduction_axes(node, axis)
    elif axis is None:
        axes = tuple(range(len(node.shape)))
    else:
        raise TypeError("'tuple' object cannot be interpreted as an integer")
    shape = reduced_shape(node.shape, axes, keepdims)
    if math.prod(node.shape[i] for i in axes) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if out is not None and out.shape == shape and not np.can_cast(out.dtype, _INT64, "safe"):
        # NumPy checks the cast of the output's dtype, not of the positions'
        raise TypeError(f"Cannot cast array data from {out.dtype!r} to {_INT64!r} according to the rule 'safe'")
    if not axes:
        return write_result(constant_node(0, _INT64, shape), out)
    positions = build_reduction(statistic_monoid(name, node.dtype), node, None, axes, keepdims)
    return write_result(positions, out)


@captured_growth(operands=1)
@with_device_lock("out")
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Return the position of the largest element along an axis.

    Of several equal elements, the position of the first one is returned. NaN counts as the largest.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        Axis to search. None searches the flattened array.
    out : DeviceArray, optional
        Array for the result.
    keepdims : bool
        Keep the reduced axes, with an extent of one.

    Returns
    -------
    DeviceArray of int64
        Position along `axis`, or in the flattened array.

    Raises
    ------
    numpy.exceptions.AxisError
        `axis` does not exist.
    ValueError
        There are no elements.
    TypeError
        `axis` is a tuple.

    See Also
    --------
    max, nanargmax, unravel_index

    Examples
    --------
    >>> import clarray
    >>> int(clarray.argmax([2, 9, 4])), clarray.argmax([[1, 5], [4, 2]], axis=0).tolist()
    (1, [1, 0])
    """
    return _arg_extremum("argmax", a, axis, out, keepdims)


@captured_growth(operands=1)
@with_device_lock("out")
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Return the position of the smallest element along an axis.

    Of several equal elements, the position of the first one is returned. NaN counts as the smallest. Parameters, result
    and errors as in `argmax`.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.argmin([2, 9, 1])), clarray.argmin([[1, 5], [4, 2]], axis=0).tolist()
    (2, [0, 1])
    """
    return _arg_extremum("argmin", a, axis, out, keepdims)
