"""New arrays put together from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array, ascontiguousarray
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.operands import weak_type
from clarray._core.writes import one_hold
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import normalize_axis, strict_axis
from clarray._engine.expr.overlap import joined_strides
from clarray._engine.expr.result_layout import layout_of
from clarray._engine.expr.view import View, contiguous
from clarray._engine.runtime import Device
from clarray._engine.speedups import recorded
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


@recorded
@one_hold("out")
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
    given = list(arrays)
    if axis is None:
        parts = [ravel(part) for part in _on_one_device(_strong(given), out)]
        axis = 0
    else:
        parts = _on_one_device(given, out)
    shape, axis = _joined_shape(parts, axis)
    if out is not None:
        if dtype is not None:
            raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
        check_is_array(out)
        if out.shape != shape:
            raise ValueError("Output array is the wrong shape")
        out.check_writeable()
        wanted = out.dtype
    else:
        wanted = np.result_type(*(part.dtype for part in parts)) if dtype is None else np.dtype(dtype)
    for kind in dict.fromkeys(part.dtype for part in parts):
        if not np.can_cast(kind, wanted, casting):
            raise TypeError(f"Cannot cast array data from {kind!r} to {wanted!r} according to the rule '{casting}'")
    if out is None:
        return _joined(parts, shape, axis, wanted)
    if any(part._node.memory is out._node.memory for part in parts):
        _write(out, parts, axis)  # as NumPy: a part may be read after an earlier one has been written over it
    else:  # in one step, between whose parts no other thread can read the output
        copyto(out, _joined(parts, shape, axis, wanted), "unsafe")
    return out


def _joined(parts: list[DeviceArray], shape: tuple[int, ...], axis: int, dtype: np.dtype) -> DeviceArray:
    plain = all(part._node.memory is not None and part._node.contiguous for part in parts)  # what most parts are
    strides = contiguous(shape) if plain else joined_strides([layout_of(part._node) for part in parts], shape)
    made = _new(shape, dtype, strides, parts[0].device)
    rows = prod(shape[:axis])
    filled = [part for part in parts if part.size]
    lengths = [part.size // rows for part in filled]
    if made._node.contiguous and launchers.join.is_worth_joining(made.device, rows, lengths, dtype.itemsize):
        launchers.join.join([evaluate(ascontiguousarray(part, dtype)._node) for part in filled], rows, made._node)
    else:
        _write(made, parts, axis)
    return made


def _write(made: DeviceArray, parts: list[DeviceArray], axis: int) -> None:
    """Write each part to its window."""
    at = 0
    for part in parts:
        count = part.shape[axis]
        if part.size:
            copyto(made[(slice(None),) * axis + (slice(at, at + count),)], part, "unsafe")
        at += count


concat = concatenate


def _on_one_device(given: list[Any], *others: Any) -> list[DeviceArray]:
    device = ufunc_calls.device_of_operands((*given, *others))
    return [as_array(a, device) for a in given]


def _strong(given: list[Any]) -> list[Any]:
    """The same, Python's scalars in the dtype that they take beside the others."""
    if all(weak_type(x) is None for x in given):
        return given
    kinds = [x if weak_type(x) is not None else getattr(x, "dtype", None) or np.asarray(x).dtype for x in given]
    dtype = np.result_type(*kinds)
    # an int that the dtype does not hold wraps, as NumPy converts arrays here
    return [x if weak_type(x) is None else np.asarray(x).astype(dtype) for x in given]


def _new(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...], device: Device) -> DeviceArray:
    """A new array of these strides."""
    return wrap(new_leaf(device, shape, device_dtype(dtype, device), "K", View(shape, strides)))


def _joined_shape(parts: list[DeviceArray], axis: int) -> tuple[tuple[int, ...], int]:
    if not parts:
        raise ValueError("need at least one array to concatenate")
    first = parts[0].shape
    if not first:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = strict_axis(axis, len(first))
    shape = list(first)
    for number, part in enumerate(parts[1:], 1):
        if part.ndim != len(first):
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at "
                f"index 0 has {len(first)} dimension(s) and the array at index {number} has "
                f"{part.ndim} dimension(s)"
            )
        for i, extent in enumerate(part.shape):
            if i != axis and extent != first[i]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {i}, the array at index 0 has size "
                    f"{first[i]} and the array at index {number} has size {extent}"
                )
        shape[axis] += part.shape[axis]
    return tuple(shape), axis


