"""The distinct ones of very many values by a bitmap: launched, and their number waited for."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.unique.plan_bitmap import SAMPLE, BitmapPlan, bitmap_plan, in_runs
from clarray._engine.algorithms.unique.source_bitmap import bitmap_source
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node, contiguous_leaf, replanned
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.runtime import Memory


@replanned
def distinct_by_bitmap(value: Node) -> Node | None:
    """The distinct values in order, all NaN as one; None where that does not pay, or has no room.

    Parameters
    ----------
    value : Node
        Contiguous, once it is computed.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        cache = kernel_cache_of(device)
        plan = bitmap_plan(value.dtype, value.size, cache.policies, cache.capabilities.local_bytes)
        if plan is None:
            return None
        leaf = evaluate(value)
        if not leaf.contiguous or _in_runs(leaf):
            return None
        try:
            return _run(cache, plan, leaf)
        except MemoryError:
            return None


def _in_runs(leaf: Node) -> bool:
    """Whether the values come densely in order, as far as a few in the middle tell."""
    sample = np.empty(min(SAMPLE, leaf.size), leaf.dtype)
    assert leaf.memory is not None
    first = leaf.offset + (leaf.size - len(sample)) // 2
    leaf.memory.device.read(leaf.memory, first * leaf.dtype.itemsize, sample)
    return leaf.size >= SAMPLE and in_runs(sample)


def _run(cache: KernelCache, plan: BitmapPlan, leaf: Node) -> Node:
    kernels = cache.kernels_for(plan, bitmap_source, plan, cache.capabilities)
    device, size = cache.device, leaf.size
    words = 1 << (plan.bits - 5)
    tally, tally_next = device.allocate(4 * 256), device.allocate(4 << 16)
    keys, other = device.allocate(4 * size), device.allocate(4 * size)
    bitmap = device.allocate(4 * words)
    assert leaf.memory is not None

    def launch(name: str, groups: int, nbytes: int, **values: object) -> None:
        args = kernels[name].arguments(**values)
        Launch(kernels[name], (groups,), (plan.work_group,), args, False, nbytes).run()

    policy = cache.policies.reduce
    filling = cache.units * policy.groups_per_unit
    tiles = -(-size // (plan.work_group * plan.items))
    chunks = words // plan.chunk
    device.fill_zero(tally)
    device.fill_zero(tally_next)
    launch("bitmap_clear", filling, 4 * words, map=bitmap.buffer, n=words // 4)
    place = {"x": leaf.memory.buffer, "xo": leaf.offset, "n": size}
    launch("bitmap_tally", min(filling, tiles), 4 * size, found=tally.buffer, **place)
    launch("bitmap_starts", 1, 2048, ends=tally.buffer, found=tally.buffer)
    launch("bitmap_split", tiles, 8 * size, places=tally.buffer, keys=keys.buffer, **place)
    place = {"x": keys.buffer, "xo": 0, "n": size}
    launch("bitmap_next_tally", tiles, 4 * size, found=tally_next.buffer, **place)
    launch("bitmap_starts", 256, 8 << 16, ends=tally.buffer, found=tally_next.buffer)
    launch("bitmap_next_split", tiles, 8 * size, places=tally_next.buffer, keys=other.buffer, **place)
    launch("bitmap_set", tiles, 4 * (size + words), keys=other.buffer, n=size, map=bitmap.buffer)
    counts = device.allocate(4 * chunks)
    launch("bitmap_count", chunks, 4 * words, map=bitmap.buffer, found=counts.buffer)
    total, starts = _starts(cache, counts, chunks)
    del keys, other  # their memory may serve for the result
    out = device.allocate(4 * total)
    launch("bitmap_write", chunks, 4 * (words + total), map=bitmap.buffer, starts=starts.buffer, y=out.buffer)
    return contiguous_leaf(out, (total,), leaf.dtype)


def _starts(cache: KernelCache, counts: Memory, chunks: int) -> tuple[int, Memory]:
    """How many bits are set, and before each chunk."""
    found = np.empty(chunks, np.uint32)
    cache.device.read(counts, 0, found)
    ends = np.cumsum(found, dtype=np.int64)
    return int(ends[-1]), cache.device.upload(ends - found)
