"""Order statistics: median, quantile, percentile and the functions that ignore NaN.

Each takes elements at positions of the sorted lines. The lines are sorted, or a radix selection finds a few positions
of one long line. The host computes the positions from the fractions and, if NaN is ignored, from the number of
elements that are not NaN in each line.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from clarray._core import creation, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import View, can_broadcast, ordered_strides
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.speedups import captured
from clarray._numpy.indexing import selecting
from clarray._numpy.manipulation import shapes
from clarray._numpy.manipulation.joining import stack
from clarray._numpy.reduction import moments, nanfunctions, reductions
from clarray._numpy.reduction.accumulations import accumulate
from clarray._numpy.reduction.reduce_calls import check_out, check_shape, write_result
from clarray._numpy.sorting.sorting import ascontiguous, flattened, gather_along
from clarray._numpy.statistics.order_statistics import (
    count_numbers,
    interpolate,
    normalize_positions,
    order_statistics,
    sorted_lines,
    take_from_lines,
    take_slices,
)
from clarray._numpy.statistics.quantile_arguments import broadcast_weights, check_cast, check_parts, selects_elements
from clarray._numpy.statistics.quantile_methods import METHODS, bounds, interpolation_weight

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)
_NO_VALUE = np._NoValue
Reduce = Callable[[DeviceArray, int, Any], DeviceArray]

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


# Calls --------------------------------------------------------------------------------------------


def _reduce_axes(
    a: DeviceArray,
    axis: Any,
    out: Any,
    keepdims: Any,
    lead: int,
    function: Reduce,
    weights: DeviceArray | None = None,
) -> DeviceArray:
    """Apply `function` along the reduced axes, merged into one.

    Parameters
    ----------
    lead : int
        Number of leading axes of the function's result, which come before the kept axes.
    """
    ndim = a.ndim
    if axis is None:
        axes = tuple(range(ndim))
        a, weights, reduced_axis = flattened(a), None if weights is None else flattened(weights), 0
    else:
        axes = normalize_axis_tuple(axis, ndim)
        if len(axes) == 1:
            reduced_axis = axes[0]
        else:
            a, weights = _merge_axes(a, axes), None if weights is None else _merge_axes(weights, axes)
            reduced_axis = a.ndim - 1
    quantiles = function(a, reduced_axis, weights)
    if keepdims is not _NO_VALUE and keepdims:
        shape = list(quantiles.shape[lead:])
        for kept_axis in sorted(axes):
            shape.insert(kept_axis, 1)
        quantiles = shapes.reshape(quantiles, quantiles.shape[:lead] + tuple(shape))
    return quantiles if out is None else write_result(quantiles._node, out)


def _merge_axes(a: DeviceArray, axes: tuple[int, ...]) -> DeviceArray:
    """Merge the reduced axes into one axis, the last."""
    other_axes = [k for k in range(a.ndim) if k not in axes]
    reduced_last = shapes.moveaxis(a, other_axes, range(len(other_axes)))
    shape = reduced_last.shape
    return shapes.reshape(reduced_last, (*shape[: len(other_axes)], prod(shape[len(other_axes) :])))


def _propagate_nan(quantiles: DeviceArray, last: DeviceArray) -> DeviceArray:
    """Replace the quantiles of lines with NaN by NaN. The last element of a sorted line is NaN if any element is."""
    if last.dtype.kind not in "fc":
        return quantiles
    if not quantiles.ndim and quantiles.dtype != last.dtype and bool(_isnan(last)):
        return last  # NumPy's dtype of a NaN alone
    return selecting.lazy_where(_isnan(last), last.astype(quantiles.dtype), quantiles)


def _isnan(a: DeviceArray) -> DeviceArray:
    return ufunc_calls.call(np.isnan, (a,))


# Median -------------------------------------------------------------------------------------------


@captured(operands=1)
@with_device_lock("out")
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
    return _reduce_axes(as_array(a), axis, out, keepdims, 0, _median)


def _median(a: DeviceArray, axis: int, weights: Any) -> DeviceArray:
    extent = a.shape[axis]
    if not extent:
        return moments.mean(a, axis)
    middle = np.arange((extent - 1) // 2, extent // 2 + 1)
    ordered, (positions,), last = order_statistics(a, axis, middle)
    pair = shapes.moveaxis(ordered, axis, 0)[positions[0] : positions[-1] + 1]
    return _propagate_nan(moments.mean(pair, 0), last)


@captured(operands=1)
@with_device_lock("out")
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = _NO_VALUE
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
    medians = _reduce_axes(array, axis, None, keepdims, 0, function)
    if out is None:
        return medians
    check_out(out)
    return _write_broadcast(medians, out)


def _nanmedian(a: DeviceArray, axis: int, weights: Any) -> DeviceArray:
    count = count_numbers(a, axis)
    ordered = sorted_lines(a, axis)
    # a line with NaN only has both positions at 0, a NaN
    low, high = np.maximum(count - 1, 0) // 2, count // 2
    positions = np.stack((low, high))
    pair = take_from_lines(ordered, positions, axis)
    single = creation.array(low == high, device=a.device)
    return selecting.lazy_where(single, pair[0, ...], moments.mean(pair, 0))


# Quantiles ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Request:
    """The quantiles that a call asks for. `weak` tells that `q` is a Python number, `label` is for errors."""

    fractions: np.ndarray
    method: str
    weak: bool
    label: str
    ignores_nan: bool = False


def _on_host(q: Any) -> np.ndarray:
    return np.asanyarray(q.get() if isinstance(q, DeviceArray) else q)


@captured(operands=1)
@with_device_lock("out")
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
    request = _Request(_on_host(q), method, type(q) in (int, float), "Quantiles")
    return _quantiles(a, request, axis, out, keepdims, weights)


@captured(operands=1)
@with_device_lock("out")
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
    request = _Request(np.asanyarray(np.true_divide(_on_host(q), 100)), method, type(q) in (int, float), "Percentiles")
    return _quantiles(a, request, axis, out, keepdims, weights)


def _quantiles(a: Any, request: _Request, axis: Any, out: Any, keepdims: Any, weights: Any) -> DeviceArray:
    array = as_array(a)
    q, method = request.fractions, request.method
    check_parts(array, q, request.label)
    weight_array = broadcast_weights(weights, array, axis, method)
    if request.ignores_nan and not array.size:
        return nanfunctions.nanmean(array, axis, out=out, keepdims=keepdims)
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {METHODS.keys()}")
    by_line = request.ignores_nan and axis is not None
    skips = request.ignores_nan and array.dtype.kind == "f"
    find = _find_in_numbers if skips else _find_in_all

    def function(x: DeviceArray, reduced_axis: int, w: Any) -> DeviceArray:
        quantiles = find(x, request, reduced_axis) if w is None else _find_weighted(x, q, reduced_axis, w, skips)
        return _in_line_order(quantiles, q.ndim if by_line else 0)

    quantiles = _reduce_axes(array, axis, None, keepdims, q.ndim, function, weight_array)
    if out is None:
        return quantiles
    check_out(out)
    if request.ignores_nan:
        return _write_broadcast(quantiles, out)
    if weight_array is not None:
        return write_result(quantiles._node, out)
    selected = selects_elements(method, q)
    if selected:
        check_shape(out, quantiles.shape)
    check_cast(quantiles.dtype, out.dtype, selected)
    return _write_broadcast(quantiles, out)


def _write_broadcast(quantiles: DeviceArray, out: DeviceArray) -> DeviceArray:
    """Write quantiles to an output, which may have more axes than they have, unlike the output of a reduction."""
    fits = can_broadcast(quantiles.shape, out.shape)
    return write_result(ufunc_calls.broadcast(quantiles._node, out.shape) if fits else quantiles._node, out)


def _in_line_order(quantiles: DeviceArray, inner: int) -> DeviceArray:
    """Return quantiles in C order, with the first `inner` axes innermost, as NumPy's computation by lines has them."""
    axes = [*range(inner, quantiles.ndim), *range(inner)]
    like = View(quantiles.shape, ordered_strides(quantiles.shape, axes))
    reordered: DeviceArray = ufunc_calls.in_order(quantiles._node, "K", like)
    return reordered


