"""From a pending expression to memory: plan, source, program, launch. The only wiring.

`evaluate` is the one way a pending node becomes a leaf, and `finish` the one place that waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import clarray._engine.fused.compact.launch_program
import clarray._engine.fused.elementwise.launch_program
import clarray._engine.fused.reduce.launch_program
import clarray._engine.launch.capture  # noqa: F401 - all are known to the compiled core by being imported
from clarray._engine.expr.bounds import bounds_of, record_range, record_subset_range
from clarray._engine.expr.build import NonConsumingRef, become_memory, become_selected
from clarray._engine.expr.node import (
    COMPRESS,
    CONST,
    EAGER,
    INDEX,
    MASKED,
    REDUCES,
    SHARED,
    Node,
    Selection,
    contiguous_leaf,
    graph_lock,
    index,
    leaf,
    replanned,
)
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.transform_epilogue import Finish, find_finish
from clarray._engine.expr.view import Shape, contiguous, is_contiguous
from clarray._engine.fused.compact.launch import compact, compacted
from clarray._engine.fused.elementwise.launch import flat_launch, strided_launch
from clarray._engine.fused.reduce.launch import find_epilogue
from clarray._engine.fused.reduce.launch_first import reduction_passes
from clarray._engine.fused.reduce.source import Epilogue
from clarray._engine.launch.first_calls import OnHost
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Settle, Transform
from clarray._engine.runtime import Device, Memory, held_at_fork
from clarray._engine.speedups import accelerated

__all__ = [
    "device_of",
    "evaluate",
    "finish",
    "launch_into",
    "positions",
    "prepare",
    "select",
    "materialize_shared",
    "kernel_cache_of",
]

Allocate = Callable[[int], Memory]


@accelerated
@replanned
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
    device = device_of(node.inputs or (node,))
    with device.lock:
        if node.memory is not None:
            return node
        flags = node.flags
        if flags & MASKED and isinstance(node, Selection):
            _store(node)
            return node
        if node.op is CONST:
            _place(node, device)
            return node
        counted = bounds_of(node) if node.op is INDEX else None
        memory, strides, in_order = _computed(kernel_cache_of(device), node, flags)
        become_memory(node, memory, strides, in_order)
        if counted is not None:
            record_range(node, *counted)
        if flags & EAGER:
            device.synchronize()
    return node


held_at_fork(graph_lock)


def _computed(cache: KernelCache, node: Node, flags: int) -> tuple[Memory, Shape, bool]:
    """The memory that a node has been computed into, its strides there, and whether they are C-contiguous."""
    if flags & (SHARED | MASKED) or not node.size or (flags & REDUCES and not _reduces_alone(node)):
        out, launches = prepare(cache, node, None)
        for launch in launches:
            launch.run()
        assert out.memory is not None
        return out.memory, out.strides, out.contiguous
    # most nodes: nothing has to be computed before them, so the graph is not looked at
    memory = cache.device.pool.allocate(node.size * node.dtype.itemsize)
    return memory, *_launch_alone(cache, node, flags, memory)


def _reduces_alone(node: Node) -> bool:
    """Whether a node is a reduction, and of what no other pass has to compute before: most reductions are."""
    if type(node.op) is not Reduction:
        return False
    flags = 0
    for arg in node.args:
        flags |= arg.flags
    return not flags & (REDUCES | MASKED)


def _launch_alone(cache: KernelCache, node: Node, flags: int, memory: Memory) -> tuple[Shape, bool]:
    """Launch one pass that computes a node into memory; give the strides, and whether they are C-contiguous."""
    if flags & REDUCES:
        strides = result_strides(node)
        for launch in reduction_passes(cache, Epilogue(node, node, ()), memory, 0, strides):
            launch.run()
        return strides, len(strides) < 2 or is_contiguous(node.shape, strides)
    flat = flat_launch(cache, node, memory, 0)
    if flat is not None:
        flat.run()
        return contiguous(node.shape), True
    strides = result_strides(node)
    strided_launch(cache, node, memory, 0, strides).run()
    return strides, is_contiguous(node.shape, strides)


def _place(node: Node, device: Device) -> None:
    """Write a number to memory: the constant `node` becomes a leaf."""
    memory = device.allocate(node.dtype.itemsize)
    elements = None if device.pending else memory.elements(node.dtype)
    if elements is None:
        device.write(memory, 0, np.array(node.value, node.dtype))
    else:
        elements[0] = node.value
    become_memory(node, memory, (), True)


def _store(node: Selection) -> None:
    """Compute a selection by a mask into memory: `node` becomes a leaf of one axis."""
    value, mask = node.args
    device = device_of(node.inputs)
    materialize_shared(value, mask, consumer=node)
    value, mask = node.args
    eager = node.flags & EAGER
    memory, total = compact(kernel_cache_of(device), value, mask)
    become_selected(node, memory, total)
    record_subset_range(node, value, distinct=True)
    if eager:
        device.synchronize()


def select(value: Node, mask: Node, room: int = 0) -> Node:
    """The elements of `value` where `mask` is set, in C order.

    Parameters
    ----------
    value, mask : Node
        Of shapes that broadcast together, the mask of bools; pending ones are computed while they
        are read.
    room : int
        The result's memory has place for so many elements after its own.

    Returns
    -------
    Node
        A new leaf of one axis. Its size has been waited for, its elements have not.
    """
    device = device_of((*(value.inputs or (value,)), *(mask.inputs or (mask,))))
    with device.lock:
        materialize_shared(value, mask)
        eager = (value.flags | mask.flags) & EAGER
        found = compacted(kernel_cache_of(device), value, mask, room)
        if eager:
            device.synchronize()
    return found


def positions(mask: Node) -> Node:
    """Where a mask is set: positions in C order, as int64."""
    found = select(index(mask.shape, contiguous(mask.shape), np.dtype(np.int64)), mask)
    record_range(found, 0, max(mask.size - 1, 0), distinct=mask.size)
    return found


def evaluate_judged(node: Node) -> Node:
    """Evaluate integers, and record_range what is known of them by how they are computed."""
    bounds = bounds_of(node)
    evaluate(node)
    if bounds is not None:
        record_range(node, *bounds)
    return node


def finish(node: Node) -> Node:
    """Evaluate a node and wait for it."""
    evaluate(node)
    assert node.memory is not None
    node.memory.device.synchronize()
    return node


@replanned
def prepare(
    cache: KernelCache,
    node: Node,
    target: Node | None,
    compute: Callable[[Node], Any] = evaluate,
    allocate: Allocate | None = None,
) -> tuple[Node, list[Launch | OnHost]]:
    """Compute what the graph below `node` shares and give the launches that compute it into `target`.

    Parameters
    ----------
    compute : callable
        Makes a node memory that must be computed before; `explain` only pretends to.
    allocate : callable
        Gives the memory of the result, from the number of bytes.
    """
    fused: Epilogue | Finish | None = None
    allocate = allocate or cache.device.allocate
    if node.flags & (SHARED | REDUCES | MASKED):
        alone = not node.flags & SHARED and _reduces_alone(node)
        fused = Epilogue(node, node, ()) if alone else _materialize_and_fuse(node, compute)
    if node.size == 0:
        return target or _new(allocate, node), []
    if fused is not None:
        return _prepare_fused(cache, fused, target, allocate)
    if target is not None:
        return target, [launch_into(cache, node, target)]
    memory = allocate(node.size * node.dtype.itemsize)
    launch = flat_launch(cache, node, memory, 0)
    if launch is not None:
        return contiguous_leaf(memory, node.shape, node.dtype), [launch]
    strides = result_strides(node)
    return leaf(memory, node.shape, strides, 0, node.dtype), [strided_launch(cache, node, memory, 0, strides)]


def _prepare_fused(
    cache: KernelCache, fused: Epilogue | Finish, target: Node | None, allocate: Allocate
) -> tuple[Node, list[Launch | OnHost]]:
    """The same of what a pass along axes computes as it stores, in an order of its own."""
    root, out = fused.root, target
    strides = result_strides(root)
    if out is None or not (out.contiguous if isinstance(fused, Epilogue) else out.strides == strides):
        out = leaf(allocate(root.size * root.dtype.itemsize), root.shape, strides, 0, root.dtype)
    assert out.memory is not None
    launches: list[Launch | OnHost]
    if isinstance(fused, Epilogue):
        launches = [*reduction_passes(cache, fused, out.memory, out.offset, out.strides)]
    else:
        transform: Transform = fused.transformed.op
        launches = [transform.launch(cache, transform.code, fused, out)]
    if target is not None and out is not target:
        launches.append(launch_into(cache, out, target).keeping(out))
    return target or out, launches


def launch_into(cache: KernelCache, node: Node, target: Node) -> Launch | OnHost:
    """Return the launch that computes an elementwise node into a leaf, or its computation by NumPy."""
    memory = target.memory
    assert memory is not None
    launch = flat_launch(cache, node, memory, target.offset) if target.contiguous else None
    return launch or strided_launch(cache, node, memory, target.offset, target.strides)


def _new(allocate: Allocate, node: Node) -> Node:
    return contiguous_leaf(allocate(node.size * node.dtype.itemsize), node.shape, node.dtype)


def _materialize_and_fuse(root: Node, compute: Callable[[Node], Any]) -> Epilogue | Finish | None:
    """Compute what must be memory before `root` can be one pass; give the reduction or the transform it fuses."""
    while True:
        order = pending_below(root)
        if _settle(order[:-1], compute):
            continue
        found: Epilogue | Finish | None = find_epilogue(root) or find_finish(root)
        fused = found.transformed if isinstance(found, Finish) else found.reduced if found is not None else None
        if not _compute_shared(order[:-1], {id(n) for n in order}, fused, compute):
            return found


def fuse_below(root: Node) -> None:
    """Compute what must be memory before a node over a transform can be one pass."""
    _materialize_and_fuse(root, evaluate)


def materialize_shared(*roots: Node, consumer: Node | None = None) -> None:
    """Compute what must be memory before the roots can be computed while they are read.

    That is: reductions, transforms, selections by a mask, and what others than `consumer` and the roots' own graphs
    read as well.
    """
    for root in roots:
        if root.memory is not None or not root.args:
            continue
        if root.flags & (SHARED | REDUCES | MASKED) or any(type(r) is not NonConsumingRef for r in root.readers):
            break
    else:
        return
    orders = [pending_below(root) for root in roots]
    if _settle([node for order in orders for node in order], evaluate):
        orders = [pending_below(root) for root in roots]
    for root, order in zip(roots, orders, strict=True):
        if any(node.op is COMPRESS for node in order):
            evaluate(root)
    nodes = {id(n): n for order in orders for n in order}
    _compute_shared(nodes.values(), {*nodes, id(consumer)}, None, evaluate)


def _settle(nodes: list[Node], compute: Callable[[Node], Any]) -> bool:
    """Let transforms that one expression reads be seen to together; say whether one is another operation now."""
    settling: dict[Settle, dict[Node, None]] = {}
    for node in nodes:
        if isinstance(node.op, Transform) and node.op.settle is not None:
            settling.setdefault(node.op.settle, {})[node] = None
    for settle, found in settling.items():
        settle([*found], compute)
    return any(not isinstance(node.op, Transform) for found in settling.values() for node in found)


def _compute_shared(
    nodes: Iterable[Node], inside: set[int], fused: Node | None, compute: Callable[[Node], Any]
) -> bool:
    """Compute passes but for `fused`, and nodes that were grown from elsewhere too; say whether there were any.

    So no consumer computes them again.
    """
    changed = False
    for node in nodes:
        if node.memory is None and (
            (isinstance(node.op, Reduction | Transform) and node is not fused)
            or any(_is_outside(r, inside) for r in list(node.readers))
        ):
            compute(node)
            changed = True
    return changed


def _is_outside(reader: Any, inside: set[int]) -> bool:
    """Whether a reader is another consumer than the graph in hand: one before it, perhaps."""
    node = reader()
    return (node is None or id(node) not in inside) and type(reader) is not NonConsumingRef


def pending_below(root: Node) -> list[Node]:
    """The pending nodes of a graph, operands before what uses them, `root` last; not what transforms read."""
    order: list[Node] = []
    _visit(root, order, set())
    return order


def _visit(node: Node, order: list[Node], seen: set[int]) -> None:
    # not a closure: one that calls itself is a cycle, and would keep the nodes' memory from the pool
    if id(node) in seen or node.memory is not None or not node.args:
        return
    seen.add(id(node))
    for arg in () if isinstance(node.op, Transform) else node.args:
        _visit(arg, order, seen)
    order.append(node)
