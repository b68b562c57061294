"""Epilogues of transforms: elementwise operations on the values of a transform that its last pass stores."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.expr.graph import graph_of, inputs_of
from clarray._engine.expr.node import COMPRESS, INDEX, REDUCES, Node
from clarray._engine.expr.overlap import same_strides
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform


class TransformEpilogue(NamedTuple):
    """A tree over one pending transform, fused into the transform's last pass.

    Parameters
    ----------
    root : Node
        The tree (the transform itself if nothing follows).
    transformed : Node
        The transform in the tree.
    others : tuple of Node
        The other inputs of the tree, each once. They broadcast to the transform's shape.
    """

    root: Node
    transformed: Node
    others: tuple[Node, ...]


def find_transform_epilogue(root: Node) -> TransformEpilogue | None:
    """Return the transform in a tree, and the tree as its epilogue; None if no transform can compute `root`.

    Of several transforms it is one. The others, and reductions, are operands that must be evaluated before.
    """
    if isinstance(root.op, Transform):
        return TransformEpilogue(root, root, ())
    if not root.flags & REDUCES:
        return None
    transformed: Node | None = None
    others: dict[Node, None] = {}
    visited: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if transformed is None and isinstance(node.op, Transform) and node.op.has_epilogue and node.shape == root.shape:
            transformed = node
        elif node.memory is not None or not node.args or isinstance(node.op, Transform | Reduction):
            others[node] = None
        elif node.op is COMPRESS:
            return None
        else:
            stack.extend(node.args)
    if transformed is None or not same_strides(root.shape, result_strides(root), result_strides(transformed)):
        return None
    if not transformed.op.epilogue_inputs and any(node.size > 1 and node.op is not INDEX for node in others):
        return None
    return TransformEpilogue(root, transformed, tuple(others))


def transform_inputs(root: Node) -> list[Node]:
    """Return the inputs of the pending transforms in a tree: they are read after other elements have been stored."""
    if root.memory is not None or not root.flags & REDUCES:
        return []
    if isinstance(root.op, Transform):
        return inputs_of(root)
    transforms = [node for node in graph_of(root).pending if isinstance(node.op, Transform)]
    return inputs_of(*transforms)
