"""Filters that choose a value by its rank: minima, maxima, medians, percentiles."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core import callers
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import host_numbers
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.stencil.plan import GREATEST, LEAST, SELECT
from clarray._engine.ops.dtypes import wide_dtype
from clarray.ndimage import arguments
from clarray.ndimage.arguments import Boundary, Pass, per_axis, resolve_mode, resolve_target
from clarray.ndimage.linear import expand_window

_LARGEST_COUNT_IN_BYTE = 100  # taps whose number a byte can count


def _real_image(input: Any) -> DeviceArray:
    x = as_array(input)
    if x.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    return x


def _comparison_dtype(dtype: np.dtype, taps: int, form: str, mode: str, cval: Any, device: Any) -> np.dtype:
    """Return the dtype of comparisons: the dtype of the image, unless it cannot hold the constant beyond the ends."""
    if dtype.kind == "f":
        return wide_dtype(dtype)
    if dtype.kind == "b":
        dtype = np.dtype(np.uint8)
    if mode == "constant":
        info = np.iinfo(dtype)
        if not (float(cval).is_integer() and info.min <= cval <= info.max):
            if form == SELECT:
                return np.dtype(np.int64)
            return device_dtype(np.float64, device)
    return np.dtype(np.int32) if form == SELECT and taps > _LARGEST_COUNT_IN_BYTE and dtype.itemsize < 4 else dtype


class _Selection(NamedTuple):
    """A window over all axes, and the element of the window that the filter selects."""

    form: str
    shape: tuple[int, ...]
    footprint: bytes
    origins: tuple[int, ...]
    rank: int


def _selection(form: str, footprint: np.ndarray, origins: list[int], rank: int = 0) -> _Selection:
    cells = np.ascontiguousarray(footprint, bool).tobytes()
    return _Selection(form, footprint.shape, cells, tuple(map(int, origins)), int(rank))


def _pass(x: DeviceArray, source: np.dtype, selection: _Selection, boundary: Boundary) -> Pass:
    """Return the pass of a selection. Equal selections share one cached pass, and so its cached launch."""
    mode, cval = boundary
    number = cval if isinstance(cval, int) else float(cval)
    return _build_pass(x.device, source, selection, resolve_mode(mode), number).with_zero_sign(number)


@lru_cache(maxsize=256)
def _build_pass(device: Any, source: np.dtype, selection: _Selection, mode: str, cval: Any) -> Pass:
    form, shape, footprint, origins, rank = selection
    used = np.argwhere(np.frombuffer(footprint, bool).reshape(shape))
    shifts = used - np.array([n // 2 + o for n, o in zip(shape, origins, strict=True)], int)
    spans = tuple((int(s.min()), int(s.max())) for s in shifts.T)
    ndim = len(shape)
    if form == SELECT and source.kind in "iub":  # SciPy casts the constant to the dtype, or to int64 in one dimension
        cval = int(np.array(float(cval)).astype(np.int64).astype(np.int64 if ndim == 1 else source))
    work = _comparison_dtype(source, len(used), form, mode, cval, device)
    window = launchers.stencil.Window(
        form=form, spans=spans, shifts=tuple(tuple(s) for s in shifts.tolist()), weights=None, taps=len(used), rank=rank
    )
    return Pass(window, (mode,) * ndim, cval, work)


def _check_origins(origins: list[int], shape: tuple[int, ...]) -> None:
    for origin, size in zip(origins, shape, strict=True):
        if not 0 <= size // 2 + origin < size:
            raise ValueError("invalid origin")


def _extremum1d(
    input: Any, size: int, axis: int, output: Any, boundary: Boundary, origin: int, form: str
) -> DeviceArray:
    x = _real_image(input)
    axis = normalize_axis_index(axis, x.ndim)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    target = resolve_target(output, x)
    _check_origins([origin], (size,))
    return arguments.run_passes(x, [_line_pass(x, x.dtype, form, axis, int(size), origin, boundary)], target)


def _line_pass(
    x: DeviceArray, source: np.dtype, form: str, axis: int, size: int, origin: int, boundary: Boundary
) -> Pass:
    shape = tuple(size if a == axis else 1 for a in range(x.ndim))
    origins = [origin if a == axis else 0 for a in range(x.ndim)]
    return _pass(x, source, _selection(form, np.ones(shape, bool), origins), boundary)


def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: int = 0
) -> DeviceArray:
    """Replace each element by the least of `size` neighbours along one axis; see `scipy.ndimage.minimum_filter1d`.

    Parameters
    ----------
    input : array_like
        Real numbers.
    size : int
        Number of neighbours, the element itself included.
    axis, output, mode, cval, origin : optional
        As in `correlate1d`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input. NaN counts as greater than every number.

    Raises
    ------
    TypeError
        `input` is complex.
    RuntimeError
        `size` is less than 1, or there is no such mode.
    ValueError
        The origin lies outside the window.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.minimum_filter1d(clarray.asarray([5, 1, 4, 3, 2]), 3).tolist()
    [1, 1, 1, 2, 2]
    """
    return _extremum1d(input, size, axis, output, Boundary(mode, cval), origin, LEAST)


def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: int = 0
) -> DeviceArray:
    """Replace each element by the greatest of `size` neighbours along one axis; see `scipy.ndimage.maximum_filter1d`.

    The parameters, the result and the errors are as in `minimum_filter1d`.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.maximum_filter1d(clarray.asarray([5, 1, 4, 3, 2]), 3).tolist()
    [5, 5, 4, 4, 3]
    """
    return _extremum1d(input, size, axis, output, Boundary(mode, cval), origin, GREATEST)


def _warn_if_size_is_ignored(size: Any, footprint: Any) -> None:
    if size is not None and footprint is not None:
        callers.warn_user("ignoring size because footprint is set", UserWarning)


def _expand_footprint(
    x: DeviceArray, footprint: np.ndarray, origin: Any, axes: tuple[int, ...]
) -> tuple[np.ndarray, list[int]]:
    """Expand a footprint and origins to all axes."""
    if footprint.ndim != len(axes):
        raise RuntimeError(f"footprint.ndim ({footprint.ndim}) must match len(axes) ({len(axes)})")
    origins = [0] * x.ndim
    for axis, o in zip(axes, per_axis(origin, len(axes)), strict=True):
        origins[axis] = o
    order = np.argsort(axes)  # the footprint has the axes in the order of `axes`
    expanded_footprint = expand_window(
        footprint.transpose(order) if list(order) != sorted(order) else footprint, axes, x.ndim
    )
    _check_origins(origins, expanded_footprint.shape)
    return expanded_footprint, origins


class _Window(NamedTuple):
    """Arguments of a filter that describe its window, as the caller passed them."""

    size: Any
    footprint: Any
    origin: Any
    axes: Any


def _filter_by_extremum(input: Any, window: _Window, output: Any, boundary: Boundary, form: str) -> DeviceArray:
    size, footprint, origin, axes = window
    mode = boundary.mode
    _warn_if_size_is_ignored(size, footprint)
    cells = None
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint provided")
    else:
        cells = host_numbers(footprint, input).astype(bool)
        if not cells.any():
            raise ValueError("All-zero footprint is not supported.")
        if cells.all():
            size, cells = cells.shape, None
    x = _real_image(input)
    target = resolve_target(output, x)
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    if cells is not None:
        expanded, origins = _expand_footprint(x, cells, origin, resolved_axes)
        if not isinstance(mode, str) and isinstance(mode, Iterable):
            raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
        selection = _selection(form, expanded, origins)
        return arguments.run_passes(x, [_pass(x, x.dtype, selection, boundary)], target)
    per_axis_arguments = [per_axis(v, len(resolved_axes)) for v in (size, origin, mode)]
    passes: list[Pass] = []
    for axis, n, o, m in zip(resolved_axes, *per_axis_arguments, strict=True):
        if n > 1:
            _check_origins([o], (n,))
            source = arguments.intermediate_dtype(target.dtype) if passes else x.dtype
            passes.append(_line_pass(x, source, form, axis, int(n), o, Boundary(m, boundary.cval)))
    return arguments.run_passes(x, passes, target)


def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Replace each element by the least value in a window around it; see `scipy.ndimage.minimum_filter`.

    Parameters
    ----------
    input : array_like
        Real numbers.
    size : int or sequence of int
        Extent of the window along each axis. It may be left out if `footprint` is given.
    footprint : array_like of bool
        Cells of the window, in place of `size`: True cells count.
    output, mode, cval, origin, axes
        As in `correlate`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input. NaN counts as greater than every number.

    Raises
    ------
    TypeError
        `input` is complex.
    RuntimeError
        There is neither `size` nor `footprint`, or one that does not fit the axes, or no such mode.
    ValueError
        An origin lies outside the window, the footprint has no True cell, or there are no such axes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[5, 9, 8], [7, 6, 9], [8, 9, 1]])
    >>> clarray.ndimage.minimum_filter(x, 3).tolist()
    [[5, 5, 6], [5, 1, 1], [6, 1, 1]]
    """
    window = _Window(size, footprint, origin, axes)
    return _filter_by_extremum(input, window, output, Boundary(mode, cval), LEAST)


