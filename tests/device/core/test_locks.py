"""The lock of devices and of the graph: threading.RLock's, and the compiled core's own."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
import threading
import time
from typing import Any

import pytest

from clarray._engine.runtime import current_device
from clarray._engine.speedups import native, reentrant_lock

from .test_threads import in_threads

WAIT = 0.05  # seconds


@pytest.fixture
def lock() -> Any:
    return reentrant_lock()


def held_by_another(lock: Any, release: threading.Event) -> threading.Thread:
    """Start a thread that holds a lock, twice, until it may let it go."""
    taken = threading.Event()

    def hold() -> None:
        with lock, lock:
            taken.set()
            assert release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(60)
    return thread


def is_free(lock: Any) -> bool:
    """Whether another thread could take a lock."""
    found: list[bool] = []

    def look() -> None:
        found.append(lock.acquire(False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(60)
    return found == [True]


def test_its_thread_may_take_it_again(lock: Any) -> None:
    assert is_free(lock)
    with lock:
        assert all([lock.acquire(), lock.acquire(False), lock.acquire(timeout=1), lock.acquire(True, 1)])
        for _ in range(4):
            assert not is_free(lock)
            lock.release()
        assert not is_free(lock)
    assert is_free(lock)


def test_only_who_holds_it_lets_it_go(lock: Any) -> None:
    with pytest.raises(RuntimeError):
        lock.release()
    release = threading.Event()
    thread = held_by_another(lock, release)
    with pytest.raises(RuntimeError):
        lock.release()
    assert not is_free(lock)
    release.set()
    thread.join(60)
    assert is_free(lock)


def test_an_error_lets_it_go(lock: Any) -> None:
    with pytest.raises(ZeroDivisionError), lock:
        1 / 0  # noqa: B018
    assert is_free(lock)


def test_waiting_for_some_time(lock: Any) -> None:
    release = threading.Event()
    thread = held_by_another(lock, release)
    assert not lock.acquire(False)
    start = time.monotonic()
    assert not lock.acquire(timeout=WAIT)
    assert not lock.acquire(True, WAIT)
    assert time.monotonic() - start >= 2 * WAIT * 0.9
    threading.Timer(WAIT, release.set).start()
    assert lock.acquire(timeout=60)
    lock.release()
    thread.join(60)
    with lock:
        pass


def test_one_thread_at_a_time_and_none_is_forgotten(lock: Any) -> None:
    inside = [0]

    def work(number: int) -> None:
        for turn in range(300):
            with lock:
                with lock:
                    inside[0] += 1
                if turn % 50 == number:
                    time.sleep(1e-4)  # lets others wait, and look at the lock
                assert inside[0] == 1
                inside[0] -= 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(work)
    finally:
        sys.setswitchinterval(before)
    assert is_free(lock)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer interrupts here")
def test_who_waits_can_be_interrupted(lock: Any) -> None:
    class Interrupt(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupt

    release = threading.Event()
    thread = held_by_another(lock, release)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for wait in (lock.acquire, lambda: lock.acquire(timeout=60), lock.__enter__):
            signal.setitimer(signal.ITIMER_REAL, WAIT)
            with pytest.raises(Interrupt):
                wait()
        signal.signal(signal.SIGALRM, lambda *_: release.set())  # an interrupt that raises nothing: it goes on waiting
        signal.setitimer(signal.ITIMER_REAL, WAIT)
        assert lock.acquire()
        lock.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        release.set()
        thread.join(60)
    assert is_free(lock)


def test_locks_come_and_go() -> None:
    kept = current_device().lock
    for _ in range(1000):
        with reentrant_lock():
            pass
    lock = reentrant_lock()
    assert lock.acquire()  # and is dropped while it is held
    del lock
    gc.collect()
    assert is_free(kept)


@pytest.mark.skipif(native is None, reason="Python 3.14 leaves its own locks held")
def test_an_interrupt_before_the_block_lets_it_go(lock: Any) -> None:
    """Python 3.14 handles signals between `__enter__` and the block, without a call of `__exit__`."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def loop() -> None:
        signal.setitimer(signal.ITIMER_REAL, 2e-4)
        while True:
            with lock:
                pass

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(300):
            with pytest.raises(KeyboardInterrupt):
                loop()
            with pytest.raises(RuntimeError, match="un-acquired"):
                lock.release()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_exit_is_a_method_of_the_class(lock: Any) -> None:
    """As `contextlib.ExitStack` calls it."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock)
        assert lock.acquire()
        assert lock.__exit__(None, None, None) is None
    with pytest.raises(RuntimeError, match="un-acquired"):
        lock.release()
