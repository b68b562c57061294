"""The one place that grows expressions.

Everything here is on the path of each user call: a binary operation on two arrays must cost
about a microsecond. So nodes are built without helpers where that matters, and whatever is rare
(broadcasting, a second consumer) is a function of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from clarray._engine.expr.node import (
    COMPRESS,
    CONST,
    EAGER,
    MASKED,
    REDUCES,
    SHARED,
    Blank,
    Node,
    Selection,
    Shape,
    graph_lock,
    intern_structure,
)
from clarray._engine.expr.view import broadcast_shapes
from clarray._engine.ops.special import cast_loop
from clarray._engine.ops.transforms import Transform
from clarray._engine.speedups import accelerated

# A tree heavier than this is evaluated rather than grown: it bounds the kernel's arguments
# (NVIDIA takes 4 KiB), the compile time, and the memory that pending work keeps alive.
COST_LIMIT = 32

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
    node = Node(loop, (a,), a.shape, loop.out_dtype, a.size, a.cost + 1, a.flags, sig, a.inputs or (a,))
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
    if flags & MASKED:  # before shapes are asked for: that would compute a selection
        return _masked(loop, (a, b))
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
    node.op = loop
    node.args = (a, b)
    node.shape = shape
    node.dtype = loop.out_dtype
    node.size = size
    node.cost = a.cost + b.cost + 1
    node.flags = flags
    node.sig = sig
    node.inputs = (a.inputs or (a,)) + (b.inputs or (b,))
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


# Readers ------------------------------------------------------------------------------------------


def rebuild(node: Node) -> None:
    """An operand became memory, in another thread, while `node` was grown from it."""
    with graph_lock:
        if node.memory is None:  # else a write there has evaluated it already
            regrow(node)
            _register(node)


def _register(node: Node) -> None:
    """Note that `node` reads its operands, so that a write to their memory evaluates it first."""
    reader = Selecting(node) if node.op is COMPRESS or isinstance(node.op, Transform) else ref(node)
    for child in dict.fromkeys(node.args):
        child.readers.append(reader)
        count = len(child.readers)
        if count > 1 and (child.memory is None or not count % PRUNE_AT):
            prune_or_mark_shared(child)


def prune_or_mark_shared(child: Node) -> None:
    """See to an operand that is used again, or often."""
    with graph_lock:
        computed = child.memory is None and child.args  # not what is there without being computed: memory, a number
        if not computed or not len(child.readers) % PRUNE_AT:
            prune(child.readers, keep=bool(computed))
        if computed:
            _mark_shared(child)


def prune(readers: list, keep: bool = False) -> None:
    """Drop readers that are dead or have been computed; `keep` one of them, to be counted."""
    with graph_lock:
        count = len(readers)  # others may append meanwhile
        kept = _pending(readers[:count])
        if keep and len(kept) < count:
            kept.append(_GONE)
        readers[:count] = kept


def _pending(readers: list) -> list:
    return [r for r in readers if (node := r()) is not None and node.memory is None]


class Selecting(ref):
    """A reader that is no consumer of what it reads.

    Of a selection it is the reductions that are computed. What others read of a transform's operand has been computed
    when it was called; it computes the rest while it reads, whoever else comes to read that later.
    """

    __slots__ = ()


class _Gone:
    """What a reader that is dead looks like."""

    __slots__ = ("__weakref__",)


_GONE: Any = ref(_Gone())


def _mark_shared(child: Node) -> None:
    """`child` has several consumers: whoever is evaluated above it must look at the graph."""
    pending = [child]
    while pending:
        for r in list(pending.pop().readers):
            node = r()
            if node is not None and node.memory is None and not node.flags & SHARED:
                node.flags |= SHARED
                pending.append(node)


@accelerated
def pass_on(readers: list, memory: Any) -> None:
    """Let what was grown from a pending node, its readers, read the memory it has become."""
    with graph_lock:
        memory.readers.extend(r for r in list(readers) if r() is not None)
        _regrow_all(readers)


def _regrow_all(readers: list) -> None:
    done: dict[int, Node] = {}
    # Another thread may grow from a reader before that is regrown, so look again.
    while new := [n for n in reversed(live_readers(readers)) if id(n) not in done]:
        for node in new:  # operands before what uses them
            regrow(node)
            done[id(node)] = node


def in_full(step: Callable[..., None], *args: Any) -> None:
    """Do what must not stay half done: once more where an interrupt has broken it off, which is raised afterwards."""
    try:
        step(*args)
    except BaseException:
        step(*args)
        raise


def become_memory(node: Node, memory: Any, strides: Shape, contiguous: bool) -> None:
    """Turn a pending node into memory, from its start, and have what was grown from it read that."""
    in_full(_become_memory, node, node.readers, memory, strides, contiguous)


def _become_memory(node: Node, readers: list, memory: Any, strides: Shape, contiguous: bool) -> None:
    with graph_lock:  # whoever grew it may be about to grow it again
        node.become_leaf(memory, 0, strides, contiguous)
    if readers and node.memory is memory:  # else a re-entrant call has computed it, and told them
        pass_on(readers, memory)


def become_selected(node: Selection, memory: Any, count: int) -> None:
    """The same of a selection, of which so many elements were found."""
    in_full(_become_selected, node, node.readers, memory, count)


def _become_selected(node: Node, readers: list, memory: Any, count: int) -> None:
    with graph_lock:
        if isinstance(node, Selection):
            node.become_selected(memory, count)
    if readers and node.memory is memory:
        pass_on(readers, memory)


def become_copy(node: Node, leaf: Node) -> None:
    """Turn a pending node into a pending copy of a leaf of its shape and dtype; what was grown from it reads that."""
    assert leaf.memory is not None
    copy = cast_loop(leaf.dtype)
    signature = intern_structure((copy.code, leaf.sig))
    with graph_lock:
        readers = node.readers
        node.op = copy
        node.args = node.inputs = (leaf,)
        node.sig = signature
        node.cost = leaf.cost + 1
        node.flags = 0
        leaf.memory.readers.append(ref(node))
        node.readers = list(readers)  # tells whoever is growing from it
        if readers:
            for reader in reversed(live_readers(readers)):
                regrow(reader)


# Growing the rest ---------------------------------------------------------------------------------


@accelerated
def nary(loop: Any, args: tuple[Node, ...]) -> Node:
    """Grow ``loop(*args)`` for any number of operands."""
    if len(args) == 1:
        if args[0].flags & MASKED:
            return _masked(loop, args)
        return unary(loop, args[0])
    if len(args) == 2:
        return binary(loop, args[0], args[1])
    flags = 0
    for a in args:
        flags |= a.flags
    if flags & MASKED:
        return _masked(loop, args)
    shape = broadcast_shapes([a.shape for a in args])
    return _node(loop, args, shape, loop.out_dtype, flags, (loop.code, *[a.sig for a in args]))


def _node(op: Any, args: tuple[Node, ...], shape: Shape, dtype: np.dtype, flags: int, key: Any) -> Node:
    before = [a.readers for a in args]
    inputs: tuple[Node, ...] = ()
    cost = 1
    for a in args:
        inputs += a.inputs or (a,)
        cost += a.cost
    node = Node(op, args, shape, dtype, math.prod(shape), cost, flags, intern_structure(key), inputs)
    _register(node)
    for a, readers in zip(args, before, strict=True):
        if a.readers is not readers:
            rebuild(node)
            break
    return node


def broadcast(loop: Any, value: Node, shape: Shape) -> Node:
    """Grow ``loop(value)`` repeated over a larger shape."""
    _stored((value,))
    return _node(loop, (value,), shape, loop.out_dtype, value.flags, (loop.code, value.sig))


def compress(value: Node, mask: Node, compute: Callable[[Node], Any]) -> Node:
    """Grow ``value[mask]`` for a boolean mask of value's shape; `compute` makes it memory when it must be."""
    before = value.readers, mask.readers
    flags = value.flags | mask.flags
    if flags & MASKED:
        _stored((value, mask))
        return compress(value, mask, compute)
    node: Node = object.__new__(Selection)  # of no shape and size yet
    node.op = COMPRESS
    node.args = (value, mask)
    node.dtype = value.dtype
    node.cost = value.cost + mask.cost + 1
    node.flags = flags | MASKED
    node.sig = intern_structure((-1, value.sig, mask.sig))
    node.inputs = (value.inputs or (value,)) + (mask.inputs or (mask,))
    node.memory = None
    node.readers = []
    node.value = compute
    _register(node)
    if value.readers is not before[0] or mask.readers is not before[1]:
        rebuild(node)
    return node


