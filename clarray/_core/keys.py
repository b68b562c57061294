"""Classify the key of ``a[key]`` once, before anything is read or written.

    key, shape  -->  classify  -->  Key  -->  BASIC   integers, slices, Ellipsis, newaxis: a view, or one element
                                              MASK    one mask of the array's shape: a selection
                                              ROWS    one mask of the first axes, or of no axis: rows
                                              ARRAYS  any other key with arrays: a gather or a scatter

Classification needs the shape of the array, and the shapes and dtypes of the index arrays. It reads elements only of
integer arrays without axes, which are integers of the key.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._engine.expr.node import CONST
from clarray._engine.expr.view import Shape, broadcast_shapes

__all__ = ["ARRAYS", "BASIC", "MASK", "ROWS", "IndexArray", "Key", "Layout", "as_item", "classify"]

_Given = tuple[Any, Shape, bool]  # the first fields of an IndexArray

BASIC: Final = "basic"
MASK: Final = "mask"
ROWS: Final = "rows"
ARRAYS: Final = "arrays"

_BOOL = np.dtype(bool)
_WHOLE = slice(None)
_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


class IndexArray(NamedTuple):
    """An index array or a mask of a key.

    Parameters
    ----------
    array : DeviceArray or numpy.ndarray
    shape : tuple of int
        The shape of `array`.
    is_mask : bool
        Whether `array` is a mask.
    axis : int
        The first axis of the indexed array that `array` indexes.
    axes : range
        The axes of the key's view that `array` indexes: one, or as many as a mask has.
    extent : int
        The number of elements along these axes.
    """

    array: Any
    shape: Shape
    is_mask: bool
    axis: int
    axes: range
    extent: int

    @property
    def on_host(self) -> bool:
        """Whether the array is in host memory, and not on the device."""
        return type(self.array) is np.ndarray


class Layout(NamedTuple):
    """The axes of a key's index arrays: in the indexed array, in a view of it, and in the result.

    Parameters
    ----------
    basic : tuple
        The key of a view that has all elements which the index arrays may select: the same items, with whole slices
        in place of the index arrays. Empty if this is the whole array.
    arrays : tuple of IndexArray
        The index arrays.
    kept : sequence of int
        The axes of the view that no index array indexes.
    place : int
        How many of the kept axes precede the axes of the index arrays in the result.
    """

    basic: tuple[Any, ...]
    arrays: tuple[IndexArray, ...] = ()
    kept: Sequence[int] = ()
    place: int = 0


class Key:
    """A classified key.

    Parameters
    ----------
    kind : str
        BASIC, MASK, ROWS or ARRAYS.
    shape : tuple of int
        The shape of the indexed array.
    items : tuple
        The key's items: int, slice, Ellipsis, None, ndarray, DeviceArray.
    layout : Layout, optional
        By default the layout of a key without arrays, or of one array for the first axes, which is built at first use.
    """

    __slots__ = ("_layout", "items", "kind", "shape")

    def __init__(self, kind: str, shape: Shape, items: tuple[Any, ...], layout: Layout | None = None) -> None:
        self.kind = kind
        self.shape = shape
        self.items = items
        self._layout = layout

    @property
    def layout(self) -> Layout:
        """The axes of the index arrays."""
        layout = self._layout
        if layout is None:
            layout = self._layout = _leading_layout(self.kind, self.shape, self.items)
        return layout

    @property
    def is_element(self) -> bool:
        """Whether the key has one integer for each axis, and nothing else."""
        return self.kind is BASIC and len(self.items) == len(self.shape) and all(type(i) is int for i in self.items)

    @property
    def indices(self) -> list[tuple[Any, int, int]]:
        """The arrays of integers, with the axes that they index and the extents of these."""
        return [(part.array, part.axis, part.extent) for part in self.layout.arrays if not part.is_mask]

    @property
    def result_shape(self) -> Shape | None:
        """The shape of the selected elements. None if a mask on the device decides it.

        Raises
        ------
        ValueError
            The index arrays do not broadcast.
        """
        view = self._view_shape()
        if self.kind is BASIC:
            return view
        _, arrays, kept_axes, place = self.layout
        shapes: list[Shape] = []
        for part in arrays:
            if not part.is_mask:
                shapes.append(part.shape)
            elif part.on_host:
                shapes.append((int(np.count_nonzero(part.array)),))
            else:
                return None
        kept = tuple([view[axis] for axis in kept_axes])
        return kept[:place] + broadcast_shapes(shapes) + kept[place:]

    @property
    def most(self) -> int:
        """An upper bound on the number of selected elements, which reads no mask on the device. It raises as well."""
        shape = self.result_shape
        if shape is not None:
            return prod(shape)
        view = self._view_shape()
        _, arrays, kept, _ = self.layout
        return prod([n for part in arrays for n in part.shape]) * prod([view[axis] for axis in kept])

    def _view_shape(self) -> Shape:
        """Return the shape of the key's view."""
        basic = self.layout.basic
        if not basic:
            return self.shape
        shape: list[int] = []
        axis = 0
        for item in basic:
            if item is Ellipsis:
                free = len(self.shape) - len([one for one in basic if one is not None and one is not Ellipsis])
                shape += self.shape[axis : axis + free]
                axis += free
            elif item is None:
                shape.append(1)
            else:
                if type(item) is slice:
                    shape.append(len(range(*item.indices(self.shape[axis]))))
                axis += 1
        return (*shape, *self.shape[axis:])


