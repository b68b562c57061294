"""What pools keep for reuse, and the thread that gives it back when others need it or nobody uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

import clarray
from clarray._engine.runtime import Device, pool_trimmer
from clarray._engine.runtime import pool as pools
from clarray._engine.runtime.private_files import PrivateFolder

from ..caches import copy_device_record

MIB = 1 << 20
PATIENCE = 30.0  # seconds for what takes a fraction of one
ROOT = Path(__file__).resolve().parents[2]


def eventually(happens: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def quick(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Device]:
    """A device with an empty pool, whose thread looks a hundred times a second and hears this process alone."""
    clarray.free_memory()
    assert eventually(lambda: pool_trimmer._thread is None or device.pool.reserved > pool_trimmer.NEGLIGIBLE_BYTES)
    monkeypatch.setattr(pool_trimmer, "INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(pool_trimmer, "_request_folder", lambda: PrivateFolder(tmp_path))
    monkeypatch.setattr(pools, "is_host_memory_short", lambda available, total: False)
    monkeypatch.setattr(pool_trimmer, "is_host_memory_short", lambda available, total: False)
    yield device
    clarray.free_memory()


def fill(device: Device) -> int:
    """Have 200 MiB wait for reuse, in large blocks and in small ones; the bytes in all."""
    held = [device.allocate(40 * MIB) for _ in range(4)] + [device.allocate(MIB) for _ in range(40)]
    pool_trimmer.watch(device.pool)
    del held
    return device.pool.free_bytes()


def test_what_nobody_uses_is_given_back(quick: Device) -> None:
    assert fill(quick) >= 200 * MIB
    assert eventually(lambda: quick.pool.free_bytes() <= pool_trimmer.NEGLIGIBLE_BYTES)


def test_what_moves_stays(quick: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pool_trimmer, "_IDLE_ROUNDS", 100
    )  # a second: so long no thread of this process is kept from running
    fill(quick)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        held = quick.allocate(MIB)
        time.sleep(0.002)
        del held
        time.sleep(0.002)
    assert quick.pool.free_bytes() >= 200 * MIB


def test_all_goes_where_memory_is_short(quick: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the host's memory; what is short there says nothing of a device's own."""
    monkeypatch.setattr(pool_trimmer, "_IDLE_ROUNDS", 20)
    fill(quick)
    monkeypatch.setattr(pool_trimmer, "is_host_memory_short", lambda available, total: True)
    left = 0 if quick.capabilities.host_memory else pool_trimmer.NEGLIGIBLE_BYTES
    assert eventually(lambda: quick.pool.free_bytes() <= left)
    assert (quick.pool.free_bytes() == 0) == quick.capabilities.host_memory


def test_all_goes_where_another_process_asks(quick: Device) -> None:
    fill(quick)
    time.sleep(0.05)
    pool_trimmer.request_memory(quick.pool)
    assert eventually(lambda: quick.pool.free_bytes() == 0)


def test_a_device_at_work_is_left_alone(quick: Device) -> None:
    fill(quick)
    with quick.lock:  # the thread neither waits for it nor fails
        pool_trimmer.request_memory(quick.pool)
        free = quick.pool.free_bytes()
        time.sleep(0.1)
        assert quick.pool.free_bytes() == free
    pool_trimmer.request_memory(quick.pool)
    assert eventually(lambda: quick.pool.free_bytes() == 0)


