"""Read and write elements: ``a[key]`` and ``a[key] = value``.

    key  -->  classify  -->  BASIC   a view of the array's memory, or one element
                             MASK    a selection, whose size is not known yet: its reductions are one masked pass
                             ROWS    a gather of the rows that the mask selects
                             ARRAYS  a gather or a scatter by element numbers

If a key with arrays selects few elements in host memory, NumPy reads or writes them. Keys of integers and slices that
are in bounds take a shorter path before they are classified.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from clarray._core import callers, device_array, small_indexing, ufunc_calls
from clarray._core.device_array import DeviceArray, is_numpy_scalar, is_writeable, may_run_user_code, wrap
from clarray._core.elements import NUMBERS, constant_element, host_element, put_element
from clarray._core.host_data import upload
from clarray._core.keys import ARRAYS, BASIC, MASK, Key, classify
from clarray._core.operands import STRONG, array_node, is_exact_in_python, scalar_node
from clarray._core.host_calls import NOT_COMPUTED
from clarray._core.views import is_same_memory, make_view, view_at, view_of
from clarray._core.writes import with_device_lock
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
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

_PLAIN = (int, float)
_NOT_INTO = "could not broadcast input array from shape {} into shape {}"
# Elements up to which NumPy selects by a whole mask at once; a selection that waits may never be needed, as in sums and
# writes by the same mask. With 1,000 / 4,000 float32, in us, NumPy and then kernels: x[m] 8 and 12 / 19 and 22,
# x[m].sum() 11 and 8 / 19 and 8, x[m] = y[m] 17 and 9 / 29 and 15. A number written by a mask is one launch of the
# core's: 8 and 2 / 12 and 2.
_SELECTED = 1 << 10
# What is below overflows in no float dtype.
_SAFE = 2.0 ** min(row.mantissa for row in DTYPES.values() if row.kind == "f")


# Reading ------------------------------------------------------------------------------------------


@accelerated
def getitem(array: DeviceArray, key: Any) -> Any:
    """Return ``array[key]``: a view for a basic key, a copy for index arrays and masks, a number for one element.

    An element of host memory is NumPy's scalar. In other memory, and as ``a[()]`` of no axes, it is an array that
    answers like one. Libraries for several kinds of arrays write ``a[()]`` for results that they go on computing with.
    """
    node = array._node
    if node.memory is not None and type(key) is not DeviceArray:
        found = index_plainly(node.shape, node.strides, node.offset, key)
        if found is not None:
            if found[0]:
                return view_at(array, *found)
            number = host_element(node, found[2]) if node.shape else None
            if number is not None:
                return number
            value = constant_element(node, found[2])
            if value is not None:
                return wrap(value)
    return _getitem(array, key)


def _getitem(array: DeviceArray, key: Any) -> Any:
    """Read the elements of any other key, or of a pending array."""
    named = classify(key, array._node.shape)
    if named.kind is BASIC:
        view = index(view_of(array), named.items)
        part = make_view(array, view)
        if view.shape or not named.is_element:
            return part
        by_arrays = DeviceArray in map(type, key if type(key) is tuple else (key,))
        return _element_value(part, at_hand=bool(array.shape) and not by_arrays)
    if named.kind is not MASK or array._node.size <= _SELECTED or not isinstance(named.items[0], DeviceArray):
        few = small_indexing.take_on_host(array, named)
        if few is not NOT_COMPUTED:
            return few
    if named.kind is MASK:
        return masking.selected(array, _mask_node(array, named))
    return gathering.pick(array, named)


def _element_value(element: DeviceArray, at_hand: bool) -> Any:
    """Return the value of a view of one element, which later writes do not change.

    `at_hand` asks for NumPy's scalar if the element is in host memory. It is false for an element of a 0-d array, and
    for one that a number of clarray's names: libraries compare the array namespaces of the two.
    """
    leaf = evaluate(element._node)
    number = host_element(leaf, leaf.offset) if at_hand else None
    if number is not None:
        return number
    value = constant_element(leaf, leaf.offset)
    return ufunc_calls.evaluate_if_eager(ufunc_calls.copied_value(leaf)) if value is None else wrap(value)


def _mask_node(array: DeviceArray, key: Key) -> Node:
    mask = key.items[0]
    node: Node = mask._node if isinstance(mask, DeviceArray) else array_node(mask, array.device)
    return node


def iterate(array: DeviceArray) -> Iterator[Any]:
    """Go through the first axis."""
    if not array.ndim:
        raise TypeError("iteration over a 0-d array")
    return (getitem(array, number) for number in range(len(array)))


# Writing ------------------------------------------------------------------------------------------


@accelerated
def setitem(array: DeviceArray, key: Any, value: Any) -> None:
    """Write a value, converted and broadcast as NumPy does, to the elements of a key, under one hold of the lock."""
    if type(value) in NUMBERS and _set_plainly(array, key, value):  # in one step, which holds the lock itself
        return
    if may_run_user_code(value) or may_run_user_code(key):
        _set(array, key, value)
        return
    with array.device.lock:  # from reading the operands to the launch that stores
        _set(array, key, value)


def _set(array: DeviceArray, key: Any, value: Any) -> None:
    if type(key) is DeviceArray or type(value) in NUMBERS or not _set_plainly(array, key, value):
        _setitem(array, key, value)


def _set_plainly(array: DeviceArray, key: Any, value: Any) -> bool:
    """Write to the elements of a plain key where that takes one launch or less. Return False if nothing was done."""
    node = array._node
    if node.memory is None:
        return False
    found = index_plainly(node.shape, node.strides, node.offset, key)
    return found is not None and is_writeable(array) and _put(node, *found, value)


def _put(node: Node, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, value: Any) -> bool:
    """Write to elements of a leaf where that needs nothing but a launch, or less; False where nothing has been done."""
    if type(value) in STRONG:
        value = _as_pythons(callers.drop_imaginary(value, node.dtype), node.dtype)
    kind = type(value)
    if kind in NUMBERS:
        if not shape:
            return put_element(node, offset, value)
        number = _number(value, node.dtype)
        if number is not None:
            write(view_leaf(node, shape, strides, offset), ufunc_calls.full(number, shape))
        return number is not None
    if kind is not DeviceArray:
        return False
    given = value._node
    if given.flags & MASKED or given.dtype is not node.dtype or given.shape != shape:
        return False
    if given.op is CONST:
        is_one_device = not Device.several or device_of((node, given)) is not None  # else it raises
        return is_one_device and put_element(node, offset, given.value)
    target = view_leaf(node, shape, strides, offset)
    if given.args:
        if target.size:
            steal_memory(target, given)
        return True
    if given.memory is None:
        return False
    if not is_same_memory(given, target):  # else what `a[key] += b` ends with
        write(target, given)
    return True


def _as_pythons(value: np.generic, dtype: np.dtype) -> Any:
    """A scalar of NumPy's as the number of Python's that is converted to the same element; itself where none is."""
    given = STRONG[type(value)]
    alike = given is dtype if dtype.kind in "iu" else dtype.kind == "f" and given.kind in "fiu"
    return value.item() if alike and value == value else value  # a NaN keeps its bits


def _number(value: Any, dtype: np.dtype) -> Node | None:
    """A Python number as a constant; None where NumPy has something to say about its conversion."""
    kind = type(value)
    if dtype.kind == "f":
        fits = kind is float or kind is int
        fits = fits and (-_SAFE < value < _SAFE or (kind is float and dtype.itemsize == 8))
    else:
        fits = kind is int and dtype.kind in "iu"
    return scalar_node(value, dtype) if fits else None


def _setitem(array: DeviceArray, key: Any, value: Any) -> None:
    """Write any other value, or to the elements of any other key, or to a pending array."""
    node = array._node
    if node.memory is None:
        evaluate(node)
    array.check_writeable()
    named = classify(key, node.shape)
    if named.kind is BASIC:
        view = index(view_of(array), named.items)
        if type(value) in NUMBERS and _put(node, *view, value):
            return
        if named.is_element:
            _check_element(value, array.dtype)
        _store(make_view(array, view), value)
        return
    in_one_launch = native is not None and named.kind is MASK and type(value) in _PLAIN
    in_one_launch = in_one_launch and isinstance(named.items[0], DeviceArray)
    if not in_one_launch and small_indexing.put_on_host(array, named, value):
        return
    if is_numpy_scalar(value):
        value = np.asarray(value)  # NumPy converts it as an array here, and by its value where one element is set
    if named.kind is ARRAYS:
        gathering.put_at(array, named, _value_node(value, array.dtype, array))
    else:
        _store_masked(array, named, value)


def _check_element(value: Any, dtype: np.dtype) -> None:
    """Raise what NumPy raises for a value of one axis or more that shall be one element."""
    if isinstance(value, DeviceArray):
        if value.ndim:
            np.zeros((), dtype)[()] = np.broadcast_to(np.zeros((), value.dtype), value.shape)
    elif not np.isscalar(value) and np.ndim(value):
        np.zeros((), dtype)[()] = value


def _store(target: DeviceArray, value: Any) -> None:
    leaf = target._node
    node = _value_node(value, leaf.dtype, target)
    if type(value) in (list, tuple) and len(node.shape) > len(leaf.shape):
        np.zeros(leaf.shape, leaf.dtype)[...] = value  # NumPy refuses it, unlike an array of these axes
    if is_same_memory(node, leaf):
        return  # what `a[key] += b` ends with, as it does in `_put`
    node = gathering.fitted(node, leaf.shape, _NOT_INTO)
    made = ufunc_calls.convert(node, leaf.dtype)
    if leaf.size:
        if node.op is not None:
            # the user holds this node, and the one that is written is used up
            made = ufunc_calls.broadcast(made, leaf.shape)
        ufunc_calls.assign(target, made)


def _value_node(value: Any, dtype: np.dtype, target: DeviceArray) -> Node:
    """Make a node of what is assigned; NumPy converts host scalars and lists."""
    if isinstance(value, DeviceArray):
        return value._node
    number = _number(value, dtype)
    if number is not None:
        return number
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "biufc":
        return array_node(np.asarray(value), target.device)  # of a masked array its elements, as NumPy writes them
    if isinstance(value, np.complexfloating | np.ndarray):
        value = callers.drop_imaginary(value, dtype)
    host = np.asarray(value) if isinstance(value, np.ndarray) else np.array(value, dtype)
    if host.ndim == 0:
        cell = np.empty((), dtype)
        cell[...] = value
        element = cell[()]
        return scalar_node(element, dtype) if is_exact_in_python(element) else upload(cell, dtype, target.device)
    return array_node(np.asarray(host, dtype), target.device)


def _store_masked(array: DeviceArray, key: Key, value: Any) -> None:
    mask = _mask_node(array, key)
    rest = array.shape[len(mask.shape) :]
    node = _value_node(value, array.dtype, array)
    parts = None if rest else build.selected(node)
    if parts is not None and build.is_same_value(parts[1], mask):
        del node, parts  # nobody shall hold them while they are computed
        with array.device.lock:
            _store_selected(array, mask, value)
        return
    if node.op is not CONST or key.kind is not MASK:
        if not rest:
            _check_values(node)
        if mask.shape != array.shape[: len(mask.shape)] or not gathering.fits(node.shape, rest):
            gathering.put_at(array, key, node)
            return
        node = gathering.fitted(node, rest)
    if rest:
        wide = wrap(evaluate(mask))
        mask = wide.reshape(wide.shape + (1,) * len(rest))._node
    ufunc_calls.assign(array, node, mask)


def _store_selected(array: DeviceArray, mask: Node, value: DeviceArray) -> None:
    """``array[mask] = value`` for an array of what the same mask selects: each element has its own value in place.

    A value that has been grown from what is overwritten, as in ``array[mask] += 1``, is afterwards a selection of what
    lies there then. So it is not computed before.
    """
    leaf, chosen = array._node, value._node
    inner, compute = chosen.args[0], chosen.value
    if (
        inner.dtype is not leaf.dtype
        or mask.shape != leaf.shape
        or not any(x.memory is leaf.memory for x in chosen.inputs)
        or len(sys._current_frames()) > 1  # another thread could read the value while it has no node of its own
    ):
        ufunc_calls.assign(array, inner, mask)
        return
    if mask.memory is None and any(x.memory is leaf.memory for x in mask.inputs):
        evaluate(mask)  # what it was grown from is overwritten
    made = build.nary(select_loop(leaf.dtype), (mask, _grown_again(inner, {}), leaf))
    value._node = leaf  # for the moment
    del inner, chosen
    try:
        write(leaf, made)
    except BaseException:
        value._node = build.compress(made.args[1], mask, compute)
        raise
    value._node = build.compress(leaf, mask, compute)


def _grown_again(node: Node, grown: dict[Node, Node]) -> Node:
    """Copy an expression, so that one pass computes it; selections read the nodes of the original."""
    if node.memory is not None or not isinstance(node.op, Loop):
        return node
    found = grown.get(node)
    if found is None:
        found = grown[node] = build.nary(node.op, tuple([_grown_again(arg, grown) for arg in node.args]))
    return found


def _check_values(values: Node) -> None:
    """Refuse values of several axes for the elements that a mask of all axes selects."""
    if len(values.shape) > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
            f"input has {len(values.shape)} dimensions"
        )


# The core calls these for all that it does not read or write by itself.
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
        return  # before NumPy asks whether it may be written
    dst.check_writeable()
    if not isinstance(src, DeviceArray) and not np.ndim(src):
        cell = np.empty((), dst.dtype)
        np.copyto(cell, src, casting)  # judges the value too
        src = cell
    given = src.dtype if hasattr(src, "dtype") else np.asarray(src).dtype
    if not np.can_cast(given, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {given!r} to {dst.dtype!r} according to the rule '{casting}'")
    if mask is None:
        dst[...] = src
        return
    view_of(dst)
    node = gathering.fitted(_value_node(src, dst.dtype, dst), dst.shape, _NOT_INTO)
    ufunc_calls.assign(dst, node, gathering.fitted(mask, dst.shape, _NOT_INTO))
