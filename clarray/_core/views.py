"""Windows: arrays that look at another array's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import READONLY, Node, leaf
from clarray._engine.expr.overlap import same_elements
from clarray._engine.expr.view import View


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
    node = array._node
    memory = node.memory
    assert memory is not None
    if dtype is None:
        dtype = node.dtype
    base = array if array._base is None else array._base
    made = leaf(memory, view.shape, view.strides, view.offset, dtype)
    made.flags |= node.flags & READONLY
    if not memory.shared:  # what `share_with_host` has to tell, should that come to pass
        if memory.views is None:
            memory.views = WeakSet()
        memory.views.add(made)
    return wrap(made, base)


def transform_view(array: DeviceArray, function: Callable[..., View], *args: Any) -> DeviceArray:
    """Apply a function of `clarray._engine.expr.view` to an array."""
    return make_view(array, function(view_of(array), *args))


def read_only(array: DeviceArray) -> DeviceArray:
    """A view through which nothing can be written."""
    view = make_view(array, view_of(array))
    view._node.flags |= READONLY
    return view
