"""How much host memory there is, by the system's and the container's own account."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_NO_LIMIT = 1 << 62
# A container's limit, what it uses, and its account: in the newer layout and in the older one.
_CONTAINERS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def total_host_bytes() -> int:
    """Give the memory this process may have at most; a very large number where nobody says."""
    total = _NO_LIMIT
    with contextlib.suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([total, *(limit for limit, _ in _container())])


def available_host_bytes() -> int:
    """Give the memory that can be taken now without driving anything out."""
    left = [limit - used for limit, used in _container()]
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, StopIteration):
            lines = Path("/proc/meminfo").read_text().splitlines()
            line = next(line for line in lines if line.startswith("MemAvailable:"))
            left.append(int(line.split()[1]) << 10)
    return max(min(left, default=_NO_LIMIT), 0)


def _container() -> list[tuple[int, int]]:
    """Give limit and use of the container, where there is one with a limit."""
    found = []
    for folder, limit, used in _CONTAINERS:
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            most = int((folder / limit).read_text())
            if most < _NO_LIMIT:
                found.append((most, int((folder / used).read_text()) - _file_cache(folder)))
    return found


def _file_cache(folder: Path) -> int:
    """Give the bytes of files in a container's memory: they make way when it is needed."""
    lines = (folder / "memory.stat").read_text().splitlines()
    account = dict(line.split() for line in lines)
    return int(account.get("inactive_file", 0)) + int(account.get("active_file", 0))


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
