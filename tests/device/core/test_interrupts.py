"""Ctrl-C at any point: a statement has been done or has not, every lock is free, and what follows is as it should be.

A timer raises KeyboardInterrupt in loops of statements of all kinds, now here, now there. NumPy's loop is replayed up
to the statement that was interrupted, and perhaps with it. INTERRUPTS says how many of these there are.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import math
import operator
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.expr.node import graph_lock
from clarray._engine.launch.host_tier import kernels_only, setting
from clarray._engine.launch.kernel_cache import forget
from clarray._engine.runtime import current_device, silence_build_output
from clarray._engine.runtime.profiling import state
from clarray._engine.runtime.progress import _compiled

from ... import both_ways
from .test_garbage import assert_each_block_is_there_once
from .test_recordings import python_calls

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer interrupts here"),
]

COUNT = int(os.environ.get("INTERRUPTS", "2000"))
LONGEST = 600e-6  # seconds until an interrupt; a statement takes a few microseconds, and Python alone some hundred
MOST = 40  # statements before the next one, if that has come to nothing

Names = dict[str, Any]
Statement = Callable[[ModuleType, Names], Any]


def names(xp: ModuleType) -> Names:
    rng = np.random.default_rng(7)
    given = {
        "x": rng.integers(-9, 9, 64).astype(np.float32),
        "y": rng.integers(-9, 9, 64).astype(np.float32),
        "u": rng.integers(-9, 9, (8, 9)).astype(np.float64),
        "i": rng.integers(-99, 99, 48),
        "j": rng.integers(-99, 99, 48),
        "a": rng.integers(-9, 9, (6, 6)),
        "k": rng.integers(-48, 48, 12),
        "p": np.arange(64, dtype=np.float32),
    }
    made = {name: xp.array(value) for name, value in given.items()}
    return made | {"w": made["u"][1:, ::2], "v": made["i"][::-1], "n": 1.0}


def put(name: str, value: Callable[[ModuleType, Names], Any]) -> Statement:
    """``name = value``: at once, for NumPy's numbers and clarray's."""

    def statement(xp: ModuleType, v: Names) -> None:
        v[name] = value(xp, v)

    return statement


def write(name: str, key: Any, value: Callable[[ModuleType, Names], Any]) -> Statement:
    """``name[key] = value``; a key may be computed."""

    def statement(xp: ModuleType, v: Names) -> None:
        v[name][key(xp, v) if callable(key) else key] = value(xp, v)

    return statement


def change(name: str, operator: str, value: Callable[[ModuleType, Names], Any]) -> Statement:
    """``name operator= value``."""

    def statement(xp: ModuleType, v: Names) -> None:
        v[name] = getattr(v[name], operator)(value(xp, v))

    return statement


# Sums and halves of floats are exact however they are fused; what adds many up, or multiplies, does so with integers.
STATEMENTS: dict[str, Statement] = {
    # growing
    "sum of two": put("p", lambda xp, v: v["x"] + v["y"]),
    "growing on": put("p", lambda xp, v: (v["p"] + v["x"]) * 0.5),
    "used twice": put("p", lambda xp, v: (v["p"] - v["x"]) + (v["p"] - v["x"]) * 0.5),
    "evaluated": put("p", lambda xp, v: (v["x"] - v["y"]) if xp is np else (v["x"] - v["y"]).evaluate()),
    "where": put("p", lambda xp, v: xp.where(v["x"] > v["y"], v["x"], 0)),
    # numbers
    "float": put("n", lambda xp, v: float(v["x"][3])),
    "int of a sum": put("n", lambda xp, v: int(v["i"].sum())),
    "arithmetic of numbers": put("n", lambda xp, v: float(v["x"][3] * 0.5 + v["y"][1])),
    "max": put("n", lambda xp, v: float(v["x"].max())),
    # writing
    "an element": write("x", 3, lambda xp, v: 1.0),
    "an element of elements": write("x", 4, lambda xp, v: v["x"][3] * 0.5 + v["y"][7] * 0.5),
    "a slice": write("x", slice(1, -1), lambda xp, v: v["y"][2:]),
    "a stencil": write("x", slice(1, -1), lambda xp, v: (v["y"][1:-1] + v["y"][2:] + v["y"][:-2]) * 0.25),
    "over itself": write("y", slice(1, None), lambda xp, v: v["y"][:-1]),
    "turned": write("y", slice(None), lambda xp, v: v["x"][::-1]),
    "a number": write("w", (slice(None), 1), lambda xp, v: 0.5),
    "into a view": write("w", 0, lambda xp, v: v["w"][1] + v["w"][2]),
    "what is pending": write("x", slice(None), lambda xp, v: v["p"]),
    "what is pending and more": write("y", slice(None), lambda xp, v: (v["p"] + v["x"]) * 0.5),
    "by a mask": write("x", lambda xp, v: v["x"] > 40, lambda xp, v: 0.5),
    "by indices": write("j", lambda xp, v: v["k"], lambda xp, v: 7),
    # in place
    "in place": change("x", "__iadd__", lambda xp, v: 1),
    "in place by another": change("y", "__imul__", lambda xp, v: 0.5),
    "in place while pending": change("p", "__iadd__", lambda xp, v: v["x"]),
    "in place of a view": change("v", "__iadd__", lambda xp, v: 3),
    # views
    "a view": put("w", lambda xp, v: v["u"][1:, ::2]),
    "a view of a view": put("v", lambda xp, v: v["i"][::-1][:]),
    # reductions and products
    "sum": put("s", lambda xp, v: v["i"].sum()),
    "sum of an axis": put("s", lambda xp, v: v["a"].sum(axis=0)),
    "less its sum": put("j", lambda xp, v: v["j"] - v["i"].sum() % 7),
    "any": put("s", lambda xp, v: (v["i"] > 50).any()),
    "vectors": put("n", lambda xp, v: int(v["i"] @ v["j"])),
    "matrix and vector": put("t", lambda xp, v: v["a"] @ v["i"][:6]),
    "matrices": put("a", lambda xp, v: (v["a"] @ v["a"]) % 9),
    # masks
    "selected": put("q", lambda xp, v: v["i"][v["i"] > 0]),
    "selected and used": put("q", lambda xp, v: v["j"][v["j"] > 3] * 2 + 1),
    "count": put("n", lambda xp, v: int(xp.count_nonzero(v["i"] > 0))),
    # what is recorded
    "concatenate": put("c", lambda xp, v: xp.concatenate((v["i"], v["j"]))),
    "sorted": put("c", lambda xp, v: xp.sort(v["i"])),
    "index": put("c", lambda xp, v: v["i"][v["k"]]),
    "take": put("c", lambda xp, v: xp.take(v["x"], v["k"])),
    "cumsum": put("c", lambda xp, v: v["i"].cumsum()),
    "argsort": put("c", lambda xp, v: xp.argsort(v["j"], kind="stable")),
    "roll": put("j", lambda xp, v: xp.roll(v["j"], 3)),
    "clip": put("j", lambda xp, v: xp.clip(v["j"], -200, 200)),
    "stack": put("c", lambda xp, v: xp.stack((v["x"], v["y"]), axis=1)),
    "sort in place": lambda xp, v: v["i"].sort(),
    "fresh": put("x", lambda xp, v: xp.array(v["x"])),
    "zeros": put("u", lambda xp, v: xp.zeros((8, 9)) + 1),
}


class Storm:
    """Interrupts the main thread, once each time it is asked to."""

    def __init__(self) -> None:
        self.is_armed = False
        self.came = 0

    def _interrupt(self, *_: object) -> None:
        if self.is_armed:
            self.is_armed = False
            self.came += 1
            raise KeyboardInterrupt

    def interrupted(self, after: float, work: Callable[[], None]) -> bool:
        """Do some work, interrupted after so many seconds; whether that is what has ended it."""
        came = self.came
        try:
            self.is_armed = True
            signal.setitimer(signal.ITIMER_REAL, after)
            work()
            self.is_armed = False
        except KeyboardInterrupt:
            pass
        self.is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        return self.came > came

    def __enter__(self) -> Storm:
        self._before = signal.signal(signal.SIGALRM, self._interrupt)
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._swallowed
        return self

    def _swallowed(self, error: Any) -> None:
        """Of what runs as an object goes, Python only tells."""
        if not isinstance(error.exc_value, KeyboardInterrupt):
            self._unraisable(error)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        sys.unraisablehook = self._unraisable


@pytest.fixture
def one_way() -> Iterator[None]:
    """Compare no results of NumPy and kernels: the kernel of the comparison would count as part of the statement."""
    with both_ways.paused():
        yield


@pytest.fixture
def no_kernel_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let NumPy compute pending expressions for good: no kernel is compiled in its place."""
    monkeypatch.setattr(setting, "prefetch_after", math.inf)
    monkeypatch.setattr(setting, "compile_after", math.inf)
    forget(current_device())


