"""Elements chosen by number: `take`, `put`, and what indexing with arrays is made of."""

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
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import Shape, View, can_broadcast, contiguous
from clarray._engine.speedups import captured, captured_writes
from clarray._numpy.indexing import index_arrays

__all__ = ["put", "put_along_axis", "take", "take_along_axis"]

_INT64 = np.dtype(np.int64)
_MODES = ("raise", "wrap", "clip")
_MISMATCH = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"


# Indexing with arrays -----------------------------------------------------------------------------


def pick(array: DeviceArray, key: Key) -> DeviceArray:
    """Copy the elements that a key with index arrays selects.

    Raises
    ------
    IndexError
        An index is out of bounds, or the index arrays do not broadcast.
    """
    try:
        return wrap(launchers.gather.gather_selection(array._node, index_arrays.index_selection(array, key)))
    except OutOfBounds:
        index_arrays.out_of_bounds(*key.integer_arrays)


def put_at(array: DeviceArray, key: Key, value: Node) -> None:
    """Write to the elements that a key with index arrays selects. The last value for an element stays.

    Raises
    ------
    IndexError
        As in `pick`. Nothing has been written then.
    ValueError
        The value does not broadcast to the selected elements.
    """
    named = index_arrays.index_selection(array, key)
    leaf, shape = array._node, named.result_shape
    by_mask = key.kind is not ARRAYS
    if by_mask and len(shape) == len(value.shape) == 1 and value.size not in (1, *shape):
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {value.size} input values to "
            f"the {shape[0]} output values where the mask is true"
        )
    stored = own_leaf(fitted(value, shape), leaf, shape)
    try:
        launchers.gather.scatter_selection(leaf, _apart_from(named, leaf), stored, once=by_mask)
    except OutOfBounds:
        index_arrays.out_of_bounds(*key.integer_arrays)


def fitted(value: Node, shape: Shape, message: str = _MISMATCH) -> Node:
    """Check that a value broadcasts to a shape, and drop surplus leading axes of one element."""
    have = value.shape
    if have == shape:
        return value
    if not fits(have, shape):
        raise ValueError(message.format(*(str(s).replace(" ", "") for s in (have, shape))))
    extra = len(have) - len(shape)
    return wrap(value).reshape(have[extra:])._node if extra > 0 else value


def fits(have: Shape, shape: Shape) -> bool:
    """Whether values can be broadcast to a shape, surplus leading axes of one element aside."""
    extra = max(0, len(have) - len(shape))
    return all(n == 1 for n in have[:extra]) and can_broadcast(have[extra:], shape)


def own_leaf(value: Node, target: Node, shape: Shape) -> Node:
    """The value in the target's dtype, in memory of its own: of this shape, or one element."""
    value = ufunc_calls.convert(value, target.dtype)
    memory = value.memory
    assert target.memory is not None
    if value.size == 1:
        shape = (1,) * len(value.shape) or (1,)
    apart = memory is not None and memory is not target.memory
    apart = apart and not (memory.shared and target.memory.shared)  # type: ignore[union-attr]
    if apart and value.contiguous and value.shape == shape and value.dtype == target.dtype:
        return value
    made = empty(shape, target.dtype, target.memory.device)
    if made.size:
        if value.memory is None and value.args:
            value = ufunc_calls.broadcast(value, shape)
        ufunc_calls.assign(made, value)
    return made._node


def _apart_from(named: IndexSelection, target: Node) -> IndexSelection:
    """The same with numbers that do not lie in the target's memory."""
    numbers = named.numbers
    memory = target.memory
    assert memory is not None
    if numbers.memory is not None and (numbers.memory is memory or (numbers.memory.shared and memory.shared)):
        return named._replace(numbers=ufunc_calls.ascontiguous(numbers))
    for x in numbers.inputs:
        if x.memory is memory or (x.memory is not None and x.memory.shared and memory.shared):
            evaluate(numbers)
            break
    return named


