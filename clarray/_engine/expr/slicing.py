"""A part of a pending value, as an expression of its own: what is computed where only a part is wanted.

Whatever is elementwise computes a part from the same part of its operands. So a part is the same operations on views of
the leaves, and what it is taken of stays pending.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarray._engine.expr.build import broadcast, nary
from clarray._engine.expr.node import CONST, INDEX, MASKED, REDUCES, Node, index, view_leaf
from clarray._engine.expr.view import Shape, View, broadcast_to, contiguous

Cut = Callable[[View], View]


def window(root: Node, cut: Cut, compute: Callable[[Node], Any]) -> Node:
    """Give a part of a node's value as a new node.

    Parameters
    ----------
    root : Node
        It stays pending unless it reduces, transforms, or selects by a mask: these have no part that costs less.
    cut : callable
        Gives the part of a view of root's shape: a view that looks at some of its elements, as `indexing.index` does.
    compute : callable
        Makes a node memory: whatever reduces or transforms below the root. Nothing else is computed.

    Returns
    -------
    Node
        A view, or pending. The device's lock must be held until it has been computed: what is known of a node changes
        when that becomes memory.
    """
    for node in _passes(root):
        compute(node)
    part = _Part(root.shape, cut)
    found = part.of(root)
    return found if found.shape == part.shape else broadcast(root.op, found.args[0], part.shape)


def _passes(root: Node) -> list[Node]:
    """What reduces, transforms or selects, with nothing like it above."""
    if root.memory is not None or not root.flags & (REDUCES | MASKED):
        return []
    if root.flags & MASKED or hasattr(root.op, "axes"):
        return [root]
    return [node for arg in root.args for node in _passes(arg)]


class _Part:
    """Takes the same part of all that an elementwise expression reads."""

    def __init__(self, whole: Shape, cut: Cut) -> None:
        self._whole = whole
        self._cut = cut
        self._found: dict[int, Node] = {}
        self.shape = cut(View(whole, contiguous(whole))).shape

    def of(self, node: Node) -> Node:
        """The part of a node that broadcasts to the whole; what has no axes stays as it is."""
        found = self._found.get(id(node))
        if found is None:
            found = self._found[id(node)] = self._taken(node)
        return found

    def _taken(self, node: Node) -> Node:
        if node.memory is not None:
            return view_leaf(node, *self._seen(node)) if node.shape else node
        if node.op is CONST:
            return node
        if node.op is INDEX:
            shape, strides, offset = self._seen(node)
            return index(shape, strides, node.dtype, offset)
        return nary(node.op, tuple([self.of(arg) for arg in node.args]))

    def _seen(self, node: Node) -> View:
        return self._cut(broadcast_to(View(node.shape, node.strides, node.offset), self._whole))
