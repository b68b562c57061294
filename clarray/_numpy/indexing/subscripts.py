"""Reading and writing elements: ``a[key]`` and ``a[key] = value``.

A basic key (integers, slices, Ellipsis, newaxis) is a view of the array's memory. A boolean mask
of the array's shape gives a value whose size is not known yet: its reductions are one masked pass,
and a scalar written through it is one selecting pass. Other keys with arrays copy what they name.
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
from clarray._core.operands import STRONG, array_node, is_exact_in_python, scalar_node
from clarray._core.small_operands import NOT_COMPUTED
from clarray._core.views import is_same_memory, make_view, view_at, view_of
from clarray._core.writes import with_device_lock
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr import build
from clarray._engine.expr.indexing import index, index_plainly, is_basic
from clarray._engine.expr.node import CONST, MASKED, Node, view_leaf
from clarray._engine.expr.view import View
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.special import select_loop
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.runtime import Device
from clarray._engine.speedups import accelerated, core, recorded, recorded_writes, references
from clarray._engine.writing import steal_memory, write
from clarray._numpy.indexing import gathering, index_arrays, masking

__all__ = ["copyto"]

_BOOL = np.dtype(bool)
_PLAIN = (int, float)
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
    if node.memory is not None:
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
    """Any other key, and any array."""
    if type(key) is DeviceArray:
        whole = _whole_mask(array, key._node)
        if whole is None or whole.size <= _SELECTED:
            few = small_indexing.picked(array, key)
            if few is not NOT_COMPUTED:
                return few
        if whole is not None or _names_rows(array, key._node):
            return gathering.pick(array, key) if whole is None else masking.selected(array, whole)
    by_numbers = DeviceArray in map(type, key if type(key) is tuple else (key,))
    plain = _with_numbers(key)
    key = key if plain is None else plain
    if is_basic(key):
        found = index(view_of(array), key)
        assert found is not None
        part = make_view(array, found)
        if not found.shape and not _has_ellipsis(key):
            return _element_value(part, at_hand=bool(array.shape) and not by_numbers)
        return part
    few = NOT_COMPUTED if type(key) is DeviceArray else small_indexing.picked(array, key)
    if few is not NOT_COMPUTED:
        return few
    mask = _mask_of(array, key)
    if mask is None:
        return gathering.pick(array, key)
    if isinstance(mask, bool):
        return getitem(array, None).copy() if mask else getitem(array, (None,))[:0].copy()
    if mask.shape != array.shape:
        return masking.rows_where(array, mask)
    return masking.selected(array, mask)


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


def _whole_mask(array: DeviceArray, key: Node) -> Node | None:
    """A key as a mask of the array's shape, of at least one axis; None where it is none, or its shape is not known."""
    node = array._node
    if key.dtype is not _BOOL or (key.flags | node.flags) & MASKED or not key.shape or key.shape != node.shape:
        return None
    return key


def _names_rows(array: DeviceArray, key: Node) -> bool:
    """Whether a key is an index array of at least one axis, and the array has an axis for it."""
    return key.dtype.kind in "iu" and not (key.flags | array._node.flags) & MASKED and bool(key.shape and array.shape)


def _with_numbers(key: Any) -> Any:
    """The same key with Python's integers for arrays that are known ones; None where it has none."""
    items = key if type(key) is tuple else (key,)
    if any(map(_is_number, items)):
        return tuple([int(item._node.value) if _is_number(item) else item for item in items])
    return None


def _is_number(item: Any) -> bool:
    return type(item) is DeviceArray and item._node.op is CONST and item._node.dtype.kind in "iu"


def _has_ellipsis(key: Any) -> bool:
    return any(item is Ellipsis for item in key) if type(key) is tuple else key is Ellipsis


def _mask_of(array: DeviceArray, key: Any) -> Node | bool | None:
    """Read a key as one boolean mask over the first axes; a single bool stands for itself.

    None for a key that is no such mask.
    """
    if type(key) is tuple:
        if len(key) != 1:
            return None
        key = key[0]
    mask = index_arrays.as_item(key)
    if not isinstance(mask, DeviceArray | np.ndarray) or mask.dtype != _BOOL:
        return None
    if mask.ndim == 0:
        return bool(mask)
    if mask.ndim > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {mask.ndim} were indexed")
    index_arrays.check_mask(mask.shape, array.shape)
    return mask._node if isinstance(mask, DeviceArray) else array_node(mask, array.device)


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
    if not _set_plainly(array, key, value):
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
        filled = _filled(value, node.dtype, shape)
        if filled is None:
            return False
        write(view_leaf(node, shape, strides, offset), filled)
        return True
    if kind is not DeviceArray:
        return False
    given = value._node
    if given.flags & MASKED or given.dtype is not node.dtype or given.shape != shape:
        return False
    if given.op is CONST:
        return _one_device(node, given) and put_element(node, offset, given.value)
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


