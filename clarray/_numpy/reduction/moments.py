"""Moments over axes: means, variances and standard deviations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.composing import applied
from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node
from clarray._core.writes import one_hold
from clarray._engine.expr import build
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.node import Node
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.ops.monoids import fold_monoid, statistic_monoid
from clarray._engine.ops.special import scale_loop, select_loop
from clarray._engine.speedups import recorded_growth
from clarray._numpy.reduction.reduce_calls import (
    averaged_axes,
    check_out,
    check_shape,
    finished,
    full_node,
    kept_shape,
    narrowed,
    operand,
    reduced,
    split_mask,
    ufunc_reduce,
)

_NO = np._NoValue
_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)

__all__ = ["mean", "std", "var"]


def _float_dtypes(dtype: np.dtype, wanted: Any, out: Any = None) -> tuple[np.dtype, np.dtype]:
    """Dtype of the computation and of the result of a mean of `dtype`: of a wider output its own, as NumPy's."""
    if wanted is None and isinstance(out, DeviceArray):
        _, result = _float_dtypes(dtype, None)
        wanted = out.dtype if out.dtype.kind == result.kind and np.can_cast(result, out.dtype) else None
    if wanted is not None:
        return np.dtype(wanted), np.dtype(wanted)
    if dtype.kind in "biu":
        return np.dtype(np.float64), np.dtype(np.float64)
    return wide_dtype(dtype), dtype


@recorded_growth(operands=1)
@one_hold("out")
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> DeviceArray:
    """Return the arithmetic mean over axes.

    Parameters as in `sum`.

    Returns
    -------
    DeviceArray
        Float64 for integers and bools. The mean of no elements is NaN, with a RuntimeWarning.

    See Also
    --------
    average, nanmean, median

    Notes
    -----
    Takes one pass. Integers are summed in float64, and float16 in float32. With `where`, the call waits for the result,
    to warn of slices without elements.

    Examples
    --------
    >>> import clarray
    >>> clarray.mean([[1, 2], [3, 6]], axis=1).tolist()
    [1.5, 4.5]
    """
    node = operand(a)
    work, result = _float_dtypes(node.dtype, dtype, out)
    device_dtype(work, wrap(node).device)
    check_where(where)
    given_node = node
    node, mask, axis = split_mask(node, axis, where, keepdims)
    selected = node is not given_node  # not known yet: whether there is anything in it
    axes = averaged_axes(node, axis)
    count = math.prod(node.shape[i] for i in axes)
    if count == 0:
        shape = kept_shape(node.shape, axes, keepdims)
        if mask is None or 0 not in shape:  # NumPy counts what a mask lets through for each element of the result
            callers.warn("Mean of empty slice", RuntimeWarning)
        found = full_node(np.nan, _FLOAT64, shape)
        return finished(ufunc_calls.cast(found, result), out)
    if node.dtype != work and (node.dtype.kind == "c" or wide_dtype(work) != work):
        node = narrowed(node, work)
    exact = work if work.kind in "fc" else _FLOAT64
    if mask is not None:
        found = _masked_mean(node, mask, axes, keepdims, work)
        if not selected:
            _warn_of_none("Mean of empty slice", found, _counting(mask, node.shape, axes, keepdims))
    elif axes:
        total = reduced(fold_monoid(np.add, work), node, None, axes, keepdims)
        if work.kind == "c":
            found = build.binary(scale_loop(work), total, scalar_node(count, np.dtype(work.char.lower())))
        else:
            found = applied(np.true_divide, total, scalar_node(count, exact))
    else:
        found = ufunc_calls.own_value(node)
    return finished(ufunc_calls.cast(found, result), out)


def _masked_mean(node: Node, mask: Node, axes: tuple[int, ...], keepdims: Any, work: np.dtype) -> Node:
    """Mean of what a mask lets through; NaN where that is nothing."""
    if axes and work.kind in "fc":
        return reduced(statistic_monoid("mean", work), node, mask, axes, keepdims)
    exact = work if work.kind in "fc" else _FLOAT64
    summed = ufunc_reduce(np.add, wrap(node), axes, work, None, keepdims, _NO, wrap(mask))
    number = _counting(mask, node.shape, axes, keepdims)()
    return applied(np.true_divide, ufunc_calls.cast(summed._node, exact), number)


