"""Tuning of gathers and scatters: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherPolicy:
    """The tuning of gathers and scatters. Other fields are those of elementwise kernels.

    Parameters
    ----------
    neighbours : int
        Neighbouring indices per work-item at a time (CPU).
    words, wide_words : int
        Words that a work-item loads at a time, of up to four bytes, and of eight or sixteen bytes (GPU).
    owners : int
        Largest number of work-items of a scatter with repeated indices. Each reads all indices and writes a part of the
        elements (CPU).
    long : int
        Smallest number of indices that are checked for increasing order before a scatter (GPU).
    spread : int
        Largest number of elements per index for a scatter with 64-bit notes (GPU).
    """

    neighbours: int
    words: int
    wide_words: int
    owners: int
    long: int
    spread: int


# These values were not measured separately.
CPU = GatherPolicy(neighbours=4, words=1, wide_words=1, owners=8, long=1 << 16, spread=4)
GPU = GatherPolicy(neighbours=1, words=8, wide_words=4, owners=1, long=1 << 16, spread=4)
