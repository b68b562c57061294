"""Histograms and `digitize`."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core import callers, creation
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.fallback import through_library
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import host_numbers
from clarray._engine.algorithms import launchers
from clarray._engine.expr import build
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import current_capture
from clarray._engine.speedups import captured
from clarray._numpy.sorting.sorting import searchsorted
from clarray._numpy.statistics.counting import check_bins, check_weights
from clarray._numpy.statistics.histogram_bins import (
    Edges,
    array_ndim,
    bin_edges,
    device_edges,
    histogram_axis,
    outer_edges,
    spaced_edges,
)

__all__ = ["digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

_INT64 = np.dtype(np.int64)
_FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)
_BOOL = np.dtype(bool)


# histogram ----------------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> DeviceArray:
    """Return the edges of the bins that `histogram` uses.

    Parameters
    ----------
    a, bins, range, weights
        As in `clarray.histogram`.

    Returns
    -------
    DeviceArray
        One edge more than there are bins.

    Raises
    ------
    ValueError
        The range is not finite or not ascending, the edges are not ascending, or the shapes differ.
    TypeError
        `bins` is of another type.

    Examples
    --------
    >>> import clarray
    >>> clarray.histogram_bin_edges([1, 2, 2, 4], bins=3).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    array, weight_array = _check_operands(a, weights)
    edges = bin_edges(array, bins, range, weight_array is not None, histogram).edges
    return bins if isinstance(bins, DeviceArray) and bins.ndim else creation.array(edges, device=array.device)


@captured(operands=1)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[DeviceArray, DeviceArray]:
    """Count the elements in each of several bins.

    A bin includes its left edge and excludes its right edge. The last bin includes both edges. The bins are exactly the
    same as in NumPy.

    Parameters
    ----------
    a : array_like
        An array of any shape. NaNs and elements outside of all bins are ignored.
    bins : int, sequence or str
        A number of equal bins, ascending edges, or a rule for the number of bins: ``'auto'``, ``'fd'``, ``'doane'``,
        ``'scott'``, ``'stone'``, ``'rice'``, ``'sturges'``, ``'sqrt'``.
    range : (float, float), optional
        First and last edge of equal bins. The smallest and the largest element by default.
    density : bool
        Divide each count by the number of elements and by the width of the bin.
    weights : array_like, optional
        Has the same shape as `a`: the amount that each element adds instead of one.

    Returns
    -------
    hist : DeviceArray
        Int64, or of the dtype of the weights, or float64 for a density.
    bin_edges : DeviceArray

    Raises
    ------
    ValueError
        The range is not finite or not ascending, the edges are not ascending, or the shapes differ.
    TypeError
        The values are complex, or `bins` is of another type.

    See Also
    --------
    histogram2d, histogramdd, bincount, digitize

    Notes
    -----
    Float weights are summed in float64 and in a fixed order, integer weights exactly.

    Examples
    --------
    >>> import clarray
    >>> counts, edges = clarray.histogram([1, 2, 2, 4], bins=3, range=(1, 4))
    >>> counts.tolist(), edges.tolist()
    ([1, 2, 1], [1.0, 2.0, 3.0, 4.0])
    """
    array, weight_array = _check_operands(a, weights)
    device = array.device
    axis_edges = bin_edges(array, bins, range, weight_array is not None, histogram)
    dtype = _INT64 if weight_array is None else weight_array.dtype
    if dtype == _BOOL and axis_edges.uniform is None:
        raise TypeError("bool weights cannot be summed between given edges: convert them to integers")
    edges = bins if isinstance(bins, DeviceArray) and bins.ndim else _copy_edges(axis_edges.edges, device)
    if axis_edges.edges.size < 2 or array.size == 0:
        counts = creation.zeros(max(0, axis_edges.edges.size - 1), dtype, device=device)
    else:
        axis = histogram_axis(array, axis_edges, device)
        check_bins(axis.bins, device)
        counts = _count_bins([axis], weight_array, dtype, device)
    if density:
        widths = np.array(np.diff(axis_edges.edges), float)
        return counts / widths / counts.sum(), edges
    return counts, edges


