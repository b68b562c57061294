"""Trees that move packed floats rewritten to move their bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarray._engine.expr.node import CONST, Node
from clarray._engine.ops.packed_bits import bits_dtype, bits_of, is_packed, move_loop, value_of
from clarray._engine.ops.special import select_loop

__all__ = ["moving"]


def moving(roots: Sequence[Node], nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The trees, and their distinct inputs, with packed floats as bits on every way that only moves them.

    Trees that compute whatever they give, or have no packed floats, are as they were.
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
        """Whether some packed float may reach the result as it is in memory, or was given."""
        if not is_packed(node.dtype):
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
        if node.memory is None or not is_packed(node.dtype):
            return node
        found = self._leaves.get(id(node))
        if found is None:
            found = self._leaves[id(node)] = Node(None, (), node.shape, bits_dtype(node.dtype), node.size, 0, 0, 0, ())
        return found

    def bits(self, node: Node) -> Node:
        """The bits of a packed float."""
        found = self._bits.get(id(node))
        if found is None:
            found = self._bits[id(node)] = self._of_bits(node)
        return found

    def _of_bits(self, node: Node) -> Node:
        if _is_input(node):
            return self.leaf(node) if node.memory is not None else _bits_of(node, node.dtype)
        loop = move_loop(node.op)
        if loop is None:
            return _bits_of(self.value(node), node.dtype)
        masked = node.op is select_loop(node.dtype)
        args = (self.value(a) if masked and k == 0 else self._cast(a, node.dtype) for k, a in enumerate(node.args))
        return _grown(loop, tuple(args), node, bits_dtype(node.dtype))

    def _cast(self, node: Node, dtype: np.dtype) -> Node:
        """The bits of an operand of any dtype once it is a packed float of this one."""
        return self.bits(node) if node.dtype == dtype else _bits_of(self.value(node), dtype)

    def value(self, node: Node) -> Node:
        """A value as arithmetic takes it."""
        found = self._values.get(id(node))
        if found is None:
            found = self._values[id(node)] = self._of_value(node)
        return found

    def _of_value(self, node: Node) -> Node:
        if _is_input(node):
            leaf = self.leaf(node)
            return node if leaf is node else _grown(value_of(node.dtype), (leaf,), node, node.dtype)
        if self.moves(node):
            return _grown(value_of(node.dtype), (self.bits(node),), node, node.dtype)
        return _grown(node.op, tuple(self.value(a) for a in node.args), node, node.dtype)


def _bits_of(node: Node, dtype: np.dtype) -> Node:
    return _grown(bits_of(dtype), (node,), node, bits_dtype(dtype))


def _grown(loop: object, args: tuple[Node, ...], like: Node, dtype: np.dtype) -> Node:
    return Node(loop, args, like.shape, dtype, like.size, 0, 0, 0, ())
