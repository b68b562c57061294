"""Wait for a device until it is idle, and release foreign memory after that.

    launch -> pending is True -> begin_wait: pending is a mark -> drain -> end_wait: False if it is still that mark

A signal handler may launch at any moment of a wait. Its launch replaces the mark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from clarray._engine.runtime.interrupts import try_acquire
from clarray._engine.speedups import accelerated, native

if TYPE_CHECKING:
    from clarray._engine.runtime.memory import Block


_SLOTS: tuple[str, ...] = ()  # none: the slots are those of `Device`, whose offsets the native implementation knows


class Waiting:
    """The methods of a `Device` that wait. `Device` documents the attributes."""

    __slots__ = _SLOTS

    lock: Any
    pending: Any
    called: bool
    closed: bool
    queued: int
    inherited: bool
    lost: bool
    main: Any
    check_alive: Callable[[Exception], None]
    _dropped: list[tuple[Block, Any]]
    _foreign: set[Block]

    @accelerated
    def finish(self) -> None:
        """Wait for the main queue without a record in the profile. The caller holds the lock."""
        while self.pending:
            wait = self.begin_wait()
            self.drain()
            self.end_wait(wait)

    def begin_wait(self) -> object:
        """Set and return a mark for `end_wait`. Any later launch replaces the mark, also one of a re-entrant call."""
        mark = self.pending = object()
        return mark

    def end_wait(self, mark: object) -> None:
        """Note that the device is idle, unless something has been launched since `begin_wait`."""
        if self.pending is mark:
            self.pending, self.called, self.queued = False, False, 0

    def drain(self) -> None:
        """Wait for the queued work as `finish` does, but leave `pending` set.

        Use this where memory is dropped, for example by the garbage collector. That may happen inside a launch that has
        set `pending` and is queued afterwards.
        """
        if self.pending:
            # before the wait: a re-entrant call appends the memory of its own launches
            dropped, self._dropped = self._dropped, []
            try:
                if self.called:
                    native.wait()
                else:
                    self.main.commands.finish()
            except BaseException as error:
                self._dropped += dropped
                if isinstance(error, cl.Error):
                    self.check_alive(error)
                raise
            for block, _ in dropped:
                self._foreign.discard(block)

    def call_when_idle(self, function: Callable[..., Any], *args: Any) -> Any:
        """Wait for the device, then call a function that reads or writes host memory. The caller holds the lock.

        Python runs no signal handler between the last check and the call, so no re-entrant call has launched work that
        still uses the memory. `function` must be a C function that runs no Python code before it is done.
        """
        while True:
            self.finish()
            if not self.pending:
                return function(*args)

    def retain_foreign(self, block: Block) -> None:
        """Keep a block of foreign memory until `release_foreign`."""
        self._foreign.add(block)

    def release_foreign(self, block: Block, owner: Any) -> None:
        """Release a block of foreign memory and the owner of the memory, after the last launch that may use it.

        The method is called where memory is dropped, with any locks held, so it waits for no other thread.
        """
        if self.inherited or self.lost:
            self._dropped.append((block, owner))  # never released: freeing would call into OpenCL
        elif self.closed or not self.pending:
            self._foreign.discard(block)
        else:
            self._dropped.append((block, owner))
            acquired: list[bool] = []
            try:
                if try_acquire(self.lock, acquired):
                    self.drain()
            finally:
                if True in acquired:
                    self.lock.release()
