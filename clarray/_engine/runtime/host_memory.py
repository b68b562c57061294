"""The limits of the process: host memory, by the system's, the container's and its own account, and threads."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clarray._engine.runtime.control_groups import memory_limits, processor_limits
from clarray._engine.threads import collector_off

if sys.platform != "win32":
    import resource

_NO_LIMIT = 1 << 62
_MOST_MAPPED = 1 << 36  # bytes that a look by mappings finds at most
_MAP_NORESERVE = 0x4000  # Linux's number: nothing is set aside for pages that are never touched
_SHORT = 8  # memory is short where less than this part of it is left
_RECENT = 0.1  # seconds for which an answer will do where memory is dropped: it takes some 0.1 ms
_ANSWERED = [0.0, 0]  # when, and the answer
_PLENTY = 1 << 30  # bytes: processes touch less in that time
_plenty = [-_RECENT, 0]  # when what is left of the memory shared with other processes was read, and how much that was


class Room(NamedTuple):
    """Memory that something may need: address space, private data (``ulimit -v``, ``ulimit -d``), and resident."""

    addresses: int
    data: int
    resident: int


def mebibytes(addresses: int, data: int, resident: int) -> Room:
    return Room(addresses << 20, data << 20, resident << 20)


# The most that each step took in new processes without a limit: MiB of addresses, data and resident memory. With less
# some steps succeed, and others fail or crash: the least that sufficed, found by bisection, is in parentheses.
# Kernels of ten families; 2 cores (AMD EPYC, Zen 4), PoCL 3.0, Intel's runtime 2026.2, 2026-11-28.
#
#                                      PoCL                    Intel
#   loading both drivers               697, 143, 109 (656)     2 threads of PoCL's; 1021, 275, 109 (833) with 8
#   a device's first kernel            126, 125, 152 (59)      132, 109, 162 (93)
#   a later kernel                      74,  50,  15            80,  50,  16
#   loading machine code from disk      28,  28,  19 (4)        55,  30,  21 (24)
#   giving a program's binary          282, 282,  15 (282)     nothing; PoCL allocates 256 and touches little of it
_CORES = os.cpu_count() or 1
DRIVERS = mebibytes(704 + 24 * _CORES, 128 + 24 * _CORES, 144)  # each thread of PoCL's has a stack of 8 MiB
FIRST = mebibytes(160, 160, 192)
LATER = mebibytes(96, 96, 64)
LOADER = mebibytes(40, 40, 32)
_RESERVE = LATER  # what arrays leave of a limit, for kernels that are still to be compiled


class Shortage(NamedTuple):
    """A limit that leaves less than is needed, in bytes."""

    limit: str
    left: int
    needed: int


def total_host_bytes() -> int:
    """Give the memory this process may have at most; a very large number where nobody says."""
    total = _NO_LIMIT
    with contextlib.suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    containers = [limit for limit, _ in memory_limits()]
    return min([total, *containers, *(limit for _, limit, _, _ in _own())])


def available_host_bytes() -> int:
    """Return the bytes that arrays can take now: what the system and the limits leave, less a reserve for compiling."""
    left = [limit - used - _RESERVE.resident for limit, used in memory_limits()]
    left += [limit - used - reserve for _, limit, used, reserve in _own()]
    return max(min([*left, _free_bytes()]), 0)


def container_bytes_for_arrays() -> int:
    """Return the bytes that arrays may take of a container's memory, pages that are not touched yet among them.

    The group's usage counts touched pages only, and launches touch theirs after later arrays have been allocated.
    """
    limits = [limit for limit, _ in memory_limits()]
    return min(limits, default=_NO_LIMIT) - DRIVERS.resident - FIRST.resident - LATER.resident


def shortage(room: Room) -> Shortage | None:
    """Return the first limit that leaves less memory than needed; None if there is enough."""
    limits = [(name, limit - used, need) for name, limit, used, need in _own(room)]
    if time.monotonic() - _plenty[0] > _RECENT or _plenty[1] < room.resident + _PLENTY:
        shared = [("the system", _free_bytes())]
        shared += [("the control group (container)", limit - used) for limit, used in memory_limits()]
        _plenty[:] = time.monotonic(), min(left for _, left in shared)
        limits += [(name, left, room.resident) for name, left in shared]
    return next((Shortage(*each) for each in limits if each[1] < each[2]), None)


def process_limits() -> list[str]:
    """Return the limits on memory and on the size of files that are set for this process, as people read them."""
    if sys.platform == "win32":
        return []
    kinds = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA, "ulimit -f": resource.RLIMIT_FSIZE}
    limits = {name: resource.getrlimit(kind)[0] for name, kind in kinds.items()}
    return [f"{name}: {in_units(limit)}" for name, limit in limits.items() if limit != resource.RLIM_INFINITY]


def _free_bytes() -> int:
    """Return what the system can give without swapping; a very large number if it does not say."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open("/proc/meminfo") as info:
                text = info.read(512)
            return int(text.partition("MemAvailable:")[2].split(maxsplit=1)[0]) << 10
    return _NO_LIMIT


