"""Classify the key of ``a[key]`` once, before anything is read or written.

    key, shape  -->  classify  -->  Key  -->  BASIC   integers, slices, Ellipsis, newaxis: a view, or one element
                                              MASK    one mask of the array's shape: a selection
                                              ROWS    one mask of the first axes, or of no axis: rows
                                              ARRAYS  any other key with arrays: a gather or a scatter

Classification needs the shape of the array, and the shapes and dtypes of the index arrays. It reads elements only of
0-d integer arrays, which are integers of the key. The key's layout, which only gathers and scatters need, is built at
its first use.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._engine.expr.indexing import slice_indices
from clarray._engine.expr.node import CONST
from clarray._engine.expr.view import Shape, broadcast_shapes

__all__ = ["ARRAYS", "BASIC", "MASK", "ROWS", "IndexArray", "Key", "Layout", "as_item", "classify"]

_ArrayItem = tuple[Any, Shape, bool]  # an index array or a mask, its shape, and whether it is a mask

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
    view_axes : range
        The axes of the key's view that `array` indexes: a single axis, or as many as a mask has.
    extent : int
        The number of elements along these axes.
    """

    array: Any
    shape: Shape
    is_mask: bool
    axis: int
    view_axes: range
    extent: int

    @property
    def on_host(self) -> bool:
        """Whether the array is in host memory, and not on the device."""
        return type(self.array) is np.ndarray


class Layout(NamedTuple):
    """The axes of a key's index arrays: in the indexed array, in a view of it, and in the result.

    Parameters
    ----------
    view_key : tuple
        The basic key of the view that contains all elements which the index arrays may select. It has whole slices in
        place of the index arrays. Empty if this is the whole array.
    arrays : tuple of IndexArray
        The index arrays.
    subspace_axes : sequence of int
        The axes of the view that no index array indexes.
    insert_axis : int
        The axis of the result at which the axes of the index arrays are inserted into the subspace.
    """

    view_key: tuple[Any, ...]
    arrays: tuple[IndexArray, ...] = ()
    subspace_axes: Sequence[int] = ()
    insert_axis: int = 0


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
    arrays : sequence of tuple
        For each index array or mask among the items: the array, its shape, and whether it is a mask.
    ellipsis_width : int
        The number of axes that an Ellipsis among the items indexes.
    """

    __slots__ = ("_layout", "arrays", "ellipsis_width", "items", "kind", "shape")

    def __init__(
        self,
        kind: str,
        shape: Shape,
        items: tuple[Any, ...],
        arrays: Sequence[_ArrayItem] = (),
        ellipsis_width: int = 0,
    ) -> None:
        self.kind = kind
        self.shape = shape
        self.items = items
        self.arrays = arrays
        self.ellipsis_width = ellipsis_width
        self._layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        """The axes of the index arrays.

        Raises
        ------
        IndexError
            A mask does not match the shape. `classify` has raised it for its keys.
        """
        layout = self._layout
        if layout is None:
            layout = self._layout = _build_layout(self)
        return layout

    @property
    def is_element(self) -> bool:
        """Whether the key has one integer for each axis, and nothing else."""
        return self.kind is BASIC and len(self.items) == len(self.shape) and all(type(i) is int for i in self.items)

    @property
    def integer_arrays(self) -> list[tuple[Any, int, int]]:
        """The index arrays that are no masks, each with its axis and the extent of that axis."""
        return [(part.array, part.axis, part.extent) for part in self.layout.arrays if not part.is_mask]

    @property
    def result_shape(self) -> Shape | None:
        """The shape of the selected elements. None if a mask on the device decides it.

        Raises
        ------
        ValueError
            The index arrays do not broadcast.
        """
        subspace = tuple(self._subspace_shape())
        if self.kind is BASIC:
            return subspace
        shape = self._broadcast_shape()
        axis = self.layout.insert_axis
        return None if shape is None else subspace[:axis] + shape + subspace[axis:]

    @property
    def max_selected(self) -> int:
        """An upper bound on the number of selected elements. It reads no mask on the device.

        Raises
        ------
        ValueError
            The index arrays do not broadcast.
        """
        shape = self._broadcast_shape()
        if shape is None:
            shape = tuple([extent for _, extents, _ in self.arrays for extent in extents])
        return prod(shape) * prod(self._subspace_shape())

    def _broadcast_shape(self) -> Shape | None:
        """Return the shape to which the index arrays are broadcast. None if a mask on the device decides it."""
        shapes: list[Shape] = []
        for array, shape, is_mask in self.arrays:
            if not is_mask:
                shapes.append(shape)
            elif type(array) is np.ndarray:
                shapes.append((int(np.count_nonzero(array)),))
            else:
                return None
        return broadcast_shapes(shapes)

    def _subspace_shape(self) -> list[int]:
        """Return the extents of the result's axes from slices, Ellipsis, newaxis and trailing axes."""
        extents: list[int] = []
        arrays = iter(self.arrays)
        axis = 0
        for item in self.items:
            kind = type(item)
            if kind is slice:
                extents.append(len(range(*slice_indices(item, self.shape[axis]))))
            elif item is None:
                extents.append(1)
                continue
            elif item is Ellipsis:
                extents += self.shape[axis : axis + self.ellipsis_width]
                axis += self.ellipsis_width
                continue
            elif kind is not int:
                axis += _indexed_axes(next(arrays))
                continue
            axis += 1
        extents += self.shape[axis:]
        return extents


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
            return _classify_array((key, node.shape, node.dtype.kind == "b"), shape)
    items: list[Any] = []
    arrays: list[_ArrayItem] = []
    used = 0  # axes
    has_ellipsis = has_mask = False
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
                header = item if type(item) is np.ndarray else item._node
                is_mask = header.dtype.kind == "b"
                used += len(header.shape) if is_mask else 1
                has_mask |= is_mask
                arrays.append((item, header.shape, is_mask))
        items.append(item)
    if len(items) == 1 and arrays:
        return _classify_array(arrays[0], shape)
    if used > len(shape):
        raise _too_many(used, shape)
    classified = Key(ARRAYS if arrays else BASIC, shape, tuple(items), arrays, len(shape) - used)
    if has_mask:
        _ = classified.layout  # raises for a mask that does not match
    return classified


