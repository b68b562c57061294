"""Launches of parallel scans: one pass where lines are whole or work-groups see each other, else three."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clarray._engine.algorithms.scan.plan import (
    COLUMNS,
    LOOKBACK,
    SPLIT,
    Lines,
    ParallelPlan,
    Partition,
    is_beside,
    line_space,
    parallel_plan,
    partition,
    single_pass,
    tile_state_words,
)
from clarray._engine.algorithms.scan.plan_lookback import MOST
from clarray._engine.algorithms.scan.source import held_bytes, parallel_source, state_dtypes, state_words
from clarray._engine.expr.node import Node, contiguous_leaf, index
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, collect_operands
from clarray._engine.ops.monoids import Monoid, fold_monoid, widened_monoid
from clarray._engine.runtime import Device, Kernel, Memory
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.runtime.steps import LaunchEpoch

_INT64 = np.dtype(np.int64)
_LAST_EPOCH = 2**32 - 1
_MOST_GROUPS = 1 << 20
_TICKETS = 2**31


def run_parallel(
    cache: KernelCache, value: Node, monoid: Monoid, axis: int, target: Node, lookback: bool | None = None
) -> None:
    """Scan `value`, whose inputs are memory, into the leaf `target`.

    Parameters
    ----------
    lookback : bool, optional
        Whether a single pass is allowed; by default where the policy says so, the device has passed
        a test, and no input is overwritten: a work-group that gives up waiting reads them again.
    """
    operands = collect_operands(value)
    strides = (target.strides, *operands.strides(len(value.shape)))
    lines = line_space(value.shape, axis, strides)
    length = value.shape[axis]
    offsets = (target.offset + lines.offsets[0], *operands.shifted_offsets(lines.offsets[1:]))
    loose = tuple([o * n.dtype.itemsize % 64 for o, n in zip(offsets, (target, *operands.non_constants), strict=True)])
    inputs_kept = all(n.memory is not target.memory for n in operands.non_constants)
    if lookback is None:
        lookback = inputs_kept and is_trusted(cache)
    kinds = operands.kinds("")
    key = ("scan", value.sig, operands.pattern, kinds, monoid.code, lines, length, loose, lookback)
    plan, way, kernels, monoid = cache.value_for(
        key, _prepare, cache, value, monoid, operands, kinds, lines, length, offsets, lookback
    )
    _launch_all(cache, kernels, plan, way, lines, operands, target, monoid, length)


def _prepare(
    cache: KernelCache,
    value: Node,
    monoid: Monoid,
    operands: Operands,
    kinds: tuple[str, ...],
    lines: Lines,
    length: int,
    offsets: tuple[int, ...],
    lookback: bool,
) -> tuple[ParallelPlan, Partition, dict[str, Kernel], Monoid]:
    """How lines that lie so are scanned, and by which kernels; the operation may be one in a wider dtype."""
    dtypes = [monoid.out_dtype, *(n.dtype for n in operands.non_constants), *operands.dtypes(value)]
    policy = cache.policies.scan
    if policy.widen and cache.capabilities.fp64 and not is_beside(lines, length, policy.paired_lines):
        monoid = widened_monoid(monoid)
    plan = parallel_plan(lines, length, kinds, dtypes, offsets, not monoid.has_first_flag, held_bytes(monoid), policy)
    way = partition(plan, lines.kept, length, cache.units, lookback)
    if way.mode == LOOKBACK and way.units >= _TICKETS:
        way = partition(plan, lines.kept, length, cache.units, False)
    if way.mode == LOOKBACK:
        plan = single_pass(plan)
        way = partition(plan, lines.kept, length, cache.units, True)
    if not plan.policy.chunked or way.mode == LOOKBACK:
        plan = replace(plan, mode=way.mode)
    key = ("scan source", value.sig, operands.pattern, monoid.code, plan)
    kernels = cache.kernels_for(key, parallel_source, plan, monoid, value, operands.nodes, cache.capabilities)
    return plan, way, kernels, monoid


def _launch_all(
    cache: KernelCache,
    kernels: dict[str, Kernel],
    plan: ParallelPlan,
    way: Partition,
    lines: Lines,
    operands: Operands,
    target: Node,
    monoid: Monoid,
    length: int,
) -> None:
    assert target.memory is not None
    place = line_arguments(lines, operands, target, length)
    read = operands.nbytes
    nbytes = read + target.size * target.dtype.itemsize
    policy = plan.policy
    local = (plan.work_group,)
    if way.mode == LOOKBACK:
        tile_state = tile_state_of(cache)
        words, region = tile_state_words(plan, lines.kept, way.parts, state_words(monoid))
        memory, epoch = tile_state.next(cache.device, words)
        kernel = kernels["scan_lookback"]
        args = kernel.arguments(
            units=way.units, tile_state=memory.buffer, epoch=epoch, tiles=way.parts, region=region, **place
        )
        together = min(way.units, cache.units) if policy.chunked else way.units
        Launch(kernel, (together,), local, args, False, nbytes, memory).run()
        return
    count = target.size // length
    counts = {"units": way.units, "lines": count, "parts": way.parts, "length": way.length}
    inline = nbytes <= policy.inline_bytes
    most = cache.units * policy.groups_per_unit if policy.chunked else _MOST_GROUPS
    groups = (min(way.units, most),)
    kept: list[Memory] = []
    buffers = [target.memory.buffer for _ in monoid.components]  # not touched where lines are whole
    if way.mode == SPLIT:
        kept = [cache.device.allocate(count * way.parts * d.itemsize) for d in state_dtypes(monoid)]
        buffers = [m.buffer for m in kept]
        args = kernels["scan_reduce"].arguments(states=buffers, **counts, **place)
        Launch(kernels["scan_reduce"], groups, local, args, inline, read, kept).run()
        if not policy.chunked:
            side = plan.work_group if plan.form == COLUMNS else 1
            carriers = (min(-(-count // side), _MOST_GROUPS),)
            args = kernels["scan_carry"].arguments(states=buffers, lines=count, parts=way.parts)
            Launch(kernels["scan_carry"], carriers, local, args, inline, 0, kept).run()
    args = kernels["scan_finish"].arguments(states=buffers, **counts, **place)
    Launch(kernels["scan_finish"], groups, local, args, inline, nbytes, kept).run()


def line_arguments(lines: Lines, operands: Operands, target: Node, length: int) -> dict[str, Any]:
    """Return the arguments that place operands, with the extents and strides of their lines, by their names."""
    assert target.memory is not None
    found = {"inputs": operands.arguments(lines.offsets[1:]), "yp": target.memory.buffer}
    found |= {"yo": target.offset + lines.offsets[0], "n": length, "k": lines.kept[::-1]}
    for name, step, strides in zip(("y", *operands.names), lines.steps, lines.strides, strict=True):
        found[f"{name}s"] = step
        found[f"{name}k"] = strides[::-1]
    return found


class TileState:
    """Memory in which work-groups of one launch tell each other; the launch's number says what is new."""

    def __init__(self) -> None:
        self.memory: Memory | None = None
        self.words = 0
        self.epoch = 0

    def next(self, device: Device, words: int) -> tuple[Memory, LaunchEpoch]:
        """The memory, of at least so many words of 64 bits, and the number of the next launch."""
        if self.memory is None or words > self.words or self.epoch == _LAST_EPOCH:
            abort_capture()  # the memory outlives the call
            self.words = max(words, 2 * self.words, 1 << 12)
            self.memory = device.allocate(8 * self.words)
            device.fill_zero(self.memory)
            self.epoch = 0
        self.epoch += 1
        number = LaunchEpoch(self.epoch)
        number.next = partial(self.next, device, words)
        return self.memory, number