def _copy_edges(edges: np.ndarray, device: Device) -> DeviceArray:
    """Return a pending copy of read-only edges, which are cached on the device, or a copy of other edges."""
    dtype = edges.dtype
    if dtype not in (_FLOAT32, _FLOAT64) or edges.flags.writeable:
        uploaded = creation.array(edges, device=device)
        return uploaded if current_capture() is None else uploaded.copy()  # a program keeps the upload
    cached, _ = device_edges(edges.tobytes(), dtype, dtype, device)
    return wrap(build.unary(cast_loop(dtype), cached))


def _check_operands(a: Any, weights: Any) -> tuple[DeviceArray, DeviceArray | None]:
    array = as_array(a)
    if array.dtype == _BOOL:
        message = f"Converting input from {array.dtype} to {np.uint8} for compatibility."
        callers.warn_user(message, RuntimeWarning)
        array = array.astype(np.uint8)
    if weights is None:
        return array, None
    weight_array = as_array(weights, array.device)
    if weight_array.shape != array.shape:
        raise ValueError("weights should have the same shape as a.")
    return array, weight_array


def _count_bins(axes: Sequence[Any], weights: DeviceArray | None, dtype: np.dtype, device: Device) -> DeviceArray:
    """Return the flat histogram of some axes."""
    if weights is None and all(axis.steps is None for axis in axes):
        values, edges = tuple(wrap(axis.value) for axis in axes), tuple(wrap(axis.edges) for axis in axes)
        return _unweighted(values, edges, tuple((a.kind, a.dtype, a.bins, tuple(a.scalars)) for a in axes), dtype)
    if weights is None:
        return wrap(launchers.histogram.histogram(axes, None, dtype, ""))
    fp64 = device.capabilities.fp64
    if dtype.kind == "c" and not fp64:
        complex_counts = creation.empty(math.prod(a.bins for a in axes), dtype, device=device)
        complex_counts.real = _count_bins(axes, weights.real, _FLOAT32, device)
        complex_counts.imag = _count_bins(axes, weights.imag, _FLOAT32, device)
        return complex_counts
    accumulators = {"f": "float64" if fp64 else "pair", "c": "complex128", "u": "uint64"}
    accumulator = accumulators.get(weights.dtype.kind, "int64")
    return wrap(launchers.histogram.histogram(axes, weights._node, dtype, accumulator))


@captured
def _unweighted(
    values: tuple[DeviceArray, ...],
    edges: tuple[DeviceArray, ...],
    parts: tuple[tuple[Any, ...], ...],
    dtype: np.dtype,
) -> DeviceArray:
    """Return the histogram of axes without weights. `parts` has the kind, dtype, bins and scalars of each axis."""
    axes = [
        launchers.histogram.Axis(kind, value._node, edge_dtype, bins, axis_edges._node, scalars)
        for value, axis_edges, (kind, edge_dtype, bins, scalars) in zip(values, edges, parts, strict=True)
    ]
    return wrap(launchers.histogram.histogram(axes, None, dtype, ""))


