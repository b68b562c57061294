"""Joining of arrays along an axis, in stacks and in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array, ascontiguousarray
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.operands import weak_type
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import normalize_axis, strict_axis
from clarray._engine.expr.overlap import joined_strides
from clarray._engine.expr.result_layout import result_view
from clarray._engine.expr.view import View, contiguous
from clarray._engine.runtime import Device
from clarray._engine.speedups import captured
from clarray._numpy.indexing.gathering import check_is_array
from clarray._numpy.indexing.subscripts import copyto
from clarray._numpy.manipulation.ranks import atleast_1d, atleast_2d, atleast_3d
from clarray._numpy.manipulation.shapes import expand_dims, ravel, reshape

__all__ = [
    "append",
    "block",
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
        parts = [ravel(part) for part in _as_arrays(_convert_scalars(operands), out)]
        axis = 0
    else:
        parts = _as_arrays(operands, out)
    shape, axis = _joined_shape(parts, axis)
    if out is not None:
        if dtype is not None:
            raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
        check_is_array(out)
        if out.shape != shape:
            raise ValueError("Output array is the wrong shape")
        out.check_writeable()
        target = out.dtype
    else:
        target = np.result_type(*(part.dtype for part in parts)) if dtype is None else np.dtype(dtype)
    for source in dict.fromkeys(part.dtype for part in parts):
        if not np.can_cast(source, target, casting):
            raise TypeError(f"Cannot cast array data from {source!r} to {target!r} according to the rule '{casting}'")
    if out is None:
        return _join(parts, shape, axis, target)
    if any(part._node.memory is out._node.memory for part in parts):
        _write_parts(out, parts, axis)  # like NumPy, which may read a part after an earlier one has overwritten it
    else:  # in one step, so that no other thread reads a half-written output
        copyto(out, _join(parts, shape, axis, target), "unsafe")
    return out


def _join(parts: list[DeviceArray], shape: tuple[int, ...], axis: int, dtype: np.dtype) -> DeviceArray:
    usual = all(part._node.memory is not None and part._node.contiguous for part in parts)
    strides = contiguous(shape) if usual else joined_strides([result_view(part._node) for part in parts], shape)
    joined = _empty_strided(shape, dtype, strides, parts[0].device)
    rows = prod(shape[:axis])
    nonempty = [part for part in parts if part.size]
    lengths = [part.size // rows for part in nonempty]
    if joined._node.contiguous and launchers.join.is_worth_joining(joined.device, rows, lengths, dtype.itemsize):
        launchers.join.join([evaluate(ascontiguousarray(part, dtype)._node) for part in nonempty], rows, joined._node)
    else:
        _write_parts(joined, parts, axis)
    return joined


def _write_parts(target: DeviceArray, parts: list[DeviceArray], axis: int) -> None:
    """Write the parts one after the other along an axis."""
    start = 0
    for part in parts:
        count = part.shape[axis]
        if part.size:
            copyto(target[(slice(None),) * axis + (slice(start, start + count),)], part, "unsafe")
        start += count


concat = concatenate


def _as_arrays(operands: list[Any], *others: Any) -> list[DeviceArray]:
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


def _empty_strided(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...], device: Device) -> DeviceArray:
    """Return a new array with the given strides."""
    return wrap(new_leaf(device, shape, device_dtype(dtype, device), "K", View(shape, strides)))


def _joined_shape(parts: list[DeviceArray], axis: int) -> tuple[tuple[int, ...], int]:
    if not parts:
        raise ValueError("need at least one array to concatenate")
    first = parts[0].shape
    if not first:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = strict_axis(axis, len(first))
    shape = list(first)
    for index, part in enumerate(parts[1:], 1):
        if part.ndim != len(first):
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at "
                f"index 0 has {len(first)} dimension(s) and the array at index {index} has "
                f"{part.ndim} dimension(s)"
            )
        for i, extent in enumerate(part.shape):
            if i != axis and extent != first[i]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {i}, the array at index 0 has size "
                    f"{first[i]} and the array at index {index} has size {extent}"
                )
        shape[axis] += part.shape[axis]
    return tuple(shape), axis


# Stacks -------------------------------------------------------------------------------------------


def _to_stack(arrays: Any, *others: Any) -> list[DeviceArray]:
    if not hasattr(arrays, "__getitem__"):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return _as_arrays(list(arrays), *others)


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
    expanded = [expand_dims(part, axis) for part in parts]
    return concatenate(expanded, axis, out, dtype=dtype, casting=casting)


def _rows(result: Any) -> list[DeviceArray]:
    return list(result) if isinstance(result, tuple) else [result]


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
    return concatenate(_rows(atleast_2d(*_to_stack(tup))), 0, dtype=dtype, casting=casting)


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
    parts = _rows(atleast_1d(*_to_stack(tup)))
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return concatenate(parts, axis, dtype=dtype, casting=casting)


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
    return concatenate(_rows(atleast_3d(*_to_stack(tup))), 2)


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
    return concatenate([p if p.ndim > 1 else reshape(p, (-1, 1)) for p in _to_stack(tup)], 1)


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
    parts = _as_arrays([arr, values])
    if axis is None:
        parts, axis = [ravel(part) for part in parts], 0
    return concatenate(parts, axis)


# Blocks -------------------------------------------------------------------------------------------

BlockOffsets = list[tuple[DeviceArray, tuple[int, ...]]]  # blocks, each with its start in the result


@captured
def block(arrays: Any) -> DeviceArray:
    """Assemble an array from nested lists of blocks.

    Parameters
    ----------
    arrays : nested list of array_like
        The blocks of the innermost lists are joined along the last axis, those of the lists around them along the axis
        before, and so on. Blocks of fewer axes get axes in front.

    Returns
    -------
    DeviceArray
        A new array. Each block is written to its place in one pass.

    Raises
    ------
    ValueError
        Lists are empty or of different depths, or the shapes do not fit.
    TypeError
        There is a tuple among the lists.

    Examples
    --------
    >>> import clarray
    >>> clarray.block([[clarray.zeros((2, 1), int), clarray.identity(2, int)]]).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    depth = _depth(arrays)
    if depth is None:
        _raise_numpy_error(arrays)
    leaves = list(_leaves(arrays))
    blocks = iter(_as_arrays(leaves))
    nested = _replace_leaves(arrays, blocks)
    ndim = max(depth, *(leaf.ndim for leaf in _leaves(nested)))
    arrangement = _arrange(nested, ndim - depth, ndim)
    if arrangement is None:
        _raise_numpy_error(arrays)
    layout, offsets = arrangement
    parts = [part for part, _ in offsets]
    by_lists = depth and depth * prod(layout.shape) <= _LIST_BY_LIST_LIMIT
    strides = layout.strides if by_lists else _block_strides(layout.shape, parts)
    assembled = _empty_strided(layout.shape, np.result_type(*(p.dtype for p in parts)), strides, parts[0].device)
    for part, start in offsets:
        copyto(assembled[(*(slice(s, s + n) for s, n in zip(start, part.shape, strict=True)), ...)], part)
    return mark_0d_array(assembled)


