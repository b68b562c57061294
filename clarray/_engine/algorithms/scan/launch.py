"""Run scans along an axis, and reductions of segments, eagerly.

A pending operand is fused into the scan, but the result is always materialized. Associative operations are scanned in
parallel. Other operations use the sequential reference, which is also the oracle in tests of the parallel scan.
"""

from __future__ import annotations

from clarray._engine.algorithms.scan.launch_parallel import line_arguments, run_parallel
from clarray._engine.algorithms.scan.plan import Lines, ScanPlan, line_blocks, line_space, scan_plan
from clarray._engine.algorithms.scan.source import scan_source
from clarray._engine.evaluate import materialize_shared
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, leaf, replanned
from clarray._engine.expr.overlap import k_order_strides
from clarray._engine.expr.result_layout import view_of
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.ops.monoids import Monoid, scan_monoid
from clarray._engine.runtime import Device, Kernel
from clarray._engine.writing import flush_readers, overlaps

__all__ = ["reduce_segments", "scan"]


@replanned
def scan(value: Node, monoid: Monoid, axis: int, target: Node | None = None, *, sequential: bool = False) -> Node:
    """Accumulate the elements along an axis, as ``ufunc.accumulate`` does.

    Parameters
    ----------
    value : Node
        The operand, of at least one axis.
    target : Node, optional
        A leaf of the result's dtype and shape. Its pending readers are evaluated first. It is written unless it
        overlaps an input.
    sequential : bool
        Whether to use the sequential reference for an associative operation.

    Returns
    -------
    Node
        `target`, or a new leaf if there is no target or it overlaps an input.
    """
    device = device_of(value, *([target] if target is not None else []))
    with device.lock:
        if target is not None:
            assert target.memory is not None
            flush_readers(target.memory)
        materialize_shared(value)
        if target is None or any(overlaps(n, target) for n in inputs_of(value)):
            target = _new_leaf(value, monoid)
        if monoid.associative and not sequential:
            if target.size:
                run_parallel(kernel_cache_of(device), value, scan_monoid(monoid), axis, target)
            _synchronize_shared(device, value, target)
        else:
            _run_sequential(kernel_cache_of(device), value, monoid, axis, target, None)
    return target


@replanned
def reduce_segments(value: Node, monoid: Monoid, axis: int, positions: Node) -> Node:
    """Combine the elements between positions along an axis, as ``ufunc.reduceat`` does.

    Parameters
    ----------
    value : Node
    positions : Node
        A contiguous int64 leaf of positions along the axis.

    Returns
    -------
    Node
        A new leaf.
    """
    device = device_of(value, positions)
    with device.lock:
        materialize_shared(value)
        shape = (*value.shape[:axis], positions.size, *value.shape[axis + 1 :])
        size = positions.size
        for extent in value.shape[:axis] + value.shape[axis + 1 :]:
            size *= extent
        memory = device.allocate(size * monoid.out_dtype.itemsize)
        target = contiguous_leaf(memory, shape, monoid.out_dtype)
        _run_sequential(kernel_cache_of(device), value, monoid, axis, target, positions)
    return target


def _new_leaf(value: Node, monoid: Monoid) -> Node:
    """Allocate a result of the value's shape, in NumPy's memory order."""
    inputs = inputs_of(value)
    dtype = monoid.out_dtype
    strides = k_order_strides([view_of(n) for n in inputs if n.memory is not None], value.shape)
    memory = device_of(value).allocate(value.size * dtype.itemsize)
    return leaf(memory, value.shape, strides, 0, dtype)


def _run_sequential(
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
            target.shape[axis],
            operands.kinds("strided"),
            positions is not None,
            cache.policies.elementwise,
        )
        key = ("scan", operands.signature, monoid.code, plan)
        kernel = cache.kernel_for(key, scan_source, plan, monoid, value, operands.nodes, cache.capabilities)
        _launch(cache, kernel, plan, lines, operands, target, positions).run()
    _synchronize_shared(cache.device, value, target)


def _synchronize_shared(device: Device, value: Node, target: Node) -> None:
    """Wait for a scan that reads or writes memory that is shared with the user."""
    assert target.memory is not None
    if value.flags & EAGER or target.memory.shared:
        device.synchronize()


def _launch(
    cache: KernelCache,
    kernel: Kernel,
    plan: ScanPlan,
    lines: Lines,
    operands: Operands,
    target: Node,
    positions: Node | None,
) -> Launch:
    values = line_arguments(lines, operands, target)
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
