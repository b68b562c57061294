"""The one place that grows expressions.

Everything here is on the path of each user call: a binary operation on two arrays must cost
about a microsecond. So nodes are built without helpers where that matters, and whatever is rare
(broadcasting, a second consumer) is a function of its own.
"""

from __future__ import annotations

import math
from weakref import ref

import numpy as np

from clarray.expr.node import (
    COMPRESS,
    EAGER,
    MASKED,
    REDUCES,
    SHARED,
    Node,
    Shape,
    intern_structure,
)
from clarray.expr.view import broadcast_shapes

# A tree heavier than this is evaluated rather than grown: it bounds the kernel's arguments
# (NVIDIA takes 4 KiB), the compile time, and the memory that pending work keeps alive.
COST_LIMIT = 32

PRUNE_AT = 64  # readers kept per node before dead ones are dropped

_map_signatures: dict[tuple[int, ...], int] = {}


def _register(child: Node, parent: Node) -> None:
    """Note that `parent` reads `child`, so that a write to its memory evaluates the parent."""
    readers = child.readers
    if readers is None:
        if child.op is not None and (child.inputs or child.memory is not None):
            child.readers = [ref(parent)]
        return
    readers.append(ref(parent))
    if child.memory is None:
        _mark_shared(child)
    elif len(readers) % PRUNE_AT == 0:
        readers[:] = [r for r in readers if (n := r()) is not None and n.memory is None]


def _mark_shared(child: Node) -> None:
    """`child` has several consumers: whoever is evaluated above it must look at the graph."""
    pending = [child]
    while pending:
        for r in pending.pop().readers or ():
            node = r()
            if node is not None and node.memory is None and not node.flags & SHARED:
                node.flags |= SHARED
                pending.append(node)


def unary(loop, a: Node) -> Node:
    """Grow ``loop(a)``."""
    key = (loop.code, a.sig)
    sig = _map_signatures.get(key)
    if sig is None:
        sig = _map_signatures[key] = intern_structure(key)
    node = Node(
        loop, (a,), a.shape, loop.out_dtype, a.size, a.cost + 1, a.flags, sig, a.inputs or (a,)
    )
    _register(a, node)
    return node


def binary(loop, a: Node, b: Node) -> Node:
    """Grow ``loop(a, b)``, broadcasting the shapes."""
    shape = a.shape
    size = a.size
    if shape != b.shape:
        if not b.shape:
            pass
        elif not shape:
            shape, size = b.shape, b.size
        else:
            shape = broadcast_shapes((shape, b.shape))
            size = math.prod(shape)
    flags = a.flags | b.flags
    if flags & MASKED:
        return _masked(loop, (a, b))
    key = (loop.code, a.sig, b.sig)
    sig = _map_signatures.get(key)
    if sig is None:
        sig = _map_signatures[key] = intern_structure(key)
    node = Node(
        loop, (a, b), shape, loop.out_dtype, size, a.cost + b.cost + 1, flags, sig,
        (a.inputs or (a,)) + (b.inputs or (b,)),
    )  # fmt: skip
    _register(a, node)
    if b is not a:
        _register(b, node)
    return node


def nary(loop, args: tuple[Node, ...]) -> Node:
    """Grow ``loop(*args)`` for any number of operands."""
    if len(args) == 1:
        if args[0].flags & MASKED:
            return _masked(loop, args)
        return unary(loop, args[0])
    if len(args) == 2:
        return binary(loop, args[0], args[1])
    shape = broadcast_shapes([a.shape for a in args])
    flags = 0
    for a in args:
        flags |= a.flags
    if flags & MASKED:
        return _masked(loop, args)
    return _node(
        loop, args, shape, loop.out_dtype, flags, (loop.code, *(a.sig for a in args))
    )


def _node(op, args: tuple[Node, ...], shape: Shape, dtype: np.dtype, flags: int, key) -> Node:
    inputs = tuple(i for a in args for i in (a.inputs or (a,)))
    cost = 1 + sum(a.cost for a in args)
    node = Node(
        op, args, shape, dtype, math.prod(shape), cost, flags, intern_structure(key), inputs
    )
    for a in dict.fromkeys(args):
        _register(a, node)
    return node


def compress(value: Node, mask: Node) -> Node:
    """Grow ``value[mask]`` for a boolean mask of value's shape; its size is known when evaluated."""
    shape = broadcast_shapes((value.shape, mask.shape))
    flags = value.flags | mask.flags | MASKED
    return _node(COMPRESS, (value, mask), shape, value.dtype, flags, (-1, value.sig, mask.sig))


def _masked(loop, args: tuple[Node, ...]) -> Node:
    """Push an elementwise operation below the compression: f(x[m], c) is f(x, c)[m]."""
    mask = None
    inner = []
    for a in args:
        if a.op is COMPRESS:
            value, m = a.args
            if mask is not None and m is not mask:
                raise MaskMismatch
            mask = m
            inner.append(value)
        elif a.size == 1 and not a.flags & MASKED:
            inner.append(a)
        else:
            raise MaskMismatch
    assert mask is not None
    return compress(nary(loop, tuple(inner)), mask)


class MaskMismatch(Exception):
    """The operands are not compressed by one mask: the caller must evaluate them first."""


def reduction(op, args: tuple[Node, ...], shape: Shape) -> Node:
    """Grow a reduction; `op` is a ``Reduction``, `args` its value and, perhaps, its mask."""
    flags = REDUCES
    for a in args:
        flags |= a.flags
    return _node(
        op, args, shape, op.out_dtype, flags & ~MASKED, (-2, op.code, *(a.sig for a in args))
    )


def regrow(node: Node) -> None:
    """Recompute what a pending node keeps of its operands, after some of them became memory."""
    flags = node.flags & SHARED
    key: tuple[int, ...]
    for a in node.args:
        flags |= a.flags
    if node.op is COMPRESS:
        key = (-1, *(a.sig for a in node.args))
        flags |= MASKED
    elif hasattr(node.op, "axes"):
        key = (-2, node.op.code, *(a.sig for a in node.args))
        flags = (flags | REDUCES) & ~MASKED
    else:
        key = (node.op.code, *(a.sig for a in node.args))
    node.sig = intern_structure(key)
    node.inputs = tuple(i for a in node.args for i in (a.inputs or (a,)))
    node.cost = 1 + sum(a.cost for a in node.args)
    node.flags = flags


def live_readers(readers: list) -> list[Node]:
    """Pending nodes that read this memory or node, directly or through others, outermost first."""
    found: dict[int, Node] = {}
    level = [n for r in readers if (n := r()) is not None and n.memory is None]
    while level:
        following: dict[int, Node] = {}
        for node in level:
            # a later sight moves it outward: its own readers come after it
            found.pop(id(node), None)
            found[id(node)] = node
            for r in node.readers or ():
                if (n := r()) is not None and n.memory is None:
                    following[id(n)] = n
        level = list(following.values())
    return list(reversed(found.values()))


__all__ = [
    "COST_LIMIT", "EAGER", "MaskMismatch", "binary", "compress", "live_readers", "nary",
    "reduction", "regrow", "unary",
]  # fmt: skip
