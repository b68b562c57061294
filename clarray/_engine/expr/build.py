"""Construction of expressions: the only module that builds pending nodes.

These functions are on the path of each user call: a binary operation on two arrays must cost
about a microsecond. So the common operations build nodes without helpers, and rare cases
(broadcasting, a second consumer) have functions of their own.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from clarray._engine.expr.graph import is_same_value, live_readers
from clarray._engine.expr.growth import note_growth
from clarray._engine.expr.memory_views import note_view
from clarray._engine.expr.node import (
    COMPRESS,
    EAGER,
    LARGE,
    MASKED,
    REDUCES,
    SHARED,
    Blank,
    Node,
    Selection,
    Shape,
    graph_lock,
    intern_structure,
    pending_readers,
    pending_users,
)
from clarray._engine.expr.view import View, broadcast_shapes
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.transforms import Transform
from clarray._engine.speedups import accelerated

TREE_LIMIT = 32  # inputs of a tree that has `sig` and `inputs`; others are LARGE

PRUNE_AT = 64  # readers kept per node before dead ones are dropped

_map_signatures: dict[tuple[int, ...], int] = {}


@accelerated
def unary(loop: Any, a: Node) -> Node:
    """Grow ``loop(a)``."""
    readers = a.readers
    key = (loop.code, a.sig)
    sig = _map_signatures.get(key)
    if sig is None:
        sig = _map_signatures[key] = intern_structure(key)
    args = (a,)
    node = Node(loop, args, a.shape, loop.out_dtype, a.size, sig, () if a.flags & LARGE else a.inputs or args)
    note_growth(node)
    node.flags = a.flags
    readers.append(ref(node))
    count = len(readers)
    if a.readers is not readers:
        rebuild(node)
    elif count > 1 and (a.memory is None or not count % PRUNE_AT):
        prune_or_mark_shared(a)
    return node


@accelerated
def binary(loop: Any, a: Node, b: Node) -> Node:
    """Grow ``loop(a, b)``, broadcasting the shapes."""
    readers_a = a.readers
    readers_b = b.readers
    flags = a.flags | b.flags
    if flags & MASKED:  # before shapes are read, which would evaluate a selection
        return _push_below_compress(loop, (a, b))
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
    key = (loop.code, a.sig, b.sig)
    sig = _map_signatures.get(key)
    if sig is None:
        sig = _map_signatures[key] = intern_structure(key)
    node = Blank()
    inputs = (a.inputs or (a,)) + (b.inputs or (b,))
    if len(inputs) > TREE_LIMIT:
        flags |= LARGE
    if flags & LARGE:
        sig, inputs = 0, ()
    node.op = loop
    node.args = (a, b)
    node.shape = shape
    node.dtype = loop.out_dtype
    node.size = size
    note_growth(node)
    node.flags = flags
    node.sig = sig
    node.inputs = inputs
    node.memory = None
    node.readers = []
    reader = ref(node)
    readers_a.append(reader)
    if readers_b is not readers_a:
        readers_b.append(reader)
    if a.readers is not readers_a or b.readers is not readers_b:
        rebuild(node)
    else:
        count = len(readers_a)
        if count > 1 and (a.memory is None or not count % PRUNE_AT):
            prune_or_mark_shared(a)
        count = len(readers_b)
        if count > 1 and (b.memory is None or not count % PRUNE_AT) and b is not a:
            prune_or_mark_shared(b)
    return node


LARGE_KEY = ("large",)
# Readers ------------------------------------------------------------------------------------------


def rebuild(node: Node) -> None:
    """Refresh and register a new node after another thread has evaluated one of its operands."""
    with graph_lock:
        if node.memory is None:  # else a write to the operand has evaluated it already
            refresh_metadata(node)
            _register(node)


def _register(node: Node) -> None:
    """Add `node` to the readers of its operands, so that a write to their memory evaluates it first."""
    reader = NonConsumingRef(node) if node.op is COMPRESS or isinstance(node.op, Transform) else ref(node)
    for child in dict.fromkeys(node.args):
        child.readers.append(reader)
        count = len(child.readers)
        if count > 1 and (child.memory is None or not count % PRUNE_AT):
            prune_or_mark_shared(child)


def prune_or_mark_shared(child: Node) -> None:
    """Mark a pending operand with a second reader as shared, and prune long lists of readers."""
    with graph_lock:
        is_pending = child.memory is None and child.args  # not a leaf, a constant or an index
        if not is_pending or not len(child.readers) % PRUNE_AT:
            prune(child.readers, count_dead=bool(is_pending))
        if is_pending:
            _mark_shared(child)


def prune(readers: list, count_dead: bool = False) -> None:
    """Drop readers that are dead or evaluated; with `count_dead`, one dead reader stays in their place."""
    with graph_lock:
        count = len(readers)  # others may append meanwhile
        pending = pending_readers(readers[:count])
        if count_dead and len(pending) < count:
            pending.append(_DEAD_READER)
        readers[:count] = pending


class NonConsumingRef(ref):
    """A reader that does not count as a consumer, so that it makes no operand shared.

    A pending selection is not evaluated itself: reductions of it are. The shared part of a transform's operand was
    evaluated when the transform was called. The transform computes the rest as its prologue, even if the operand gets
    further readers later.
    """

    __slots__ = ()


class _Collected:
    """The referent of `_DEAD_READER`."""

    __slots__ = ("__weakref__",)


_DEAD_READER: Any = ref(_Collected())


def _mark_shared(child: Node) -> None:
    """Flag all pending nodes above `child`, which has several consumers: their evaluation must search the graph."""
    pending = [child]
    while pending:
        for r in list(pending.pop().readers):
            node = r()
            if node is not None and node.memory is None and not node.flags & SHARED:
                node.flags |= SHARED
                pending.append(node)


@accelerated
def notify_users(readers: list, memory: Any) -> None:
    """Register the readers of a node that became memory as readers of that memory, and refresh their metadata."""
    with graph_lock:
        memory.readers.extend(r for r in list(readers) if r() is not None)
        _refresh_users(readers)


def _refresh_users(readers: list) -> None:
    """Refresh the metadata of the users of a node that has changed, and of their users while metadata change.

    The metadata of a large graph do not depend on its operands, so a long chain is not walked to its end.
    """
    try:
        _refresh_changing_users(readers)
    except BaseException:  # a second walk would end at the nodes that the interrupted one has refreshed
        for node in reversed(live_readers(readers)):
            refresh_metadata(node)
        raise


def _refresh_changing_users(readers: list) -> None:
    direct: set[int] = set()
    # again: another thread may build a node from the changed one meanwhile
    while waiting := deque(user for user in pending_users(readers) if id(user) not in direct):
        direct.update(map(id, waiting))
        while waiting:
            node = waiting.popleft()
            before = node.sig, node.flags, node.inputs
            refresh_metadata(node)
            if before != (node.sig, node.flags, node.inputs):
                waiting.extend(pending_users(node.readers))


def _complete(step: Callable[..., None], *args: Any) -> None:
    """Call an idempotent `step` that must not stay half done: again if an interrupt stops it, and raise that then."""
    try:
        step(*args)
    except BaseException:
        step(*args)
        raise


def become_memory(node: Node, memory: Any, strides: Shape, contiguous: bool) -> None:
    """Turn a pending node into a leaf at the start of memory, and make its readers read that memory."""
    _complete(_become_memory, node, node.readers, memory, 0, strides, contiguous)


def view_memory(node: Node) -> None:
    """Turn a pending view of a leaf into a view of its memory, and make its readers read that."""
    source = node.args[0]
    view = node.op.take_view(View(source.shape, source.strides, source.offset))
    _complete(_become_memory, node, node.readers, source.memory, view.offset, view.strides, view.contiguous)
    note_view(node)


def _become_memory(node: Node, readers: list, memory: Any, offset: int, strides: Shape, contiguous: bool) -> None:
    with graph_lock:  # the thread that grew it may be about to rebuild it
        node.become_leaf(memory, offset, strides, contiguous)
    if readers and node.memory is memory:  # else a re-entrant call has evaluated it, and passed that on
        notify_users(readers, memory)


def become_selected(node: Selection, memory: Any, count: int) -> None:
    """Turn a selection into a leaf of `count` elements, and make its readers read that memory."""
    _complete(_become_selected, node, node.readers, memory, count)


def _become_selected(node: Node, readers: list, memory: Any, count: int) -> None:
    with graph_lock:
        if isinstance(node, Selection):
            node.become_selected(memory, count)
    if readers and node.memory is memory:
        notify_users(readers, memory)


def replace_with_copy(node: Node, value: Node) -> None:
    """Turn a pending node into a pending copy of another node of its shape and dtype, and refresh its readers."""
    copy = cast_loop(value.dtype)
    flags = 0 if value.memory is not None else value.flags
    _replace(node, copy, (value,), flags, intern_structure((copy.code, value.sig)), value.inputs or (value,))


def replace_with_operation(node: Node, value: Node) -> None:
    """Turn a pending node into the operation of another one of its shape and dtype, and refresh its readers."""
    _replace(node, value.op, value.args, value.flags, value.sig, value.inputs)


def _replace(node: Node, op: Any, args: tuple[Node, ...], flags: int, sig: int, inputs: tuple[Node, ...]) -> None:
    with graph_lock:
        readers = node.readers
        node.op = op
        node.args = args
        node.inputs = inputs
        node.sig = sig
        note_growth(node)
        node.flags = flags
        for arg in args:
            arg.readers.append(ref(node))
        node.readers = list(readers)  # a thread that grows a node from this one rebuilds it
        if readers:
            _refresh_users(readers)


# Other operations --------------------------------------------------------------------------------


@accelerated
def nary(loop: Any, args: tuple[Node, ...]) -> Node:
    """Grow ``loop(*args)`` for any number of operands."""
    if len(args) == 1:
        if args[0].flags & MASKED:
            return _push_below_compress(loop, args)
        return unary(loop, args[0])
    if len(args) == 2:
        return binary(loop, args[0], args[1])
    flags = 0
    for a in args:
        flags |= a.flags
    if flags & MASKED:
        return _push_below_compress(loop, args)
    shape = broadcast_shapes([a.shape for a in args])
    return _node(loop, args, shape, loop.out_dtype, flags, (loop.code, *[a.sig for a in args]))


def _node(op: Any, args: tuple[Node, ...], shape: Shape, dtype: np.dtype, flags: int, key: Any) -> Node:
    readers_before = [a.readers for a in args]
    inputs: tuple[Node, ...] = ()
    for a in args:
        inputs += a.inputs or (a,)
    if len(inputs) > TREE_LIMIT:
        flags |= LARGE
    if flags & LARGE:
        key, inputs = LARGE_KEY, ()
    node = Node(op, args, shape, dtype, math.prod(shape), intern_structure(key), inputs)
    note_growth(node)
    node.flags = flags
    _register(node)
    for a, readers in zip(args, readers_before, strict=True):
        if a.readers is not readers:
            rebuild(node)
            break
    return node


def broadcast(loop: Any, value: Node, shape: Shape) -> Node:
    """Grow ``loop(value)`` repeated over a larger shape."""
    _evaluate_selections((value,))
    return _node(loop, (value,), shape, loop.out_dtype, value.flags, (loop.code, value.sig))


def compress(value: Node, mask: Node, compute: Callable[[Node], Any]) -> Node:
    """Grow ``value[mask]`` for a boolean mask of value's shape; `compute` evaluates it on demand."""
    readers_before = value.readers, mask.readers
    flags = value.flags | mask.flags
    if flags & MASKED:
        _evaluate_selections((value, mask))
        return compress(value, mask, compute)
    node: Node = object.__new__(Selection)  # without shape and size
    node.op = COMPRESS
    node.args = (value, mask)
    node.dtype = value.dtype
    note_growth(node)
    inputs = (value.inputs or (value,)) + (mask.inputs or (mask,))
    if len(inputs) > TREE_LIMIT:
        flags |= LARGE
    node.flags = flags | MASKED
    node.sig = intern_structure(LARGE_KEY if flags & LARGE else (-1, value.sig, mask.sig))
    node.inputs = () if flags & LARGE else inputs
    node.memory = None
    node.readers = []
    node.value = compute
    _register(node)
    if value.readers is not readers_before[0] or mask.readers is not readers_before[1]:
        rebuild(node)
    return node


