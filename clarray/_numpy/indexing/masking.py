"""Select and write elements by a mask: compress, extract, nonzero, place, putmask, delete."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import as_array, copy, ones
from clarray._core.device_array import DeviceArray, check_target, wrap
from clarray._core.views import view_of
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate, positions
from clarray._engine.expr import build
from clarray._engine.expr.axes import line_axis, normalize_axis
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, contiguous
from clarray._engine.runtime.capture import current_capture
from clarray._engine.speedups import captured, captured_writes
from clarray._numpy.indexing.gathering import as_separate_leaf, check_out, deliver, resize_cyclic
from clarray._numpy.indexing.index_arrays import flat_selection

__all__ = [
    "argwhere",
    "compress",
    "delete",
    "extract",
    "flatnonzero",
    "nonzero",
    "place",
    "putmask",
]

_BOOL = np.dtype(bool)


def select_by_mask(array: DeviceArray, mask: Node) -> DeviceArray:
    """Return the elements that a mask of the array's shape selects. They stay pending until their number is needed."""
    node = build.compress(array._node, mask, evaluate)
    # memory that the user may change must be read now
    return ufunc_calls.evaluate_if_eager(node)


def _as_mask(a: Any) -> DeviceArray:
    return wrap(ufunc_calls.cast(as_array(a)._node, _BOOL))


@with_device_lock("out")
def compress(condition: Any, a: Any, axis: Any = None, out: DeviceArray | None = None) -> DeviceArray:
    """Take the elements, or the slices along an axis, for which a condition is true.

    Parameters
    ----------
    condition : array_like of bool
        One axis. If it is shorter than the axis of `a`, the rest of `a` is left out.
    a : array_like
    axis : int, optional
        By default all elements count, in C order.
    out : DeviceArray, optional
        Where to write the result: an array of the same shape.

    Returns
    -------
    DeviceArray

    Raises
    ------
    IndexError
        The condition is true beyond the end of `a`.

    Examples
    --------
    >>> import clarray
    >>> clarray.compress([True, False, True], [10, 20, 30]).tolist()
    [10, 30]
    """
    device = ufunc_calls.device_of_operands((condition, a, out))
    mask = _as_mask(as_array(condition, device))
    if axis is not None:
        operator.index(axis)  # NumPy objects to the axis before the condition
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    array = as_array(a, device)
    axis = None if axis is None else line_axis(axis, array.ndim)
    if axis is None or not array.ndim:
        array, axis = array.reshape(-1), 0
    extent = array.shape[axis]
    if mask.size > extent and 0 not in array.shape[:axis]:  # NumPy checks no mask for a result without elements
        surplus = mask[extent:]
        if bool(surplus.any()):
            first = extent + int(surplus.argmax())
            raise IndexError(f"index {first} is out of bounds for axis {axis} with size {extent}")
        mask = mask[:extent]
    if array.ndim == 1:
        compressed = select_by_mask(array if mask.size == extent else array[: mask.size], mask._node)
    else:
        selection = flat_selection(view_of(array), positions(mask._node), first=axis, stop=axis + 1)
        compressed = wrap(launchers.gather.gather_selection(array._node, selection))
    if out is not None:
        check_out(out, compressed.shape, compressed.dtype)
    return deliver(compressed, out)


def extract(condition: Any, arr: Any) -> DeviceArray:
    """Take the elements for which a condition is true. See `compress`.

    Parameters
    ----------
    condition : array_like
        As many elements as `arr` has, counted in C order.
    arr : array_like

    Returns
    -------
    DeviceArray
        An array of one axis.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> clarray.extract(x > 1, x)
    array([2, 3, 4])
    """
    device = ufunc_calls.device_of_operands((condition, arr))
    flat = as_array(condition, device).reshape(-1)
    return compress(flat, as_array(arr, device).reshape(-1))


# Positions ----------------------------------------------------------------------------------------


