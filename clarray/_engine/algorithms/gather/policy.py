"""Tuning of gathers and of writes through numbers: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherPolicy:
    """Shape of a gather and of a write through numbers, beside what is that of an elementwise kernel.

    Parameters
    ----------
    neighbours : int
        Numbers of a list that a work-item of a CPU takes at once.
    words, wide_words : int
        Words that a work-item of a GPU loads at once: of up to four bytes, and of eight or sixteen.
    owners : int
        Work-items of a CPU, at most, that read the whole list and write each a part of the elements.
    long : int
        Numbers that are worth a look whether they rise, before they are written through (GPU).
    spread : int
        Elements per number, at most, for which notes of all elements are worth it (GPU).
    """

    neighbours: int
    words: int
    wide_words: int
    owners: int
    long: int
    spread: int


# Not measured one by one.
CPU = GatherPolicy(neighbours=4, words=1, wide_words=1, owners=8, long=1 << 16, spread=4)
GPU = GatherPolicy(neighbours=1, words=8, wide_words=4, owners=1, long=1 << 16, spread=4)
