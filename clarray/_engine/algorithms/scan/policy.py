"""Tuning of scans along an axis: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPolicy:
    """The tuning of scans along an axis.

    Parameters
    ----------
    chunked : bool
        Whether a work-group has one work-item, which scans a part of a line or a strip of neighbouring lines in
        explicit vectors (CPU). Otherwise a work-group scans tiles (GPU).
    vector_bytes, max_width : int
        Bytes and elements of a vector or load of the widest dtype.
    work_group : int
        Largest number of work-items per work-group. Short lines use fewer.
    loads : int
        Vectors per work-item and tile.
    single_loads : int
        Vectors per work-item and tile in a single pass over long lines. 0: the same as `loads`.
    single_group : int
        Work-items per work-group in a single pass over long lines. 0: the same as `work_group`.
    local_bytes : int
        Largest local memory of a tile. Tiles of large elements have fewer loads (GPU).
    rows : int
        Rows that a work-item loads at once in the form of columns (GPU).
    strip : int
        Vectors of neighbouring lines that a work-item scans at once (CPU).
    groups_per_unit : int
        Work-groups per compute unit that fill the device.
    tile : int
        Elements that a work-item scans at a time in a single pass, so that they stay in its cache (CPU).
    min_part : int
        Smallest number of elements in a part of a line.
    stream_bytes : int
        Smallest output that is stored past the caches. 0: none.
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, if the device allows it.
    wave : int
        Work-items that run in lockstep and exchange values by PTX (32), or 1.
    lookback : str
        Memory accesses of a look-back: ``'ptx'`` or ``'volatile'``. ``''``: no look-back, so that split lines take
        three launches.
    tickets : bool
        Whether work-groups choose the tiles of a single pass in the order in which they start, instead of by group
        number. This affects waiting times, but no results.
    widen : bool
        Whether sums of float32 are carried as float64 if the device has it. Otherwise as pairs of float32.
    across : int
        Neighbouring lines in a tile of columns: one memory transaction of 4-byte elements (GPU).
    least_group : int
        Smallest number of work-items per work-group (GPU).
    paired_lines : int
        Number of neighbouring lines from which on sums are carried as pairs of float32 in spite of `widen`.
    pause : int
        Nanoseconds that a work-group sleeps before it reads the states of other work-groups (NVIDIA only).
    spins : int
        Reads of a state of another work-group before a work-group computes it itself.
    """

    chunked: bool
    vector_bytes: int
    max_width: int
    work_group: int
    loads: int
    rows: int
    strip: int
    groups_per_unit: int
    min_part: int
    stream_bytes: int
    inline_bytes: int
    wave: int = 1
    lookback: str = ""
    tile: int = 1 << 16
    single_loads: int = 0
    single_group: int = 0
    local_bytes: int = 20 << 10
    tickets: bool = True
    widen: bool = False
    paired_lines: int = 16
    across: int = 32
    least_group: int = 32
    pause: int = 0
    spins: int = 1 << 20


# AMD EPYC Zen 5, 2 cores, PoCL 3.0, 2^25 float32, NumPy 95.5 / 400 / 95.4 ms: cumsum 6.4 ms, axis 0 of 4096 x 8192 6.8,
# axis 1 4.9. In two passes instead of one 9.1; tiles of 2^17 or 2^15 8.7 and 9.0 (at vectors of 8: 8.9); of 2^13 10.3;
# vectors of 8 instead of 16 9.0, axis 1 6.5; float32 pairs instead of float64 18.5, but axis 0 6.8 instead of 9.1.
CPU = ScanPolicy(
    chunked=True,
    vector_bytes=64,
    max_width=16,
    work_group=1,
    loads=1,
    rows=1,
    strip=128,  # 64 and 256: the same
    groups_per_unit=8,  # 2 and 4: the same
    min_part=1 << 14,
    stream_bytes=1 << 24,
    inline_bytes=1 << 19,
    lookback="volatile",
    spins=1 << 24,
    widen=True,
)
# NVIDIA H200, driver 580.159.04, 2^28 float32, 2026-11-21: three launches, cumsum 0.93 ms, axis 0 1.08 ms, axis 1 (one
# launch) 0.587 ms.
GPU = ScanPolicy(
    chunked=False,
    vector_bytes=16,
    max_width=4,
    work_group=256,
    loads=4,
    rows=8,
    strip=1,
    groups_per_unit=8,
    min_part=1 << 12,
    stream_bytes=0,
    inline_bytes=0,
)
# The same in one launch, copy 0.525 ms: cumsum and cumsum of int32 to int64, by loads x work-items:
# 9 x 256 0.683 1.113; 12 x 192 0.676 1.086; 13 x 192 0.660 1.054; 11 x 224 0.726 1.070; 15 x 160 0.675 1.091;
# 17 x 128 0.671 1.074; 7 x 320 0.757 1.248. In another run 17 x 160 0.644 1.035; 13 x 192 0.661 1.038; 19 x 128 0.677
# 1.077; 15 x 192 0.697 1.099; 21 x 96 0.693 1.145. An even number of loads leaves gaps: 8 x 256 0.786 1.169, 10 x 256
# 0.761 1.223. Tiles by order of start instead of by number: + 0.018 + 0.050 (9 x 256). Pause of 0, 500, 1000,
# 2000, 3000 ns: 0.647 1.031, 0.631 0.989, 0.618 0.965, 0.612 0.942, 0.612 0.995. axis 0 of 16384 x 16384 0.596 with 32
# rows (8: 0.80, 16: 0.66, 24: 0.63; 512 work-items x 16: 0.79).
NVIDIA = replace(
    GPU,
    wave=32,
    lookback="ptx",
    tickets=False,
    single_loads=17,
    single_group=160,
    local_bytes=44 << 10,
    rows=32,
    pause=2000,
)

# A policy so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = ScanPolicy(
    chunked=True,
    vector_bytes=16,
    max_width=4,
    work_group=1,
    loads=1,
    rows=1,
    strip=2,
    groups_per_unit=2,
    min_part=8,
    stream_bytes=0,
    inline_bytes=0,
    widen=True,
)
TINY_GPU = ScanPolicy(
    chunked=False,
    vector_bytes=8,
    max_width=2,
    work_group=8,
    loads=2,
    rows=3,
    strip=1,
    groups_per_unit=2,
    min_part=32,
    stream_bytes=0,
    inline_bytes=0,
)
TINY_FENCED = replace(TINY_GPU, lookback="volatile")
