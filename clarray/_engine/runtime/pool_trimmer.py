"""A thread that gives back what pools keep in vain, so that processes on one machine do not starve each other.

    once a second, for each pool that has taken more than a little
        host memory is short, or another process has asked
        for memory of that kind                            -> nothing is kept
        nothing has been taken or returned for a while     -> a little is kept
        a device is at work                                -> the next time

A process that does nothing makes no call in which it could notice that others need its memory; hence a thread. It runs
while more than a little is taken, and takes no lock that somebody else holds.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import weakref
from typing import TYPE_CHECKING

from clarray._engine.runtime.cache import cache_folder
from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.host_memory import available_host_bytes, is_short, total_host_bytes
from clarray._engine.runtime.interrupts import take_at_once
from clarray._engine.runtime.private_files import PrivateFolder
from clarray._engine.threads import start

if TYPE_CHECKING:
    from clarray._engine.runtime.pool import Pool

FEW = 64 << 20  # bytes that are not worth a thread
SECONDS = 1.0
_STILL = 10  # rounds in which nothing moves until it is given back: taking 1 GiB anew costs 0.1 to 0.2 s

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_lock = threading.Lock()  # of the set and the thread
_thread: threading.Thread | None = None
_ended = threading.Event()


def watch(pool: Pool) -> None:
    """See to it that a pool is looked at; a later call will do where the thread is just starting or ending.

    Not for where memory is dropped: that may be in the midst of what starts a thread.
    """
    global _thread
    if _thread is not None and pool in _pools:
        return
    taken: list[bool] = []
    try:
        if not take_at_once(_lock, taken):
            return
        _pools.add(pool)
        if _thread is None:
            _thread = threading.Thread(target=_keep_looking, name="clarray memory", daemon=True)
            with contextlib.suppress(RuntimeError):  # the process ends, or has too many threads
                start(_thread)
                return
            _thread = None
    finally:
        if True in taken:
            _lock.release()


def ask_others(pool: Pool) -> None:
    """Ask the user's other processes, by a file's time, for what they keep: of the host's memory, or of devices'."""
    with contextlib.suppress(OSError):
        _signs().write(_SIGNS[pool.in_host_memory], b"")


_SIGNS = {True: "host-memory-wanted", False: "device-memory-wanted"}  # by whether the host's memory is wanted


def _signs() -> PrivateFolder:
    return PrivateFolder(cache_folder())


def _asked(of_host: bool) -> int:
    """When a process has last asked."""
    with contextlib.suppress(OSError):
        return _signs().status(_SIGNS[of_host]).st_mtime_ns
    return 0


Seen = tuple[object, int]  # how a pool was found, and for how many rounds


def _keep_looking() -> None:
    seen: dict[int, Seen] = {}  # by pool
    total = total_host_bytes()
    asked = {of_host: _asked(of_host) for of_host in (True, False)}
    while not _ended.wait(SECONDS):
        before, asked = asked, {of_host: _asked(of_host) for of_host in asked}
        wanted = {of_host: asked[of_host] != before[of_host] for of_host in asked}
        wanted[True] |= is_short(available_host_bytes(), total)
        seen = _round(wanted, seen)
        if not seen and _is_over():
            return


def _round(wanted: dict[bool, bool], seen: dict[int, Seen]) -> dict[int, Seen]:
    """Look at all pools that have taken more than a little; no reference to them is kept."""
    with _lock:
        pools = list(_pools)
    large = [pool for pool in pools if pool.reserved > FEW]
    return {id(pool): _look_at(pool, wanted[pool.in_host_memory], *seen.get(id(pool), (None, 0))) for pool in large}


def _look_at(pool: Pool, wanted: bool, before: object, rounds: int) -> Seen:
    state = pool.state()
    rounds = rounds + 1 if state == before else 0
    with contextlib.suppress(Exception):  # a device that is lost says so where it is used
        if wanted:
            pool.release_unless_busy(0)
        elif rounds >= _STILL:
            pool.release_unless_busy(FEW)
    return state, rounds


def _is_over() -> bool:
    """Whether this thread ends: no pool has taken more than a little."""
    global _thread
    with _lock:
        if any(pool.reserved > FEW for pool in _pools):
            return False
        _pools.clear()
        _thread = None
        return True


@atexit.register
def _end() -> None:
    """Touch no device any more while the process ends."""
    _ended.set()
    thread = _thread
    if thread is not None:
        thread.join(SECONDS)


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Forget a thread that has stayed in the parent, and pools that cannot be used."""
    global _lock, _thread, _ended
    _lock, _ended = threading.Lock(), threading.Event()
    _thread = None
    _pools.clear()
