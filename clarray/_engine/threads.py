"""Threads with a stack of known size, and what has to run in one.

A thread of the user's may have any stack: `threading.stack_size` allows 32 KiB. Compilers need megabytes.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from clarray._engine.speedups import core

__all__ = ["collector_off", "import_whole", "on_large_stack", "start", "without_collector"]

Value = TypeVar("Value")
_STACK_BYTES = 16 << 20  # of address space; pages that are never touched cost nothing


def start(thread: threading.Thread) -> None:
    """Start a thread with a stack that compilers can work on.

    The garbage collector rests until the thread has begun, for which this waits: what it runs in the thread may need a
    lock that the caller holds.

    Raises
    ------
    RuntimeError
        No thread can be started, or the interpreter is shutting down. Up to Python 3.11 a thread that is started then
        never begins, and this would wait for ever: objects that the last garbage collection deletes may compute.
    """
    if sys.is_finalizing():
        raise RuntimeError("can't start a new thread at interpreter shutdown")
    with collector_off:
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)


def on_large_stack(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return what calls a function on a large stack: itself in the main thread, whose stack the system chooses."""
    if threading.current_thread() is threading.main_thread():
        return function
    return partial(_in_new_thread, function)


def _in_new_thread(function: Callable[..., Value], *args: Any, **kwargs: Any) -> Value:
    """Call a function in a thread of its own and wait for it.

    The garbage collector rests meanwhile: what it runs in that thread may need a lock that the waiting thread holds.
    """
    values: list[Value] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            values.append(function(*args, **kwargs))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, name="clarray large stack")
    with collector_off:
        start(thread)
        thread.join()
    if failures:
        raise failures[0]
    return values[0]


class _Collector:
    """Keeps the garbage collector off while any thread is in its block.

    For changes of context variables too: while Python 3.11 makes one, the collector may run code that makes another,
    which frees what the first one reads. From Python 3.12 on the collector runs between two instructions.

    The compiled core's is used where it is there: Ctrl-C as `__exit__` begins leaves the collector off here.

    Attributes
    ----------
    blocks : int
        That have begun and not ended, in all threads.
    was_on : bool
        Whether the collector was on before the first of them.
    """

    def __init__(self) -> None:
        self.blocks = 0
        self.was_on = False

    def __enter__(self) -> None:
        try:
            self.blocks += 1
            if self.blocks == 1:
                self.was_on = gc.isenabled()
            gc.disable()
        except BaseException:  # Ctrl-C
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self.blocks -= 1
        if not self.blocks and self.was_on:
            gc.enable()


_collector = _Collector()
collector_off: Any = _collector if core is None else core.Collector()


def without_collector(function: Callable[..., Value], *args: Any) -> Value:
    """Call a function while the garbage collector is off; whatever Ctrl-C interrupts, it is on afterwards."""
    if core is not None:
        with collector_off:
            return function(*args)
    # written out: Python runs no signal handler between these instructions, as it would where `__exit__` begins
    off = _collector
    try:
        off.blocks += 1
        if off.blocks == 1:
            off.was_on = gc.isenabled()
        gc.disable()
        return function(*args)
    finally:
        off.blocks -= 1
        if not off.blocks and off.was_on:
            gc.enable()


def import_whole(name: str) -> Any:
    """Import a module, and return only when all of it is there.

    A signal handler that needs a module whose import it has interrupted would find the half of it. So a thread made for
    it imports the module, and whoever else needs it meanwhile, handlers included, waits for that thread. These threads
    work one after another: two that import modules which import each other would each get the half of one.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    if _is_importing():  # it may hold the lock of a module that the thread would wait for
        return import_module(name)
    try:
        return _in_new_thread(_import_in_turn, name)
    except RuntimeError:  # no thread can be started, as at the end of the process
        return import_module(name)


_turns: list[threading.Event] = []  # of imports that have not ended, the first one's first


def _import_in_turn(name: str) -> Any:
    """Import a module after those that other threads are importing.

    The thread itself takes its turn: who waits for the turn of a thread that a signal handler has kept from being
    started waits for ever.
    """
    turn = threading.Event()
    _turns.append(turn)
    try:
        for before in [*_turns]:
            if before is turn:
                break
            before.wait()
        return import_module(name)
    finally:
        turn.set()
        _turns.remove(turn)


def _is_importing() -> bool:
    """Whether the calling thread is in the midst of an import."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib"):
            return True
        frame = frame.f_back
    return False
