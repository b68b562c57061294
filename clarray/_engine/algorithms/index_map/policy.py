"""Tuning of index maps: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.values import dataclass


@dataclass(frozen=True, slots=True)
class IndexMapPolicy:
    """How often a source is read.

    Parameters
    ----------
    copied_bytes : int
        A source at least this large is not read again for each copy of it: the caches would not hold it.
    """

    copied_bytes: int


# Not measured one by one.
CPU = GPU = IndexMapPolicy(copied_bytes=1 << 22)