@captured(operands=1)
def nonzero(a: Any) -> tuple[DeviceArray, ...]:
    """Find the indices of the elements that are not zero, in C order.

    Parameters
    ----------
    a : array_like
        An array of one axis or more.

    Returns
    -------
    tuple of DeviceArray
        One array of indices per axis.

    Raises
    ------
    ValueError
        `a` has no axis.

    Examples
    --------
    >>> import clarray
    >>> [i.tolist() for i in clarray.nonzero([[0, 5], [7, 0]])]
    [[0, 1], [1, 0]]
    """
    mask = _as_mask(a)
    if not mask.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    flat = wrap(positions(mask._node))
    if mask.ndim == 1:
        return (flat,)
    return tuple(_axis_positions(flat, axis, mask.shape) for axis in range(mask.ndim))


def _axis_positions(flat: DeviceArray, axis: int, shape: Shape) -> DeviceArray:
    """Return the positions along an axis of elements with the given flat indices."""
    step = contiguous(shape)[axis]
    rounded = flat // step if step > 1 else flat
    return rounded % max(shape[axis], 1) if axis else rounded  # an extent may be 0


@captured(operands=1)
def flatnonzero(a: Any) -> DeviceArray:
    """Find the positions of the elements that are not zero, counted in C order.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    DeviceArray
        An array of one axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.flatnonzero([[0, 5], [7, 0]])
    array([1, 2])
    """
    return wrap(positions(_as_mask(a)._node))


@captured(operands=1)
def argwhere(a: Any) -> DeviceArray:
    """Find the indices of the elements that are not zero, one row per element.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    DeviceArray
        An array of shape ``(number of elements, a.ndim)``.

    Examples
    --------
    >>> import clarray
    >>> clarray.argwhere([[0, 5], [7, 0]])
    array([[0, 1],
           [1, 0]])
    """
    mask = _as_mask(a)
    flat = wrap(positions(mask._node))
    if not mask.ndim:
        return wrap(flat._node).reshape((1, flat.size))[:0].T
    device = mask.device
    steps = as_array(np.array(contiguous(mask.shape)).reshape(-1, 1), device)
    extents = as_array(np.array([max(1, n) for n in mask.shape]).reshape(-1, 1), device)
    indices: DeviceArray = flat // steps % extents
    return indices.T


# Writing ------------------------------------------------------------------------------------------


def _writeable_target(arr: Any, name: str) -> DeviceArray:
    array = check_target(arr, f"argument 1 of {name} must be a clarray array, not {{}}")
    view_of(array)
    array.check_writeable()
    return array


def _cast_values(values: Any, array: DeviceArray, write: Callable[..., None]) -> DeviceArray:
    """Cast values to the array's dtype by the rules of NumPy's function `write`, and flatten them to one axis.

    Device arrays need a safe cast. A 0-d array may replace a NumPy scalar, which any cast converts by its value.
    """
    if isinstance(values, DeviceArray):
        values = values.astype(array.dtype, casting="safe" if values.ndim else "unsafe", copy=False)
    elif getattr(values, "dtype", None) != array.dtype:
        cast_values = np.empty(np.size(values), array.dtype)
        write(cast_values, np.ones(cast_values.shape, bool), values)
        values = cast_values
    return as_array(values, array.device).reshape(-1)


def _matching_mask(array: DeviceArray, mask: Any, name: str) -> DeviceArray:
    """Return a mask argument in the shape of the array, or raise the function's ValueError for another size."""
    device_mask = _as_mask(as_array(mask, array.device))
    if device_mask.size != array.size:
        raise ValueError(f"{name}: mask and data must be the same size")
    return device_mask if device_mask.shape == array.shape else device_mask.reshape(array.shape)


@captured_writes
def place(arr: DeviceArray, mask: Any, vals: Any) -> None:
    """Set the elements that a mask selects to values, one after the other, in place.

    Parameters
    ----------
    arr : DeviceArray
    mask : array_like of bool
        As many elements as `arr` has.
    vals : array_like
        The values. They are repeated if there are fewer than selected elements.

    Raises
    ------
    ValueError
        `vals` is empty, but the mask selects elements.

    See Also
    --------
    putmask : Write the value at the element's own position.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4, int)
    >>> clarray.place(x, [False, True, False, True], [7, 8])
    >>> x
    array([0, 7, 0, 8])
    """
    array = _writeable_target(arr, "place")
    mask = _matching_mask(array, mask, "place")
    values = _cast_values(vals, array, np.place)
    if not values.size:
        if bool(mask.any()):
            raise ValueError("Cannot insert from an empty array!")
        return
    flat_indices = positions(mask._node)
    if not flat_indices.size:
        return
    stored = as_separate_leaf(resize_cyclic(values._node, flat_indices.size), array._node, flat_indices.shape)
    selection = flat_selection(view_of(array), flat_indices)
    launchers.gather.scatter_selection(array._node, selection, stored, once=True)