@pytest.fixture
def storm() -> Iterator[Storm]:
    with Storm() as made:
        yield made


class Loop:
    """Statements over clarray's arrays, and NumPy's behind them."""

    def __init__(self) -> None:
        self.ours, self.theirs = names(clarray), names(np)

    def run(self, some: list[str]) -> None:
        """Statements that nothing interrupts."""
        for name in some:
            STATEMENTS[name](clarray, self.ours)
            STATEMENTS[name](np, self.theirs)

    def difference(self) -> str | None:
        """What is not NumPy's."""
        for name, theirs in self.theirs.items():
            ours = self.ours.get(name)
            if ours is None:
                return f"{name} is not there"
            found = clarray.asnumpy(ours) if isinstance(ours, clarray.DeviceArray) else ours
            if np.shape(found) != np.shape(theirs) or not np.array_equal(found, theirs):
                return f"{name} is {found!r}, not {theirs!r}"
        return None

    def follow(self, done: list[str], last: str | None) -> None:
        """Replay what has been done, and the statement that was interrupted if that has been."""
        for name in done:
            STATEMENTS[name](np, self.theirs)
        without = self.difference()
        if without is None:
            return
        assert last is not None, f"after {done[-5:]}: {without}"
        STATEMENTS[last](np, self.theirs)
        difference = self.difference()
        assert difference is None, f"{last!r} after {done[-5:]}: {difference}; without it {without}"