def _indexed_axes(item: _ArrayItem) -> int:
    """Return the number of axes that an index array or a mask indexes."""
    _, shape, is_mask = item
    return len(shape) if is_mask else 1


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
        converted = np.asarray(item)
        if converted.size == 0 and isinstance(item, list | tuple):
            converted = converted.astype(np.intp)
        if converted.dtype.kind not in "biu":
            raise IndexError(_INVALID)
        item = converted
    if item.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return item if item.ndim or item.dtype == _BOOL else operator.index(item)


def _classify_array(item: _ArrayItem, shape: Shape) -> Key:
    """Classify a key of a single index array or mask."""
    array, extents, is_mask = item
    if shape and not is_mask:
        return Key(ARRAYS, shape, (array,), (item,))
    if shape and extents == shape:
        return Key(MASK, shape, (array,), (item,))
    width = _indexed_axes(item)
    if width > len(shape):
        raise _too_many(width, shape)
    _check_mask(extents, 0, shape)
    return Key(ROWS, shape, (array,), (item,))


def _build_layout(key: Key) -> Layout:
    """Build the layout of a key, and check that its masks match the shape."""
    if not key.arrays:
        return Layout(key.items)
    if len(key.items) == 1:  # index the first axes
        return _leading_layout(key.arrays[0], key.shape)
    view_key: list[Any] = []
    subspace_axes: list[int] = []
    index_arrays: list[IndexArray] = []
    advanced: list[int] = []  # positions of integers and index arrays among the items
    arrays = iter(key.arrays)
    axis = view_axis = insert_axis = 0
    for position, item in enumerate(key.items):
        if item is None or item is Ellipsis or type(item) is slice:
            width = key.ellipsis_width if item is Ellipsis else 1
            view_key.append(item)
            subspace_axes += range(view_axis, view_axis + width)
            view_axis += width
            axis += width if item is not None else 0
            insert_axis += width if not advanced else 0
            continue
        advanced.append(position)
        if type(item) is int:
            view_key.append(item)
            axis += 1
            continue
        part = _index_array(next(arrays), axis, view_axis, key.shape)
        index_arrays.append(part)
        width = len(part.view_axes)
        view_key += [_WHOLE] * width
        axis += width
        view_axis += width
    subspace_axes += range(view_axis, view_axis + len(key.shape) - axis)
    if view_key == [_WHOLE] * len(view_key):
        view_key = []
    if advanced[-1] - advanced[0] >= len(advanced):  # NumPy puts the axes of separated arrays first
        insert_axis = 0
    return Layout(tuple(view_key), tuple(index_arrays), tuple(subspace_axes), insert_axis)


def _leading_layout(item: _ArrayItem, shape: Shape) -> Layout:
    """Return the layout of a key of a single index array, which indexes the first axes."""
    width = _indexed_axes(item)
    extent = prod(item[1]) if item[2] else shape[0]
    return Layout((), (IndexArray(*item, 0, range(width), extent),), range(width, len(shape)))


def _index_array(item: _ArrayItem, axis: int, view_axis: int, shape: Shape) -> IndexArray:
    """Describe an index array by its axes in the indexed array and in the key's view. Check a mask's shape."""
    _, extents, is_mask = item
    if is_mask:
        _check_mask(extents, axis, shape)
    extent = prod(extents) if is_mask else shape[axis]
    return IndexArray(*item, axis, range(view_axis, view_axis + _indexed_axes(item)), extent)


def _check_mask(extents: Shape, axis: int, shape: Shape) -> None:
    """Raise IndexError if a mask does not match the axes of the array from `axis` on."""
    for number, (have, want) in enumerate(zip(extents, shape[axis:], strict=False), axis):
        if have not in (want, 0):  # NumPy accepts masks without elements
            raise IndexError(
                f"boolean index did not match indexed array along axis {number}; size of axis is "
                f"{want} but size of corresponding boolean axis is {have}"
            )
