"""Tuning of radix sorts: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SortPolicy:
    """The tuning of radix sorts.

    Parameters
    ----------
    chunked : bool
        Whether a work-item sorts a contiguous chunk or a whole line (CPU). Otherwise a work-group sorts tiles of
        neighbouring elements (GPU).
    groups_per_unit : int
        Work-groups per compute unit (chunked only).
    chunk_bytes : int
        Smallest number of bytes per work-group of a launch.
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, if the device allows it.
    line : int
        Largest number of elements of a line that one work-item sorts if there are several lines. A single line may
        have a sixteenth of it.
    short : int
        Largest number of elements that are sorted by counting the smaller elements for each element.
    cell_bits : int
        Log 2 of the number of cells into which a sort of keys divides their range.
    bucket : int
        Keys per bucket of the first split. One work-item sorts a bucket.
    most_buckets : int
        Largest number of buckets of a split.
    known : int
        Largest number of distinct keys that are sorted by counting, at most 256 (chunked only).
    probe : int
        Keys in the sample that estimates the number of distinct keys (chunked only).
    most_lines : int
        Largest number of long lines that are sorted separately. More lines are sorted at once, by their keys and then
        by the numbers of lines (tiles only).
    selected, places, parted : int
        Smallest number of elements for a selection by counting instead of a sort, the largest number of positions to
        select, and the smallest number of elements for a partition by counting.
    few : int
        Largest number of candidates of a selection that are sorted instead of counted again.
    digit_bits : int
        Bits of a key per pass (chunked: of an argsort). A work-group has at least one work-item per value of a digit.
    work_group : int
        Work-items per work-group (tiles only).
    items, pair_items, small_items : int
        Elements of four bytes per work-item, for keys, for keys with positions, and for both in lines of fewer than
        `small` elements (tiles only).
    small : int
        Number of elements that fill the device with large tiles.
    lanes : int
        Neighbouring work-items that match equal digits together: a warp if the device has warps.
    match : str
        The matching of digits: ``'ptx'`` by an instruction, ``'local'`` through local memory.
    look_back : str
        Memory accesses of a look-back: ``'ptx'`` for relaxed loads and stores at device scope, or ``'volatile'`` for
        devices on which volatile accesses are equivalent. ``''``: no look-back, so that keys are read twice.
    apart : bool
        Whether the counters of a tile have local memory of their own if it fits. Then keys move to their rank in one
        step.
    spins : int
        Reads of a count of another work-group before a work-group counts itself.
    """

    chunked: bool
    groups_per_unit: int
    chunk_bytes: int
    inline_bytes: int
    line: int
    short: int
    cell_bits: int
    bucket: int
    most_buckets: int
    selected: int
    places: int
    parted: int
    few: int
    digit_bits: int
    known: int = 128
    probe: int = 1024
    most_lines: int = 16
    work_group: int = 1
    items: int = 1
    pair_items: int = 1
    small_items: int = 1
    small: int = 0
    lanes: int = 1
    match: str = "local"
    look_back: str = ""
    apart: bool = True
    spins: int = 1 << 16


# Two cores of an EPYC, PoCL 3.0, 2^22 float32 / int32: 9.2 / 10.6 ms; buckets of 2048 to 8192: 13.6 / 15.8; cells of
# 2^16, 2^14, 2^13: 9.2 / 11.5, 11.3 / 10.1, 14.6 / 9.5. argsort 2^24: 73 ms. More in docs/engineering/sort.md.
CPU = SortPolicy(
    chunked=True,
    groups_per_unit=2,
    chunk_bytes=1 << 17,
    inline_bytes=1 << 17,
    line=1 << 18,
    short=64,
    cell_bits=15,
    bucket=16384,
    most_buckets=4096,
    # ms, sorted and selected, median and partition: 2^20 float32 7.2 and 1.6, 5.7 and 2.1, 2^22 12.3 and 3.8, 11.4 and
    # 7.6, 2^24 37 and 16, 38 and 35 (NumPy, 2^22: 25 and 3.2).
    selected=1 << 18,
    places=8,
    parted=1 << 18,
    few=1 << 17,
    digit_bits=11,
)
GPU = SortPolicy(
    chunked=False,
    groups_per_unit=8,
    chunk_bytes=1 << 14,
    inline_bytes=0,
    line=0,
    short=64,
    cell_bits=0,
    bucket=0,
    most_buckets=0,
    # ms on an H100 (2026-11-26), sorted and selected: median of float32, 2^24 0.48 and 0.65, 2^26 1.46 and 0.93, 2^28
    # 5.3 and 1.8 (CuPy 7.5); three percentiles 2^26 1.8 and 3.3, 2^28 5.7 and 5.4; partition 2^26 1.4 and 1.8, 2^28 5.2
    selected=1 << 25,
    places=2,
    parted=1 << 62,
    few=1 << 17,
    digit_bits=8,
    work_group=256,
    items=8,
    pair_items=8,
    small_items=4,
    small=1 << 20,
    lanes=32,
)
# H200, 2^28 float32, sort: 256 x 20, 24, 32: 5.65, 5.42, 5.15 ms; 384 x 16, 20, 24: 6.04, 5.45, 5.97; 512 x 16, 20:
# 6.27, 5.76. argsort: 256 x 16, 20: 8.79, 8.21; 512 x 12, 16: 8.73, 7.85. 2^20: 256 x 8, 12, 16: 123, 113, 108 us.
NVIDIA = replace(
    GPU, work_group=256, items=32, pair_items=20, small_items=16, small=1 << 22, match="ptx", look_back="ptx"
)

# A policy so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = SortPolicy(
    chunked=True,
    groups_per_unit=3,
    chunk_bytes=16,
    inline_bytes=0,
    line=16,
    short=4,
    cell_bits=4,
    bucket=6,
    most_buckets=16,
    selected=8,
    places=4,
    parted=8,
    few=4,
    digit_bits=3,
)
TINY_GPU = replace(TINY_CPU, chunked=False, groups_per_unit=2, work_group=8, items=2, pair_items=2, lanes=4, small=100)
TINY_FENCED = replace(TINY_GPU, look_back="volatile", spins=2, apart=False)
