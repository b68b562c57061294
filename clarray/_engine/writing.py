"""Writes into existing memory: pending readers are evaluated before, and overlapping operands are copied.

`write` and `steal_memory` overwrite memory with elementwise values and reductions. Algorithms with kernels of their
own that overwrite memory call `flush_readers` before.
"""

from __future__ import annotations

from sys import getrefcount
from weakref import ref

from clarray._engine.evaluate import become_leaves, evaluate, launch_into, prepare
from clarray._engine.expr.build import prune, replace_with_copy
from clarray._engine.expr.epilogues import find_epilogue, transform_inputs
from clarray._engine.expr.graph import graph_of, inputs_of, live_readers
from clarray._engine.expr.memory_views import is_view
from clarray._engine.expr.node import CONST, EAGER, REDUCES, Node, contiguous_leaf
from clarray._engine.expr.overlap import extent, may_overlap, same_elements
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.view import strides_descend
from clarray._engine.launch.kernel_cache import device_of, kernel_cache_of
from clarray._engine.runtime import Device, Memory
from clarray._engine.speedups import accelerated

__all__ = ["flush_readers", "steal_memory", "overlaps", "share_with_host", "write"]


@accelerated
def write(target: Node, value: Node) -> None:
    """Compute `value`, of the target's dtype and shape, into the memory of the leaf `target`.

    Pending expressions that read that memory are evaluated before. If operands overlap the target
    otherwise than element for element, `value` is first computed into memory of its own.

    A pending `value` must have no other holder, as it is consumed. `steal_memory` allows other holders.
    """
    memory = target.memory
    assert memory is not None
    if target.size == 0:
        return
    if Device.several:
        device_of(target, value)  # raises if there are two
    with memory.device.lock:
        flush_readers(memory, value)
        if value.memory is None:
            if is_view(value) or _reads_overlap(value, target):
                evaluate(value)
        elif overlaps(value, target):
            value = _copy(value)
        eager = (value.flags & EAGER) or memory.shared
        _overwrite(target, value)
        if eager:
            memory.device.synchronize()


def _overwrite(target: Node, value: Node) -> None:
    """Launch the computation of a value into a leaf, and of the subexpressions that cannot be fused."""
    memory = target.memory
    assert memory is not None
    launches, computed = prepare(kernel_cache_of(memory.device), value, target)
    memory.forget()  # not before: computations up to here may have recorded bounds of the old values
    for launch in launches:
        launch.run()
    become_leaves(computed)


def _overwrite_and_copy(target: Node, value: Node) -> None:
    """Launch the computation of a value into a leaf, and turn the value into a copy of the leaf.

    An interrupt leaves neither done, or both.
    """
    memory = target.memory
    assert memory is not None
    device = memory.device
    launches, computed = prepare(kernel_cache_of(device), value, target)
    memory.forget()
    begun_before = device.begun
    try:
        for launch in launches:
            launch.run()
        replace_with_copy(value, target)
    except BaseException as error:
        if not isinstance(error, Exception) and device.begun > begun_before:
            for launch in launches[device.begun - begun_before :]:
                launch.run()
            replace_with_copy(value, target)
        raise
    become_leaves(computed)


def _reads_overlap(value: Node, target: Node) -> bool:
    """Return whether an operand of a pending value overlaps the target other than element for element.

    For operands of a transform, and of the reduction whose epilogue stores the value, any overlap counts: they are read
    after other elements have been written.
    """
    memory = target.memory
    assert memory is not None
    shared = memory.shared
    if value.flags & REDUCES:
        inputs = transform_inputs(value)
        if (epilogue := find_epilogue(value)) is not None:
            inputs += inputs_of(epilogue.reduced)
        if any(overlaps(node, target, count_identical=True) for node in inputs):
            return True
    for node in inputs_of(value):
        other = node.memory
        if other is not None and (other is memory or shared) and overlaps(node, target):
            return True
    return False


def _copy(value: Node) -> Node:
    """Return a new leaf with a leaf's elements."""
    memory = value.memory
    assert memory is not None
    out = contiguous_leaf(memory.device.allocate(value.size * value.dtype.itemsize), value.shape, value.dtype)
    launch_into(kernel_cache_of(memory.device), value, out).run()
    return out


def steal_memory(target: Node, value: Node) -> None:
    """Compute a pending `value`, which may have other holders, into the leaf `target` of its dtype and shape.

    Afterwards `value` is a pending copy of the target, which a later write to the target evaluates first. So the
    assigned value is computed once, and its copy only if it is used.
    """
    memory = target.memory
    assert memory is not None
    if Device.several:
        device_of(target, value)  # raises if there are two
    with memory.device.lock:
        args = value.args
        if (
            value.memory is None
            and not is_view(value)
            and not (memory.shared or value.flags & EAGER)
            and _can_share_layout(value, target)
            and _flush_other_readers(memory, value)
            # again if one of its subexpressions was evaluated
            and (value.args == args or _can_share_layout(value, target))
        ):
            _overwrite_and_copy(target, value)
        else:
            write(target, evaluate(value))


def _can_share_layout(value: Node, target: Node) -> bool:
    """Return whether a value may be computed into a target whose copy would have the layout of the value."""
    if _reads_overlap(value, target):
        return False
    if len(target.shape) < 2:
        return True
    return not value.flags & REDUCES and all(map(_strides_descend, (target, *inputs_of(value))))


