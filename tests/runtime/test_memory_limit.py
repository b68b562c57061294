"""How much of a memory a process takes: the limit that is set to it, and what happens before anything fails."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import Device, host_memory, preflight
from clarray._engine.runtime.backends import Backend
from clarray._engine.runtime.backends.pocl import program_files
from clarray._engine.runtime.memory_budget import read_limit

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        (1, 1),
        (np.int64(5000), 5000),
        ("4096", 4096),
        ("1.5GiB", 3 << 29),
        ("1.5 gib", 3 << 29),
        ("800MB", 800_000_000),
        ("800 M", 800_000_000),
        ("2k", 2000),
        ("2KiB", 2048),
        ("1e9", 10**9),
        ("3B", 3),
        ("0.5TiB", 1 << 39),
        ("50%", 500),
        ("12.5 %", 125),
        ("100%", 1000),
    ],
)
def test_limits_as_users_write_them(text: Any, nbytes: int) -> None:
    found = read_limit(text)
    assert found is not None
    assert found.in_bytes(1000) == nbytes


@pytest.mark.parametrize("text", [0, -5, "0", "-1GiB", "0%", "101%", "1.2.3", "GiB", "many", "1 XB", "nan", "."])
def test_what_is_no_limit(text: Any) -> None:
    with pytest.raises(ValueError, match="memory limit"):
        read_limit(text)
    before = clarray.config.memory_limit
    with pytest.raises(ValueError, match="memory limit"):
        clarray.config.memory_limit = text
    assert clarray.config.memory_limit == before


def test_a_limit_of_another_type() -> None:
    for value in (1.5, [1], object()):
        with pytest.raises(TypeError):
            read_limit(value)


@pytest.fixture
def limited(device: Device) -> Iterator[int]:
    """The device with an empty pool, and room for 64 MiB more than is in use."""
    before = clarray.config.memory_limit
    gc.collect()
    clarray.free_memory()
    limit = device.pool._budget.reserved + 64 * MIB
    clarray.config.memory_limit = limit
    yield limit
    clarray.config.memory_limit = before


def test_what_is_said_of_memory(device: Device, limited: int) -> None:
    before = clarray.memory_info()
    assert before.limit == limited == clarray.config.memory_limit
    memory = device.allocate(16 * MIB)
    during = clarray.memory_info()
    assert during.used == before.used + 16 * MIB
    assert during.left <= before.left - 16 * MIB
    assert during.peak >= during.used + during.pooled
    assert during.total == device.capabilities.global_bytes
    del memory
    after = clarray.memory_info(device)
    assert (after.used, after.pooled) == (before.used, before.pooled + 16 * MIB)
    assert clarray.free_memory() == after.pooled
    assert clarray.memory_info().pooled == 0
    assert clarray.free_memory(device) == 0


def test_no_more_is_taken_than_may_be(device: Device, limited: int) -> None:
    held = []
    for _ in range(21):
        held.append(device.allocate(3 * MIB))
        assert clarray.memory_info().used + clarray.memory_info().pooled <= limited
    with pytest.raises(MemoryError, match="memory_limit") as caught:
        device.allocate(3 * MIB)
    assert "drop arrays" in str(caught.value)
    clarray.config.memory_limit = limited + 64 * MIB
    held.append(device.allocate(60 * MIB))


@pytest.mark.usefixtures("limited")
def test_free_blocks_make_way(device: Device) -> None:
    """Each size is a class of its own, so nothing is used again."""
    for size in range(10, 60, 5):
        device.allocate(size * MIB)
    small = [device.allocate(100_000) for _ in range(500)]
    del small
    assert device.allocate(60 * MIB).nbytes == 60 * MIB


@pytest.mark.usefixtures("limited")
def test_garbage_is_collected_before_anything_fails(device: Device) -> None:
    class Knot:
        pass

    knot = Knot()
    knot.itself, knot.memory = knot, device.allocate(40 * MIB)  # type: ignore[attr-defined]
    gc.disable()
    try:
        del knot
        assert device.allocate(50 * MIB).nbytes == 50 * MIB
    finally:
        gc.enable()


def test_a_smaller_limit_takes_what_waits(device: Device, limited: int) -> None:
    kept, dropped = device.allocate(20 * MIB), device.allocate(40 * MIB)
    del dropped
    clarray.config.memory_limit = limited - 30 * MIB
    assert clarray.memory_info().used + clarray.memory_info().pooled <= limited - 30 * MIB
    clarray.config.memory_limit = 10 * MIB  # less than is in use: it stays, and nothing is to be had
    with pytest.raises(MemoryError):
        device.allocate(MIB)
    assert kept.nbytes == 20 * MIB


RESET = """
import clarray
x = clarray.ones(1 << 24)
x.evaluate()
clarray.reset()
clarray.config.memory_limit = "50MiB"
del x
clarray.config.memory_limit = "40MiB"
print(clarray.memory_info().used, clarray.free_memory(), float(clarray.ones(1000).sum()))
"""


def test_a_limit_after_a_reset(fresh: Any) -> None:
    done = fresh(RESET)
    assert (done.stdout, done.stderr) == ("0 0 1000.0\n", "")


def test_threads_that_allocate_at_once(device: Device, limited: int) -> None:
    """Four threads want up to 96 MiB of 64: who gets nothing drops its own, so that each comes to its end."""
    most, held, refused, errors = [0], [0], [0], []
    together = threading.Barrier(4)

    def work(number: int) -> None:
        together.wait()
        mine: list[Any] = []
        try:
            for turn in range(60):
                try:
                    mine.append(device.allocate((1 + (7 * turn + number) % 9) * MIB))
                    held[0] += 1
                except MemoryError:
                    refused[0] += 1
                    mine.clear()
                most[0] = max(most[0], device.pool._budget.reserved)
                if len(mine) > 3:
                    mine.pop(0)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert held[0] + refused[0] == 4 * 60
    assert held[0] >= 60  # the last two want 48 MiB at most, and are never refused
    assert 0 < most[0] <= limited
    assert device.pool.reserved == device.pool.info().used + device.pool.info().pooled
    assert device.allocate(60 * MIB).nbytes == 60 * MIB  # what they dropped can be had again


def test_arrays_under_a_limit_are_right(limited: int) -> None:
    """Temporaries of many sizes, whose blocks make way for each other."""
    for n in range(200_000, 2_000_000, 177_777):
        x = clarray.arange(n, dtype=clarray.float32)
        found = ((x * 2 + 1).sum() + clarray.sort(-x)[0]).item()
        np.testing.assert_allclose(found, n * n - (n - 1), rtol=1e-6)
        assert clarray.memory_info().used + clarray.memory_info().pooled <= limited
        del x


# In a process of its own: 48 MiB besides what a first array takes, in each of the ways that memory is allocated.
SCRIPT = """
import clarray, numpy as np
x = clarray.arange(1 << 20, dtype=clarray.float32).evaluate()
limit = clarray.memory_info().used + (48 << 20)
clarray.config.memory_limit = limit
held = []
try:
    while True:
        held.append((x + len(held)).evaluate())
        info = clarray.memory_info()
        assert info.used + info.pooled <= limit
