"""Trees that move float16 rewritten to move its bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarray._engine.expr.node import CONST, Node
from clarray._engine.ops.half_bits import BITS, HALF, bits_of, move_loop, value_of
from clarray._engine.ops.special import select_loop

__all__ = ["moving"]


def moving(roots: Sequence[Node], nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The trees, and their distinct inputs, with float16 as its bits on every way that only moves it.

    Trees that compute whatever they give, or have no float16, are as they were.
    """
    rewritten = _Rewritten()
    if not any(rewritten.moves(root) for root in roots):
        return list(roots), list(nodes)
    found = [rewritten.bits(root) if rewritten.moves(root) else rewritten.value(root) for root in roots]
    return found, [rewritten.leaf(node) for node in nodes]


def _is_input(node: Node) -> bool:
    return node.memory is not None or not node.args


class _Rewritten:
    """Nodes by what they were made of; one node stays one, so that it is computed once."""

    def __init__(self) -> None:
        self._bits: dict[int, Node] = {}
        self._values: dict[int, Node] = {}
        self._leaves: dict[int, Node] = {}
        self._moved: dict[int, bool] = {}

    def moves(self, node: Node) -> bool:
        """Whether some float16 may reach the result as it is in memory, or was given."""
        if node.dtype != HALF:
            return False
        if _is_input(node):
            return node.memory is not None or node.op is CONST
        found = self._moved.get(id(node))
        if found is None:
            found = move_loop(node.op) is not None and any(self.moves(arg) for arg in node.args)
            self._moved[id(node)] = found
        return found

    def leaf(self, node: Node) -> Node:
        """An input as it is loaded: from memory as bits."""
        if node.dtype != HALF or node.memory is None:
            return node
        found = self._leaves.get(id(node))
        if found is None:
            found = self._leaves[id(node)] = Node(None, (), node.shape, BITS, node.size, 0, 0, 0, ())
        return found

    def bits(self, node: Node) -> Node:
        """The bits of a float16."""
        found = self._bits.get(id(node))
        if found is None:
            found = self._bits[id(node)] = self._of_bits(node)
        return found

    def _of_bits(self, node: Node) -> Node:
        if _is_input(node):
            return self.leaf(node) if node.memory is not None else _grown(bits_of, (node,), node, BITS)
        loop = move_loop(node.op)
        if loop is None:
            return _grown(bits_of, (self.value(node),), node, BITS)
        masked = node.op is select_loop(HALF)
        args = (self.value(a) if masked and k == 0 else self._half_bits(a) for k, a in enumerate(node.args))
        return _grown(loop, tuple(args), node, BITS)

    def _half_bits(self, node: Node) -> Node:
        """The bits of an operand of any dtype once it is float16."""
        return self.bits(node) if node.dtype == HALF else _grown(bits_of, (self.value(node),), node, BITS)

    def value(self, node: Node) -> Node:
        """A value as arithmetic takes it."""
        found = self._values.get(id(node))
        if found is None:
            found = self._values[id(node)] = self._of_value(node)
        return found

    def _of_value(self, node: Node) -> Node:
        if _is_input(node):
            leaf = self.leaf(node)
            return node if leaf is node else _grown(value_of, (leaf,), node, HALF)
        if self.moves(node):
            return _grown(value_of, (self.bits(node),), node, HALF)
        return _grown(node.op, tuple(self.value(a) for a in node.args), node, node.dtype)


def _grown(loop: object, args: tuple[Node, ...], like: Node, dtype: np.dtype) -> Node:
    return Node(loop, args, like.shape, dtype, like.size, 0, 0, 0, ())