def locks() -> list[Any]:
    """Those of the device, of the graph, and all others of clarray's modules."""
    kinds = type(threading.Lock()), type(threading.RLock()), type(graph_lock)
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "clarray"]
    found = [thing for module in modules for thing in vars(module).values() if isinstance(thing, kinds)]
    return [current_device().lock, *found]


def assert_all_is_free() -> None:
    """No lock is held for good, and of this thread, which is the one interrupted, nothing is recorded or profiled."""
    stuck: list[Any] = []

    def look() -> None:
        for lock in locks():
            if lock.acquire(timeout=30):
                lock.release()
            else:
                stuck.append(lock)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    recording = state.capture  # another thread's is in order: it is at work
    assert (stuck, state.recorder, recording is not None and recording.is_current_thread) == ([], None, False)
    end = time.monotonic() + 30
    while not gc.isenabled() and time.monotonic() < end:
        time.sleep(0.001)  # a thread that compiles has it off while it launches
    assert gc.isenabled()


def calls_of_python(loop: Loop) -> dict[str, int]:
    """How many functions of clarray's Python each statement goes through at least: what is kept of it is still used.

    Each time from where all is computed, as operands that are pending, and read by others, cost more.
    """
    rounds = []
    for _ in range(4):
        assert loop.difference() is None
        rounds.append({name: python_calls(lambda name=name: loop.run([name])) for name in STATEMENTS})
    return {name: min(found[name] for found in rounds) for name in STATEMENTS}


