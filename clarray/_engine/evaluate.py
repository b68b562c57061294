"""Evaluation of pending expressions: plan, source, program, launch.

Pending nodes become leaves only in `evaluate`, and `finish` is the only function here that waits for a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

import clarray._engine.fused.compact.launch_program
import clarray._engine.fused.elementwise.launch_program
import clarray._engine.fused.reduce.launch_program
import clarray._engine.launch.capture  # noqa: F401 - imported for the compiled core
from clarray._engine.expr.bounds import record_range, record_subset_range, value_bounds
from clarray._engine.expr.build import NonConsumingRef, become_memory, become_selected, view_memory
from clarray._engine.expr.epilogues import Epilogue, TransformEpilogue, find_epilogue, find_transform_epilogue
from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.growth import observers
from clarray._engine.expr.memory_views import is_view
from clarray._engine.expr.node import (
    COMPRESS,
    CONST,
    EAGER,
    INDEX,
    LARGE,
    MASKED,
    REDUCES,
    SHARED,
    Node,
    Selection,
    contiguous_leaf,
    graph_lock,
    index,
    leaf,
    memory_of,
    replanned,
)
from clarray._engine.expr.region import (
    LEAST_WEIGHT,
    MOST_WEIGHT,
    Pass,
    below_views,
    held_nodes,
    keeps_heavy,
    pending_below,
    plan_passes,
    with_siblings,
)
from clarray._engine.expr.result_layout import result_strides
from clarray._engine.expr.view import contiguous
from clarray._engine.fused.compact.launch import compact, compacted
from clarray._engine.fused.elementwise.launch import Output, flat_launch, region_launch, strided_launch
from clarray._engine.fused.reduce.launch import is_reduced_at_once
from clarray._engine.fused.reduce.launch_tiered import reduction_passes
from clarray._engine.launch.host_tier import HostLaunch
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Simplify, Transform
from clarray._engine.runtime import CompilationError, Device, Memory, hold_at_fork, profiling
from clarray._engine.speedups import accelerated
from clarray._engine.threads import import_whole

__all__ = [
    "become_leaves",
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
            if node.flags & LARGE:
                _evaluate_whole(node, device, LEAST_WEIGHT)
            elif _evaluate_operands(node):
                _evaluate_whole(node, device)
            else:
                raise
    return node


def _evaluate_whole(node: Node, device: Device, most_weight: int = MOST_WEIGHT) -> None:
    """Turn a pending node into a leaf, with as few launches as possible. The caller holds the device's lock."""
    flags = node.flags
    if flags & MASKED and isinstance(node, Selection):
        _evaluate_selection(node)
    elif is_view(node):
        evaluate(node.args[0])
        view_memory(node)
    elif node.op is CONST:
        _write_constant(node, device)
    elif flags & (SHARED | LARGE | REDUCES) or keeps_heavy(node):
        roots = region_roots(node)
        if len(roots) == 1 and not flags & (SHARED | LARGE) and _reduces_alone(node):
            _evaluate_pass(node)
            return
        try:
            _evaluate_region(roots, most_weight)
        except MemoryError:
            if len(roots) == 1:
                raise
            _evaluate_region((node,), most_weight)
    else:  # most nodes: nothing has to be evaluated before
        _evaluate_pass(node)


def _evaluate_region(roots: Sequence[Node], most_weight: int) -> None:
    """Turn the pending nodes `roots` into leaves."""
    rows = partial(fits_rows, kernel_cache_of(device_of(*roots)))
    for outputs in region_passes(roots, _evaluate_pass, most_weight=most_weight, fits_rows=rows):
        _evaluate_pass(*outputs)


def _evaluate_pass(*outputs: Node) -> None:
    """Turn the outputs of one pass into leaves. What it reads is memory."""
    for node in outputs:
        if is_view(node):
            evaluate(node)
    pending = [node for node in outputs if node.memory is None]
    if not pending:
        return
    device = device_of(*pending)
    bounds = value_bounds(pending[0]) if pending[0].op is INDEX else None
    eager = any(node.flags & EAGER for node in pending)
    with profiling.pass_of(lambda: graph_of(*pending).pending):
        leaves, launches = prepare_pass(kernel_cache_of(device), pending, device.pool.allocate)
        for launch in launches:
            launch.run()
    become_leaves(zip(pending, leaves, strict=True))
    if bounds is not None:
        record_range(pending[0], *bounds)
    if eager:
        device.synchronize()


