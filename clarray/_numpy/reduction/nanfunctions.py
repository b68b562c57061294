"""Reductions that ignore NaN. Each is one pass, and its load tests for NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.composing import apply_ufunc, where
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import with_device_lock
from clarray._engine.expr.node import Node
from clarray._engine.speedups import captured_growth
from clarray._numpy.reduction import moments, reductions
from clarray._numpy.reduction.reduce_calls import layout_as_copied, reduction_axes, ufunc_reduce, write_result

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

_NO_VALUE = np._NoValue


def _can_hold_nan(node: Node) -> bool:
    return node.dtype.kind in "fc"


def replace_nan(a: Any, value: Any) -> DeviceArray:
    """Replace NaN by a value."""
    array = as_array(a)
    node = array._node
    if not _can_hold_nan(node):
        return array
    filled: DeviceArray = ufunc_calls.evaluate_if_eager(where(apply_ufunc(np.isnan, node), value, node))
    return filled


def _not_nan_mask(a: Any, where: Any) -> Any:
    """Return the mask of the elements that `where` selects and that are not NaN."""
    array = as_array(a)
    node = array._node
    if not _can_hold_nan(node):
        return where
    not_nan = wrap(apply_ufunc(np.logical_not, apply_ufunc(np.isnan, node)))
    return (
        not_nan if where is True or where is _NO_VALUE else not_nan & wrap(ufunc_calls.mask_node(where, array.device))
    )


def layout_without_nan(total: DeviceArray, a: Any, axis: Any, out: Any) -> DeviceArray:
    """Return a result over `axis` in the memory order of NumPy's result, which has a copy of `a` without NaN."""
    node = a._node if isinstance(a, DeviceArray) else None  # an uploaded array has no repeated elements
    return total if node is None or not _can_hold_nan(node) else layout_as_copied(total, node, axis, out)


@captured_growth(operands=1)
@with_device_lock("out")
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the sum over axes, with each NaN counted as zero.

    Parameters, result and errors as in `clarray.sum`.

    Notes
    -----
    Takes one pass: the kernel tests each element for NaN when it loads the element.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nansum([1.0, clarray.nan, 2.0]))
    3.0
    """
    total = reductions.sum(replace_nan(a, 0), axis, dtype, out, keepdims, initial, where)
    return layout_without_nan(total, a, axis, out)


@captured_growth(operands=1)
@with_device_lock("out")
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the product over axes, with each NaN counted as one.

    Parameters, result and errors as in `clarray.sum`.

    Notes
    -----
    Takes one pass: the kernel tests each element for NaN when it loads the element.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanprod([2.0, clarray.nan, 3.0]))
    6.0
    """
    total = reductions.prod(replace_nan(a, 1), axis, dtype, out, keepdims, initial, where)
    return layout_without_nan(total, a, axis, out)


def _warn_if_all_nan(extrema: DeviceArray) -> DeviceArray:
    """Warn of slices with NaN only, as NumPy does at the call."""
    if _can_hold_nan(extrema._node) and moments.elements_pass(np.isnan, extrema, "any"):
        callers.warn_user("All-NaN slice encountered", RuntimeWarning)
    return extrema


@captured_growth(operands=1)
@with_device_lock("out")
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the largest element over axes, ignoring NaN.

    Parameters and errors as in `clarray.sum`.

    Returns
    -------
    DeviceArray
        NaN for a slice with only NaNs, with a RuntimeWarning.

    Notes
    -----
    Takes one pass. For floats, the call waits for the result, to warn of slices that contain only NaNs.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanmax([1.0, clarray.nan, 2.0]))
    2.0
    """
    return _warn_if_all_nan(ufunc_reduce(np.fmax, a, axis, None, out, keepdims, initial, where))


@captured_growth(operands=1)
@with_device_lock("out")
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> DeviceArray:
    """Return the smallest element over axes, ignoring NaN.

    Parameters and errors as in `clarray.sum`.

    Returns
    -------
    DeviceArray
        NaN for a slice with only NaNs, with a RuntimeWarning.

    Notes
    -----
    Takes one pass. For floats, the call waits for the result, to warn of slices that contain only NaNs.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanmin([1.0, clarray.nan, 2.0]))
    1.0
    """
    return _warn_if_all_nan(ufunc_reduce(np.fmin, a, axis, None, out, keepdims, initial, where))


@captured_growth(operands=1)
@with_device_lock("out")
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> DeviceArray:
    """Return the mean over axes, ignoring NaN.

    Parameters as in `clarray.sum`.

    Returns
    -------
    DeviceArray
        NaN for a slice with only NaNs, with a RuntimeWarning.

    Raises
    ------
    TypeError
        The elements are floats, and `dtype` or the dtype of `out` is not.

    Notes
    -----
    Takes one pass. For floats, the call waits for the result, to warn of slices that contain only NaNs.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanmean([1.0, clarray.nan, 2.0]))
    1.5
    """
    _check_inexact(a, dtype, out)
    means = moments.mean(a, _mean_axis(a, axis), dtype, out, keepdims, where=_not_nan_mask(a, where))
    return layout_without_nan(means, a, axis, out)


def _mean_axis(a: Any, axis: Any) -> Any:
    """Return `axis` for a sum. For dtypes with NaN, NumPy's mean of a 0-d array accepts the axes 0 and -1."""
    node = as_array(a)._node
    return axis if node.shape or not _can_hold_nan(node) else reduction_axes(node, axis)


