"""Views: arrays on another array's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from weakref import ref

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import EAGER, READONLY, Node, graph_lock, leaf_signature, view_leaf
from clarray._engine.expr.overlap import same_elements
from clarray._engine.expr.view import View
from clarray._engine.runtime import Memory

_MIN_LIMIT = 64  # number of views up to which dead references stay


class Views(list[Any]):
    """Weak references to the views of a memory. Dead references are removed whenever the number has doubled."""

    __slots__ = ("_left",)

    @property
    def limit(self) -> int:
        """The number of references at which dead ones are removed."""
        return 2 * getattr(self, "_left", 0) + _MIN_LIMIT

    def prune(self) -> None:
        with graph_lock:
            count = len(self)  # other threads may append meanwhile
            self[:count] = _alive(self[:count])
            self._left = len(self)


def _alive(views: list[Any]) -> list[Any]:
    return [view for view in views if view() is not None]


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


def _wrap_view(array: DeviceArray, view_node: Node) -> DeviceArray:
    """Wrap a new leaf on an array's memory, and register it as a view of the memory."""
    memory = view_node.memory
    assert memory is not None
    if not memory.shared:  # `share_with_host` marks these views as EAGER
        views = memory.views
        if views is None:
            views = _view_list(memory)
        views.append(ref(view_node))
        prune_views(views)
        if memory.shared:  # another thread has shared the memory
            view_node.flags |= EAGER
    return wrap(view_node, array if array._base is None else array._base)


def _view_list(memory: Memory) -> Views:
    with graph_lock:
        if memory.views is None:
            memory.views = Views()
        return cast(Views, memory.views)


def prune_views(views: Views) -> None:
    if len(views) > views.limit:
        views.prune()


def transform_view(array: DeviceArray, function: Callable[..., View], *args: Any) -> DeviceArray:
    """View an array through a function of `clarray._engine.expr.view`."""
    return make_view(array, function(view_of(array), *args))


def read_only(array: DeviceArray) -> DeviceArray:
    """Return a read-only view of an array."""
    view = make_view(array, view_of(array))
    view._node.flags |= READONLY
    return view
