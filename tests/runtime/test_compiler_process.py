"""Compilation in a child process, and what users see if the compiler fails there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import CompilationError, Device, Program, compiler_process, current_device, profiling
from clarray._engine.runtime.backends.pocl import backend as pocl
from clarray._engine.runtime.cache import DiskCache

from ..device.conftest import policy_in_force
from .conftest import ROOT

SOURCE = "kernel void one(global int *x) { x[0] = 1; } /* %s */"
MOST_SECONDS = 60.0  # for a child process on a busy machine


@pytest.fixture(autouse=True)
def untrusted(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Trust no compiler, and give the test a disk cache and child processes of its own."""
    monkeypatch.setattr(type(device.backend), "compiles_in_child", lambda *_: True)
    monkeypatch.setattr(device, "program_cache", DiskCache(tmp_path / "programs"))
    monkeypatch.setattr(compiler_process, "_failures", {})
    monkeypatch.setattr(compiler_process, "_can_start", True)
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))  # for the child process
    compiler_process._end_all()
    yield
    compiler_process._end_all()


def program(device: Device, note: object) -> Program:
    """Return a program that no other test has compiled."""
    return Program(device, SOURCE % note, {"one": ("buffer",)})


def launch(device: Device, note: object) -> int:
    target = device.allocate(4)
    program(device, note).kernel("one").launch((1,), (1,), [target.buffer])
    out = np.zeros(1, np.int32)
    device.read(target, 0, out)
    return int(out[0])


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[int]]:
    """Replace the child process by a script. The returned list gets an element for each start."""
    starts: list[int] = []
    popen = subprocess.Popen

    def replace(code: str) -> list[int]:
        def start(command: object, **options: object) -> object:
            starts.append(1)
            return popen([sys.executable, "-c", code], **options)  # type: ignore[call-overload]

        monkeypatch.setattr(compiler_process.subprocess, "Popen", start)
        return starts

    return replace


def test_the_child_compiles_and_this_process_loads(device: Device) -> None:
    with profiling.profile() as profile:
        assert launch(device, "child") == 1
    assert [record.kind for record in profile.records if record.name == "one"] == ["build", "load", "launch"]


def test_a_child_serves_several_programs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[object] = []
    start = compiler_process._start
    monkeypatch.setattr(compiler_process, "_start", lambda: starts.append(start()) or starts[-1])
    for number in range(3):
        assert launch(device, number) == 1
    assert len(starts) == 1
    assert compiler_process._idle == starts


def test_a_child_that_has_ended_is_replaced(device: Device) -> None:
    assert launch(device, "before") == 1
    (first,) = compiler_process._idle
    first.kill()  # as after half a minute without work
    first.wait()
    assert launch(device, "after") == 1
    assert compiler_process._idle != [first]