def become_leaves(computed: Iterable[tuple[Node, Node]]) -> None:
    """Turn pending nodes into the leaves that launches compute them into. The pairs are of a node and its leaf."""
    for node, result in computed:
        become_memory(node, memory_of(result), result.strides, result.contiguous)


def prepare_pass(
    cache: KernelCache, outputs: Sequence[Node], allocate: Allocate
) -> tuple[list[Node], list[Launch | HostLaunch]]:
    """Return new leaves for the outputs of one pass, and the launches that compute them.

    Parameters
    ----------
    outputs : sequence of Node
        One node, or several, as `plan_passes` returns them. What they read is memory.
    allocate : callable
        Allocates memory, from the number of bytes.
    """
    if len(outputs) == 1:
        out, launches = _prepare_alone(cache, outputs[0], None, allocate)
        return [out], launches
    leaves = _new_leaves(outputs, allocate)
    if not outputs[0].size:
        return leaves, []
    epilogues = [find_epilogue(node) for node in outputs if node.flags & REDUCES]
    reductions = [each for each in epilogues if each is not None]
    if len(reductions) == len(outputs):
        together = import_whole("clarray._engine.fused.reduce.together")
        return leaves, together.reductions_together(cache, reductions, leaves)
    if reductions:
        count = len(reductions)
        rows = import_whole("clarray._engine.fused.reduce.rows")
        return leaves, [rows.rows_launch(cache, outputs[:count], outputs[count:], leaves)]
    return leaves, [_region_launch(cache, outputs, leaves)]


def _new_leaves(outputs: Sequence[Node], allocate: Allocate) -> list[Node]:
    """Return a leaf in new memory for each output of a pass."""
    return [
        leaf(allocate(node.size * node.dtype.itemsize), node.shape, result_strides(node), 0, node.dtype)
        for node in outputs
    ]


def _region_launch(cache: KernelCache, outputs: Sequence[Node], leaves: Sequence[Node]) -> Launch:
    """Return the launch that computes elementwise nodes of one shape into leaves."""
    return region_launch(cache, outputs, [Output(memory_of(out), out.offset, out.strides) for out in leaves])


def _evaluate_operands(node: Node) -> bool:
    """Evaluate the pending operands of a node whose kernel cannot be compiled. Return whether there were any."""
    pending = [arg for arg in node.args if arg.memory is None and arg.args]
    for arg in pending:
        evaluate(arg)
    return bool(pending)


hold_at_fork(graph_lock)
observers.append(profiling.note_line)


def _reduces_alone(node: Node) -> bool:
    """Return whether a node is a reduction without another pass in its operands, as most reductions are."""
    if type(node.op) is not Reduction:
        return False
    flags = 0
    for arg in node.args:
        flags |= arg.flags
    return not flags & (REDUCES | MASKED)


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
    materialize_shared(value, mask)
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
def prepare(cache: KernelCache, node: Node, target: Node) -> tuple[list[Launch | HostLaunch], list[tuple[Node, Node]]]:
    """Evaluate what must be memory before `node` is computed into a leaf.

    Returns
    -------
    launches : list
        They compute the node into the leaf.
    made : list of tuple of Node
        The other pending nodes that the launches compute, each with a new leaf. The caller turns them into these.
    """
    is_region = node.flags & (SHARED | REDUCES | MASKED | LARGE) or keeps_heavy(node)
    others = materialize_below(node) if is_region else ()
    if not others:
        return _prepare_alone(cache, node, target, cache.device.allocate)[1], []
    leaves = _new_leaves(others, cache.device.pool.allocate)
    return [_region_launch(cache, (node, *others), (target, *leaves))], list(zip(others, leaves, strict=True))


def _prepare_alone(
    cache: KernelCache, node: Node, target: Node | None, allocate: Allocate
) -> tuple[Node, list[Launch | HostLaunch]]:
    """Return the leaf that one pass computes, and its launches. The leaf is `target`, or new."""
    if node.size == 0:
        return target or contiguous_leaf(allocate(0), node.shape, node.dtype), []
    if node.flags & REDUCES:
        fused = find_epilogue(node) or find_transform_epilogue(node)
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


def fits_rows(cache: KernelCache, reductions: Sequence[Node], outputs: Sequence[Node]) -> bool:
    """Return whether one launch can compute reductions along rows and elementwise results of the rows' shape."""
    rows = import_whole("clarray._engine.fused.reduce.rows")  # which most programs do not need
    fits: bool = rows.fits_rows(cache, reductions, outputs)
    return fits


