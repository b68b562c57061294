"""Plan a table of the values that occur: one pass instead of a sort, with a bit or a count per value.

The number of slots is a power of two, and a value's slot is its lowest bits. So the pass needs no range in advance:
values share no slot if their range has at most as many values as there are slots. The pass computes the range, and ends
early if it is larger:

    values   -3  5 -3 1000003 ...          slots   0 1 2 3 4 5 ... 61 ...
    least -3, largest 1000003: too large           . . . x . x      x        values may share slots: sort
    least -3, largest 5                            . . . . . x      x        -3 and 5 occur

The values of 8 or 16 bits always fit. CPU: a table per work-item, which stays in the cache. GPU: a table per work-group
in local memory, and a global table that they are merged into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies, ReducePolicy

if TYPE_CHECKING:
    from clarray._engine.algorithms.unique.plan_hash_table import HashTablePlan

RANGE_BYTES = 16  # for the least and the largest value of a work-group


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeTablePlan:
    """The specialization of the source of a range table.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, or its access class.
    vector : int
        Elements per load.
    explicit : bool
        Whether the source uses vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether contiguous operands may be loaded by aligned vectors.
    slots : int
        A power of two.
    counted : bool
        Whether a slot counts its value, or only flags it.
    checked : bool
        See `is_checked`.
    block : int
        Elements between two checks of the range on a CPU.
    policy : ReducePolicy
        The pass has the access pattern of a reduction.
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
    """Return the bytes of a table: per slot a count, a byte or, on a GPU, a bit."""
    return 4 * slots if counted else slots if chunked else slots // 8


def is_checked(dtype: np.dtype, slots: int) -> bool:
    """Return whether the pass must compute the range: the dtype has more values than there are slots."""
    return slots < 1 << 8 * dtype.itemsize


def slots_for(dtype: np.dtype, size: int, counted: bool, policies: Policies) -> int:
    """Return the slots of the table for `size` values of an integer dtype, or 0 if a sort is faster."""
    policy = policies.unique
    local = counted and not policies.reduce.chunked
    if dtype.itemsize <= 2:
        slots = 1 << 8 * dtype.itemsize
        return 0 if local and slots > policy.few_slots else slots
    return policy.few_slots if local or size < policy.few else policy.range_slots


def group_count(size: int, plan: RangeTablePlan | HashTablePlan, units: int) -> int:
    """Return the number of work-groups, none of them idle."""
    policy = plan.policy
    if policy.chunked:
        # a work-group has at least as many elements as the table that it clears and writes
        return max(1, min(units * policy.groups_per_unit, size // plan.slots))
    step = policy.work_group * plan.vector * policy.loads
    return max(1, min(units * policy.groups_per_unit, -(-size // step)))
