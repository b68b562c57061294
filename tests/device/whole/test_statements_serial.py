"""Threads on shared arrays give what some serial order of their statements gives; see `tests.torture.threads`."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import clarray
from clarray._engine.launch.first_calls import kernels_only
from tests.torture.threads import Program, check, outcomes, run, switching_often

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
        [["np.put(x, i, c)"], ["np.clip(x, 2, 9, out=x)"], ["np.take(x, i, out=x[: i.size])"]],
        [["q = x[m]", "setitem(x, m, q)", "read(q)"], ["setitem(x, m, s)", "read(s)"], ["iadd(x, 1)"]],
    ],
)
def test_classes_of_statements(threads: list[list[str]], size: int) -> None:
    texts = tuple(map(tuple, threads))
    codes = tuple(tuple(compile(text, text, "exec") for text in each) for each in texts)
    program = Program(texts, codes, size, "int64")
    allowed = outcomes(program)
    with switching_often():
        assert all(run(program, clarray.array, bool(turn % 2)) in allowed for turn in range(40))


def test_a_wrong_order_is_seen() -> None:
    texts = (("setitem(x, 3, 11)",), ("read(x[3])",))
    codes = tuple(tuple(compile(text, text, "exec") for text in each) for each in texts)
    allowed = outcomes(Program(texts, codes, 8, "int64"))
    assert {np.frombuffer(reads[1][0], np.int64).item() for *_, reads in allowed} == {3, 11}
    assert all(np.frombuffer(x, np.int64)[3] == 11 for x, *_ in allowed)
