"""Launch the search for the distinct values of very large arrays by a bitmap."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.unique.plan_bitmap import SAMPLE, BitmapPlan, bitmap_plan, has_runs
from clarray._engine.algorithms.unique.source_bitmap import bitmap_source
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node, contiguous_leaf, replanned
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
from clarray._engine.runtime import Memory


@replanned
def distinct_by_bitmap(value: Node) -> Node | None:
    """Return the distinct values in order, with all NaN equal. Waits for their number.

    Parameters
    ----------
    value : Node
        An expression with a contiguous result.

    Returns
    -------
    Node or None
        A new leaf. None if a sort is faster, or the bitmap does not fit into memory.
    """
    device = device_of(value)
    with device.lock:
        cache = kernel_cache_of(device)
        plan = bitmap_plan(value.dtype, value.size, cache.policies, cache.capabilities.local_bytes)
        if plan is None:
            return None
        leaf = evaluate(value)
        if not leaf.contiguous or _has_runs(leaf):
            return None
        try:
            return _run(cache, plan, leaf)
        except MemoryError:
            return None


def _has_runs(leaf: Node) -> bool:
    """Return whether a sample of neighbours from the middle is dense and in order."""
    sample = np.empty(min(SAMPLE, leaf.size), leaf.dtype)
    assert leaf.memory is not None
    first = leaf.offset + (leaf.size - len(sample)) // 2
    leaf.memory.device.read(leaf.memory, first * leaf.dtype.itemsize, sample)
    return leaf.size >= SAMPLE and has_runs(sample)


def _run(cache: KernelCache, plan: BitmapPlan, leaf: Node) -> Node:
    kernels = cache.kernels_for(plan, bitmap_source, plan, cache.capabilities)
    device, size = cache.device, leaf.size
    words = 1 << (plan.bits - 5)
    counts, next_counts = device.allocate(4 * 256), device.allocate(4 << 16)
    keys, next_keys = device.allocate(4 * size), device.allocate(4 * size)
    bitmap = device.allocate(4 * words)
    assert leaf.memory is not None

    def launch(name: str, groups: int, nbytes: int, **values: object) -> None:
        args = kernels[name].arguments(**values)
        Launch(kernels[name], (groups,), (plan.work_group,), args, False, nbytes).run()

    policy = cache.policies.reduce
    resident = cache.units * policy.groups_per_unit
    tiles = -(-size // (plan.work_group * plan.items))
    chunks = words // plan.chunk
    device.fill_zero(counts)
    device.fill_zero(next_counts)
    launch("bitmap_clear", resident, 4 * words, map=bitmap.buffer, n=words // 4)
    source = {"x": leaf.memory.buffer, "xo": leaf.offset, "n": size}
    launch("bitmap_tally", min(resident, tiles), 4 * size, found=counts.buffer, **source)
    launch("bitmap_starts", 1, 2048, ends=counts.buffer, found=counts.buffer)
    launch("bitmap_split", tiles, 8 * size, places=counts.buffer, keys=keys.buffer, **source)
    source = {"x": keys.buffer, "xo": 0, "n": size}
    launch("bitmap_next_tally", tiles, 4 * size, found=next_counts.buffer, **source)
    launch("bitmap_starts", 256, 8 << 16, ends=counts.buffer, found=next_counts.buffer)
    launch("bitmap_next_split", tiles, 8 * size, places=next_counts.buffer, keys=next_keys.buffer, **source)
    launch("bitmap_set", tiles, 4 * (size + words), keys=next_keys.buffer, n=size, map=bitmap.buffer)
    bits = device.allocate(4 * chunks)
    launch("bitmap_count", chunks, 4 * words, map=bitmap.buffer, found=bits.buffer)
    total, starts = _exclusive_sum(cache, bits, chunks)
    del keys, next_keys  # the result may reuse their memory
    out = device.allocate(4 * total)
    launch("bitmap_write", chunks, 4 * (words + total), map=bitmap.buffer, starts=starts.buffer, y=out.buffer)
    return contiguous_leaf(out, (total,), leaf.dtype)


def _exclusive_sum(cache: KernelCache, bits: Memory, chunks: int) -> tuple[int, Memory]:
    """Return the number of set bits and its exclusive prefix sum over chunks."""
    counts = np.empty(chunks, np.uint32)
    cache.device.read(bits, 0, counts)
    ends = np.cumsum(counts, dtype=np.int64)
    return int(ends[-1]), cache.device.upload(ends - counts)
