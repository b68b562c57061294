"""New arrays put together from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clarray.array import DeviceArray
from clarray.creation import asarray, empty
from clarray.expr.view import normalize_axis
from clarray.indexing import copyto
from clarray.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    ravel,
    reshape,
)

__all__ = [
    *("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "append"),
]


def concatenate(
    arrays: Sequence[Any],
    /,
    axis: int | None = 0,
    out: DeviceArray | None = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> DeviceArray:
    """Join arrays along an axis that they have; see `numpy.concatenate`.

    Parameters
    ----------
    arrays : sequence of array_like
        Of the same shape except along `axis`.
    axis : int, optional
        None flattens them first.
    out : DeviceArray, optional
        Where to put the result.
    dtype : dtype, optional
        The result's; NumPy's promotion when None.
    casting : str, optional
        What conversions are allowed.
    """
    parts = [asarray(a) for a in arrays]
    if axis is None:
        parts = [ravel(part) for part in parts]
        axis = 0
    shape, axis = _joined_shape(parts, axis)
    if out is not None:
        if dtype is not None:
            raise TypeError(
                "concatenate() only takes `out` or `dtype` as an argument, but both were provided."
            )
        if out.shape != shape:
            raise ValueError("Output array is the wrong shape")
    elif dtype is None:
        dtype = np.result_type(*(part.dtype for part in parts))
    for part in parts:
        wanted = np.dtype(dtype) if out is None else out.dtype
        if not np.can_cast(part.dtype, wanted, casting):
            raise TypeError(
                f"Cannot cast array data from {part.dtype!r} to {wanted!r} "
                f"according to the rule '{casting}'"
            )
    made = empty(shape, dtype, device=parts[0].device) if out is None else out
    at = 0
    for part in parts:
        count = part.shape[axis]
        copyto(made[(slice(None),) * axis + (slice(at, at + count),)], part, "unsafe")
        at += count
    return made


concat = concatenate


def _joined_shape(parts: list[DeviceArray], axis: int) -> tuple[tuple[int, ...], int]:
    if not parts:
        raise ValueError("need at least one array to concatenate")
    first = parts[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, first.ndim)
    shape = list(first.shape)
    for number, part in enumerate(parts[1:], 1):
        if part.ndim != first.ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at "
                f"index 0 has {first.ndim} dimension(s) and the array at index {number} has "
                f"{part.ndim} dimension(s)"
            )
        for i, extent in enumerate(part.shape):
            if i != axis and extent != first.shape[i]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {i}, the array at index 0 has size "
                    f"{first.shape[i]} and the array at index {number} has size {extent}"
                )
        shape[axis] += part.shape[axis]
    return tuple(shape), axis


def stack(
    arrays: Iterable[Any],
    axis: int = 0,
    out: DeviceArray | None = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> DeviceArray:
    """Join arrays of one shape along a new axis."""
    parts = [asarray(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({part.shape for part in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, parts[0].ndim + 1)
    wide = [expand_dims(part, axis) for part in parts]
    return concatenate(wide, axis, out, dtype=dtype, casting=casting)


def _rows(result: Any) -> list[DeviceArray]:
    return list(result) if isinstance(result, tuple) else [result]


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> DeviceArray:
    """Join arrays along axis 0; 1-d arrays become rows."""
    return concatenate(_rows(atleast_2d(*tup)), 0, dtype=dtype, casting=casting)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> DeviceArray:
    """Join arrays along axis 1 (axis 0 of 1-d arrays)."""
    parts = _rows(atleast_1d(*tup))
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return concatenate(parts, axis, dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> DeviceArray:
    """Join arrays along axis 2."""
    return concatenate(_rows(atleast_3d(*tup)), 2)


def column_stack(tup: Sequence[Any]) -> DeviceArray:
    """Join arrays along axis 1; 1-d arrays become columns."""
    parts = [asarray(a) for a in tup]
    return concatenate([p if p.ndim > 1 else reshape(p, (-1, 1)) for p in parts], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> DeviceArray:
    """Join two arrays along an axis, or flattened."""
    return concatenate((arr, values), axis)
