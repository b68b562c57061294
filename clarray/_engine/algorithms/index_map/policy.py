"""Tuning of index maps: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IndexMapPolicy:
    """How often a source is read.

    Parameters
    ----------
    copied_bytes : int
        A source at least this large is not read again for each copy of it: the caches would not hold it.
    rolled_bytes : int
        An array at least this large is rolled when the roll is read: with others of the same array then.
    """

    copied_bytes: int
    rolled_bytes: int


CPU = IndexMapPolicy(copied_bytes=1 << 22, rolled_bytes=1 << 19)
GPU = IndexMapPolicy(copied_bytes=1 << 22, rolled_bytes=1 << 24)
TINY = IndexMapPolicy(copied_bytes=1 << 22, rolled_bytes=1)
