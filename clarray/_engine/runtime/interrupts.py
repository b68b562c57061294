"""Acquire a lock so that Ctrl-C at any call leaves no lock held.

``with lock:`` needs no help, since no interrupt comes between the acquisition and the block. A statement without calls
in ``finally`` needs none either. This module has what neither of them can do.
"""

from __future__ import annotations

from typing import Any

__all__ = ["try_acquire"]


def try_acquire(lock: Any, acquired: list[bool]) -> bool:
    """Acquire a lock without waiting, and return whether that succeeded.

    Parameters
    ----------
    acquired : list of bool
        The result is appended here in the same step, so that no interrupt comes between. The caller releases the lock
        in ``finally`` if True is in the list.
    """
    acquired.extend(map(lock.acquire, (False,)))
    return acquired[-1]