def tile_state_of(cache: KernelCache) -> TileState:
    """The tile states of a device."""
    return cache.value_for(TileState, TileState)


_trusted: dict[tuple[Device, str], bool] = {}


def is_trusted(cache: KernelCache) -> bool:
    """Whether single-pass scans work on this device: tried once in a process.

    The trial cannot hang: a work-group that waits too long gives up, says so, and reads what is
    before it itself. It counts as failed then, as it does with a wrong result. On a CPU, whose
    work-groups run on threads of the system, nothing is tried.
    """
    kind = cache.policies.scan.lookback
    if not kind or cache.policies.scan.chunked:
        return bool(kind)
    key = (cache.device, kind)
    found = _trusted.get(key)
    if found is None:
        found = _trusted[key] = _passes(cache)
    return found


def _passes(cache: KernelCache) -> bool:
    policy = cache.policies.scan
    vector = max(1, min(policy.max_width, policy.vector_bytes // 8))
    tile = (policy.single_group or policy.work_group) * (policy.single_loads or policy.loads) * vector
    size = tile * (MOST + 2) * MOST + 1
    value = index((size,), (1,), _INT64)
    target = contiguous_leaf(cache.device.allocate(8 * size), (size,), _INT64)
    try:
        run_parallel(cache, value, fold_monoid(np.add, _INT64), 0, target, True)
    except RuntimeError:
        return False
    found = np.empty(size, np.int64)
    head = np.empty(2, np.uint64)
    tile_state = tile_state_of(cache)
    assert target.memory is not None
    if tile_state.memory is None:  # a device so small that no line is cut
        return False
    cache.device.read(target.memory, 0, found)
    cache.device.read(tile_state.memory, 0, head)
    gave_up = int(head[1]) & 0xFFFFFFFF == tile_state.epoch
    return not gave_up and bool((found == np.arange(size).cumsum()).all())


__all__ = ["TileState", "is_trusted", "line_arguments", "run_parallel", "tile_state_of"]