def _find_in_all(a: DeviceArray, request: _Request, axis: int) -> DeviceArray:
    q, method = request.fractions, request.method
    count = a.shape[axis]
    virtual = np.asanyarray(METHODS[method].virtual_position(count, q))
    if not count:
        empty: Any = np.empty(0, a.dtype)
        np.quantile(empty, q, method=method)  # type: ignore[call-overload]  # NumPy's IndexError
    if selects_elements(method, q):
        ordered, positions, last = order_statistics(a, axis, normalize_positions(virtual, count))
        return _propagate_nan(take_slices(ordered, positions[0], axis), last)
    low, high = bounds(virtual, count, a.dtype.kind == "f")
    gamma: Any = interpolation_weight(method, virtual, low)
    ordered, positions, last = order_statistics(
        a, axis, normalize_positions(low, count), normalize_positions(high, count)
    )
    before, after = (take_slices(ordered, group, axis) for group in positions)
    gamma = float(gamma) if request.weak else gamma.reshape(virtual.shape + (1,) * (a.ndim - 1))
    return _propagate_nan(interpolate(before, after, gamma), last)


# Ignoring NaN -------------------------------------------------------------------------------------


@captured(operands=1)
@with_device_lock("out")
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _NO_VALUE,
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
    request = _Request(_on_host(q), method, type(q) in (int, float), "Quantiles", ignores_nan=True)
    return _quantiles(a, request, axis, out, keepdims, weights)


