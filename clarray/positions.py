"""Which elements a key with index arrays names: ``a[[0, 0, 2], :, mask]``.

The index arrays of a key are broadcast together; each position of theirs names one element of the
axes they stand for (the *chosen* ones), given here as one number, counted in C order. The other
axes, after slices, are the *rest*.
"""

from __future__ import annotations

import operator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray import creation
from clarray.array import DeviceArray, wrap
from clarray.evaluate import compact
from clarray.expr import build
from clarray.expr.view import Shape, View, index
from clarray.ops.special import select_loop
from clarray.windows import view_of

_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)
_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


class Selection(NamedTuple):
    """The elements named by a key.

    Parameters
    ----------
    numbers : DeviceArray
        Of the chosen elements, one per position of the index arrays: int64, C order, maybe pending.
    shape : tuple of int
        Broadcast shape of the index arrays.
    extents, strides : tuple of int
        Of the chosen axes.
    rest : View
        The other axes; its offset is that of the first chosen element.
    place : int
        Where, among the rest's axes, those of the index arrays stand in the result.
    """

    numbers: DeviceArray
    shape: Shape
    extents: Shape
    strides: Shape
    rest: View
    place: int

    @property
    def result_shape(self) -> Shape:
        """The shape of ``a[key]``."""
        rest = self.rest.shape
        return rest[: self.place] + self.shape + rest[self.place :]


Given = DeviceArray | np.ndarray


class Chosen(NamedTuple):
    """One index array of a key: numbers, counted in C order, of the axes it stands for."""

    numbers: Given
    axes: tuple[int, ...]
    extent: int
    known: bool  # to be in bounds


def select(array: DeviceArray, key: Any) -> Selection:
    """Find out what a key with at least one index array names.

    Raises
    ------
    IndexError
        An index is out of bounds, there are too many, or they cannot be broadcast together.
    """
    view = view_of(array)
    basic: list[Any] = []
    chosen: list[Chosen] = []
    axes: list[int] = []
    items: list[int] = []  # of the key, those that are index arrays
    place = axis = 0
    for number, item in _expanded(list(key) if type(key) is tuple else [key], view.ndim):
        if item is None or type(item) is slice:
            basic.append(item)
            axis += item is not None
            place += not items
            continue
        items.append(number)
        one = _as_integers(item, view.shape, axis)
        chosen.append(one)
        axes += one.axes
        basic += [slice(None)] * len(one.axes)
        axis += len(one.axes)
    together = items[-1] - items[0] < len(items)
    windowed = index(view, tuple(basic))
    assert windowed is not None
    gone = _result_axes(basic, axes)
    kept = [a for a in range(windowed.ndim) if a not in gone]
    numbers, shape = _numbers(array, chosen)
    return Selection(
        numbers,
        shape,
        tuple(view.shape[a] for a in axes),
        tuple(view.strides[a] for a in axes),
        View(
            tuple(windowed.shape[a] for a in kept),
            tuple(windowed.strides[a] for a in kept),
            windowed.offset,
        ),
        place if together else 0,
    )


def _result_axes(basic: list[Any], axes: list[int]) -> set[int]:
    """Positions, in the result of the basic key, of axes of the array."""
    found = set()
    axis = 0
    for position, item in enumerate(basic):
        if item is not None:
            if axis in axes:
                found.add(position)
            axis += 1
    return found


def _expanded(items: list[Any], ndim: int) -> list[tuple[int, Any]]:
    """The items of a key with their numbers, Ellipsis spelt out and arrays made arrays."""
    items = [as_item(item) for item in items]
    used = sum(_consumed(item) for item in items)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
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
    """One item of a key: None, Ellipsis, a slice, or an array of integers or bools."""
    if item is None or item is Ellipsis or type(item) is slice:
        return item
    if not isinstance(item, DeviceArray | np.ndarray):
        if hasattr(item, "__index__") and not isinstance(item, bool | np.bool_):
            return np.array(operator.index(item))
        given = np.asarray(item)
        if given.size == 0 and isinstance(item, list | tuple):
            given = given.astype(np.intp)
        if given.dtype.kind not in "biu":
            raise IndexError(_INVALID)
        item = given
    if item.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return item


def _as_integers(item: Given, shape: Shape, axis: int) -> Chosen:
    """An index array as numbers of the axes it stands for: a mask's are the positions it is set at."""
    if item.dtype != _BOOL:
        return Chosen(item, (axis,), shape[axis], False)
    for number, (have, want) in enumerate(zip(item.shape, shape[axis:], strict=False)):
        if have != want:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + number}; size of "
                f"axis is {want} but size of corresponding boolean axis is {have}"
            )
    axes = tuple(range(axis, axis + item.ndim))
    if isinstance(item, np.ndarray):
        return Chosen(np.flatnonzero(item), axes, item.size, True)
    return Chosen(wrap(compact.positions(item._node)), axes, item.size, True)


# Numbers ------------------------------------------------------------------------------------------


def _numbers(array: DeviceArray, chosen: list[Chosen]) -> tuple[DeviceArray, Shape]:
    """The numbers of the chosen elements, and the broadcast shape of the index arrays."""
    shapes = [one.numbers.shape for one in chosen]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " ".join(str(s).replace(" ", "") for s in shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} "
        ) from None
    number: Any = None
    for one in chosen:
        inside = one.numbers.astype(_INT64)
        if prod(shape) and not one.known:
            inside = check_inside(one.numbers, one.axes[0], one.extent)
        if isinstance(number, DeviceArray) and not isinstance(inside, DeviceArray):
            inside = creation.array(inside, device=array.device)
        elif number is not None and not isinstance(number, type(inside)):
            number = creation.array(number, device=array.device)
        number = inside if number is None else number * one.extent + inside
    if isinstance(number, DeviceArray):
        return number, shape
    return creation.array(np.broadcast_to(number, shape), device=array.device), shape


def check_inside(one: Any, axis: int, extent: int) -> Any:
    """An index array as int64, counted from the start; none may be out of bounds."""
    wide: Any = one.astype(_INT64)
    negative = wide < 0
    wrong = (wide < -extent) | (wide >= extent)
    if bool(wrong.any()):
        found = int(wide.reshape(-1)[int(wrong.reshape(-1).argmax())])
        raise IndexError(f"index {found} is out of bounds for axis {axis} with size {extent}")
    if isinstance(wide, np.ndarray):
        return np.where(negative, wide + extent, wide)
    nodes = (negative._node, (wide + extent)._node, wide._node)
    return wrap(build.nary(select_loop(_INT64), nodes))