def classify(key: Any, shape: Shape) -> Key:
    """Classify a key of an array of this shape.

    Raises
    ------
    IndexError
        An item is no index, there are too many of them, or a mask does not match the shape.
    """
    if type(key) is DeviceArray:  # by far the most frequent
        node = key._node
        if node.dtype.kind in "biu" and node.shape:
            return _of_one_array(key, node.shape, node.dtype.kind == "b", shape)
    items: list[Any] = []
    arrays: list[_Given] = []
    used = 0  # axes
    has_ellipsis = False
    for item in key if type(key) is tuple else (key,):
        kind = type(item)
        if kind is slice or kind is int:
            used += 1
        elif item is Ellipsis:
            if has_ellipsis:
                raise IndexError("an index can only have a single ellipsis ('...')")
            has_ellipsis = True
        elif item is not None:
            item = as_item(item)
            if type(item) is int:
                used += 1
            else:
                arrays.append(_described(item))
                used += _width(arrays[-1])
        items.append(item)
    if len(items) == 1 and arrays:
        return _of_one_array(*arrays[0], shape)
    if used > len(shape):
        raise _too_many(used, shape)
    if arrays:
        return _of_several(items, iter(arrays), shape, len(shape) - used)
    return Key(BASIC, shape, tuple(items))


def _described(array: Any) -> _Given:
    """Return what is known of an index array before its place in the key."""
    form = array if type(array) is np.ndarray else array._node
    return array, form.shape, form.dtype.kind == "b"


def _width(given: _Given) -> int:
    """Return how many axes an index array indexes."""
    return len(given[1]) if given[2] else 1


def _too_many(used: int, shape: Shape) -> IndexError:
    return IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")


def as_item(item: Any) -> Any:
    """Convert an item of a key to an int, or to an array of integers or bools. Leave slices, Ellipsis and None.

    Raises
    ------
    IndexError
        The item is no index.
    """
    if item is None or item is Ellipsis or type(item) is slice:
        return item
    if isinstance(item, DeviceArray):
        node = item._node
        if node.dtype.kind in "biu" and (node.shape or node.dtype.kind == "b"):
            return item
        if node.op is CONST and node.dtype.kind in "iu":
            return int(node.value)
    elif isinstance(item, np.ndarray):
        item = np.asarray(item)  # of a subclass too
    else:
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


def _of_one_array(array: Any, extents: Shape, is_mask: bool, shape: Shape) -> Key:
    """Classify a key of one index array or mask."""
    if shape and not is_mask:
        return Key(ARRAYS, shape, (array,))
    if shape and extents == shape:
        return Key(MASK, shape, (array,))
    width = len(extents) if is_mask else 1
    if width > len(shape):
        raise _too_many(width, shape)
    _check_mask(extents, 0, shape)
    return Key(ROWS, shape, (array,))


def _leading_layout(kind: str, shape: Shape, items: tuple[Any, ...]) -> Layout:
    """Return the layout of a key without arrays, or of one array that indexes the first axes."""
    if kind is BASIC:
        return Layout(items)
    given = _described(items[0])
    width = _width(given)
    part = IndexArray(*given, 0, range(width), prod(given[1]) if given[2] else shape[0])
    return Layout((), (part,), range(width, len(shape)))


def _of_several(items: list[Any], arrays: Iterator[_Given], shape: Shape, free: int) -> Key:
    """Classify a key of several items with index arrays, whose Ellipsis stands for `free` axes."""
    basic: list[Any] = []
    parts: list[IndexArray] = []
    kept: list[int] = []
    advanced: list[int] = []  # positions of integers and index arrays among the items
    axis = position = place = 0  # of the array, of the view, of the result
    for number, item in enumerate(items):
        if item is None or item is Ellipsis or type(item) is slice:
            width = free if item is Ellipsis else 1
            basic.append(item)
            kept += range(position, position + width)
            position += width
            axis += width if item is not None else 0
            place += width if not advanced else 0
            continue
        advanced.append(number)
        if type(item) is int:
            basic.append(item)
            axis += 1
            continue
        given = next(arrays)
        width = _width(given)
        if given[2]:
            _check_mask(given[1], axis, shape)
        extent = prod(given[1]) if given[2] else shape[axis]
        parts.append(IndexArray(*given, axis, range(position, position + width), extent))
        basic += [_WHOLE] * width
        axis += width
        position += width
    kept += range(position, position + len(shape) - axis)
    if basic == [_WHOLE] * len(basic):
        basic = []
    if advanced[-1] - advanced[0] >= len(advanced):  # NumPy puts the axes of separated arrays first
        place = 0
    return Key(ARRAYS, shape, tuple(items), Layout(tuple(basic), tuple(parts), tuple(kept), place))


def _check_mask(extents: Shape, axis: int, shape: Shape) -> None:
    """Raise IndexError if a mask does not match the axes of the array from `axis` on."""
    for number, (have, want) in enumerate(zip(extents, shape[axis:], strict=False), axis):
        if have not in (want, 0):  # NumPy accepts masks without elements
            raise IndexError(
                f"boolean index did not match indexed array along axis {number}; size of axis is "
                f"{want} but size of corresponding boolean axis is {have}"
            )