@captured(operands=1)
@with_device_lock("out")
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _NO_VALUE,
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
    request = _Request(
        np.asanyarray(np.true_divide(_on_host(q), 100)),
        method,
        type(q) in (int, float),
        "Percentiles",
        ignores_nan=True,
    )
    return _quantiles(a, request, axis, out, keepdims, weights)


def _find_in_numbers(a: DeviceArray, request: _Request, axis: int) -> DeviceArray:
    q, method = request.fractions, request.method
    count = count_numbers(a, axis)
    ordered = sorted_lines(a, axis)
    positive_count = np.maximum(count, 1)  # a line with NaN only takes its first element, NaN
    if q.dtype.kind == "f":
        positive_count = positive_count.astype(q.dtype)  # a weak scalar for a single line, so no promotion
    virtual = np.asanyarray(METHODS[method].virtual_position(positive_count, q.reshape(q.shape + (1,) * count.ndim)))
    virtual = np.broadcast_to(virtual, q.shape + count.shape)
    if METHODS[method].gamma is None or (method == "linear" and virtual.dtype.kind in "iu"):
        return take_from_lines(ordered, np.where(virtual < 0, virtual + positive_count, virtual), axis)
    low, high = (np.where(k < 0, k + positive_count, k).astype(np.int64) for k in bounds(virtual, positive_count, True))
    gamma = interpolation_weight(method, virtual, low)
    before, after = (take_from_lines(ordered, k, axis) for k in (low, high))
    return interpolate(before, after, np.asarray(gamma, a.dtype) if request.weak else gamma)


# Weights ------------------------------------------------------------------------------------------


def _find_weighted(a: DeviceArray, q: np.ndarray, axis: int, weights: DeviceArray, skip: bool) -> DeviceArray:
    """Return the first element at which the running sum of weights reaches a fraction of their total."""
    axis = normalize_axis_index(axis, a.ndim)
    order = launchers.sort.argsort_rows(a._node, axis) if a.size else creation.zeros(a.shape, _INT64)._node
    ordered = wrap(gather_along(ascontiguous(a), order, axis))
    ordered_weights = wrap(gather_along(ascontiguous(weights), order, axis))
    last_position: Any = a.shape[axis] - 1
    count = count_numbers(a, axis) if skip else None
    if count is not None:
        ordered_weights = selecting.lazy_where(_isnan(ordered), ordered_weights.dtype.type(0), ordered_weights)
        last_position = creation.array(np.maximum(count - 1, 0), device=a.device)
    running = accumulate(np.add, ordered_weights, axis, _FLOAT64)
    total = shapes.moveaxis(running, axis, 0)[-1:]
    cumulative = shapes.moveaxis(running, axis, 0) / total
    invalid = _isnan(cumulative[-1, ...])
    if count is not None:
        invalid = invalid & creation.array(count > 0, device=a.device)
    if bool(invalid.any()):
        raise ValueError("Weights included NaN, inf or were all zero.")
    if q.dtype.kind == "f":
        cumulative = cumulative.astype(q.dtype)
    cumulative = selecting.lazy_where(cumulative == 0, cumulative.dtype.type(-1), cumulative)
    cumulative.evaluate()
    quantiles = [_weighted_quantile(ordered, cumulative, fraction, axis, last_position) for fraction in q.ravel()]
    last = shapes.moveaxis(ordered, axis, 0)[-1, ...]
    shape = q.shape + quantiles[0].shape
    result = shapes.reshape(stack(quantiles), shape)
    return result if skip else _propagate_nan(result, last)


def _weighted_quantile(
    ordered: DeviceArray, cumulative: DeviceArray, fraction: Any, axis: int, last_position: Any
) -> DeviceArray:
    below = reductions.count_nonzero(cumulative < fraction, 0)
    position = ufunc_calls.call(np.minimum, (below, last_position))
    node: Node = shapes.expand_dims(position, axis)._node
    return shapes.squeeze(wrap(gather_along(ordered._node, node, axis)), axis)