def selected(node: Node) -> tuple[Node, Node] | None:
    """Value and mask of a selection that is pending, None of anything else."""
    args = node.args  # once: another thread may store it meanwhile
    return (args[0], args[1]) if node.flags & MASKED and args else None


def selected_alike(one: Node, other: Node) -> bool:
    """Whether two nodes are pending selections by masks that are one."""
    mine, theirs = selected(one), selected(other)
    return mine is not None and theirs is not None and is_same_value(mine[1], theirs[1])


def is_same_value(one: Node, other: Node) -> bool:
    """Whether two nodes have the same value because they are computed alike from the same; only what is pending is."""
    if one is other:
        return True
    if one.sig != other.sig or one.memory is not None or other.memory is not None or not one.args:
        return False
    return all(map(_is_same_input, one.inputs, other.inputs)) and one.shape == other.shape


def _is_same_input(one: Node, other: Node) -> bool:
    if one is other:
        return True
    if one.op is CONST:
        return other.op is CONST and repr(one.value) == repr(other.value)
    if one.memory is not other.memory or one.op is not other.op:
        return False
    return one.offset == other.offset and one.shape == other.shape and one.strides == other.strides


def _masked(loop: Any, args: tuple[Node, ...]) -> Node:
    """Push an elementwise operation below the compression: f(x[m], c) is f(x, c)[m].

    Elements that different masks select are stored first.
    """
    mask = None
    inner = []
    for a in args:
        parts = selected(a)
        if parts is not None:
            if mask is not None and not is_same_value(parts[1], mask):
                return nary(loop, _stored(args))
            mask, compute = parts[1], a.value
            inner.append(parts[0])
        elif a.shape in ((), (1,)):
            inner.append(a)
        else:
            return nary(loop, _stored(args))
    if mask is None:  # another thread has stored it meanwhile
        return nary(loop, args)
    grown = compress(nary(loop, tuple(inner)), mask, compute)
    # Before another thread overwrites what a selection reads, it stores the selection.
    are_pending = all(selected(a) is not None for a, part in zip(args, inner, strict=True) if a is not part)
    return grown if are_pending else nary(loop, args)


