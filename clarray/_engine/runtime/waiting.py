"""Waiting for a device: when it rests, and what is let go then.

    launch -> pending is True -> begin_wait: pending is a mark -> drain -> end_wait: False, if it still is that mark

A signal handler may launch at any moment of it, and replaces the mark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from clarray._engine.runtime.interrupts import take_at_once
from clarray._engine.speedups import core

if TYPE_CHECKING:
    from clarray._engine.runtime.memory import Block


_SLOTS: tuple[str, ...] = ()  # those of `Device` itself, whose places the compiled core knows


class Waiting:
    """The part of a `Device` that waits; its attributes are described there."""

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

    def finish(self) -> None:
        """Wait for the main queue, uncounted by a profile. For the runtime: the lock is held."""
        while self.pending:
            wait = self.begin_wait()
            self.drain()
            self.end_wait(wait)

    def begin_wait(self) -> object:
        """Return a mark for `end_wait`. Every launch from here on replaces it, one of a re-entrant call among them."""
        mark = self.pending = object()
        return mark

    def end_wait(self, mark: object) -> None:
        """Note that the device rests, unless something has been launched since the mark was made."""
        if self.pending is mark:
            self.pending, self.called, self.queued = False, False, 0

    def drain(self) -> None:
        """Wait for what is queued, as `finish` does, and go on taking the queue for busy.

        For where memory is dropped, the garbage collector's among it: that may be within a launch which has been noted
        as pending, and is queued after this.
        """
        if self.pending:
            dropped, self._dropped = self._dropped, []  # before: a re-entrant call drops what it has launched with
            try:
                if self.called:
                    core.wait()
                else:
                    self.main.commands.finish()
            except BaseException as error:
                self._dropped += dropped
                if isinstance(error, cl.Error):
                    self.check_alive(error)
                raise
            for block, _ in dropped:
                self._foreign.discard(block)

    def at_rest(self, function: Callable[..., Any], *args: Any) -> Any:
        """Wait for the device, then call a function that reads or writes host memory. The lock is held.

        Python runs no signal handler between the last look and the call, so a re-entrant call has launched nothing
        that still uses the memory. `function` is one of C, which runs no Python code before it is done.
        """
        while True:
            self.finish()
            if not self.pending:
                return function(*args)

    def take_in(self, block: Block) -> None:
        """Hold a block that is somebody else's memory, until it has been let go."""
        self._foreign.add(block)

    def let_go(self, block: Block, keep: Any) -> None:
        """Let such a block go, and what keeps its memory, after whatever may still use it.

        As it is called where memory is dropped, with whatever locks held, it waits for no thread.
        """
        if self.inherited or self.lost:
            self._dropped.append((block, keep))  # for good: freeing would call into OpenCL
        elif self.closed or not self.pending:
            self._foreign.discard(block)
        else:
            self._dropped.append((block, keep))
            taken: list[bool] = []
            try:
                if take_at_once(self.lock, taken):
                    self.drain()
            finally:
                if True in taken:
                    self.lock.release()
