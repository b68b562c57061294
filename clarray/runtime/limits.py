"""How much host memory there is, by the system's and the container's own account."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_NO_LIMIT = 1 << 62
# (limit, current use) of the container, newer and older layout
_CONTAINER = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
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
    found = []
    for limit, used in _CONTAINER:
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            found.append((int(Path(limit).read_text()), int(Path(used).read_text())))
    return [(limit, used) for limit, used in found if limit < _NO_LIMIT]


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