# More axes ----------------------------------------------------------------------------------------


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[DeviceArray, list[DeviceArray]]:
    """Count the points in each of several boxes.

    Parameters
    ----------
    sample : (N, D) array, or sequence of D array_likes
        The points: one column, or one array, per coordinate.
    bins : int or sequence
        Number of bins along every axis, or per axis a number of bins or ascending edges.
    range : sequence, optional
        Per axis the first and the last edge, or None.
    density : bool
        Divide each count by the number of points and by the volume of the box.
    weights : (N,) array_like, optional
        The amount that each point adds instead of one.

    Returns
    -------
    H : DeviceArray
        Float64, with one axis of bins per coordinate.
    edges : list of DeviceArray

    Raises
    ------
    ValueError
        `bins` or `range` does not have one entry per axis, edges are not ascending, or a range is not finite.
    MemoryError
        There are too many boxes.

    Examples
    --------
    >>> import clarray
    >>> points = [[0.1, 0.2], [0.9, 0.8], [0.7, 0.1]]
    >>> counts, edges = clarray.histogramdd(clarray.array(points), bins=2, range=[(0, 1), (0, 1)])
    >>> counts.tolist(), edges[0].tolist()
    ([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.5, 1.0])
    """
    columns = _point_columns(sample)
    count = len(columns)
    device = columns[0].device
    if hasattr(bins, "__len__") and _bins_ndim(bins) != 0:
        if len(bins) != count:
            raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    else:
        bins = [bins] * count
    ranges = (None,) * count if range is None else range
    if len(ranges) != count:
        raise ValueError("range argument must have one entry per dimension")
    weight_array = None if weights is None else check_weights(weights, columns[0])
    edge_list = [_axis_edges(k, c, b, r) for k, (c, b, r) in enumerate(zip(columns, bins, ranges, strict=True))]
    shape = tuple(max(0, edges.size - 1) for edges in edge_list)
    check_bins(math.prod(shape), device)
    device_dtype(_FLOAT64, device)
    if math.prod(shape) == 0 or columns[0].size == 0:
        hist = creation.zeros(shape, _FLOAT64, device=device)
    else:
        axes = [histogram_axis(c, Edges(e, None), device) for c, e in zip(columns, edge_list, strict=True)]
        hist = _count_bins(axes, weight_array, _FLOAT64, device).reshape(shape)
    if density:
        total = hist.sum()
        for k, edges in enumerate(edge_list):
            widths = np.diff(edges).reshape([-1 if a == k else 1 for a in builtins.range(count)])
            hist = hist / widths
        hist /= total
    return hist, [_copy_edges(e, device) for e in edge_list]


def _bins_ndim(bins: Any) -> int:
    return bins.ndim if isinstance(bins, DeviceArray | np.ndarray) else 1


def _point_columns(sample: Any) -> list[DeviceArray]:
    """Return the coordinates of points, one array per axis, in one dtype."""
    if isinstance(sample, DeviceArray | np.ndarray) and sample.ndim == 2:
        array = as_array(sample)
        if not array.shape[1]:
            raise ValueError("the points have no coordinates")
        return [array[:, k] for k in builtins.range(array.shape[1])]
    if not isinstance(sample, list | tuple) and array_ndim(sample) == 0:  # one point with one coordinate
        return [as_array(sample).reshape(1)]
    columns = [as_array(c) for c in sample] if not isinstance(sample, DeviceArray) else [sample]
    if not columns or columns[0].ndim == 0:
        columns = [as_array(sample)]
    if any(c.shape != columns[0].shape or c.ndim != 1 for c in columns):
        raise ValueError("the coordinates of the points must be one-dimensional and of one length")
    dtype = np.result_type(*(c.dtype for c in columns))
    return [c if c.dtype == dtype else c.astype(dtype) for c in columns]


def _axis_edges(axis: int, column: DeviceArray, bins: Any, range: Any) -> np.ndarray:
    """Return the edges of one axis of `histogramdd`."""
    ndim = array_ndim(bins)
    if ndim == 0:
        if bins < 1:
            raise ValueError(f"`bins[{axis}]` must be positive, when an integer")
        first, last = outer_edges(column, range)
        try:
            count = operator.index(bins)
        except TypeError as error:
            raise TypeError(f"`bins[{axis}]` must be an integer, when a scalar") from error
        return spaced_edges(first, last, count)
    if ndim != 1:
        raise ValueError(f"`bins[{axis}]` must be a scalar or 1d array")
    edges = host_numbers(bins, column)
    if np.any(edges[:-1] > edges[1:]):
        raise ValueError(f"`bins[{axis}]` must be monotonically increasing, when an array")
    return edges