def recently_available_host_bytes() -> int:
    """Give the memory that could be taken a moment ago, for who must not wait for the system's answer."""
    now = time.monotonic()
    if now - _ANSWERED[0] > _RECENT:
        _ANSWERED[:] = now, available_host_bytes()
    return int(_ANSWERED[1])


def is_short(available: int, total: int) -> bool:
    """Whether so little of the host's memory is left that other processes need what this one only keeps."""
    return available < total // _SHORT


def processors(most: int) -> int:
    """Give how many processors this process may use, of so many: not all are its own, or have time for it."""
    allowed = [most]
    if hasattr(os, "sched_getaffinity"):
        allowed.append(len(os.sched_getaffinity(0)))
    allowed.extend(processor_limits())
    return max(1, min(allowed))


def _own(room: Room = _RESERVE) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, limit, usage and need for each limit of the process itself (``ulimit -v``, ``ulimit -d``)."""
    if sys.platform == "linux":
        limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
        if any(limit != resource.RLIM_INFINITY for limit in limits):
            used = _used_bytes(limits)
            for name, limit, taken, need in zip(("ulimit -v", "ulimit -d"), limits, used, room[:2], strict=True):
                if limit != resource.RLIM_INFINITY:
                    yield name, limit, taken, need


def _used_bytes(limits: Sequence[int]) -> tuple[int, ...]:
    """Return how much of the limits on address space and private data is used.

    Without /proc the largest mapping that the system grants is taken for what is left.
    """
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as pages:
            size, *_, data, _ = map(int, pages.read().split())
        return size * resource.getpagesize(), data * resource.getpagesize()
    return tuple(limit - _largest_mapping(limit) if limit != resource.RLIM_INFINITY else 0 for limit in limits)


def _largest_mapping(most: int) -> int:
    """Return the largest private mapping, in MiB steps, that the system grants; `most` bytes at most."""
    granted, refused = 0, (min(most, _MOST_MAPPED) >> 20) + 1
    while refused - granted > 1:
        middle = (granted + refused) // 2
        try:
            mmap.mmap(-1, middle << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE).close()
            granted = middle
        except OSError:
            refused = middle
    return granted << 20


def in_units(nbytes: int) -> str:
    """Give a size as people read it.

    Examples
    --------
    >>> in_units(100), in_units(3 << 29)
    ('100 bytes', '1.50 GiB')
    """
    if nbytes < 1 << 10:
        return f"{nbytes} bytes"
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if nbytes >= 1 << exponent:
            return f"{nbytes / (1 << exponent):.2f} {unit}"
    return f"{nbytes / (1 << 10):.2f} KiB"


def require_threads(count: int, what: str) -> None:
    """Raise OSError if so many threads or processes cannot be started, before a library does that stops the process."""
    if sys.is_finalizing():  # Python starts no thread then, and libraries still do
        return
    ended = threading.Event()
    threads: list[threading.Thread] = []
    with collector_off:  # code that it runs in a thread may need a lock that the caller holds
        try:
            for _ in range(count):
                thread = threading.Thread(target=ended.wait, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError:
            raise OSError(
                errno.EAGAIN,
                f"{what} may start {count} threads or processes, and only {len(threads)} can be started: raise the "
                "limit (ulimit -u, or pids.max of the container)",
            ) from None
        finally:
            ended.set()
            for thread in threads:
                thread.join()
