"""From a pending expression to memory: plan, source, program, launch. The only wiring.

`evaluate` is the one way a pending node becomes a leaf, `write` the one way existing memory is
overwritten, and `finish` the one place that waits for the device.
"""

from __future__ import annotations

from weakref import ref

from clarray.codegen.reduce import Epilogue
from clarray.evaluate.elementwise import flat_launch, strided_launch
from clarray.evaluate.reduce import find_epilogue, reduction_launches
from clarray.evaluate.state import DeviceState, Launch, device_of, state_of
from clarray.expr.build import live_readers, regrow
from clarray.expr.node import (
    COMPRESS,
    EAGER,
    MASKED,
    REDUCES,
    SHARED,
    Node,
    contiguous_leaf,
    leaf,
)
from clarray.expr.overlap import k_order_strides, may_overlap, same_elements
from clarray.expr.view import View, contiguous
from clarray.ops.monoids import Reduction
from clarray.runtime import Device, Memory

__all__ = ["device_of", "evaluate", "finish", "flush_readers", "overlaps", "state_of", "write"]


def evaluate(node: Node) -> Node:
    """Make sure that a node is in memory; it has been launched, not necessarily finished.

    Expressions that read host memory of the user's have finished when this returns, so that a later
    write to that memory cannot change them.

    Raises
    ------
    MemoryError
        There is no room for the result; the message has the sizes.
    """
    if node.memory is not None:
        return node
    device = device_of(node.inputs)
    with device.lock:
        if node.memory is not None:
            return node
        flags = node.flags
        state = state_of(device)
        out, launches = _prepare(state, node, None)
        for launch in launches:
            launch.run()
        assert out.memory is not None
        readers = node.readers
        node.become_leaf(out.memory, out.offset, out.strides, out.contiguous)
        if readers:
            _pass_on(readers, out.memory)
        if flags & EAGER:
            device.synchronize()
    return node


def _pass_on(readers: list[ref[Node]], memory: Memory) -> None:
    """Let what was grown on a pending node read the memory that it has become."""
    memory.readers.extend(readers)
    for reader in reversed(live_readers(readers)):  # operands before what uses them
        regrow(reader)


def write(target: Node, value: Node) -> None:
    """Compute `value`, of the target's dtype and shape, into the memory of the leaf `target`.

    Pending expressions that read that memory are evaluated before; operands that overlap the target
    otherwise than element for element are computed into memory of their own first.
    """
    memory = target.memory
    assert memory is not None
    if target.size == 0:
        return
    with memory.device.lock:
        evaluated = value.memory is not None
        if not evaluated and any(overlaps(n, target) for n in value.inputs):
            evaluate(value)
        elif evaluated and overlaps(value, target):
            value = _copy(value)
        state = state_of(memory.device)
        eager = (value.flags & EAGER) or memory.shared
        _, launches = _prepare(state, value, target)
        if not evaluated:
            # Whatever is still alive of the tree is held by someone else, and must be kept as it was.
            value.args = ()
        flush_readers(memory, value)
        for launch in launches:
            launch.run()
        if eager:
            memory.device.synchronize()


def flush_readers(memory: Memory, but: Node | None = None) -> None:
    """Evaluate every pending expression that reads `memory`, as it is about to be overwritten."""
    readers = memory.readers
    if readers:
        while True:
            pending = [n for n in live_readers(readers) if n is not but]
            if not pending:
                break
            node = pending[0]
            del pending
            evaluate(node)
        readers.clear()


def overlaps(operand: Node, target: Node) -> bool:
    """Whether an operand shares memory with the target other than element for element."""
    if operand.memory is None or operand.memory is not target.memory:
        return False
    a, b = view_of(operand), view_of(target)
    if operand.dtype == target.dtype and same_elements(a, b):
        return False
    return may_overlap(a, b, operand.dtype.itemsize, target.dtype.itemsize)


def view_of(node: Node) -> View:
    """Shape, strides and offset of a leaf."""
    return View(node.shape, node.strides, node.offset)