@captured(operands=2)
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Count the points of a plane in each of several rectangles.

    Parameters
    ----------
    x, y : (N,) array_like
        Coordinates of the points.
    bins : int, sequence, or two of either
        Number of bins or ascending edges, for both axes or for each.
    range, density, weights
        As in `clarray.histogramdd`.

    Returns
    -------
    H : DeviceArray
        Float64. `x` is along the first axis, `y` along the second.
    xedges, yedges : DeviceArray

    Raises
    ------
    ValueError
        `x` and `y` differ in length. Other causes as in `clarray.histogramdd`.

    Examples
    --------
    >>> import clarray
    >>> counts, xedges, yedges = clarray.histogram2d([0.1, 0.9, 0.7], [0.2, 0.8, 0.1], bins=2, range=[(0, 1), (0, 1)])
    >>> counts.tolist(), xedges.tolist()
    ([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.5, 1.0])
    """
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    count = len(bins) if hasattr(bins, "__len__") and _bins_ndim(bins) != 0 else 1
    if count not in (1, 2):
        edges = host_numbers(bins, x, y)
        bins = [edges, edges]
    hist, (xedges, yedges) = histogramdd([x, y], bins, range, density, weights)
    return hist, xedges, yedges


# digitize -----------------------------------------------------------------------------------------


def _is_sorted(edges: np.ndarray) -> bool:
    """Return whether edges ascend, NaN last."""
    return bool(np.array_equal(np.sort(edges), edges, equal_nan=edges.dtype.kind == "f"))


def _ascends_on_device(edges: Any, array: DeviceArray, right: Any) -> bool:
    """Return whether edges on the device of `array` ascend without NaN. The answer is a guard of a program."""
    if not isinstance(edges, DeviceArray) or edges.ndim != 1 or edges.device is not array.device:
        return False
    np.digitize(np.empty(0, array.dtype), np.empty(0, edges.dtype), right)  # NumPy's own checks
    return edges.size > 0 and bool((edges[1:] >= edges[:-1]).all()) and bool((edges[:1] == edges[:1]).all())


@captured(operands=1)
def digitize(x: Any, bins: Any, right: bool = False) -> DeviceArray:
    """Return the index of the bin of each element.

    Parameters
    ----------
    x : array_like
        Real numbers of any shape.
    bins : (N,) array_like
        Edges, ascending or descending.
    right : bool
        Whether a bin includes its right edge instead of its left edge.

    Returns
    -------
    DeviceArray of int64
        Has the same shape as `x`. For ascending edges, `i` means ``bins[i-1] <= x < bins[i]``. 0 is before the first
        edge and N after the last.

    Raises
    ------
    ValueError
        The edges are neither ascending nor descending.
    TypeError
        `x` is complex.

    See Also
    --------
    searchsorted, histogram

    Notes
    -----
    If ascending edges contain NaN, it should be at their end. If NaN is anywhere else, the result depends on the steps
    of NumPy's search, so NumPy computes it on the host.

    Examples
    --------
    >>> import clarray
    >>> clarray.digitize([0.5, 1.0, 2.5, 9.0], [1, 2, 3]).tolist()
    [0, 1, 2, 3]
    """
    array = as_array(x)
    if current_capture() is not None and _ascends_on_device(bins, array, right):
        return searchsorted(bins, array, side="left" if right else "right")
    edges = host_numbers(bins, array)
    np.digitize(np.empty(0, array.dtype), edges, right)  # NumPy's own checks
    if not _is_sorted(edges) and not _is_sorted(edges[::-1]):
        return through_library("numpy.digitize", np.digitize, array, edges, right)
    side = "left" if right else "right"
    later = edges[1:][edges[1:] != edges[:1]]
    if later.size and not edges[0] < later[0]:  # descending by NumPy's test, as are edges after a NaN
        positions = searchsorted(creation.array(edges[::-1].copy(), device=array.device), array, side=side)
        return edges.size - positions
    return searchsorted(creation.array(edges, device=array.device), array, side=side)
