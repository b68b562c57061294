"""Launches of joins, made and run at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from clarray._engine.algorithms.join.plan import join_plan, together
from clarray._engine.algorithms.join.source import join_source
from clarray._engine.expr.node import Node, memory_of, replanned
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.runtime import Device


@replanned
def join(parts: Sequence[Node], rows: int, target: Node) -> None:
    """Write rows that are put together from rows of several arrays.

    Parameters
    ----------
    parts : sequence of Node
        Contiguous leaves of one dtype, each of `rows` rows of at least one element.
    rows : int
        At least 1.
    target : Node
        A contiguous leaf of that dtype, in memory that nobody else has.
    """
    memory = target.memory
    assert memory is not None
    device = memory.device
    with device.lock:
        cache = kernel_cache_of(device)
        # in launches of equally many arrays, so that few kernels are made
        launches = -(-len(parts) // cache.policies.join.most)
        pitch = target.size // rows
        at = 0
        for number in range(launches):
            some = parts[number * len(parts) // launches : (number + 1) * len(parts) // launches]
            at += _launch(cache, some, rows, target, pitch, at)
        if any(part.memory is not None and part.memory.shared for part in parts):
            device.synchronize()


def is_worth_joining(device: Device, rows: int, lengths: Sequence[int], itemsize: int) -> bool:
    """Whether the parts of an array, `rows` runs of `lengths` elements, are better written in one launch."""
    return together(rows, lengths, itemsize, kernel_cache_of(device).policies.join)


def _launch(cache: KernelCache, parts: Sequence[Node], rows: int, target: Node, pitch: int, at: int) -> int:
    """Write some of the columns; gives how many."""
    ends = list(accumulate(part.size // rows for part in parts))
    # arrays of no elements make the number of arrays a power of two
    padded = [*parts, *[parts[-1]] * ((1 << (len(parts) - 1).bit_length()) - len(parts))]
    ends += [ends[-1]] * (len(padded) - len(parts))
    policy, itemsize = cache.policies.elementwise, target.dtype.itemsize
    plan = join_plan(rows, ends, pitch, target.offset + at, target.size, itemsize, cache.policies)
    kernel = cache.kernel_for(plan, join_source, plan, cache.capabilities)
    joined: list[Any] = []
    for part in padded:
        joined += [memory_of(part).buffer, part.offset]
    place = {"yp": memory_of(target).buffer, "yo": target.offset + at}
    args = kernel.arguments(parts=joined, rows=rows, pitch=pitch, e=ends, **place)
    size = rows * ends[-1]
    nbytes = 2 * size * itemsize
    units = size if policy.chunked else -(-size // plan.vector)
    count = groups(units, nbytes, cache.units, policy)
    Launch(kernel, (count,), (policy.work_group,), args, nbytes <= policy.inline_bytes, nbytes).run()
    return ends[-1]