def test_several_threads(device: Device) -> None:
    results: list[int] = []
    threads = [threading.Thread(target=lambda n=n: results.append(launch(device, f"thread {n}"))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1, 1, 1, 1]


def test_a_forked_process_leaves_the_children_to_its_parent(device: Device) -> None:
    assert launch(device, "before the fork") == 1
    pid = os.fork()
    if not pid:
        os._exit(len(compiler_process._idle))
    assert os.waitpid(pid, 0)[1] == 0
    assert launch(device, "after the fork") == 1
    assert len(compiler_process._idle) == 1


def test_a_program_with_an_error_gets_the_message_of_the_compiler(device: Device) -> None:
    wrong = Program(device, "kernel void one(global int *x) { x[0] = nothing; }", {"one": ("buffer",)})
    with pytest.raises(RuntimeError, match="nothing"):
        wrong.kernel("one").launch((1,), (1,), [device.allocate(4).buffer])


SLOW = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass"
CRASHES = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
FAILURES = [
    pytest.param(SLOW, "needs more than 20 seconds", id="slow"),
    pytest.param("import time; time.sleep(600)", "needs more than 20 seconds", id="sleeps"),
    pytest.param(CRASHES, "has crashed by signal 11", id="crashes"),
]


@pytest.mark.parametrize(("code", "message"), FAILURES)
def test_a_failure_is_noted(
    device: Device, child: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.setattr(compiler_process, "_WALL_FACTOR", 0.1 if "sleep" in code else 10)
    starts = child(code)
    for _ in range(2):
        with pytest.raises(CompilationError, match=f"compiler {message} for one.*CLARRAY_COMPILE_SECONDS"):
            launch(device, code)
    assert len(starts) == 1
    compiler_process._failures.clear()  # as another process
    with pytest.raises(CompilationError, match=message):
        launch(device, code)
    is_on_disk = "crash" not in message
    assert len(starts) == 1 + (not is_on_disk)
    monkeypatch.setenv(compiler_process.SETTING, "21")
    with pytest.raises(CompilationError):
        launch(device, code)
    assert len(starts) == 2 + (not is_on_disk)


def test_no_limit_is_no_child(
    device: Device, child: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = child(SLOW)
    monkeypatch.setenv(compiler_process.SETTING, "0")
    assert launch(device, "no limit") == 1
    assert not starts


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "import sys; sys.stdin.close(); raise SystemExit(1)"])
def test_a_child_that_cannot_work_changes_nothing(device: Device, child: Callable[[str], list[int]], code: str) -> None:
    starts = child(code)
    assert launch(device, code) == launch(device, f"{code}, again") == 1
    assert len(starts) == 1


def test_a_child_finds_clarray_in_the_current_folder(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", *(folder for folder in sys.path if folder != str(ROOT))])
    monkeypatch.chdir("/")
    assert launch(device, "the current folder") == 1
    assert len(compiler_process._idle) == 1


def test_no_process_can_be_started(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(compiler_process.subprocess, "Popen", refuse)
    assert launch(device, "no process") == 1


@pytest.mark.parametrize("setting", ["", "many", "-1", "5"])
def test_the_setting(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(compiler_process.SETTING, setting)
    assert compiler_process.limit_seconds() == {"": 20.0, "many": 20.0, "-1": 0.0, "5": 5.0}[setting]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
@pytest.mark.parametrize("in_main_thread", [True, False])
def test_an_interrupt_ends_the_child(
    device: Device, child: Callable[[str], list[int]], tmp_path: Path, in_main_thread: bool
) -> None:
    """The system may give a signal to any thread. Then no call of the main thread is interrupted."""
    number = tmp_path / "pid"
    # asked first: an interrupt while this process starts the child is not what is tested
    code = f"import os, time; os.read(0, 1); open({str(number)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    child(code)

    def interrupt() -> None:
        while not (number.exists() and number.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    start = time.monotonic()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [] if in_main_thread else [signal.SIGINT])
    try:
        with pytest.raises(KeyboardInterrupt):
            launch(device, "interrupt")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - start < 60
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Refuse the programs with all of some words in their sources, and forget those that are compiled."""
    sources: list[str] = []
    compile_in_child = compiler_process.compile_in_child

    def refuse(asked: dict[str, str], *rest: Any) -> None:
        if all(word in asked["source"] for word in request.param):
            sources.append(asked["source"])
            raise CompilationError(f"see {compiler_process.SETTING}")
        compile_in_child(asked, *rest)

    monkeypatch.setattr(compiler_process, "compile_in_child", refuse)
    forget_programs()
    yield sources
    forget_programs()


def forget_programs() -> None:
    """Forget the compiled kernels of the device, so that the next launches load or compile them."""
    cache = kernel_cache_of(current_device())
    cache.prepared = {}
    cache.rendered.clear()
    cache.device.release_programs()


@pytest.mark.parametrize(
    ("refused", "name"), [(["void small_matrices"], "svdvals"), (["void radix"], "argsort")], indirect=["refused"]
)
def test_numpy_computes_in_place_of_the_kernel(refused: list[str], name: str) -> None:
    numbers = np.random.default_rng(0).standard_normal((16, 4, 4) if name == "svdvals" else 100_000)
    module, numpys = (clarray.linalg, np.linalg) if name == "svdvals" else (clarray, np)
    with profiling.profile() as profile, policy_in_force("tiny-gpu"):
        np.testing.assert_array_equal(getattr(module, name)(clarray.array(numbers)), getattr(numpys, name)(numbers))
    assert refused
    assert profile.host_calls == 1


@pytest.mark.parametrize("refused", [["void radix"]], indirect=True)
def test_numpy_sorts_in_place(refused: list[str]) -> None:
    numbers = np.random.default_rng(0).permutation(100_000)
    x = clarray.array(numbers)
    x.sort()
    np.testing.assert_array_equal(x, np.sort(numbers))
    assert refused


PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda x, y: x // 7 + y % 5,
    "reduction": lambda x, y: (x // 7 + y % 5).sum(),
    "selection": lambda x, y: (x // 7)[y % 5 > 1],
}


@pytest.mark.parametrize("refused", [["ca_iremainder", "ca_ifloordiv"]], indirect=True)
@pytest.mark.parametrize("kind", PARTS)
def test_an_expression_is_computed_in_parts(refused: list[str], kind: str) -> None:
    x, y = np.arange(100_000), np.arange(100_000)[::-1].copy()
    np.testing.assert_array_equal(PARTS[kind](clarray.array(x), clarray.array(y)), PARTS[kind](x, y))
    assert refused


@pytest.mark.parametrize("refused", [["void elementwise"]], indirect=True)
def test_an_operation_raises(refused: list[str]) -> None:
    x = clarray.array(np.arange(100_000, dtype=np.float32))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="CLARRAY_COMPILE_SECONDS"):
            (x * 2 + 1).evaluate()
    np.testing.assert_array_equal(x[:3], [0, 1, 2])


class _Described:
    """A device of a platform, as far as the backend looks at it."""

    def __init__(self, version: str) -> None:
        self.platform = self
        self.version = version


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("OpenCL 3.0 PoCL 7.1+debian  Linux, None+Asserts, LLVM 21.1.8", True),
        ("OpenCL 3.0 PoCL 10.0  Linux", True),
        ("OpenCL 3.0 PoCL 6.0+debian  Linux, None+Asserts", True),
        ("OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts", False),
        ("OpenCL 2.0 pocl 1.8", False),
    ],
)
def test_which_compilers_are_not_trusted(monkeypatch: pytest.MonkeyPatch, version: str, expected: bool) -> None:
    monkeypatch.undo()  # of the fixture
    assert pocl.Pocl().compiles_in_child(_Described(version)) is expected  # type: ignore[arg-type]
    assert pocl.Pocl().compiles_reflections(_Described(version)) is ("PoCL 7" not in version and "10" not in version)  # type: ignore[arg-type]
