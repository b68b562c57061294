"""Slices of pending expressions, as expressions of their own.

An elementwise operation computes a slice of its result from the same slice of its operands. So the slice of an
expression consists of the same operations on views of its leaves, and the expression itself stays pending.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarray._engine.expr.build import broadcast, nary, reduction
from clarray._engine.expr.graph import postorder
from clarray._engine.expr.memory_views import is_view
from clarray._engine.expr.node import CONST, INDEX, MASKED, REDUCES, Node, index, view_leaf
from clarray._engine.expr.view import Shape, View, added_axes, broadcast_to, contiguous
from clarray._engine.ops.monoids import Reduction

ViewFunction = Callable[[View], View]


def slice_expression(root: Node, take_view: ViewFunction, compute: Callable[[Node], Any]) -> Node:
    """Return a slice of a node's value as a new node.

    Parameters
    ----------
    root : Node
        Stays pending unless it is a reduction, a transform or a selection by a mask: no slice of these costs less.
    take_view : callable
        Returns the slice of a view of root's shape, as `indexing.index` does.
    compute : callable
        Evaluates a node: the reductions, transforms and selections in the tree. Nothing else is computed.

    Returns
    -------
    Node
        A view, or pending. The caller must hold the device's lock until it is evaluated: the attributes of a node
        change when the node becomes memory.
    """
    added = added_axes(take_view, root.shape)
    for node in _topmost_passes(root):
        if node.shape != root.shape or not restores_axes(node, added):
            compute(node)
    return _slice(root, take_view)


def restores_axes(node: Node, added: Shape | None) -> bool:
    """Return whether axes that a view adds are those which a pending reduction has removed.

    Then the view is the same reduction, which keeps its axes as by ``keepdims=True``.
    """
    if not isinstance(node.op, Reduction) or node.memory is not None or node.op.axes != added:
        return False
    return len(node.shape) + len(added) == len(node.args[0].shape)


def composed(outer: ViewFunction, inner: ViewFunction) -> ViewFunction:
    """Return the function that takes a view of a view."""
    return lambda view: outer(inner(view))


def _slice(root: Node, take_view: ViewFunction) -> Node:
    slicer = _Slicer(root.shape, take_view)
    for node in postorder([root], _operands):  # a deep graph needs no recursion
        slicer.slice(node)
    node = slicer.slice(root)
    return node if node.shape == slicer.shape else broadcast(root.op, node.args[0], slicer.shape)


def _operands(node: Node) -> tuple[Node, ...]:
    """Return what is sliced as a node is: not what a pending view or a reduction reads, which has another shape."""
    return () if is_view(node) or isinstance(node.op, Reduction) else node.args


def _topmost_passes(root: Node) -> list[Node]:
    """Return the reductions, transforms and selections of a tree that are in no operand of another one."""
    passes: list[Node] = []
    visited: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in visited or node.memory is not None or not node.flags & (REDUCES | MASKED):
            continue
        visited.add(node)
        if node.flags & MASKED or (hasattr(node.op, "axes") and not is_view(node)):
            passes.append(node)
        else:
            stack.extend(reversed(node.args))
    return passes


class _Slicer:
    """Takes the same slice of all leaves of an elementwise expression."""

    def __init__(self, full_shape: Shape, take_view: ViewFunction) -> None:
        self._full_shape = full_shape
        self._take_view = take_view
        self._slices: dict[int, Node] = {}
        self.shape = take_view(View(full_shape, contiguous(full_shape))).shape

    def slice(self, node: Node) -> Node:
        """Return the slice of a node that broadcasts to the full shape; 0-d leaves and constants stay as they are."""
        sliced = self._slices.get(id(node))
        if sliced is None:
            sliced = self._slices[id(node)] = self._new_slice(node)
        return sliced

    def _new_slice(self, node: Node) -> Node:
        if node.memory is not None:
            return view_leaf(node, *self._view(node)) if node.shape else node
        if node.op is CONST:
            return node
        if node.op is INDEX:
            shape, strides, offset = self._view(node)
            return index(shape, strides, node.dtype, offset)
        if isinstance(node.op, Reduction):
            return reduction(node.op, node.args, self.shape)  # whose axes are restored: others are computed before
        if is_view(node):  # a slice of what it looks at
            return _slice(node.args[0], composed(self._of_full_shape, node.op.take_view))
        return nary(node.op, tuple([self.slice(arg) for arg in node.args]))

    def _view(self, node: Node) -> View:
        return self._of_full_shape(View(node.shape, node.strides, node.offset))

    def _of_full_shape(self, view: View) -> View:
        return self._take_view(broadcast_to(view, self._full_shape))
