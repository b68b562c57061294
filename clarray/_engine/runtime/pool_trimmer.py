"""A background thread that releases the free blocks of pools, so that other processes can use the memory.

    once a second, for each pool that has reserved more than `NEGLIGIBLE_BYTES`
        host memory is short, or another process has requested
        memory of that kind                                    -> release all free blocks
        no block was taken or returned for `_IDLE_ROUNDS`      -> release all but `NEGLIGIBLE_BYTES`
        the device is busy                                     -> try again in the next round

An idle process makes no call in which it could notice that other processes need its memory, so a thread is needed. It
runs while a pool has reserved more than `NEGLIGIBLE_BYTES`, and never waits for a lock of a device.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import weakref
from typing import TYPE_CHECKING

from clarray._engine.runtime.cache import cache_folder
from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.host_memory import available_host_bytes, is_host_memory_short, total_host_bytes
from clarray._engine.runtime.interrupts import try_acquire
from clarray._engine.runtime.private_files import PrivateFolder
from clarray._engine.threads import start

if TYPE_CHECKING:
    from clarray._engine.runtime.pool import Pool

NEGLIGIBLE_BYTES = 64 << 20  # pools up to this size need no thread
INTERVAL_SECONDS = 1.0
_IDLE_ROUNDS = 10  # rounds without a change until free blocks are released: allocating 1 GiB costs 0.1 to 0.2 s

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_lock = threading.Lock()  # protects `_pools` and `_thread`
_thread: threading.Thread | None = None
_exiting = threading.Event()


def watch(pool: Pool) -> None:
    """Add a pool to those that the thread trims, and start the thread if it does not run.

    If another call is starting or ending the thread, nothing happens: a later call adds the pool. Do not call this
    while memory is dropped, which may happen inside the code that starts a thread.
    """
    global _thread
    if _thread is not None and pool in _pools:
        return
    acquired: list[bool] = []
    try:
        if not try_acquire(_lock, acquired):
            return
        _pools.add(pool)
        if _thread is None:
            _thread = threading.Thread(target=_run, name="clarray memory", daemon=True)
            with contextlib.suppress(RuntimeError):  # the process ends, or has too many threads
                start(_thread)
                return
            _thread = None
    finally:
        if True in acquired:
            _lock.release()


def request_memory(pool: Pool) -> None:
    """Ask the user's other processes to release free blocks of the pool's kind of memory, by touching a file."""
    with contextlib.suppress(OSError):
        _request_folder().write(_REQUEST_FILES[pool.in_host_memory], b"")


_REQUEST_FILES = {True: "host-memory-wanted", False: "device-memory-wanted"}  # by `Pool.in_host_memory`


def _request_folder() -> PrivateFolder:
    return PrivateFolder(cache_folder())


def _last_request(in_host_memory: bool) -> int:
    """Return the time of the last request in nanoseconds, or 0 if there was none."""
    with contextlib.suppress(OSError):
        return _request_folder().status(_REQUEST_FILES[in_host_memory]).st_mtime_ns
    return 0


PoolRound = tuple[object, int]  # the fingerprint of a pool, and the number of rounds for which it has not changed


def _run() -> None:
    rounds: dict[int, PoolRound] = {}  # by id of the pool
    total = total_host_bytes()
    requests = {in_host_memory: _last_request(in_host_memory) for in_host_memory in (True, False)}
    while not _exiting.wait(INTERVAL_SECONDS):
        previous, requests = requests, {in_host_memory: _last_request(in_host_memory) for in_host_memory in requests}
        is_needed = {
            in_host_memory: requests[in_host_memory] != previous[in_host_memory] for in_host_memory in requests
        }
        is_needed[True] |= is_host_memory_short(available_host_bytes(), total)
        rounds = _trim_large_pools(is_needed, rounds)
        if not rounds and _stop_if_unneeded():
            return


def _trim_large_pools(is_needed: dict[bool, bool], rounds: dict[int, PoolRound]) -> dict[int, PoolRound]:
    """Trim each pool that has reserved more than `NEGLIGIBLE_BYTES`, without holding references to pools.

    Parameters
    ----------
    is_needed : dict of bool to bool
        Whether other processes need memory, by `Pool.in_host_memory`.
    rounds : dict of int to PoolRound
        The result of the previous round.
    """
    with _lock:
        pools = list(_pools)
    large = [pool for pool in pools if pool.reserved > NEGLIGIBLE_BYTES]
    return {
        id(pool): _trim_pool(pool, is_needed[pool.in_host_memory], *rounds.get(id(pool), (None, 0))) for pool in large
    }


def _trim_pool(pool: Pool, is_needed: bool, previous: object, idle_rounds: int) -> PoolRound:
    fingerprint = pool.fingerprint()
    idle_rounds = idle_rounds + 1 if fingerprint == previous else 0
    with contextlib.suppress(Exception):  # the next use of a lost device reports the error
        if is_needed:
            pool.release_unless_busy(0)
        elif idle_rounds >= _IDLE_ROUNDS:
            pool.release_unless_busy(NEGLIGIBLE_BYTES)
    return fingerprint, idle_rounds


def _stop_if_unneeded() -> bool:
    """Clear the thread's state and return True if no pool has reserved more than `NEGLIGIBLE_BYTES`."""
    global _thread
    with _lock:
        if any(pool.reserved > NEGLIGIBLE_BYTES for pool in _pools):
            return False
        _pools.clear()
        _thread = None
        return True


@atexit.register
def _stop_at_exit() -> None:
    """End the thread, so that no device is used while the process ends."""
    _exiting.set()
    thread = _thread
    if thread is not None:
        thread.join(INTERVAL_SECONDS)


@after_fork_in_child
def _after_fork_in_child() -> None:
    """Drop the parent's thread, which does not run here, and its pools, which cannot be used."""
    global _lock, _thread, _exiting
    _lock, _exiting = threading.Lock(), threading.Event()
    _thread = None
    _pools.clear()
