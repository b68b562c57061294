"""Limits of control groups, read from files laid out as the system does."""

from __future__ import annotations

import errno
import math
import mmap
from pathlib import Path

import pytest

from clarray._engine.runtime import control_groups, host_memory
from clarray._engine.runtime.control_groups import memory_limits, processor_limits

NONE_V1 = "9223372036854771712"


def lay_out(root: Path, files: dict[str, str]) -> Path:
    """Write files below a root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


V2 = {
    "proc/self/cgroup": "0::/outer/inner",
    "sys/fs/cgroup/outer/memory.max": "5000",
    "sys/fs/cgroup/outer/memory.high": "max",
    "sys/fs/cgroup/outer/memory.current": "4000",
    "sys/fs/cgroup/outer/memory.stat": "anon 5\nactive_file 100\ninactive_file 900",
    "sys/fs/cgroup/outer/inner/memory.max": "max",
    "sys/fs/cgroup/outer/inner/memory.high": "3000",
    "sys/fs/cgroup/outer/inner/memory.current": "1000",
    "sys/fs/cgroup/outer/inner/memory.stat": "anon 5",
}
V1 = {
    "proc/self/cgroup": "4:memory,hugetlb:/outer/inner\n3:cpuset:/",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": NONE_V1,
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "9000",
    "sys/fs/cgroup/memory/memory.stat": "cache 1",
    "sys/fs/cgroup/memory/outer/memory.limit_in_bytes": "5000",
    "sys/fs/cgroup/memory/outer/memory.usage_in_bytes": "4000",
    "sys/fs/cgroup/memory/outer/memory.stat": "inactive_file 1\ntotal_inactive_file 900\ntotal_active_file 100",
    "sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes": "3000",
    "sys/fs/cgroup/memory/outer/inner/memory.usage_in_bytes": "1000",
    "sys/fs/cgroup/memory/outer/inner/memory.stat": "cache 1",
}
INSIDE = {  # a container that has the host's path of its group, and sees the group's files at the root
    "proc/self/cgroup": "4:memory:/docker/0123",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "700",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "300",
    "sys/fs/cgroup/memory/memory.stat": "",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (V2, {(5000, 3000), (3000, 1000)}),
        (V1, {(5000, 3000), (3000, 1000)}),
        (INSIDE, {(700, 300)}),
        ({}, set()),
        (V2 | {"sys/fs/cgroup/outer/inner/memory.current": "?"}, {(5000, 3000)}),
    ],
    ids=["v2", "v1", "inside", "none", "unreadable"],
)
def test_memory(files: dict[str, str], expected: set[tuple[int, int]], tmp_path: Path) -> None:
    assert set(memory_limits(lay_out(tmp_path, files))) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"sys/fs/cgroup/cpu.max": "50000 100000"}, [1]),
        ({"sys/fs/cgroup/cpu.max": "max 100000"}, []),
        ({"sys/fs/cgroup/cpu.max": ""}, []),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, [3]),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, []),
    ],
)
def test_processors(files: dict[str, str], expected: list[int], tmp_path: Path) -> None:
    assert list(processor_limits(lay_out(tmp_path, files))) == expected


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    lay_out(tmp_path, {name: text for name, text in INSIDE.items() if "proc" not in name})
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_bytes(b"4:memory:/caf\xe9\n")
    assert list(memory_limits(tmp_path)) == [(700, 300)]


def test_the_tightest_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mib = 1 << 20
    monkeypatch.setattr(host_memory, "_recent_shared", [-math.inf, 0])  # what another test has read a moment ago
    monkeypatch.setattr(host_memory, "memory_limits", lambda: iter([(900 * mib, 100 * mib), (700 * mib, 500 * mib)]))
    assert host_memory.total_host_bytes() == 700 * mib
    assert host_memory.available_host_bytes() == 200 * mib - host_memory.LATER_KERNEL_NEED.resident
    assert host_memory.container_bytes_for_arrays() < 700 * mib - 200 * mib
    short = host_memory.shortage(host_memory.MemoryNeed(0, 0, 201 * mib))
    assert short is not None
    assert (short.available, short.needed) == (200 * mib, 201 * mib)
    assert host_memory.shortage(host_memory.MemoryNeed(0, 0, 199 * mib)) is None
    monkeypatch.setattr(host_memory, "processor_limits", lambda: iter([3, 5]))
    assert host_memory.usable_processors(1) == 1
    assert host_memory.usable_processors(1 << 20) <= 3


@pytest.mark.skipif("sys.platform != 'linux'", reason="limits of Linux")
def test_what_is_left_of_a_limit_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest mapping that the system grants is what is left."""
    mib, granted = 1 << 20, mmap.mmap

    def grant(handle: int, size: int, flags: int) -> mmap.mmap:
        if size > 200 * mib:
            raise OSError(errno.ENOMEM, "no memory")
        return granted(handle, size, flags)

    def refuse(name: str) -> None:
        raise FileNotFoundError(name)

    monkeypatch.setattr(host_memory, "open", refuse, raising=False)
    unlimited = host_memory.resource.RLIM_INFINITY
    assert host_memory._used_bytes([100 * mib, unlimited]) == (0, 0)
    monkeypatch.setattr(mmap, "mmap", grant)
    assert host_memory._used_bytes([unlimited, 1000 * mib]) == (0, 800 * mib)


def test_ample_memory_is_not_read_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mib, reads = 1 << 20, [0]

    def read() -> int:
        reads[0] += 1
        return 2000 * mib

    monkeypatch.setattr(host_memory, "_recent_shared", [-1.0, 0])
    monkeypatch.setattr(host_memory, "_free_bytes", read)
    monkeypatch.setattr(host_memory, "memory_limits", lambda: iter(()))
    monkeypatch.setattr(host_memory.time, "monotonic", lambda: 5.0)
    assert [
        host_memory.shortage(host_memory.MemoryNeed(0, 0, need * mib)) is None for need in (100, 200, 1000, 2001)
    ] == [True] * 3 + [False]
    assert reads == [3]  # the third and the fourth leave less than processes can touch in that time


def test_the_process_has_read_its_own_groups() -> None:
    assert all(limit > 0 for limit, _ in control_groups.memory_limits())