def _stored(args: tuple[Node, ...]) -> tuple[Node, ...]:
    for a in args:
        if a.flags & MASKED:
            a.value(a)
    return args


@accelerated
def reduction(op: Any, args: tuple[Node, ...], shape: Shape) -> Node:
    """Grow a pass: `op` is a ``Reduction``, `args` its value and, perhaps, its mask; or a ``Transform`` of a value."""
    if len(args) == 1:  # the common case, on the path of small arrays
        (a,) = args
        before = a.readers
        node = Node(
            op,
            args,
            shape,
            op.out_dtype,
            math.prod(shape),
            a.cost + 1,
            (a.flags | REDUCES) & ~MASKED,
            intern_structure((-2, op.code, a.sig)),
            a.inputs or args,
        )
        _register(node)
        if a.readers is not before:
            rebuild(node)
        return node
    flags = REDUCES
    for a in args:
        flags |= a.flags
    return _node(op, args, shape, op.out_dtype, flags & ~MASKED, (-2, op.code, *(a.sig for a in args)))


@accelerated
def regrow(node: Node) -> None:
    """Recompute what a pending node keeps of its operands, after some of them became memory."""
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
    node.sig = intern_structure(key)
    node.inputs = tuple(i for a in node.args for i in (a.inputs or (a,)))
    node.cost = 1 + sum(a.cost for a in node.args)
    node.flags = flags
    node.readers = list(node.readers)  # tells whoever is growing from the node


def live_readers(readers: list) -> list[Node]:
    """Pending nodes that read this memory or node, directly or through others, outermost first."""
    found: list[Node] = []
    _add_readers(readers, found, set())
    return found


def _add_readers(readers: list, found: list[Node], seen: set[int]) -> None:
    """Add readers, each after what reads it."""
    for reader in list(readers):
        node = reader()
        if node is not None and node.memory is None and id(node) not in seen:
            seen.add(id(node))
            _add_readers(node.readers, found, seen)
            found.append(node)


__all__ = [
    "COST_LIMIT",
    "EAGER",
    "Selecting",
    "become_copy",
    "binary",
    "broadcast",
    "compress",
    "is_same_value",
    "live_readers",
    "nary",
    "pass_on",
    "prune",
    "reduction",
    "regrow",
    "selected",
    "selected_alike",
    "unary",
]
