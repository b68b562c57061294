"""Map the index arrays of a key, as in ``a[[0, 0, 2], :, mask]``, to element numbers.

The index arrays are broadcast together. Each position of theirs selects one element of the axes that they index, by
one number that counts in C order. The kernel that reads the numbers finds those out of bounds, in the same pass.
"""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.keys import IndexArray, Key
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

_INT64 = np.dtype(np.int64)
SMALL = 1 << 12  # elements up to which index arrays of the host are combined there

Given = DeviceArray | np.ndarray


def select(view: View, numbers: Node, mode: str = "known", first: int = 0, stop: int | None = None) -> IndexSelection:
    """Select elements of the axes from `first` to `stop`, by default of all axes, which numbers count in C order."""
    shape, strides, offset = view
    stop = len(shape) if stop is None else stop
    rest = View(shape[:first] + shape[stop:], strides[:first] + strides[stop:], offset)
    return IndexSelection(numbers, numbers.shape, shape[first:stop], strides[first:stop], rest, first, mode)


def index_selection(array: DeviceArray, key: Key) -> IndexSelection:
    """Select the elements of a key that has an index array. The numbers may be pending.

    Raises
    ------
    IndexError
        An integer is out of bounds, or the index arrays do not broadcast.
    """
    view = view_of(array)
    basic, arrays, kept, place = key.layout
    if basic:
        view = index(view, basic)
    if len(arrays) == 1:
        (part,) = arrays
        numbers = _placed(_positions(part, array) if part.is_mask else part.array, array)._node
        mode = "known" if part.is_mask or not numbers.size else "raise"
        named = select(view, numbers, mode, part.view_axes.start, part.view_axes.stop)
        return named if named.place == place else named._replace(place=place)
    given = [_positions(part, array) if part.is_mask else part.array for part in arrays]
    shape = _broadcast(arrays, given)
    numbers, checked = _numbers(arrays, given, shape, array)
    axes = [axis for part in arrays for axis in part.view_axes]
    is_known = 0 in shape or all(part.is_mask for part in arrays)
    return IndexSelection(
        numbers,
        shape,
        tuple([view.shape[a] for a in axes]),
        tuple([view.strides[a] for a in axes]),
        View(tuple([view.shape[a] for a in kept]), tuple([view.strides[a] for a in kept]), view.offset),
        place,
        "known" if is_known else "raise",
        checked,
    )


def out_of_bounds(*indices: tuple[Given, int, int]) -> NoReturn:
    """Raise IndexError for the first index out of bounds of index arrays, given with their axes and extents."""
    for one, axis, extent in indices:
        number = first_outside(one, extent)
        if number is not None:
            raise IndexError(f"index {number} is out of bounds for axis {axis} with size {extent}")
    raise AssertionError("an index out of bounds was not found again")


def _positions(mask: IndexArray, array: DeviceArray) -> Given:
    """Return the positions of a mask's elements that are set, in C order. They count elements of its axes."""
    if mask.on_host and mask.array.size <= SMALL:
        return np.flatnonzero(mask.array)
    return wrap(evaluate.positions(as_array(mask.array, array.device)._node))


def _broadcast(arrays: tuple[IndexArray, ...], given: list[Given]) -> Shape:
    shapes = [one.shape for one in given]
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        each = [s for part, s in zip(arrays, shapes, strict=True) for _ in part.view_axes or (0,)]
        texts = " ".join(str(s).replace(" ", "") for s in each)  # NumPy has an array per axis
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} "
        ) from None


# Numbers ------------------------------------------------------------------------------------------


def _numbers(
    arrays: tuple[IndexArray, ...], given: list[Given], shape: Shape, array: DeviceArray
) -> tuple[Node, tuple[tuple[Node, int], ...]]:
    """Return the numbers of the elements that several index arrays select, out of bounds if an index is.

    The second value has the index arrays on the device, with the extents of their axes.
    """
    extents = [part.extent for part in arrays]
    steps = contiguous(tuple(extents))
    if prod(shape) <= SMALL and all(isinstance(one, np.ndarray) for one in given):
        place = element_offset_loop.row.host
        assert place is not None
        combined: Any = 0
        for one, extent, step in zip(given, extents, steps, strict=True):
            combined = place(np.asarray(one, _INT64), extent, step, combined)
        return _placed(np.atleast_1d(combined), array)._node, ()
    grown = scalar_node(0, _INT64)
    placed = [_placed(one, array) for one in given]
    for one, extent, step in zip(placed, extents, steps, strict=True):
        grown = placed_along(growing(one)._node, extent, step, grown)
    nodes = zip(placed, arrays, strict=True)
    return grown, tuple([(one._node, part.extent) for one, part in nodes if not part.is_mask])


def placed_along(numbers: Node, extent: int, step: int, base: Node) -> Node:
    """Places ``base + step * number``; OUT_OF_BOUNDS for numbers out of bounds, as from a base that is."""
    return build.nary(element_offset_loop, (numbers, scalar_node(extent, _INT64), scalar_node(step, _INT64), base))


def _placed(numbers: Given, array: DeviceArray) -> DeviceArray:
    """Return an index array on the array's device. Record the range of a small one if checks on the device wait."""
    if isinstance(numbers, DeviceArray):
        return numbers
    found = as_array(numbers, array.device)
    if 0 < numbers.size <= SMALL and not array.device.capabilities.host_memory:
        record_range(found._node, int(numbers.min()), int(numbers.max()))
    return found


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


def first_outside(one: Given, extent: int) -> int | None:
    """The first of some numbers, in C order, that is out of bounds."""
    wide: Any = one.astype(_INT64).reshape(-1)
    wrong = (wide < -extent) | (wide >= extent)
    return int(wide[int(wrong.argmax())]) if bool(wrong.any()) else None