# Functions ----------------------------------------------------------------------------------------


def _indices(indices: Any, array: DeviceArray) -> Node:
    """Indices as integers; NumPy converts what it can without loss."""
    given = indices if hasattr(indices, "dtype") else np.array(indices, np.intp)
    if given.dtype.kind not in "biu":
        np.empty(0, given.dtype).astype(np.intp, casting="same_kind")  # raises
    if isinstance(given, DeviceArray):
        view = given.shape  # a value that a mask decides has been computed then
        assert view is not None
        return given._node
    if given.ndim == 0:
        given = given.reshape(1)
        return wrap(array_node(given, array.device)).reshape(())._node
    return array_node(given, array.device)


def check_mode(mode: Any) -> str:
    """The way in which numbers out of bounds are treated: 'raise' (also None), 'wrap' or 'clip', or NumPy's number."""
    if isinstance(mode, str) and mode in _MODES:
        return mode
    try:  # NumPy takes numbers too, and has its own error for anything else
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
    mode = check_mode(mode)
    if axis is not None:
        axis = line_axis(axis, array.ndim)
        if not array.ndim:
            axis = None
    view = view_of(array)
    numbers = _indices(indices, array)
    first, stop = (0, None) if axis is None else (axis, axis + 1)
    named = index_arrays.select(view, numbers, mode, first, stop)
    if axis is not None and 0 in array.shape[:axis]:
        named = named._replace(mode="known")  # NumPy comes to no index
    elif not named.bound and prod(named.result_shape) > 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    check_out(out, named.result_shape, array.dtype)
    target = None
    if out is not None and mode != "raise" and out.dtype == array.dtype and _is_apart(out, (array._node, numbers)):
        target = out._node
    try:
        found = wrap(launchers.gather.gather_selection(array._node, named, target))
    except OutOfBounds:
        index_arrays.out_of_bounds((wrap(numbers), axis or 0, named.bound))
    if out is not None and target is not None:
        return out
    return delivered(found, out)


def _is_apart(out: DeviceArray, read: tuple[Node, ...]) -> bool:
    """Whether an output may be written while inputs are read: contiguous, in memory that is not theirs."""
    node = out._node
    memory = node.memory
    return (
        memory is not None
        and node.contiguous
        and not any(
            x.memory is memory or (x.memory is not None and x.memory.shared and memory.shared)
            for one in read
            for x in (one.inputs or (one,))
        )
    )


def check_is_array(out: Any) -> None:
    """Refuse an output that is no array on the device."""
    check_target(out, "output must be an array")


def check_out(out: Any, shape: Shape, dtype: np.dtype) -> None:
    """Refuse an output of another shape. Let NumPy's take refuse its dtype, or warn of it."""
    if out is None:
        return
    check_is_array(out)
    if out.shape != shape:
        raise ValueError("output array does not match result of ndarray.take")
    if not (np.can_cast(out.dtype, dtype, "safe") and np.can_cast(dtype, out.dtype, "same_kind")):
        callers.relay(np.take, np.zeros(1, dtype), [0], 0, np.empty(1, out.dtype))
    out.check_writeable()


def delivered(found: DeviceArray, out: DeviceArray | None) -> DeviceArray:
    """A result, or `out` after it has been written there."""
    if out is None:
        return found
    lossy = found.dtype.kind == "c" and out.dtype.kind not in "cb"  # `check_out` has given the ComplexWarning
    out[...] = found.real if lossy else found
    return out


