"""Run joins of contiguous arrays eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from clarray._engine.algorithms.join.plan import is_short_join, join_plan
from clarray._engine.algorithms.join.source import join_source
from clarray._engine.expr.node import Node, memory_of, replanned
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.runtime import Device


@replanned
def join(parts: Sequence[Node], rows: int, target: Node) -> None:
    """Concatenate the rows of several arrays.

    Parameters
    ----------
    parts : sequence of Node
        Contiguous leaves of one dtype, of `rows` rows of at least one element.
    rows : int
        Number of rows, at least 1.
    target : Node
        A contiguous leaf of that dtype, in new memory.
    """
    memory = target.memory
    assert memory is not None
    device = memory.device
    with device.lock:
        cache = kernel_cache_of(device)
        # launches of equal numbers of arrays, so that few kernels are compiled
        launches = -(-len(parts) // cache.policies.join.most)
        pitch = target.size // rows
        at = 0
        for number in range(launches):
            batch = parts[number * len(parts) // launches : (number + 1) * len(parts) // launches]
            at += _launch(cache, batch, rows, target, pitch, at)
        if any(part.memory is not None and part.memory.shared for part in parts):
            device.synchronize()


def is_worth_joining(device: Device, rows: int, lengths: Sequence[int], itemsize: int) -> bool:
    """Return whether one launch is faster than separate copies of parts with `rows` runs of `lengths` elements."""
    return is_short_join(rows, lengths, itemsize, kernel_cache_of(device).policies.join)


def _launch(cache: KernelCache, parts: Sequence[Node], rows: int, target: Node, pitch: int, at: int) -> int:
    """Write the columns of `parts` from column `at` on, and return their number."""
    ends = list(accumulate(part.size // rows for part in parts))
    # pad the number of arrays to a power of two with empty arrays
    padded = [*parts, *[parts[-1]] * ((1 << (len(parts) - 1).bit_length()) - len(parts))]
    ends += [ends[-1]] * (len(padded) - len(parts))
    policy, itemsize = cache.policies.elementwise, target.dtype.itemsize
    plan = join_plan(rows, ends, pitch, target.offset + at, target.size, itemsize, cache.policies)
    kernel = cache.kernel_for(plan, join_source, plan, cache.capabilities)
    joined: list[Any] = []
    for part in padded:
        joined += [memory_of(part).buffer, part.offset]
    output = {"yp": memory_of(target).buffer, "yo": target.offset + at}
    args = kernel.arguments(parts=joined, rows=rows, pitch=pitch, e=ends, **output)
    size = rows * ends[-1]
    nbytes = 2 * size * itemsize
    units = size if policy.chunked else -(-size // plan.vector)
    count = groups(units, nbytes, cache.units, policy)
    Launch(kernel, (count,), (policy.work_group,), args, nbytes <= policy.inline_bytes, nbytes).run()
    return ends[-1]
