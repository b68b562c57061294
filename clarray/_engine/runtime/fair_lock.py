"""The lock of a device: reentrant, and fair to threads that wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from clarray._engine.speedups import native, reentrant_lock

__all__ = ["FairLock", "device_lock"]

_PATIENCE = 0.001  # seconds that a thread waits before it gets precedence over others
_RLock: Any = type(threading.RLock())


class FairLock(_RLock):  # type: ignore[misc]
    """A ``threading.RLock`` that a thread cannot acquire again while another thread has waited for long.

    A thread that has waited for a millisecond gets precedence. Until it has acquired the lock, all other threads queue
    behind it. One call of C acquires the lock and records that, so an interrupt never leaves it held. The lock of the
    native implementation follows the same rule.
    """

    def __init__(self) -> None:
        self._turn = threading.RLock()  # reentrant: a signal handler may wait while its thread waits
        self._is_crowded = False

    def __enter__(self) -> bool:
        acquired: list[bool] = []
        try:
            if not self._is_crowded or self._is_owned():
                acquired.extend(map(self.acquire, (False,)))
            if True not in acquired:
                self._wait(acquired)
            return True
        except BaseException:
            if True in acquired:
                self.release()
            raise

    def _wait(self, acquired: list[bool]) -> None:
        if not self._is_crowded:
            self._acquire(acquired, (_PATIENCE,))
        if True not in acquired:
            with self._turn:
                self._is_crowded = True
                try:
                    self._acquire(acquired, (-1,))
                finally:
                    self._is_crowded = False

    def _acquire(self, acquired: list[bool], timeout: Iterable[float]) -> None:
        acquired.extend(map(self.acquire, (True,), timeout))


def device_lock() -> Any:
    """Return the lock for a new device."""
    return FairLock() if native is None else reentrant_lock()
