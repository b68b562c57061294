"""Evaluation of pending expressions: plan, source, program, launch.

Pending nodes become leaves only in `evaluate`, and `finish` is the only function here that waits for a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import clarray._engine.fused.compact.launch_program
import clarray._engine.fused.elementwise.launch_program
import clarray._engine.fused.reduce.launch_program
import clarray._engine.launch.capture  # noqa: F401 - imported for the compiled core
from clarray._engine.expr.bounds import record_range, record_subset_range, value_bounds
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
from clarray._engine.expr.transform_epilogue import TransformEpilogue, find_transform_epilogue
from clarray._engine.expr.view import Shape, contiguous, is_contiguous
from clarray._engine.fused.compact.launch import compact, compacted
from clarray._engine.fused.elementwise.launch import flat_launch, strided_launch
from clarray._engine.fused.reduce.launch import find_epilogue
from clarray._engine.fused.reduce.launch_tiered import reduction_passes
from clarray._engine.fused.reduce.source import Epilogue
from clarray._engine.launch.host_tier import HostLaunch
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Simplify, Transform
from clarray._engine.runtime import CompilationError, Device, Memory, hold_at_fork
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
    """Launch the kernels that compute a pending node into memory, and return the node.

    For expressions that read the user's host memory it also waits, so that a later write to that memory cannot change
    them.

    Raises
    ------
    MemoryError
        The result does not fit into memory; the message has the sizes.
    """
    if node.memory is not None:
        return node
    device = device_of(node)
    with device.lock:
        if node.memory is not None:
            return node
        try:
            _evaluate_whole(node, device)
        except CompilationError:
            if not _evaluate_operands(node):
                raise
            _evaluate_whole(node, device)
    return node


def _evaluate_whole(node: Node, device: Device) -> None:
    """Turn a pending node into a leaf, with as few launches as possible. The caller holds the device's lock."""
    flags = node.flags
    if flags & MASKED and isinstance(node, Selection):
        _evaluate_selection(node)
        return
    if node.op is CONST:
        _write_constant(node, device)
        return
    bounds = value_bounds(node) if node.op is INDEX else None
    memory, strides, in_order = _compute(kernel_cache_of(device), node, flags)
    become_memory(node, memory, strides, in_order)
    if bounds is not None:
        record_range(node, *bounds)
    if flags & EAGER:
        device.synchronize()


def _evaluate_operands(node: Node) -> bool:
    """Evaluate the pending operands of a node whose kernel cannot be compiled. Return whether there were any."""
    pending = [arg for arg in node.args if arg.memory is None and arg.args]
    for arg in pending:
        evaluate(arg)
    return bool(pending)


hold_at_fork(graph_lock)


def _compute(cache: KernelCache, node: Node, flags: int) -> tuple[Memory, Shape, bool]:
    """Launch the computation of a node; return its new memory, its strides, and whether they are C-contiguous."""
    if flags & (SHARED | MASKED) or not node.size or (flags & REDUCES and not _reduces_alone(node)):
        out, launches = prepare(cache, node, None)
        for launch in launches:
            launch.run()
        assert out.memory is not None
        return out.memory, out.strides, out.contiguous
    # most nodes: no subexpression has to be evaluated before, so the graph is not searched
    memory = cache.device.pool.allocate(node.size * node.dtype.itemsize)
    return memory, *_launch_alone(cache, node, flags, memory)


def _reduces_alone(node: Node) -> bool:
    """Return whether a node is a reduction without another pass in its operands, as most reductions are."""
    if type(node.op) is not Reduction:
        return False
    flags = 0
    for arg in node.args:
        flags |= arg.flags
    return not flags & (REDUCES | MASKED)


def _launch_alone(cache: KernelCache, node: Node, flags: int, memory: Memory) -> tuple[Shape, bool]:
    """Launch one pass that computes a node into memory; return its strides, and whether they are C-contiguous."""
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