_FEW = 4096  # elements that are looked at on the host


def at_hand(found: DeviceArray) -> Any:
    """A result to be looked at now: evaluated, and on the host if that is one short copy."""
    found.evaluate()
    return found.get() if found.size <= _FEW else found


def _warn_of_none(message: str, found: Node, number: Callable[[], Node], least: Any = 0) -> None:
    """Warn, as NumPy does at the call, where a mask lets through no more elements than `least`.

    There the quotient `found` is NaN or infinite: it is evaluated, and mostly that is all.
    """
    if not np.isfinite(at_hand(wrap(found))).all() and bool((wrap(number()) <= least).any()):
        callers.warn(message, RuntimeWarning)


def _counting(mask: Node, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: Any) -> Callable[[], Node]:
    """Return a function that counts the selected elements when called: a second consumer would store the mask."""

    def number() -> Node:
        spread = ufunc_calls.cast(ufunc_calls.broadcast(mask, shape), _INT64)
        return reduced(fold_monoid(np.add, _INT64), spread, None, axes, keepdims) if axes else spread

    return number


def check_where(where: Any) -> None:
    """Raise TypeError for None in the place of a mask. NumPy takes it for sums, and cannot count with it."""
    if where is None:
        raise TypeError("where must be an array of bools, not None: leave it out to take all elements")


def _squares(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, given_mean: Any, out: Any
) -> tuple[Node, int | Callable[[], Node], np.dtype, bool]:
    """Sum of squared deviations, how many there are, the dtype of the variance, whether the sum has been divided.

    The number is grown by a call where a mask decides it.
    """
    node = operand(a)
    work, result = _float_dtypes(node.dtype, dtype, out)
    work = wide_dtype(work)
    device_dtype(work, wrap(node).device)
    check_where(where)
    if given_mean is _NO:
        given_mean = None
    # sums in integers, and in the real part of complex values, as NumPy's
    if given_mean is None and (work.kind not in "fc" or (node.dtype.kind == "c" and work.kind == "f")):
        given_mean = mean(a, axis, dtype, keepdims=True, where=where)
    real = np.dtype(work.char.lower()) if work.kind == "c" else work
    if dtype is None and result.kind == "c":
        result = real
    node, mask, axis = split_mask(node, axis, where, keepdims)
    axes = averaged_axes(node, axis)
    count = math.prod(node.shape[i] for i in axes)
    if count == 0:
        return full_node(0, real, kept_shape(node.shape, axes, keepdims)), 0, result, False
    if given_mean is None and axes:
        divided = mask is not None and ddof == 0
        monoid = statistic_monoid("variance" if divided else "moments", work)
        total = reduced(monoid, node, mask, axes, keepdims)
    else:
        divided = False
        about = node if given_mean is None else operand(given_mean)
        value = wrap(_squared_distance(node, about, work))
        chosen = True if mask is None else wrap(mask)
        total = ufunc_reduce(np.add, value, axis, real, None, keepdims, _NO, chosen)._node
    number = count if mask is None else _counting(mask, node.shape, axes, keepdims)
    return total, number, result, divided


def _squared_distance(node: Node, about: Node, work: np.dtype) -> Node:
    if work.kind in "fc":
        node = ufunc_calls.cast(node, np.result_type(node.dtype, work) if node.dtype.kind == "c" else work)
    return squared_magnitude(applied(np.subtract, node, about))


def squared_magnitude(node: Node) -> Node:
    """Grow each value times its conjugate, which is real."""
    dtype = node.dtype
    if dtype.kind != "c":
        return applied(np.square, node)
    squared = applied(np.multiply, node, applied(np.conjugate, node))
    return ufunc_calls.cast(squared, np.dtype(dtype.char.lower()))