except MemoryError as error:
    assert "memory_limit" in str(error), error
assert 8 <= len(held) <= 12, len(held)
for i, each in enumerate(held):
    np.testing.assert_array_equal(each.get()[:3], np.arange(3, dtype="f") + i)
del held, each
y = clarray.zeros(40 << 20, clarray.int8)
assert not y.any()
del y
for n in range(1000, 1 << 20, 99_991):  # as before: the pool gives way each time
    (clarray.arange(n) * 2).evaluate()
print("done")
"""


@pytest.mark.parametrize("variable", ["CLARRAY_DEVICE_UNCHANGED", "CLARRAY_PURE", "CLARRAY_SIMULATE_OWN_MEMORY"])
def test_each_way_to_allocate(fresh: Any, variable: str) -> None:
    done = fresh(SCRIPT, **{variable: "1"})
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_environments_limit(fresh: Any) -> None:
    code = "import clarray; print(clarray.config.memory_limit, clarray.memory_info().limit)"
    assert fresh(code, CLARRAY_MEMORY_LIMIT="1.5GiB").stdout.split() == [str(3 << 29)] * 2
    with_total = f"{code}; print(clarray.memory_info().total)"  # its own: a container's may change
    share, limit, total = fresh(with_total, CLARRAY_MEMORY_LIMIT="50%").stdout.split()
    assert share == "50%"
    assert int(limit) == int(total) // 2
    assert fresh(code, CLARRAY_MEMORY_LIMIT="").stdout.split()[0] == "None"
    failed = fresh(code, CLARRAY_MEMORY_LIMIT="plenty").stderr
    assert "ValueError: CLARRAY_MEMORY_LIMIT: a memory limit is" in failed


RLIMIT = """
import resource, clarray
x = clarray.ones(1000, clarray.float32)
(x + 1).sum().item()
with open("/proc/self/statm") as statm:
    pages = int(statm.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (700 << 20), -1))