def _strides_descend(node: Node) -> bool:
    """Return whether results of a leaf or a constant have C order."""
    return strides_descend(node.strides) if node.op is None else node.op is CONST


def _flush_other_readers(memory: Memory, value: Node) -> bool:
    """Evaluate the readers of a memory except `value`; return False at a reader that depends on `value`."""
    if memory.readers:
        prune(memory.readers)
        while pending := _other_readers(memory, value):
            if any(_depends_on(node, value) for node in pending):
                return False
            node = pending[0]
            del pending
            evaluate(node)
    return True


def _depends_on(node: Node, value: Node) -> bool:
    """Return whether a pending node reads `value`."""
    return node is not value and value in graph_of(node).pending


def flush_readers(memory: Memory, value: Node | None = None) -> None:
    """Evaluate every pending expression that reads `memory`, which is about to be overwritten with `value`.

    `value` and its subexpressions without other holders stay pending. Its other subexpressions become memory, and are
    not computed again. Records of bounds of the old values are dropped.
    """
    if memory.readers:
        prune(memory.readers)
        while pending := _other_readers(memory, value):
            node = pending[0]
            del pending  # subexpressions that only this node holds are freed with its operands
            evaluate(node)
    memory.forget()  # last, as those readers may have recorded bounds


def _other_readers(memory: Memory, value: Node | None) -> list[Node]:
    """Return the pending readers of a memory, outermost first, except `value` and the parts that only it holds."""
    parts = set() if value is None else {id(value)}
    if value is not None and not value.readers and _add_parts(memory.readers, parts):
        return []  # the common case, without the search for readers that still read the memory
    reading = _still_reading(memory)
    _add_parts(reading, parts)
    return [node for reader in reading if (node := reader()) is not None and not _is_part(node, parts)]


def _still_reading(memory: Memory) -> list[ref[Node]]:
    """Return references to the pending nodes with a memory among their inputs, outermost first."""
    dependent: set[int] = set()
    nodes = live_readers(memory.readers)
    for node in reversed(nodes):
        if any(arg.memory is memory or id(arg) in dependent for arg in node.args):
            dependent.add(id(node))
    return [ref(node) for node in nodes if id(node) in dependent]


def _add_parts(readers: list[ref[Node]], parts: set[int]) -> bool:
    """Add to the `parts` of a tree what reads a memory and is held by them alone; return whether all readers are."""
    are_parts = True
    for reader in [ref(node) for node in live_readers(readers, parts)]:
        holders = getrefcount(reader()) - 1
        node = reader()
        if node is None:
            continue
        consumers = [consumer for consumer in (each() for each in node.readers) if consumer is not None]
        holders -= sum([consumer.args.count(node) for consumer in consumers])
        if not holders and all(_is_part(consumer, parts) for consumer in consumers):
            parts.add(id(node))
        else:
            are_parts = False
    return are_parts


def _is_part(node: Node, parts: set[int]) -> bool:
    """Return whether a node is one of the `parts` of a tree, or has been evaluated and reads no memory any more."""
    return node.memory is not None or id(node) in parts


def share_with_host(*leaves: Node) -> None:
    """Mark the memory of `leaves` as shared with the host, which may write to it at any time from now on.

    Pending readers are evaluated, all work is finished, and expressions grown from the memory later
    are evaluated at once. `leaves`, of one memory, are leaves that are not among its views.
    """
    memory = leaves[0].memory
    assert memory is not None
    with memory.device.lock:
        if not memory.shared:
            flush_readers(memory)
            memory.shared = True
            for leaf in (*leaves, *filter(None, (view() for view in memory.views or ()))):
                leaf.flags |= EAGER
            memory.views = None
        memory.device.synchronize()


def overlaps(operand: Node, target: Node, count_identical: bool = False) -> bool:
    """Return whether an operand overlaps the target other than element for element; with `count_identical`, at all."""
    memory, other = operand.memory, target.memory
    if memory is None or (operand is target and not count_identical):
        return False
    if memory is not other:
        # one ndarray may have been shared twice, or two views of it
        assert other is not None
        return memory.shared and other.shared and _share_bytes(operand, target)
    if operand.dtype is target.dtype:  # decides most cases without views
        if operand.offset == target.offset and operand.strides == target.strides and operand.shape == target.shape:
            return count_identical and operand.size > 0
        low, high = extent(operand)
        first, last = extent(target)
        if high < first or last < low:
            return False
    a, b = view_of(operand), view_of(target)
    if operand.dtype == target.dtype and same_elements(a, b):
        return count_identical and operand.size > 0
    return may_overlap(a, b, operand.dtype.itemsize, target.dtype.itemsize)


def _share_bytes(a: Node, b: Node) -> bool:
    """Return whether the extents of two leaves of the user's memory have bytes in common."""
    spans = []
    for node in (a, b):
        memory = node.memory
        if memory is None or memory.host is None or not node.size:
            return False
        low, high = extent(node)
        itemsize = node.dtype.itemsize
        spans.append((memory.address + low * itemsize, memory.address + (high + 1) * itemsize))
    (a_low, a_high), (b_low, b_high) = spans
    return a_low < b_high and b_low < a_high
