"""Tune the tables of distinct values: the policy and its values for each kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UniquePolicy:
    """Parameters of the tables of distinct values. The launches of their passes follow the policy of reductions.

    Parameters
    ----------
    range_slots : int
        Slots of a range table, for dtypes of more than 16 bits, a power of two.
    few_slots : int
        The same for counts in local memory (GPU), and for fewer elements than `few`.
    few : int
        Elements from which a table of `range_slots` is worth its clearing and reading.
    range_block : int
        Elements between two checks of the range by a work-item of a CPU.
    hash_from : int
        Elements from which a hash table is tried. A sort of fewer is as fast.
    hash_slots : int
        Slots of a hash table, a power of two.
    hash_limit : int
        Distinct values from which the pass ends early. Concurrent insertions may exceed it, by a vector's elements on
        a CPU and by a work-group's items on a GPU. Even then a slot must stay free, because it ends each search.
    bitmap_from : int
        Elements of four bytes from which a bitmap of 512 MiB is worth its clearing and reading (GPU).
    bitmap_items : int
        Keys per work-item of the splits.
    bitmap_window : int
        Words of the bitmap in the local memory of a work-group.
    bitmap_chunk : int
        Words of the bitmap per work-group of the passes that count and write.
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


# A table of 2^16 bytes stays in the second-level cache. Launches have little latency, so a hash table pays early.
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
# A table of 2^16 bits takes 8 KiB of local memory, a table of 2^12 counts 16 KiB. H200, 2^28 int32 in 0..999: 0.327 ms
# with 2^12 or 2^14 slots, 0.335 with 2^16. A sort of fewer than 2^22 elements
# is as fast as two more launches. H200, int32, ms, bitmap / sort and compaction: 2^26 2.7 / 1.8, 2^27 3.4 / 3.4,
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
