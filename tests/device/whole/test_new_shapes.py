"""A new shape of a known kernel renders nothing, and a value that is written in another way makes no other kernel.

Each statement runs with some sizes until its kernels are known, one for each class of shapes, then with many others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray as ca
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

SIDE = 96
# Vectors that are aligned and that are not, rows of one and of several vectors; not so few elements that loops vanish.
KNOWN = (32, 33, 40, 41, 44, 48, 63, 64, 65, 68, 76, 80, 84, 16, 17, 20, 28, 30)
NEW = (34, 35, 36, 39, 42, 47, 52, 57, 60, 70, 72, 75, 79, 18, 24, 31)

STATEMENTS = {
    "elementwise": "x[:n] + y[:n] * 2",
    "offsets": "x[n:] * y[:-n]",
    "strided": "A[:n, n] + x[:n]",
    "rows": "A[:n, :n] + 1",
    "transposed": "A[:n, :n].T + A[:n, :n]",
    "backwards": "np.flip(x[:n]) * y[:n]",
    "where": "np.where(x[:n] > n / 100, x[:n], y[:n])",
    "outer product": "np.outer(x[:n], y[n:])",
    "sum": "x[:n].sum()",
    "sum of rows": "A[:n, :n].sum(axis=1)",
    "sum of columns": "A[:n, :n].sum(axis=0)",
    "epilogue": "(x[:n].sum() + n) * 2",
    "argmax": "x[n:].argmax()",
    "variance": "A[:n, n:].var(axis=0)",
    "masked sum": "x[:n][x[:n] > 0.5].sum()",
    "dot": "np.dot(np.flip(x[:n]), y[:n])",
    "row times vector": "A[n, :n] @ x[:n]",
    "column times rest": "A[:, n] @ A[:, n:]",
    "matrix times vector": "A[n:, :n] @ x[:n]",
    "product": "A[n:, :n] @ A[:n, n:]",
    "compress": "x[:n][y[:n] > 0.5]",
    "take": "x[places[:n]]",
    "cumsum": "np.cumsum(x[:n])",
    "sort": "np.sort(x[:n])",
    "join": "np.concatenate([x[:n], y[n:]])",
    "pad": "np.pad(x[:n], 2)",
    "roll": "np.roll(x[:n], n // 2)",
    "bincount": "np.bincount(places[:n])",
    "search": "np.searchsorted(np.sort(x[:n]), y[:n])",
    "convolve": "np.convolve(x[:n], y[:5])",
}
WRITES = {
    "slice": "A[:n, n:] = 2 * A[:n, n:]",
    "rank one": "A[n:, n:] -= np.outer(A[n:, 0], A[0, n:])",
    "row": "A[n, :n] = x[:n] / y[n]",
    "mask": "x[:n][y[:n] > 0.5] = n",
}


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were asked for by their text."""
    texts: list[str] = []
    asked = KernelCache._program

    def program(self: KernelCache, text: str, arg_types: Any) -> Any:
        texts.append(text)
        return asked(self, text, arg_types)

    monkeypatch.setattr(KernelCache, "_program", program)
    return texts


def names(of: Any, side: int = SIDE) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "np": of,
        "A": of.array(rng.random((side, side), np.float32)),
        "x": of.array(rng.random(side, np.float32)),
        "y": of.array(rng.random(side, np.float32)),
        "places": of.array(rng.integers(0, side, side)),
    }


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_value(statement: str, rendered: list[str]) -> None:
    code = compile(STATEMENTS[statement], statement, "eval")
    ours, theirs = names(ca), names(np)
    for n in KNOWN:
        eval(code, {**ours, "n": n}).evaluate()
    rendered.clear()
    for n in NEW:
        eval(code, {**ours, "n": n}).evaluate()
    assert len(rendered) == 0
    found = ca.asnumpy(eval(code, {**ours, "n": 75}))
    np.testing.assert_allclose(found, eval(code, {**theirs, "n": 75}), rtol=1e-4)


@pytest.mark.parametrize("statement", WRITES)
def test_a_write(statement: str, rendered: list[str]) -> None:
    code = compile(WRITES[statement], statement, "exec")
    ours = names(ca)
    for n in KNOWN:
        exec(code, {**ours, "n": n})
    rendered.clear()
    for n in NEW:
        exec(code, {**ours, "n": n})
    assert len(rendered) == 0


# Kernels in all, however a slice grows, on a GPU: one for a work-item that has an output to itself, one for the whole
# group and one for some of it; each of aligned vectors and not, and for parts that a second launch combines.
GROWING = {
    "x[:n].sum()": 2,
    "A[n, :n] @ x[:n]": 2,
    "np.dot(np.flip(x[:n]), y[:n])": 2,
    "A[:, n] @ A[:, n:]": 8,
    "A[n:, :n] @ x[:n]": 6,
    "A[:n, n:].max(axis=0)": 12,
}


@pytest.mark.parametrize("statement", GROWING)
def test_a_slice_that_grows(statement: str, rendered: list[str]) -> None:
    code = compile(statement, statement, "eval")
    ours = names(ca, side=640)
    with policy_in_force("gpu"):
        for n in range(1, 640, 3):
            eval(code, {**ours, "n": n}).explain()  # what would run; nothing is compiled
    assert len(set(rendered)) <= GROWING[statement]


