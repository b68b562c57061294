"""The growth of pending expressions, and the limit from which on they are evaluated."""

from __future__ import annotations

from collections.abc import Callable

from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import Node
from clarray._engine.speedups import accelerated, native
from clarray._engine.weights import WEIGHT_LIMIT

__all__ = ["count_growth", "is_costly", "limit", "note_growth", "observers"]


class Limit:
    """The weight of pending expressions from which on they are evaluated rather than grown."""

    def __init__(self) -> None:
        self.weight = 0
        self.set(WEIGHT_LIMIT)

    def set(self, weight: int) -> None:
        """Set the limit. With 0 nothing stays pending when a statement ends."""
        self.weight = weight
        if native is not None:
            native.set_weight_limit(weight)


limit = Limit()
observers: list[Callable[[Node], None]] = []  # are called with each node that Python grows
_grown = 0  # the weight of all nodes that have been grown


@accelerated
def count_growth(args: tuple[Node, ...]) -> int:
    """Count a new node with these operands, and return its `since`."""
    global _grown
    since = _grown
    weight = 1
    for a in args:
        if a.args:
            since = min(since, a.since)
        elif a.memory is not None:
            weight += a.memory.cost
    _grown += weight
    return since


def note_growth(node: Node) -> None:
    """Count a new node, and show it to the observers."""
    node.since = count_growth(node.args)
    for observe in observers:
        observe(node)


@accelerated
def is_costly(node: Node) -> bool:
    """Return whether a pending node is too heavy to stay pending.

    The weight of a graph is at most that of all that was grown since its oldest node. If that exceeds the limit, the
    graph itself is weighed, and its nodes count as if they had been grown last.
    """
    if not node.args or _grown - node.since <= limit.weight:
        return False
    graph = graph_of(node)
    memories = {id(leaf.memory): leaf.memory.cost for leaf in graph.inputs if leaf.memory is not None}
    weight = len(graph.pending) + sum(memories.values())
    for each in graph.pending:
        each.since = _grown - weight
    return weight > limit.weight