_LIST_BY_LIST_LIMIT = 2 * 512 * 512  # elements, times the lists' depth, up to which NumPy joins blocks list by list


def _block_strides(shape: tuple[int, ...], parts: list[DeviceArray]) -> tuple[int, ...]:
    """Return the strides of a large result or of a single block: Fortran order if only that is the order of all."""
    layouts = [result_view(part._node) for part in parts]
    fortran = all(v.f_contiguous for v in layouts) and not all(v.contiguous for v in layouts)
    return contiguous(shape[::-1])[::-1] if fortran and len(parts) > 1 else contiguous(shape)


def _depth(nested: Any) -> int | None:
    """Return the depth of the lists; None if depths differ, a list is empty, or there is a tuple."""
    if isinstance(nested, tuple):
        return None
    if not isinstance(nested, list):
        return 0
    depths = {_depth(member) for member in nested}
    depth = depths.pop() if len(depths) == 1 else None
    return None if depth is None else depth + 1


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for member in nested:
            yield from _leaves(member)
    else:
        yield nested


def _replace_leaves(nested: Any, leaves: Iterator[Any]) -> Any:
    """Copy nested lists and replace the leaves in order."""
    return [_replace_leaves(member, leaves) for member in nested] if isinstance(nested, list) else next(leaves)


def _arrange(nested: Any, axis: int, ndim: int) -> tuple[View, BlockOffsets] | None:
    """Return the layout of nested blocks and the start of each, or None if they do not fit together."""
    if not isinstance(nested, list):
        part = reshape(nested, (1,) * (ndim - nested.ndim) + nested.shape)
        return result_view(part._node), [(part, (0,) * ndim)]
    extent = 0
    layouts = []
    offsets: BlockOffsets = []
    for member in nested:
        arrangement = _arrange(member, axis + 1, ndim)
        if arrangement is None:
            return None
        layout, inner_offsets = arrangement
        offsets += [(part, (*start[:axis], start[axis] + extent, *start[axis + 1 :])) for part, start in inner_offsets]
        extent += layout.shape[axis]
        layouts.append(layout)
    if len({layout.shape[:axis] + layout.shape[axis + 1 :] for layout in layouts}) > 1:
        return None
    shape = (*layout.shape[:axis], extent, *layout.shape[axis + 1 :])
    return View(shape, joined_strides(layouts, shape)), offsets


def _raise_numpy_error(nested: Any) -> NoReturn:
    """Raise NumPy's error for blocks of these shapes."""

    def stand_ins(member: Any) -> Any:
        if isinstance(member, list | tuple):
            return type(member)(map(stand_ins, member))
        return np.broadcast_to(np.uint8(0), member.shape if isinstance(member, DeviceArray) else np.shape(member))

    np.block(stand_ins(nested))
    raise AssertionError("NumPy accepts blocks that clarray refused: please report it")