def _one_device(*nodes: Node) -> bool:
    """Whether nodes are on one device; it raises where they are not."""
    return not Device.several or device_of(nodes) is not None


def _filled(value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> Node | None:
    """A Python number repeated over a shape; None as of `_number`."""
    number = _number(value, dtype)
    return None if number is None else ufunc_calls.full(number, shape)


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
    """Any other key, any other value, and any array."""
    if type(key) is DeviceArray and (type(value) is DeviceArray or type(value) in _PLAIN):
        whole = _whole_mask(array, key._node)
        one_pass = core is not None and whole is not None and type(value) in _PLAIN
        if not one_pass and small_indexing.put(array, key, value):
            return
        if whole is not None or _names_rows(array, key._node):
            view_of(array)
            array.check_writeable()
            if whole is not None:
                _store_masked(array, whole, value)
            else:
                gathering.put_at(array, key, _value_node(value, array.dtype, array))
            return
    plain = _with_numbers(key)
    if plain is not None:
        setitem(array, plain, value)
        return
    view = view_of(array)
    array.check_writeable()
    if is_basic(key):
        found = index(view, key)
        assert found is not None
        if not found.shape and not _has_ellipsis(key):
            _check_element(value, array.dtype)
        _store(make_view(array, found), value)
        return
    if type(key) is not DeviceArray and small_indexing.put(array, key, value):
        return
    if is_numpy_scalar(value):
        value = np.asarray(value)  # NumPy converts it as an array here, and by its value where one element is set
    mask = _mask_of(array, key)
    if mask is None:
        gathering.put_at(array, key, _value_node(value, array.dtype, array))
    elif isinstance(mask, bool):
        _store_all(array, mask, value)
    else:
        _store_masked(array, mask, value)


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
    node = _fitted(node, leaf.shape)
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


def _fitted(node: Node, shape: tuple[int, ...]) -> Node:
    """Check that a value can be broadcast; drop surplus leading axes of one element."""
    extra = len(node.shape) - len(shape)
    if not gathering.fits(node.shape, shape):
        texts = (str(s).replace(" ", "") for s in (node.shape, shape))
        raise ValueError("could not broadcast input array from shape {} into shape {}".format(*texts))
    if extra > 0:
        view = view_of(wrap(node))
        return make_view(wrap(node), View(node.shape[extra:], view.strides[extra:], view.offset))._node
    return node


def _store_all(array: DeviceArray, mask: bool, value: Any) -> None:
    """``a[True] = value``, and ``a[False] = value``, which only looks whether the value would fit."""
    node = _value_node(value, array.dtype, array)
    if not array.ndim:
        _check_values(node)
    target = getitem(array, (None,))[: int(mask)]
    _store(target, wrap(gathering.fitted(node, target.shape)))


def _store_masked(array: DeviceArray, mask: Node, value: Any) -> None:
    rest = array.shape[len(mask.shape) :]
    node = _value_node(value, array.dtype, array)
    parts = None if rest else build.selected(node)
    if parts is not None and build.is_same_value(parts[1], mask):
        del node, parts  # nobody shall hold them while they are computed
        with array.device.lock:
            _store_selected(array, mask, value)
        return
    if node.op is not CONST or mask.shape != array.shape:
        if not rest:
            _check_values(node)
        if mask.shape != array.shape[: len(mask.shape)] or not gathering.fits(node.shape, rest):
            masking.put_where(array, mask, node)
            return
        node = _fitted(node, rest)
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
captured_getitem = recorded(references["getitem"])
captured_setitem = recorded_writes(references["setitem"])


@recorded_writes
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
    node = _fitted(_value_node(src, dst.dtype, dst), dst.shape)
    ufunc_calls.assign(dst, node, _fitted(mask, dst.shape))
