"""Views: arrays on another array's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.memory_views import note_view
from clarray._engine.expr.node import MASKED, READONLY, Node, leaf_signature, view_leaf
from clarray._engine.expr.overlap import same_elements
from clarray._engine.expr.view import View, contiguous, expand_dims, moveaxis, squeeze, swapaxes, transpose
from clarray._engine.runtime.profiling import state
from clarray._engine.threads import import_whole

_PERMUTATIONS = frozenset([transpose, swapaxes, moveaxis])
_NEW_AXES = frozenset([expand_dims, squeeze])


def view_of(array: DeviceArray) -> View:
    """Return the layout of an array's elements. A pending array is evaluated first."""
    node = array._node
    if node.memory is None:
        evaluate(node)
    return View(node.shape, node.strides, node.offset)


def is_same_memory(source: Node, target: Node) -> bool:
    """Return whether a source is the target itself. Such a write does nothing, even for read-only memory."""
    if source.memory is None or source.memory is not target.memory or source.dtype != target.dtype:
        return False
    return same_elements(*(View(n.shape, n.strides, n.offset) for n in (source, target)))


def make_view(array: DeviceArray, view: View, dtype: np.dtype | None = None) -> DeviceArray:
    """Make a view of an evaluated array's memory."""
    view_node = view_leaf(array._node, *view)
    if dtype is not None and dtype is not view_node.dtype:
        view_node.dtype = dtype
        view_node.sig = leaf_signature(dtype)
    return _wrap_view(array, view_node)


def view_at(array: DeviceArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> DeviceArray:
    """Make a view of an evaluated array's memory with the same dtype."""
    return _wrap_view(array, view_leaf(array._node, shape, strides, offset))


def pending_view(array: DeviceArray, key: Any) -> DeviceArray | None:
    """View a pending array by integers, slices, Ellipsis and None without its evaluation; None if memory is better.

    Functions whose steps are captured compute them one by one.
    """
    view = None if state.capture else import_whole("clarray._engine.expr.pending_views").viewed(array._node, key)
    return None if view is None else wrap_view(array, view)


def pending_reshape(array: DeviceArray, function: Callable[..., View], *args: Any) -> DeviceArray | None:
    """View a pending array with axes of length 1 more or less, as a function gives the shape; None for other views."""
    node = array._node
    if node.memory is not None or node.flags & MASKED or state.capture:
        return None
    shape = function(View(node.shape, contiguous(node.shape)), *args).shape
    key = _key_of_new_axes(node.shape, shape)
    return None if key is None else pending_view(array, key)


def _key_of_new_axes(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Return the key that turns one shape into another which differs by axes of length 1 alone; otherwise None."""
    if [extent for extent in old if extent != 1] != [extent for extent in new if extent != 1]:
        return None
    key: list[Any] = []
    remaining = [*old]
    for extent in new:
        while extent != 1 and remaining[0] == 1:
            key.append(0)
            del remaining[0]
        is_kept = remaining[:1] == [extent]
        key.append(slice(None) if is_kept else None)
        del remaining[:is_kept]
    return (*key, *[0] * len(remaining))


def view_operation(source: Node, key: Any) -> tuple[Any, tuple[int, ...], int]:
    """Return the operation of a view of a pending value, with the shape and the size of the view."""
    operation: tuple[Any, tuple[int, ...], int]
    operation = import_whole("clarray._engine.expr.pending_views").index_operation(source, key)
    return operation


def _wrap_view(array: DeviceArray, view_node: Node) -> DeviceArray:
    """Wrap a new leaf on an array's memory, and register it as a view of the memory."""
    note_view(view_node)
    return wrap_view(array, view_node)


def wrap_view(array: DeviceArray, view_node: Node) -> DeviceArray:
    """Wrap a view of an array's value, which may be pending."""
    return wrap(view_node, array if array._base is None else array._base)


def transform_view(array: DeviceArray, function: Callable[..., View], *args: Any) -> DeviceArray:
    """View an array through a function of `clarray._engine.expr.view`."""
    node = array._node
    if function in _PERMUTATIONS and node.memory is None and not (node.flags & MASKED or state.capture):
        axes = function(View(node.shape, tuple(range(len(node.shape)))), *args).strides  # each has its number as stride
        view = import_whole("clarray._engine.expr.pending_views").transposed(node, axes)
        if view is not None:
            return wrap_view(array, view)
    pending = pending_reshape(array, function, *args) if function in _NEW_AXES else None
    return make_view(array, function(view_of(array), *args)) if pending is None else pending


def read_only(array: DeviceArray) -> DeviceArray:
    """Return a read-only view of an array."""
    view = make_view(array, view_of(array))
    view._node.flags |= READONLY
    return view