def others_at_work(stop: threading.Event) -> None:
    """Hold the locks for a moment, in their order, and go on with other arrays."""
    random, loop = Random(1), Loop()
    while not stop.is_set():
        with current_device().lock:
            time.sleep(random.random() * 2e-4)
            with graph_lock:
                time.sleep(random.random() * 1e-4)
        loop.run(random.choices(list(STATEMENTS), k=4))
    assert loop.difference() is None


def run_storm(storm: Storm, loop: Loop, beside: bool) -> None:
    """Interrupt statements at random moments, beside another thread or not, and compare with NumPy's after each."""
    random, stop = Random(COUNT), threading.Event()
    other = threading.Thread(target=others_at_work, args=(stop,))
    if beside:
        other.start()
    came = 0
    try:
        while came < COUNT // 2:
            wanted, done = random.choices(list(STATEMENTS), k=MOST), []

            def work(wanted: list[str] = wanted, done: list[str] = done) -> None:
                for name in wanted:
                    STATEMENTS[name](clarray, loop.ours)
                    done.append(name)

            came += storm.interrupted(random.random() ** 2 * LONGEST, work)
            loop.follow(done, wanted[len(done)] if len(done) < len(wanted) else None)
            if came % 16 == 0:
                assert_all_is_free()
    finally:
        stop.set()
        if beside:
            other.join()
    assert_all_is_free()
    assert_each_block_is_there_once()
    for _ in range(3):
        loop.run(list(STATEMENTS))
    assert loop.difference() is None


# between the opening of a file and its `with` Python itself lets an interrupt leave it to the garbage collector
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.kernels_alone  # so that the same functions of Python run before and after
@pytest.mark.parametrize("beside", [False, True], ids=["itself", "beside another thread"])
def test_a_storm_of_interrupts(storm: Storm, beside: bool) -> None:
    loop = Loop()
    for _ in range(5):  # until kernels, launches and recordings are there
        loop.run(list(STATEMENTS))
    before = calls_of_python(loop)
    run_storm(storm, loop, beside)
    after = calls_of_python(loop)
    assert {name: count for name, count in after.items() if count > before[name]} == {}


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.usefixtures("one_way", "no_kernel_comes")
@pytest.mark.parametrize("beside", [False, True], ids=["itself", "beside another thread"])
def test_a_storm_of_interrupts_while_numpy_computes(storm: Storm, beside: bool) -> None:
    run_storm(storm, Loop(), beside)


# between the opening of a file and its `with` Python itself lets an interrupt leave it to the garbage collector
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_interrupts_while_kernels_are_made(storm: Storm) -> None:
    """Those of other trees each time, which are rendered and compiled, or go on being so at the next try."""
    random, (x, y) = Random(time.time_ns()), (np.arange(1.0, 65), np.arange(65.0, 1, -1))
    ours, terminal = (clarray.array(x), clarray.array(y)), os.fstat(2)
    operations = (operator.add, operator.sub, np.maximum, np.minimum)

    def tree(one: Any, other: Any, picks: list[Any]) -> Any:
        for pick in picks:
            one = pick(one, other)
        return one

    came, trees = 0, 0
    while trees < 5 or (not came and trees < 50):  # where kernels are made quickly, few interrupts come in time
        trees += 1
        picks = random.choices(operations, k=12)
        made = tree(*ours, picks)
        with kernels_only():
            for _ in range(3):
                came += storm.interrupted(random.random() * 0.1, lambda made=made: made.evaluate())
        np.testing.assert_array_equal(made.get(), tree(x, y, picks))
        assert_all_is_free()
    assert came
    assert os.fstat(2) == terminal
    assert (silence_build_output._builds, silence_build_output._captured, _compiled.depth) == (set(), None, 0)


