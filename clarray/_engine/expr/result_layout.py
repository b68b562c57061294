"""Memory layouts of nodes: of a leaf its own, of a pending node the layout of its result."""

from __future__ import annotations

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
    shape, op = node.shape, node.op
    if len(shape) < 2:
        return contiguous(shape)
    if isinstance(op, Transform):
        return ordered_strides(shape, op.order)
    if isinstance(op, Reduction):
        views = [result_view(a) for a in node.args if a.op is not CONST]
        return contiguous(shape) if op.monoid.indexed else reduced_strides(views, op.axes, shape)
    views = [view_of(n) for n in node.inputs if n.op is not CONST]
    if node.flags & REDUCES or any(v[:2] != views[0][:2] for v in views):
        # operands of one layout pass it on through all operations; otherwise each operation decides its result's layout
        views = [result_view(a) for a in node.args if a.op is not CONST]
    return k_order_strides(views, shape)
