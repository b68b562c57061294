"""Launches by machine code: in order, on whatever threads, with what PoCL's own queue does among them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.launch.host_tier import kernels_only
from clarray._engine.runtime import Device, Kernel, current_device
from clarray._engine.runtime.backends.pocl import machine_code
from clarray._engine.runtime.capabilities import trial_compiler

from ..conftest import assert_same

LARGE = 1 << 17  # elements: shared among threads


@pytest.fixture(autouse=True)
def device() -> Any:
    found = current_device()
    if not found.capabilities.calls_code:
        pytest.skip("the device's kernels are not called by their machine code")
    with kernels_only():
        yield found


def warm(statement: Any) -> None:
    """Launch often enough for the machine code to be called."""
    for _ in range(4):
        statement()


def test_it_is_called(device: Device) -> None:
    x = clarray.arange(LARGE, dtype=np.float32)
    warm(lambda: (x * 2 + 1).evaluate())
    device.synchronize()
    y = (x * 2 + 1).evaluate()
    assert device.pending
    assert device.called
    assert_same(y, np.arange(LARGE, dtype=np.float32) * 2 + 1)
    assert not device.pending
    assert not device.called


def test_more_launches_than_the_queue_has_room_for() -> None:
    x, expected = clarray.zeros(LARGE), np.zeros(LARGE)
    for k in range(300):
        x[k:] += 1
        x[: LARGE - k] *= 1.5
        expected[k:] += 1
        expected[: LARGE - k] *= 1.5
    assert_same(x, expected)


@pytest.mark.parametrize("seed", range(4))
def test_small_and_large_launches_by_turns(seed: int) -> None:
    """What the calling thread does at once, what threads do, and elements that are read and written in between."""
    random = np.random.default_rng(seed)
    host = random.integers(0, 100, LARGE).astype(np.float64)
    array = clarray.array(host)
    for _ in range(200):
        start, kind = int(random.integers(0, LARGE - 10)), int(random.integers(0, 7))
        stop = min(LARGE, start + int(random.choice([1, 100, 9_000, LARGE])))
        for x in (host, array):
            if kind == 0:
                x[start:stop] += 1
            elif kind == 1:
                x[start] = x[stop - 1] + 1
            elif kind == 2:
                x[start] = x[start:stop].max()
            elif kind == 3:
                x[start:stop] = x[start:stop][::-1] * 0.5
            elif kind == 4:
                x[x > 90] -= 80
            elif kind == 5:
                x[start:stop] = np.roll(x[start:stop], 3)
            else:
                x[:] = np.concatenate([x[start:], x[:start]])
    assert_same(array, host)


@pytest.mark.parametrize("shape", [(3, 70_000), (70_000, 3), (7, 130, 200), (2, 3, 5, 7000)])
def test_grids_of_several_dimensions(shape: tuple[int, ...]) -> None:
    host = np.random.default_rng(0).random(shape)
    array = clarray.array(host)
    for _ in range(4):
        assert_same(array.transpose() + 1, host.transpose() + 1)
        assert_same(array[..., ::-1].copy(), host[..., ::-1])
        assert_same(array.max(axis=0), host.max(axis=0))


@pytest.mark.kernels_alone
def test_what_is_enqueued_in_between(device: Device) -> None:
    """A profile has PoCL launch, and so has a kernel that is new."""
    x, expected = clarray.arange(LARGE, dtype=np.int64), np.arange(LARGE)
    for k in range(6):
        x += k
        with clarray.profile() as profile:
            x *= 3
            x.evaluate()
        assert profile.launches
        x ^= 5
        x = clarray.where(x > k, x, x - 2**k) + x // (k + 1)
        expected = ((expected + k) * 3) ^ 5
        expected = np.where(expected > k, expected, expected - 2**k) + expected // (k + 1)
    assert_same(x, expected)


def test_threads_that_launch_at_the_same_time() -> None:
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        x = clarray.zeros(LARGE)
        for k in range(100):
            x[k * number :] += number
            if k % 10 == 0:
                found[number, k] = float(x[-1])
        found[number] = x.get()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number in range(1, 5):
        expected = np.zeros(LARGE)
        for k in range(100):
            expected[k * number :] += number
            if k % 10 == 0:
                assert found[number, k] == expected[-1]
        np.testing.assert_array_equal(found[number], expected)


def test_memory_that_is_dropped_and_used_again() -> None:
    """What is still being read is not overwritten from the host, nor given back to the system."""
    for k in range(200):
        x = clarray.full(LARGE, k)
        y = x + x
        del x
        z = clarray.array(np.full(LARGE, -1))
        if k % 50 == 0:
            current_device().pool.empty()
        assert (int(y[k]), int(z[k])) == (2 * k, -1)


def test_programs_are_released_while_kernels_run(device: Device) -> None:
    for k in range(3):
        x = clarray.ones(LARGE)
        warm(lambda x=x, k=k: (x * 3 - k).evaluate())
        y = (x * 3 - k).evaluate()
        device.release_programs()
        assert_same(y, np.full(LARGE, 3.0 - k))


SCRIPT = """
import os, sys, clarray, numpy as np
from clarray._engine.launch.host_tier import setting
setting.on = False
x = clarray.arange(1 << 17, dtype=np.float64).evaluate()
for _ in range(5):
    y = (x * 2 + 1).evaluate()
