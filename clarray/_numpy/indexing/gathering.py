"""Gather and scatter elements by position: `take`, `put`, and indexing with index arrays."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, check_target, empty, wrap
from clarray._core.keys import ARRAYS, Key
from clarray._core.operands import array_node
from clarray._core.views import view_of
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.algorithms.gather.selection import IndexSelection, OutOfBounds
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import node as nodes
from clarray._engine.expr.axes import line_axis, normalize_axis
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, View, can_broadcast, contiguous
from clarray._engine.runtime import Memory
from clarray._engine.speedups import captured, captured_writes
from clarray._numpy.indexing import index_arrays

__all__ = ["put", "put_along_axis", "take", "take_along_axis"]

_INT64 = np.dtype(np.int64)
_MODES = ("raise", "wrap", "clip")
_MISMATCH = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"


# Indexing with arrays -----------------------------------------------------------------------------


def gather(array: DeviceArray, key: Key) -> DeviceArray:
    """Copy the elements that a key with index arrays or a mask selects.

    Raises
    ------
    IndexError
        An index is out of bounds, or the index arrays do not broadcast.
    """
    try:
        return wrap(launchers.gather.gather_selection(array._node, index_arrays.index_selection(array, key)))
    except OutOfBounds:
        index_arrays.raise_out_of_bounds(*key.integer_arrays)


def scatter(array: DeviceArray, key: Key, value: Node) -> None:
    """Write to the elements that a key with index arrays or a mask selects. The last value for an element stays.

    Raises
    ------
    IndexError
        An index is out of bounds, or the index arrays do not broadcast. Nothing has been written then.
    ValueError
        The value does not broadcast to the selected elements.
    """
    selection = index_arrays.index_selection(array, key)
    leaf, shape = array._node, selection.result_shape
    by_mask = key.kind is not ARRAYS
    if by_mask and len(shape) == len(value.shape) == 1 and value.size not in (1, *shape):
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {value.size} input values to "
            f"the {shape[0]} output values where the mask is true"
        )
    stored = as_separate_leaf(fit_to_shape(value, shape), leaf, shape)
    try:
        launchers.gather.scatter_selection(leaf, _without_alias(selection, leaf), stored, once=by_mask)
    except OutOfBounds:
        index_arrays.raise_out_of_bounds(*key.integer_arrays)


def fit_to_shape(value: Node, shape: Shape, message: str = _MISMATCH) -> Node:
    """Check that a value broadcasts to a shape, and drop surplus leading axes of one element."""
    value_shape = value.shape
    if value_shape == shape:
        return value
    if not can_assign_shape(value_shape, shape):
        raise ValueError(message.format(*(str(s).replace(" ", "") for s in (value_shape, shape))))
    surplus = len(value_shape) - len(shape)
    return wrap(value).reshape(value_shape[surplus:])._node if surplus > 0 else value


def can_assign_shape(value_shape: Shape, shape: Shape) -> bool:
    """Return whether values broadcast to a shape after their surplus leading axes of one element are dropped."""
    surplus = max(0, len(value_shape) - len(shape))
    return all(n == 1 for n in value_shape[:surplus]) and can_broadcast(value_shape[surplus:], shape)


def as_separate_leaf(value: Node, target: Node, shape: Shape) -> Node:
    """Return the value as a contiguous leaf of the target's dtype in other memory than the target's.

    The leaf has the given shape, or a single element.
    """
    value = ufunc_calls.convert(value, target.dtype)
    memory = value.memory
    assert target.memory is not None
    if value.size == 1:
        shape = (1,) * len(value.shape) or (1,)
    unaliased = memory is not None and not _may_alias(memory, target.memory)
    if unaliased and value.contiguous and value.shape == shape and value.dtype == target.dtype:
        return value
    separate = empty(shape, target.dtype, target.memory.device)
    if separate.size:
        if value.memory is None and value.args:
            value = ufunc_calls.broadcast(value, shape)
        ufunc_calls.assign(separate, value)
    return separate._node


def _may_alias(a: Memory | None, b: Memory | None) -> bool:
    """Return whether two memories may have common bytes: they are the same, or both are memory that users share."""
    return a is b or (a is not None and b is not None and bool(a.shared and b.shared))


def _without_alias(selection: IndexSelection, target: Node) -> IndexSelection:
    """Return a selection whose indices do not read the target's memory. Copy or evaluate them if they do."""
    indices = selection.numbers
    if indices.memory is not None and _may_alias(indices.memory, target.memory):
        return selection._replace(numbers=ufunc_calls.ascontiguous(indices))
    if any(_may_alias(leaf.memory, target.memory) for leaf in inputs_of(indices)):
        evaluate(indices)
    return selection


