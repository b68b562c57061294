"""Calls that the compiled core makes again as they were recorded: with other elements they give NumPy's answer too."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import speedups
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.kernels_alone,  # small calls are recorded later: test_recorded_small_calls.py
    pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted"),
]
TIMES = 6  # a call is recorded when it is seen for the second time
FEW = 12  # Python functions that a call made again goes through: memory that is let go of

Operands = dict[str, Any]
Call = Callable[[ModuleType, Operands], Any]


def operands(xp: ModuleType, seed: int) -> Operands:
    """Arrays of the same structure, whose elements the seed says."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-50, 50, 30).astype(np.float32) / 4 for _ in range(2))
    given = {
        "x": x,
        "y": y,
        "n": rng.integers(-9, 9, 30),
        "i": rng.integers(-30, 30, 12),
        "m": rng.random(30) < 0.5,
        "a": rng.integers(-5, 5, (4, 6)).astype(np.float64),
        "b": rng.integers(-5, 5, (6, 3)).astype(np.float64),
        "c": rng.integers(0, 3, (2, 3, 4)).astype(np.int32),
    }
    return {name: xp.array(value) for name, value in given.items()}


CALLS: dict[str, Call] = {
    "concatenate": lambda xp, v: xp.concatenate((v["x"], v["y"], v["n"])),
    "concatenate of one": lambda xp, v: xp.concatenate([v["x"], v["x"]]),
    "stack": lambda xp, v: xp.stack((v["x"], v["y"]), axis=-1),
    "vstack": lambda xp, v: xp.vstack((v["a"], v["a"] * 2)),
    "block": lambda xp, v: xp.block([[v["a"], v["a"]], [v["a"], v["a"]]]),
    "append": lambda xp, v: xp.append(v["x"], v["n"]),
    "roll": lambda xp, v: xp.roll(v["a"], 2),
    "roll of an axis": lambda xp, v: xp.roll(v["a"], (1, -1), (0, 1)),
    "tile": lambda xp, v: xp.tile(v["x"], (2, 2)),
    "repeat": lambda xp, v: xp.repeat(v["a"], 3, axis=1),
    "pad": lambda xp, v: xp.pad(v["a"], 1, mode="reflect"),
    "take": lambda xp, v: xp.take(v["x"], v["i"]),
    "take of a view": lambda xp, v: xp.take(v["x"][::-2], v["i"][:3] // 3),
    "index": lambda xp, v: v["x"][v["i"]],
    "two indices": lambda xp, v: v["c"][v["i"] % 2, v["i"] % 3],
    "mask": lambda xp, v: v["x"][v["m"]],
    "nonzero": lambda xp, v: xp.nonzero(v["m"]),
    "take_along_axis": lambda xp, v: xp.take_along_axis(v["a"], xp.argsort(v["a"], 1), 1),
    "choose": lambda xp, v: xp.choose(v["n"] % 2, (v["x"], v["y"])),
    "cumsum": lambda xp, v: xp.cumsum(v["n"]),
    "cumsum of an axis": lambda xp, v: v["a"].cumsum(axis=0),
    "accumulate": lambda xp, v: np.maximum.accumulate(v["x"]),
    "sort": lambda xp, v: xp.sort(v["x"]),
    "argsort": lambda xp, v: xp.argsort(v["a"], axis=0, kind="stable"),
    "searchsorted": lambda xp, v: xp.searchsorted(xp.sort(v["x"]), v["y"]),
    "isin": lambda xp, v: xp.isin(v["n"], v["i"]),
    "unique": lambda xp, v: xp.unique(v["n"], return_counts=True),
    "bincount": lambda xp, v: xp.bincount(v["n"] + 9),
    "matmul": lambda xp, v: v["a"] @ v["b"],
    "matmul of a stack": lambda xp, v: v["c"] @ v["c"].transpose(0, 2, 1),
    "matmul of a pending one": lambda xp, v: (v["a"] + 1) @ v["b"].T.T,
    "vector and matrix": lambda xp, v: v["a"][1] @ v["b"],
    "dot": lambda xp, v: xp.dot(v["b"].T, v["a"].T),
    "einsum": lambda xp, v: xp.einsum("ij,jk->ki", v["a"], v["b"]),
    "tensordot": lambda xp, v: xp.tensordot(v["a"], v["b"], 1),
    "outer": lambda xp, v: xp.outer(v["x"], v["n"]),
    "kron": lambda xp, v: xp.kron(v["a"], v["b"]),
    "copy": lambda xp, v: v["a"][::2].copy(order="K"),
    "meshgrid": lambda xp, v: xp.meshgrid(v["x"], v["n"]),
    "gradient": lambda xp, v: xp.gradient(v["a"]),
    "vander": lambda xp, v: xp.vander(v["n"], 3),
    "interp": lambda xp, v: xp.interp(v["x"], xp.arange(30.0), v["y"]),
    "mean": lambda xp, v: xp.mean(v["a"], axis=0),
    "mean of a pending one": lambda xp, v: (v["a"] * 2 + 1).mean(axis=1, keepdims=True),
    "var": lambda xp, v: xp.var(v["a"], axis=1, ddof=1),
    "std": lambda xp, v: v["x"].std(),
    "norm": lambda xp, v: xp.linalg.norm(v["a"], axis=1),
    "argmax": lambda xp, v: xp.argmax(v["x"]),
    "argmin of an axis": lambda xp, v: v["a"].argmin(1),
    "count_nonzero": lambda xp, v: xp.count_nonzero(v["n"]),
    "clip": lambda xp, v: xp.clip(v["x"], -2, 5),
    "clip by arrays": lambda xp, v: xp.clip(v["x"], v["y"], v["y"] + 3),
    "round": lambda xp, v: xp.round(v["x"], 1),
    "ufunc into": lambda xp, v: xp.add(v["x"], v["y"], out=v["y"]),
    "ufunc into, where": lambda xp, v: np.add(v["x"], 1, out=v["y"], where=v["m"]),
    "tril": lambda xp, v: xp.tril(v["a"], 1),
    "trace": lambda xp, v: xp.trace(v["a"]),
    "diff": lambda xp, v: xp.diff(v["x"]),
    "ptp": lambda xp, v: xp.ptp(v["a"], axis=0),
    "average": lambda xp, v: xp.average(v["a"], axis=0),
    "nansum": lambda xp, v: xp.nansum(v["x"]),
    "allclose": lambda xp, v: xp.allclose(v["x"], v["y"], atol=8.0),
    "array_equal": lambda xp, v: xp.array_equal(v["n"], v["n"] * 1),
    "insert": lambda xp, v: xp.insert(v["x"], 3, 7.0),
    "delete": lambda xp, v: xp.delete(v["x"], [1, 5]),
    "median": lambda xp, v: xp.median(v["a"], axis=1),
    "convolve": lambda xp, v: xp.convolve(v["n"], v["i"][:5]),
    "histogram": lambda xp, v: xp.histogram(v["x"], 5, (-10, 10)),
    "an expression and its mean": lambda xp, v: v["x"] - v["x"].mean(),
    "a sum of a sum": lambda xp, v: (v["a"] - v["a"].sum(axis=0)).sum(),
}


def result(xp: ModuleType, call: Call, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(xp, operands(xp, seed))


def check(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            check(one, other)
    else:
        assert np.shape(theirs) == clarray.shape(ours)
        assert ours.dtype == theirs.dtype if isinstance(ours, clarray.DeviceArray) else ours == theirs
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_with_other_elements_each_time(name: str) -> None:
    kept = []
    for seed in range(TIMES):
        ours, theirs = result(clarray, CALLS[name], seed), result(np, CALLS[name], seed)
        check(ours, theirs)
        kept.append((ours, theirs))
    for ours, theirs in kept:  # nor has a later one written to the memory of an earlier one
        check(ours, theirs)


def python_calls(call: Callable[[], Any]) -> int:
    """How many functions of clarray's Python a call goes through, but for what it lets go: that goes at any time."""
    seen: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "clarray" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
            seen.append(frame.f_code.co_qualname)

    gc.disable()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return len([name for name in seen if name != "give_back"])


AGAIN = [
    "concatenate",
    "stack",
    "roll",
    "tile",
    "repeat",
    "pad",
    "take",
    "index",
    "cumsum",
    "sort",
    "argsort",
    "matmul",
]
AGAIN += [
    "einsum",
    "tensordot",
    "copy",
    "mean",
    "var",
    "std",
    "norm",
    "argmax",
    "clip",
    "outer",
    "tril",
    "diff",
    "gradient",
    "ufunc into",
    "ufunc into, where",
]


@pytest.mark.parametrize("name", AGAIN)
def test_a_call_is_made_again_without_python(name: str) -> None:
    given = operands(clarray, 0)

    def call() -> None:
        made = CALLS[name](clarray, given)
        for one in made if isinstance(made, list | tuple) else [made]:
            one.evaluate()

    for _ in range(TIMES):
        call()
    before = min(python_calls(call) for _ in range(3))
    assert before <= FEW, before


def test_what_a_transform_stores_is_computed_before_however_much_it_is() -> None:
    """An operand that the last pass of a transform stores costs no pass: the call that reads it is as one of memory."""
    shape = (1 << 8, 1 << 13)
    x = clarray.array(np.exp(1j * np.arange(shape[0] * shape[1])).astype(np.complex64).reshape(shape))
    with policy_in_force("gpu"):

        def call() -> None:
            clarray.fft.ifft(clarray.fft.fft(x) * x).evaluate()

        calls = [lambda: (clarray.fft.fft(x) * x).evaluate(), lambda: clarray.fft.ifft(x).evaluate(), call]
        for each in calls:
            for _ in range(TIMES):
                each()
        first, second, both = (min(python_calls(each) for _ in range(3)) for each in calls)
        assert both <= first + second + 4 * FEW  # which is to see that it is stored so


def test_an_index_out_of_bounds_after_others_in_bounds() -> None:
    x = clarray.arange(10.0)
    for at in range(2 * TIMES):
        good = clarray.array([at % 10, -1 - at % 10])
        assert x[good].tolist() == [at % 10, 9.0 - at % 10]
        with pytest.raises(IndexError):
            x[clarray.array([at % 10, 10 + at])]
        with pytest.raises(IndexError):
            x[clarray.array([at % 10, -11])] = 5.0
        x[good] = x[good]
    assert x.tolist() == np.arange(10.0).tolist()


def test_what_is_known_of_a_whole_memory_is_not_told_of_a_part() -> None:
    x = clarray.arange(5.0)
    for _ in range(TIMES):  # of arrays that are all of their memory
        x[clarray.array([1, 2, 3, 4])]
    for _ in range(TIMES):
        table = clarray.array([[1, 2, 3, 4], [0, 0, 9, 0]])
        assert x[table[0]].tolist() == [1, 2, 3, 4]
        with pytest.raises(IndexError):
            x[table[1]]


def test_host_memory_that_its_owner_changes() -> None:
    given = np.arange(12.0, dtype=np.float32)
    x = clarray.asarray(given)
    if not clarray.shares_memory(x, clarray.asarray(given)):
        pytest.skip("the device has memory of its own")
    kept = []
    for k in range(TIMES):
        kept.append(
            (
                clarray.roll(x, 3),
                x + x,
                x.std(),
                clarray.sort(x),
                np.roll(given, 3),
                given + given,
                given.std(),
                np.sort(given),
            )
        )
        given[:] = (given * 7 + k) % 13
    for *ours, one, two, three, four in kept:
        for mine, theirs in zip(ours, (one, two, three, four), strict=True):
            check(mine, theirs)


def test_warnings_are_given_each_time() -> None:
    x = clarray.ones((3, 1))
    for _ in range(TIMES):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
            x.var(axis=1, ddof=1)
        with pytest.warns(RuntimeWarning, match="Mean of empty"):
            x[:0].mean()


@pytest.mark.parametrize("name", ["inv", "solve", "det", "cholesky", "eigvalsh"])
def test_a_stack_of_matrices(name: str) -> None:
    """The flag of a singular matrix is filled with zero, and read, at each run."""
    rng = np.random.default_rng(0)
    right = rng.random((2000, 3, 1))
    calls = {"solve": lambda xp, a: xp.linalg.solve(a, xp.asarray(right))}
    call = calls.get(name, lambda xp, a: getattr(xp.linalg, name)(a))
    for turn in range(2 * TIMES):
        a = rng.random((2000, 3, 3))
        a = a @ a.transpose(0, 2, 1) + np.eye(3)
        np.testing.assert_allclose(np.asarray(call(clarray, clarray.asarray(a))), call(np, a), rtol=1e-3, atol=1e-3)
        if turn % 3 == 1 and name not in ("det", "eigvalsh"):
            a[turn] = 0
            with pytest.raises(np.linalg.LinAlgError):
                call(clarray, clarray.asarray(a))


def test_a_stack_of_matrices_is_inverted_without_python() -> None:
    a = (clarray.eye(3) + clarray.zeros((2000, 3, 3))).evaluate()
    for _ in range(TIMES):
        clarray.linalg.inv(a)
    assert min(python_calls(lambda: clarray.linalg.inv(a)) for _ in range(3)) <= FEW


def test_errors_are_raised_each_time() -> None:
    x, y = clarray.ones(3), clarray.ones((2, 3))
    for _ in range(TIMES):
        with pytest.raises(ValueError, match="dimensions"):
            clarray.concatenate((x, y))
        with pytest.raises(ValueError, match="matmul"):
            _ = y @ y
        assert clarray.concatenate((x, x)).shape == (6,)


def test_views_of_one_memory_are_told_from_others() -> None:
    """What overlaps and what does not have one structure, but for where they lie."""
    for k in range(2 * TIMES):
        ours, theirs = clarray.arange(20.0), np.arange(20.0)
        for v in (ours, theirs):
            from_, to = (v[:10], v[10:]) if k % 2 else (v[:10], v[5:15])
            to[...] = from_
            np.add.accumulate(v[:10], out=v[k % 3 : k % 3 + 10])
        check(ours, theirs)


def test_other_policies_make_other_launches() -> None:
    x = clarray.array(np.arange(5000, dtype=np.float32))
    expected = np.cumsum(np.arange(5000, dtype=np.float32).astype(np.float64))
    for name in ("own", "tiny-gpu", "own"):
        if name == "own":
            for _ in range(TIMES):
                np.testing.assert_allclose(x.cumsum().get(), expected, rtol=1e-6)
        else:
            with policy_in_force(name):
                for _ in range(TIMES):
                    np.testing.assert_allclose(x.cumsum().get(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["own", "tiny-gpu"])
def test_work_groups_that_tell_each_other(name: str) -> None:
    """Scans whose launches are numbered, so that what another launch has left is told from what is new."""
    with policy_in_force(name):
        for k in range(3 * TIMES):
            x = np.arange(3000 + 700 * (k % 3)) * (k + 1)
            ours = clarray.array(x)
            np.testing.assert_array_equal(ours.cumsum().get(), x.cumsum())
            np.testing.assert_array_equal(np.maximum.accumulate(ours[::-1]).get(), np.maximum.accumulate(x[::-1]))
            np.testing.assert_array_equal(ours[ours % 3 == 0].get(), x[x % 3 == 0])


def test_programs_that_are_let_go() -> None:
    x = clarray.array(np.arange(50))
    cache = kernel_cache_of(current_device())
    for _ in range(TIMES):
        assert clarray.roll(x, 7).tolist() == np.roll(np.arange(50), 7).tolist()
    cache.prepared.clear()
    cache.rendered.clear()
    cache.device.release_programs()
    for _ in range(TIMES):
        assert clarray.roll(x, 7).tolist() == np.roll(np.arange(50), 7).tolist()


def test_memory_is_let_go() -> None:
    x = clarray.array(np.arange(1000, dtype=np.float32))
    pool = current_device().pool

    def call() -> None:
        clarray.roll(x, 3)
        clarray.concatenate((x, x)).sum().evaluate()
        (x * 2).std().evaluate()
        clarray.sort(x)

    for _ in range(TIMES):
        call()
    before = pool.reserved - pool.free_bytes()
    for _ in range(300):
        call()
    assert pool.reserved - pool.free_bytes() == before


def test_threads() -> None:
    """Some record while others do the same calls again, on arrays of their own and on one that all share."""
    shared = clarray.array(np.arange(64.0))
    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            for k in range(60):
                size = 40 + (number + k) % 5
                h = np.arange(size) * (number + 1.0)
                x = clarray.array(h)
                assert clarray.roll(x, 3).tolist() == np.roll(h, 3).tolist()
                assert clarray.concatenate((x, shared)).tolist() == [*h, *range(64)]
                assert float((x * 2).mean()) == (h * 2).mean()
                x[clarray.array([1, 2])] = -1.0
                assert x[:4].tolist() == [h[0], -1, -1, h[3]]
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("interrupts", [1, 3])
def test_a_call_that_an_interrupt_ends_is_recorded_at_the_next(interrupts: int) -> None:
    """It says nothing of whether it can be: a call that fails to be recorded is tried ever more seldom."""
    x, y = (clarray.array(np.arange(29.0 + interrupts) * k) for k in (1, 2))  # lengths that no other test has

    def call() -> Any:
        return clarray.concatenate((x, y))

    def interrupt(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "concatenate":
            raise KeyboardInterrupt

    call()
    for _ in range(interrupts):
        sys.setprofile(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                call()
        finally:
            sys.setprofile(None)
    call()  # is recorded
    assert python_calls(call) <= FEW
    check(call(), np.concatenate((x.get(), y.get())))