def selected(node: Node) -> tuple[Node, Node] | None:
    """Return the value and the mask of a pending selection; None for any other node."""
    args = node.args  # read once: another thread may evaluate it meanwhile
    return (args[0], args[1]) if node.flags & MASKED and args else None


def select_by_same_mask(a: Node, b: Node) -> bool:
    """Return whether two nodes are pending selections by the same mask."""
    a_parts, b_parts = selected(a), selected(b)
    return a_parts is not None and b_parts is not None and is_same_value(a_parts[1], b_parts[1])


def _push_below_compress(loop: Any, args: tuple[Node, ...]) -> Node:
    """Push an elementwise operation below the compression: f(x[m], c) is f(x, c)[m].

    Selections by different masks are evaluated first.
    """
    mask = None
    inner = []
    for a in args:
        parts = selected(a)
        if parts is not None:
            if mask is not None and not is_same_value(parts[1], mask):
                return nary(loop, _evaluate_selections(args))
            mask, compute = parts[1], a.value
            inner.append(parts[0])
        elif a.shape in ((), (1,)):
            inner.append(a)
        else:
            return nary(loop, _evaluate_selections(args))
    if mask is None:  # another thread has evaluated the selection meanwhile
        return nary(loop, args)
    node = compress(nary(loop, tuple(inner)), mask, compute)
    # Another thread evaluates a selection before it overwrites memory that the selection reads.
    are_pending = all(selected(a) is not None for a, part in zip(args, inner, strict=True) if a is not part)
    return node if are_pending else nary(loop, args)


