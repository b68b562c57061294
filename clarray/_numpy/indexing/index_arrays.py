"""Map a key with index arrays, as in ``a[[0, 0, 2], :, mask]``, to element numbers.

The index arrays of a key are broadcast together; each position of theirs names one element of the
axes they stand for (the *chosen* ones) by one number, counted in C order. The other axes, after
slices and integers, are the *rest*. Numbers out of bounds are found by whoever reads them, in the same pass.
"""

from __future__ import annotations

import operator
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.operands import scalar_node
from clarray._core.views import view_of
from clarray._engine import evaluate
from clarray._engine.algorithms.gather.selection import IndexSelection
from clarray._engine.expr import build
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.indexing import index
from clarray._engine.expr.node import EAGER, Node, leaf
from clarray._engine.expr.view import Shape, View, contiguous
from clarray._engine.ops.special import element_offset_loop
from clarray._engine.runtime import Device

_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)
_WHOLE = slice(None)
SMALL = 1 << 12  # index arrays so small are combined on the host, where they come from there
_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)

Given = DeviceArray | np.ndarray


class Chosen(NamedTuple):
    """One index array of a key: numbers, counted in C order, of the axes it stands for."""

    numbers: Given
    axes: tuple[int, ...]
    extent: int
    known: bool  # to be in bounds


class Layout(NamedTuple):
    """A key taken apart: its index arrays, and the axes that they leave."""

    chosen: list[Chosen]
    rest: View
    place: int  # among the axes of `rest`, of those of the index arrays in the result


def index_selection(array: DeviceArray, key: Any) -> IndexSelection:
    """Find out what a key with at least one index array names; its numbers may be pending.

    Raises
    ------
    IndexError
        There are too many indices, or they cannot be broadcast together.
    """
    view = view_of(array)
    found = _of_one_axis(view, key)
    if found is not None:
        return found
    chosen, rest, place = _of_arrays(view, key) or _taken_apart(array, key)
    shape = _broadcast(chosen)
    axes = [a for one in chosen for a in one.axes]
    known = all(one.known for one in chosen) or not prod(shape)
    numbers, checked = _numbers(array, chosen, shape)
    return IndexSelection(
        numbers,
        shape,
        tuple(view.shape[a] for a in axes),
        tuple(view.strides[a] for a in axes),
        rest,
        place,
        "known" if known else "raise",
        checked,
    )


def _of_one_axis(view: View, key: Any) -> IndexSelection | None:
    """What ``a[numbers]`` or ``a[i, numbers]`` names, as `index_selection` says; None of any other key."""
    numbers = key
    if type(key) is tuple:
        if len(key) != 2 or type(key[0]) is not int or view.ndim < 2:
            return None
        numbers = key[1]
    if type(numbers) is not DeviceArray or numbers._node.dtype.kind not in "iu" or not view.shape:
        return None
    node = numbers._node
    if not node.shape:
        return None
    if numbers is not key:
        window = index(view, key[:1])
        assert window is not None
        view = window
    shape, strides, offset = view
    mode = "raise" if node.size else "known"
    return IndexSelection(node, node.shape, shape[:1], strides[:1], View(shape[1:], strides[1:], offset), 0, mode)


def _of_arrays(view: View, key: Any) -> Layout | None:
    """A key of integer arrays on the device and whole slices, taken apart; None for any other."""
    if type(key) is not tuple or len(key) > view.ndim:
        return None
    chosen: list[Chosen] = []
    kept: list[int] = []
    for axis, item in enumerate(key):
        if type(item) is DeviceArray and item._node.dtype.kind in "iu" and item._node.shape:
            chosen.append(Chosen(item, (axis,), view.shape[axis], False))
        elif type(item) is slice and item == _WHOLE:
            kept.append(axis)
        else:
            return None
    if not chosen:
        return None
    kept += range(len(key), view.ndim)
    first, last = chosen[0].axes[0], chosen[-1].axes[0]
    rest = View(tuple(view.shape[a] for a in kept), tuple(view.strides[a] for a in kept), view.offset)
    return Layout(chosen, rest, first if last - first < len(chosen) else 0)


