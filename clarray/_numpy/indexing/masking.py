"""Elements chosen by a mask: compress, extract, nonzero, place, putmask, delete."""

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
from clarray._engine.speedups import captured_writes
from clarray._numpy.indexing.gathering import check_out, cycled, delivered, own_leaf
from clarray._numpy.indexing.index_arrays import select

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


def selected(array: DeviceArray, mask: Node) -> DeviceArray:
    """The elements of an array where a mask of its shape is set: pending, until its size is needed."""
    node = build.compress(array._node, mask, evaluate)
    # the selection of what the user may change cannot wait
    return ufunc_calls.evaluate_if_eager(node)


def _truth(a: Any) -> DeviceArray:
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
    mask = _truth(as_array(condition, device))
    if axis is not None:
        operator.index(axis)  # NumPy objects to the axis before the condition
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    array = as_array(a, device)
    axis = None if axis is None else line_axis(axis, array.ndim)
    if axis is None or not array.ndim:
        array, axis = array.reshape(-1), 0
    extent = array.shape[axis]
    if mask.size > extent and 0 not in array.shape[:axis]:  # else NumPy comes to no element
        beyond = mask[extent:]
        if bool(beyond.any()):
            first = extent + int(beyond.argmax())
            raise IndexError(f"index {first} is out of bounds for axis {axis} with size {extent}")
        mask = mask[:extent]
    if array.ndim == 1:
        found = selected(array if mask.size == extent else array[: mask.size], mask._node)
    else:
        named = select(view_of(array), positions(mask._node), first=axis, stop=axis + 1)
        found = wrap(launchers.gather.gather_selection(array._node, named))
    if out is not None:
        check_out(out, found.shape, found.dtype)
    return delivered(found, out)


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
    mask = _truth(a)
    if not mask.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    flat = wrap(positions(mask._node))
    if mask.ndim == 1:
        return (flat,)
    return tuple(_part(flat, axis, mask.shape) for axis in range(mask.ndim))


def _part(flat: DeviceArray, axis: int, shape: Shape) -> DeviceArray:
    """The positions along one axis of elements counted in C order."""
    step = contiguous(shape)[axis]
    found = flat // step if step > 1 else flat
    return found % max(shape[axis], 1) if axis else found  # one array for each axis, where there is nothing too


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
    return wrap(positions(_truth(a)._node))


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
    mask = _truth(a)
    flat = wrap(positions(mask._node))
    if not mask.ndim:
        return wrap(flat._node).reshape((1, flat.size))[:0].T
    device = mask.device
    steps = as_array(np.array(contiguous(mask.shape)).reshape(-1, 1), device)
    extents = as_array(np.array([max(1, n) for n in mask.shape]).reshape(-1, 1), device)
    found: DeviceArray = flat // steps % extents
    return found.T


# Writing ------------------------------------------------------------------------------------------


def _target(arr: Any, name: str) -> DeviceArray:
    array = check_target(arr, f"argument 1 of {name} must be a clarray array, not {{}}")
    view_of(array)
    array.check_writeable()
    return array


def _values(given: Any, array: DeviceArray, write: Callable[..., None]) -> DeviceArray:
    """Values for NumPy's function `write`, on one axis: arrays are converted only where nothing can be lost.

    A 0-d array may stand for one of NumPy's scalars, which is converted by its value.
    """
    if isinstance(given, DeviceArray):
        given = given.astype(array.dtype, casting="safe" if given.ndim else "unsafe", copy=False)
    elif getattr(given, "dtype", None) != array.dtype:
        cells = np.empty(np.size(given), array.dtype)
        write(cells, np.ones(cells.shape, bool), given)  # converts the host's values by its own rules
        given = cells
    return as_array(given, array.device).reshape(-1)


def _same_size(array: DeviceArray, mask: Any, name: str) -> DeviceArray:
    found = _truth(as_array(mask, array.device))
    if found.size != array.size:
        raise ValueError(f"{name}: mask and data must be the same size")
    return found if found.shape == array.shape else found.reshape(array.shape)


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
    array = _target(arr, "place")
    found = _same_size(array, mask, "place")
    values = _values(vals, array, np.place)
    if not values.size:
        if bool(found.any()):
            raise ValueError("Cannot insert from an empty array!")
        return
    numbers = positions(found._node)
    if not numbers.size:
        return
    stored = own_leaf(cycled(values._node, numbers.size), array._node, numbers.shape)
    named = select(view_of(array), numbers)
    launchers.gather.scatter_selection(array._node, named, stored, once=True)


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
    array = _target(a, "putmask")
    found = _same_size(array, mask, "putmask")
    given = _values(values, array, np.putmask)
    if not given.size or not array.size:
        return
    node = cycled(given._node, array.size)
    if node.size == array.size:
        node = wrap(node).reshape(array.shape)._node
    ufunc_calls.assign(array, node, found._node)


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
    obj = _named(obj)
    kept = _kept(obj, array.shape[axis], axis, device)
    if kept is None:
        return copy(array, "K")
    made = compress(kept, array, axis)
    return copy(made, "F") if isinstance(obj, int | slice) and array.flags.fnc else made


def _named(obj: Any) -> Any:
    """Convert the argument of `delete`: a single number to an int, anything but a slice to an array."""
    if isinstance(obj, int | np.integer | slice) and not isinstance(obj, bool):
        return obj if isinstance(obj, slice) else operator.index(obj)
    found = obj if isinstance(obj, DeviceArray) else np.asarray(obj)
    if found.dtype.kind in "iu" and found.size == 1:
        return int(found.item())
    return found if found.size or found.dtype == bool or isinstance(obj, DeviceArray) else found.astype(np.intp)


def _kept(obj: Any, extent: int, axis: int, device: Any) -> DeviceArray | None:
    """The mask of what `delete` leaves; None for all of it."""
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
    kept = ones(extent, _BOOL, device=device)
    kept[obj] = False
    return kept
