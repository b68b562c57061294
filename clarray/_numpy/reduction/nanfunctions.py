"""Reductions that leave NaN out; each is one pass, the test for NaN being part of the load."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.composing import applied, where
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import one_hold
from clarray._engine.expr.node import Node
from clarray._engine.speedups import recorded_growth
from clarray._numpy.reduction import moments, reductions
from clarray._numpy.reduction.reduce_calls import as_of_copy, axes_of, finished, ufunc_reduce

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

_NO = np._NoValue


def _has_nan(node: Node) -> bool:
    return node.dtype.kind in "fc"


def replaced(a: Any, value: Any) -> DeviceArray:
    """`a` with `value` in place of NaN."""
    array = as_array(a)
    node = array._node
    if not _has_nan(node):
        return array
    found: DeviceArray = ufunc_calls.evaluate_if_eager(where(applied(np.isnan, node), value, node))
    return found


def _counted(a: Any, where: Any) -> Any:
    """Mask of the elements that count."""
    array = as_array(a)
    node = array._node
    if not _has_nan(node):
        return where
    good = wrap(applied(np.logical_not, applied(np.isnan, node)))
    return good if where is True or where is _NO else good & wrap(ufunc_calls.mask_node(where, array.device))


def without_nan(found: DeviceArray, a: Any, axis: Any, out: Any) -> DeviceArray:
    """A result over `axis` that lies as NumPy's, which replaces NaN in a copy of `a`."""
    node = a._node if isinstance(a, DeviceArray) else None  # what has been uploaded repeats nothing
    return found if node is None or not _has_nan(node) else as_of_copy(found, node, axis, out)


@recorded_growth(operands=1)
@one_hold("out")
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
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
    found = reductions.sum(replaced(a, 0), axis, dtype, out, keepdims, initial, where)
    return without_nan(found, a, axis, out)


@recorded_growth(operands=1)
@one_hold("out")
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
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
    found = reductions.prod(replaced(a, 1), axis, dtype, out, keepdims, initial, where)
    return without_nan(found, a, axis, out)


def _warned(found: DeviceArray) -> DeviceArray:
    """Warn where nothing was found but NaN, as NumPy does at the call."""
    if _has_nan(found._node) and bool(np.isnan(moments.at_hand(found)).any()):
        callers.warn("All-NaN slice encountered", RuntimeWarning)
    return found


@one_hold("out")
def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
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
    return _warned(ufunc_reduce(np.fmax, a, axis, None, out, keepdims, initial, where))


@one_hold("out")
def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO,
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
    return _warned(ufunc_reduce(np.fmin, a, axis, None, out, keepdims, initial, where))


@one_hold("out")
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
    found = moments.mean(a, _summed_axis(a, axis), dtype, out, keepdims, where=_counted(a, where))
    return without_nan(found, a, axis, out)


def _summed_axis(a: Any, axis: Any) -> Any:
    """`axis` as a sum takes it: where there may be NaN, NumPy's mean of a 0-d array has the axes 0 and -1."""
    node = as_array(a)._node
    return axis if node.shape or not _has_nan(node) else axes_of(node, axis)


def _check_inexact(a: Any, dtype: Any, out: Any) -> None:
    """NumPy's means and variances without NaN have no integers for the answer, as these have no NaN."""
    if not _has_nan(as_array(a)._node):
        return
    for name, kind in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if kind is not None and not np.issubdtype(np.dtype(kind), np.inexact):
            raise TypeError(f"If a is inexact, then {name} must be inexact")


def _variance(a: Any, axis: Any, dtype: Any, *args: Any, out: Any) -> tuple[Node, np.dtype]:
    _check_inexact(a, dtype, out)
    if args[3] is None:
        raise TypeError("mean must be an array, not None: leave it out to have it computed")
    undefined = _has_nan(as_array(a)._node)
    return moments.variance(a, _summed_axis(a, axis), dtype, *args, out=out, undefined=undefined)


@one_hold("out")
def nanvar(
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
    node, result = _variance(a, axis, dtype, ddof, keepdims, _counted(a, where), mean, correction, out=out)
    return without_nan(finished(ufunc_calls.cast(node, result), out), a, axis, out)


@one_hold("out")
def nanstd(
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
    node, result = _variance(a, axis, dtype, ddof, keepdims, _counted(a, where), mean, correction, out=out)
    return without_nan(finished(moments.deviation(node, result, out), out), a, axis, out)


def _nanarg(name: str, a: Any, axis: Any, out: Any, keepdims: Any, worst: float) -> DeviceArray:
    array = as_array(a)
    if _has_nan(array._node) and array.size:
        missing = reductions.all(wrap(applied(np.isnan, array._node)), axis)
        if bool(missing.any()):
            raise ValueError("All-NaN slice encountered")
    find = getattr(reductions, name)
    return find(replaced(array, worst), axis, out, keepdims=bool(keepdims))


@recorded_growth(operands=1)
@one_hold("out")
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
    return _nanarg("argmax", a, axis, out, keepdims, -np.inf)


@recorded_growth(operands=1)
@one_hold("out")
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
    return _nanarg("argmin", a, axis, out, keepdims, np.inf)
