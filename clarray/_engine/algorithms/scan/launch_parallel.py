"""Launch parallel scans: one launch for whole lines or with look-back, else two or three launches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.scan.plan import (
    COLUMNS,
    LOOKBACK,
    SPLIT,
    Lines,
    ParallelPlan,
    ParallelProblem,
    Partition,
    choose_partition,
    is_columnwise,
    line_space,
    parallel_plan,
    single_pass,
    tile_state_words,
)
from clarray._engine.algorithms.scan.plan_lookback import MAX_BLOCK
from clarray._engine.algorithms.scan.source import local_element_bytes, parallel_source, state_dtypes, state_words
from clarray._engine.expr.node import Node, contiguous_leaf, index
from clarray._engine.launch.kernel_cache import KernelCache, Launch, TileState
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.ops.monoids import Monoid, fold_monoid, widened_monoid
from clarray._engine.runtime import Device, Kernel, Memory

_INT64 = np.dtype(np.int64)
_LAST_EPOCH = 2**32 - 1
_MAX_GROUPS = 1 << 20
_MAX_TICKETS = 2**31


class PreparedScan(NamedTuple):
    """The plan and the kernels of a scan. Its monoid may be a wider version of the requested operation."""

    plan: ParallelPlan
    partition: Partition
    kernels: dict[str, Kernel]
    monoid: Monoid


def run_parallel(
    cache: KernelCache, value: Node, monoid: Monoid, axis: int, target: Node, lookback: bool | None = None
) -> None:
    """Scan `value`, whose inputs are materialized, into the leaf `target`.

    Parameters
    ----------
    lookback : bool, optional
        Whether a single pass is allowed. By default, it is if the policy enables it, the device has passed its
        self-test, and the target overwrites no input. A work-group that gives up waiting reads the inputs again.
    """
    operands = collect_operands(value)
    strides = (target.strides, *operands.strides(len(value.shape)))
    lines = line_space(value.shape, axis, strides)
    offsets = (target.offset + lines.offsets[0], *operands.shifted_offsets(lines.offsets[1:]))
    misalignments = tuple(
        [o * n.dtype.itemsize % 64 for o, n in zip(offsets, (target, *operands.non_constants), strict=True)]
    )
    inputs_kept = all(n.memory is not target.memory for n in operands.non_constants)
    if lookback is None:
        lookback = inputs_kept and passes_self_test(cache)
    key = ("scan", operands.signature, operands.kinds(""), monoid.code, lines, misalignments, lookback)
    prepared = cache.value_for(key, _prepare, cache, value, monoid, operands, lines, offsets, lookback)
    if prepared.partition.mode == LOOKBACK:
        _launch_single_pass(cache, prepared, lines, operands, target)
    else:
        _launch_passes(cache, prepared, lines, operands, target)


def _prepare(
    cache: KernelCache,
    value: Node,
    monoid: Monoid,
    operands: Operands,
    lines: Lines,
    offsets: tuple[int, ...],
    lookback: bool,
) -> PreparedScan:
    """Plan a scan and compile its kernels."""
    dtypes = [monoid.out_dtype, *(n.dtype for n in operands.non_constants), *operands.dtypes(value)]
    policy = cache.policies.scan
    if policy.widen and cache.capabilities.fp64 and not is_columnwise(lines, policy.paired_lines):
        monoid = widened_monoid(monoid)
    problem = ParallelProblem(
        lines, operands.kinds(""), dtypes, offsets, not monoid.has_first_flag, local_element_bytes(monoid)
    )
    plan = parallel_plan(problem, policy)
    partition = choose_partition(plan, lines.kept, lines.length, cache.units, lookback)
    if partition.mode == LOOKBACK and partition.units >= _MAX_TICKETS:
        partition = choose_partition(plan, lines.kept, lines.length, cache.units, False)
    if partition.mode == LOOKBACK:
        plan = single_pass(plan)
        partition = choose_partition(plan, lines.kept, lines.length, cache.units, True)
    if not plan.policy.chunked or partition.mode == LOOKBACK:
        plan = replace(plan, mode=partition.mode)
    key = ("scan source", operands.signature, monoid.code, plan)
    kernels = cache.kernels_for(key, parallel_source, plan, monoid, value, operands.nodes, cache.capabilities)
    return PreparedScan(plan, partition, kernels, monoid)


def _launch_single_pass(
    cache: KernelCache, prepared: PreparedScan, lines: Lines, operands: Operands, target: Node
) -> None:
    """Launch a scan with look-back: work-groups publish the states of their tiles to each other."""
    plan, partition, kernels, monoid = prepared
    operand_arguments = line_arguments(lines, operands, target)
    nbytes = operands.nbytes + target.size * target.dtype.itemsize
    words, region = tile_state_words(plan, lines.kept, partition.parts, state_words(monoid))
    memory, epoch = scan_tile_state(cache).next(cache.device, words)
    kernel = kernels["scan_lookback"]
    units, tiles = partition.units, partition.parts
    args = kernel.arguments(
        units=units, tile_state=memory.buffer, epoch=epoch, tiles=tiles, region=region, **operand_arguments
    )
    groups = min(units, cache.units) if plan.policy.chunked else units
    Launch(kernel, (groups,), (plan.work_group,), args, False, nbytes, memory).run()


def _launch_passes(cache: KernelCache, prepared: PreparedScan, lines: Lines, operands: Operands, target: Node) -> None:
    """Launch a scan of whole lines at once. For split lines, reduce and scan the states of the parts first."""
    assert target.memory is not None
    plan, partition, kernels, monoid = prepared
    operand_arguments = line_arguments(lines, operands, target)
    read = operands.nbytes
    nbytes = read + target.size * target.dtype.itemsize
    policy, local = plan.policy, (plan.work_group,)
    count, parts = target.size // lines.length, partition.parts
    counts = {"units": partition.units, "lines": count, "parts": parts, "length": partition.length}
    inline = nbytes <= policy.inline_bytes
    max_groups = cache.units * policy.groups_per_unit if policy.chunked else _MAX_GROUPS
    groups = (min(partition.units, max_groups),)
    states: list[Memory] = []
    buffers = [target.memory.buffer for _ in monoid.components]  # unused placeholders for whole lines
    if partition.mode == SPLIT:
        states = [cache.device.allocate(count * parts * d.itemsize) for d in state_dtypes(monoid)]
        buffers = [m.buffer for m in states]
        args = kernels["scan_reduce"].arguments(states=buffers, **counts, **operand_arguments)
        Launch(kernels["scan_reduce"], groups, local, args, inline, read, states).run()
        if not policy.chunked:
            lines_per_group = plan.work_group if plan.form == COLUMNS else 1
            carry_groups = (min(-(-count // lines_per_group), _MAX_GROUPS),)
            args = kernels["scan_carry"].arguments(states=buffers, lines=count, parts=parts)
            Launch(kernels["scan_carry"], carry_groups, local, args, inline, 0, states).run()
    args = kernels["scan_finish"].arguments(states=buffers, **counts, **operand_arguments)
    Launch(kernels["scan_finish"], groups, local, args, inline, nbytes, states).run()


def line_arguments(lines: Lines, operands: Operands, target: Node) -> dict[str, Any]:
    """Return the arguments for the buffers and offsets of operands and the extents and strides of lines, by name."""
    assert target.memory is not None
    arguments = {"inputs": operands.arguments(lines.offsets[1:]), "yp": target.memory.buffer}
    arguments |= {"yo": target.offset + lines.offsets[0], "n": lines.length, "k": lines.kept[::-1]}
    for name, step, strides in zip(("y", *operands.names), lines.steps, lines.strides, strict=True):
        arguments[f"{name}s"] = step
        arguments[f"{name}k"] = strides[::-1]
    return arguments


def scan_tile_state(cache: KernelCache) -> TileState:
    """Return the tile state of a device."""
    return cache.value_for("scan: tile state", TileState, _LAST_EPOCH)


_self_tests: dict[tuple[Device, str], bool] = {}


def passes_self_test(cache: KernelCache) -> bool:
    """Return whether single-pass scans work on this device. Test it once per process.

    The self-test cannot hang. A work-group that waits too long sets a flag and reads the elements before its tile
    itself. The test fails if the flag is set or a result is wrong. A CPU runs work-groups on threads of the operating
    system, which makes progress certain, so it needs no test.
    """
    kind = cache.policies.scan.lookback
    if not kind or cache.policies.scan.chunked:
        return bool(kind)
    key = (cache.device, kind)
    passed = _self_tests.get(key)
    if passed is None:
        passed = _self_tests[key] = _run_self_test(cache)
    return passed


def _run_self_test(cache: KernelCache) -> bool:
    policy = cache.policies.scan
    vector = max(1, min(policy.max_width, policy.vector_bytes // 8))
    tile = (policy.single_group or policy.work_group) * (policy.single_loads or policy.loads) * vector
    size = tile * (MAX_BLOCK + 2) * MAX_BLOCK + 1
    value = index((size,), (1,), _INT64)
    target = contiguous_leaf(cache.device.allocate(8 * size), (size,), _INT64)
    try:
        run_parallel(cache, value, fold_monoid(np.add, _INT64), 0, target, True)
    except RuntimeError:
        return False
    result = np.empty(size, np.int64)
    head = np.empty(2, np.uint64)
    tile_state = scan_tile_state(cache)
    assert target.memory is not None
    if tile_state.memory is None:  # the device has so few compute units that no line is split
        return False
    cache.device.read(target.memory, 0, result)
    cache.device.read(tile_state.memory, 0, head)
    gave_up = int(head[1]) & 0xFFFFFFFF == tile_state.epoch
    return not gave_up and bool((result == np.arange(size).cumsum()).all())


__all__ = ["line_arguments", "passes_self_test", "run_parallel", "scan_tile_state"]