def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Replace each element by the greatest value in a window around it; see `scipy.ndimage.maximum_filter`.

    The parameters, the result and the errors are as in `minimum_filter`.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[5, 0, 0], [0, 0, 0], [0, 0, 3]])
    >>> clarray.ndimage.maximum_filter(x, footprint=[[0, 1, 0], [1, 1, 1], [0, 1, 0]]).tolist()
    [[5, 5, 0], [5, 0, 3], [0, 3, 3]]
    """
    window = _Window(size, footprint, origin, axes)
    return _filter_by_extremum(input, window, output, Boundary(mode, cval), GREATEST)


def _filter_by_rank(
    input: Any, rank_for: Callable[[int], int], window: _Window, output: Any, boundary: Boundary
) -> DeviceArray:
    size, footprint, origin, axes = window
    _warn_if_size_is_ignored(size, footprint)
    x = _real_image(input)
    resolved_axes = arguments.resolve_axes(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        cells = np.ones(tuple(int(n) for n in per_axis(size, len(resolved_axes))), bool)
    else:
        cells = host_numbers(footprint, x).astype(bool)
    expanded, origins = _expand_footprint(x, cells, origin, resolved_axes)
    count = int(expanded.sum())
    rank = rank_for(count)
    rank += count if rank < 0 else 0
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    if rank in (0, count - 1):
        form = LEAST if rank == 0 else GREATEST
        return _filter_by_extremum(x, _Window(None, expanded, origins, None), output, boundary, form)
    target = resolve_target(output, x)
    if not isinstance(boundary.mode, str) and isinstance(boundary.mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported by non-separable rank filters")
    selection = _selection(SELECT, expanded, origins, rank)
    return arguments.run_passes(x, [_pass(x, x.dtype, selection, boundary)], target)


def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Replace each element by the value of a given rank in a window around it; see `scipy.ndimage.rank_filter`.

    Parameters
    ----------
    input : array_like
        Real numbers.
    rank : int
        Position of the result in the sorted values of the window: 0 is the least, -1 the greatest.
    size, footprint, output, mode, cval, origin, axes : optional
        As in `minimum_filter`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    RuntimeError
        The window has no such rank, or an error as in `median_filter`.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.rank_filter(clarray.asarray([5, 1, 4, 3, 2]), 1, size=3).tolist()
    [5, 4, 3, 3, 2]
    """
    number = operator.index(rank)
    window = _Window(size, footprint, origin, axes)
    return _filter_by_rank(input, lambda count: number, window, output, Boundary(mode, cval))