def _write_constant(node: Node, device: Device) -> None:
    """Turn a constant into a leaf: write its number to memory."""
    memory = device.allocate(node.dtype.itemsize)
    elements = None if device.pending else memory.elements(node.dtype)
    if elements is None:
        device.write(memory, 0, np.array(node.value, node.dtype))
    else:
        elements[0] = node.value
    become_memory(node, memory, (), True)


def _evaluate_selection(node: Selection) -> None:
    """Turn a selection by a mask into a leaf of one axis."""
    value, mask = node.args
    device = device_of(node)
    materialize_shared(value, mask, consumer=node)
    value, mask = node.args
    eager = node.flags & EAGER
    memory, total = compact(kernel_cache_of(device), value, mask)
    become_selected(node, memory, total)
    record_subset_range(node, value, distinct=True)
    if eager:
        device.synchronize()


def select(value: Node, mask: Node, room: int = 0) -> Node:
    """Return the elements of `value` where `mask` is True, in C order.

    Parameters
    ----------
    value, mask : Node
        Of shapes that broadcast together, the mask of bools. Pending ones are fused into the kernel
        that reads them.
    room : int
        Number of further elements that the result's memory has room for.

    Returns
    -------
    Node
        A new leaf of one axis. Its size is final; the computation of its elements may not have finished.
    """
    device = device_of(value, mask)
    with device.lock:
        materialize_shared(value, mask)
        eager = (value.flags | mask.flags) & EAGER
        selection = compacted(kernel_cache_of(device), value, mask, room)
        if eager:
            device.synchronize()
    return selection


def positions(mask: Node) -> Node:
    """Return the positions of a mask's True elements in C order, as int64."""
    numbers = select(index(mask.shape, contiguous(mask.shape), np.dtype(np.int64)), mask)
    record_range(numbers, 0, max(mask.size - 1, 0), distinct=mask.size)
    return numbers


def evaluate_with_range(node: Node) -> Node:
    """Evaluate a node of integers and record the bounds that follow from its operations."""
    bounds = value_bounds(node)
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
) -> tuple[Node, list[Launch | HostLaunch]]:
    """Evaluate the subexpressions of `node` that cannot be fused, and return the launches for the rest.

    Parameters
    ----------
    target : Node or None
        The leaf to compute into; a new one if None.
    compute : callable
        Evaluates a subexpression; `explain` passes a function that does not launch.
    allocate : callable
        Allocates memory for the result, from the number of bytes.

    Returns
    -------
    Node, list of launches
        The leaf that the launches write.
    """
    fused: Epilogue | TransformEpilogue | None = None
    allocate = allocate or cache.device.allocate
    if node.flags & (SHARED | REDUCES | MASKED):
        is_single_pass = not node.flags & SHARED and _reduces_alone(node)
        fused = Epilogue(node, node, ()) if is_single_pass else _materialize_and_fuse(node, compute)
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
    cache: KernelCache, fused: Epilogue | TransformEpilogue, target: Node | None, allocate: Allocate
) -> tuple[Node, list[Launch | HostLaunch]]:
    """Return the leaf and the launches of a reduction or a transform with its epilogue, in its own memory order."""
    root, out = fused.root, target
    strides = result_strides(root)
    if out is None or not (out.contiguous if isinstance(fused, Epilogue) else out.strides == strides):
        out = leaf(allocate(root.size * root.dtype.itemsize), root.shape, strides, 0, root.dtype)
    assert out.memory is not None
    launches: list[Launch | HostLaunch]
    if isinstance(fused, Epilogue):
        launches = [*reduction_passes(cache, fused, out.memory, out.offset, out.strides)]
    else:
        transform: Transform = fused.transformed.op
        launches = [transform.launch(cache, transform.code, fused, out)]
    if target is not None and out is not target:
        launches.append(launch_into(cache, out, target).keep_alive(out))
    return target or out, launches


