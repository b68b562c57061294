"""Tuning of histograms: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramPolicy:
    """The tuning of histograms.

    Parameters
    ----------
    vector_bytes, max_width, explicit, chunked, groups_per_unit, inline_bytes, chunk_bytes
        The same as in `ElementwisePolicy`.
    work_group : int
        Work-items that count into one table in local memory. 1 if each work-item has its own tables.
    loads : int
        Loads in flight per work-item.
    copies : int
        Tables per work-group, which neighbouring elements use alternately.
    copy_bins : int
        Largest number of bins for more than one table.
    guess : int
        Bins of the table that `bincount` tries while it computes the largest value.
    local_bins : int
        Bins of the largest table in local memory.
    passes : int
        Largest number of passes over the input, each for as many bins as fit local memory. Histograms of more bins use
        tables in global memory.
    sum_group : int
        Work-items that add weights to one table. Work-items with the same bin add in order.
    sum_groups : int
        Largest number of work-groups that sum weights, or of chunks of elements with a table each on a CPU. It is
        fixed, because the order of a float sum must not depend on the number of compute units.
    sum_chunk : int
        Smallest number of elements of a chunk on a CPU.
    sum_spread : int
        The number of chunks is at most the square root of the number of elements, divided by `sum_spread`.
    sum_bins : int
        Bins of the largest table of sums in local memory.
    rounds : int
        Rounds in which work-items add to a shared bin in order. If more work-items share a bin, a tree sums their
        weights.
    table_bytes : int
        Largest total size of private tables, or of sums in global memory.
    launch_elements : int
        Largest number of elements per launch, which 32-bit counters must hold.
    merge_group, merge_lanes : int
        Work-items per work-group of the kernel that merges tables, and work-items per bin.
    compared_bins : int
        Largest number of uneven bins whose edges are all compared with each value instead of searched.
    fence : str
        The same as in `ReducePolicy`. With a fence, the last work-group computes the result of counters.
    """

    vector_bytes: int
    max_width: int
    explicit: bool
    chunked: bool
    groups_per_unit: int
    inline_bytes: int
    chunk_bytes: int
    work_group: int
    loads: int
    copies: int
    copy_bins: int
    guess: int
    local_bins: int
    passes: int
    sum_group: int
    sum_groups: int
    sum_chunk: int
    sum_spread: int
    sum_bins: int
    rounds: int
    table_bytes: int
    launch_elements: int
    merge_group: int
    merge_lanes: int
    compared_bins: int
    fence: str = ""


CPU = HistogramPolicy(
    vector_bytes=32,
    max_width=4,
    explicit=True,
    chunked=True,
    groups_per_unit=4,
    inline_bytes=1 << 17,
    chunk_bytes=1 << 16,
    work_group=1,
    loads=1,
    copies=2,
    copy_bins=1 << 12,
    guess=1 << 12,
    local_bins=0,
    passes=1,
    sum_group=1,
    sum_groups=64,
    sum_chunk=1 << 13,
    sum_spread=32,
    sum_bins=0,
    rounds=0,
    table_bytes=1 << 28,
    launch_elements=1 << 31,
    merge_group=1,
    merge_lanes=1,
    compared_bins=64,  # 2^22 float32 into 50 bins: 14 ms by search
)
GPU = HistogramPolicy(
    vector_bytes=16,
    max_width=16,
    explicit=False,
    chunked=False,
    groups_per_unit=8,
    inline_bytes=0,
    chunk_bytes=1 << 12,
    work_group=256,
    loads=4,
    copies=1,
    copy_bins=0,
    guess=1 << 12,
    local_bins=12000,
    passes=8,
    sum_group=128,
    sum_groups=1 << 10,
    sum_chunk=0,
    sum_spread=0,
    sum_bins=1 << 11,
    rounds=6,
    table_bytes=1 << 28,
    launch_elements=1 << 31,
    merge_group=256,
    merge_lanes=8,
    compared_bins=64,
)
NVIDIA = replace(
    GPU,
    work_group=1024,
    groups_per_unit=2,
    sum_group=256,
    rounds=8,
    guess=1 << 11,
    fence='asm volatile("membar.gl;" ::: "memory");',
)

# A policy so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = replace(
    CPU,
    vector_bytes=16,
    max_width=4,
    groups_per_unit=2,
    inline_bytes=0,
    chunk_bytes=8,
    copies=2,
    copy_bins=16,
    guess=16,
    sum_groups=4,
    sum_chunk=16,
    sum_spread=1,
    launch_elements=48,
)
TINY_GPU = replace(
    GPU,
    vector_bytes=8,
    max_width=4,
    groups_per_unit=2,
    chunk_bytes=8,
    work_group=4,
    loads=2,
    copies=2,
    copy_bins=8,
    guess=16,
    local_bins=16,
    passes=3,
    sum_group=4,
    sum_groups=4,
    sum_bins=16,
    rounds=2,
    launch_elements=48,
    merge_group=8,
    merge_lanes=2,
)
TINY_FENCED = replace(TINY_GPU, fence="mem_fence(CLK_GLOBAL_MEM_FENCE);")
