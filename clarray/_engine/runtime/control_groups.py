"""Limits that Linux control groups (containers, systemd, batch systems) put on this process.

Version 1 and version 2 of the interface are read. A group's limit holds for all groups below it, so the groups from
the process's own up to the root count, as far as the process sees them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_NO_LIMIT = 1 << 62  # version 1 writes about 2**63 where there is none
_ROOT = Path("/")


class _Interface(NamedTuple):
    """One version's files of a controller."""

    folder: str
    controller: str  # "" in version 2
    limits: tuple[str, ...]
    usage: str


_MEMORY = (
    _Interface("sys/fs/cgroup", "", ("memory.max", "memory.high"), "memory.current"),
    _Interface("sys/fs/cgroup/memory", "memory", ("memory.limit_in_bytes",), "memory.usage_in_bytes"),
)
_PROCESSORS = (
    _Interface("sys/fs/cgroup", "", ("cpu.max",), "cpu.max"),
    _Interface("sys/fs/cgroup/cpu", "cpu", ("cpu.cfs_quota_us",), "cpu.cfs_period_us"),
)


def memory_limits(root: Path = _ROOT) -> Iterator[tuple[int, int]]:
    """Yield limit and usage in bytes for each limit on this process's memory; cached files do not count as used."""
    for folder, interface in _groups(_MEMORY, root):
        for name in interface.limits:
            with contextlib.suppress(OSError, ValueError):  # "max": no limit
                limit = int((folder / name).read_text())
                if limit < _NO_LIMIT:
                    yield limit, int((folder / interface.usage).read_text()) - _cached_files(folder)


def processor_limits(root: Path = _ROOT) -> Iterator[int]:
    """Yield the number of processors, rounded up, for each limit on this process's processor time."""
    for folder, interface in _groups(_PROCESSORS, root):
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            numbers = (folder / interface.limits[0]).read_text().split()
            if interface.usage != interface.limits[0]:
                numbers.append((folder / interface.usage).read_text())
            quota, period = map(int, numbers)
            if quota > 0:
                yield -(-quota // period)


@cache
def _groups(interfaces: tuple[_Interface, ...], root: Path) -> list[tuple[Path, _Interface]]:
    """List the folders of this process's groups and their ancestors that have a controller's files."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text(errors="surrogateescape").splitlines()
    groups = []
    for interface in interfaces:
        base = root / interface.folder
        folders = {base}  # a container may see its own group as the root, or name it by the host's path
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if interface.controller in controllers.split(","):
                own = PurePosixPath(path.strip("/"))
                folders.update(base / each for each in (own, *own.parents))
        groups += [(each, interface) for each in sorted(folders) if any((each / n).is_file() for n in interface.limits)]
    return groups


def _cached_files(folder: Path) -> int:
    """Return the bytes of cached files in a group and those below it; the system drops them before it kills."""
    total = 0
    names = ("inactive_file", "active_file")
    with contextlib.suppress(OSError, ValueError):
        account = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines() if line)
        total = sum(int(account.get(f"total_{name}", account.get(name, 0))) for name in names)
    return total


__all__ = ["memory_limits", "processor_limits"]