def variance(
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    given_mean: Any,
    correction: Any,
    *,
    out: Any,
    undefined: bool = False,
) -> tuple[Node, np.dtype]:
    """The variance before its last cast, and the dtype to cast it to.

    Without degrees of freedom it is NumPy's quotient by zero or, if `undefined`, NaN.
    """
    if correction is not _NO:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if type(ddof) is not float:
        ddof = _real_number(ddof)
    total, number, result, divided = _squares(a, axis, dtype, ddof, keepdims, where, given_mean, out)
    exact = total.dtype if total.dtype.kind == "f" else _FLOAT64
    total = ufunc_calls.cast(total, exact)
    if isinstance(number, int):
        masked = where is not True and where is not _NO
        if number - ddof <= 0 and (total.size or not masked):  # as in `mean`
            callers.warn(_NO_FREEDOM, RuntimeWarning)
        divisor = scalar_node(max(number - ddof, 0), exact)
        return applied(np.true_divide, total, divisor), result
    found = total if divided else _over_freedom(total, number(), ddof, undefined)
    if build.selected(operand(a)) is None:
        _warn_of_none(_NO_FREEDOM, found, number, ddof)
    return found, result


def _real_number(value: Any) -> Any:
    """Read `ddof`; TypeError unless it is a single real number."""
    if isinstance(value, int):
        return c_integer(value)
    number = asnumpy(value)
    if number.ndim or number.dtype.kind not in "biuf":
        raise TypeError(f"ddof must be a real number, not {value!r}")
    return number.item()


_NO_FREEDOM = "Degrees of freedom <= 0 for slice"


def _over_freedom(total: Node, number: Node, ddof: Any, undefined: bool) -> Node:
    """Sums divided by how many degrees of freedom each has."""
    exact = total.dtype
    zero = scalar_node(0, exact)
    freedom = applied(np.subtract, ufunc_calls.cast(number, exact), scalar_node(ddof, exact))
    freedom = applied(np.maximum, freedom, zero)
    found = applied(np.true_divide, total, freedom)
    if undefined:
        some = applied(np.greater, freedom, zero)
        found = build.nary(select_loop(exact), (some, found, scalar_node(np.nan, exact)))
    return found


@recorded_growth(operands=1)
@one_hold("out")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NO,
    correction: Any = _NO,
) -> DeviceArray:
    """Return the variance over axes: the mean squared deviation from the mean.

    Parameters
    ----------
    a : array_like
    axis, dtype, out : optional
        As in `sum`.
    ddof : float, optional
        Number to subtract from the number of elements in the divisor. 1 gives the estimate from a sample.
    keepdims, where : optional
        As in `sum`.
    mean : array_like, optional
        The mean over the same axes, computed with ``keepdims=True``, if it is known.
    correction : float, optional
        The name of `ddof` in the Array API standard.

    Returns
    -------
    DeviceArray
        Real even for complex values. Float64 for integers and bools.

    Raises
    ------
    numpy.exceptions.AxisError
        An axis does not exist.
    ValueError
        Both `ddof` and `correction` are given.

    See Also
    --------
    std, nanvar, mean

    Notes
    -----
    Takes one pass for floats, which computes the mean and the deviations together. With `where`, the call waits for the
    result, to warn of slices with too few elements.

    References
    ----------
    T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances", Stanford STAN-CS-79-773, 1979.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.var([1.0, 3.0, 5.0, 7.0]))
    5.0
    """
    node, result = variance(a, axis, dtype, ddof, keepdims, where, mean, correction, out=out)
    return finished(ufunc_calls.cast(node, result), out)


@recorded_growth(operands=1)
@one_hold("out")
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NO,
    correction: Any = _NO,
) -> DeviceArray:
    """Return the standard deviation over axes: the square root of the variance.

    Parameters as in `var`.

    Returns
    -------
    DeviceArray
        Real even for complex values. Float64 for integers and bools.

    See Also
    --------
    var, nanstd

    Notes
    -----
    The pass that computes the variance also takes the square root.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.std([1.0, 3.0, 1.0, 3.0]))
    1.0
    """
    node, result = variance(a, axis, dtype, ddof, keepdims, where, mean, correction, out=out)
    return finished(deviation(node, result, out), out)


def deviation(node: Node, dtype: np.dtype, out: Any) -> Node:
    """The root of a variance, in the dtype of the variance; NumPy has none where that is one of integers."""
    check_out(out)
    if out is not None:
        check_shape(out, node.shape)
    held = getattr(out, "dtype", dtype)
    if held.kind in "biu" and (node.shape or out is not None):
        empty = np.empty(0, held)
        np.sqrt(empty, out=empty)
    return ufunc_calls.cast(applied(np.sqrt, node), dtype)
