"""Views: the leaves that look at one memory, and pending views of values that are no memory yet."""

from __future__ import annotations

from typing import Any, cast
from weakref import ref

from clarray._engine.expr.node import EAGER, Node, graph_lock
from clarray._engine.ops.transforms import Transform

_MIN_LIMIT = 64  # number of views up to which dead references stay


class Views(list[Any]):
    """Weak references to the views of a memory: if it is shared with the host, each must know.

    Dead references are removed whenever the number has doubled.
    """

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


def note_view(leaf: Node) -> None:
    """Register a leaf as a view of its memory."""
    memory = leaf.memory
    assert memory is not None
    if memory.shared:  # `share_with_host` marks these views as EAGER
        return
    views = memory.views
    if views is None:
        views = _view_list(memory)
    views.append(ref(leaf))
    prune_views(views)
    if memory.shared:  # another thread has shared the memory
        leaf.flags |= EAGER


def _view_list(memory: Any) -> Views:
    with graph_lock:
        if memory.views is None:
            memory.views = Views()
        return cast(Views, memory.views)


def prune_views(views: Views) -> None:
    if len(views) > views.limit:
        views.prune()


def is_view(node: Node) -> bool:
    """Return whether a node is a pending view."""
    return isinstance(node.op, Transform) and node.op.take_view is not None


def pending_views(source: Node) -> list[Node]:
    """Return the pending views of a pending value that are alive."""
    readers = [reader() for reader in list(source.readers)]
    return [node for node in readers if node is not None and is_view(node)]


def viewed_value(node: Node) -> Node:
    """Return what a pending view, or a view of that, looks at; of any other node the node."""
    while is_view(node):
        node = node.args[0]
    return node


def has_views(node: Node) -> bool:
    """Return whether pending views of a pending value are alive: a later value of its array is theirs, too."""
    return bool(pending_views(node))
