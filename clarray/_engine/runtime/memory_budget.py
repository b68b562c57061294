"""The memory limit of this process, and the bytes that its pools have reserved of each memory.

    CLARRAY_MEMORY_LIMIT, set_memory_limit -> bytes or a share --+
    pools of one memory -> bytes of all their blocks ------------+-> MemoryBudget.reserve: yes or no

All devices that work in host memory share one budget. Each other device has a budget of its own, which all contexts of
the device share.
"""

from __future__ import annotations

import os
import re
import weakref
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.runtime.forking import after_fork_in_child

if TYPE_CHECKING:
    from clarray._engine.runtime.pool import Pool

_VARIABLE = "CLARRAY_MEMORY_LIMIT"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{letter}i": 1 << 10 * power for power, letter in enumerate("kmgt", 1)}
_AMOUNT = r"(?i)([0-9.]+(?:e[0-9]+)?)\s*(?:(%)|([kmgt]i?|)b?)"


@dataclass(frozen=True)
class Limit:
    """A limit on memory: a number of bytes, or a share of the total from 0 to 1."""

    nbytes: int = 0
    share: float = 0.0

    def in_bytes(self, total: int) -> int:
        """Return the limit in bytes for a memory of `total` bytes."""
        return int(self.share * total) if self.share else self.nbytes

    @property
    def setting(self) -> int | str:
        """The limit as users write it: bytes, or a percentage."""
        return f"{100 * self.share:g}%" if self.share else self.nbytes


def read_limit(value: Any) -> Limit | None:
    """Parse a limit as users write it.

    Parameters
    ----------
    value : int, str or None
        Bytes; a number with a unit ("1.5GiB", "800 MB") or in percent; None or "" for no limit.

    Examples
    --------
    >>> read_limit("1.5 KiB"), read_limit("2k").nbytes, read_limit("25%").in_bytes(1000)
    (Limit(nbytes=1536, share=0.0), 2000, 250)
    """
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        limit = Limit(index(value))
    else:
        match = re.fullmatch(_AMOUNT, value.strip())
        try:
            number = float(match[1]) if match else 0.0
        except ValueError:
            number = 0.0
        if match and match[2]:
            limit = Limit(share=number / 100 if number <= 100 else 0.0)
        else:
            limit = Limit(int(number * _UNITS[match[3].lower()]) if match else 0)
    if limit.nbytes <= 0 and not limit.share:
        raise ValueError(
            f'a memory limit is a number of bytes, with a unit or not ("1.5GiB", "800MB"), or a percentage ("50%"), '
            f"not {value!r}; None for no limit"
        )
    return limit


@cache
def _environment_limit() -> Limit | None:
    try:
        return read_limit(os.environ.get(_VARIABLE, "").strip())
    except ValueError as error:
        raise ValueError(f"{_VARIABLE}: {error}") from None


_override: list[Limit | None] = []  # empty, or the limit that `set_memory_limit` has set


def memory_limit() -> Limit | None:
    """Return the limit in force, which holds for each memory. None is no limit."""
    return _override[0] if _override else _environment_limit()


def set_memory_limit(value: Any) -> None:
    """Set the limit for each memory, and release free blocks beyond the limit."""
    _override[:] = [read_limit(value)]
    for budget in list(_budgets.values()):
        budget.shrink()


class MemoryBudget:
    """The bytes of one memory that the pools of this process have reserved.

    Parameters
    ----------
    total : int
        The size of the memory.

    Notes
    -----
    There is no lock. `reserve` and `release` change the counts in one step without calls, after a check that no other
    change has come between.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._changes = 0
        self._pools: list[weakref.ref[Pool]] = []

    def add_pool(self, pool: Pool) -> None:
        """Count the bytes of a pool for as long as the pool lives."""
        self._pools.append(weakref.ref(pool))

    @property
    def max_bytes(self) -> int:
        """The most bytes that the pools may reserve."""
        limit = memory_limit()
        return self.total if limit is None else min(limit.in_bytes(self.total), self.total)

    @property
    def reserved(self) -> int:
        """The bytes of all blocks of all pools, in use or free."""
        return sum([pool.reserved for pool in self.pools()])

    def pools(self) -> list[Pool]:
        """Return the pools that allocate from this memory."""
        return [pool for ref in list(self._pools) if (pool := ref()) is not None]

    def reserve(self, pool: Pool, size: int) -> bool:
        """Reserve `size` more bytes for a pool, or return False if that exceeds the limit."""
        while True:
            before = self._changes
            if self.reserved + size > self.max_bytes:
                return False
            if self._changes == before:
                self._changes += 1
                pool.reserved += size
                if pool.reserved > pool.peak:
                    pool.peak = pool.reserved
                return True

    def release(self, pool: Pool, size: int) -> None:
        """Subtract the bytes that a pool has released."""
        self._changes += 1
        pool.reserved -= size

    def shrink(self) -> None:
        """Release free blocks of the pools until the reserved bytes are within the limit."""
        for pool in self.pools():
            excess = self.reserved - self.max_bytes
            if excess > 0:
                pool.release(max(pool.free_bytes() - excess, 0))


def find_budget(device: cl.Device, host_memory: bool, total: int) -> MemoryBudget:
    """Return the budget of a device's memory."""
    key = _HOST if host_memory else device.int_ptr
    return _budgets.setdefault(key, MemoryBudget(total))


def host_pools() -> list[Pool]:
    """Return the pools that allocate from host memory."""
    budget = _budgets.get(_HOST)
    return [] if budget is None else budget.pools()


_HOST = 0  # the key of host memory
_budgets: dict[int, MemoryBudget] = {}


@after_fork_in_child
def _drop_budgets() -> None:
    """Start with no budgets: the parent's devices cannot be used, and one of its threads may hold a device's lock."""
    _budgets.clear()
