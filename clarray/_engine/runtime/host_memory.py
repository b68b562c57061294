"""The limits on host memory that the system, containers and the process itself set, and the limit on threads."""

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
_MAX_MAPPED = 1 << 36  # bytes: the largest mapping that is tried
_MAP_NORESERVE = 0x4000  # Linux's number: no memory is reserved for pages that are never touched
_SHORTAGE_DIVISOR = 8  # memory is short if less than total / 8 is available
_RECENT_SECONDS = 0.1  # for which an answer is reused where memory is dropped: asking the system takes 0.1 ms
_recent_available = [0.0, 0]  # the time of the last answer, and the available bytes
_AMPLE_BYTES = 1 << 30  # processes touch less in `_RECENT_SECONDS`
_recent_shared = [-_RECENT_SECONDS, 0]  # the time, and the available bytes of memory shared with other processes


class MemoryNeed(NamedTuple):
    """Bytes of address space (``ulimit -v``), private data (``ulimit -d``) and resident memory that a step needs."""

    addresses: int
    data: int
    resident: int


def need_in_mib(addresses: int, data: int, resident: int) -> MemoryNeed:
    return MemoryNeed(addresses << 20, data << 20, resident << 20)


# The most that each step used in new processes without a limit: MiB of addresses, data and resident memory. With less
# some steps succeed, and others fail or crash. In parentheses: the least that sufficed, found by bisection.
# Kernels of ten families; 2 cores (AMD EPYC, Zen 4), PoCL 3.0, Intel's runtime 2026.2, 2026-11-28.
#
#                                      PoCL                    Intel
#   loading both drivers               697, 143, 109 (656)     2 threads of PoCL's; 1021, 275, 109 (833) with 8
#   a device's first kernel            126, 125, 152 (59)      132, 109, 162 (93)
#   a later kernel                      74,  50,  15            80,  50,  16
#   loading machine code from disk      28,  28,  19 (4)        55,  30,  21 (24)
#   giving a program's binary          282, 282,  15 (282)     nothing; PoCL allocates 256 and touches little of it
_CORES = os.cpu_count() or 1
DRIVERS_NEED = need_in_mib(704 + 24 * _CORES, 128 + 24 * _CORES, 144)  # each thread of PoCL's has a stack of 8 MiB
FIRST_KERNEL_NEED = need_in_mib(160, 160, 192)
LATER_KERNEL_NEED = need_in_mib(96, 96, 64)
BINARY_LOAD_NEED = need_in_mib(40, 40, 32)
_RESERVE = LATER_KERNEL_NEED  # arrays leave this much of each limit, for kernels that are compiled later


class Shortage(NamedTuple):
    """A limit that leaves fewer bytes than needed."""

    limit: str
    available: int
    needed: int


def total_host_bytes() -> int:
    """Return the most memory that this process may use, or a very large number if nothing limits it."""
    total = _NO_LIMIT
    with contextlib.suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    containers = [limit for limit, _ in memory_limits()]
    return min([total, *containers, *(limit for _, limit, _, _ in _own_limits())])


def available_host_bytes() -> int:
    """Return the bytes that arrays can allocate now. A reserve for the compiler is subtracted."""
    available = [limit - used - _RESERVE.resident for limit, used in memory_limits()]
    available += [limit - used - reserve for _, limit, used, reserve in _own_limits()]
    return max(min([*available, _free_bytes()]), 0)


def container_bytes_for_arrays() -> int:
    """Return the bytes of a container's memory that arrays may allocate, including pages that are not touched yet.

    The usage of the control group counts touched pages only, and later launches touch the other pages.
    """
    limits = [limit for limit, _ in memory_limits()]
    needs = (DRIVERS_NEED, FIRST_KERNEL_NEED, LATER_KERNEL_NEED)
    return min(limits, default=_NO_LIMIT) - sum(need.resident for need in needs)


def shortage(need: MemoryNeed) -> Shortage | None:
    """Return the first limit that leaves less memory than `need`, or None if there is enough."""
    checks = [(name, limit - used, nbytes) for name, limit, used, nbytes in _own_limits(need)]
    if time.monotonic() - _recent_shared[0] > _RECENT_SECONDS or _recent_shared[1] < need.resident + _AMPLE_BYTES:
        shared = [("the system", _free_bytes())]
        shared += [("the control group (container)", limit - used) for limit, used in memory_limits()]
        _recent_shared[:] = time.monotonic(), min(available for _, available in shared)
        checks += [(name, available, need.resident) for name, available in shared]
    return next((Shortage(*check) for check in checks if check[1] < check[2]), None)


