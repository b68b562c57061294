"""A device that is lost, or reset: one clear error, at once and each time, and a fresh device that works."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clarray
from clarray._engine.runtime import Device, current_device, errors, find_device, launch, profiling, use_device
from clarray._engine.runtime import device as devices
from clarray._engine.speedups import lend_opencl, native

NAMES = {-5: "OUT_OF_RESOURCES", -36: "INVALID_COMMAND_QUEUE", -9999: "unknown error -9999"}


def failure(code: int, routine: str = "clFinish", kind: Any = cl.RuntimeError) -> cl.Error:
    return kind(cl._cl._ErrorRecord(routine, code, ""))


class DeadQueue:
    """Stands for a queue on which nothing works."""

    int_ptr = 0

    def __init__(self, code: int) -> None:
        self.code = code

    def finish(self) -> None:
        raise failure(self.code)


_SET_ARGUMENT = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p)
_ENQUEUE = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, ctypes.c_uint32, *[ctypes.c_void_p] * 6)
_FINISH = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


@contextmanager
def enqueue_is(function: Callable[..., None], code: int) -> Iterator[None]:
    """Have every launch call a function, which raises what the driver's code stands for; the compiled core's too."""
    accept, refuse, stop = (
        _SET_ARGUMENT(lambda *arguments: 0),
        _ENQUEUE(lambda *arguments: code),
        _FINISH(lambda queue: code),
    )
    working = launch._enqueue
    launch._enqueue = function
    if native is not None:
        native.lend(*[ctypes.cast(f, ctypes.c_void_p).value for f in (accept, refuse, stop)], profiling.state)
    try:
        yield
    finally:
        launch._enqueue = working
        lend_opencl(cl._cl.__file__, profiling.state)


@contextmanager
def lost(device: Device, code: int = -5) -> Iterator[None]:
    """Have every call into OpenCL fail as a driver's do whose device is gone."""

    def fail(*args: Any, **kwargs: Any) -> None:
        raise failure(code, "clEnqueueSomething")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("enqueue_copy", "enqueue_map_buffer", "Buffer"):
            patch.setattr(cl, name, fail)
        main = device.main
        device.main = main._replace(commands=DeadQueue(code))
        with enqueue_is(fail, code):
            yield
        device.main = main


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """Another device of the same hardware, in use, whose driver launches everything."""
    monkeypatch.setenv("CLARRAY_DIRECT", "0")
    chosen = current_device()
    mine = Device(chosen.cl_device, chosen._cl_inline)
    with use_device(mine):
        yield mine


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    return seen


def launched(x: Any) -> Any:
    return (x * 2 + 1).evaluate()


USES: dict[str, Callable[[Any, Any], Any]] = {
    "compute": lambda x, pending: launched(x),
    "sum": lambda x, pending: float(x.sum()),
    "pending": lambda x, pending: pending.get(),
    "get": lambda x, pending: x.get(),
    "asarray": lambda x, pending: np.asarray(x),
    "item": lambda x, pending: pending.item(3),
    "repr": lambda x, pending: repr(x),
    "write": lambda x, pending: x.__setitem__(0, 1),
    "mask": lambda x, pending: x[x > 3].size,
    "sort": lambda x, pending: clarray.sort(x),
    "empty": lambda x, pending: clarray.empty(50_000, "float32"),
    "asarray of host": lambda x, pending: clarray.asarray(np.ones(7, "float32")).get(),
    "array of host": lambda x, pending: clarray.array(np.ones(7, "float32")),
    "synchronize": lambda x, pending: clarray.synchronize(),
    "copy": lambda x, pending: x.copy(),
    "host": lambda x, pending: clarray.linalg.pinv(x[:9].reshape(3, 3)),
    "out": lambda x, pending: clarray.add(x, 1, out=x),
}


MIXED: list[Callable[[Any, Any], Any]] = [
    lambda x, y: (x + y).get(),
    lambda x, y: clarray.concatenate((y, x)),
    lambda x, y: y.__setitem__(..., x),
]


