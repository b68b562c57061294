"""Reductions with the elementwise operations on their results."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import CONST, Node
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform

__all__ = ["Epilogue", "find_epilogue"]


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
