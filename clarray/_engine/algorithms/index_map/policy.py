"""Tuning of index maps: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IndexMapPolicy:
    """The tuning of index maps.

    Parameters
    ----------
    copied_bytes : int
        Smallest source that is loaded once for all its copies, because it exceeds the caches.
    rolled_bytes : int
        Smallest array whose rolls are pending, so that several rolls of one array are computed together.
    """

    copied_bytes: int
    rolled_bytes: int


CPU = IndexMapPolicy(copied_bytes=1 << 22, rolled_bytes=1 << 19)
GPU = IndexMapPolicy(copied_bytes=1 << 22, rolled_bytes=1 << 24)
TINY = IndexMapPolicy(copied_bytes=1 << 22, rolled_bytes=1)