def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Replace each element by the median of a window around it; see `scipy.ndimage.median_filter`.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes
        As in `minimum_filter`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input. If the window has an even number of cells, the greater of the two middle values
        is used.

    Raises
    ------
    TypeError
        `input` is complex.
    RuntimeError
        There is neither `size` nor `footprint`, or one that does not fit the axes, or no such mode.
    ValueError
        An origin lies outside the window, or there are no such axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.median_filter(clarray.asarray([1, 9, 2, 3]), 3).tolist()
    [1, 2, 3, 3]
    """
    window = _Window(size, footprint, origin, axes)
    return _filter_by_rank(input, lambda count: count // 2, window, output, Boundary(mode, cval))


def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> DeviceArray:
    """Replace each element by a percentile of a window around it; see `scipy.ndimage.percentile_filter`.

    Parameters
    ----------
    input : array_like
        Real numbers.
    percentile : float
        From 0 to 100. A negative number counts from 100 down: -20 is 80.
    size, footprint, output, mode, cval, origin, axes : optional
        As in `minimum_filter`.

    Returns
    -------
    DeviceArray
        Has the same shape as the input.

    Raises
    ------
    RuntimeError
        The percentile is out of range, or an error as in `median_filter`.

    Examples
    --------
    >>> import clarray
    >>> clarray.ndimage.percentile_filter(clarray.asarray([5, 1, 4, 3, 2]), 50, size=3).tolist()
    [5, 4, 3, 3, 2]
    """

    def rank_for(count: int) -> int:
        share = percentile + 100.0 if percentile < 0 else percentile
        if not 0 <= share <= 100:
            raise RuntimeError("invalid percentile")
        return count - 1 if share == 100.0 else int(float(count) * share / 100.0)

    window = _Window(size, footprint, origin, axes)
    return _filter_by_rank(input, rank_for, window, output, Boundary(mode, cval))
