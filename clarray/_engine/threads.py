"""Threads with a large stack, and functions that need one.

The user's threads may have any stack: `threading.stack_size` allows 32 KiB. Compilers need megabytes.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from clarray._engine.speedups import native

__all__ = ["collector_off", "import_whole", "on_large_stack", "require_gil", "start", "without_collector"]

Value = TypeVar("Value")
_STACK_BYTES = 16 << 20  # of address space; untouched pages take no memory


def require_gil() -> None:
    """Check that the interpreter holds the GIL, which guards clarray's tables between threads.

    Raises
    ------
    ImportError
        A free-threaded Python runs without the GIL.
    """
    is_enabled: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    if not is_enabled():
        raise ImportError(
            "clarray needs the global interpreter lock (GIL), and this free-threaded Python runs without it: "
            "start Python with `-X gil=1` or with PYTHON_GIL=1"
        )


def start(thread: threading.Thread) -> None:
    """Start a thread with a large stack for compilers, and wait until it has begun.

    The garbage collector is off until then, as finalizers that it runs in the new thread may need a lock that the
    caller holds.

    Raises
    ------
    RuntimeError
        No thread can be started, or the interpreter is shutting down. Up to Python 3.11 a thread started during
        shutdown never begins, and this function would wait forever. Finalizers of the last garbage collection may call
        it.
    """
    if sys.is_finalizing():
        raise RuntimeError("can't start a new thread at interpreter shutdown")
    with collector_off:
        stack_bytes = threading.stack_size(_STACK_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(stack_bytes)


def on_large_stack(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function that calls `function` on a large stack; in the main thread, `function` itself."""
    if threading.current_thread() is threading.main_thread():
        return function
    return partial(_in_new_thread, function)


def _in_new_thread(function: Callable[..., Value], *args: Any, **kwargs: Any) -> Value:
    """Call a function in a new thread and wait for it.

    The garbage collector is off meanwhile, as finalizers that it runs in that thread may need a lock that the waiting
    thread holds.
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
    """Context manager that turns the garbage collector off while any thread is in its block.

    It also protects changes of context variables: during such a change the collector of Python 3.11 may run code with
    another change, which frees objects that the first change reads. From Python 3.12 on the collector runs between two
    instructions.

    The native implementation is preferred, because Ctrl-C at the start of this `__exit__` leaves the collector off.

    Attributes
    ----------
    blocks : int
        Number of blocks that have begun and not ended, in all threads.
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
collector_off: Any = _collector if native is None else native.Collector()


def without_collector(function: Callable[..., Value], *args: Any) -> Value:
    """Call a function while the garbage collector is off. Afterwards it is on again, even after Ctrl-C."""
    if native is not None:
        with collector_off:
            return function(*args)
    # written out: Python runs no signal handler between these instructions, but it would at the start of `__exit__`
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
    """Import a module, and return only when the import is complete.

    A signal handler that needs a module whose import it has interrupted would get a partly initialized module. So a new
    thread imports the module, and other callers, handlers included, wait for that thread. These threads run one after
    another: two threads that import modules which import each other would each get a partly initialized one.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    if _is_importing():  # this thread may hold the import lock of a module that the new thread would wait for
        return import_module(name)
    try:
        return _in_new_thread(_import_in_turn, name)
    except RuntimeError:  # no thread can be started, as at the end of the process
        return import_module(name)


_turns: list[threading.Event] = []  # of unfinished imports, in the order in which they began


def _import_in_turn(name: str) -> Any:
    """Import a module after those that other threads are importing.

    The new thread adds its own turn to the queue. If its creator did, and a signal handler kept the thread from being
    started, all later imports would wait forever.
    """
    turn = threading.Event()
    _turns.append(turn)
    try:
        for earlier in [*_turns]:
            if earlier is turn:
                break
            earlier.wait()
        return import_module(name)
    finally:
        turn.set()
        _turns.remove(turn)


def _is_importing() -> bool:
    """Return whether the calling thread is importing a module."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in ("importlib._bootstrap", "_frozen_importlib"):
            return True
        frame = frame.f_back
    return False
