"""Policy of compactions, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPolicy:
    """Shape of a compaction.

    Parameters
    ----------
    chunked : bool
        Whether a work-item takes a contiguous chunk, 64 elements at a time (CPU), or a work-group
        takes tiles of neighbouring elements (GPU).
    work_group : int
        Work-items per work-group.
    groups_per_unit : int
        Work-groups per compute unit.
    dense : int
        Least number of selected elements of 64 for which all 64 are stored without a test (chunked only).
    loads : int
        Loads of `vector_bytes` per work-item and tile (tiles only).
    vector_bytes : int
        Bytes of the widest operand per load (tiles only).
    inline_bytes : int
        Launches that move fewer bytes run on the calling thread, where the device can.
    chunk_bytes : int
        Least number of bytes per work-group of a launch.
    look_back : str
        How the work-groups of one pass read each other's counts. ``''``: not at all, so that there are two passes.
        ``'ptx'``: by relaxed loads and stores of the device. ``'volatile'``: by volatile loads and stores, on devices
        for which those are the same.
    window : int
        Number of times 32 tiles that a warp looks back at once.
    ticket : bool
        Whether tiles are numbered in the order in which their work-groups start, because the device may start groups
        in another order than that of their numbers.
    local_bytes : int
        Limit of a tile in local memory.
    pause : int
        Nanoseconds that a work-group sleeps before it reads other counts (NVIDIA only).
    spins : int
        Reads of another group's count before a single pass is given up.
    sparse : int
        A result that fills less than ``1 / sparse`` of its memory is copied to memory of its size.
    small_bytes : int
        Memory of at most this size is never copied so.
    """

    chunked: bool
    work_group: int
    groups_per_unit: int
    dense: int
    loads: int
    vector_bytes: int
    inline_bytes: int
    chunk_bytes: int
    look_back: str = ""
    window: int = 4
    ticket: bool = True
    local_bytes: int = 1 << 14
    pause: int = 0
    spins: int = 1 << 20
    sparse: int = 4
    small_bytes: int = 1 << 16


CPU = CompactPolicy(
    chunked=True,
    work_group=1,
    groups_per_unit=2,
    dense=10,
    loads=1,
    vector_bytes=64,
    inline_bytes=1 << 19,
    chunk_bytes=1 << 16,
)
GPU = CompactPolicy(
    chunked=False,
    work_group=256,
    groups_per_unit=8,
    dense=0,
    loads=4,
    vector_bytes=16,
    inline_bytes=0,
    chunk_bytes=1 << 16,
)
# H200, 2^28 float32, a[a > 0.5] in ms, loads x work-group x window: 4 x 256 x 4 0.728, 4 x 256 x 1 0.668,
# 8 x 256 x 1 0.639, 8 x 256 x 4 0.614, 8 x 128 x 4 0.662, 8 x 512 x 4 0.713; two passes 0.76-0.81. With a pause of 0,
# 1000, 2000, 3000 ns: 8 x 256 x 2 0.594 0.562 0.544 0.533, with a mask in memory 0.642 0.620 0.590 0.598; 8 x 256 x 1
# 0.626 0.587 0.546 0.570 and 0.667 0.633 0.608 0.578.
NVIDIA = replace(GPU, loads=8, local_bytes=1 << 15, look_back="ptx", window=2, pause=2500, ticket=False)

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = replace(CPU, groups_per_unit=3, inline_bytes=0, chunk_bytes=16, small_bytes=0)
TINY_GPU = replace(GPU, work_group=8, groups_per_unit=2, loads=2, vector_bytes=8, chunk_bytes=16)
TINY_FENCED = replace(TINY_GPU, look_back="volatile")