def start() -> tuple[Any, Any]:
    x = clarray.array(np.arange(100, dtype="float32"))
    launched(x)
    return x, x - 1


@pytest.mark.parametrize("first", USES)
def test_every_use_says_that_the_device_is_lost(first: str, device: Device, unraisable: list[Any]) -> None:
    x, pending = start()
    device.pending = True
    with lost(device):
        with pytest.raises(clarray.DeviceLostError, match="OUT_OF_RESOURCES") as caught:
            USES[first](x, pending)
        message = str(caught.value)
        assert repr(device) in message
        assert "clarray.reset()" in message
        assert device.recent[0][0].name in message
        for use in (*USES.values(), lambda x, pending: x.item(3)):  # also what the host has kept
            with pytest.raises(clarray.DeviceLostError) as again:
                use(x, pending)
            assert str(again.value) == message
        del x, pending, caught, again
        gc.collect()
    assert not unraisable


@pytest.mark.parametrize("code", NAMES)
def test_a_loss_that_shows_at_the_launch_or_the_build(code: int, device: Device) -> None:
    x, _ = start()
    with lost(device, code), pytest.raises(clarray.DeviceLostError, match=NAMES[code]):
        launched(x)
    assert isinstance(clarray.DeviceLostError(), RuntimeError)


def test_a_launch_that_is_refused_is_no_loss(device: Device) -> None:
    x, pending = start()

    def refuse(*args: Any) -> None:
        raise failure(-5, "clEnqueueNDRangeKernel")

    with enqueue_is(refuse, -5), pytest.raises(RuntimeError, match="refused to launch") as caught:
        launched(x)
    assert not isinstance(caught.value, clarray.DeviceLostError)
    np.testing.assert_array_equal(pending, np.arange(100) - 1)


@pytest.mark.parametrize(("code", "kind"), [(-4, cl.MemoryError), (-6, cl.RuntimeError)])
def test_no_memory_is_no_loss(device: Device, code: int, kind: Any) -> None:
    """Whichever memory: a driver has none of the host's where the device's has no room for a kernel's own."""
    x, pending = start()

    def refuse(*args: Any) -> None:
        raise failure(code, "clEnqueueNDRangeKernel", kind)

    with enqueue_is(refuse, code), pytest.raises(MemoryError, match="what a launch needs"):
        launched(x)
    np.testing.assert_array_equal(pending, np.arange(100) - 1)


@pytest.mark.parametrize("broken", [False, True])
def test_a_reset_gives_a_fresh_device(broken: bool, device: Device, unraisable: list[Any]) -> None:
    old = [*start()]
    if broken:
        device.pending = True
        with lost(device), pytest.raises(clarray.DeviceLostError):
            old[0].get()
    clarray.reset()
    fresh = current_device()
    assert fresh is not device
    assert find_device(device) is fresh
    y = clarray.array(np.arange(100, dtype="float32"))
    assert y.device is fresh
    np.testing.assert_array_equal(launched(y), np.arange(100) * 2 + 1)
    for use in ("compute", "sum", "pending", "get", "write", "out"):
        with pytest.raises(clarray.DeviceLostError, match="is lost" if broken else "was reset"):
            USES[use](*old)
    for mixed in MIXED:
        with pytest.raises(clarray.DeviceLostError):
            mixed(old[0], y)
    assert (old[0].shape, old[0].dtype) == ((100,), np.float32)
    old.clear()
    gc.collect()
    np.testing.assert_array_equal(launched(y), np.arange(100) * 2 + 1)
    assert not unraisable


