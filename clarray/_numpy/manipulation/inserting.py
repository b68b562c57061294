"""Insertion of slices into an array, and trimming of zeros at its ends."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import ufunc_calls
from clarray._core.creation import array, as_array, empty
from clarray._core.device_array import DeviceArray, preserve_scalars
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.speedups import captured
from clarray._numpy.creation.sequences import arange
from clarray._numpy.indexing.gathering import take
from clarray._numpy.indexing.subscripts import copyto
from clarray._numpy.manipulation.shapes import moveaxis, ravel
from clarray._numpy.sorting.sorting import argsort, searchsorted, sort

__all__ = ["insert", "trim_zeros"]

MAX_COPIES = 64  # inserted slices up to which each run between them is copied by a launch of its own


@captured(operands=1)
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
    positions = _as_positions(obj, extent)
    if positions.size == 1:
        position = int(positions.item())
        if not -extent <= position <= extent:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {extent}")
        block = as_array(values, device) if hasattr(values, "dtype") else array(values, source.dtype, device=device)
        if not positions.ndim:  # for a scalar position, NumPy broadcasts as ``a[:, 0] = values`` does
            block = moveaxis(_prepend_axes(block, source.ndim), 0, axis)
        return _insert_block(source, position % extent if position < 0 else position, block, axis)
    return _insert_slices(source, positions, values, axis)


def _as_positions(obj: Any, extent: int) -> Any:
    """Return positions as an array, on the host unless the caller passed a device array."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(extent), dtype=np.intp)
    indices = obj if isinstance(obj, DeviceArray) else np.array(obj)
    if indices.dtype == bool:
        if indices.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        return indices.nonzero()[0]
    if indices.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if not indices.size and not isinstance(obj, np.ndarray | DeviceArray):
        return indices.astype(np.intp)
    if indices.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return indices


def _prepend_axes(block: DeviceArray, ndim: int) -> DeviceArray:
    return block.reshape((1,) * (ndim - block.ndim) + block.shape) if block.ndim < ndim else block


def _insert_block(source: DeviceArray, position: int, block: DeviceArray, axis: int) -> DeviceArray:
    """Insert a block of slices before one position, by three writes."""
    block = _prepend_axes(block, source.ndim)
    count = block.shape[axis]
    target = _empty_lengthened(source, count, axis)
    leading = (slice(None),) * axis
    copyto(target[(*leading, slice(position))], source[(*leading, slice(position))])
    target[(*leading, slice(position, position + count))] = block
    copyto(target[(*leading, slice(position + count, None))], source[(*leading, slice(position, None))])
    return target


def _empty_lengthened(source: DeviceArray, count: int, axis: int) -> DeviceArray:
    shape = list(source.shape)
    shape[axis] += count
    return empty(shape, source.dtype, _result_order(source), device=source.device)


def _result_order(source: DeviceArray) -> str:
    return "F" if source.flags.fnc else "C"


def _insert_slices(source: DeviceArray, positions: Any, values: Any, axis: int) -> DeviceArray:
    """Insert one slice before each of several positions."""
    extent, count = source.shape[axis], positions.size
    targets, ordered = _result_positions(positions, extent)
    leading = (slice(None),) * axis
    if extent <= 1:  # the only slice fills all positions before the writes below
        output = _empty_lengthened(source, count, axis)
        if extent:
            copyto(output, source)
    elif isinstance(ordered, np.ndarray) and count <= MAX_COPIES:
        output = _empty_lengthened(source, count, axis)
        boundaries = [-1, *ordered.tolist(), extent + count]
        for before, (last, following) in enumerate(pairwise(boundaries)):
            if following - last > 1:
                run = source[(*leading, slice(last + 1 - before, following - before))]
                copyto(output[(*leading, slice(last + 1, following))], run)
    else:
        index = arange(extent + count, device=source.device)
        rank = searchsorted(as_array(ordered, source.device), index, "right")
        output = take(source, index - rank, axis, mode="clip")
        if _result_order(source) == "F":
            output = output.copy("F")
    output[(*leading, targets)] = values
    return output


def _result_positions(positions: Any, extent: int) -> tuple[Any, Any]:
    """Return the positions of the inserted slices in the result, and these positions sorted."""
    total = extent + positions.size
    targets: Any = positions.astype(np.int64)
    targets = targets + (targets < 0) * extent
    if isinstance(targets, DeviceArray):
        targets[argsort(targets, stable=True)] += arange(targets.size, device=targets.device)
    else:
        targets[np.argsort(targets, kind="stable")] += np.arange(targets.size)
    out_of_bounds = (targets < -total) | (targets >= total)
    if bool(out_of_bounds.any()):
        first = int(targets[out_of_bounds][0])
        raise IndexError(f"index {first} is out of bounds for axis 0 with size {total}")
    targets = targets % total if total else targets
    ordered = sort(targets) if isinstance(targets, DeviceArray) else np.sort(targets)
    if extent != 1 and bool((ordered[1:] == ordered[:-1]).any()):  # from negative positions that are out of bounds
        raise ValueError(f"positions are out of bounds for an axis of size {extent}")
    return targets, ordered


@preserve_scalars
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
    nonzero = source != 0
    key = [slice(None)] * source.ndim
    for line_axis in axes:
        start, stop = _nonzero_range(nonzero.any(axis=tuple(a for a in range(source.ndim) if a != line_axis)))
        trim_front, trim_back = ("f" in sides or not stop), ("b" in sides or not stop)
        key[line_axis] = slice(start if trim_front else None, stop if trim_back else None)
    if isinstance(filt, list | tuple) and source.ndim == 1:
        return filt[key[0]]
    return source[tuple(key)]


def _nonzero_range(line: DeviceArray) -> tuple[int, int]:
    """Return the position of the first true element and the one after the last. Both are 0 if there is none."""
    if not line.size or not bool(line.any()):
        return 0, 0
    return int(line.argmax()), line.size - int(line[::-1].argmax())
