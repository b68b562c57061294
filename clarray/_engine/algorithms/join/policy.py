"""Tuning of joins: the policy, and its values per kind of device."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class JoinPolicy:
    """The tuning of joins.

    Parameters
    ----------
    most : int
        Largest number of arrays per launch. Each array costs a comparison per element and a pointer.
    short_bytes : int
        Largest part of a row that shares sectors of memory with its neighbours.
    small_bytes : int
        Largest part whose copy takes less time than a launch.
    rows : int
        Rows that a work-item writes at a time, so that each cache line shared by parts is written once (CPU).
    """

    most: int
    short_bytes: int
    small_bytes: int
    rows: int


# These values were not measured separately.
CPU = GPU = JoinPolicy(most=8, short_bytes=32, small_bytes=1 << 15, rows=256)