# Functions ----------------------------------------------------------------------------------------


def _index_node(indices: Any, array: DeviceArray) -> Node:
    """Return indices as a node of integers. As NumPy does, convert only without loss."""
    if not hasattr(indices, "dtype"):
        indices = np.array(indices, np.intp)
    if indices.dtype.kind not in "biu":
        np.empty(0, indices.dtype).astype(np.intp, casting="same_kind")  # raises
    if isinstance(indices, DeviceArray):
        _ = indices.shape  # evaluates a pending selection, whose size the caller needs
        return indices._node
    if indices.ndim == 0:
        return wrap(array_node(indices.reshape(1), array.device)).reshape(())._node
    return array_node(indices, array.device)


def normalize_mode(mode: Any) -> str:
    """Return a ``mode`` argument as 'raise', 'wrap' or 'clip'. None is 'raise', and NumPy's integers are accepted."""
    if isinstance(mode, str) and mode in _MODES:
        return mode
    try:  # NumPy accepts integers too, and has its own error for anything else
        return ("clip", "wrap")[int(np.take([0, 0, 1], [-4], mode=mode)[0])]
    except IndexError:
        return "raise"


@captured(operands=1)
@with_device_lock("out")
def take(a: Any, indices: Any, axis: Any = None, out: DeviceArray | None = None, mode: str = "raise") -> DeviceArray:
    """Take elements, or slices along an axis, at given positions.

    Parameters
    ----------
    a : array_like
    indices : array_like of int
        The positions, of any shape. This shape replaces the axis in the result's shape.
    axis : int, optional
        By default positions count all elements in C order.
    out : DeviceArray, optional
        Where to write the result: an array of the same shape and dtype.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with a position out of bounds: raise IndexError, wrap around, or use the nearest position. Negative
        positions count from the end, but 'clip' makes them 0.

    Returns
    -------
    DeviceArray

    Raises
    ------
    IndexError
        A position is out of bounds and the mode is 'raise'.

    Examples
    --------
    >>> import clarray
    >>> clarray.take([10, 20, 30], [[2, 0], [-1, 1]]).tolist()
    [[30, 10], [30, 20]]
    """
    device = ufunc_calls.device_of_operands((a, indices, out))
    array = as_array(a, device)
    mode = normalize_mode(mode)
    if axis is not None:
        axis = line_axis(axis, array.ndim)
        if not array.ndim:
            axis = None
    view = view_of(array)
    index_node = _index_node(indices, array)
    first, stop = (0, None) if axis is None else (axis, axis + 1)
    selection = index_arrays.flat_selection(view, index_node, mode, first, stop)
    if axis is not None and 0 in array.shape[:axis]:
        selection = selection._replace(mode="known")  # NumPy checks no index for a result without elements
    elif not selection.bound and prod(selection.result_shape) > 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    check_out(out, selection.result_shape, array.dtype)
    target = None
    if out is not None and mode != "raise" and out.dtype == array.dtype and _is_unaliased(out, array._node, index_node):
        target = out._node
    try:
        gathered = wrap(launchers.gather.gather_selection(array._node, selection, target))
    except OutOfBounds:
        index_arrays.raise_out_of_bounds((wrap(index_node), axis or 0, selection.bound))
    if out is not None and target is not None:
        return out
    return deliver(gathered, out)


def _is_unaliased(out: DeviceArray, *operands: Node) -> bool:
    """Return whether a kernel may write `out` while it reads the operands: contiguous, in other memory than theirs."""
    memory = out._node.memory
    return (
        memory is not None
        and out._node.contiguous
        and not any(_may_alias(leaf.memory, memory) for leaf in inputs_of(*operands))
    )


