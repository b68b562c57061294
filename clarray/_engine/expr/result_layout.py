"""How a value's elements lie, or will lie once it is computed."""

from __future__ import annotations

from clarray._engine.expr.node import CONST, INDEX, MASKED, REDUCES, Node
from clarray._engine.expr.overlap import k_order_strides, reduced_strides
from clarray._engine.expr.view import Shape, View, contiguous, ordered_strides
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform


def view_of(node: Node) -> View:
    """Shape, strides and offset of a leaf."""
    return View(node.shape, node.strides, node.offset)


def layout_of(node: Node) -> View:
    """How a value's elements lie, or will lie once it is computed."""
    if node.memory is not None or node.op is INDEX:
        return view_of(node)
    return View(node.shape, result_strides(node))


def lies_alike(one: Node, other: Node) -> bool:
    """Tell whether two values of one shape have the same memory order."""
    if (one.flags | other.flags) & MASKED or len(one.shape) < 2:  # what is selected has one axis
        return True
    steps = zip(one.shape, layout_of(one).strides, layout_of(other).strides, strict=True)
    return all(extent < 2 or first == second for extent, first, second in steps)


def result_strides(node: Node) -> Shape:
    """The memory order NumPy gives the result: that of the operands where they agree, operation by operation."""
    shape, op = node.shape, node.op
    if len(shape) < 2:
        return contiguous(shape)
    if isinstance(op, Transform):
        return ordered_strides(shape, op.order)
    if isinstance(op, Reduction):
        views = [layout_of(a) for a in node.args if a.op is not CONST]
        return contiguous(shape) if op.monoid.indexed else reduced_strides(views, op.axes, shape)
    views = [view_of(n) for n in node.inputs if n.op is not CONST]
    if node.flags & REDUCES or any(v[:2] != views[0][:2] for v in views):
        # what agrees keeps its order at every step; elsewhere one step's order is another's operand
        views = [layout_of(a) for a in node.args if a.op is not CONST]
    return k_order_strides(views, shape)
