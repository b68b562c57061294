"""What this process takes of a memory, and how much of it it may take.

    CLARRAY_MEMORY_LIMIT, set_memory_limit -> bytes or a share --+
    pools of one memory -> bytes of all their blocks ------------+-> Account.take: yes or no

The host's memory is one for all devices that work in it; each other device has its own, whatever contexts use it.
"""

from __future__ import annotations

import os
import re
import weakref
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.values import dataclass

if TYPE_CHECKING:
    from clarray._engine.runtime.pool import Pool

_VARIABLE = "CLARRAY_MEMORY_LIMIT"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{letter}i": 1 << 10 * power for power, letter in enumerate("kmgt", 1)}
_AMOUNT = r"(?i)([0-9.]+(?:e[0-9]+)?)\s*(?:(%)|([kmgt]i?|)b?)"


@dataclass(frozen=True)
class Limit:
    """How much of a memory may be taken: a number of bytes, or a share of it, from 0 to 1."""

    nbytes: int = 0
    share: float = 0.0

    def of(self, total: int) -> int:
        """The bytes of a memory of this size."""
        return int(self.share * total) if self.share else self.nbytes

    @property
    def value(self) -> int | str:
        """What the user has said: bytes, or a percentage."""
        return f"{100 * self.share:g}%" if self.share else self.nbytes


def read_limit(value: Any) -> Limit | None:
    """Understand a limit as users write it.

    Parameters
    ----------
    value : int, str or None
        Bytes; a number with a unit ("1.5GiB", "800 MB") or in percent; None or "" for no limit.

    Examples
    --------
    >>> read_limit("1.5 KiB"), read_limit("2k").nbytes, read_limit("25%").of(1000)
    (Limit(nbytes=1536, share=0.0), 2000, 250)
    """
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        found = Limit(index(value))
    else:
        match = re.fullmatch(_AMOUNT, value.strip())
        try:
            number = float(match[1]) if match else 0.0
        except ValueError:
            number = 0.0
        if match and match[2]:
            found = Limit(share=number / 100 if number <= 100 else 0.0)
        else:
            found = Limit(int(number * _UNITS[match[3].lower()]) if match else 0)
    if found.nbytes <= 0 and not found.share:
        raise ValueError(
            f'a memory limit is a number of bytes, with a unit or not ("1.5GiB", "800MB"), or a percentage ("50%"), '
            f"not {value!r}; None for no limit"
        )
    return found


@cache
def _of_environment() -> Limit | None:
    try:
        return read_limit(os.environ.get(_VARIABLE, "").strip())
    except ValueError as error:
        raise ValueError(f"{_VARIABLE}: {error}") from None


_chosen: list[Limit | None] = []  # what has been set in place of the environment's


def memory_limit() -> Limit | None:
    """Give what is in force in this process, for each memory."""
    return _chosen[0] if _chosen else _of_environment()


def set_memory_limit(value: Any) -> None:
    """Have this process take no more of each memory; what is taken beyond that and waits for reuse is given back."""
    _chosen[:] = [read_limit(value)]
    for account in list(_accounts.values()):
        account.shrink()


class Account:
    """One memory: what the pools of this process have taken of it.

    Parameters
    ----------
    total : int
        Its size.

    There is no lock: what a pool has taken changes in one step, in which nothing is called, after a look at whether
    another change has come between.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._changes = 0
        self._pools: list[weakref.ref[Pool]] = []

    def open(self, pool: Pool) -> None:
        """Count what a pool takes; nothing any more once the pool is gone, and its blocks with it."""
        self._pools.append(weakref.ref(pool))

    @property
    def most(self) -> int:
        """What may be taken."""
        limit = memory_limit()
        return self.total if limit is None else min(limit.of(self.total), self.total)

    @property
    def taken(self) -> int:
        """What the blocks of all pools take, in use or not."""
        return sum([pool.reserved for pool in self.pools()])

    def pools(self) -> list[Pool]:
        """Those that take of this memory."""
        return [pool for each in list(self._pools) if (pool := each()) is not None]

    def take(self, pool: Pool, size: int) -> bool:
        """Whether a pool may take so much more; it is noted as taken."""
        while True:
            before = self._changes
            if self.taken + size > self.most:
                return False
            if self._changes == before:
                self._changes += 1
                pool.reserved += size
                if pool.reserved > pool.peak:
                    pool.peak = pool.reserved
                return True

    def give(self, pool: Pool, size: int) -> None:
        """Note that a pool has given something back."""
        self._changes += 1
        pool.reserved -= size

    def shrink(self) -> None:
        """Have pools give back what waits for reuse, as far as more is taken than may be."""
        for pool in self.pools():
            beyond = self.taken - self.most
            if beyond > 0:
                pool.release(max(pool.free_bytes() - beyond, 0))


def account_of(device: cl.Device, host_memory: bool, total: int) -> Account:
    """Give the account of a device's memory."""
    key = _HOST if host_memory else device.int_ptr
    return _accounts.setdefault(key, Account(total))


def host_pools() -> list[Pool]:
    """Return the pools that take host memory."""
    account = _accounts.get(_HOST)
    return [] if account is None else account.pools()


_HOST = 0  # the key of the host's memory
_accounts: dict[int, Account] = {}


@after_fork_in_child
def _forget() -> None:
    """Count anew: none of the parent's devices can be used, and a lock of theirs may be held by a thread of its."""
    _accounts.clear()