def check_is_array(out: Any) -> None:
    """Raise TypeError for an output that is no device array."""
    check_target(out, "output must be an array")


def check_out(out: Any, shape: Shape, dtype: np.dtype) -> None:
    """Raise ValueError for an output of another shape. Let NumPy's `take` raise or warn for its dtype."""
    if out is None:
        return
    check_is_array(out)
    if out.shape != shape:
        raise ValueError("output array does not match result of ndarray.take")
    if not (np.can_cast(out.dtype, dtype, "safe") and np.can_cast(dtype, out.dtype, "same_kind")):
        callers.relay(np.take, np.zeros(1, dtype), [0], 0, np.empty(1, out.dtype))
    out.check_writeable()


def deliver(result: DeviceArray, out: DeviceArray | None) -> DeviceArray:
    """Return the result, or write it to `out` and return `out`."""
    if out is None:
        return result
    lossy = result.dtype.kind == "c" and out.dtype.kind not in "cb"  # `check_out` has given the ComplexWarning
    out[...] = result.real if lossy else result
    return out


def _axis_selection(array: DeviceArray, indices: DeviceArray, axis: Any) -> IndexSelection:
    """Select elements along an axis, by separate indices for each position of the other axes."""
    if axis is not None:
        axis = normalize_axis(axis, array.ndim)
        if indices.ndim != array.ndim:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
    elif indices.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        return index_arrays.flat_selection(view_of(array), indices._node, "raise")
    extent = array.shape[axis]
    steps = contiguous(array.shape)
    other_steps = tuple(
        0 if a == axis or n == 1 else s for a, (n, s) in enumerate(zip(array.shape, steps, strict=True))
    )
    shape = _take_along_shape(array.shape, indices.shape, axis)
    line_starts = nodes.index(shape, other_steps, _INT64)
    flat_indices = index_arrays.add_axis_offsets(
        index_arrays.lazy_alias(indices)._node, extent, steps[axis], line_starts
    )
    selection = index_arrays.flat_selection(view_of(array), flat_indices, "raise" if prod(shape) else "known")
    return selection._replace(checked=((indices._node, extent),))


def _take_along_shape(shape: Shape, index_shape: Shape, axis: int) -> Shape:
    """Return the result's shape, or raise the IndexError of NumPy, which indexes with an array per axis."""
    try:
        return np.broadcast_shapes(index_shape, tuple(1 if a == axis else n for a, n in enumerate(shape)))
    except ValueError:
        axis_shapes = [tuple(n if b == a else 1 for b in range(len(shape))) for a, n in enumerate(shape)]
        axis_shapes[axis] = index_shape
        texts = " ".join(str(s).replace(" ", "") for s in axis_shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} "
        ) from None


def _raise_out_of_bounds_along(array: DeviceArray, indices: DeviceArray, axis: Any) -> NoReturn:
    """Raise IndexError for the first index that is out of bounds along an axis."""
    if axis is None:
        index_arrays.raise_out_of_bounds((indices, 0, array.size))
    axis = normalize_axis(axis, array.ndim)
    index_arrays.raise_out_of_bounds((indices, axis, array.shape[axis]))


@captured(operands=2)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> DeviceArray:
    """Take elements along an axis, with separate indices for each line.

    Parameters
    ----------
    arr : array_like
    indices : array_like of int
        The indices along `axis`, with as many axes as `arr`. The other axes are broadcast.
    axis : int or None, optional
        The last axis by default. None takes from all elements in C order.

    Returns
    -------
    DeviceArray

    Raises
    ------
    IndexError
        An index is out of bounds.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[30, 10, 20], [5, 7, 6]])
    >>> clarray.take_along_axis(x, x.argsort(axis=1), axis=1).tolist()
    [[10, 20, 30], [5, 6, 7]]
    """
    array = as_array(arr, ufunc_calls.device_of_operands((arr, indices)))
    index_array = as_array(indices, array.device)
    view_of(array)
    try:
        return wrap(launchers.gather.gather_selection(array._node, _axis_selection(array, index_array, axis)))
    except OutOfBounds:
        _raise_out_of_bounds_along(array, index_array, axis)