def finish(node: Node) -> Node:
    """Evaluate a node and wait for it."""
    evaluate(node)
    assert node.memory is not None
    node.memory.device.synchronize()
    return node


def _copy(value: Node) -> Node:
    memory = value.memory
    assert memory is not None
    out = contiguous_leaf(
        memory.device.allocate(value.size * value.dtype.itemsize), value.shape, value.dtype
    )
    state = state_of(memory.device)
    launch = flat_launch(state, value, out) or strided_launch(state, value, out)
    launch.run()
    return out


def _prepare(
    state: DeviceState, node: Node, target: Node | None
) -> tuple[Node, list[Launch]]:
    """Settle the graph below `node` and give the launches that compute it into `target`."""
    epilogue = None
    flags = node.flags
    if flags & (SHARED | REDUCES | MASKED):
        below = flags & SHARED
        for arg in node.args:
            below |= arg.flags & (REDUCES | MASKED)
        if not below and isinstance(node.op, Reduction):  # what most reductions are
            epilogue = Epilogue(node, node, ())
        else:
            epilogue = _settle(node)
    if node.size == 0:
        return target or _new(state.device, node, contiguous(node.shape)), []
    if epilogue is not None:
        out = target
        if out is None or not out.contiguous:
            out = _new(state.device, node, contiguous(node.shape))
        launches = reduction_launches(state, epilogue, out)
        if target is not None and out is not target:
            launches.append(strided_launch(state, out, target))
        return target or out, launches
    if target is None:
        strides = contiguous(node.shape)
        out = _new(state.device, node, strides)
        launch = flat_launch(state, node, out)
        if launch is None:
            strides = _result_strides(node)
            out = leaf(out.memory, node.shape, strides, 0, node.dtype)  # type: ignore[arg-type]
            launch = strided_launch(state, node, out)
        return out, [launch]
    launch = flat_launch(state, node, target) if target.contiguous else None
    return target, [launch or strided_launch(state, node, target)]


def _new(device: Device, node: Node, strides: tuple[int, ...]) -> Node:
    memory = device.allocate(node.size * node.dtype.itemsize)
    return leaf(memory, node.shape, strides, 0, node.dtype)


def _result_strides(node: Node) -> tuple[int, ...]:
    """The memory order NumPy gives the result: that of the operands where they agree."""
    views = [view_of(n) for n in node.inputs if n.memory is not None]
    return k_order_strides(views, node.shape)


def _settle(root: Node) -> Epilogue | None:
    """Evaluate what must be memory before `root` can be one pass; give the reduction it fuses."""
    order = _pending_below(root)
    epilogue = find_epilogue(root)
    fused = epilogue.reduced if epilogue is not None else None
    inside = {id(n) for n in order}
    changed = False
    if any(node.op is COMPRESS for node in order):
        raise NotImplementedError(
            "the elements a mask selects cannot be stored yet, only reduced: "
            "use x[mask].sum() and the like, or where="
        )
    for node in order[:-1]:
        shared = any(
            (n := r()) is not None and n.memory is None and id(n) not in inside
            for r in node.readers or ()
        )
        if (isinstance(node.op, Reduction) and node is not fused) or shared:
            if node.memory is None:
                evaluate(node)
                changed = True
    if changed:
        for node in order:
            if node.memory is None:
                regrow(node)
        epilogue = find_epilogue(root)
    return epilogue


def _pending_below(root: Node) -> list[Node]:
    """The pending nodes of a graph, operands before what uses them, `root` last."""
    order: list[Node] = []
    _visit(root, order, set())
    return order


def _visit(node: Node, order: list[Node], seen: set[int]) -> None:
    # not a closure: one that calls itself is a cycle, and would keep the nodes' memory from the pool
    if id(node) in seen or node.memory is not None or not node.args:
        return
    seen.add(id(node))
    for arg in node.args:
        _visit(arg, order, seen)
    order.append(node)
