"""Joining of arrays along an axis, and in stacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array, ascontiguousarray
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.operands import weak_type
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import view as views
from clarray._engine.expr.axes import normalize_axis, strict_axis
from clarray._engine.expr.overlap import joined_strides
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import View, contiguous
from clarray._engine.runtime import Device
from clarray._engine.speedups import captured
from clarray._numpy.indexing.gathering import check_is_array
from clarray._numpy.indexing.subscripts import copyto
from clarray._numpy.manipulation.shapes import ravel, reshape

__all__ = [
    "append",
    "column_stack",
    "concat",
    "concatenate",
    "dstack",
    "hstack",
    "stack",
    "vstack",
]


@captured
@with_device_lock("out")
def concatenate(
    arrays: Sequence[Any],
    /,
    axis: int | None = 0,
    out: DeviceArray | None = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> DeviceArray:
    """Join arrays along an existing axis.

    Parameters
    ----------
    arrays : sequence of array_like
        Arrays of the same shape except along `axis`.
    axis : int, optional
        None flattens the arrays first.
    out : DeviceArray, optional
        Where to write the result.
    dtype : dtype, optional
        Type of the result's elements. NumPy's promotion by default.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        Which conversions are allowed.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        There are no arrays, or their shapes do not fit.
    TypeError
        A conversion is not allowed, or both `out` and `dtype` are given.

    Notes
    -----
    Each array is read once and written once. If its parts are large, a pending array is computed directly into the
    result.

    Examples
    --------
    >>> import clarray
    >>> clarray.concatenate([[1, 2], [3]]).tolist()
    [1, 2, 3]
    """
    if not isinstance(arrays, Iterable) or isinstance(arrays, Iterator):
        raise TypeError("The first input argument needs to be a sequence")
    operands = list(arrays)
    if axis is None:
        parts = [ravel(part) for part in as_arrays(_convert_scalars(operands), out)]
        axis = 0
    else:
        parts = as_arrays(operands, out)
    return _concatenate([Part(part, part.shape) for part in parts], axis, out, dtype, casting)


class Part(NamedTuple):
    """An array, and the shape in which it becomes a part of another one: with further axes of length 1."""

    array: DeviceArray
    shape: tuple[int, ...]

    @property
    def layout(self) -> View:
        """The array's layout, or that of the array which a pending one becomes."""
        view = result_view(self.array._node)
        reshaped = view if view.shape == self.shape else views.reshape(view, self.shape)
        assert reshaped is not None  # axes of length 1 are always a view
        return reshaped

    def write(self, target: DeviceArray) -> None:
        """Write the array to a target of the part's shape."""
        slot = target if self.array.shape == self.shape else reshape(target, self.array.shape)
        copyto(slot, self.array, "unsafe")


def _concatenate(parts: list[Part], axis: int, out: DeviceArray | None, dtype: Any, casting: Any) -> DeviceArray:
    shape, axis = _joined_shape([part.shape for part in parts], axis)
    dtypes = dict.fromkeys(part.array.dtype for part in parts)
    if out is not None:
        if dtype is not None:
            raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
        check_is_array(out)
        if out.shape != shape:
            raise ValueError("Output array is the wrong shape")
        out.check_writeable()
        target = out.dtype
    else:
        target = np.result_type(*dtypes) if dtype is None else np.dtype(dtype)
    for source in dtypes:
        if not np.can_cast(source, target, casting):
            raise TypeError(f"Cannot cast array data from {source!r} to {target!r} according to the rule '{casting}'")
    if out is None:
        return _join(parts, shape, axis, target)
    if any(part.array._node.memory is out._node.memory for part in parts):
        _write_parts(out, parts, axis)  # like NumPy, which may read a part after an earlier one has overwritten it
    else:  # in one step, so that no other thread reads a half-written output
        copyto(out, _join(parts, shape, axis, target), "unsafe")
    return out


_FEW = 4  # parts: each of more is too small a share of a memory transaction where the parts alternate


def _join(parts: list[Part], shape: tuple[int, ...], axis: int, dtype: np.dtype) -> DeviceArray:
    nodes = [part.array._node for part in parts]
    usual = all(node.memory is not None and node.contiguous for node in nodes)
    strides = contiguous(shape) if usual else joined_strides([part.layout for part in parts], shape)
    joined = empty_strided(shape, dtype, strides, parts[0].array.device)
    rows = prod(shape[:axis])
    nonempty = [part for part in parts if part.array.size]
    lengths = [part.array.size // rows for part in nonempty]
    pending = sum(part.array._node.memory is None for part in nonempty)
    is_direct = len(nonempty) <= _FEW and pending >= len(nonempty) - 1  # no more launches than to compute parts first
    is_short = launchers.join.is_worth_joining(joined.device, rows, lengths, dtype.itemsize)
    if joined._node.contiguous and is_short and not is_direct:
        sources = [evaluate(ascontiguousarray(part.array, dtype)._node) for part in nonempty]
        launchers.join.join(sources, rows, joined._node)
    else:
        _write_parts(joined, parts, axis)
    return joined


def _write_parts(target: DeviceArray, parts: list[Part], axis: int) -> None:
    """Write the parts one after the other along an axis."""
    start = 0
    for part in parts:
        count = part.shape[axis]
        if part.array.size:
            part.write(target[(slice(None),) * axis + (slice(start, start + count),)])
        start += count


concat = concatenate


def as_arrays(operands: list[Any], *others: Any) -> list[DeviceArray]:
    device = ufunc_calls.device_of_operands((*operands, *others))
    return [as_array(a, device) for a in operands]


def _convert_scalars(operands: list[Any]) -> list[Any]:
    """Convert Python scalars among the operands to the promoted dtype of all operands."""
    if all(weak_type(x) is None for x in operands):
        return operands
    promoted = [x if weak_type(x) is not None else getattr(x, "dtype", None) or np.asarray(x).dtype for x in operands]
    dtype = np.result_type(*promoted)
    # an int that the dtype does not hold wraps, as NumPy converts arrays here
    return [x if weak_type(x) is None else np.asarray(x).astype(dtype) for x in operands]


def empty_strided(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...], device: Device) -> DeviceArray:
    """Return a new array with the given strides."""
    return wrap(new_leaf(device, shape, device_dtype(dtype, device), "K", View(shape, strides)))