@captured_writes
def put_along_axis(arr: DeviceArray, indices: Any, values: Any, axis: Any) -> None:
    """Write elements along an axis in place, with separate indices for each line.

    Parameters
    ----------
    arr : DeviceArray
    indices : array_like of int
        The indices along `axis`, with as many axes as `arr`. The other axes are broadcast.
    values : array_like
        The values, broadcast to the shape of the elements that are written.
    axis : int or None
        None writes to all elements in C order.

    Raises
    ------
    IndexError
        An index is out of bounds. Nothing has been written then.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> clarray.put_along_axis(x, [[0], [1]], 9, axis=1)
    >>> x.tolist()
    [[9, 2], [3, 9]]
    """
    check_target(arr, "argument 1 of put_along_axis must be a clarray array, not {}")
    view_of(arr)
    arr.check_writeable()
    leaf = arr._node
    index_array = as_array(indices, arr.device)
    selection = _axis_selection(arr, index_array, axis)
    stored = as_separate_leaf(fit_to_shape(_as_values(values, arr)._node, selection.shape), leaf, selection.shape)
    try:
        launchers.gather.scatter_selection(leaf, _without_alias(selection, leaf), stored)
    except OutOfBounds:
        _raise_out_of_bounds_along(arr, index_array, axis)


@captured_writes
def put(a: DeviceArray, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at given positions in place, counting all elements in C order.

    Parameters
    ----------
    a : DeviceArray
    ind : array_like of int
        The positions. If one occurs several times, its last value stays.
    v : array_like
        The values, repeated if there are fewer than positions.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with a position out of bounds: raise IndexError, wrap around, or use the nearest position.

    Raises
    ------
    TypeError
        `a` is not a device array.
    IndexError
        A position is out of bounds, or `a` has no elements. Nothing has been written then.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4, int)
    >>> clarray.put(x, [0, -1], [5, 7])
    >>> x.tolist()
    [5, 0, 0, 7]
    """
    check_target(a, "argument 1 must be a clarray array, not {}")
    view = view_of(a)
    a.check_writeable()
    mode = normalize_mode(mode)
    flat_indices = wrap(_index_node(ind, a)).reshape(-1)._node
    if flat_indices.size and not a.size:
        raise IndexError("cannot replace elements of an empty array")
    values = flat_values(a, v)
    if not flat_indices.size or not values.size:
        return
    leaf = a._node
    stored = as_separate_leaf(resize_cyclic(values, flat_indices.size), leaf, flat_indices.shape)
    try:
        selection = index_arrays.flat_selection(view, flat_indices, mode)
        launchers.gather.scatter_selection(leaf, _without_alias(selection, leaf), stored)
    except OutOfBounds:
        index_arrays.raise_out_of_bounds((wrap(flat_indices), 0, a.size))


def put_range(array: DeviceArray, start: int, step: int, count: int, values: Node) -> None:
    """Write values of one axis, repeated as needed, to `count` evenly spaced elements in C order."""
    view = view_of(array)
    stored = as_separate_leaf(resize_cyclic(values, count), array._node, (count,))
    selection = index_arrays.flat_selection(view, nodes.index((count,), (step,), _INT64, start))
    launchers.gather.scatter_selection(array._node, selection, stored, once=True)


def flat_values(array: DeviceArray, values: Any) -> Node:
    """Return the values of an assignment to an array, flattened to one axis."""
    return _as_values(values, array).reshape(-1)._node


def _as_values(values: Any, array: DeviceArray) -> DeviceArray:
    """Convert the values of an assignment to an array. Scalars and lists get its dtype, as in NumPy."""
    if not isinstance(values, DeviceArray | np.ndarray):
        values = np.array(values, array.dtype)
    return as_array(values, array.device)


def resize_cyclic(values: Node, count: int) -> Node:
    """Repeat or cut values along one axis to a length. A single value stays as it is."""
    if values.size in (1, count):
        return values
    leaf = evaluate(values)
    positions = nodes.index((count,), (1,), _INT64)
    view = View(leaf.shape, leaf.strides, leaf.offset)
    return launchers.gather.gather_selection(leaf, index_arrays.flat_selection(view, positions, "wrap"))