# Stacks -------------------------------------------------------------------------------------------


def _to_stack(arrays: Any, *others: Any) -> list[DeviceArray]:
    if not hasattr(arrays, "__getitem__"):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return _on_one_device(list(arrays), *others)


@recorded
@one_hold("out")
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
    wide = [expand_dims(part, axis) for part in parts]
    return concatenate(wide, axis, out, dtype=dtype, casting=casting)


def _rows(result: Any) -> list[DeviceArray]:
    return list(result) if isinstance(result, tuple) else [result]


@recorded
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


@recorded
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


@recorded
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


@recorded
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


@recorded(operands=2)
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
    parts = _on_one_device([arr, values])
    if axis is None:
        parts, axis = [ravel(part) for part in parts], 0
    return concatenate(parts, axis)


# Blocks -------------------------------------------------------------------------------------------

Placed = list[tuple[DeviceArray, tuple[int, ...]]]  # arrays, and where in the result they begin


@recorded
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
        _refuse(arrays)
    leaves = list(_leaves(arrays))
    blocks = iter(_on_one_device(leaves))
    nested = _replaced(arrays, blocks)
    ndim = max(depth, *(leaf.ndim for leaf in _leaves(nested)))
    found = _arranged(nested, ndim - depth, ndim)
    if found is None:
        _refuse(arrays)
    like, placed = found
    parts = [part for part, _ in placed]
    strides = like.strides if depth and depth * prod(like.shape) <= _JOINED else _strides_of_block(like.shape, parts)
    made = _new(like.shape, np.result_type(*(p.dtype for p in parts)), strides, parts[0].device)
    for part, start in placed:
        copyto(made[(*(slice(s, s + n) for s, n in zip(start, part.shape, strict=True)), ...)], part)
    return no_number(made)


_JOINED = 2 * 512 * 512  # elements, times the lists' depth, up to which NumPy joins blocks list by list


def _strides_of_block(shape: tuple[int, ...], parts: list[DeviceArray]) -> tuple[int, ...]:
    """The layout of a large result, or a lone block: Fortran order where all blocks, and not C order, is theirs."""
    views = [layout_of(part._node) for part in parts]
    fortran = all(v.f_contiguous for v in views) and not all(v.contiguous for v in views)
    return contiguous(shape[::-1])[::-1] if fortran and len(parts) > 1 else contiguous(shape)


def _depth(nested: Any) -> int | None:
    """Return the depth of the lists; None if depths differ, a list is empty, or there is a tuple."""
    if isinstance(nested, tuple):
        return None
    if not isinstance(nested, list):
        return 0
    depths = {_depth(one) for one in nested}
    depth = depths.pop() if len(depths) == 1 else None
    return None if depth is None else depth + 1


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for one in nested:
            yield from _leaves(one)
    else:
        yield nested


def _replaced(nested: Any, leaves: Iterator[Any]) -> Any:
    """The same lists with other leaves, in order."""
    return [_replaced(one, leaves) for one in nested] if isinstance(nested, list) else next(leaves)


def _arranged(nested: Any, axis: int, ndim: int) -> tuple[View, Placed] | None:
    """Return the arrangement of nested blocks and the start of each; None if they do not fit together."""
    if not isinstance(nested, list):
        part = reshape(nested, (1,) * (ndim - nested.ndim) + nested.shape)
        return layout_of(part._node), [(part, (0,) * ndim)]
    extent = 0
    views = []
    placed: Placed = []
    for one in nested:
        found = _arranged(one, axis + 1, ndim)
        if found is None:
            return None
        view, inner = found
        placed += [(part, (*at[:axis], at[axis] + extent, *at[axis + 1 :])) for part, at in inner]
        extent += view.shape[axis]
        views.append(view)
    if len({view.shape[:axis] + view.shape[axis + 1 :] for view in views}) > 1:
        return None
    shape = (*view.shape[:axis], extent, *view.shape[axis + 1 :])
    return View(shape, joined_strides(views, shape)), placed


def _refuse(nested: Any) -> NoReturn:
    """Raise what NumPy raises for blocks of these shapes."""

    def stand_ins(one: Any) -> Any:
        if isinstance(one, list | tuple):
            return type(one)(map(stand_ins, one))
        return np.broadcast_to(np.uint8(0), one.shape if isinstance(one, DeviceArray) else np.shape(one))

    np.block(stand_ins(nested))
    raise AssertionError("NumPy accepts blocks that clarray refused: please report it")
