"""Threads on shared arrays give what some serial order of their statements gives; see `tests.torture.threads`."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import clarray
from clarray._engine.launch.host_tier import kernels_only
from tests.torture.points import wrong_points
from tests.torture.threads import check, outcomes, program_of, run, switching_often

SECONDS = 8


@pytest.mark.parametrize("kernels", [True, False], ids=["kernels", "NumPy first"])
def test_random_threads(kernels: bool) -> None:
    with kernels_only() if kernels else nullcontext():
        programs, wrong = check(20 + kernels, SECONDS, clarray.array)
    assert programs > 1
    assert not wrong


@pytest.mark.parametrize("size", [8, 5000])
@pytest.mark.parametrize(
    "threads",
    [
        [["iadd(x, 1)"] * 2] * 3,
        [["np.add(x, 1, out=x)"] * 2] * 3,
        [["setitem(x, WHOLE, y)"], ["read(y)"], ["setitem(w, WHOLE, y)"]],
        [["setitem(x, m, 0)"], ["x.sort()"], ["np.add(x, 1, out=x, where=m)"]],
        [["setitem(x, i, c)"] * 2, ["np.add(x, 1, out=x, where=m)"] * 2],
        [["np.concatenate((x[4:], x[:4]), out=w)"], ["iadd(x, 1)"], ["read(x + w)"]],
        [["np.put(x, i, c)"], ["np.clip(x, 2, 9, out=x)"], ["np.take(x, i, out=x[: i.size])"]],
        [["q = x[m]", "setitem(x, m, q)", "read(q)"], ["setitem(x, m, s)", "read(s)"], ["iadd(x, 1)"]],
    ],
)
def test_classes_of_statements(threads: list[list[str]], size: int) -> None:
    program = program_of(threads, size, "int64")
    allowed = outcomes(program)
    with switching_often():
        assert all(run(program, clarray.array, bool(turn % 2)) in allowed for turn in range(40))


def test_a_wrong_order_is_seen() -> None:
    allowed = outcomes(program_of([["setitem(x, 3, 11)"], ["read(x[3])"]], 8, "int64"))
    assert {np.frombuffer(reads[1][0], np.int64).item() for *_, reads in allowed} == {3, 11}
    assert all(np.frombuffer(x, np.int64)[3] == 11 for x, *_ in allowed)


@pytest.mark.parametrize(
    "statement", ["q = q * 2", "p = s.sum()", "p = q.mean()", "setitem(x, m, s)", "setitem(x, i, c)"]
)
def test_a_write_at_any_bytecode(statement: str) -> None:
    assert not list(wrong_points(statement, "setitem(w, m, -1)", 8, "int64", most=20))
    assert not list(wrong_points(statement, "iadd(x, w)", 8, "int64", most=20))
