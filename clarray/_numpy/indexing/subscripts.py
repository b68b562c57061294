"""Read and write elements: ``a[key]`` and ``a[key] = value``.

    key  -->  classify  -->  BASIC   a view of the array's memory, or one element
                             MASK    a selection of pending size: its reductions are one masked pass
                             ROWS    a gather of the rows that the mask selects
                             ARRAYS  a gather or a scatter by flat indices

If a key with arrays selects few elements in host memory, NumPy reads or writes them. Keys of integers and slices in
bounds are not classified: `index_plainly` handles them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from clarray._core import callers, device_array, small_indexing, ufunc_calls
from clarray._core.device_array import DeviceArray, is_numpy_scalar, is_writeable, may_run_user_code, wrap
from clarray._core.elements import NUMBERS, constant_element, host_element, put_element
from clarray._core.host_calls import NOT_COMPUTED
from clarray._core.host_data import upload
from clarray._core.keys import ARRAYS, BASIC, MASK, Key, classify
from clarray._core.operands import STRONG, array_node, is_exact_in_python, scalar_node
from clarray._core.views import is_same_memory, make_view, pending_view, view_at, view_of
from clarray._core.writes import with_device_lock
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
from clarray._engine.expr.graph import inputs_of, is_same_value
from clarray._engine.expr.indexing import index, index_plainly
from clarray._engine.expr.node import CONST, MASKED, Node, view_leaf
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.special import select_loop
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.runtime import Device
from clarray._engine.speedups import accelerated, captured, captured_writes, native, references
from clarray._engine.writing import steal_memory, write
from clarray._numpy.indexing import gathering, masking

__all__ = ["copyto"]

_REAL_NUMBERS = (int, float)
_PLAIN = frozenset([int, slice, type(None), type(Ellipsis)])
_BROADCAST_ERROR = "could not broadcast input array from shape {} into shape {}"
# Maximum number of elements from which NumPy selects by a mask of the array's shape. Larger selections stay pending,
# since sums and writes by the same mask do not need them. Times of NumPy and kernels in us, with 1,000 / 4,000 float32:
# x[m] 8 and 12 / 19 and 22, x[m].sum() 11 and 8 / 19 and 8, x[m] = y[m] 17 and 9 / 29 and 15. The native core writes a
# number by a mask in one launch: 8 and 2 / 12 and 2.
_MAX_HOST_MASK = 1 << 10
# Integers of a smaller magnitude overflow in no float dtype.
_SAFE_IN_FLOATS = 2.0 ** min(row.mantissa for row in DTYPES.values() if row.kind == "f")


# Reading ------------------------------------------------------------------------------------------


@accelerated
def getitem(array: DeviceArray, key: Any) -> Any:
    """Return ``array[key]``: a view for a basic key, a copy for index arrays and masks, a scalar for a single element.

    An element in host memory is a NumPy scalar. In other memory, and for ``a[()]`` of a 0-d array, it is a 0-d array
    with the behaviour of a scalar. Libraries for several kinds of arrays write ``a[()]`` and compute with the result.
    """
    node = array._node
    if node.memory is not None and type(key) is not DeviceArray:
        view = index_plainly(node.shape, node.strides, node.offset, key)
        if view is not None:
            shape, _, offset = view
            if shape:
                return view_at(array, *view)
            number = host_element(node, offset) if node.shape else None
            if number is not None:
                return number
            value = constant_element(node, offset)
            if value is not None:
                return wrap(value)
    elif node.memory is None and not node.flags & MASKED and node.shape and _is_plain(key):
        view_array = pending_view(array, key)
        if view_array is not None:
            return view_array
    return _read_classified(array, key)


def _is_plain(key: Any) -> bool:
    """Return whether a key consists of Python's integers, slices, Ellipsis and None."""
    return all(type(item) in _PLAIN for item in (key if type(key) is tuple else (key,)))


