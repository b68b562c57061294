"""The graph of pending expressions below some nodes: its inputs, its order, and its signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.node import COMPRESS, CONST, LARGE, HostScalar, Node, intern_structure, pending_users

_COMPRESS, _PASS = -1, -2  # the first item of an operation's key, where an elementwise one has its code

__all__ = [
    "Graph",
    "constant_key",
    "graph_of",
    "inputs_of",
    "is_same_value",
    "live_readers",
    "postorder",
    "signature_of",
]


class Graph(NamedTuple):
    """The expressions below some roots at one moment. A node that is read twice is in it once.

    Attributes
    ----------
    inputs : list of Node
        The leaves, constants and indices, each once, in the order of the walk.
    pending : list of Node
        The pending nodes, operands before the nodes that read them.
    key : list
        What identifies the graph, without the layouts of its inputs: dtypes, operations, and who reads what.
    constants : dict or None
        In a large graph, the number of each constant by its value.
    """

    inputs: list[Node]
    pending: list[Node]
    key: list[Any]
    constants: dict[Any, int] | None

    @property
    def signature(self) -> int:
        """The number of the graph's structure: graphs of equal structure have equal numbers."""
        return intern_structure(tuple(self.key))


def postorder(roots: Iterable[Node], operands: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return what is below some nodes, and the nodes: each once, after its operands. Deep graphs need no recursion.

    Parameters
    ----------
    operands : callable
        Returns the operands of a node that the walk goes through.
    """
    order: list[Node] = []
    visited: set[Node] = set()
    for root in roots:
        if root in visited:
            continue
        visited.add(root)
        walk = [(root, iter(operands(root)))]
        while walk:
            node, rest = walk[-1]
            for operand in rest:
                if operand not in visited:
                    visited.add(operand)
                    walk.append((operand, iter(operands(operand))))
                    break
            else:
                walk.pop()
                order.append(node)
    return order


def live_readers(readers: list, without: Set[int] = frozenset()) -> list[Node]:
    """Return the pending nodes that read a memory or a node, directly or through other nodes, outermost first.

    Nodes whose `id` is in `without` are left out, with what only they lead to.
    """

    def users(readers: list) -> list[Node]:
        return [user for user in pending_users(readers) if id(user) not in without]

    return postorder(users(readers), lambda node: users(node.readers))


def graph_of(*roots: Node) -> Graph:
    """Return the graph below `roots`. Operands of selections, reductions and transforms belong to it.

    The walk goes through the operands of a node from left to right, so it depends on the structure alone. Constants of
    a large graph that are equal are one input: a function of many statements has few numbers, and uses them often.
    """
    numbers: dict[Node, int] = {}
    graph = Graph([], [], [], {} if any(root.flags & LARGE for root in roots) else None)
    for root in roots:
        if root not in numbers:
            _walk(root, numbers, graph)
    if len(roots) > 1:
        graph.key.append(tuple([numbers[root] for root in roots]))
    return graph


def _walk(root: Node, numbers: dict[Node, int], graph: Graph) -> None:
    """Add what is below a root to a graph. Deep graphs need no recursion."""
    inputs, pending, key, constants = graph
    walk = [(root, root.op, root.args, iter(root.args))]  # read once: a re-entrant call may evaluate a node
    while walk:
        node, op, args, rest = walk[-1]
        for arg in rest:
            if arg not in numbers:
                walk.append((arg, arg.op, arg.args, iter(arg.args)))
                break
        else:
            walk.pop()
            if args:
                operands = tuple([numbers[arg] for arg in args])
                kind = (_COMPRESS,) if op is COMPRESS else (_PASS, op.code) if hasattr(op, "axes") else (op.code,)
                numbers[node] = len(key)
                pending.append(node)
                key.append((*kind, operands))
                continue
            numbers[node] = _input_number(node, op, len(key), constants)
            if numbers[node] == len(key):
                inputs.append(node)
                key.append(node.sig)


def _input_number(node: Node, op: Any, following: int, constants: dict[Any, int] | None) -> int:
    """Return the number of an equal constant of a large graph, or else the number that follows."""
    if op is not CONST or constants is None or isinstance(node, HostScalar):
        return following
    return constants.setdefault(constant_key(node), following)


def constant_key(node: Node) -> tuple[Any, ...]:
    """Return a key that is equal for constants of equal bits."""
    return node.dtype.char, np.asarray(node.value, node.dtype).tobytes()


def inputs_of(*roots: Node) -> list[Node]:
    """Return the leaves, constants and indices below `roots`, each once. A root may be one itself."""
    if len(roots) == 1 and roots[0].inputs:  # which it has unless its graph is large
        return list(dict.fromkeys(roots[0].inputs))
    return graph_of(*roots).inputs


def signature_of(*roots: Node) -> int:
    """Return the number of the structure of the graph below `roots`."""
    return graph_of(*roots).signature


def is_same_value(a: Node, b: Node) -> bool:
    """Return whether two nodes are one, or pending with the same structure and the same inputs."""
    if a is b:
        return True
    if a.sig != b.sig or a.memory is not None or b.memory is not None or not a.args:
        return False
    first, second = graph_of(a), graph_of(b)
    if first.key != second.key or a.shape != b.shape:
        return False
    return all(map(_is_same_input, first.inputs, second.inputs))


def _is_same_input(a: Node, b: Node) -> bool:
    if a is b:
        return True
    if a.op is CONST:
        return b.op is CONST and repr(a.value) == repr(b.value)
    if a.memory is not b.memory or a.op is not b.op:
        return False
    return a.offset == b.offset and a.shape == b.shape and a.strides == b.strides