def _evaluate_selections(args: tuple[Node, ...]) -> tuple[Node, ...]:
    for a in args:
        if a.flags & MASKED:
            a.value(a)
    return args


@accelerated
def reduction(op: Any, args: tuple[Node, ...], shape: Shape) -> Node:
    """Grow a pass: a ``Reduction`` of a value and an optional mask, or a ``Transform`` of a value."""
    if len(args) == 1:  # the common case, on the path of small arrays
        (a,) = args
        readers_before = a.readers
        node = Node(
            op,
            args,
            shape,
            op.out_dtype,
            math.prod(shape),
            intern_structure((-2, op.code, a.sig)),
            () if a.flags & LARGE else a.inputs or args,
        )
        note_growth(node)
        node.flags = (a.flags | REDUCES) & ~MASKED
        _register(node)
        if a.readers is not readers_before:
            rebuild(node)
        return node
    flags = REDUCES
    for a in args:
        flags |= a.flags
    return _node(op, args, shape, op.out_dtype, flags & ~MASKED, (-2, op.code, *(a.sig for a in args)))


@accelerated
def refresh_metadata(node: Node) -> None:
    """Refresh the structure, inputs, cost and flags of a pending node after some of its operands became memory."""
    flags = 0
    key: tuple[Any, ...]
    for a in node.args:
        flags |= a.flags
        if a.memory is None and a.args and len(a.readers) > 1:
            flags |= SHARED
    if node.op is COMPRESS:
        key = (-1, *(a.sig for a in node.args))
        flags |= MASKED
    elif hasattr(node.op, "axes"):
        key = (-2, node.op.code, *(a.sig for a in node.args))
        flags = (flags | REDUCES) & ~MASKED
    else:
        key = (node.op.code, *(a.sig for a in node.args))
    flags &= ~LARGE
    inputs: tuple[Node, ...] = ()
    for a in node.args:
        inputs += a.inputs or (a,)
    if len(inputs) > TREE_LIMIT or any(a.flags & LARGE for a in node.args):
        flags |= LARGE
        key, inputs = LARGE_KEY, ()
    node.sig = intern_structure(key)
    node.inputs = inputs
    node.flags = flags
    node.readers = list(node.readers)  # a thread that grows a node from this one rebuilds it


__all__ = [
    "EAGER",
    "NonConsumingRef",
    "replace_with_copy",
    "binary",
    "broadcast",
    "compress",
    "nary",
    "notify_users",
    "prune",
    "reduction",
    "refresh_metadata",
    "selected",
    "select_by_same_mask",
    "unary",
]