def _read_classified(array: DeviceArray, key: Any) -> Any:
    """Return the elements that a key selects from an array, which may be pending."""
    classified = classify(key, array._node.shape)
    if classified.kind is BASIC:
        view = index(view_of(array), classified.items)
        view_array = make_view(array, view)
        if view.shape or not classified.is_element:
            return view_array
        has_array_item = DeviceArray in map(type, key if type(key) is tuple else (key,))
        return _element_value(view_array, as_scalar=bool(array.shape) and not has_array_item)
    is_device_mask = classified.kind is MASK and isinstance(classified.items[0], DeviceArray)
    if not is_device_mask or array._node.size <= _MAX_HOST_MASK:
        selected = small_indexing.take_on_host(array, classified)
        if selected is not NOT_COMPUTED:
            return selected
    if classified.kind is MASK:
        return masking.select_by_mask(array, _mask_node(array, classified))
    return gathering.gather(array, classified)


def _element_value(element: DeviceArray, as_scalar: bool) -> Any:
    """Return the value of a view of a single element. Later writes do not change it.

    With `as_scalar`, an element in host memory is a NumPy scalar. A 0-d array and keys with a clarray integer need an
    array instead, because libraries compare the array namespaces of array, key and result.
    """
    leaf = evaluate(element._node)
    number = host_element(leaf, leaf.offset) if as_scalar else None
    if number is not None:
        return number
    value = constant_element(leaf, leaf.offset)
    return ufunc_calls.evaluate_if_eager(ufunc_calls.copied_value(leaf)) if value is None else wrap(value)


def _mask_node(array: DeviceArray, key: Key) -> Node:
    mask = key.items[0]
    node: Node = mask._node if isinstance(mask, DeviceArray) else array_node(mask, array.device)
    return node


def iterate(array: DeviceArray) -> Iterator[Any]:
    """Iterate over the first axis."""
    if not array.ndim:
        raise TypeError("iteration over a 0-d array")
    return (getitem(array, position) for position in range(len(array)))


# Writing ------------------------------------------------------------------------------------------


@accelerated
def setitem(array: DeviceArray, key: Any, value: Any) -> None:
    """Write a value to the elements of a key. Conversion and broadcasting are NumPy's. The device's lock is held."""
    if type(value) in NUMBERS and _write_basic_fast(array, key, value):  # holds the lock itself, for a single launch
        return
    if may_run_user_code(value) or may_run_user_code(key):
        _write(array, key, value)
        return
    with array.device.lock:  # from reading the operands to the launch that stores
        _write(array, key, value)


def _write(array: DeviceArray, key: Any, value: Any) -> None:
    if type(key) is DeviceArray or type(value) in NUMBERS or not _write_basic_fast(array, key, value):
        _write_classified(array, key, value)


def _write_basic_fast(array: DeviceArray, key: Any, value: Any) -> bool:
    """Write to the view of a key of ints and slices if at most one launch does it. Else return False."""
    node = array._node
    if node.memory is None:
        return False
    view = index_plainly(node.shape, node.strides, node.offset, key)
    return view is not None and is_writeable(array) and _try_write_view(node, *view, value)


def _try_write_view(node: Node, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, value: Any) -> bool:
    """Write a value to a view of a leaf if no element needs a cast and at most one launch does it. Else return False.

    Python numbers count as of the leaf's dtype if they convert to it without an error or a warning.
    """
    if type(value) in STRONG:
        value = _as_python_scalar(callers.drop_imaginary(value, node.dtype), node.dtype)
    kind = type(value)
    if kind in NUMBERS:
        if not shape:
            return put_element(node, offset, value)
        number = _constant_node(value, node.dtype)
        if number is not None:
            write(view_leaf(node, shape, strides, offset), ufunc_calls.full(number, shape))
        return number is not None
    if kind is not DeviceArray:
        return False
    source = value._node
    if source.flags & MASKED or source.dtype is not node.dtype or source.shape != shape:
        return False
    if source.op is CONST:
        is_one_device = not Device.several or device_of(node, source) is not None  # raises for two devices
        return is_one_device and put_element(node, offset, source.value)
    target = view_leaf(node, shape, strides, offset)
    if source.args:
        if target.size:
            steal_memory(target, source)
        return True
    if source.memory is None:
        return False
    if not is_same_memory(source, target):  # `a[key] += b` assigns the view to itself at last
        write(target, source)
    return True


def _as_python_scalar(value: np.generic, dtype: np.dtype) -> Any:
    """Return a NumPy scalar as the Python number that converts to the same element, or unchanged if none does."""
    own_dtype = STRONG[type(value)]
    is_exact = own_dtype is dtype if dtype.kind in "iu" else dtype.kind == "f" and own_dtype.kind in "fiu"
    return value.item() if is_exact and value == value else value  # a NaN keeps its bits


