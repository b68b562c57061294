"""Tuning of the tables that distinct values are found with: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UniquePolicy:
    """Which table finds the distinct values, and its size. The passes themselves are shaped as reductions are.

    Parameters
    ----------
    range_slots : int
        Slots of a table of a range, for dtypes of more than 16 bits; a power of two.
    few_slots : int
        The same where a table in local memory counts (GPU), or there are fewer elements than `few`.
    few : int
        Elements that are worth clearing and reading `range_slots`.
    range_block : int
        Elements that a work-item of a CPU takes before it looks whether the range is too large already.
    hash_from : int
        Elements from which on a hash table is tried; a sort of fewer takes no longer.
    hash_slots : int
        Slots of a hash table; a power of two.
    hash_limit : int
        Values in it that are too many. The work-items that have looked at the count before they add a value may go
        beyond it: a vector's elements on a CPU, a work-group on a GPU. Both must leave a slot free, which a search
        ends at.
    bitmap_from : int
        Elements of four bytes that are worth clearing and reading a bitmap of 512 MiB (GPU).
    bitmap_items : int
        Keys per work-item of the splits before it.
    bitmap_window : int
        Words of the bitmap that a work-group sets in local memory.
    bitmap_chunk : int
        Words of the bitmap per work-group that counts and writes.
    """

    range_slots: int
    few_slots: int
    few: int
    range_block: int
    hash_from: int
    hash_slots: int
    hash_limit: int
    bitmap_from: int
    bitmap_items: int
    bitmap_window: int
    bitmap_chunk: int


# A table of 2^16 bytes stays in the second-level cache. A launch waits for nothing, so that a hash table pays early.
CPU = UniquePolicy(
    range_slots=1 << 16,
    few_slots=1 << 12,
    few=1 << 17,
    range_block=4096,
    hash_from=1 << 13,
    hash_slots=2048,
    hash_limit=1024,
    bitmap_from=0,
    bitmap_items=0,
    bitmap_window=0,
    bitmap_chunk=0,
)
# A table of 2^16 bits takes 8 KiB of local memory, and one of 2^12 counts 16 KiB; H200, 2^28 int32 in 0..999: 0.327 ms
# with 2^12 or 2^14 slots, 0.335 with 2^16. A sort of fewer than 2^22 elements
# takes no longer than two more launches. H200, int32, ms, bitmap / sort and compaction: 2^26 2.7 / 1.8, 2^27 3.4 / 3.4,
# 2^28 4.7 / 6.3; keys per work-item of its splits (24: 24 KiB of local memory for 256 work-items), 2^28: 16 4.86,
# 24 4.67, 32 5.03; with 512 work-items 12 4.74, 16 4.75; with 1024 8 5.24. A window of 8192 words takes 32 KiB.
GPU = UniquePolicy(
    range_slots=1 << 16,
    few_slots=1 << 12,
    few=1 << 17,
    range_block=4096,
    hash_from=1 << 22,
    hash_slots=2048,
    hash_limit=1024,
    bitmap_from=1 << 28,
    bitmap_items=24,
    bitmap_window=8192,
    bitmap_chunk=8192,
)
