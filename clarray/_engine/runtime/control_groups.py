"""Limits that Linux control groups (containers, systemd, batch systems) set for this process.

Both versions of the interface are supported. A group's limit holds for all groups below it, so the limits of all
visible groups between the process's own and the root count.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_NO_LIMIT = 1 << 62  # version 1 reports about 2**63 for no limit
_ROOT = Path("/")


class _Interface(NamedTuple):
    """The files of a controller in one version of the interface."""

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
    """Yield limit and usage in bytes for each limit on this process's memory. Cached files do not count as used."""
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
        folders = {base}  # in a container the own group may be the root, or have its path on the host
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if interface.controller in controllers.split(","):
                own = PurePosixPath(path.strip("/"))
                folders.update(base / group for group in (own, *own.parents))
        groups += [
            (folder, interface)
            for folder in sorted(folders)
            if any((folder / name).is_file() for name in interface.limits)
        ]
    return groups


def _cached_files(folder: Path) -> int:
    """Return the bytes of cached files in a group and the groups below it, which the system can drop."""
    total = 0
    names = ("inactive_file", "active_file")
    with contextlib.suppress(OSError, ValueError):
        account = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines() if line)
        total = sum(int(account.get(f"total_{name}", account.get(name, 0))) for name in names)
    return total


__all__ = ["memory_limits", "processor_limits"]