def region_roots(node: Node) -> Pass:
    """Return the nodes that are computed when `node` is: the node, and siblings if it shares work with others."""
    if not node.flags & (SHARED | LARGE | REDUCES) or _is_reduced_at_once(node):
        return (node,)
    return with_siblings(node)


def _is_reduced_at_once(node: Node) -> bool:
    """Return whether the calling thread reduces memory to a node, which takes less time than to look for siblings."""
    if node.flags & LARGE or not _reduces_alone(node):
        return False
    return is_reduced_at_once(kernel_cache_of(device_of(node)), node.args[0], node.size)


def region_passes(roots: Sequence[Node], compute: Callable[..., Any], **options: Any) -> list[Pass]:
    """Return the passes of a region, after a simplification of its transforms.

    Parameters
    ----------
    compute : callable
        Computes the outputs of a pass, such as the copy that several rolls are views of.
    **options
        Further arguments of `plan_passes`.
    """
    while _simplify_transforms(roots, compute, options.get("held")):
        pass
    if "held" not in options:  # before anything else refers to the nodes
        options["held"] = set(held_nodes(pending_below(*roots)))
    fused: Node | None = None
    if options.get("store_roots", True) and roots[0].flags & REDUCES:
        epilogue = find_epilogue(roots[0]) or find_transform_epilogue(roots[0])
        if isinstance(epilogue, TransformEpilogue):
            fused = epilogue.transformed
        elif epilogue is not None:
            fused = epilogue.reduced
    return plan_passes(roots, fused, **options)


def _compute_region(node: Node, compute: Callable[..., Any]) -> None:
    """Compute a node that pending views look at, and its siblings, which need no such views."""
    siblings = [root for root in with_siblings(node) if root is node or not any(map(is_view, pending_below(root)))]
    for outputs in region_passes(siblings, compute):
        compute(*outputs)


def materialize_below(root: Node) -> Pass:
    """Evaluate the subexpressions that cannot be fused into the pass that computes `root`.

    Returns
    -------
    tuple of Node
        The pending nodes that this pass should store too.
    """
    others: Pass = ()
    for outputs in region_passes((root,), _evaluate_pass):
        beside = tuple([node for node in outputs if node is not root])
        if root in outputs and not any(node.flags & REDUCES for node in outputs):
            others = beside
        else:
            _evaluate_pass(*beside)
    return others


def fuse_below(root: Node) -> None:
    """Evaluate all subexpressions that cannot be fused into the pass that computes `root`, or that it would store."""
    _evaluate_pass(*materialize_below(root))


def materialize_shared(*roots: Node) -> None:
    """Evaluate the subexpressions of `roots` that cannot be fused into the kernel that reads them.

    These are reductions, transforms, selections by a mask, and heavy values that others have read or will read.
    """
    for root in roots:
        if is_view(root):
            evaluate(root)
    pending = [root for root in roots if root.memory is None and root.args]
    for root in pending:
        if root.flags & (SHARED | REDUCES | MASKED | LARGE) or any(
            type(r) is not NonConsumingRef for r in root.readers
        ):
            break
    else:
        return
    for root in pending:
        if any(node.op is COMPRESS for node in pending_below(root)):
            evaluate(root)
    pending = [root for root in pending if root.memory is None]
    for outputs in region_passes(pending, _evaluate_pass, store_roots=False):
        _evaluate_pass(*outputs)


def _simplify_transforms(roots: Sequence[Node], compute: Callable[..., Any], held: Set[Node] | None) -> bool:
    """Simplify the transforms that the expressions of a region read; return whether one has become another operation.

    They are no roots. `held` are the nodes that something else keeps alive.
    """
    if not any(isinstance(node.op, Transform) for node in pending_below(*roots)):
        return False
    if held is None:
        held = set(held_nodes(below_views(*roots)))  # before anything else refers to the nodes
    transforms = [node for node in pending_below(*roots) if isinstance(node.op, Transform) and node not in roots]
    if views := [node for node in transforms if is_view(node)]:
        resolve = import_whole("clarray._engine.expr.pending_views").resolve
        resolve(views, held, compute, partial(_compute_region, compute=compute))
    groups: dict[Simplify, dict[Node, None]] = {}
    for node in transforms:
        if isinstance(node.op, Transform) and node.op.simplify is not None:
            groups.setdefault(node.op.simplify, {})[node] = None
    for simplify, alike in groups.items():
        simplify([*alike], compute)
    return any(not isinstance(node.op, Transform) for node in transforms)
