"""The plan of a table of few values that may be far apart: floats, or integers of a wide range.

An optimistic pass keeps every value it has not seen yet in a table of hashed bits, and gives up as
soon as there are too many: where all values differ that is at once, so it costs what it reads up
to there. What it finds is sorted by whoever asked.

CPU: a table per work-item, so no atomics, and keys of 32 or 64 bits. GPU: a table per work-group in
local memory, filled by compare-and-exchange, and one for all that they are merged into; 32 bits.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies, ReducePolicy

_MULTIPLIERS = {4: 0x9E3779B1, 8: 0x9E3779B97F4A7C15}  # odd, near 2^w / golden ratio: Fibonacci hashing


@dataclass(frozen=True, slots=True, kw_only=True)
class HashTablePlan:
    """What the source of such a table is specialised on.

    Parameters
    ----------
    accesses, vector, explicit, index, aligned
        As in `clarray._engine.algorithms.unique.plan_range_table.RangeTablePlan`.
    slots, limit : int
        Of a table, and how many values are too many.
    equal_nan : bool
        Whether all NaN are one value; else the first of them ends the pass.
    policy : ReducePolicy
    """

    accesses: tuple[str, ...]
    vector: int
    explicit: bool
    index: str
    aligned: bool
    slots: int
    limit: int
    equal_nan: bool
    policy: ReducePolicy


def multiplier(itemsize: int) -> int:
    """What bits are hashed by: the highest bits of the product are the slot."""
    return _MULTIPLIERS[itemsize]


def is_worth_trying(dtype: np.dtype, size: int, policies: Policies) -> bool:
    """Whether values of a dtype, so many of them, may be looked for in a table."""
    if dtype.kind not in "iuf" or dtype.itemsize < 4:
        return False
    return size >= policies.unique.hash_from and (policies.reduce.chunked or dtype.itemsize == 4)