def test_a_driver_that_opens_nothing_more_says_so(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As NVIDIA's after a kernel that wrote where it should not: a process that lost a context gets no other."""
    x, _ = start()
    device.pending = True
    with lost(device), pytest.raises(clarray.DeviceLostError):
        x.get()
    fresh = device.reset()

    def refuses(*args: Any, **kwargs: Any) -> None:
        raise failure(-9999, "Context")

    monkeypatch.setattr(cl, "Context", refuses)
    for _ in range(2):
        with pytest.raises(clarray.DeviceLostError, match="Start a new process"):
            clarray.ones(3, "float32", device=fresh)


@pytest.mark.parametrize(
    ("code", "kind", "otherwise"), [(-6, MemoryError, "other processes"), (-2, RuntimeError, "the vendor's own tools")]
)
def test_a_device_that_its_driver_does_not_open(
    device: Device, code: int, kind: type[Exception], otherwise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NVIDIA's in a process that may write only small files: the error names the limits that are set."""

    def refuses(*args: Any, **kwargs: Any) -> None:
        raise failure(code, "Context")

    fresh = device.reset()
    monkeypatch.setattr(devices, "_kept_for_good", [])
    for limits, advice in (["ulimit -f: 1.00 KiB"], "ulimit -f: 1.00 KiB"), ([], otherwise):
        monkeypatch.setattr(errors, "process_limits", lambda limits=limits: limits)
        with monkeypatch.context() as patch:
            patch.setattr(cl, "Context", refuses)
            with pytest.raises(kind, match=advice):
                clarray.ones(3, "float32", device=fresh)
    assert float(clarray.ones(3, "float32", device=fresh).sum()) == 3.0


def test_a_reset_by_name_and_in_the_list(fresh: Any) -> None:
    code = """
import numpy as np, clarray
before = clarray.devices()
old = clarray.arange(5).evaluate().device
x = clarray.ones(5, "float32")
clarray.reset(old)
after = clarray.devices()
assert len(before) == len(after) and old in before and old not in after
assert all(a is b for a, b in zip(before, after) if a is not old)
assert clarray.arange(5).device in after
try: x.get()
except clarray.DeviceLostError as error: print(error)
clarray.reset(); clarray.reset(0)
print(clarray.arange(5).sum())
"""
    result = fresh(code)
    assert result.stderr == ""
    assert "was reset" in result.stdout
    assert result.stdout.endswith("10\n")


def test_a_reset_gives_memory_back(device: Device) -> None:
    x = clarray.ones(1 << 20, "float32")
    del x
    assert device.pool.free_bytes() >= 4 << 20
    clarray.reset()
    assert device.pool.free_bytes() == 0


def test_a_reset_while_others_work(device: Device, unraisable: list[Any]) -> None:
    """They finish, or get the error; nothing else."""
    stop = threading.Event()
    done: list[int] = []
    others: list[BaseException] = []

    def work() -> None:
        with use_device(device):
            while not stop.is_set():
                try:
                    x = clarray.array(np.arange(1000, dtype="float32"))
                    assert float((x + 1).sum()) == 500500
                    done.append(1)
                except clarray.DeviceLostError:
                    done.append(0)
                except BaseException as error:
                    others.append(error)
                    return

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for count in range(8):
        while len(done) < 20 * (count + 1) and not others:
            stop.wait(0.001)
        clarray.reset()
    stop.set()
    for thread in threads:
        thread.join()
    assert not others
    assert sum(done) > 100
    assert not unraisable


LOST_AT_THE_END = """
import os, sys, numpy as np, clarray
from tests.runtime.test_lost import lost, launched
x = clarray.array(np.arange(100, dtype="float32"))
kept = launched(x)
with lost(x.device):
    try: launched(x)
    except clarray.DeviceLostError: pass
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        try: clarray.arange(5).evaluate()
        except RuntimeError as error: assert "fork" in str(error), error
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("the end")
"""


def test_a_process_that_lost_its_device_forks_and_ends_in_silence(fresh: Any) -> None:
    result = fresh(LOST_AT_THE_END)
    assert (result.returncode, result.stdout, result.stderr) == (0, "the end\n", "")


def test_the_last_launches_are_few_and_hold_no_memory(device: Device) -> None:
    x = clarray.ones(1000, "float32")
    for _ in range(30):
        launched(x)
    assert 5 < len(device.recent) < 30
    assert not any(isinstance(part, cl.Buffer) for each in device.recent for part in each)
