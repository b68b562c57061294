"""How much host memory there is, by the system's, the container's and the process's own account."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

if sys.platform != "win32":
    import resource

_NO_LIMIT = 1 << 62
_GROUPS = Path("/proc/self/cgroup")
# Where control groups lie, their controller, its limit and what it uses: in the newer layout and in the older one.
_CONTAINERS = (
    (Path("/sys/fs/cgroup"), "", "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
_RUNTIMES = 64 << 20  # bytes below the process's own limits: a runtime that gets no memory at all ends the process
_SHORT = 8  # memory is short where less than this part of it is left
_CPU_TIME = (
    (Path("/sys/fs/cgroup"), "", "cpu.max", "cpu.max"),
    (Path("/sys/fs/cgroup/cpu"), "cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"),
)
_RECENT = 0.1  # seconds for which an answer will do where memory is dropped: it takes some 0.1 ms
_ANSWERED = [0.0, 0]  # when, and the answer


def total_host_bytes() -> int:
    """Give the memory this process may have at most; a very large number where nobody says."""
    total = _NO_LIMIT
    with contextlib.suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([total, *(limit for limit, _ in (*_container(), *_own()))])


def available_host_bytes() -> int:
    """Give the memory that can be taken now without driving anything out."""
    left = [limit - used for limit, used in (*_container(), *_own())]
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open("/proc/meminfo") as info:
                text = info.read(512)
            left.append(int(text.partition("MemAvailable:")[2].split(maxsplit=1)[0]) << 10)
    return max(min(left, default=_NO_LIMIT), 0)


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
    for folder, quota, period in _groups(_CPU_TIME):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            numbers = (folder / quota).read_text().split()
            if period != quota:
                numbers.append((folder / period).read_text())
            time_given, time_passing = map(int, numbers)
            if time_given > 0:
                allowed.append(-(-time_given // time_passing))
    return max(1, min(allowed))


def _container() -> Iterator[tuple[int, int]]:
    """Give limit and use of each control group of the process that has a limit."""
    for folder, limit, used in _groups(_CONTAINERS):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            most = int((folder / limit).read_text())
            if most < _NO_LIMIT:
                yield most, int((folder / used).read_text()) - _file_cache(folder)


@cache
def _groups(containers: tuple[tuple[Path, str, str, str], ...]) -> list[tuple[Path, str, str]]:
    """List the folders of the process's control groups and of those around them, as far as they are to be seen."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = _GROUPS.read_text().splitlines()
    found = []
    for root, controller, limit, used in containers:
        folders = {root}
        for _, controllers, path in (line.split(":", 2) for line in lines):
            if controller in controllers.split(","):
                own = PurePosixPath(path.strip("/"))
                folders.update(root / each for each in (own, *own.parents))
        found += [(folder, limit, used) for folder in sorted(folders) if (folder / limit).is_file()]
    return found


def _file_cache(folder: Path) -> int:
    """Give the bytes of files in a container's memory: they make way when it is needed."""
    lines = (folder / "memory.stat").read_text().splitlines()
    account = dict(line.split() for line in lines)
    return int(account.get("inactive_file", 0)) + int(account.get("active_file", 0))


def _own() -> Iterator[tuple[int, int]]:
    """Give limit and use of the process itself, where it has a limit (``ulimit -v``, ``ulimit -d``)."""
    if sys.platform == "linux":
        limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
        if any(limit != resource.RLIM_INFINITY for limit in limits):
            with contextlib.suppress(OSError, ValueError):
                with open("/proc/self/statm") as pages:
                    size, *_, data, _ = map(int, pages.read().split())
                for limit, used in zip(limits, (size, data), strict=True):
                    if limit != resource.RLIM_INFINITY:
                        yield limit, used * resource.getpagesize() + _RUNTIMES


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
