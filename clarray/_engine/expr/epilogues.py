"""Epilogues: elementwise operations on the result of a reduction or a transform, which its last pass computes."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.expr.graph import graph_of, inputs_of
from clarray._engine.expr.node import COMPRESS, CONST, INDEX, REDUCES, Node
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


class Epilogue(NamedTuple):
    """The operations on a finished result before it is stored.

    Parameters
    ----------
    root : Node
        The expression above the reduction, or the reduction itself if there is none.
    reduced : Node
        The reduction.
    constants : tuple of Node
        The other inputs of the expression, which are constants.
    """

    root: Node
    reduced: Node
    constants: tuple[Node, ...]

    @property
    def scalar(self) -> bool:
        """Whether the source computes one result at a time, because a value is complex and so has no vectors."""
        graph = graph_of(self.root)
        operands = set() if self.root is self.reduced else set(graph_of(*self.reduced.args).pending)
        return any(node.dtype.kind == "c" for node in (*graph.pending, *self.constants) if node not in operands)


def find_epilogue(root: Node) -> Epilogue | None:
    """Return the reduction that `root` is, or to which it applies elementwise operations with constants."""
    if isinstance(root.op, Reduction):
        return Epilogue(root, root, ())
    reduced: Node | None = None
    constants: dict[Node, None] = {}
    visited: set[Node] = set()
    level = [root]
    while level:
        node = level.pop()
        if node in visited:
            continue
        visited.add(node)
        if isinstance(node.op, Reduction):
            if reduced is not None or node.shape != root.shape:
                return None
            reduced = node
        elif node.op is CONST:
            constants[node] = None
        elif node.memory is not None or not node.args or isinstance(node.op, Transform):
            return None
        else:
            level.extend(node.args)
    return Epilogue(root, reduced, tuple(constants)) if reduced is not None else None
