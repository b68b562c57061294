"""After a fork: a clear error or a fresh context, never a hang."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is Unix's")

START = """
import os, sys, faulthandler, warnings
import numpy as np
from clarray.runtime import current_device, use_device
warnings.simplefilter("ignore")

def scaled(device):
    source = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
    memory = device.upload(np.arange(1000, dtype=np.float32))
    kernel = device.program(source, {"twice": ("buffer",)}).kernel("twice")
    for inline in (True, False):
        kernel.launch((1000,), (1,), (memory.buffer,), inline)
    out = np.empty(1000, np.float32)
    device.read(memory, 0, out)
    assert (out == 4 * np.arange(1000)).all()
    return memory

def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            work()
        except RuntimeError as error:
            print("RuntimeError:", error)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_before_first_use_a_fork_is_harmless(fresh: Any) -> None:
    result = fresh(START + "in_child(lambda: scaled(current_device())); scaled(current_device())")
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    "use",
    [
        "device.upload(np.ones(3))",
        "device.read(memory, 0, np.empty(1000, np.float32))",
        "device.synchronize()",
        "device.wrap(np.ones(3)) if device.capabilities.host_memory else device.upload(np.ones(3))",
        "device.program('kernel void k() {}', {'k': ()}).kernel('k').launch((1,), (1,), ())",
        "device.lock.__enter__()",
    ],
)
def test_an_inherited_device_says_what_to_do(fresh: Any, use: str) -> None:
    code = f"device = current_device(); memory = scaled(device); in_child(lambda: {use})"
    result = fresh(START + code + "; scaled(device)")
    assert "RuntimeError: <" in result.stdout
    assert "opened before this process was forked" in result.stdout
    assert "spawn" in result.stdout
    assert result.stderr == ""


def test_dropping_inherited_memory_is_silent(fresh: Any) -> None:
    code = """
device = current_device()
held = [scaled(device), device.allocate(200 << 20)]
if device.capabilities.host_memory:
    held.append(device.wrap(np.ones(1000)))
in_child(held.clear)
"""
    result = fresh(START + code)
    assert (result.stdout, result.stderr) == ("", "")


def test_new_work_in_the_child_gets_a_context_or_an_error(fresh: Any) -> None:
    code = "scaled(current_device()); in_child(lambda: (scaled(current_device()), print('fresh')))"
    result = fresh(START + code)
    assert result.stderr == ""
    assert result.stdout == "fresh\n" or (
        result.stdout.startswith("RuntimeError: OpenCL was used before") and "spawn" in result.stdout
    )


def test_a_fork_amid_other_threads_work(fresh: Any) -> None:
    code = """
import threading
device = current_device()
scaled(device)
stop = threading.Event()
def busy():
    while not stop.is_set():
        scaled(device)
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(5):
    in_child(lambda: scaled(current_device()))
stop.set()
for thread in threads: thread.join()
"""
    result = fresh(START + code)
    assert result.stderr == ""