def test_a_driver_that_refuses_is_asked_again(quick: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other processes give back is had, though nobody tells that it is there."""
    if quick.capabilities.host_memory:
        pytest.skip("the system tells")
    real, tries, asked = quick.pool._new_block, [], pool_trimmer._last_request(False)

    def refusing(*args: Any) -> Any:
        tries.append(time.monotonic())
        if pool_trimmer._last_request(False) == asked:
            raise cl.MemoryError("clCreateBuffer", cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE)
        return real(*args)

    monkeypatch.setattr(quick.pool, "_new_block", refusing)
    assert quick.allocate(33 * MIB).nbytes == 33 * MIB
    assert tries[-1] - tries[0] >= pool_trimmer.INTERVAL_SECONDS


def test_the_thread_ends_with_the_memory_and_comes_back(quick: Device) -> None:
    for _ in range(3):
        fill(quick)
        assert any(thread.name == "clarray memory" for thread in threading.enumerate())
        clarray.free_memory()
        assert eventually(lambda: pool_trimmer._thread is None)


def test_what_is_kept_leaves_room_for_others(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of n processes that each keep as much as they may, all together keep n / (n + 3) of what nobody uses."""
    if not device.capabilities.host_memory:
        pytest.skip("only the host's memory has others that can be seen")
    there, kept = 16 << 30, [0] * 7
    monkeypatch.setattr(device.pool._budget, "total", there)
    for _ in range(100):
        for process in range(7):
            left = there - sum(kept)
            monkeypatch.setattr(pools, "recently_available_host_bytes", lambda left=left: left)
            kept[process] = device.pool._retained_bytes(kept[process])
    assert sum(kept) == pytest.approx(0.7 * there, rel=0.01)
    monkeypatch.setattr(pools, "recently_available_host_bytes", lambda: there // 9)
    assert device.pool._retained_bytes(1 << 30) == 0


def test_blocks_of_many_sizes_do_not_pile_up(quick: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is taken than twice what is held at once, and a little; between two sizes blocks are still used again."""
    if not quick.capabilities.host_memory:
        pytest.skip("of a device's own memory half is kept")
    monkeypatch.setattr(pool_trimmer, "_IDLE_ROUNDS", 1 << 30)
    pool = quick.pool
    most = 2 * max(pool._peak_used, 150 * MIB) + pool_trimmer.NEGLIGIBLE_BYTES
    for size in range(40, 150, 5):
        quick.allocate(size * MIB)
        assert pool.reserved <= most
    handles = {(size, quick.allocate(size * MIB).handle) for _ in range(5) for size in (97, 150)}
    assert len(handles) == 2


# A process that keeps some 600 MiB for reuse in large blocks and in small ones, and does nothing.
KEEPS = """
import sys, time, clarray
from clarray._engine.runtime import pool_trimmer, host_memory
from pathlib import Path
group = Path(sys.argv[1])
host_memory.memory_limits = lambda: [tuple(int((group / f"memory.{name}").read_text()) for name in ("max", "current"))]
x = [clarray.zeros(size << 20, clarray.int8) for size in (100,) * 4 + (1,) * 200]
for each in x:
    each[0] = 1
clarray.synchronize()
del x, each
print("kept", clarray.memory_info().pooled, flush=True)
sys.stdin.readline()
end = time.monotonic() + 10
while clarray.memory_info().pooled and time.monotonic() < end:  # the last blocks may go at this moment
    time.sleep(0.01)
print("left", clarray.memory_info().pooled, flush=True)
"""
# Another, which finds the memory that there is taken by the first one, and needs it.
NEEDS = """
import sys, clarray
from clarray._engine.runtime import pool
def of_the_other():
    with open(f"/proc/{sys.argv[1]}/statm") as pages:
        return int(pages.read().split()[1]) << 12
there = of_the_other() + (100 << 20)
pool.available_host_bytes = lambda: there - of_the_other()
x = clarray.zeros(500 << 20, clarray.int8)
print("had", x.nbytes)
"""


@pytest.fixture
def keeper(device: Device, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    if not device.capabilities.host_memory or sys.platform != "linux":
        pytest.skip("only Linux tells what host memory is left")
    write_group(tmp_path, 100 * MIB)
    (tmp_path / "memory.max").write_text(str(16 << 30))
    (tmp_path / "memory.stat").write_text("anon 5\n")
    copy_device_record(tmp_path / "cache")
    environment = {**os.environ, "CLARRAY_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", KEEPS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    word, nbytes = process.stdout.readline().split()
    assert word == "kept"
    assert int(nbytes) >= 600 * MIB
    yield process
    process.kill()
    process.communicate()


def write_group(folder: Path, used: int) -> None:
    (folder / "memory.current.new").write_text(str(used))
    (folder / "memory.current.new").rename(folder / "memory.current")


def resident(process: subprocess.Popen[str]) -> int:
    pages: int = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages << 12


def test_a_process_that_does_nothing_gives_way(keeper: subprocess.Popen[str], tmp_path: Path) -> None:
    """Its control group runs short of memory: the system has the memory back, small blocks included."""
    before = resident(keeper)
    write_group(tmp_path, 15 << 30)
    assert eventually(lambda: before - resident(keeper) > 550 * MIB)
    found, _ = keeper.communicate("\n", timeout=PATIENCE)
    assert found == "left 0\n"


def test_two_processes_and_memory_for_one(keeper: subprocess.Popen[str], tmp_path: Path) -> None:
    """What one keeps the other gets, before it fails."""
    environment = {**os.environ, "CLARRAY_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", NEEDS, str(keeper.pid)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"had {500 * MIB}\n", "")


@pytest.mark.parametrize("variable", ["CLARRAY_DEVICE_UNCHANGED", "CLARRAY_PURE"])
def test_a_process_that_ends_while_work_is_queued(fresh: Any, variable: str) -> None:
    """Python frees the memory that the work would write to: it is waited for."""
    code = "import clarray\nfor n in range(100_000, 1 << 20, 99_991):\n  (clarray.arange(n) * 2).evaluate()"
    for _ in range(5):
        done = fresh(code, **{variable: "1"})
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
