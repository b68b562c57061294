"""Memory layouts of nodes: of a leaf its own, of a pending node the layout of its result."""

from __future__ import annotations

from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import CONST, INDEX, MASKED, REDUCES, Node
from clarray._engine.expr.overlap import k_order_strides, reduced_strides
from clarray._engine.expr.view import Shape, View, contiguous, ordered_strides
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform


def view_of(node: Node) -> View:
    """Return shape, strides and offset of a leaf or an index."""
    return View(node.shape, node.strides, node.offset)


def result_view(node: Node) -> View:
    """Return the view of a node's elements; of a pending node the view of its result, at offset 0."""
    if node.memory is not None or node.op is INDEX:
        return view_of(node)
    return View(node.shape, result_strides(node))


def has_same_order(a: Node, b: Node) -> bool:
    """Return whether two nodes of one shape have the same memory order."""
    if (a.flags | b.flags) & MASKED or len(a.shape) < 2:  # a selection has one axis
        return True
    strides = zip(a.shape, result_view(a).strides, result_view(b).strides, strict=True)
    return all(extent < 2 or a_stride == b_stride for extent, a_stride, b_stride in strides)


def result_strides(node: Node) -> Shape:
    """Return the strides of a result in NumPy's memory order, which is decided operation by operation."""
    shape = node.shape
    if len(shape) < 2:
        return contiguous(shape)
    if isinstance(node.op, Transform):
        return ordered_strides(shape, node.op.order)
    graph = graph_of(node)
    views = [view_of(n) for n in graph.inputs if n.op is not CONST]
    if not node.flags & REDUCES and all(v[:2] == views[0][:2] for v in views):
        return k_order_strides(views, shape)  # operands of one layout pass it on through all operations
    known: dict[Node, Shape] = {}
    for each in graph.pending:
        known[each] = _operation_strides(each, known)
    return known[node]


def _operation_strides(node: Node, known: dict[Node, Shape]) -> Shape:
    """Return the strides of one operation's result, from the strides of its pending operands."""
    shape, op = node.shape, node.op
    if len(shape) < 2:
        return contiguous(shape)
    if isinstance(op, Transform):
        return ordered_strides(shape, op.order)
    views = [View(a.shape, known[a]) if a in known else view_of(a) for a in node.args if a.op is not CONST]
    if isinstance(op, Reduction):
        return contiguous(shape) if op.monoid.indexed else reduced_strides(views, op.axes, shape)
    return k_order_strides(views, shape)