@captured_writes
def putmask(a: DeviceArray, mask: Any, values: Any) -> None:
    """Set each element that a mask selects to the value at the same position, in place.

    Parameters
    ----------
    a : DeviceArray
    mask : array_like of bool
        As many elements as `a` has.
    values : array_like
        The values, repeated to the size of `a`.

    Raises
    ------
    TypeError
        `a` is not a device array.
    ValueError
        `mask` does not have as many elements as `a`.

    See Also
    --------
    place : Write the values one after the other.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4, int)
    >>> clarray.putmask(x, [False, True, False, True], [5, 6, 7, 8])
    >>> x
    array([0, 6, 0, 8])
    """
    array = _writeable_target(a, "putmask")
    mask = _matching_mask(array, mask, "putmask")
    values = _cast_values(values, array, np.putmask)
    if not values.size or not array.size:
        return
    node = resize_cyclic(values._node, array.size)
    if node.size == array.size:
        node = wrap(node).reshape(array.shape)._node
    ufunc_calls.assign(array, node, mask._node)


@captured(operands=1)
def delete(arr: Any, obj: Any, axis: Any = None) -> DeviceArray:
    """Return a copy of an array without some of its slices along an axis.

    Parameters
    ----------
    arr : array_like
    obj : int, slice, or array of int or bool
        The slices to leave out.
    axis : int, optional
        By default elements are left out of the flattened array, in C order.

    Returns
    -------
    DeviceArray
        A copy.

    Raises
    ------
    IndexError
        An index is out of bounds.
    ValueError
        A mask does not have the length of the axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.delete([10, 20, 30, 40], [0, 2])
    array([20, 40])
    """
    device = ufunc_calls.device_of_operands((arr, obj))
    array = as_array(arr, device)
    if axis is None:
        array = array.reshape(-1) if array.ndim != 1 else array
        axis = array.ndim - 1
    axis = normalize_axis(axis, array.ndim)
    obj = _normalize_deletion(obj)
    keep_mask = _keep_mask(obj, array.shape[axis], axis, device)
    if keep_mask is None:
        return copy(array, "K")
    shortened = compress(keep_mask, array, axis)
    if current_capture() is not None:
        shortened.evaluate()  # a program has no pending selections
    return copy(shortened, "F") if isinstance(obj, int | slice) and array.flags.fnc else shortened


def _normalize_deletion(obj: Any) -> Any:
    """Convert the argument of `delete`: a single integer to an int, anything else but a slice to an array."""
    if isinstance(obj, int | np.integer | slice) and not isinstance(obj, bool):
        return obj if isinstance(obj, slice) else operator.index(obj)
    array = obj if isinstance(obj, DeviceArray) else np.asarray(obj)
    if array.dtype.kind in "iu" and array.size == 1:
        return int(array.item())
    return array if array.size or array.dtype == bool or isinstance(obj, DeviceArray) else array.astype(np.intp)


def _keep_mask(obj: Any, extent: int, axis: int, device: Any) -> DeviceArray | None:
    """Return the mask of the slices that `delete` keeps. None if it keeps all."""
    if isinstance(obj, DeviceArray | np.ndarray) and obj.dtype == bool:
        if obj.shape != (extent,):
            raise ValueError(
                f"boolean array argument obj to delete must be one dimensional and match the axis length of {extent}"
            )
        return ~as_array(obj, device)
    if isinstance(obj, int) and not -extent <= obj < extent:
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {extent}")
    if isinstance(obj, slice) and not len(range(*obj.indices(extent))):
        return None
    keep_mask = ones(extent, _BOOL, device=device)
    keep_mask[obj] = False
    return keep_mask
