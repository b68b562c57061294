"""The pool, memory shared with the user, and running out."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarray._engine.runtime import Device, adopt
from clarray._engine.runtime.host_memory import format_bytes
from clarray._engine.runtime.memory import size_class

FLOAT = np.dtype(np.float32)


@given(st.integers(0, 1 << 45))
def test_size_classes_fit_and_waste_little(nbytes: int) -> None:
    size = size_class(nbytes)
    assert size >= max(nbytes, 128)
    assert size <= max(nbytes * 1.125, nbytes + 127, 128)
    assert size_class(size) == size
    assert size % 128 == 0


def test_memory_is_used_again(device: Device) -> None:
    first = device.allocate(12_345_678)
    buffer = first.buffer
    del first
    assert device.allocate(12_345_600).buffer is buffer


def test_memory_in_use_is_not(device: Device) -> None:
    held = [device.allocate(1000) for _ in range(50)]
    assert len({memory.buffer.int_ptr for memory in held}) == 50


def test_no_bytes_are_memory_too(device: Device) -> None:
    memory = device.upload(np.empty(0, np.float32))
    device.fill_zero(memory)
    device.read(memory, 0, np.empty(0, np.float32))
    assert memory.nbytes == 0


def test_bytes_outside_are_refused(device: Device) -> None:
    memory = device.allocate(100)
    for at in (-4, 97, 101):
        with pytest.raises(ValueError, match="outside"):
            device.write(memory, at, np.zeros(1, np.float32))
        with pytest.raises(ValueError, match="outside"):
            device.read(memory, at, np.zeros(1, np.float32))


def test_only_contiguous_arrays_are_copied(device: Device) -> None:
    with pytest.raises(ValueError, match="C-contiguous"):
        device.upload(np.zeros((4, 4))[:, ::2])


# Sizes around every change of method: one call, several pinned slots, several threads.
@pytest.mark.parametrize("nbytes", [1, 4095, 4097, 2_097_152, 4_194_305, 70_000_003])
def test_copies_there_and_back(device: Device, nbytes: int) -> None:
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    memory = device.allocate(nbytes + 8)
    device.fill_zero(memory)
    device.write(memory, 4, data)
    out = np.empty(nbytes + 8, np.uint8)
    device.read(memory, 0, out)
    np.testing.assert_array_equal(out[4:-4], data)
    assert not out[:4].any()
    assert not out[-4:].any()


def test_copies_are_ordered_after_launches(device: Device, scale: Any) -> None:
    x = np.arange(1 << 20, dtype=np.float32)
    source, target = device.upload(x), device.allocate(x.nbytes)
    for by in range(1, 8):
        scale.kernel.launch((4,), (1,), (source.buffer, x.size, target.buffer, float(by)))
        device.write(source, 0, x)  # must wait for the launch that reads it
        out = np.empty_like(x)
        device.read(target, 0, out)
        np.testing.assert_array_equal(out, x * by)


@pytest.mark.parametrize("kind", ["shared", "pool"])
def test_memory_that_goes_within_a_launch(device: Device, scale: Any, kind: str) -> None:
    """The garbage collector may run between the noting of a launch and its queueing: it is waited for all the same."""
    if not device.capabilities.host_memory:
        pytest.skip("the device shares no memory")
    source, target = device.upload(np.ones(1000, np.float32)), device.allocate(4000)

    def launch() -> None:
        scale.kernel.launch((4,), (1,), (source.buffer, 1000, target.buffer, 2.0))

    scale.kernel.code.clear()  # which the core would run, without the device's queue
    for _ in range(4):  # often enough to need no more attention
        launch()
    scale.kernel.code.clear()
    bound = scale.kernel._main
    assert bound is not None
    invocation = bound.acquire()
    held, set_args = [device.wrap(np.ones(1000, np.float32))], invocation.set_args
    dropped = []

    def dropping(*args: Any) -> None:
        dropped.append(kind)
        if kind == "shared":
            held.clear()
        else:
            device.pool.empty()
        set_args(*args)

    device.synchronize()
    bound.release(invocation._replace(set_args=dropping))
    try:
        launch()
    finally:
        bound.acquire()  # the next launch makes another one
    assert dropped
    assert device.pending


def test_too_much_is_a_memory_error_and_the_process_goes_on(device: Device, scale: Any) -> None:
    for nbytes in (1 << 62, 4 * device.capabilities.global_bytes):
        with pytest.raises(MemoryError, match="cannot allocate") as error:
            device.allocate(nbytes)
        assert format_bytes(nbytes) in str(error.value)
        assert format_bytes(device.capabilities.global_bytes) in str(error.value)
    x = np.ones(10, np.float32)
    np.testing.assert_array_equal(scale(x, 2.0, True), 2 * x)


def test_the_pool_is_emptied_before_giving_up(device: Device) -> None:
    pool = device.pool
    kept = device.allocate(50_000_000)
    device.allocate(60_000_000)
    assert pool.free_bytes() >= 60_000_000
    with pytest.raises(MemoryError):
        device.allocate(1 << 62)
    assert pool.free_bytes() == 0
    assert pool.reserved >= kept.nbytes


def test_trimming_keeps_a_share(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if device.capabilities.global_bytes < 1 << 30:
        pytest.skip("too small a device")
    pool = device.pool
    pool.empty()
    monkeypatch.setattr(pool, "_retained_bytes", lambda free: 150 << 20)
    held = [device.allocate(100 << 20) for _ in range(3)]
    del held
    assert 0 < pool.free_bytes() <= 150 << 20
    pool.empty()


class TestHostMemory:
    """What only devices that work in host memory can do."""

    @pytest.fixture(autouse=True)
    def _only_there(self, device: Device) -> None:
        if not device.capabilities.host_memory:
            pytest.skip("the device has memory of its own")

    def test_wrapping_copies_nothing(self, device: Device, scale: Any) -> None:
        raw = np.zeros(256, np.float32)
        start = -raw.ctypes.data % 128 // 4
        x, y = raw[start : start + 100], raw[start + 128 : start + 228]
        x[:] = np.arange(100)
        source, target = device.wrap(x), device.wrap(y)
        assert (source.address, target.address) == (x.ctypes.data, y.ctypes.data)
        for by in (3.0, 5.0):
            args = (source.buffer, 100, target.buffer, by)
            scale.kernel.launch((1,), (1,), args, True)
            device.synchronize()
            np.testing.assert_array_equal(y, x * np.float32(by))
        assert source.shared

    def test_views_are_wrapped_whole(self, device: Device) -> None:
        base = np.arange(1000, dtype=np.float64)
        view = base[900:100:-7]
        memory = device.wrap(view)
        last = base[900 - 7 * (len(view) - 1) :]
        assert memory.address == last.ctypes.data // 128 * 128
        assert memory.address + memory.nbytes == view.ctypes.data + 8

    def test_read_only_arrays(self, device: Device) -> None:
        array = np.broadcast_to(np.float32(7), (5, 5))
        memory = device.wrap(array)
        assert not memory.writeable
        assert memory.host is not None
        assert not memory.host.flags.writeable
        assert device.read_scalar(memory, array.ctypes.data - memory.address, FLOAT) == 7

    def test_empty_arrays(self, device: Device) -> None:
        assert device.wrap(np.empty((3, 0))).nbytes == 0

    def test_the_array_lives_as_long_as_its_memory(self, device: Device) -> None:
        class Watched(np.ndarray):
            pass

        array = np.zeros(1000).view(Watched)
        watch = weakref.ref(array)
        memory = device.wrap(array)
        del array
        gc.collect()
        assert watch() is not None
        del memory
        gc.collect()
        assert watch() is None

    def test_a_host_view_keeps_the_block(self, device: Device) -> None:
        memory = device.upload(np.full(1000, 7.0))
        host = memory.host
        assert host is not None
        del memory
        others = [device.upload(np.zeros(1000)) for _ in range(3)]
        assert (host.view(np.float64) == 7).all()
        del others

    @pytest.mark.parametrize("nbytes", [1, 1000, 100_000, 3 << 20, 40 << 20])
    def test_alignment(self, device: Device, nbytes: int) -> None:
        address = device.allocate(nbytes).address
        assert address % 128 == 0
        if nbytes >= 2 << 20:
            assert address % (2 << 20) == 0


def test_other_peoples_buffers(device: Device) -> None:
    import pyopencl as cl

    context = cl.Context([device.cl_device])
    queue = cl.CommandQueue(context)
    x = np.arange(100, dtype=np.float32)
    flags = cl.mem_flags
    buffer = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=x)
    memory = adopt(buffer, queue)
    assert memory.shared
    assert memory.device is not device
    assert memory.device is adopt(buffer, queue).device
    out = np.empty_like(x)
    memory.device.read(memory, 0, out)
    np.testing.assert_array_equal(out, x)
    memory.device.write(memory, 0, x[::-1].copy())
    cl.enqueue_copy(queue, out, buffer)
    np.testing.assert_array_equal(out, x[::-1])
    if device.capabilities.host_memory:
        assert memory.host is not None
        np.testing.assert_array_equal(memory.host.view(np.float32), x[::-1])
