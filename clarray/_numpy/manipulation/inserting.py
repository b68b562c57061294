"""Slices put between those of an array, and zeros taken off its ends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import ufunc_calls
from clarray._core.creation import array, as_array, empty
from clarray._core.device_array import DeviceArray, keeps_numbers
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.speedups import recorded
from clarray._numpy.creation.sequences import arange
from clarray._numpy.indexing.gathering import take
from clarray._numpy.indexing.subscripts import copyto
from clarray._numpy.manipulation.shapes import moveaxis, ravel
from clarray._numpy.sorting.sorting import argsort, searchsorted, sort

__all__ = ["insert", "trim_zeros"]

FEW = 64  # slices inserted that leave parts large enough for a launch each


@recorded(operands=1)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> DeviceArray:
    """Return a copy of an array with values inserted before given positions along an axis.

    Parameters
    ----------
    arr : array_like
    obj : int, slice, or array_like of int or bool
        The positions in `arr`. A mask stands for the positions that it selects.
    values : array_like
        The values. They are converted to the dtype of `arr` and broadcast to the inserted slices.
    axis : int, optional
        By default `arr` is flattened.

    Returns
    -------
    DeviceArray
        A new array.

    Raises
    ------
    IndexError
        A position is out of bounds.
    ValueError
        Several positions are given, and one is so far out of bounds that it collides with another one.

    Examples
    --------
    >>> import clarray
    >>> clarray.insert([1, 2, 3], 1, 9).tolist()
    [1, 9, 2, 3]
    """
    device = ufunc_calls.device_of_operands((arr, obj, values))
    source = as_array(arr, device)
    if axis is None:
        source = ravel(source)
        axis = source.ndim - 1
    axis = normalize_axis(axis, source.ndim)
    extent = source.shape[axis]
    positions = _positions(obj, extent)
    if positions.size == 1:
        number = int(positions.item())
        if not -extent <= number <= extent:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {extent}")
        given = as_array(values, device) if hasattr(values, "dtype") else array(values, source.dtype, device=device)
        if not positions.ndim:  # NumPy inserts at a lone number as ``a[:, 0] = values`` writes
            given = moveaxis(_of_ndim(given, source.ndim), 0, axis)
        return _inserted_at(source, number % extent if number < 0 else number, given, axis)
    return _inserted(source, positions, values, axis)


def _positions(obj: Any, extent: int) -> Any:
    """Positions as an array, on the host where they have been given there."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(extent), dtype=np.intp)
    found = obj if isinstance(obj, DeviceArray) else np.array(obj)
    if found.dtype == bool:
        if found.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        return found.nonzero()[0]
    if found.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if not found.size and not isinstance(obj, np.ndarray | DeviceArray):
        return found.astype(np.intp)
    if found.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return found


def _of_ndim(values: DeviceArray, ndim: int) -> DeviceArray:
    return values.reshape((1,) * (ndim - values.ndim) + values.shape) if values.ndim < ndim else values


def _inserted_at(source: DeviceArray, number: int, values: DeviceArray, axis: int) -> DeviceArray:
    """With slices before one position: three windows are written."""
    values = _of_ndim(values, source.ndim)
    count = values.shape[axis]
    made = _longer(source, count, axis)
    whole = (slice(None),) * axis
    copyto(made[(*whole, slice(number))], source[(*whole, slice(number))])
    made[(*whole, slice(number, number + count))] = values
    copyto(made[(*whole, slice(number + count, None))], source[(*whole, slice(number, None))])
    return made


def _longer(source: DeviceArray, count: int, axis: int) -> DeviceArray:
    shape = list(source.shape)
    shape[axis] += count
    return empty(shape, source.dtype, _order(source), device=source.device)


def _order(source: DeviceArray) -> str:
    return "F" if source.flags.fnc else "C"


def _inserted(source: DeviceArray, positions: Any, values: Any, axis: int) -> DeviceArray:
    """With a slice before each of several positions."""
    extent, count = source.shape[axis], positions.size
    numbers, ordered = _places(positions, extent)
    whole = (slice(None),) * axis
    if extent <= 1:  # what one slice there is stands wherever nothing is inserted
        made = _longer(source, count, axis)
        if extent:
            copyto(made, source)
    elif isinstance(ordered, np.ndarray) and count <= FEW:
        made = _longer(source, count, axis)
        cuts = [-1, *ordered.tolist(), extent + count]
        for before, (last, following) in enumerate(pairwise(cuts)):
            if following - last > 1:
                kept = source[(*whole, slice(last + 1 - before, following - before))]
                copyto(made[(*whole, slice(last + 1, following))], kept)
    else:
        number = arange(extent + count, device=source.device)
        rank = searchsorted(as_array(ordered, source.device), number, "right")
        made = take(source, number - rank, axis, mode="clip")
        if _order(source) == "F":
            made = made.copy("F")
    made[(*whole, numbers)] = values
    return made


def _places(positions: Any, extent: int) -> tuple[Any, Any]:
    """Where in the result each of several slices stands, and these places in order."""
    total = extent + positions.size
    numbers: Any = positions.astype(np.int64)
    numbers = numbers + (numbers < 0) * extent
    if isinstance(numbers, DeviceArray):
        numbers[argsort(numbers, stable=True)] += arange(numbers.size, device=numbers.device)
    else:
        numbers[np.argsort(numbers, kind="stable")] += np.arange(numbers.size)
    wrong = (numbers < -total) | (numbers >= total)
    if bool(wrong.any()):
        found = int(numbers[wrong][0])
        raise IndexError(f"index {found} is out of bounds for axis 0 with size {total}")
    numbers = numbers % total if total else numbers
    ordered = sort(numbers) if isinstance(numbers, DeviceArray) else np.sort(numbers)
    if extent != 1 and bool((ordered[1:] == ordered[:-1]).any()):  # of numbers that were too small
        raise ValueError(f"positions are out of bounds for an axis of size {extent}")
    return numbers, ordered


@keeps_numbers
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Return a view of an array without the zeros at its ends.

    Parameters
    ----------
    filt : array_like
    trim : {'fb', 'f', 'b'}, optional
        Trim at the front ('f'), at the back ('b') or at both ends ('fb').
    axis : int or sequence of int, optional
        Axes along which slices of zeros only are trimmed. All by default.

    Returns
    -------
    DeviceArray
        A list if `filt` is a list, and a tuple if it is a tuple.

    Raises
    ------
    ValueError
        `trim` has other letters.

    Examples
    --------
    >>> import clarray
    >>> clarray.trim_zeros(clarray.asarray([0, 0, 1, 2, 0]))
    array([1, 2])
    """
    source = as_array(filt)
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {sides!r}")
    axes = range(source.ndim) if axis is None else normalize_axis_tuple(axis, source.ndim)
    if not axes:
        return source
    filled = source != 0
    key = [slice(None)] * source.ndim
    for one in axes:
        start, stop = _ends(filled.any(axis=tuple(a for a in range(source.ndim) if a != one)))
        front, back = ("f" in sides or not stop), ("b" in sides or not stop)
        key[one] = slice(start if front else None, stop if back else None)
    if isinstance(filt, list | tuple) and source.ndim == 1:
        return filt[key[0]]
    return source[tuple(key)]


def _ends(line: DeviceArray) -> tuple[int, int]:
    """The first element set, and the position after the last; both 0 where none is."""
    if not line.size or not bool(line.any()):
        return 0, 0
    return int(line.argmax()), line.size - int(line[::-1].argmax())
