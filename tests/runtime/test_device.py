"""A kernel's way through the runtime: compile, launch on either queue, read back."""

from __future__ import annotations

import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from clarray._engine.runtime import Capabilities, Device, current_device, find_device, use_device

X = np.linspace(-1, 1, 1001, dtype=np.float32)


@pytest.mark.parametrize("inline", [True, False])
def test_a_kernel_runs(scale: Any, inline: bool) -> None:
    for by in (2.0, 0.5):
        np.testing.assert_array_equal(scale(X, by, inline), np.float32(by) * X)


def test_queues_keep_their_order(device: Device, scale: Any) -> None:
    memory = device.allocate(4)
    device.fill_zero(memory)
    count = device.program(scale.kernel._program.source, {}).kernel("count")
    for turn in range(200):
        count.launch((1,), (1,), (memory.buffer,), inline=turn % 3 == 0)
    assert device.read_scalar(memory, 0, np.dtype(np.int32)) == 200


def test_a_program_is_kept_by_its_source(device: Device, scale: Any) -> None:
    program = scale.kernel._program
    assert device.program(program.source, {}) is program
    assert program.kernel("scale") is scale.kernel
    with pytest.raises(KeyError, match="no kernel 'sclae'"):
        program.kernel("sclae")


def test_released_programs_live_as_long_as_their_kernels(device: Device, scale: Any) -> None:
    source = "kernel void fill(global float *x, float by) { x[0] = by; } kernel void none(global float *x) { }"
    program = device.program(source, {"fill": ("buffer", "float32"), "none": ("buffer",)})
    held, gone = program.kernel("fill"), weakref.ref(program.kernel("none"))
    memory = device.allocate(4)
    held.launch((1,), (1,), (memory.buffer, 1.0))
    last = weakref.ref(program)
    device.release_programs()
    assert not device.sources
    assert gone() is None
    held.launch((1,), (1,), (memory.buffer, 2.0))
    assert device.read_scalar(memory, 0, np.dtype(np.float32)) == 2
    assert program.kernel("fill") is held
    assert device.program(source, program._arg_types) is not program
    assert program in device._released  # to be told when the device is closed
    del program, held
    device.recent.clear()
    assert last() is None
    np.testing.assert_array_equal(scale(X, 2.0, False), np.float32(2) * X)


def test_a_failed_build_shows_log_and_source(device: Device) -> None:
    source = "kernel void broken(global float *x)\n{\n    x[0] = undeclared_name;\n}\n"
    kernel = device.program(source, {"broken": ("buffer",)}).kernel("broken")
    memory = device.allocate(4)
    with pytest.raises(RuntimeError, match="cannot compile") as error:
        kernel.launch((1,), (1,), (memory.buffer,))
    assert "   3     x[0] = undeclared_name;" in str(error.value)


def test_a_wrong_number_of_argument_types_is_an_error(device: Device) -> None:
    source = "kernel void two(global float *x, int n) { x[0] = n; }"
    kernel = device.program(source, {"two": ("buffer",)}).kernel("two")
    with pytest.raises(TypeError, match="2 arguments, not 1"):
        kernel.launch((1,), (1,), (device.allocate(4).buffer,))


def test_builds_are_silent(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    source = "kernel void warns(global float *x) { int unused; x[0] = 1; x[0] == 2; }"
    memory = device.allocate(4)
    device.program(source, {"warns": ("buffer",)}).kernel("warns").launch((1,), (1,), (memory.buffer,), True)
    assert device.read_scalar(memory, 0, np.dtype(np.float32)) == 1
    assert capfd.readouterr() == ("", "")


def test_capabilities_are_plain_values(device: Device) -> None:
    what = device.capabilities
    assert pickle.loads(pickle.dumps(what)) == what
    assert isinstance(what, Capabilities)
    assert what.kind in ("cpu", "gpu", "accelerator")
    assert what.global_bytes > 1 << 20
    assert what.compute_units > 0


def test_a_device_cannot_be_pickled(device: Device) -> None:
    with pytest.raises(TypeError, match="find_device"):
        pickle.dumps(device)


def test_finding_devices(device: Device) -> None:
    assert find_device(device) is device
    assert find_device(None) is find_device(None)
    assert find_device(device.capabilities.platform[3:].upper()) in (device, find_device("0"))
    with pytest.raises(ValueError, match=r"The devices are:\n   0  .*compute units"):
        find_device("no such device")
    with pytest.raises(ValueError, match="no device 99"):
        find_device(99)


def test_the_device_of_a_block_is_the_threads_own(device: Device) -> None:
    other = Device(device.cl_device)
    seen = []
    with use_device(other):
        assert current_device() is other
        thread = threading.Thread(target=lambda: seen.append(current_device()))
        thread.start()
        thread.join()
    assert seen == [current_device()]
    assert current_device() is not other


def test_threads(scale: Any) -> None:
    wrong = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).random(100 + seed, dtype=np.float32)
        for turn in range(100):
            got = scale(x, float(turn), inline=turn % 2 == 0)
            if not np.array_equal(got, np.float32(turn) * x):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
