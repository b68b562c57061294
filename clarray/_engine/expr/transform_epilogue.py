"""What is done to the values of a transform before it stores them."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.expr.node import COMPRESS, INDEX, REDUCES, Node
from clarray._engine.expr.overlap import lie_alike
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform


class Finish(NamedTuple):
    """A tree over one pending transform, which its last pass computes as it stores.

    Parameters
    ----------
    root : Node
        The tree (the transform itself if nothing follows).
    transformed : Node
        The transform in it.
    others : tuple of Node
        Its other inputs, each once: they broadcast to the transform's shape.
    """

    root: Node
    transformed: Node
    others: tuple[Node, ...]


def find_finish(root: Node) -> Finish | None:
    """The transform that `root` is, or that it applies elementwise operations and other operands to; None without one.

    Where there are several it is one of them: the others, and reductions, are operands that have to be computed before.
    """
    if isinstance(root.op, Transform):
        return Finish(root, root, ())
    if not root.flags & REDUCES:
        return None
    transformed: Node | None = None
    others: dict[Node, None] = {}
    seen: set[int] = set()
    level = [root]
    while level:
        node = level.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if transformed is None and isinstance(node.op, Transform) and node.op.finishes and node.shape == root.shape:
            transformed = node
        elif node.memory is not None or not node.args or isinstance(node.op, Transform | Reduction):
            others[node] = None
        elif node.op is COMPRESS:
            return None
        else:
            level.extend(node.args)
    if transformed is None or not lie_alike(root.shape, result_strides(root), result_strides(transformed)):
        return None
    if not transformed.op.beside and any(node.size > 1 and node.op is not INDEX for node in others):
        return None
    return Finish(root, transformed, tuple(others))


def transformed_inputs(root: Node) -> list[Node]:
    """The inputs of the pending transforms in a tree: elements that are read when others have been stored already."""
    if root.memory is not None or not root.flags & REDUCES:
        return []
    if isinstance(root.op, Transform):
        return list(root.inputs)
    return [node for arg in root.args for node in transformed_inputs(arg)]