def _joined_shape(shapes: list[tuple[int, ...]], axis: int) -> tuple[tuple[int, ...], int]:
    if not shapes:
        raise ValueError("need at least one array to concatenate")
    first = shapes[0]
    if not first:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = strict_axis(axis, len(first))
    shape = list(first)
    for index, other in enumerate(shapes[1:], 1):
        if len(other) != len(first):
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at "
                f"index 0 has {len(first)} dimension(s) and the array at index {index} has "
                f"{len(other)} dimension(s)"
            )
        for i, extent in enumerate(other):
            if i != axis and extent != first[i]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {i}, the array at index 0 has size "
                    f"{first[i]} and the array at index {index} has size {extent}"
                )
        shape[axis] += other[axis]
    return tuple(shape), axis


# Stacks -------------------------------------------------------------------------------------------


def _to_stack(arrays: Any, *others: Any) -> list[DeviceArray]:
    if not hasattr(arrays, "__getitem__"):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return as_arrays(list(arrays), *others)


@captured
@with_device_lock("out")
def stack(
    arrays: Sequence[Any],
    axis: int = 0,
    out: DeviceArray | None = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> DeviceArray:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
    axis : int, optional
        Position of the new axis in the result.
    out, dtype, casting
        As in `concatenate`.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        There are no arrays, or they have different shapes.

    Examples
    --------
    >>> import clarray
    >>> clarray.stack([[1, 2], [3, 4]], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    parts = _to_stack(arrays, out)
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({part.shape for part in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, parts[0].ndim + 1)
    expanded = [Part(part, (*part.shape[:axis], 1, *part.shape[axis:])) for part in parts]
    return _concatenate(expanded, axis, out, dtype, casting)


@captured
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> DeviceArray:
    """Join arrays along axis 0, as rows if they are 1-d.

    Parameters
    ----------
    tup : sequence of array_like
        Arrays of the same shape except along that axis.
    dtype, casting : optional
        As in `concatenate`.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        There are no arrays, or their shapes do not fit.
    TypeError
        `tup` is no sequence, or a conversion is not allowed.

    Examples
    --------
    >>> import clarray
    >>> clarray.vstack([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    rows = [Part(part, (1,) * (2 - part.ndim) + part.shape) for part in _to_stack(tup)]
    return _concatenate(rows, 0, None, dtype, casting)


@captured
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> DeviceArray:
    """Join arrays along axis 1, or axis 0 if they are 1-d. Parameters and errors as in `vstack`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.hstack([[[1], [2]], [[3], [4]]]).tolist()
    [[1, 3], [2, 4]]
    """
    parts = [Part(part, part.shape or (1,)) for part in _to_stack(tup)]
    axis = 0 if parts and len(parts[0].shape) == 1 else 1
    return _concatenate(parts, axis, None, dtype, casting)


@captured
def dstack(tup: Sequence[Any]) -> DeviceArray:
    """Join arrays along axis 2.

    Parameters
    ----------
    tup : sequence of array_like
        Arrays of the same shape except along that axis. Arrays of fewer axes get axes as in `atleast_3d`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.dstack([[1, 2], [3, 4]]).tolist()
    [[[1, 3], [2, 4]]]
    """
    return _concatenate([Part(part, _in_depth(part.shape)) for part in _to_stack(tup)], 2, None, None, "same_kind")


def _in_depth(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of what `atleast_3d` returns for an array of a shape."""
    return shape if len(shape) > 2 else (1,) * (2 - len(shape)) + shape + (1,)


@captured
def column_stack(tup: Sequence[Any]) -> DeviceArray:
    """Join arrays along axis 1, as columns if they are 1-d.

    Parameters
    ----------
    tup : sequence of array_like
        Arrays of the same length along axis 0.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.column_stack([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    columns = [Part(part, part.shape if part.ndim > 1 else (part.size, 1)) for part in _to_stack(tup)]
    return _concatenate(columns, 1, None, None, "same_kind")


@captured(operands=2)
def append(arr: Any, values: Any, axis: int | None = None) -> DeviceArray:
    """Join two arrays along an axis, or flattened.

    Parameters
    ----------
    arr, values : array_like
        Arrays of the same shape except along `axis`.
    axis : int, optional
        None flattens both first.

    Returns
    -------
    DeviceArray
        A new array.

    Raises
    ------
    ValueError
        The shapes are incompatible.

    Examples
    --------
    >>> import clarray
    >>> clarray.append([1, 2], [[3], [4]]).tolist()
    [1, 2, 3, 4]
    """
    parts = as_arrays([arr, values])
    if axis is None:
        parts, axis = [ravel(part) for part in parts], 0
    return concatenate(parts, axis)