def out_of_bounds(array: DeviceArray, key: Any) -> NoReturn:
    """Raise IndexError for the first index out of bounds of a key that has one."""
    for one in _taken_apart(array, key).chosen:
        if not one.known:
            check_inside(one.numbers, one.axes[0], one.extent)
    raise AssertionError("an index out of bounds was not found again")


def _taken_apart(array: DeviceArray, key: Any) -> Layout:
    view = view_of(array)
    basic: list[Any] = []
    chosen: list[Chosen] = []
    items: list[int] = []  # of the key, those that are integers or index arrays
    place = axis = 0
    for number, item in _expanded(list(key) if type(key) is tuple else [key], view.ndim):
        if item is None or type(item) is slice:
            basic.append(item)
            axis += item is not None
            place += not items
            continue
        items.append(number)
        if type(item) is int:
            basic.append(item)
            axis += 1
            continue
        one = _as_integers(item, array, axis)
        chosen.append(one)
        basic += [slice(None)] * len(one.axes)
        axis += len(one.axes)
    together = items[-1] - items[0] < len(items)
    windowed = index(view, tuple(basic))
    assert windowed is not None
    gone = _result_axes(basic, [a for one in chosen for a in one.axes])
    kept = [a for a in range(windowed.ndim) if a not in gone]
    rest = View(
        tuple(windowed.shape[a] for a in kept),
        tuple(windowed.strides[a] for a in kept),
        windowed.offset,
    )
    return Layout(chosen, rest, place if together else 0)


def _result_axes(basic: list[Any], axes: list[int]) -> set[int]:
    """Positions, in the result of the basic key, of axes of the array."""
    found = set()
    axis = position = 0
    for item in basic:
        if item is not None:
            if axis in axes:
                found.add(position)
            axis += 1
        position += type(item) is not int
    return found


# Items of a key -----------------------------------------------------------------------------------


def _expanded(items: list[Any], ndim: int) -> list[tuple[int, Any]]:
    """The items of a key with their numbers, Ellipsis spelt out and arrays made arrays."""
    items = [as_item(item) for item in items]
    used = sum(_consumed(item) for item in items)
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    at = dots[0] if dots else len(items)
    numbered = list(enumerate(items))
    return numbered[:at] + [(at, slice(None))] * (ndim - used) + numbered[at + 1 :]


def _consumed(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, DeviceArray | np.ndarray) and item.dtype == _BOOL:
        return item.ndim
    return 1


def as_item(item: Any) -> Any:
    """One item of a key: None, Ellipsis, a slice, an int, or an array of integers or bools."""
    if item is None or item is Ellipsis or type(item) is slice:
        return item
    if not isinstance(item, DeviceArray | np.ndarray):
        if hasattr(item, "__index__") and not isinstance(item, bool | np.bool_):
            with suppress(TypeError):  # an array of another library has the method whatever its shape
                return operator.index(item)
        given = np.asarray(item)
        if given.size == 0 and isinstance(item, list | tuple):
            given = given.astype(np.intp)
        if given.dtype.kind not in "biu":
            raise IndexError(_INVALID)
        item = given
    if item.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return item if item.ndim or item.dtype == _BOOL else operator.index(item)


def check_mask(mask: Shape, shape: Shape, axis: int = 0) -> None:
    """Refuse a mask whose extents are not those of the axes it stands for; NumPy lets pass empty ones."""
    for number, (have, want) in enumerate(zip(mask, shape[axis:], strict=False), axis):
        if have not in (want, 0):
            raise IndexError(
                f"boolean index did not match indexed array along axis {number}; size of axis is "
                f"{want} but size of corresponding boolean axis is {have}"
            )


