"""The elements of an array again, elsewhere or more often: rolling, tiling, repeating."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import creation, ufunc_calls
from clarray._core.creation import as_array, asarray, operand_array, zeros
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.views import view_of
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.index_map.plan import WRAP
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import c_integer, line_axis
from clarray._engine.expr.view import View, as_shape
from clarray._engine.speedups import recorded
from clarray._numpy.creation.sequences import arange
from clarray._numpy.indexing.gathering import take
from clarray._numpy.manipulation.index_maps import Map, remapped, repeated
from clarray._numpy.manipulation.shapes import ravel, reshape
from clarray._numpy.sorting.sorting import searchsorted

__all__ = ["repeat", "resize", "roll", "tile"]


@recorded
def roll(a: Any, shift: Any, axis: Any = None) -> DeviceArray:
    """Shift elements along axes, those pushed out coming in at the other end; one pass for all axes.

    Parameters
    ----------
    a : array_like
    shift : int or sequence of int
        Places by which elements move towards the end.
    axis : int or sequence of int, optional
        By default elements are shifted in C order, whatever the shape.

    Returns
    -------
    DeviceArray
        New, in the layout of `a`; pending where `a` is large, and lies in C order.

    Raises
    ------
    ValueError
        An axis of a 0-d array, or `shift` or `axis` has more than one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.roll([1, 2, 3, 4], 1).tolist()
    [4, 1, 2, 3]
    """
    array = operand_array(a)
    if axis is None:
        return reshape(roll(ravel(array), shift, 0), array.shape)
    shifts, places = np.broadcast_arrays(
        np.asarray(shift), normalize_axis_tuple(axis, array.ndim, allow_duplicate=True)
    )
    if not array.ndim:
        raise ValueError("a 0-d array has no axis to shift along")
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    total = [0] * array.ndim
    for by, at in zip(shifts.flat, places.flat, strict=True):
        total[at] += int(by)
    pending = launchers.index_map_roll.roll(evaluate(array._node), total)
    if pending is not None:
        return wrap(pending)
    return remapped(array, [Map(n, WRAP, by) for n, by in zip(array.shape, total, strict=True)], "K")


@recorded
def tile(A: Any, reps: Any) -> DeviceArray:  # noqa: N803 - NumPy's name for it
    """Repeat an array as a whole along each axis.

    Parameters
    ----------
    A : array_like
    reps : int or sequence of int
        Times along each of the last axes; axes are put in front where there are more numbers.

    Returns
    -------
    DeviceArray
        New; a view of an array without elements.

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
    times = tuple(reps) if np.iterable(reps) else (reps,)
    if isinstance(A, DeviceArray) and all(t == 1 for t in times):
        return creation.array(A, copy=True, ndmin=len(times))  # which keeps the order of elements
    ndim = max(len(times), array.ndim)
    times = (1,) * (ndim - len(times)) + times
    if any(t < 0 for t in times):  # before they are read as integers, as in NumPy
        raise ValueError("negative dimensions are not allowed")
    times = tuple(int(t) if isinstance(t, bool | np.bool) else c_integer(t) for t in times)
    shape, strides, offset = view_of(array)
    lead = (1,) * (ndim - len(shape))
    if not array.size:  # a view, as NumPy gives: read-only where `A` is
        return reshape(array, tuple([t * n for t, n in zip(times, lead + shape, strict=True)]))
    pairs = list(zip(times, lead + shape, strict=True))
    steps = tuple(x for s in (*(0 for _ in lead), *strides) for x in (0, s))
    found = repeated(array, View(tuple(x for pair in pairs for x in pair), steps, offset))
    return found.reshape(tuple(t * n for t, n in pairs))


@recorded
def repeat(a: Any, repeats: Any, axis: int | None = None) -> DeviceArray:
    """Repeat each element, or each slice along an axis.

    Parameters
    ----------
    a : array_like
    repeats : int or array_like of int
        One number for all, or one for each.
    axis : int, optional
        By default all elements in C order.

    Returns
    -------
    DeviceArray
        New.

    Raises
    ------
    ValueError
        A number is negative, there are neither one nor as many numbers as elements, or they have more than one axis.
    TypeError
        They are no integers.
    """
    device = ufunc_calls.device_of_operands((a, repeats))
    array = as_array(a, device)
    axis = None if axis is None else line_axis(axis, array.ndim)
    if axis is None or not array.ndim:
        array, axis = ravel(array), 0
    # A float64 scalar is a Python float, which NumPy takes for an integer.
    counts = repeats if hasattr(repeats, "dtype") and not isinstance(repeats, float) else np.array(repeats, np.intp)
    np.empty(0, counts.dtype).astype(np.intp, casting="safe")  # raises where that could change a number
    if counts.ndim > 1:
        raise ValueError("object too deep for desired array")
    if counts.size == 1:
        return _each(array, int(counts.item()), axis)
    if counts.size != array.shape[axis]:
        raise ValueError(f"operands could not be broadcast together with shape ({array.shape[axis]},) ({counts.size},)")
    return take(array, _numbers(counts, device), axis, mode="clip")


def _each(array: DeviceArray, times: int, axis: int) -> DeviceArray:
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    shape, strides, offset = view_of(array)
    after = axis + 1
    wide = View((*shape[:after], times, *shape[after:]), (*strides[:after], 0, *strides[after:]), offset)
    return repeated(array, wide).reshape((*shape[:axis], shape[axis] * times, *shape[after:]))


def _numbers(counts: Any, device: Any) -> DeviceArray:
    """For each element of a result the number of the element it repeats."""
    if isinstance(counts, np.ndarray):
        if counts.size and counts.min() < 0:
            raise ValueError("repeats may not contain negative values.")
        return asarray(np.repeat(np.arange(counts.size), counts), device=device)
    if counts.size and bool((counts < 0).any()):
        raise ValueError("repeats may not contain negative values.")
    ends = counts.cumsum(dtype=np.int64)
    return searchsorted(ends, arange(int(ends[-1]) if counts.size else 0, device=device), "right")


@recorded
def resize(a: Any, new_shape: Any) -> DeviceArray:
    """Make an array of a new shape from the elements in C order, beginning again where they do not suffice.

    Parameters
    ----------
    a : array_like
    new_shape : int or sequence of int

    Returns
    -------
    DeviceArray
        New; zeros where `a` has no elements.

    Raises
    ------
    ValueError
        An extent is negative.
    """
    flat = ravel(operand_array(a))
    if getattr(new_shape, "ndim", None) == 0 and not isinstance(new_shape, np.integer):
        raise TypeError("iteration over a 0-d array")
    shape = as_shape(new_shape)
    if min(shape, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = int(np.prod(shape, dtype=object)) if shape else 1
    if not flat.size or not size:
        return zeros(shape, flat.dtype, device=flat.device)
    return remapped(flat, [Map(size, WRAP)]).reshape(shape)
