"""Into memory that there is already: what reads it is evaluated before, and what overlaps is computed apart.

`write` and `hand_over` are the ways in which elementwise values and reductions overwrite memory; algorithms that
write themselves call `flush_readers` before.
"""

from __future__ import annotations

from sys import getrefcount
from weakref import ref

from clarray._engine.evaluate import evaluate, launch_into, prepare
from clarray._engine.expr.build import live_readers, prune, replace_with_copy
from clarray._engine.expr.node import CONST, EAGER, REDUCES, Node, contiguous_leaf
from clarray._engine.expr.overlap import extent, may_overlap, same_elements
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.transform_epilogue import transformed_inputs
from clarray._engine.expr.view import steps_fall
from clarray._engine.fused.reduce.launch import find_epilogue
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of
from clarray._engine.runtime import Device, Memory
from clarray._engine.speedups import accelerated

__all__ = ["flush_readers", "hand_over", "overlaps", "share_with_host", "write"]


@accelerated
def write(target: Node, value: Node) -> None:
    """Compute `value`, of the target's dtype and shape, into the memory of the leaf `target`.

    Pending expressions that read that memory are evaluated before; operands that overlap the target
    otherwise than element for element are computed into memory of their own first.

    A pending `value` must be nobody else's: it is used up. `hand_over` takes one that somebody may hold.
    """
    memory = target.memory
    assert memory is not None
    if target.size == 0:
        return
    if Device.several:
        device_of((target, *(value.inputs or (value,))))  # raises where there are two
    with memory.device.lock:
        flush_readers(memory, value)
        if value.memory is None:
            if _read_by(value, target):
                evaluate(value)
        elif overlaps(value, target):
            value = _copy(value)
        eager = (value.flags & EAGER) or memory.shared
        _overwrite(target, value)
        if eager:
            memory.device.synchronize()


def _overwrite(target: Node, value: Node) -> None:
    """Launch what computes a value into a leaf, and what has to be computed before."""
    memory = target.memory
    assert memory is not None
    _, launches = prepare(kernel_cache_of(memory.device), value, target)
    memory.forget()  # not before: what has been computed up to here may have looked at the values
    for launch in launches:
        launch.run()


def _overwrite_and_copy(target: Node, value: Node) -> None:
    """The same, and let the value be a copy of what lies there then: it may have been of what lay there before.

    An interrupt leaves neither, or both.
    """
    memory = target.memory
    assert memory is not None
    device = memory.device
    _, launches = prepare(kernel_cache_of(device), value, target)
    memory.forget()
    before = device.begun
    try:
        for launch in launches:
            launch.run()
        replace_with_copy(value, target)
    except BaseException as stop:
        if not isinstance(stop, Exception) and device.begun > before:
            for launch in launches[device.begun - before :]:
                launch.run()
            replace_with_copy(value, target)
        raise


def _read_by(value: Node, target: Node) -> bool:
    """Whether an operand of a pending value overlaps the target other than element for element.

    Below a transform, and below the reduction whose pass stores the value, it is any that overlaps it: an element is
    read when others have been written.
    """
    memory = target.memory
    assert memory is not None
    shared = memory.shared
    if value.flags & REDUCES:
        below = transformed_inputs(value)
        if (epilogue := find_epilogue(value)) is not None:
            below += epilogue.reduced.inputs
        if any(overlaps(node, target, even_alike=True) for node in below):
            return True
    for node in value.inputs:
        other = node.memory
        if other is not None and (other is memory or shared) and overlaps(node, target):
            return True
    return False


def _copy(value: Node) -> Node:
    """A leaf of its own with a leaf's elements."""
    memory = value.memory
    assert memory is not None
    out = contiguous_leaf(memory.device.allocate(value.size * value.dtype.itemsize), value.shape, value.dtype)
    launch_into(kernel_cache_of(memory.device), value, out).run()
    return out


def hand_over(target: Node, value: Node) -> None:
    """Compute a pending `value`, which somebody may hold, into the leaf `target` of its dtype and shape.

    Afterwards `value` is a pending copy of the target's elements, which a later write to them computes before. So what
    is assigned is computed once, and nothing is kept of it where nobody asks.
    """
    memory = target.memory
    assert memory is not None
    if Device.several:
        device_of((target, *value.inputs))  # raises where there are two
    with memory.device.lock:
        before = value.sig
        if (
            value.memory is None
            and not (memory.shared or value.flags & EAGER)
            and _laid_out_alike(value, target)
            and _flush_beside(memory, value)
            # once more where one of its parts was computed
            and (value.sig == before or _laid_out_alike(value, target))
        ):
            _overwrite_and_copy(target, value)
        else:
            write(target, evaluate(value))


def _laid_out_alike(value: Node, target: Node) -> bool:
    """Whether a value may be computed into a target, and its copy, should there be one, lies as the value would."""
    if _read_by(value, target):
        return False
    if len(target.shape) < 2:
        return True
    return not value.flags & REDUCES and all(map(_in_c_order, (target, *value.inputs)))


