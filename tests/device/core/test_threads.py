"""Arrays in several threads, and after a fork."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.expr import build
from clarray._engine.expr.node import Node
from clarray._engine.launch.host_tier import kernels_only, setting
from clarray._engine.runtime.profiling import state
from clarray._engine.runtime.silence_build_output import silence_build_output

THREADS = 8


@pytest.fixture(autouse=True)
def switch_often() -> Any:
    """Threads take turns far more often than they usually do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Run at once; whatever one of them raises is raised."""
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait(30)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(run, number) for number in range(count)]:
            future.result(timeout=120)


BASE = np.arange(64, dtype=np.float32)


def test_arrays_of_their_own() -> None:
    def work(number: int) -> None:
        x = clarray.array(BASE) + number
        for turn in range(30):
            y = (x * 2 + turn).reshape(8, 8)
            y[::2] += 1
            expected = ((BASE + number) * 2 + turn).reshape(8, 8)
            expected[::2] += 1
            assert float(y.sum()) == expected.sum()
            np.testing.assert_array_equal(clarray.asnumpy(y), expected)

    in_threads(work)


def test_one_array_read_by_all() -> None:
    x = clarray.array(BASE)

    def work(number: int) -> None:
        for turn in range(60):
            y = x * number + turn
            z = y + x
            assert float(z.sum()) == (BASE * number + turn + BASE).sum()

    in_threads(work)
    assert len(x._node.readers) < 4 * THREADS + 2 * build.PRUNE_AT


def test_one_pending_value_used_by_all() -> None:
    """While one thread computes it, others grow from it: each sees it pending or as memory."""
    for turn in range(60):
        x = clarray.array(BASE)
        y = x * 2 + turn
        z = y - 1

        def work(number: int, y: Any = y, z: Any = z, turn: int = turn) -> None:
            if number % 3 == 0:
                y.evaluate()
            elif number % 3 == 1:
                z.evaluate()
            made = (y + number) * z
            above = made - y
            expected = (BASE * 2 + turn + number) * (BASE * 2 + turn - 1)
            np.testing.assert_array_equal(clarray.asnumpy(made), expected)
            np.testing.assert_array_equal(clarray.asnumpy(above), expected - (BASE * 2 + turn))

        in_threads(work)


def test_writers_and_readers_of_one_array() -> None:
    """A write is all or nothing to an expression: every element has been read before it, or after."""
    x = clarray.zeros(64, np.float32)
    stop = threading.Event()

    def work(number: int) -> None:
        if number < 2:
            for turn in range(150):
                x[...] = float(turn % 7)
            stop.set()
        elif number < 4:
            while not stop.is_set():
                pending = [x * 2 + k for k in range(4)]
                for k, one in enumerate(pending):
                    host = clarray.asnumpy(one)
                    assert (host == host[0]).all()
                    assert (host[0] - k) % 2 == 0
        else:
            while not stop.is_set():
                total = float((x + 1).sum())
                assert total % 64 == 0

    in_threads(work)


def test_pending_values_keep_what_they_read_while_others_write() -> None:
    x = clarray.zeros(64, np.float32)
    lock = threading.Lock()
    kept: list[tuple[Any, float]] = []

    def work(number: int) -> None:
        for turn in range(60):
            with lock:  # the value at the time of growing is known
                value = number * 1000.0 + turn
                x[...] = value
                y = x + 1
                kept.append((y * 2, (value + 1) * 2))
                del y
            (x * 3).evaluate()

    in_threads(work)
    for ours, value in kept:
        assert (clarray.asnumpy(ours) == value).all()


def test_counts_in_place_under_a_lock() -> None:
    x = clarray.zeros(16, np.int64)
    lock = threading.Lock()

    def work(number: int) -> None:
        for _ in range(50):
            with lock:
                nonlocal x
                x += 1

    in_threads(work)
    assert clarray.asnumpy(x).tolist() == [THREADS * 50] * 16


def test_zero_copy_in_threads() -> None:
    def work(number: int) -> None:
        for turn in range(40):
            host = np.full(64, number + turn, np.float32)
            y = clarray.asarray(host) * 2 + 1
            host[...] = -1
            assert (clarray.asnumpy(y) == (number + turn) * 2 + 1).all()

    in_threads(work)


def test_growing_keeps_what_follows_from_operands() -> None:
    """Structure and inputs of what was grown amid evaluations are those of its operands."""
    for _ in range(40):
        x = clarray.array(BASE)
        y = np.exp(x)
        grown: list[Any] = []

        def work(number: int, y: Any = y, grown: list[Any] = grown) -> None:
            if number == 0:
                y.evaluate()
            else:
                for _ in range(20):
                    one = y + 1.0
                    grown.extend((one, one * 2.0))

        in_threads(work, 4)
        for made in grown:
            check(made._node)


def check(node: Node) -> None:
    if node.memory is not None or not node.args:
        return
    before = node.sig, node.inputs
    build.refresh_metadata(node)
    assert (node.sig, node.inputs) == before
    for arg in node.args:
        if arg.inputs or arg.memory is not None:
            assert any(r() is node for r in arg.readers)
        check(arg)


BLOCKS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "profile": (clarray.profile, lambda: state.recorder),
    "kernels only": (kernels_only, lambda: setting.on),
    "quiet build": (silence_build_output, lambda: list(warnings.filters)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_of_threads_end_in_any_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was in force before the first of them is in force after the last; in between, what the last one wants."""
    monkeypatch.setattr(setting, "on", True)
    block, now = BLOCKS[name]
    before = now()
    for order in permutations(range(3)):
        blocks = [block() for _ in order]
        for one in blocks:
            one.__enter__()
        for which in order:
            assert now() != before
            blocks[which].__exit__(None, None, None)
        assert now() == before


