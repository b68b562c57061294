"""Reversing, rotating, rolling, tiling and repeating of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import callers, creation, ufunc_calls
from clarray._core.creation import as_array, asarray, operand_array, zeros
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.views import view_of
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.index_map.plan import WRAP
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import c_integer, line_axis
from clarray._engine.expr.view import View, as_shape
from clarray._engine.speedups import captured
from clarray._numpy.creation.sequences import arange
from clarray._numpy.indexing.gathering import take
from clarray._numpy.manipulation.index_maps import AxisMap, copy_repeated, read_through_maps
from clarray._numpy.manipulation.shapes import ravel, reshape, transpose
from clarray._numpy.sorting.sorting import searchsorted

__all__ = ["flip", "fliplr", "flipud", "repeat", "resize", "roll", "rot90", "tile"]

_WHOLE, _REVERSED = slice(None), slice(None, None, -1)


def flip(m: Any, axis: Any = None) -> DeviceArray:
    """Reverse the order of elements along axes, as a view. See `numpy.flip`.

    Parameters
    ----------
    m : array_like
    axis : int or tuple of int, optional
        All axes by default.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.flip([[1, 2], [3, 4]], axis=1).tolist()
    [[2, 1], [4, 3]]
    """
    array = operand_array(m)
    ndim = array.ndim
    axes = range(ndim) if axis is None else normalize_axis_tuple(axis, ndim)
    flipped: DeviceArray = array[tuple([_REVERSED if k in axes else _WHOLE for k in range(ndim)])]
    return flipped


def _check_min_ndim(array: DeviceArray, ndim: int) -> DeviceArray:
    if array.ndim < ndim:
        raise ValueError(f"Input must be >= {ndim}-d.")
    return array


def fliplr(m: Any) -> DeviceArray:
    """Reverse the order of the columns (along axis 1), as a view.

    Parameters
    ----------
    m : array_like
        An array of two axes or more.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `m` has fewer than two axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.fliplr([[1, 2], [3, 4]]).tolist()
    [[2, 1], [4, 3]]
    """
    return flip(_check_min_ndim(operand_array(m), 2), 1)


def flipud(m: Any) -> DeviceArray:
    """Reverse the order of the rows (along axis 0), as a view.

    Parameters
    ----------
    m : array_like
        An array of one axis or more.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `m` has no axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.flipud([[1, 2], [3, 4]]).tolist()
    [[3, 4], [1, 2]]
    """
    return flip(_check_min_ndim(operand_array(m), 1), 0)


_QUARTER_TURNS = np.array([[0, 1], [3, 2]])  # after k quarter turns, the first element is k


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> DeviceArray:
    """Rotate an array by 90 degrees `k` times in the plane of two axes, as a view. See `numpy.rot90`.

    Parameters
    ----------
    m : array_like
        An array of two axes or more.
    k : int, optional
        How often to rotate from the first axis to the second.
    axes : pair of int, optional
        The two axes, the first two by default.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `axes` are not two different axes of the array.

    Examples
    --------
    >>> import clarray
    >>> clarray.rot90([[1, 2], [3, 4]]).tolist()
    [[2, 4], [1, 3]]
    """
    array = operand_array(m)
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == array.ndim:
        raise ValueError("Axes must be different.")
    if not all(-array.ndim <= axis < array.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={array.ndim}.")
    k = k % 4 if type(k) is int else int(callers.relay(np.rot90, _QUARTER_TURNS, k)[0, 0])
    if k == 0:
        return array[...]
    if k == 2:
        return flip(flip(array, axes[0]), axes[1])
    order = np.arange(array.ndim)
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    if k == 1:
        return transpose(flip(array, axes[1]), order)
    return flip(transpose(array, order), axes[1])


@captured(operands=1)
def roll(a: Any, shift: Any, axis: Any = None) -> DeviceArray:
    """Shift elements along axes. Elements pushed out at one end reappear at the other end.

    Parameters
    ----------
    a : array_like
    shift : int or sequence of int
        Number of places by which elements move towards the end, one number per axis.
    axis : int or sequence of int, optional
        By default all elements are shifted in C order, and the shape stays.

    Returns
    -------
    DeviceArray
        A new array in the layout of `a`.

    Raises
    ------
    ValueError
        `a` has no axis, or `shift` or `axis` has more than one axis.

    Notes
    -----
    One pass over memory shifts all axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.roll([1, 2, 3, 4], 1).tolist()
    [4, 1, 2, 3]
    """
    array = operand_array(a)
    if axis is None:
        return reshape(roll(ravel(array), shift, 0), array.shape)
    shifts, axes = np.broadcast_arrays(np.asarray(shift), normalize_axis_tuple(axis, array.ndim, allow_duplicate=True))
    if not array.ndim:
        raise ValueError("a 0-d array has no axis to shift along")
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    total_shifts = [0] * array.ndim
    for step, position in zip(shifts.flat, axes.flat, strict=True):
        total_shifts[position] += int(step)
    pending = launchers.index_map_roll.roll(evaluate(array._node), total_shifts)
    if pending is not None:
        return wrap(pending)
    return read_through_maps(
        array, [AxisMap(n, WRAP, step) for n, step in zip(array.shape, total_shifts, strict=True)], "K"
    )


@captured(operands=1)
def tile(A: Any, reps: Any) -> DeviceArray:  # noqa: N803 - NumPy's name for it
    """Repeat a whole array along each axis.

    Parameters
    ----------
    A : array_like
    reps : int or sequence of int
        Number of copies along each axis, the last axes first of all. More numbers than axes put axes in front.

    Returns
    -------
    DeviceArray
        A new array.

    Raises
    ------
    ValueError
        A number is negative.

    Examples
    --------
    >>> import clarray
    >>> clarray.tile([1, 2], (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    array = operand_array(A)
    counts = tuple(reps) if np.iterable(reps) else (reps,)
    if isinstance(A, DeviceArray) and all(t == 1 for t in counts):
        return creation.array(A, copy=True, ndmin=len(counts))  # keeps the memory order
    ndim = max(len(counts), array.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    if any(t < 0 for t in counts):  # before the conversion to integers, as in NumPy
        raise ValueError("negative dimensions are not allowed")
    counts = tuple(int(t) if isinstance(t, bool | np.bool) else c_integer(t) for t in counts)
    shape, strides, offset = view_of(array)
    lead = (1,) * (ndim - len(shape))
    if not array.size:  # a view, as in NumPy: read-only if `A` is
        return reshape(array, tuple([t * n for t, n in zip(counts, lead + shape, strict=True)]))
    pairs = list(zip(counts, lead + shape, strict=True))
    strided = tuple(x for s in (*(0 for _ in lead), *strides) for x in (0, s))
    tiled = copy_repeated(array, View(tuple(x for pair in pairs for x in pair), strided, offset))
    return tiled.reshape(tuple(t * n for t, n in pairs))


@captured(operands=1)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> DeviceArray:
    """Repeat each element, or each slice along an axis.

    Parameters
    ----------
    a : array_like
    repeats : int or array_like of int
        How often. One number for all elements (or slices), or one for each.
    axis : int, optional
        By default the array is flattened in C order.

    Returns
    -------
    DeviceArray
        A new array.

    Raises
    ------
    ValueError
        A number is negative, or `repeats` has neither one element nor one per slice, or more than one axis.
    TypeError
        `repeats` are not integers.

    Examples
    --------
    >>> import clarray
    >>> clarray.repeat([1, 2, 3], [2, 0, 1])
    array([1, 1, 3])
    """
    device = ufunc_calls.device_of_operands((a, repeats))
    array = as_array(a, device)
    axis = None if axis is None else line_axis(axis, array.ndim)
    if axis is None or not array.ndim:
        array, axis = ravel(array), 0
    # A float64 scalar is a Python float, which NumPy accepts as an integer.
    counts = repeats if hasattr(repeats, "dtype") and not isinstance(repeats, float) else np.array(repeats, np.intp)
    np.empty(0, counts.dtype).astype(np.intp, casting="safe")  # raises if the cast could change a number
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if counts.size == 1:
        return _repeat_equally(array, int(counts.item()), axis)
    if counts.size != array.shape[axis]:
        raise ValueError(f"operands could not be broadcast together with shape ({array.shape[axis]},) ({counts.size},)")
    return take(array, _repeated_positions(counts, device), axis, mode="clip")


def _repeat_equally(array: DeviceArray, times: int, axis: int) -> DeviceArray:
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    shape, strides, offset = view_of(array)
    after = axis + 1
    repeated = View((*shape[:after], times, *shape[after:]), (*strides[:after], 0, *strides[after:]), offset)
    return copy_repeated(array, repeated).reshape((*shape[:axis], shape[axis] * times, *shape[after:]))


def _repeated_positions(counts: Any, device: Any) -> DeviceArray:
    """Return, for each element of the result, the position of the element that it repeats."""
    if isinstance(counts, np.ndarray):
        if counts.size and counts.min() < 0:
            raise ValueError("repeats may not contain negative values.")
        return asarray(np.repeat(np.arange(counts.size), counts), device=device)
    if counts.size and bool((counts < 0).any()):
        raise ValueError("repeats may not contain negative values.")
    ends = counts.cumsum(dtype=np.int64)
    return searchsorted(ends, arange(int(ends[-1]) if counts.size else 0, device=device), "right")


@captured(operands=1)
def resize(a: Any, new_shape: Any) -> DeviceArray:
    """Make an array of a new shape from the elements in C order, repeated if there are too few.

    Parameters
    ----------
    a : array_like
    new_shape : int or sequence of int

    Returns
    -------
    DeviceArray
        A new array. It is zero if `a` has no elements.

    Raises
    ------
    ValueError
        A length in `new_shape` is negative.

    Examples
    --------
    >>> import clarray
    >>> clarray.resize([1, 2, 3], (2, 4)).tolist()
    [[1, 2, 3, 1], [2, 3, 1, 2]]
    """
    source = ravel(operand_array(a))
    if getattr(new_shape, "ndim", None) == 0 and not isinstance(new_shape, np.integer):
        raise TypeError("iteration over a 0-d array")
    shape = as_shape(new_shape)
    if min(shape, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = int(np.prod(shape, dtype=object)) if shape else 1
    if not source.size or not size:
        return zeros(shape, source.dtype, device=source.device)
    return read_through_maps(source, [AxisMap(size, WRAP)]).reshape(shape)