def _check_inexact(a: Any, dtype: Any, out: Any) -> None:
    """Raise TypeError if `dtype` or `out` is an integer dtype for floats: an integer cannot be NaN."""
    if not _can_hold_nan(as_array(a)._node):
        return
    for name, argument_dtype in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if argument_dtype is not None and not np.issubdtype(np.dtype(argument_dtype), np.inexact):
            raise TypeError(f"If a is inexact, then {name} must be inexact")


def _check_variance(a: Any, dtype: Any, out: Any, mean: Any) -> None:
    _check_inexact(a, dtype, out)
    if mean is None:
        raise TypeError("mean must be an array, not None: leave it out to have it computed")


@captured_growth(operands=1)
@with_device_lock("out")
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NO_VALUE,
    correction: Any = _NO_VALUE,
) -> DeviceArray:
    """Return the variance over axes, ignoring NaN.

    Parameters and errors as in `clarray.var`.

    Returns
    -------
    DeviceArray
        NaN for a slice with too few numbers, with a RuntimeWarning.

    Notes
    -----
    Takes one pass. For floats, the call waits for the result, to warn of slices with too few numbers.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanvar([1.0, clarray.nan, 3.0]))
    1.0
    """
    not_nan = _not_nan_mask(a, where)
    _check_variance(a, dtype, out, mean)
    call = moments.VarianceCall(
        a=a,
        axis=_mean_axis(a, axis),
        dtype=dtype,
        out=out,
        ddof=ddof,
        keepdims=keepdims,
        where=not_nan,
        mean=mean,
        correction=correction,
    )
    node, result_dtype = moments.variance(call, undefined=_can_hold_nan(as_array(a)._node))
    return layout_without_nan(write_result(ufunc_calls.cast(node, result_dtype), out), a, axis, out)


@captured_growth(operands=1)
@with_device_lock("out")
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NO_VALUE,
    correction: Any = _NO_VALUE,
) -> DeviceArray:
    """Return the standard deviation over axes, ignoring NaN.

    Parameters and errors as in `clarray.var`.

    Returns
    -------
    DeviceArray
        NaN for a slice with too few numbers, with a RuntimeWarning.

    Notes
    -----
    Takes one pass. For floats, the call waits for the result, to warn of slices with too few numbers.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanstd([1.0, clarray.nan, 5.0]))
    2.0
    """
    not_nan = _not_nan_mask(a, where)
    _check_variance(a, dtype, out, mean)
    call = moments.VarianceCall(
        a=a,
        axis=_mean_axis(a, axis),
        dtype=dtype,
        out=out,
        ddof=ddof,
        keepdims=keepdims,
        where=not_nan,
        mean=mean,
        correction=correction,
    )
    node, result_dtype = moments.variance(call, undefined=_can_hold_nan(as_array(a)._node))
    return layout_without_nan(write_result(moments.deviation(node, result_dtype, out), out), a, axis, out)


def _nan_arg_extremum(name: str, a: Any, axis: Any, out: Any, keepdims: Any, replacement: float) -> DeviceArray:
    array = as_array(a)
    if _can_hold_nan(array._node) and array.size:
        all_nan = reductions.all(wrap(apply_ufunc(np.isnan, array._node)), axis)
        if bool(all_nan.any()):
            raise ValueError("All-NaN slice encountered")
    find = getattr(reductions, name)
    return find(replace_nan(array, replacement), axis, out, keepdims=bool(keepdims))


@captured_growth(operands=1)
@with_device_lock("out")
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Return the position of the largest element, ignoring NaN.

    Parameters as in `clarray.argmax`.

    Returns
    -------
    DeviceArray of int64
        Position along `axis`, or in the flattened array.

    Raises
    ------
    ValueError
        A slice has only NaNs.

    Notes
    -----
    Floats take two passes. The first one looks for slices that contain only NaNs, and the call waits for its result.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.nanargmax([1.0, clarray.nan, 2.0]))
    2
    """
    return _nan_arg_extremum("argmax", a, axis, out, keepdims, -np.inf)


@captured_growth(operands=1)
@with_device_lock("out")
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> DeviceArray:
    """Return the position of the smallest element, ignoring NaN.

    Parameters as in `clarray.argmin`.

    Returns
    -------
    DeviceArray of int64
        Position along `axis`, or in the flattened array.

    Raises
    ------
    ValueError
        A slice has only NaNs.

    Notes
    -----
    Floats take two passes. The first one looks for slices that contain only NaNs, and the call waits for its result.

    Examples
    --------
    >>> import clarray
    >>> int(clarray.nanargmin([clarray.nan, 2.0, 1.0]))
    2
    """
    return _nan_arg_extremum("argmin", a, axis, out, keepdims, np.inf)
