"""Basic indexing: integers, slices, Ellipsis and newaxis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from clarray._engine.expr.view import MAX_DIMENSIONS, Shape, View

_INVALID_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


def _as_index(item: Any) -> int:
    try:
        number = operator.index(item)
    except TypeError:
        raise IndexError(_INVALID_INDEX) from None
    if not -(2**63) <= number < 2**63:
        raise IndexError(_INVALID_INDEX)
    return number


def slice_indices(key: slice, extent: int) -> tuple[int, int, int]:
    """Return ``key.indices(extent)``, or raise the error that a sequence raises: Python 3.15 has two messages."""
    try:
        return key.indices(extent)
    except TypeError:
        try:
            operator.getitem((), key)
        except TypeError as error:
            raise error from None
        raise


def index(view: View, key: Any) -> View:
    """Return ``view[key]`` for a key of integers, slices, Ellipsis and newaxis.

    Raises
    ------
    IndexError
        An integer is out of bounds, there are too many integers, or a key is no index.
    ValueError
        A slice has step zero.
    """
    shape, strides, offset = view
    items, used = _expand(key if type(key) is tuple else (key,), len(shape))
    new_shape: list[int] = []
    new_strides: list[int] = []
    axis = 0
    for item in items:
        if item is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        extent, stride = shape[axis], strides[axis]
        if type(item) is slice:
            start, stop, step = slice_indices(item, extent)
            count = len(range(start, stop, step))
            if count:  # an empty slice keeps its offset, so that no offset leaves the memory
                offset += start * stride
                stride *= step if count > 1 else 1
            new_shape.append(count)
            new_strides.append(stride)
        else:
            if not -extent <= item < extent:
                raise IndexError(f"index {item} is out of bounds for axis {axis} with size {extent}")
            offset += (item + extent if item < 0 else item) * stride
        axis += 1
    if (n := len(new_shape) + len(shape) - used) > MAX_DIMENSIONS:
        raise IndexError(f"number of dimensions must be within [0, {MAX_DIMENSIONS}], indexing result would have {n}")
    return View(
        (*new_shape, *shape[used:]),
        (*new_strides, *strides[used:]),
        offset,
    )


_INTEGERS = frozenset(np.dtype(letter).type for letter in np.typecodes["AllInteger"])


def index_plainly(shape: Shape, strides: Shape, offset: int, key: Any) -> tuple[Shape, Shape, int] | None:
    """Return the view of a key of ints and slices; None for any other key, and if it is out of bounds.

    This is on the path of every access to an array. `index` handles the other keys, and raises the errors.
    """
    kind = type(key)
    if kind is int or kind is slice or kind in _INTEGERS:
        key = (key,)
    elif kind is not tuple:
        return None
    if len(key) > len(shape):
        return None
    new_shape = []
    new_strides = []
    axis = 0
    for item in key:
        extent = shape[axis]
        stride = strides[axis]
        kind = type(item)
        if kind is slice:
            start, stop, step = slice_indices(item, extent)
            count = stop - start if step == 1 else len(range(start, stop, step))
            if count > 0:
                offset += start * stride
                if count > 1:
                    stride *= step
            else:
                count = 0
            new_shape.append(count)
            new_strides.append(stride)
        elif kind is int or kind in _INTEGERS:
            item = int(item)
            if item < 0:
                item += extent
            if not 0 <= item < extent:
                return None
            offset += item * stride
        else:
            return None
        axis += 1
    if axis < len(shape):
        return (*new_shape, *shape[axis:]), (*new_strides, *strides[axis:]), offset
    return tuple(new_shape), tuple(new_strides), offset


_WHOLE = slice(None)


def _expand(items: tuple[Any, ...], ndim: int) -> tuple[list[Any], int]:
    """Replace Ellipsis by slices and convert integers to int; also return the number of axes that the key uses."""
    expanded: list[Any] = []
    ellipsis = -1
    used = 0
    for item in items:
        if item is Ellipsis:
            if ellipsis >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = len(expanded)
        elif item is None:
            expanded.append(None)
        else:
            expanded.append(item if type(item) is slice else _as_index(item))
            used += 1
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    if ellipsis >= 0:
        expanded[ellipsis:ellipsis] = [_WHOLE] * (ndim - used)
        used = ndim
    return expanded, used
