"""Tuning of radix sort: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SortPolicy:
    """Shape of a radix sort.

    Parameters
    ----------
    chunked : bool
        Whether a work-item takes a contiguous chunk or a whole line (CPU), or a work-group takes tiles
        of neighbouring elements (GPU).
    groups_per_unit : int
        Work-groups per compute unit (chunked only).
    chunk_bytes : int
        A launch uses no more work-groups than gives each this many bytes.
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, where the device can.
    line : int
        Lines of up to this many elements are sorted by one work-item where there are several; single
        ones of a sixteenth of that.
    short : int
        So few elements are sorted by counting, for each, those that come before it.
    cell_bits : int
        A sort of keys counts them in 2 to this power parts of their range.
    bucket : int
        Keys that are sorted by one work-item after the first split.
    most_buckets : int
        Most buckets of one split.
    known : int
        So few different keys are counted by looking them up (chunked only); at most 256.
    probe : int
        Keys that tell how many different ones to expect (chunked only).
    most_lines : int
        So many long lines are sorted one after the other; more at once, by their keys and then by lines (tiles only).
    selected, places, parted : int
        Elements of a line from which on places of its order, so many at most, are found by counting its keys, not by
        sorting it; and from which on it is partitioned that way.
    few : int
        Elements of those that are left then which are sorted sooner than they are counted again.
    digit_bits : int
        Bits of a key that a pass takes (chunked: of an argsort); work-groups have a work-item for
        each value of a digit.
    work_group : int
        Work-items per work-group (tiles only).
    items, pair_items, small_items : int
        Elements of four bytes that a work-item takes: of keys, of keys with positions, and of either
        in lines of fewer than `small` elements (tiles only).
    small : int
        So many elements fill the device with large tiles.
    lanes : int
        Neighbouring work-items that look for equal digits together; a warp where there are warps.
    match : str
        How they do so: ``'ptx'`` by an instruction, ``'local'`` by way of local memory.
    look_back : str
        How the work-groups of a pass see each other's counts: ``''`` for not at all, so that the keys
        are read twice; ``'ptx'`` by relaxed loads and stores of the device; ``'volatile'`` for
        devices in whose memory those are the same.
    apart : bool
        Whether a tile's counters keep their place in local memory beside its keys, where both fit: keys
        then go to their rank at once.
    spins : int
        Looks for another work-group's count before a work-group counts for itself.
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

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
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
