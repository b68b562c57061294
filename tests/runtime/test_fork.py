"""After a fork: a clear error or a fresh context, never a hang."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from clarray._engine.runtime import current_device
from clarray._engine.runtime.backends.pocl import binary_format
from clarray._engine.runtime.cache import DiskCache

from .once import ONCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is Unix's")

START = """
import os, sys, faulthandler, warnings
import numpy as np
from clarray._engine.runtime import current_device, use_device
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


USES = [
    "device.upload(np.ones(3))",
    "device.read(memory, 0, np.empty(1000, np.float32))",
    "device.synchronize()",
    "device.wrap(np.ones(3)) if device.capabilities.host_memory else device.upload(np.ones(3))",
    "device.program('kernel void k() {}', {'k': ()}).kernel('k').launch((1,), (1,), ())",
    "device.lock.__enter__()",
]


def test_an_inherited_device_says_what_to_do(fresh: Any) -> None:
    """In every way it is used, each in a child of its own."""
    children = "".join(f"; print('use', {number}); in_child(lambda: {use})" for number, use in enumerate(USES))
    result = fresh(f"{START}device = current_device(); memory = scaled(device){children}; scaled(device)")
    answers = re.split(r"use \d\n", result.stdout)[1:]
    assert len(answers) == len(USES)
    for use, answer in zip(USES, answers, strict=True):
        assert "RuntimeError: <" in answer, use
        assert "opened before this process was forked" in answer, use
        assert "spawn" in answer, use
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


LEAVING = {
    "sys.exit": ("sys.exit(0)", 0),
    "os._exit": ("os._exit(0)", 0),
    "an exception": ("raise KeyError('on purpose')", 1),
}
on_pocl = pytest.mark.skipif(current_device().backend.name != "pocl", reason="only PoCL works in a forked process")


def _all_complete(folder: Path) -> bool:
    cache = DiskCache(folder / "programs")
    return all(binary_format.is_complete(cache.load(file.name) or b"") for file in cache.folder.iterdir())


CHILDREN = """
device = current_device()
scaled(device)
for work in (lambda: None, WORK):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.excepthook = lambda *error: None
        work()
        LEAVE
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == CODE
print("parent")
"""


@pytest.mark.parametrize("how", LEAVING)
def test_children_leave_the_parents_programs_alone(fresh: Any, tmp_path: Path, how: str) -> None:
    leave, code = LEAVING[how]
    work = "lambda: scaled(current_device())" if current_device().backend.name == "pocl" else "lambda: None"
    text = CHILDREN.replace("LEAVE", leave).replace("CODE", str(code)).replace("WORK", work)
    result = fresh(START + ONCE.replace("[8,", "[8 ,") + text)
    device = current_device()
    # later versions of PoCL than the wheel's have a binary for each of the two devices
    binaries = 1 if device.inline is None or device.probed.binary_ids else 2
    assert (result.stdout, result.stderr) == (f"{binaries}\nparent\n", "")
    assert _all_complete(tmp_path)
    assert fresh(ONCE).stdout == "0\n"


@on_pocl
@pytest.mark.parametrize("how", LEAVING)
def test_children_with_a_device_of_their_own_fork_again(fresh: Any, tmp_path: Path, how: str) -> None:
    leave, code = LEAVING[how]
    text = f"""
sys.excepthook = lambda *error: None
def family(depth):
    scaled(current_device())
    for _ in range(1 if depth else 2):
        child = os.fork()
        if child == 0:
            family(depth + 1) if depth < 2 else scaled(current_device())
            print("child", depth, flush=True)
            {leave}
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == {code}
        scaled(current_device())
family(0)
"""
    result = fresh(START + text)
    assert (result.stdout, result.stderr) == ("child 2\nchild 1\nchild 0\n" * 2, "")
    assert _all_complete(tmp_path)
    assert fresh(START + "scaled(current_device())").stderr == ""


@on_pocl
def test_a_grandchild_works_on_when_both_parents_have_left(fresh: Any, tmp_path: Path) -> None:
    text = """
import time
scaled(current_device())
if os.fork() == 0:
    scaled(current_device())
    if os.fork() == 0:
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.01)
        time.sleep(0.2)  # the first one has left too
        scaled(current_device())
        print("grandchild")
    sys.exit(0)
"""
    result = fresh(START + text)  # ends when the last of them closes its stdout
    assert (result.stdout, result.stderr) == ("grandchild\n", "")
    assert _all_complete(tmp_path)
    assert fresh(START + "scaled(current_device())").stderr == ""


POOL = """
import multiprocessing
import clarray
def work(n):
    return float((clarray.arange(n) + 1).sum())
def main():
    assert work(10) == 55
    for method in METHODS:
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, [10, 100, 1000] * 2) == [55, 5050, 500500] * 2
            pool.close()
            pool.join()
    assert work(10) == 55
    print("done")
"""


def test_pools_of_processes(fresh: Any, tmp_path: Path) -> None:
    methods = ["fork", "forkserver", "spawn"] if current_device().backend.name == "pocl" else ["forkserver", "spawn"]
    (tmp_path / "work.py").write_text(POOL.replace("METHODS", repr(methods)))
    result = fresh(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import work; work.main()", CLARRAY_TIER="0")
    assert (result.stdout, result.stderr) == ("done\n", "")
    assert _all_complete(tmp_path)


def test_a_lock_that_a_thread_keeps_gives_an_error_in_the_child(fresh: Any) -> None:
    code = """
import threading
from clarray._engine.runtime import discovery
discovery._FORK_WAIT_SECONDS = 0.2
device = current_device()
scaled(device)
taken, done = threading.Event(), threading.Event()
def hold():
    with device.lock:
        taken.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
taken.wait()
in_child(lambda: scaled(current_device()))
done.set()
thread.join()
scaled(device)
"""
    result = fresh(START + code)
    assert result.stdout.startswith("RuntimeError: OpenCL was used before")
    assert result.stderr == ""


def test_what_other_threads_hold_is_free_in_the_child(fresh: Any) -> None:
    code = """
import threading
import clarray
from clarray._engine.expr.node import graph_lock
from clarray._engine.runtime import discovery
from clarray._engine.runtime.silence_build_output import silence_build_output
discovery._FORK_WAIT_SECONDS = 0.2
bits = clarray.random.Philox4x32(key=0)
taken, done = threading.Event(), threading.Event()
def hold():
    with silence_build_output():
        taken.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
taken.wait()
def child():
    os.write(2, b"heard")
    bits.advance(1)
    assert graph_lock.acquire(timeout=10)
in_child(child)
done.set()
thread.join()
os.write(2, b" again")
"""
    result = fresh(START + code)
    assert (result.stdout, result.stderr) == ("", "heard again")