def _as_integers(item: Given, array: DeviceArray, axis: int) -> Chosen:
    """An index array as numbers of the axes it stands for: a mask's are the positions it is set at."""
    if item.dtype != _BOOL:
        return Chosen(item, (axis,), array.shape[axis], False)
    check_mask(item.shape, array.shape, axis)
    axes = tuple(range(axis, axis + item.ndim))
    if isinstance(item, np.ndarray) and item.size <= SMALL:
        return Chosen(np.flatnonzero(item), axes, item.size, True)
    return Chosen(wrap(evaluate.positions(as_array(item, array.device)._node)), axes, item.size, True)


def _broadcast(chosen: list[Chosen]) -> Shape:
    shapes = [one.numbers.shape for one in chosen]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        each = [s for one, s in zip(chosen, shapes, strict=True) for _ in one.axes or (0,)]
        texts = " ".join(str(s).replace(" ", "") for s in each)  # NumPy has an array per axis
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} "
        ) from None


# Numbers ------------------------------------------------------------------------------------------


def _numbers(array: DeviceArray, chosen: list[Chosen], shape: Shape) -> tuple[Node, tuple[tuple[Node, int], ...]]:
    """The numbers of the chosen elements; where one of several indices is out of bounds, so are they.

    And of several the arrays, on the device, with the extents of their axes.
    """
    device = array.device
    if len(chosen) == 1:
        return _placed(chosen[0].numbers, device)._node, ()
    if all(isinstance(one.numbers, np.ndarray) for one in chosen) and prod(shape) <= SMALL:
        return _placed(np.atleast_1d(_combined(chosen)), device)._node, ()
    found = scalar_node(0, _INT64)
    given = [_placed(one.numbers, device) for one in chosen]
    for one, numbers, step in zip(chosen, given, _steps(chosen), strict=True):
        found = placed_along(growing(numbers)._node, one.extent, step, found)
    checked = [(numbers._node, one.extent) for one, numbers in zip(chosen, given, strict=True) if not one.known]
    return found, tuple(checked)


def _steps(chosen: list[Chosen]) -> Shape:
    """Elements from one to the next along what each index array stands for, counted in C order."""
    return contiguous(tuple(one.extent for one in chosen))


def placed_along(numbers: Node, extent: int, step: int, base: Node) -> Node:
    """Places ``base + step * number``; OUT_OF_BOUNDS for numbers out of bounds, as from a base that is."""
    return build.nary(element_offset_loop, (numbers, scalar_node(extent, _INT64), scalar_node(step, _INT64), base))


def _placed(numbers: Given, device: Device) -> DeviceArray:
    """An index array on the device; a small one of the host's is looked at there, where that saves waiting."""
    if isinstance(numbers, DeviceArray):
        return numbers
    found = as_array(numbers, device)
    if 0 < numbers.size <= SMALL and not device.capabilities.host_memory:
        record_range(found._node, int(numbers.min()), int(numbers.max()))
    return found


def _combined(chosen: list[Chosen]) -> np.ndarray:
    """The numbers of index arrays of the host's, as `placed_along` has them."""
    place = element_offset_loop.row.host
    assert place is not None
    found: Any = 0
    for one, step in zip(chosen, _steps(chosen), strict=True):
        found = place(np.asarray(one.numbers, _INT64), one.extent, step, found)
    return np.asarray(found)


def growing(array: DeviceArray) -> DeviceArray:
    """The same array, from which expressions may grow although a user may change its memory.

    Only for what is evaluated, and waited for, before control returns to the user.
    """
    node = array._node
    if node.memory is None or not node.flags & EAGER:
        return array
    same = leaf(node.memory, node.shape, node.strides, node.offset, node.dtype)
    same.flags &= ~EAGER
    return wrap(same)


def check_inside(one: Given, axis: int, extent: int) -> None:
    """Raise IndexError for the first number out of bounds."""
    found = first_outside(one, extent)
    if found is not None:
        raise IndexError(f"index {found} is out of bounds for axis {axis} with size {extent}")


def first_outside(one: Given, extent: int) -> int | None:
    """The first of some numbers, in C order, that is out of bounds."""
    wide: Any = one.astype(_INT64).reshape(-1)
    wrong = (wide < -extent) | (wide >= extent)
    return int(wide[int(wrong.argmax())]) if bool(wrong.any()) else None