def launch_into(cache: KernelCache, node: Node, target: Node) -> Launch | HostLaunch:
    """Return the launch that computes an elementwise node into a leaf, or its evaluation on the host."""
    memory = target.memory
    assert memory is not None
    launch = flat_launch(cache, node, memory, target.offset) if target.contiguous else None
    return launch or strided_launch(cache, node, memory, target.offset, target.strides)


def _new(allocate: Allocate, node: Node) -> Node:
    return contiguous_leaf(allocate(node.size * node.dtype.itemsize), node.shape, node.dtype)


def _materialize_and_fuse(root: Node, compute: Callable[[Node], Any]) -> Epilogue | TransformEpilogue | None:
    """Evaluate all that `root` cannot fuse into one pass; return the reduction or the transform with its epilogue."""
    while True:
        order = pending_below(root)
        if _simplify_transforms(order[:-1], compute):
            continue
        epilogue: Epilogue | TransformEpilogue | None = find_epilogue(root) or find_transform_epilogue(root)
        fused: Node | None = None
        if epilogue is not None:
            fused = epilogue.transformed if isinstance(epilogue, TransformEpilogue) else epilogue.reduced
        if not _compute_shared(order[:-1], {id(n) for n in order}, fused, compute):
            return epilogue


def materialize_below(root: Node) -> None:
    """Evaluate the subexpressions that cannot be fused into the last pass of a transform in `root`."""
    _materialize_and_fuse(root, evaluate)


def materialize_shared(*roots: Node, consumer: Node | None = None) -> None:
    """Evaluate the subexpressions of `roots` that cannot be fused into the kernel that reads them.

    These are reductions, transforms, selections by a mask, and nodes with readers other than `consumer` and the graphs
    of the roots.
    """
    for root in roots:
        if root.memory is not None or not root.args:
            continue
        if root.flags & (SHARED | REDUCES | MASKED) or any(type(r) is not NonConsumingRef for r in root.readers):
            break
    else:
        return
    orders = [pending_below(root) for root in roots]
    if _simplify_transforms([node for order in orders for node in order], evaluate):
        orders = [pending_below(root) for root in roots]
    for root, order in zip(roots, orders, strict=True):
        if any(node.op is COMPRESS for node in order):
            evaluate(root)
    nodes = {id(n): n for order in orders for n in order}
    _compute_shared(nodes.values(), {*nodes, id(consumer)}, None, evaluate)


def _simplify_transforms(nodes: list[Node], compute: Callable[[Node], Any]) -> bool:
    """Simplify the transforms that one expression reads; return whether one has become another operation."""
    groups: dict[Simplify, dict[Node, None]] = {}
    for node in nodes:
        if isinstance(node.op, Transform) and node.op.simplify is not None:
            groups.setdefault(node.op.simplify, {})[node] = None
    for simplify, transforms in groups.items():
        simplify([*transforms], compute)
    return any(not isinstance(node.op, Transform) for transforms in groups.values() for node in transforms)


def _compute_shared(
    nodes: Iterable[Node], inside: set[int], fused: Node | None, compute: Callable[[Node], Any]
) -> bool:
    """Evaluate passes except `fused`, and nodes with readers outside the graph; return whether there were any.

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
    """Return whether a reader is a consumer outside the graph, dead readers included."""
    node = reader()
    return (node is None or id(node) not in inside) and type(reader) is not NonConsumingRef


def pending_below(root: Node) -> list[Node]:
    """Return the pending nodes of a graph, operands before their users, without the operands of transforms."""
    order: list[Node] = []
    _visit(root, order, set())
    return order


def _visit(node: Node, order: list[Node], visited: set[int]) -> None:
    # not a closure: a recursive closure is a reference cycle, which would keep the nodes' memory out of the pool
    if id(node) in visited or node.memory is not None or not node.args:
        return
    visited.add(id(node))
    for arg in () if isinstance(node.op, Transform) else node.args:
        _visit(arg, order, visited)
    order.append(node)