# Fork ---------------------------------------------------------------------------------------------

FORK = """
import os, sys, faulthandler
import numpy as np, clarray as ca
faulthandler.dump_traceback_later(100, exit=True)
x = ca.arange(1000, dtype=np.float32) + 0
y = x * 2            # pending when the process is forked
x.evaluate()
sys.stdout.flush()
child = os.fork()
if child == 0:
    for work in (lambda: float(y.sum()), lambda: x.get(), lambda: x.__setitem__(0, 1)):
        try:
            work()
            print("no error")
        except RuntimeError as error:
            assert "forked" in str(error) and "spawn" in str(error), error
    try:
        fresh = ca.arange(100, dtype=np.float32)
        assert float((fresh + 1).sum()) == 5050
    except RuntimeError as error:
        assert "forked" in str(error) and "spawn" in str(error), error
    del x, y
    sys.stdout.flush()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert float(y.sum()) == 999000
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is Unix's")
def test_fork() -> None:
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=150)
    assert (result.stdout, result.stderr, result.returncode) == ("done\n", "", 0)


def test_a_value_that_a_write_evaluates_while_it_grows() -> None:
    x = clarray.ones(8, np.float32)
    total = (x + 1).sum()
    x[...] = 5  # evaluates what reads x
    build.rebuild(total._node)  # what the growing thread does when it sees that x has changed
    assert float(total) == 16
    assert float((total + 1).sum()) == 17


def test_statements_on_parts_of_one_memory() -> None:
    """Each thread reads and writes its own part, and all assign from one pending value, which stays what it was."""
    length = 16
    whole, table = clarray.zeros(length * THREADS, np.float32), clarray.array(BASE[:length])
    theirs = np.zeros(length * THREADS, np.float32)

    def statements(a: Any, shared: Any, pick: random.Random) -> list[Any]:
        held = []
        for _ in range(60):
            i, j, n = pick.randrange(length), pick.randrange(1, length), pick.randrange(7)
            if n == 0:
                a[i] = float(a[j]) + 1
            elif n == 1:
                a[j:] = shared[j:]
            elif n == 2:
                a[1:] = a[:-1] + shared[1:]
            elif n == 3:
                a += i
            elif n == 4:
                a[i] += a[j]
            elif n == 5:
                held.append(a[j:] + a[i])
                a[j:] = held[-1]
            else:
                a[...] = shared
        return held

    for turn in range(6):
        shared, expected = table * 2 + turn, BASE[:length] * 2 + turn

        def work(number: int, shared: Any = shared, expected: Any = expected, turn: int = turn) -> None:
            part = slice(number * length, (number + 1) * length)
            ours = statements(whole[part], shared, random.Random(turn * THREADS + number))
            others = statements(theirs[part], expected, random.Random(turn * THREADS + number))
            for one, other in zip(ours, others, strict=True):
                np.testing.assert_array_equal(clarray.asnumpy(one), other)

        in_threads(work)
        np.testing.assert_array_equal(clarray.asnumpy(whole), theirs)
        np.testing.assert_array_equal(clarray.asnumpy(shared), expected)