def _constant_node(value: Any, dtype: np.dtype) -> Node | None:
    """Return a Python number as a constant. None if NumPy may raise or warn for its conversion."""
    kind = type(value)
    if dtype.kind == "f":
        fits = kind is float or kind is int
        fits = fits and (-_SAFE_IN_FLOATS < value < _SAFE_IN_FLOATS or (kind is float and dtype.itemsize == 8))
    else:
        fits = kind is int and dtype.kind in "iu"
    return scalar_node(value, dtype) if fits else None


def _write_classified(array: DeviceArray, key: Any, value: Any) -> None:
    """Write any value to the elements of any key of an array, which may be pending."""
    node = array._node
    if node.memory is None:
        evaluate(node)
    array.check_writeable()
    classified = classify(key, node.shape)
    if classified.kind is BASIC:
        view = index(view_of(array), classified.items)
        if type(value) in NUMBERS and _try_write_view(node, *view, value):
            return
        if classified.is_element:
            _check_element(value, array.dtype)
        _assign_view(make_view(array, view), value)
        return
    in_one_launch = native is not None and classified.kind is MASK and type(value) in _REAL_NUMBERS
    in_one_launch = in_one_launch and isinstance(classified.items[0], DeviceArray)
    if not in_one_launch and small_indexing.put_on_host(array, classified, value):
        return
    if is_numpy_scalar(value):
        value = np.asarray(value)  # NumPy casts it as an array here, but by its value if it sets a single element
    if classified.kind is ARRAYS:
        gathering.scatter(array, classified, _value_node(value, array.dtype, array))
    else:
        _write_masked(array, classified, value)


def _check_element(value: Any, dtype: np.dtype) -> None:
    """Raise NumPy's error for a value with axes that is assigned to a single element."""
    if isinstance(value, DeviceArray):
        if value.ndim:
            np.zeros((), dtype)[()] = np.broadcast_to(np.zeros((), value.dtype), value.shape)
    elif not np.isscalar(value) and np.ndim(value):
        np.zeros((), dtype)[()] = value


def _assign_view(target: DeviceArray, value: Any) -> None:
    leaf = target._node
    node = _value_node(value, leaf.dtype, target)
    if type(value) in (list, tuple) and len(node.shape) > len(leaf.shape):
        np.zeros(leaf.shape, leaf.dtype)[...] = value  # NumPy refuses it, unlike an array of these axes
    if is_same_memory(node, leaf):
        return  # `a[key] += b` assigns the view to itself at last, as in `_try_write_view`
    node = gathering.fit_to_shape(node, leaf.shape, _BROADCAST_ERROR)
    converted = ufunc_calls.convert(node, leaf.dtype)
    if leaf.size:
        if node.op is not None:
            # a write consumes its node, and the user holds this one
            converted = ufunc_calls.broadcast(converted, leaf.shape)
        ufunc_calls.assign(target, converted)


def _value_node(value: Any, dtype: np.dtype, target: DeviceArray) -> Node:
    """Return the node of an assigned value. NumPy converts host scalars and lists."""
    if isinstance(value, DeviceArray):
        return value._node
    number = _constant_node(value, dtype)
    if number is not None:
        return number
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "biufc":
        return array_node(np.asarray(value), target.device)  # NumPy writes a masked array's data
    if isinstance(value, np.complexfloating | np.ndarray):
        value = callers.drop_imaginary(value, dtype)
    host = np.asarray(value) if isinstance(value, np.ndarray) else np.array(value, dtype)
    if host.ndim == 0:
        cell = np.empty((), dtype)
        cell[...] = value
        element = cell[()]
        return scalar_node(element, dtype) if is_exact_in_python(element) else upload(cell, dtype, target.device)
    return array_node(np.asarray(host, dtype), target.device)


