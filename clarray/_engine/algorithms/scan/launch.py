"""Launches of scans along an axis and of the reductions of segments: made and run at once.

A scan is an algorithm of its own, so its result is memory; its operand may be pending, and is then
computed while it is read. Associative operations are scanned in parallel, the others by the sequential
reference, which also is what the parallel scan is tested against.
"""

from __future__ import annotations

from typing import Any

from clarray._engine.algorithms.scan.launch_parallel import line_arguments, run_parallel
from clarray._engine.algorithms.scan.plan import Lines, ScanPlan, line_blocks, line_space, scan_plan
from clarray._engine.algorithms.scan.source import scan_source
from clarray._engine.evaluate import materialize_shared
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, leaf, replanned
from clarray._engine.expr.overlap import k_order_strides
from clarray._engine.expr.result_layout import view_of
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.ops.monoids import Monoid, scan_monoid
from clarray._engine.runtime import Device
from clarray._engine.writing import flush_readers, overlaps

__all__ = ["reduce_segments", "scan"]


@replanned
def scan(value: Node, monoid: Monoid, axis: int, target: Node | None = None, *, sequential: bool = False) -> Node:
    """Combine the elements along an axis and keep every state.

    Parameters
    ----------
    value : Node
        What is scanned, of at least one axis.
    target : Node, optional
        A leaf of the result's dtype and shape. It is written where that is safe; its pending
        readers are evaluated before.
    sequential : bool
        Take the sequential reference although the operation is associative.

    Returns
    -------
    Node
        `target`, or a new leaf.
    """
    device = device_of([*(value.inputs or (value,)), *([target] if target is not None else [])])
    with device.lock:
        if target is not None:
            assert target.memory is not None
            flush_readers(target.memory)
        materialize_shared(value)
        if target is None or any(overlaps(n, target) for n in value.inputs or (value,)):
            target = _new_leaf(value, monoid)
        if monoid.associative and not sequential:
            if target.size:
                run_parallel(kernel_cache_of(device), value, scan_monoid(monoid), axis, target)
            _complete(device, value, target)
        else:
            _run(kernel_cache_of(device), value, monoid, axis, target, None)
    return target


@replanned
def reduce_segments(value: Node, monoid: Monoid, axis: int, positions: Node) -> Node:
    """Combine the elements between positions along an axis, as ``ufunc.reduceat`` does.

    Parameters
    ----------
    value : Node
    positions : Node
        A contiguous int64 leaf, every element a position along the axis.

    Returns
    -------
    Node
        A new leaf.
    """
    device = device_of((*(value.inputs or (value,)), positions))
    with device.lock:
        materialize_shared(value)
        shape = (*value.shape[:axis], positions.size, *value.shape[axis + 1 :])
        size = positions.size
        for extent in value.shape[:axis] + value.shape[axis + 1 :]:
            size *= extent
        memory = device.allocate(size * monoid.out_dtype.itemsize)
        target = contiguous_leaf(memory, shape, monoid.out_dtype)
        _run(kernel_cache_of(device), value, monoid, axis, target, positions)
    return target


def _new_leaf(value: Node, monoid: Monoid) -> Node:
    """Memory for a result of the value's shape, in the order NumPy gives it."""
    inputs = value.inputs or (value,)
    dtype = monoid.out_dtype
    strides = k_order_strides([view_of(n) for n in inputs if n.memory is not None], value.shape)
    memory = device_of(inputs).allocate(value.size * dtype.itemsize)
    return leaf(memory, value.shape, strides, 0, dtype)


def _run(
    cache: KernelCache,
    value: Node,
    monoid: Monoid,
    axis: int,
    target: Node,
    positions: Node | None,
) -> None:
    if target.size:
        operands = collect_operands(value)
        strides = (target.strides, *operands.strides(len(value.shape)))
        lines = line_space(value.shape, axis, strides)
        plan = scan_plan(
            lines,
            value.shape[axis],
            target.shape[axis],
            operands.kinds("strided"),
            positions is not None,
            cache.policies.elementwise,
        )
        key = ("scan", value.sig, operands.pattern, monoid.code, plan)
        kernel = cache.kernel_for(key, scan_source, plan, monoid, value, operands.nodes, cache.capabilities)
        _launch(cache, kernel, plan, lines, value, operands, target, axis, positions).run()
    _complete(cache.device, value, target)


def _complete(device: Device, value: Node, target: Node) -> None:
    """Wait for a scan that reads or writes memory of the user's."""
    assert target.memory is not None
    if value.flags & EAGER or target.memory.shared:
        device.synchronize()


def _launch(
    cache: KernelCache,
    kernel: Any,
    plan: ScanPlan,
    lines: Lines,
    value: Node,
    operands: Operands,
    target: Node,
    axis: int,
    positions: Node | None,
) -> Launch:
    values = line_arguments(lines, operands, target, value.shape[axis])
    blocks = line_blocks(lines.kept, plan.block)
    units = blocks
    if positions is not None:
        assert positions.memory is not None
        assert positions.offset == 0
        units *= positions.size
        values |= {"at": positions.memory.buffer, "segments": positions.size}
    args = kernel.arguments(units=units, blocks=blocks, **values)
    nbytes = operands.nbytes + target.size * target.dtype.itemsize
    policy = plan.policy
    return Launch(
        kernel,
        (groups(units, nbytes, cache.units, policy),),
        (policy.work_group,),
        args,
        nbytes <= policy.inline_bytes,
        nbytes,
    )
