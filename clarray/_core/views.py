"""Windows: arrays that look at another array's memory."""

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

_FEW = 64  # views of a memory that are kept before dead ones are looked for


class Views(list[Any]):
    """Weak references of the leaves that look at a memory; what is dead goes whenever their number has doubled."""

    __slots__ = ("_left",)

    @property
    def limit(self) -> int:
        """How many may be there before the dead ones go."""
        return 2 * getattr(self, "_left", 0) + _FEW

    def prune(self) -> None:
        with graph_lock:
            count = len(self)  # others may append meanwhile
            self[:count] = _alive(self[:count])
            self._left = len(self)


def _alive(views: list[Any]) -> list[Any]:
    return [view for view in views if view() is not None]


def view_of(array: DeviceArray) -> View:
    """Give where an array's elements lie; a pending value is computed first."""
    node = array._node
    if node.memory is None:
        evaluate(node)
    return View(node.shape, node.strides, node.offset)


def is_itself(value: Node, target: Node) -> bool:
    """Whether a value is the elements that it is written to: no write, even where nothing may be written."""
    if value.memory is None or value.memory is not target.memory or value.dtype != target.dtype:
        return False
    return same_elements(*(View(n.shape, n.strides, n.offset) for n in (value, target)))


def make_view(array: DeviceArray, view: View, dtype: np.dtype | None = None) -> DeviceArray:
    """Make an array that looks at the memory of another, which has been computed."""
    made = view_leaf(array._node, *view)
    if dtype is not None and dtype is not made.dtype:
        made.dtype = dtype
        made.sig = leaf_signature(dtype)
    return _seen(array, made)


def view_at(array: DeviceArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> DeviceArray:
    """Make an array of the same dtype that looks at the memory of another, which has been computed."""
    return _seen(array, view_leaf(array._node, shape, strides, offset))


def _seen(array: DeviceArray, made: Node) -> DeviceArray:
    """Wrap a new leaf that looks at the memory of an array."""
    memory = made.memory
    assert memory is not None
    if not memory.shared:  # what `share_with_host` has to tell, should that come to pass
        views = memory.views
        if views is None:
            views = _first_of(memory)
        views.append(ref(made))
        prune_views(views)
        if memory.shared:  # by another thread, since
            made.flags |= EAGER
    return wrap(made, array if array._base is None else array._base)


def _first_of(memory: Memory) -> Views:
    with graph_lock:
        if memory.views is None:
            memory.views = Views()
        return cast(Views, memory.views)


def prune_views(views: Views) -> None:
    if len(views) > views.limit:
        views.prune()


def transform_view(array: DeviceArray, function: Callable[..., View], *args: Any) -> DeviceArray:
    """Apply a function of `clarray._engine.expr.view` to an array."""
    return make_view(array, function(view_of(array), *args))


def read_only(array: DeviceArray) -> DeviceArray:
    """A view through which nothing can be written."""
    view = make_view(array, view_of(array))
    view._node.flags |= READONLY
    return view