def process_limits() -> list[str]:
    """Return a text for each limit on memory and on the size of files that is set for this process."""
    if sys.platform == "win32":
        return []
    kinds = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA, "ulimit -f": resource.RLIMIT_FSIZE}
    limits = {name: resource.getrlimit(kind)[0] for name, kind in kinds.items()}
    return [f"{name}: {format_bytes(limit)}" for name, limit in limits.items() if limit != resource.RLIM_INFINITY]


def _free_bytes() -> int:
    """Return the bytes available without swapping, or a very large number if the system does not report them."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open("/proc/meminfo") as info:
                text = info.read(512)
            return int(text.partition("MemAvailable:")[2].split(maxsplit=1)[0]) << 10
    return _NO_LIMIT


def recently_available_host_bytes() -> int:
    """Return `available_host_bytes` of at most 0.1 s ago, for callers that must not wait for the system."""
    now = time.monotonic()
    if now - _recent_available[0] > _RECENT_SECONDS:
        _recent_available[:] = now, available_host_bytes()
    return int(_recent_available[1])


def is_host_memory_short(available: int, total: int) -> bool:
    """Return whether so little host memory is available that pools must release their free blocks."""
    return available < total // _SHORTAGE_DIVISOR


def usable_processors(count: int) -> int:
    """Return how many of `count` processors this process may use, by its affinity and its control groups."""
    allowed = [count]
    if hasattr(os, "sched_getaffinity"):
        allowed.append(len(os.sched_getaffinity(0)))
    allowed.extend(processor_limits())
    return max(1, min(allowed))


def _own_limits(need: MemoryNeed = _RESERVE) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, limit, usage and need for each limit of the process itself (``ulimit -v``, ``ulimit -d``)."""
    if sys.platform == "linux":
        limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
        if any(limit != resource.RLIM_INFINITY for limit in limits):
            used = _used_bytes(limits)
            for name, limit, used_bytes, nbytes in zip(("ulimit -v", "ulimit -d"), limits, used, need[:2], strict=True):
                if limit != resource.RLIM_INFINITY:
                    yield name, limit, used_bytes, nbytes


def _used_bytes(limits: Sequence[int]) -> tuple[int, ...]:
    """Return the used bytes of the limits on address space and private data.

    Without /proc the largest mapping that the system grants counts as the available rest.
    """
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as pages:
            size, *_, data, _ = map(int, pages.read().split())
        return size * resource.getpagesize(), data * resource.getpagesize()
    return tuple(limit - _largest_mapping(limit) if limit != resource.RLIM_INFINITY else 0 for limit in limits)


def _largest_mapping(limit: int) -> int:
    """Return the size of the largest private mapping that the system grants, in steps of 1 MiB up to `limit` bytes."""
    granted, refused = 0, (min(limit, _MAX_MAPPED) >> 20) + 1
    while refused - granted > 1:
        middle = (granted + refused) // 2
        try:
            mmap.mmap(-1, middle << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE).close()
            granted = middle
        except OSError:
            refused = middle
    return granted << 20


def format_bytes(nbytes: int) -> str:
    """Format a number of bytes with a unit.

    Examples
    --------
    >>> format_bytes(100), format_bytes(3 << 29)
    ('100 bytes', '1.50 GiB')
    """
    if nbytes < 1 << 10:
        return f"{nbytes} bytes"
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if nbytes >= 1 << exponent:
            return f"{nbytes / (1 << exponent):.2f} {unit}"
    return f"{nbytes / (1 << 10):.2f} KiB"


def require_threads(count: int, what: str) -> None:
    """Raise OSError if `count` more threads cannot be started. Libraries abort the process in that case."""
    if sys.is_finalizing():  # Python starts no threads any more, but libraries do
        return
    ended = threading.Event()
    threads: list[threading.Thread] = []
    with collector_off:  # a finalizer in a new thread may need a lock that the caller holds
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
