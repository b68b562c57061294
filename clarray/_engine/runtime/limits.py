"""How much host memory there is, by the system's, the container's and the process's own account."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from clarray._engine.runtime.control_groups import memory_limits, processor_limits

if sys.platform != "win32":
    import resource

_NO_LIMIT = 1 << 62
_SHORT = 8  # memory is short where less than this part of it is left
_RECENT = 0.1  # seconds for which an answer will do where memory is dropped: it takes some 0.1 ms
_ANSWERED = [0.0, 0]  # when, and the answer


class Room(NamedTuple):
    """Memory that something may need: address space, private data (``ulimit -v``, ``ulimit -d``), and resident."""

    addresses: int
    data: int
    resident: int


_MIB = 1 << 20
# Loading PoCL 3.0 and Intel's runtime, both of which a query of OpenCL loads: 585 MiB of addresses, 126 of data and 108
# resident, on 2 cores (Zen 4, 2026-11-28). Each further core has threads with stacks of 8 MiB.
_STACKS = 16 * _MIB * (os.cpu_count() or 1)
DRIVERS = Room(608 * _MIB + _STACKS, 160 * _MIB + _STACKS, 144 * _MIB)
# The first kernel of a process, by PoCL: 352 MiB of addresses (344 end the process), 177 of data, 217 resident.
POCL_FIRST = Room(448 * _MIB, 288 * _MIB, 256 * _MIB)
# By Intel's runtime: 139, 133 and 133 MiB.
FIRST = Room(224 * _MIB, 192 * _MIB, 176 * _MIB)
# Later kernels, of which the largest took 74, 15 and 15 MiB.
LATER = Room(192 * _MIB, 96 * _MIB, 64 * _MIB)
# Loading machine code from disk: at most 12, 12 and 10 MiB.
LOADER = Room(32 * _MIB, 32 * _MIB, 24 * _MIB)
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
    return min(limits, default=_NO_LIMIT) - DRIVERS.resident - POCL_FIRST.resident


def shortage(room: Room) -> Shortage | None:
    """Return the first limit that leaves less memory than needed; None if there is enough."""
    limits = [("the system", _free_bytes(), room.resident)]
    limits += [("the control group (container)", limit - used, room.resident) for limit, used in memory_limits()]
    limits += [(name, limit - used, need) for name, limit, used, need in _own(room)]
    return next((Shortage(*each) for each in limits if each[1] < each[2]), None)


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
            used = _used_pages()
            for name, limit, pages, need in zip(("ulimit -v", "ulimit -d"), limits, used, room[:2], strict=True):
                if limit != resource.RLIM_INFINITY:
                    yield name, limit, pages * resource.getpagesize(), need


def _used_pages() -> tuple[int, int]:
    """Return the pages of address space and of private data; without /proc an upper bound is not known, so none."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as pages:
            size, *_, data, _ = map(int, pages.read().split())
        return size, data
    return 0, 0


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