"""


def in_process(body: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT + body],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_a_fork_while_kernels_run() -> None:
    """The copy has none of the threads; it makes its own with a device of its own, if PoCL lets it, or raises."""
    body = """
y = (x * 2 + 1).evaluate()
child = os.fork()
if not child:
    try:
        z = clarray.arange(1 << 17, dtype=np.float64) + 1
        ok = float(z[5]) == 6
    except RuntimeError:
        ok = True
    os._exit(0 if ok else 3)
print(os.waitpid(child, 0)[1], float((y + y)[5]))
"""
    assert in_process(body) == "0 22.0"


def test_the_end_of_the_process_while_kernels_run() -> None:
    assert in_process("for _ in range(40): y = (y * 2 + x).evaluate()\nprint('end')") == "end"


TWIN = "__kernel void twin(__global int *y) {{ y[get_global_id(0)] = {}; }}  // {}"


@pytest.mark.parametrize("stored", [False, True])
def test_first_launches_at_the_same_time(monkeypatch: pytest.MonkeyPatch, device: Device, stored: bool) -> None:
    """Each kernel gets its own machine code, although another thread has PoCL make that of a namesake."""
    sources = [TWIN.format(k, uuid.uuid4()) for k in range(3)]

    def twins() -> list[Any]:
        return [device.program(source, {"twin": ("buffer",)}).kernel("twin") for source in sources]

    results = [clarray.full(32, -1, np.int32).evaluate() for _ in sources]

    def launch(kernels: list[Any], k: int) -> None:
        kernels[k].launch((8,), (4,), (results[k]._node.memory.buffer,), True)

    if stored:
        for k in [0, 1, 2] * 3:
            launch(twins(), k)
        device.release_programs()
    kernels = twins()
    noted, waits, goes_on = Kernel._record_code_file, threading.Event(), threading.Event()

    def note(kernel: Any, *more: Any) -> None:
        if kernel is kernels[1]:
            waits.set()
            assert goes_on.wait(20)
        elif kernel is kernels[2]:
            goes_on.set()
            beside.join()
        noted(kernel, *more)

    monkeypatch.setattr(Kernel, "_record_code_file", note)
    beside = threading.Thread(target=kernels[1].compile_without_lock, args=((8,), (4,), [None], True))
    beside.start()
    assert waits.wait(20)
    for k in (0, 2, *[0, 1, 2] * 4):
        launch(kernels, k)
    device.synchronize()
    assert [set(result.tolist()) for result in results] == [{0}, {1}, {2}]
    assert all(kernel.code for kernel in kernels)


def test_a_division_by_zero() -> None:
    """PoCL goes on after it, on whatever thread it is; blocked there, the signal would end the process."""
    body = """