def _along_axis(array: DeviceArray, given: DeviceArray, axis: Any) -> IndexSelection:
    """Select elements along an axis, by separate indices for each position of the other axes."""
    if axis is not None:
        axis = normalize_axis(axis, array.ndim)
        if given.ndim != array.ndim:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
    elif given.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    if given.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        return index_arrays.select(view_of(array), given._node, "raise")
    steps = contiguous(array.shape)
    here = tuple(0 if a == axis or n == 1 else s for a, (n, s) in enumerate(zip(array.shape, steps, strict=True)))
    shape = _along_shape(array.shape, given.shape, axis)
    elsewhere = nodes.index(shape, here, _INT64)
    numbers = index_arrays.placed_along(index_arrays.growing(given)._node, array.shape[axis], steps[axis], elsewhere)
    named = index_arrays.select(view_of(array), numbers, "raise" if prod(shape) else "known")
    return named._replace(checked=((given._node, array.shape[axis]),))


def _along_shape(shape: Shape, given: Shape, axis: int) -> Shape:
    """The shape of the result; errors are those of NumPy, which indexes with one array per axis."""
    try:
        return np.broadcast_shapes(given, tuple(1 if a == axis else n for a, n in enumerate(shape)))
    except ValueError:
        each = [tuple(n if b == a else 1 for b in range(len(shape))) for a, n in enumerate(shape)]
        each[axis] = given
        texts = " ".join(str(s).replace(" ", "") for s in each)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} "
        ) from None


def _out_of_bounds_along(array: DeviceArray, given: DeviceArray, axis: Any) -> NoReturn:
    at = 0 if axis is None else normalize_axis(axis, array.ndim)
    index_arrays.out_of_bounds((given, at, array.size if axis is None else array.shape[at]))


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
    given = as_array(indices, array.device)
    view_of(array)
    try:
        return wrap(launchers.gather.gather_selection(array._node, _along_axis(array, given, axis)))
    except OutOfBounds:
        _out_of_bounds_along(array, given, axis)


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
    given = as_array(indices, arr.device)
    named = _along_axis(arr, given, axis)
    stored = own_leaf(fitted(_converted(values, arr)._node, named.shape), leaf, named.shape)
    try:
        launchers.gather.scatter_selection(leaf, _apart_from(named, leaf), stored)
    except OutOfBounds:
        _out_of_bounds_along(arr, given, axis)


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
    mode = check_mode(mode)
    numbers = wrap(_indices(ind, a)).reshape(-1)._node
    if numbers.size and not a.size:
        raise IndexError("cannot replace elements of an empty array")
    values = values_for(a, v)
    if not numbers.size or not values.size:
        return
    leaf = a._node
    stored = own_leaf(cycled(values, numbers.size), leaf, numbers.shape)
    try:
        named = index_arrays.select(view, numbers, mode)
        launchers.gather.scatter_selection(leaf, _apart_from(named, leaf), stored)
    except OutOfBounds:
        index_arrays.out_of_bounds((wrap(numbers), 0, a.size))


def put_range(array: DeviceArray, start: int, step: int, count: int, values: Node) -> None:
    """Write values, on one axis and repeated as needed, to evenly spaced elements in C order."""
    view = view_of(array)
    stored = own_leaf(cycled(values, count), array._node, (count,))
    named = index_arrays.select(view, nodes.index((count,), (step,), _INT64, start))
    launchers.gather.scatter_selection(array._node, named, stored, once=True)


def values_for(array: DeviceArray, given: Any) -> Node:
    """Return the values of an assignment to an array, on one axis."""
    return _converted(given, array).reshape(-1)._node


def _converted(given: Any, array: DeviceArray) -> DeviceArray:
    """Convert the values of an assignment to an array, scalars and lists as NumPy does."""
    if not isinstance(given, DeviceArray | np.ndarray):
        given = np.array(given, array.dtype)
    return as_array(given, array.device)


def cycled(values: Node, count: int) -> Node:
    """Repeat or cut values along one axis to a length. A single value stays as it is."""
    if values.size in (1, count):
        return values
    leaf = evaluate(values)
    numbers = nodes.index((count,), (1,), _INT64)
    view = View(leaf.shape, leaf.strides, leaf.offset)
    return launchers.gather.gather_selection(leaf, index_arrays.select(view, numbers, "wrap"))
