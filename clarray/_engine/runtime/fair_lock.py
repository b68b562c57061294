"""The lock of a device: reentrant, and fair to threads that have waited long."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from clarray._engine.speedups import core, reentrant_lock

__all__ = ["FairLock", "device_lock"]

_PATIENCE = 0.001  # seconds that a thread waits while others may still take the lock before it
_RLock: Any = type(threading.RLock())


class FairLock(_RLock):  # type: ignore[misc]
    """``threading.RLock`` whose release does not let its thread take it again before those that have waited long.

    A thread that has waited for a millisecond takes its turn. Until it has the lock, all others queue for theirs. The
    lock is acquired and noted in one call of C, so an interrupt leaves it neither lost nor held. The compiled core's
    lock keeps the same rule.
    """

    def __init__(self) -> None:
        self._turn = threading.RLock()  # reentrant: the wait of a signal handler may lie within one of its thread
        self._is_crowded = False

    def __enter__(self) -> bool:
        taken: list[bool] = []
        try:
            if not self._is_crowded or self._is_owned():
                taken.extend(map(self.acquire, (False,)))
            if True not in taken:
                self._wait(taken)
            return True
        except BaseException:
            if True in taken:
                self.release()
            raise

    def _wait(self, taken: list[bool]) -> None:
        if not self._is_crowded:
            self._take(taken, (_PATIENCE,))
        if True not in taken:
            with self._turn:
                self._is_crowded = True
                try:
                    self._take(taken, (-1,))
                finally:
                    self._is_crowded = False

    def _take(self, taken: list[bool], timeout: Iterable[float]) -> None:
        taken.extend(map(self.acquire, (True,), timeout))


def device_lock() -> Any:
    """Give the lock of a new device."""
    return FairLock() if core is None else reentrant_lock()
