"""The plan of a bitmap of all keys of 32 bits: the distinct ones of very many without a sort.

A bit per possible key is 512 MiB, and to set bits of it at random takes an atomic operation on memory
each: 16 ms for 2^28 keys on an H200, more than twice a sort. Split by their highest eight bits, so that those
handled at one time set bits of 2 MiB, they take 9 ms; by sixteen 3 ms, and far less when a work-group sets
them in local memory first. The two splits need not be stable: a work-group takes places for its keys by
atomic additions and need not know what others do. So two splits and a pass replace four stable ones.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies

BITS = 32  # of a key: all there are. Tests take less, as the bitmap has 2^BITS bits whatever the data
MOST = 1 << 31  # elements whose counts fit in 32 bits
SAMPLE = 64  # neighbours that are looked at


@dataclass(frozen=True, slots=True)
class BitmapPlan:
    """What the source is specialised on.

    Parameters
    ----------
    dtype : dtype
        int32, uint32 or float32.
    bits : int
        Keys are below 2^bits.
    items : int
        Keys per work-item of the split.
    chunk : int
        Words of the bitmap per work-group that counts and writes.
    window : int
        Words of the bitmap that a work-group sets in local memory.
    work_group : int
    """

    dtype: np.dtype
    bits: int
    items: int
    chunk: int
    window: int
    work_group: int


def bitmap_plan(dtype: np.dtype, size: int, policies: Policies, local_bytes: int) -> BitmapPlan | None:
    """The plan for so many values, or None where a bitmap does not pay."""
    policy = policies.unique
    if policies.reduce.chunked or dtype.kind not in "iuf" or dtype.itemsize != 4:
        return None
    if not policy.bitmap_from <= size < MOST:
        return None
    work_group = policies.reduce.work_group
    room = local_bytes // 4 - 1024  # words, beside what is kept per digit
    items = min(policy.bitmap_items, 8192 // work_group, room // work_group)
    if items < 1:
        return None
    chunk = max(work_group, min(policy.bitmap_chunk, 1 << (BITS - 10)))
    return BitmapPlan(dtype, BITS, items, chunk, min(policy.bitmap_window, room), work_group)


def in_runs(sample: np.ndarray) -> bool:
    """Whether neighbours set bits of the same words: their atomic operations would wait for each other."""
    return len(np.unique(sample.view(np.uint32) >> 5)) * 2 < len(sample)