def _write_masked(array: DeviceArray, key: Key, value: Any) -> None:
    mask = _mask_node(array, key)
    rest = array.shape[len(mask.shape) :]
    node = _value_node(value, array.dtype, array)
    selection = None if rest else build.selected(node)
    if selection is not None and is_same_value(selection[1], mask):
        del node, selection  # a reference would keep the operands alive during the pass
        with array.device.lock:
            _write_selection(array, mask, value)
        return
    if node.op is not CONST or key.kind is not MASK:
        if not rest:
            _check_masked_values(node)
        if mask.shape != array.shape[: len(mask.shape)] or not gathering.can_assign_shape(node.shape, rest):
            gathering.scatter(array, key, node)
            return
        node = gathering.fit_to_shape(node, rest)
    if rest:
        wide = wrap(evaluate(mask))
        mask = wide.reshape(wide.shape + (1,) * len(rest))._node
    ufunc_calls.assign(array, node, mask)


def _write_selection(array: DeviceArray, mask: Node, value: DeviceArray) -> None:
    """Write a pending selection by the same mask. Its elements have their values at the same positions.

    If the selection reads the array itself, as in ``array[mask] += 1``, it is not computed before the write. It then
    becomes a selection from the written array.
    """
    leaf, selection = array._node, value._node
    inner, compute = selection.args[0], selection.value
    if (
        inner.dtype is not leaf.dtype
        or mask.shape != leaf.shape
        or not any(operand.memory is leaf.memory for operand in inputs_of(selection))
        or len(sys._current_frames()) > 1  # another thread could read the value while it has no node of its own
    ):
        ufunc_calls.assign(array, inner, mask)
        return
    if mask.memory is None and any(operand.memory is leaf.memory for operand in inputs_of(mask)):
        evaluate(mask)  # before its operand is overwritten
    merged = build.nary(select_loop(leaf.dtype), (mask, _copy_expression(inner, {}), leaf))
    value._node = leaf  # releases the selection during the write
    del inner, selection
    try:
        write(leaf, merged)
    except BaseException:
        value._node = build.compress(merged.args[1], mask, compute)
        raise
    value._node = build.compress(leaf, mask, compute)


def _copy_expression(node: Node, copies: dict[Node, Node]) -> Node:
    """Copy an elementwise expression, so that a single pass computes it. Selections read nodes of the original."""
    if node.memory is not None or not isinstance(node.op, Loop):
        return node
    copied = copies.get(node)
    if copied is None:
        copied = copies[node] = build.nary(node.op, tuple([_copy_expression(arg, copies) for arg in node.args]))
    return copied


def _check_masked_values(values: Node) -> None:
    """Raise TypeError for values of several axes, which a mask of all axes cannot assign."""
    if len(values.shape) > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
            f"input has {len(values.shape)} dimensions"
        )


# The native core calls these functions for all keys that it does not implement.
captured_getitem = captured(references["getitem"])
captured_setitem = captured_writes(references["setitem"])


@captured_writes
@with_device_lock("dst")
def copyto(dst: DeviceArray, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Copy the elements of one array to another one, or only to the elements that a mask selects.

    Parameters
    ----------
    dst : DeviceArray
        The array that is written.
    src : array_like
        The values, broadcast to the shape of `dst`.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        Which conversions are allowed.
    where : array_like of bool, optional
        Which elements to write, broadcast to the shape of `dst`.

    Raises
    ------
    TypeError
        `dst` is not a device array, or `casting` does not allow the conversion.
    ValueError
        `dst` is read-only, or `src` does not fit its shape.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(3, int)
    >>> clarray.copyto(x, 7, where=[True, False, True])
    >>> x.tolist()
    [7, 0, 7]
    """
    device_array.check_target(dst, "copyto() argument 1 must be a clarray array, not {}")
    mask = None if where is True else ufunc_calls.mask_node(where, dst.device)
    if mask is None and isinstance(src, DeviceArray) and is_same_memory(src._node, dst._node):
        return  # NumPy does not check that the target is writeable here
    dst.check_writeable()
    if not isinstance(src, DeviceArray) and not np.ndim(src):
        cell = np.empty((), dst.dtype)
        np.copyto(cell, src, casting)  # checks the value too
        src = cell
    src_dtype = src.dtype if hasattr(src, "dtype") else np.asarray(src).dtype
    if not np.can_cast(src_dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {src_dtype!r} to {dst.dtype!r} according to the rule '{casting}'")
    if mask is None:
        dst[...] = src
        return
    view_of(dst)
    node = gathering.fit_to_shape(_value_node(src, dst.dtype, dst), dst.shape, _BROADCAST_ERROR)
    ufunc_calls.assign(dst, node, gathering.fit_to_shape(mask, dst.shape, _BROADCAST_ERROR))
