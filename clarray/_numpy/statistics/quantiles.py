"""Order statistics: median, quantile, percentile and those that skip NaN.

All of them take elements from known places of the order along the axis, which is found by a sort, or,
of a few places of one long line, by selection. Where they are is found on the host, which has the few
numbers it takes: the quantiles and, if NaN are skipped, how many elements each line has.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from clarray._core import callers, creation, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import one_hold
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import View, can_broadcast, ordered_strides
from clarray._numpy.indexing import selecting
from clarray._numpy.manipulation import shapes
from clarray._numpy.manipulation.joining import stack
from clarray._numpy.reduction import moments, nanfunctions, reductions
from clarray._numpy.reduction.accumulations import accumulate
from clarray._numpy.reduction.reduce_calls import check_out, check_shape, finished
from clarray._numpy.sorting.sorting import along, ascontiguous, flat
from clarray._numpy.statistics.quantile_arguments import check_cast, check_parts, takes_elements, weights_of
from clarray._numpy.statistics.quantile_methods import METHODS, bounds, gamma_of
from clarray._numpy.statistics.quantile_places import elements_of_lines, from_start, ordered_at, rows_at, sorted_lines

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)
_NO = np._NoValue
Reduce = Callable[[DeviceArray, int, Any], DeviceArray]

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


# Calls --------------------------------------------------------------------------------------------


def _reduced(
    a: DeviceArray,
    axis: Any,
    out: Any,
    keepdims: Any,
    lead: int,
    function: Reduce,
    weights: DeviceArray | None = None,
) -> DeviceArray:
    """Apply `function` along one axis that stands for all that are reduced.

    Parameters
    ----------
    lead : int
        Axes that the function's result has in front of those that are kept.
    """
    ndim = a.ndim
    if axis is None:
        axes = tuple(range(ndim))
        a, weights, at = flat(a), None if weights is None else flat(weights), 0
    else:
        axes = normalize_axis_tuple(axis, ndim)
        if len(axes) == 1:
            at = axes[0]
        else:
            a, weights = _merged(a, axes), None if weights is None else _merged(weights, axes)
            at = a.ndim - 1
    found = function(a, at, weights)
    if keepdims is not _NO and keepdims:
        shape = list(found.shape[lead:])
        for each in sorted(axes):
            shape.insert(each, 1)
        found = shapes.reshape(found, found.shape[:lead] + tuple(shape))
    return found if out is None else finished(found._node, out)


def _merged(a: DeviceArray, axes: tuple[int, ...]) -> DeviceArray:
    """The same with the reduced axes as one, the last."""
    kept = [k for k in range(a.ndim) if k not in axes]
    moved = shapes.moveaxis(a, kept, range(len(kept)))
    shape = moved.shape
    return shapes.reshape(moved, (*shape[: len(kept)], prod(shape[len(kept) :])))


def _with_nan(found: DeviceArray, last: DeviceArray) -> DeviceArray:
    """NaN where the largest element of a line is: a sort has put every NaN last."""
    if last.dtype.kind not in "fc":
        return found
    if not found.ndim and found.dtype != last.dtype and bool(_isnan(last)):
        return last  # NumPy's dtype of a NaN alone
    return selecting.chosen(_isnan(last), last.astype(found.dtype), found)


def _isnan(a: DeviceArray) -> DeviceArray:
    return ufunc_calls.call(np.isnan, (a,))


# Median -------------------------------------------------------------------------------------------


@one_hold("out")
def median(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> DeviceArray:
    """Return the median over axes: the middle element, or the mean of the two middle ones.

    Parameters
    ----------
    a : array_like
    axis : int, tuple of int or None
        Axes to reduce. None reduces all axes.
    out : DeviceArray, optional
        Array for the result.
    overwrite_input : bool
        Accepted and ignored.
    keepdims : bool
        Keep the reduced axes, with an extent of one.

    Returns
    -------
    DeviceArray
        Float64 for integers. The result is NaN if an element is NaN. Without elements it is NaN, with a RuntimeWarning.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.median([1, 9, 2, 4]))
    3.0
    """
    return _reduced(as_array(a), axis, out, keepdims, 0, _median)


def _median(a: DeviceArray, axis: int, weights: Any) -> DeviceArray:
    extent = a.shape[axis]
    if not extent:
        return moments.mean(a, axis)
    middle = np.arange((extent - 1) // 2, extent // 2 + 1)
    ordered, (places,), last = ordered_at(a, axis, middle)
    pair = shapes.moveaxis(ordered, axis, 0)[places[0] : places[-1] + 1]
    return _with_nan(moments.mean(pair, 0), last)


@one_hold("out")
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = _NO
) -> DeviceArray:
    """Return the median over axes, ignoring NaN.

    Parameters as in `median`. For floats the call waits for the number of NaN in each slice.

    Returns
    -------
    DeviceArray
        NaN for a slice with only NaNs, with a RuntimeWarning.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanmedian([1.0, clarray.nan, 5.0]))
    3.0
    """
    array = as_array(a)
    if not array.size:
        return nanfunctions.nanmean(array, axis, out=out, keepdims=keepdims)
    function = _median if array.dtype.kind not in "fc" else _nanmedian
    found = _reduced(array, axis, None, keepdims, 0, function)
    if out is None:
        return found
    check_out(out)
    return _into(found, out)


def _valid(a: DeviceArray, axis: int) -> np.ndarray:
    """Count the elements of each line that are not NaN, on the host. Warn of lines that have none."""
    found = (a.shape[axis] - reductions.count_nonzero(_isnan(a), axis)).get()
    if not found.all():
        callers.warn("All-NaN slice encountered", RuntimeWarning)
    return found


def _nanmedian(a: DeviceArray, axis: int, weights: Any) -> DeviceArray:
    count = _valid(a, axis)
    ordered = sorted_lines(a, axis)
    # of a line without numbers both places are 0: a NaN
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    places = np.stack((low, high))
    pair = elements_of_lines(ordered, places, axis)
    single = creation.array(low == high, device=a.device)
    return selecting.chosen(single, pair[0], moments.mean(pair, 0))


# Quantiles ----------------------------------------------------------------------------------------


def _host(q: Any) -> np.ndarray:
    return np.asanyarray(q.get() if isinstance(q, DeviceArray) else q)


@one_hold("out")
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> DeviceArray:
    """Return quantiles over axes: the values below which given fractions of the elements lie.

    Parameters
    ----------
    a : array_like
        Real numbers.
    q : array_like
        Fractions between 0 and 1, in an array of at most two axes.
    axis : int, tuple of int or None
        Axes to reduce. None reduces all axes.
    out : DeviceArray, optional
        Array for the result.
    overwrite_input : bool
        Accepted and ignored.
    method : str
        Rule for quantiles between two elements: any of NumPy's thirteen.
    keepdims : bool
        Keep the reduced axes, with an extent of one.
    weights : array_like, optional
        Of the shape of `a`, or of its reduced axes. Only for the method 'inverted_cdf'.

    Returns
    -------
    DeviceArray
        The shape is the shape of `q`, followed by the remaining axes. The result is NaN if an element is NaN.

    Raises
    ------
    TypeError
        `a` is complex.
    ValueError
        `q` is out of range, or `method` is unknown.

    References
    ----------
    R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996.

    Examples
    --------
    >>> import clarray
    >>> clarray.quantile([0, 10, 20], [0.25, 0.5]).tolist()
    [5.0, 10.0]
    """
    parts = _host(q)
    weak = type(q) in (int, float)
    return _quantiles(a, parts, axis, out, method, keepdims, weights, weak, "Quantiles")


@one_hold("out")
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> DeviceArray:
    """Return percentiles over axes: quantiles with `q` between 0 and 100.

    Parameters, result and errors as in `quantile`.

    Examples
    --------
    >>> import clarray
    >>> clarray.percentile([0, 10, 20], [25, 50]).tolist()
    [5.0, 10.0]
    """
    parts = np.asanyarray(np.true_divide(_host(q), 100))
    weak = type(q) in (int, float)
    return _quantiles(a, parts, axis, out, method, keepdims, weights, weak, "Percentiles")


def _quantiles(
    a: Any,
    q: np.ndarray,
    axis: Any,
    out: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    weak: bool,
    what: str,
    skip: bool = False,
) -> DeviceArray:
    array = as_array(a)
    check_parts(array, q, what)
    wanted = weights_of(weights, array, axis, method)
    if skip and not array.size:
        return nanfunctions.nanmean(array, axis, out=out, keepdims=keepdims)
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {METHODS.keys()}")
    by_line = skip and axis is not None
    skips = skip and array.dtype.kind == "f"
    find = _skipping if skips else _plain

    def function(x: DeviceArray, at: int, w: Any) -> DeviceArray:
        found = find(x, q, at, method, weak) if w is None else _weighted(x, q, at, w, skips)
        return _laid_out(found, q.ndim if by_line else 0)

    found = _reduced(array, axis, None, keepdims, q.ndim, function, wanted)
    if out is None:
        return found
    check_out(out)
    if skip:
        return _into(found, out)
    if wanted is not None:
        return finished(found._node, out)
    taken = takes_elements(method, q)
    if taken:
        check_shape(out, found.shape)
    check_cast(found.dtype, out.dtype, taken)
    return _into(found, out)


def _into(found: DeviceArray, out: DeviceArray) -> DeviceArray:
    """Put a result in an output that NumPy lets have more axes, unlike those of reductions."""
    fits = can_broadcast(found.shape, out.shape)
    return finished(ufunc_calls.broadcast(found._node, out.shape) if fits else found._node, out)


def _laid_out(found: DeviceArray, inner: int) -> DeviceArray:
    """Quantiles in C order, but the first `inner` axes inside of the others: NumPy finds them line by line."""
    axes = [*range(inner, found.ndim), *range(inner)]
    like = View(found.shape, ordered_strides(found.shape, axes))
    made: DeviceArray = ufunc_calls.in_order(found._node, "K", like)
    return made


def _plain(a: DeviceArray, q: np.ndarray, axis: int, method: str, weak: bool) -> DeviceArray:
    count = a.shape[axis]
    virtual = np.asanyarray(METHODS[method].place(count, q))
    if not count:
        empty: Any = np.empty(0, a.dtype)
        np.quantile(empty, q, method=method)  # type: ignore[call-overload]  # NumPy's IndexError
    if takes_elements(method, q):
        ordered, places, last = ordered_at(a, axis, from_start(virtual, count))
        return _with_nan(rows_at(ordered, places[0], axis), last)
    low, high = bounds(virtual, count, a.dtype.kind == "f")
    gamma: Any = gamma_of(method, virtual, low)
    ordered, places, last = ordered_at(a, axis, from_start(low, count), from_start(high, count))
    before, after = (rows_at(ordered, each, axis) for each in places)
    gamma = float(gamma) if weak else gamma.reshape(virtual.shape + (1,) * (a.ndim - 1))
    return _with_nan(_between(before, after, gamma), last)


def _between(a: DeviceArray, b: DeviceArray, t: Any) -> DeviceArray:
    """Linear interpolation, exact at both ends and monotone, as NumPy does it."""
    away = b - a
    if not isinstance(t, np.ndarray) or t.size == 1:
        if isinstance(t, np.ndarray) and t.ndim == 0:
            t = t[()]
        elif isinstance(t, np.ndarray):
            above = bool(t.ravel()[0] >= 0.5)
            t = creation.array(t, device=a.device)
            return b - away * (1 - t) if above else a + away * t
        return b - away * (1 - t) if t >= 0.5 else a + away * t
    upper = creation.array(t >= 0.5, device=a.device)
    part = creation.array(t, device=a.device)
    return selecting.chosen(upper, b - away * (1 - part), a + away * part)


# Skipping NaN -------------------------------------------------------------------------------------


@one_hold("out")
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _NO,
    *,
    weights: Any = None,
) -> DeviceArray:
    """Return quantiles over axes, ignoring NaN.

    Parameters and errors as in `quantile`. For a slice with only NaNs, the result is NaN, with a RuntimeWarning.
    For floats the call waits for the number of NaN in each slice.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanquantile([0.0, clarray.nan, 10.0], 0.5))
    5.0
    """
    parts = _host(q)
    weak = type(q) in (int, float)
    return _quantiles(a, parts, axis, out, method, keepdims, weights, weak, "Quantiles", True)


@one_hold("out")
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _NO,
    *,
    weights: Any = None,
) -> DeviceArray:
    """Return percentiles over axes, ignoring NaN.

    Parameters and errors as in `percentile`. For a slice with only NaNs, the result is NaN, with a RuntimeWarning.
    For floats the call waits for the number of NaN in each slice.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.nanpercentile([0.0, clarray.nan, 10.0], 50))
    5.0
    """
    parts = np.asanyarray(np.true_divide(_host(q), 100))
    weak = type(q) in (int, float)
    return _quantiles(a, parts, axis, out, method, keepdims, weights, weak, "Percentiles", True)


def _skipping(a: DeviceArray, q: np.ndarray, axis: int, method: str, weak: bool) -> DeviceArray:
    count = _valid(a, axis)
    ordered = sorted_lines(a, axis)
    some = np.maximum(count, 1)  # of a line without numbers the first element, a NaN, is taken
    if q.dtype.kind == "f":
        some = some.astype(q.dtype)  # as a weak scalar, which it is where there is one line
    virtual = np.asanyarray(METHODS[method].place(some, q.reshape(q.shape + (1,) * count.ndim)))
    virtual = np.broadcast_to(virtual, q.shape + count.shape)
    if METHODS[method].gamma is None or (method == "linear" and virtual.dtype.kind in "iu"):
        return elements_of_lines(ordered, np.where(virtual < 0, virtual + some, virtual), axis)
    low, high = (np.where(k < 0, k + some, k).astype(np.int64) for k in bounds(virtual, some, True))
    gamma = gamma_of(method, virtual, low)
    before, after = (elements_of_lines(ordered, k, axis) for k in (low, high))
    return _between(before, after, np.asarray(gamma, a.dtype) if weak else gamma)


# Weights ------------------------------------------------------------------------------------------


def _weighted(a: DeviceArray, q: np.ndarray, axis: int, weights: DeviceArray, skip: bool) -> DeviceArray:
    """The first element at which the running sum of weights reaches a part of their sum."""
    axis = normalize_axis_index(axis, a.ndim)
    places = launchers.sort.argsort_rows(a._node, axis) if a.size else creation.zeros(a.shape, _INT64)._node
    ordered = wrap(along(ascontiguous(a), places, axis))
    heavy = wrap(along(ascontiguous(weights), places, axis))
    most: Any = a.shape[axis] - 1
    count = _valid(a, axis) if skip else None
    if count is not None:
        heavy = selecting.chosen(_isnan(ordered), heavy.dtype.type(0), heavy)
        most = creation.array(np.maximum(count - 1, 0), device=a.device)
    running = accumulate(np.add, heavy, axis, _FLOAT64)
    total = shapes.moveaxis(running, axis, 0)[-1:]
    lines = shapes.moveaxis(running, axis, 0) / total
    bad = _isnan(lines[-1])
    if count is not None:
        bad = bad & creation.array(count > 0, device=a.device)
    if bool(bad.any()):
        raise ValueError("Weights included NaN, inf or were all zero.")
    if q.dtype.kind == "f":
        lines = lines.astype(q.dtype)
    lines = selecting.chosen(lines == 0, lines.dtype.type(-1), lines)
    lines.evaluate()
    found = [_weighted_one(ordered, lines, part, axis, most) for part in q.ravel()]
    last = shapes.moveaxis(ordered, axis, 0)[-1]
    shape = q.shape + found[0].shape
    result = shapes.reshape(stack(found), shape)
    return result if skip else _with_nan(result, last)


def _weighted_one(ordered: DeviceArray, lines: DeviceArray, part: Any, axis: int, most: Any) -> DeviceArray:
    below = reductions.count_nonzero(lines < part, 0)
    place = ufunc_calls.call(np.minimum, (below, most))
    node: Node = shapes.expand_dims(place, axis)._node
    return shapes.squeeze(wrap(along(ordered._node, node, axis)), axis)