# Of one axis, reduced to a number; turned round, with numbers, broadcast, masked, not associative.
RUNS = (
    "x[:n].sum()",
    "A[n, :n] @ x[:n]",
    "np.flip(x[:n]).sum()",
    "(x[:n] * np.flip(y[:n]) + 2).min()",
    "(x[:n] * x[:1] + x[3:4]).sum()",
    "(3 * (x[:n] - 2).sum() + 1) / 2",
    "x[:n].sum(where=y[:n] > 0.5)",
    "x[::2][: n // 2 + 1].var()",
    "np.subtract.reduce(x[:n])",
    "(x[:n] * np.arange(n)).sum()",
)


@pytest.mark.parametrize("statement", RUNS)
def test_a_length_is_prepared_as_any_other(statement: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of other lengths launches what this one would have been given by itself."""
    code = compile(statement, statement, "eval")
    ours = names(ca)
    launched: list[Any] = []
    run = Launch.run

    def note(launch: Launch) -> None:
        plain = [arg for arg in launch.args if not hasattr(arg, "int_ptr")]
        program = launch.kernel.name, launch.kernel.source  # programs may be let go of and loaded again meanwhile
        launched.append((program, launch.groups, launch.local, plain, launch.inline, launch.nbytes))
        run(launch)

    monkeypatch.setattr(Launch, "run", note)
    cache = kernel_cache_of(current_device())
    lengths = (*KNOWN, *NEW, 1, 2, 3, 4, 5, 8, 90)

    def record(fresh: bool) -> list[Any]:
        found: list[Any] = []
        for n in lengths:
            if fresh:
                cache.prepared.clear()
            launched.clear()
            value = eval(code, {**ours, "n": n}).evaluate()
            found.append((ca.asnumpy(value).tobytes(), list(launched)))
        return found

    with ca.profile():  # which has Python do what is the compiled core's
        assert record(fresh=False) == record(fresh=True)


def test_kernels_outlive_prepared_shapes(rendered: list[str]) -> None:
    x = ca.ones(SIDE)
    with policy_in_force("tiny-cpu"):
        (x[:40] - 3).evaluate()
        assert rendered  # nobody else has these
    (x[:40] - 3).evaluate()
    with policy_in_force("own"):  # drops what was prepared
        (x[:41] - 4).evaluate()
    rendered.clear()
    (x[:42] - 5).evaluate()
    assert rendered == []


def test_what_is_one_input_is_part_of_the_key() -> None:
    """A tree's structure does not tell: t * t and t * u have the same."""
    x = np.arange(1, 5, dtype="f4")
    for xp_x in (x, ca.array(x)):
        found = []
        for one, other in ((2.0, 2.0), (2.0, 3.0)):
            for axis in (None, 0):
                s = xp_x.sum(axis)
                t = s * one
                u = s * other
                found += [float(t * t), float(t * u), float(t * t * u), float(t * u * u), float(u * t * u)]
        if xp_x is x:
            wanted = found
    assert found == wanted


# What every line says in several ways, one kernel computes.
INTS = np.array([-128, -1, 0, 1, 100, 127], np.int8)
LONGS = np.array([-(2**63), -1, 0, 2**53 + 1, 2**62 + 1, 2**63 - 1025])
REALS = np.array([-0.0, 1.5, -2.75, np.inf, np.nan, 1e-40], np.float32)
EQUAL = [
    ("a + w", "a.astype('i8') + w", "a.astype('i2').astype('i8') + w", "a.astype('i4') + w"),
    ("a * d", "a.astype('f4') * d", "a.astype('f4').astype('f8') * d", "a.astype('f8') * d"),
    ("f + d", "f.astype('f8') + d"),
    ("(a > 0) + w", "(a > 0).astype('i1') + w", "(a > 0).astype('i1').astype('i8') + w"),
    ("w + 1", "w + np.int8(1)", "w + np.uint32(1)", "w + True", "w + np.bool_(True)"),
    ("d * 2", "d * 2.0", "d * np.float16(2)", "d * np.int32(2)", "d * np.float32(2)"),
    ("(f + 1).astype('f8')", "(f + 1).astype('f4', copy=False).astype('f8')"),
]
# And what may not be left out.
APART = [
    "w.astype('i1') + w",
    "d + w.astype('f8').astype('i8')",
    "d.astype('f4') + d",
    "f.astype('f2') + d",
    "(a + 0).astype('u1').astype('i4')",
    "(w + 0).astype(bool).astype('i8') + w",
]


def values(of: Any) -> dict[str, Any]:
    found = {"a": INTS, "w": LONGS, "f": REALS, "d": REALS.astype("f8") * 3}
    return {"np": of, **{name: of.array(value) for name, value in found.items()}}


def answer(text: str) -> None:
    with np.errstate(all="ignore"):
        theirs = eval(text, values(np))
    ours = eval(text, values(ca))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ca.asnumpy(ours), theirs)


@pytest.mark.parametrize("ways", EQUAL, ids=lambda ways: ways[0])
def test_one_kernel_for_one_value(ways: tuple[str, ...], rendered: list[str]) -> None:
    for text in ways:
        answer(text)
    assert len(set(rendered)) <= 1


@pytest.mark.parametrize("text", APART)
def test_conversions_that_change_a_value_are_done(text: str) -> None:
    answer(text)
