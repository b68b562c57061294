"""Plan a hash table of few distinct values of a wide range: floats or integers.

An optimistic pass inserts each new value into a hash table. It ends early if the table has too many values: if all
values differ, after a small part of the input. The caller sorts the result.

CPU: a table per work-item, without atomics, with keys of 32 or 64 bits. GPU: a table per work-group in local memory,
filled by compare-and-exchange, and a global table that they are merged into, with keys of 32 bits.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import Policies, ReducePolicy

_MULTIPLIERS = {4: 0x9E3779B1, 8: 0x9E3779B97F4A7C15}  # odd numbers near 2^w / golden ratio: Fibonacci hashing


@dataclass(frozen=True, slots=True, kw_only=True)
class HashTablePlan:
    """The specialization of the source of a hash table.

    Parameters
    ----------
    accesses, vector, explicit, index, aligned
        As in `clarray._engine.algorithms.unique.plan_range_table.RangeTablePlan`.
    slots, limit : int
        Slots of a table, and the number of values from which the pass ends early.
    equal_nan : bool
        Whether all NaN are equal. Otherwise the first NaN ends the pass.
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
    """Return the multiplier of the hash function. The highest bits of the product are the slot."""
    return _MULTIPLIERS[itemsize]


def is_worth_trying(dtype: np.dtype, size: int, policies: Policies) -> bool:
    """Return whether to try a hash table for `size` values of a dtype."""
    if dtype.kind not in "iuf" or dtype.itemsize < 4:
        return False
    return size >= policies.unique.hash_from and (policies.reduce.chunked or dtype.itemsize == 4)