for n in range(100, 500, 30):
    y = clarray.zeros(n << 20, clarray.int8)
    y[-1] = 1
    assert int(y[-1]) == 1
    del y
held = []
try:
    for n in range(20):
        held.append(clarray.zeros((50 + n) << 20, clarray.int8))
except MemoryError as error:
    print("refused", "cannot allocate" in str(error), len(held) > 5)
held.clear()
print((x + 1).sum().item())
"""


@pytest.mark.skipif("sys.platform != 'linux'")
def test_a_process_whose_address_space_is_limited(fresh: Any, device: Device) -> None:
    if not device.capabilities.host_memory:
        pytest.skip("its arrays lie elsewhere")
    done = fresh(RLIMIT)
    assert (done.stdout, done.stderr) == ("refused True True\n2000.0\n", "")
    assert done.returncode == 0  # what was compiled is saved when it ends, with what memory is left


@pytest.mark.skipif("sys.platform != 'linux'")
def test_no_binary_is_asked_for_without_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL crashes where it gets none to make it; free blocks make way first."""
    if device.backend.name != "pocl":
        pytest.skip("others give what they have made before")
    asked: list[Any] = []
    monkeypatch.setattr(program_files, "program_binary", lambda program: asked.append(program) or b"")
    monkeypatch.setattr(Backend, "program_binary", lambda self, program, kernels: b"")
    program = device.program("__kernel void nothing_yet(__global int *x) {}", {"nothing_yet": ["buffer"]})
    queue = device.main
    program._built[queue.name] = None  # type: ignore[assignment]
    device.allocate(MIB)  # is free at once
    short = host_memory.Shortage("a limit", 0, MIB)
    monkeypatch.setattr(preflight, "shortage", lambda room: short)
    kept = 0 if device.capabilities.host_memory else device.pool.free_bytes()  # a device's own is no help
    program.save(queue)
    assert (asked, device.pool.free_bytes()) == ([], kept)
    monkeypatch.setattr(preflight, "shortage", lambda room: None)
    program.save(queue)
    assert asked == [None]


@pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device")
class TestTwoDevices:
    """What two devices do with one memory, and with two."""

    @pytest.fixture
    def other(self, device: Device) -> Device:
        return next(each for each in clarray.devices() if each is not device)

    @pytest.mark.usefixtures("limited")
    def test_the_hosts_memory_is_shared(self, device: Device, other: Device) -> None:
        if not (device.capabilities.host_memory and other.capabilities.host_memory):
            pytest.skip("they have memory of their own")
        held = device.allocate(40 * MIB)
        with pytest.raises(MemoryError):
            other.allocate(40 * MIB)
        del held  # what waits for reuse on one makes way for the other
        assert other.allocate(40 * MIB).nbytes == 40 * MIB

    def test_a_devices_own_is_not(self, device: Device, other: Device, limited: int) -> None:
        if device.capabilities.host_memory or other.capabilities.host_memory:
            pytest.skip("they work in the host's memory")
        del limited
        held = device.allocate(40 * MIB), other.allocate(40 * MIB)
        assert clarray.memory_info(other).used >= 40 * MIB
        del held