from clarray._engine.runtime import current_device
device = current_device()
divided = '(by - (int)get_group_id(0) / 1000)'
source = '__kernel void share(__global int *y, const int by) { y[get_global_id(0)] = 1000 / ' + divided + '; }'
kernel = device.program(source, {"share": ("buffer", "int32")}).kernel("share")
shares = clarray.zeros(1 << 15, np.int32).evaluate()
for _ in range(50):
    kernel.launch((1 << 15,), (1,), (shares._node.memory.buffer, 8), False, 1 << 30)
    if not device.called:
        device.synchronize()  # what PoCL's queue does goes on there
print(device.called, int(shares[0]), int(shares[7999]), int(shares[-1]))
"""
    assert in_process(body, POCL_SIGFPE_HANDLER="1") == "True 125 1000 -41"


def test_on_one_core() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("the system gives threads no cores")
    body = "print(float(y[5]), float(y.sum()) == float(y.get().sum()))"
    start = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    run = subprocess.run([sys.executable, "-c", start + SCRIPT + body], capture_output=True, text=True, timeout=120)
    assert run.stdout.split() == ["11.0", "True"], run.stderr


STEADY = """
import time, clarray, numpy as np
from clarray._engine.runtime import current_device
x, y = clarray.arange(100, dtype=np.float32), clarray.arange(100, dtype=np.float32)
statements = (
    lambda: (x + y).evaluate(), lambda: (x * 2 - y).evaluate(), lambda: ((x[1:-1] + x[2:] + x[:-2]) * 0.3).evaluate(),
    lambda: float(x.mean()), lambda: float(x @ y), lambda: float((x * y).max()),
)
def kernels_with_code():
    return sum(bool(k.code) for p in list(current_device()._programs.values()) for k in list(p._kernels.values()))
end = time.monotonic() + 60
while kernels_with_code() < len(statements):
    for each in statements:
        each()
    assert time.monotonic() < end, kernels_with_code()
"""


def test_a_process_that_began_with_an_empty_cache_ends_up_calling_machine_code(tmp_path: Any) -> None:
    """Whether a kernel was compiled by a thread beside, by the statement itself or by both at once."""
    environment = {**os.environ, "CLARRAY_CACHE_DIR": str(tmp_path), "CLARRAY_TIER": "1"}
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", STEADY], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr


def test_it_can_be_switched_off() -> None:
    body = """
from clarray._engine.runtime import current_device
device = current_device()
y = (x * 2 + 1).evaluate()
print(device.capabilities.calls_code, device.pending, device.called, float(y[5]))
"""
    larger = "x = clarray.arange(1 << 23, dtype=np.float64).evaluate()\n"  # it takes longer than the look at `pending`
    assert in_process(larger + body, CLARRAY_DIRECT="0") == "False True False 11.0"
    assert in_process(body) == "True True True 11.0"


def test_what_the_probe_tells(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    """Where a work-group is told of its launch otherwise, nothing is called."""
    assert device.probed.calls_code
    monkeypatch.setattr(machine_code, "_call_probe", lambda code: np.zeros((2, 3, 9), np.int64))
    arguments = [device.cl_device], trial_compiler(device.context, device.cl_device), device.context
    assert not device.backend.probe(*arguments).calls_code
    monkeypatch.undo()
    assert device.backend.probe(*arguments).calls_code


def test_a_file_that_does_not_load(tmp_path: Any) -> None:
    bad = tmp_path / "kernel.so"
    bad.write_bytes(b"none")
    assert machine_code.load(bad, "kernel") is None
    assert machine_code.load(None, "kernel") is None
