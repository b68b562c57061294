"""Map the index arrays of a key, as in ``a[[0, 0, 2], :, mask]``, to flat indices.

The index arrays are broadcast together. Each position of the broadcast arrays selects an element of the indexed axes,
by a single index that counts these axes' elements in C order. The kernel that reads the flat indices checks their
bounds in the same pass.
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

AnyArray = DeviceArray | np.ndarray


def flat_selection(
    view: View, flat_indices: Node, mode: str = "known", first: int = 0, stop: int | None = None
) -> IndexSelection:
    """Select elements by flat indices, which count the axes from `first` to `stop` in C order. By default all axes."""
    shape, strides, offset = view
    stop = len(shape) if stop is None else stop
    rest = View(shape[:first] + shape[stop:], strides[:first] + strides[stop:], offset)
    return IndexSelection(flat_indices, flat_indices.shape, shape[first:stop], strides[first:stop], rest, first, mode)


def index_selection(array: DeviceArray, key: Key) -> IndexSelection:
    """Select the elements of a key that has an index array. The flat indices may be pending.

    Raises
    ------
    IndexError
        An integer is out of bounds, or the index arrays do not broadcast.
    """
    view = view_of(array)
    view_key, arrays, subspace_axes, insert_axis = key.layout
    if view_key:
        view = index(view, view_key)
    if len(arrays) == 1:
        (part,) = arrays
        flat_indices = _upload_indices(_as_integers(part, array), array)._node
        mode = "known" if part.is_mask or not flat_indices.size else "raise"
        selection = flat_selection(view, flat_indices, mode, part.view_axes.start, part.view_axes.stop)
        return selection if selection.place == insert_axis else selection._replace(place=insert_axis)
    integer_arrays = [_as_integers(part, array) for part in arrays]
    shape = _broadcast_shape(arrays, integer_arrays)
    flat_indices, checked = _flat_indices(arrays, integer_arrays, shape, array)
    axes = [axis for part in arrays for axis in part.view_axes]
    in_bounds = 0 in shape or all(part.is_mask for part in arrays)
    return IndexSelection(
        flat_indices,
        shape,
        tuple([view.shape[a] for a in axes]),
        tuple([view.strides[a] for a in axes]),
        View(
            tuple([view.shape[a] for a in subspace_axes]), tuple([view.strides[a] for a in subspace_axes]), view.offset
        ),
        insert_axis,
        "known" if in_bounds else "raise",
        checked,
    )


def raise_out_of_bounds(*index_arrays: tuple[AnyArray, int, int]) -> NoReturn:
    """Raise IndexError for the first index out of bounds of index arrays, passed with their axes and extents."""
    for indices, axis, extent in index_arrays:
        outside = first_out_of_bounds(indices, extent)
        if outside is not None:
            raise IndexError(f"index {outside} is out of bounds for axis {axis} with size {extent}")
    raise AssertionError("the kernel reported an index out of bounds, but the index arrays have none")


def _as_integers(part: IndexArray, array: DeviceArray) -> AnyArray:
    """Return an index array as it is, or the C-order positions of a mask's set elements."""
    if not part.is_mask:
        integers: AnyArray = part.array
        return integers
    if part.on_host and part.array.size <= SMALL:
        return np.flatnonzero(part.array)
    return wrap(evaluate.positions(as_array(part.array, array.device)._node))


def _broadcast_shape(arrays: tuple[IndexArray, ...], integer_arrays: list[AnyArray]) -> Shape:
    """Return the shape to which the index arrays broadcast, or raise NumPy's IndexError."""
    shapes = [indices.shape for indices in integer_arrays]
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        # NumPy converts a mask to an index array per axis
        axis_shapes = [s for part, s in zip(arrays, shapes, strict=True) for _ in part.view_axes or (0,)]
        texts = " ".join(str(s).replace(" ", "") for s in axis_shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} "
        ) from None


# Flat indices -------------------------------------------------------------------------------------


def _flat_indices(
    arrays: tuple[IndexArray, ...], integer_arrays: list[AnyArray], shape: Shape, array: DeviceArray
) -> tuple[Node, tuple[tuple[Node, int], ...]]:
    """Combine several index arrays to flat indices, which are out of bounds if an index is.

    The second value has the index arrays on the device, with the extents of their axes.
    """
    extents = [part.extent for part in arrays]
    steps = contiguous(tuple(extents))
    if prod(shape) <= SMALL and all(isinstance(indices, np.ndarray) for indices in integer_arrays):
        add_offsets = element_offset_loop.row.host
        assert add_offsets is not None
        combined: Any = 0
        for indices, extent, step in zip(integer_arrays, extents, steps, strict=True):
            combined = add_offsets(np.asarray(indices, _INT64), extent, step, combined)
        return _upload_indices(np.atleast_1d(combined), array)._node, ()
    flat_indices = scalar_node(0, _INT64)
    uploaded = [_upload_indices(indices, array) for indices in integer_arrays]
    for indices, extent, step in zip(uploaded, extents, steps, strict=True):
        flat_indices = add_axis_offsets(lazy_alias(indices)._node, extent, step, flat_indices)
    parts = zip(uploaded, arrays, strict=True)
    return flat_indices, tuple([(indices._node, part.extent) for indices, part in parts if not part.is_mask])


def add_axis_offsets(indices: Node, extent: int, step: int, base: Node) -> Node:
    """Build ``base + step * index``. The result is OUT_OF_BOUNDS if the index or the base is out of bounds."""
    return build.nary(element_offset_loop, (indices, scalar_node(extent, _INT64), scalar_node(step, _INT64), base))


def _upload_indices(indices: AnyArray, array: DeviceArray) -> DeviceArray:
    """Return an index array on the array's device.

    On a device with memory of its own, record the range of a small one, which saves the wait for the bounds check.
    """
    if isinstance(indices, DeviceArray):
        return indices
    uploaded = as_array(indices, array.device)
    if 0 < indices.size <= SMALL and not array.device.capabilities.host_memory:
        record_range(uploaded._node, int(indices.min()), int(indices.max()))
    return uploaded


def lazy_alias(array: DeviceArray) -> DeviceArray:
    """Return an alias of an array on memory that a user may change, from which pending expressions can be built.

    The caller evaluates these expressions, and waits for them, before control returns to the user.
    """
    node = array._node
    if node.memory is None or not node.flags & EAGER:
        return array
    alias = leaf(node.memory, node.shape, node.strides, node.offset, node.dtype)
    alias.flags &= ~EAGER
    return wrap(alias)


def first_out_of_bounds(indices: AnyArray, extent: int) -> int | None:
    """Return the first index, in C order, that is out of bounds. None if there is none."""
    wide: Any = indices.astype(_INT64).reshape(-1)
    outside = (wide < -extent) | (wide >= extent)
    return int(wide[int(outside.argmax())]) if bool(outside.any()) else None