# Where Python looks whether a signal has come: as a function begins, where one has been called, and where a loop turns.
LOOKS = {
    dis.opmap[name] for name in ("RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD") if name in dis.opmap
}
HERE = tuple(str(Path(package.__file__).parent) for package in (clarray, np))


class Points:
    """Counts the points of Python at which an interrupt may come, and lets one come where it is due.

    In clarray's and NumPy's Python code (NumPy's functions in C call Python as well), or in the files of `where`.
    """

    def __init__(self, where: str | tuple[str, ...] = HERE) -> None:
        self.where, self.seen, self.due = where, 0, -1
        self._known: dict[Any, tuple[bytes, list[Any]]] = {}
        self._last: dict[int, int] = {}

    def _begin(self, frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.where):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._last[id(frame)] = frame.f_lasti  # RESUME: its own event is this one
        return self._step

    def _step(self, frame: Any, event: str, _: Any) -> Any:
        if event == "return":
            self._last.pop(id(frame), None)
        if event != "opcode":
            return self._step
        last, self._last[id(frame)] = self._last.get(id(frame)), frame.f_lasti
        if last is not None and self._is_point(frame.f_code, last, frame.f_lasti):
            self.seen += 1
            if self.seen == self.due:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._step

    def _is_point(self, code: Any, last: int, now: int) -> bool:
        """Whether an interrupt may come after one instruction, and before the next is caught as one of the first is."""
        known = self._known.get(code)
        if known is None:
            known = self._known[code] = code.co_code, dis.Bytecode(code).exception_entries
        instructions, handlers = known
        return instructions[last] in LOOKS and not any(
            (h.start <= last < h.end) != (h.start <= now < h.end) for h in handlers
        )

    def interrupted(self, due: int, work: Callable[[], None]) -> bool:
        """Do some work, interrupted at a point; whether that is what has ended it."""
        self.seen, self.due = 0, due
        self._last.clear()
        sys.settrace(self._begin)
        try:
            work()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        return self.seen == due


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.usefixtures("one_way")
@pytest.mark.parametrize("by", ["kernels", "NumPy"])
def test_an_interrupt_at_each_point(name: str, by: str, storm: Storm, request: pytest.FixtureRequest) -> None:
    """Interrupt a statement at evenly chosen points, INTERRUPTS in all, computed by kernels or by NumPy."""
    if by == "NumPy":
        request.getfixturevalue("no_kernel_comes")
    loop, points, before = Loop(), Points(), ("growing on", "sum of two")
    for _ in range(5):
        loop.run([*before, name])

    def work() -> None:
        STATEMENTS[name](clarray, loop.ours)

    points.interrupted(-1, work)
    STATEMENTS[name](np, loop.theirs)
    for due in range(1, points.seen + 1, max(1, points.seen * len(STATEMENTS) // COUNT)):
        loop.run([name, *before])  # in full, so that lists are cut that have grown long
        if points.interrupted(due, work):
            loop.follow([], name)
        else:
            loop.follow([name], None)
        assert (state.recorder, state.capture) == (None, None)
    assert_all_is_free()
    assert_each_block_is_there_once()


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("where", [silence_build_output.__file__, contextlib.__file__])
def test_an_interrupt_at_each_point_of_a_silent_build(where: str) -> None:
    """Stderr and the filters of warnings are given back; a test of its own, as builds take long and have few points."""
    points, before, heeded = Points(where), os.fstat(2), list(warnings.filters)

    def work() -> None:
        with silence_build_output.silence_build_output():
            os.write(2, b"1 warning generated.\n")

    # From Python 3.14 on the instructions of a function are traced from its second call on, after an interrupt too.
    counts = [points.interrupted(-1, work) or points.seen for _ in range(2)]
    assert counts[-1]
    for due in range(1, counts[-1] + 1):
        assert points.interrupted(due, work) or points.interrupted(due, work)
        assert (os.fstat(2), silence_build_output._builds, silence_build_output._captured) == (before, set(), None), due
        assert warnings.filters == heeded, due
