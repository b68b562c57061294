"""Work on two devices goes on at the same time: a thread on one keeps none on another waiting."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clarray
from clarray._engine.runtime import Device, Kernel, current_device

from .conftest import ARGUMENTS, SOURCE

PATIENCE = 60.0  # seconds, for what takes less than one

pytestmark = pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device")


@pytest.fixture(params=[0, 1], ids=["one waits for the first", "one waits for the second"])
def pair(request: pytest.FixtureRequest) -> tuple[Device, Device]:
    """A device that is waited for, and one on which work goes on."""
    first = current_device()
    both = first, next(d for d in clarray.devices() if d is not first)
    return both[request.param], both[1 - request.param]


@pytest.fixture
def busy(pair: tuple[Device, Device]) -> Iterator[tuple[Device, threading.Event]]:
    """A device whose queue does not go on before the test is over."""
    device = pair[0]
    clarray.ones(3, clarray.float32, device=device).tolist()
    gate = cl.UserEvent(device.context)
    yield device, gate
    if gate.command_execution_status != cl.command_execution_status.COMPLETE:
        gate.set_status(cl.command_execution_status.COMPLETE)
    device.synchronize()


def start(work: Any, failed: list[BaseException]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def everything(device: Device) -> None:
    """Some of all that takes a lock: programs, launches, waits, copies, memory, and what is kept for all devices."""
    with clarray.device(device):
        for size in (10, 1000, 1 << 20):
            x = clarray.arange(size, dtype=clarray.float32)
            np.testing.assert_allclose((x * 2 + 1).sum().item(), float(size) * size, rtol=1e-5)
            assert clarray.sort(-x)[0].item() == 1 - size
            assert x[x > 5].size == size - 6
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).get(), np.arange(size, dtype="f"))
        big = clarray.array(np.arange(20 << 20, dtype=np.uint8))
        np.testing.assert_array_equal(big.get(), np.arange(20 << 20, dtype=np.uint8))
        source = f"{SOURCE}// {threading.get_ident()} {device}"  # never compiled before
        kernel: Kernel = device.program(source, ARGUMENTS).kernel("count")
        memory = device.upload(np.zeros(1, np.int32))
        for _ in range(5):
            kernel.launch((1,), (1,), (memory.buffer,))
        assert device.read_scalar(memory, 0, np.dtype(np.int32)) == 5
        del big, memory
        clarray.synchronize(device)
        clarray.free_memory(device)
        assert clarray.memory_info(device).pooled == 0
        assert clarray.memory_info(clarray.devices()[0]).total > 0


def test_no_lock_is_held_over_a_wait(pair: tuple[Device, Device], busy: tuple[Device, Any]) -> None:
    """One thread waits for a device that does not go on, with its lock; on another everything else can be done."""
    device, gate = busy
    failed: list[BaseException] = []
    with device.lock:
        cl.enqueue_barrier(device.main.commands, [gate])
        device.main.commands.flush()
        device.pending = True
    waiting = start(device.synchronize, failed)
    working = start(lambda: everything(pair[1]), failed)
    working.join(PATIENCE)
    assert not working.is_alive(), "it waits for the other device"
    assert failed == []
    assert waiting.is_alive()
    gate.set_status(cl.command_execution_status.COMPLETE)
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    assert failed == []


@pytest.mark.parametrize("kind", ["launch", "upload", "read", "allocate"])
def test_no_lock_is_held_over_work(pair: tuple[Device, Device], kind: str) -> None:
    """The same where a thread is within a launch, a copy or an allocation: it holds its device's lock alone."""
    device, other = pair
    inside, go_on = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    class Slow:
        """In the place of what does the work: it begins, and does not end."""

        def __init__(self, real: Any) -> None:
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def __call__(self, *args: Any) -> Any:
            inside.set()
            go_on.wait(PATIENCE)
            return self._real(*args)

    memory = device.upload(np.zeros(1, np.int32))
    kernel = device.program(SOURCE, ARGUMENTS).kernel("count")
    for _ in range(5):
        kernel.launch((1,), (1,), (memory.buffer,))
    device.synchronize()
    kernel.code.clear()  # which the core would run, without the device's queue
    bound = kernel._main
    assert bound is not None
    taken = bound.acquire()
    invocation: Any = SimpleNamespace(kernel=taken.kernel, set_args=taken.set_args)
    bound.release(invocation)
    place, name, work = {
        "launch": (invocation, "set_args", lambda: kernel.launch((1,), (1,), (memory.buffer,))),
        "upload": (device.copier, "write", lambda: device.write(memory, 0, np.ones(1, np.int32))),
        "read": (device.copier, "read", lambda: device.read(memory, 0, np.ones(1, np.int32))),
        "allocate": (device.pool, "_new_block", lambda: device.allocate(987_654_321 // 7)),
    }[kind]
    real = getattr(place, name)
    setattr(place, name, Slow(real))
    try:
        slow = start(work, failed)
        assert inside.wait(PATIENCE)
        working = start(lambda: everything(other), failed)
        working.join(PATIENCE)
        assert not working.is_alive(), "it waits for the other device"
        assert slow.is_alive()
    finally:
        setattr(place, name, real)
        go_on.set()
        slow.join(PATIENCE)
    assert not slow.is_alive()
    assert failed == []
