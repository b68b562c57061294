"""Rewriting of trees that move packed floats: they move the bits instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarray._engine.expr.node import CONST, Node
from clarray._engine.ops.packed_bits import bits_dtype, from_bits_loop, is_packed, move_loop, to_bits_loop
from clarray._engine.ops.special import select_loop

__all__ = ["with_moved_bits"]


def with_moved_bits(roots: Sequence[Node], nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Return the trees and their distinct inputs, with bits in place of packed floats that are only moved.

    Trees whose operations all compute new values, or that have no packed floats, are returned unchanged.
    """
    rewriter = _BitsRewriter()
    if not any(rewriter.moves(root) for root in roots):
        return list(roots), list(nodes)
    moved = [rewriter.bits(root) if rewriter.moves(root) else rewriter.value(root) for root in roots]
    return moved, [rewriter.leaf(node) for node in nodes]


def _is_input(node: Node) -> bool:
    return node.memory is not None or not node.args


class _BitsRewriter:
    """Rewrites nodes, each once, so that shared nodes stay shared."""

    def __init__(self) -> None:
        self._bits: dict[int, Node] = {}
        self._values: dict[int, Node] = {}
        self._leaves: dict[int, Node] = {}
        self._moves: dict[int, bool] = {}

    def moves(self, node: Node) -> bool:
        """Return whether some packed float may reach the result unchanged from memory or from a constant."""
        if not is_packed(node.dtype):
            return False
        if _is_input(node):
            return node.memory is not None or node.op is CONST
        moves = self._moves.get(id(node))
        if moves is None:
            moves = move_loop(node.op) is not None and any(self.moves(arg) for arg in node.args)
            self._moves[id(node)] = moves
        return moves

    def leaf(self, node: Node) -> Node:
        """Return an input as a kernel loads it: packed floats in memory as bits."""
        if node.memory is None or not is_packed(node.dtype):
            return node
        leaf = self._leaves.get(id(node))
        if leaf is None:
            leaf = self._leaves[id(node)] = Node(None, (), node.shape, bits_dtype(node.dtype), node.size)
        return leaf

    def bits(self, node: Node) -> Node:
        """Return the node of a packed float's bits."""
        bits = self._bits.get(id(node))
        if bits is None:
            bits = self._bits[id(node)] = self._new_bits(node)
        return bits

    def _new_bits(self, node: Node) -> Node:
        if _is_input(node):
            return self.leaf(node) if node.memory is not None else _to_bits(node, node.dtype)
        loop = move_loop(node.op)
        if loop is None:
            return _to_bits(self.value(node), node.dtype)
        masked = node.op is select_loop(node.dtype)
        args = (self.value(a) if masked and k == 0 else self._cast(a, node.dtype) for k, a in enumerate(node.args))
        return _node_like(loop, tuple(args), node, bits_dtype(node.dtype))

    def _cast(self, node: Node, dtype: np.dtype) -> Node:
        """Return the bits of an operand converted to a packed float dtype."""
        return self.bits(node) if node.dtype == dtype else _to_bits(self.value(node), dtype)

    def value(self, node: Node) -> Node:
        """Return the node of a value for arithmetic."""
        value = self._values.get(id(node))
        if value is None:
            value = self._values[id(node)] = self._new_value(node)
        return value

    def _new_value(self, node: Node) -> Node:
        if _is_input(node):
            leaf = self.leaf(node)
            return node if leaf is node else _node_like(from_bits_loop(node.dtype), (leaf,), node, node.dtype)
        if self.moves(node):
            return _node_like(from_bits_loop(node.dtype), (self.bits(node),), node, node.dtype)
        return _node_like(node.op, tuple(self.value(a) for a in node.args), node, node.dtype)


def _to_bits(node: Node, dtype: np.dtype) -> Node:
    return _node_like(to_bits_loop(dtype), (node,), node, bits_dtype(dtype))


def _node_like(loop: object, args: tuple[Node, ...], like: Node, dtype: np.dtype) -> Node:
    return Node(loop, args, like.shape, dtype, like.size)
