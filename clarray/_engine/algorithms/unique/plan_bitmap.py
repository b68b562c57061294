"""Plan a bitmap of all keys of 32 bits, which gives the distinct values of very large arrays without a sort.

A bit per possible key takes 512 MiB. Setting bits at random costs an atomic operation on global memory each. So two
passes first split the keys by their highest sixteen bits, eight at a time, and work-groups set bits in local memory.
The splits need not be stable: a work-group reserves output positions for its keys by atomic additions. So two splits
and a pass replace the four stable passes of a sort.

An H200, 2^28 keys, setting bits: 16 ms without a split, which is more than twice a sort, 9 ms after a split by eight
bits, 3 ms after a split by sixteen.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies

BITS = 32  # of a key; the bitmap has 2^BITS bits for any data, so tests use fewer
MOST = 1 << 31  # elements whose counts fit in 32 bits
SAMPLE = 64  # neighbouring elements in the sample


@dataclass(frozen=True, slots=True)
class BitmapPlan:
    """The specialization of the source.

    Parameters
    ----------
    dtype : dtype
        int32, uint32 or float32.
    bits : int
        Keys are below 2^bits.
    items : int
        Keys per work-item of the split.
    chunk : int
        Words of the bitmap per work-group of the passes that count and write.
    window : int
        Words of the bitmap in the local memory of a work-group.
    work_group : int
    """

    dtype: np.dtype
    bits: int
    items: int
    chunk: int
    window: int
    work_group: int


def bitmap_plan(dtype: np.dtype, size: int, policies: Policies, local_bytes: int) -> BitmapPlan | None:
    """Return the plan for `size` values, or None if a sort is faster."""
    policy = policies.unique
    if policies.reduce.chunked or dtype.kind not in "iuf" or dtype.itemsize != 4:
        return None
    if not policy.bitmap_from <= size < MOST:
        return None
    work_group = policies.reduce.work_group
    words = local_bytes // 4 - 1024  # of local memory, without the counters per digit
    items = min(policy.bitmap_items, 8192 // work_group, words // work_group)
    if items < 1:
        return None
    chunk = max(work_group, min(policy.bitmap_chunk, 1 << (BITS - 10)))
    return BitmapPlan(dtype, BITS, items, chunk, min(policy.bitmap_window, words), work_group)


def has_runs(sample: np.ndarray) -> bool:
    """Return whether neighbours set bits of the same words, so that their atomic operations would collide."""
    return len(np.unique(sample.view(np.uint32) >> 5)) * 2 < len(sample)
