"""Tuning of radix sort: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
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
    digit_bits : int
        Bits of a key that a pass of an argsort takes.
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
    digit_bits: int


CPU = SortPolicy(
    chunked=True,
    groups_per_unit=2,
    chunk_bytes=1 << 17,
    inline_bytes=1 << 17,
    line=1 << 18,
    short=64,
    cell_bits=16,
    bucket=2048,
    most_buckets=4096,
    digit_bits=11,
)
GPU = replace(CPU, chunked=False)
NVIDIA = GPU

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
    digit_bits=3,
)
TINY_GPU = replace(TINY_CPU, chunked=False)
TINY_FENCED = TINY_GPU