def _in_c_order(node: Node) -> bool:
    """Whether a leaf, or a number, lets results lie in C order."""
    return steps_fall(node.strides) if node.op is None else node.op is CONST


def _flush_beside(memory: Memory, value: Node) -> bool:
    """`flush_readers` but for `value`; False where another reader needs it."""
    if memory.readers:
        prune(memory.readers)
        while pending := _pending_beside(memory, value):
            if any(_needs(node, value) for node in pending):
                return False
            node = pending[0]
            del pending
            evaluate(node)
    return True


def _needs(node: Node, value: Node) -> bool:
    """Whether a pending node has been grown from another."""
    return any(arg is value or _needs(arg, value) for arg in node.args)


def flush_readers(memory: Memory, but: Node | None = None) -> None:
    """Evaluate every pending expression that reads `memory`, as it is about to be overwritten.

    Not `but`, which it is overwritten with, nor those of its parts that nobody else holds. What is held besides becomes
    memory before `but` is looked at, and is not computed again. Nothing is known of the values there any more.
    """
    if memory.readers:
        prune(memory.readers)
        while pending := _pending_beside(memory, but):
            node = pending[0]
            del pending  # what only this one has grown from goes with its operands
            evaluate(node)
    memory.forget()  # last, as those readers may have looked at the values


def _pending_beside(memory: Memory, value: Node | None) -> list[Node]:
    """The pending expressions that read a memory, outermost first, but for `value` and the parts of it alone."""
    parts: set[int] = set()
    if value is not None:
        parts.add(id(value))
        readers = reversed(memory.readers)  # those of whole parts were grown later
        if not value.readers and all(_is_part(reader, parts) for reader in readers):
            return []  # mostly there are no others: the readers of readers are not looked for
    found = live_readers(memory.readers)
    reading = [ref(node) for node in found if any(i.memory is memory for i in node.inputs)]
    del found  # who holds them is counted
    return [node for reader in reading if not _is_part(reader, parts) and (node := reader()) is not None]


def _is_part(reader: ref[Node], parts: set[int]) -> bool:
    """Whether a pending node is one of the `parts` of a tree, or is held by them alone; it becomes one of them then.

    A node that has been computed, or is gone, reads nothing any more and is in nobody's way.
    """
    holders = getrefcount(reader()) - 1
    node = reader()
    if node is None or node.memory is not None or id(node) in parts:
        return True
    for consumer in list(node.readers):
        if not _is_part(consumer, parts):
            return False
        if (parent := consumer()) is not None:
            holders -= parent.args.count(node)
    if holders:
        return False
    parts.add(id(node))
    return True


def share_with_host(*leaves: Node) -> None:
    """Treat a memory as its owner's no longer: from now on anybody may write to it at any time.

    What is pending is computed, all work is finished, and what is grown from the memory later is
    evaluated at once. `leaves` are those, of one memory, that are not among its views.
    """
    memory = leaves[0].memory
    assert memory is not None
    with memory.device.lock:
        if not memory.shared:
            flush_readers(memory)
            memory.shared = True
            for each in (*leaves, *filter(None, (view() for view in memory.views or ()))):
                each.flags |= EAGER
            memory.views = None
        memory.device.synchronize()


def overlaps(operand: Node, target: Node, even_alike: bool = False) -> bool:
    """Whether an operand shares memory with the target other than element for element, or, if asked, even so."""
    memory, other = operand.memory, target.memory
    if memory is None or (operand is target and not even_alike):
        return False
    if memory is not other:
        # one ndarray may have been shared twice, or two views of it
        assert other is not None
        return memory.shared and other.shared and _share_bytes(operand, target)
    if operand.dtype is target.dtype:  # what decides most cases, before views are made
        if operand.offset == target.offset and operand.strides == target.strides and operand.shape == target.shape:
            return even_alike and operand.size > 0
        low, high = extent(operand)
        first, last = extent(target)
        if high < first or last < low:
            return False
    a, b = view_of(operand), view_of(target)
    if operand.dtype == target.dtype and same_elements(a, b):
        return even_alike and operand.size > 0
    return may_overlap(a, b, operand.dtype.itemsize, target.dtype.itemsize)


def _share_bytes(one: Node, other: Node) -> bool:
    """Whether two leaves of the user's memory lie in the same bytes; their extents are compared."""
    spans = []
    for node in (one, other):
        memory = node.memory
        if memory is None or memory.host is None or not node.size:
            return False
        low, high = extent(node)
        itemsize = node.dtype.itemsize
        spans.append((memory.address + low * itemsize, memory.address + (high + 1) * itemsize))
    (a_low, a_high), (b_low, b_high) = spans
    return a_low < b_high and b_low < a_high
