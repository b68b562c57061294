"""Tuning of joins: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class JoinPolicy:
    """When arrays are joined in one launch, and how.

    Parameters
    ----------
    most : int
        Arrays in one launch: each costs a comparison per element, and a pointer.
    short_bytes : int
        Parts of a row no longer than this share the sectors of memory that they are written to.
    small_bytes : int
        Parts no larger than this cost less than their launches.
    rows : int
        Rows that a work-item of a CPU writes at a time: the lines of its cache that the parts share are written once.
    """

    most: int
    short_bytes: int
    small_bytes: int
    rows: int


# Not measured one by one.
CPU = GPU = JoinPolicy(most=8, short_bytes=32, small_bytes=1 << 15, rows=256)
