"""The plan of a table of the values that occur: no sort, one pass, one bit or count per value.

The table has a power of two of slots and a value's slot is its lowest bits, so nothing need be known
of the range before the pass: while all values lie within as many neighbours as there are slots,
no two of them share one. The pass finds the range as it goes, and gives up where it is larger:

    values   -3  5 -3 1000003 ...        slots   0 1 2 3 4 5 ... 61 ...
    least -3, largest 1000003: too far           . . . x . x      x        nothing can be said: sort
    least -3, largest 5                          . . . . . x      x        -3 and 5 occur

A dtype of 8 or 16 bits always fits. CPU: a table per work-item, in memory that stays in its
cache; GPU: a table per work-group in local memory, and one for all that they are merged into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies, ReducePolicy

if TYPE_CHECKING:
    from clarray._engine.algorithms.unique.plan_hash_table import HashTablePlan

RANGE_BYTES = 16  # of the least and the largest value of a work-group


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeTablePlan:
    """What the source of a table is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, or its access class.
    vector : int
        Elements per load.
    explicit : bool
        Written in vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether contiguous operands may be loaded by aligned vectors.
    slots : int
        A power of two.
    counted : bool
        Whether a slot counts its value, or only tells that it occurs.
    checked : bool
        See `is_checked`.
    block : int
        Elements that a CPU takes before it looks whether the range is too large already.
    policy : ReducePolicy
        The pass is one over memory that keeps something per work-group, as a reduction's.
    """

    accesses: tuple[str, ...]
    vector: int
    explicit: bool
    index: str
    aligned: bool
    slots: int
    counted: bool
    checked: bool
    block: int
    policy: ReducePolicy


def table_bytes(slots: int, counted: bool, chunked: bool) -> int:
    """Bytes of a table: per slot a count, a byte or, on a GPU, a bit."""
    return 4 * slots if counted else slots if chunked else slots // 8


def is_checked(dtype: np.dtype, slots: int) -> bool:
    """Whether the range of the values must be found: not where the dtype has no more of them than there are slots."""
    return slots < 1 << 8 * dtype.itemsize


def slots_for(dtype: np.dtype, size: int, counted: bool, policies: Policies) -> int:
    """Slots of the table for `size` values of an integer dtype, or 0 where a table does not pay."""
    policy = policies.unique
    local = counted and not policies.reduce.chunked
    if dtype.itemsize <= 2:
        slots = 1 << 8 * dtype.itemsize
        return 0 if local and slots > policy.few_slots else slots
    return policy.few_slots if local or size < policy.few else policy.range_slots


def group_count(size: int, plan: RangeTablePlan | HashTablePlan, units: int) -> int:
    """Work-groups: no more than have something to do."""
    policy = plan.policy
    if policy.chunked:
        # a table must be worth clearing and reading
        return max(1, min(units * policy.groups_per_unit, size // plan.slots))
    step = policy.work_group * plan.vector * policy.loads
    return max(1, min(units * policy.groups_per_unit, -(-size // step)))
