"""Ctrl-C may come where Python has called something: what is taken there must be given back all the same.

``with lock:`` does so by itself, since nothing comes between the lock's taking and the block, and so does a statement
that calls nothing, in ``finally``. What neither can do is here.
"""

from __future__ import annotations

from typing import Any

__all__ = ["take_at_once"]


def take_at_once(lock: Any, taken: list[bool]) -> bool:
    """Take a lock if nobody holds it, and say so.

    Parameters
    ----------
    taken : list of bool
        Where whoever gives the lock back looks whether to: it is told in the same step, so that no interrupt comes
        between.
    """
    taken.extend(map(lock.acquire, (False,)))
    return taken[-1]
