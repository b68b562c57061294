"""Scalars and arrays of NumPy's beside arrays: their dtype counts, they are read at once, and the way is short."""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import speedups
from clarray._engine.runtime import current_device

from ..closeness import skip_without_float64
from ..conftest import DTYPES, FEW_DTYPES
from .test_recordings import python_calls

pytestmark = pytest.mark.usefixtures("quick_builds")

VALUES = [0, 1, 3, -1, 200, 2.5, -0.0, float("nan"), float("inf"), 2**31, 2**53 + 1, 3 - 2j]


def set_all(x: Any, value: Any) -> Any:
    x[...] = value
    return x


def set_some(x: Any, value: Any) -> Any:
    x[1:3] = value
    return x


def set_one(x: Any, value: Any) -> Any:
    x[2] = value
    return x


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "x + s": operator.add,
    "s - x": lambda x, s: s - x,
    "x * s": operator.mul,
    "s / x": lambda x, s: s / x,
    "x < s": operator.lt,
    "s == x": lambda x, s: s == x,
    "s > x": lambda x, s: s > x,
    "x + array(s)": lambda x, s: x + np.array(s),
    "array(s) / x": lambda x, s: np.array(s) / x,
    "x += array(s)": lambda x, s: operator.iadd(x, np.array(s)),
    "array(s) <= x.max()": lambda x, s: np.array(s) <= x.max(),
    "x += s": operator.iadd,
    "x *= s": operator.imul,
    "np.maximum(s, x)": lambda x, s: np.maximum(s, x),
    "(x + x) * s": lambda x, s: (x + x) * s,
    "x[...] = s": set_all,
    "x[1:3] = s": set_some,
    "x[2] = s": set_one,
}
# These have scalars of every dtype, the others of every second one, by turns. All forms of a group convert a scalar in
# the same way: operators, comparisons, 0-d arrays, operators in place, assignments.
EVERY_KIND = ("x + s", "s / x", "x < s", "x + array(s)", "x += s", "x[...] = s")


def outcome(form: str, xp: Any, dtype: str, scalar: Any) -> Any:
    x = xp.array(np.array([1, 0, 3, 2, 5]).astype(dtype))
    try:
        return np.asarray(FORMS[form](x, scalar))
    except (TypeError, OverflowError, ValueError) as error:
        skip_without_float64(error)
        return error


def scalars(kind: str) -> list[Any]:
    """The values as far as the dtype holds them; of complex infinities runtimes differ in what is NaN."""
    found = []
    for value in VALUES:
        try:
            made = np.dtype(kind).type(value)
            if made.dtype.kind != "c" or np.isfinite(made):
                found.append(made)
        except (TypeError, OverflowError, ValueError):
            continue
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", FEW_DTYPES)
def test_numpys_scalars(dtype: str, form: str) -> None:
    unlike = []
    kinds = DTYPES if form in EVERY_KIND else DTYPES[list(FORMS).index(form) % 2 :: 2]
    for scalar in [one for kind in kinds for one in scalars(kind)]:
        theirs, ours = (outcome(form, xp, dtype, scalar) for xp in (np, clarray))
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            same = isinstance(theirs, type(ours)) or isinstance(ours, type(theirs))
        else:
            same = theirs.dtype == ours.dtype and np.allclose(ours, theirs, rtol=1e-6, atol=0, equal_nan=True)
        if not same:
            unlike.append((scalar, ours, theirs))
    assert not unlike


BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "x + h": operator.add,
    "h - x": lambda x, h: h - x,
    "x < h": operator.lt,
    "x @ h": operator.matmul,
    "x += h": operator.iadd,
    "x *= h": operator.imul,
    "x[...] = h": set_all,
    "(x + x) / h": lambda x, h: (x + x) / h,
    "np.maximum(h, x)": lambda x, h: np.maximum(h, x),
}


@pytest.mark.parametrize("form", BESIDE)
@pytest.mark.parametrize("layout", ["contiguous", "backwards", "read-only", "of the other byte order"])
@pytest.mark.parametrize("n", [0, 5, 40, 20_000])  # the last is shared where it is not copied to the device
def test_arrays_of_numpys_are_read_at_once(n: int, layout: str, form: str) -> None:
    host = (np.arange(n) % 7 + 1).astype(">f4" if layout == "of the other byte order" else "f4")
    values = host[::-1] if layout == "backwards" else host.view()
    values.flags.writeable = layout != "read-only"
    theirs = BESIDE[form](np.arange(n, dtype=np.float32) % 5, values)
    ours = BESIDE[form](clarray.arange(n, dtype=np.float32) % 5, values)
    host[...] = 100
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(clarray.asnumpy(ours), theirs, rtol=1e-6)


@pytest.mark.parametrize("values", [["a", "b"], [None, 1], [b"x"], ["2020-01-01"]])
def test_arrays_of_no_numbers(values: list[Any]) -> None:
    host = np.array(values, "M8[D]" if values[0] == "2020-01-01" else None)
    with pytest.raises(TypeError):
        clarray.ones(len(values)) + host
    assert not (clarray.ones(len(values)) == host).any() if host.dtype.kind in "SU" else True


# Functions of ndarrays -------------------------------------------------------------------------------

# `x` and `v` lie on the device, `h` and `w` are ndarrays of the same shapes: (6, 6) and (6,).
STATEMENTS = """
x.dot(h)
xp.dot(h, x)
x @ h
h @ x
xp.vdot(x, h)
xp.inner(h, x)
xp.outer(v, w)
xp.tensordot(h, x, 1)
xp.kron(v, w)
xp.allclose(x, h)
xp.array_equal(h, x)
xp.isin(x, h)
xp.searchsorted(v, w)
xp.append(x, h)
xp.trapezoid(h, x)
xp.add(h, x)
xp.sqrt(h)
xp.maximum(h, 0.5)
xp.sum(h)
xp.mean(h, axis=0)
xp.std(h)
xp.max(h)
xp.argmax(h)
xp.cumsum(w)
xp.diff(w)
xp.sort(h)
xp.argsort(h)
xp.roll(h, 2)
xp.tile(h, 2)
xp.repeat(w, 2)
xp.tril(h)
xp.clip(h, 0.2, 0.5)
xp.round(h, 1)
xp.trace(h)
xp.count_nonzero(h)
xp.ptp(h)
xp.gradient(w)
xp.nansum(h)
xp.linalg.norm(h)
xp.fft.fft(w)
xp.add.accumulate(h)
x.dot([0.5, 1, 2, 3, 4, 5])
xp.dot([1.0, 2.0], [3.0, 4.0])
v + [1, 2, 3, 4, 5, 6]
"""


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
def test_functions_of_small_ndarrays(statement: str) -> None:
    """They give what they give of device arrays, keep nothing of the ndarray, and are as soon repeated by the core."""
    values = np.random.default_rng(3).random((13, 6)).astype(np.float32)
    values[12].sort()
    parts = {"x": values[:6], "h": values[6:12], "v": values[12]}
    on_device = {name: clarray.array(part) for name, part in parts.items()}
    names = {"xp": clarray, **on_device, "w": on_device["v"]}
    code = compile(statement, "<statement>", "eval")
    expected = clarray.asarray(eval(code, names))
    for _ in range(5):
        names |= {"h": parts["h"].copy(), "w": parts["v"].copy()}
        found = clarray.asarray(eval(code, names))
        names["h"][...] = names["w"][...] = 9
        assert (found.dtype, found.strides) == (expected.dtype, expected.strides)
        np.testing.assert_array_equal(found.get(), expected.get())


@pytest.mark.kernels_alone
@pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")
@pytest.mark.parametrize("statement", [each for each in STATEMENTS.strip().splitlines() if "fft" not in each])
def test_functions_of_small_ndarrays_are_repeated_by_the_core(statement: str) -> None:
    if not current_device().capabilities.host_memory:
        pytest.skip("ndarrays are uploaded by Python")
    rng = np.random.default_rng(3)
    names = {"xp": clarray, "h": rng.random((6, 6)), "w": rng.random(6), "x": clarray.array(rng.random((6, 6)))}
    names["v"] = clarray.array(np.sort(rng.random(6)))
    code = compile(statement, "<statement>", "eval")
    for _ in range(4):
        eval(code, names)
    assert python_calls(lambda: eval(code, names)) <= 32


IN_PLACE = [
    "h += x",
    "h *= x + 1",
    "h -= x.sum()",
    "h //= x",
    "i += j",
    "i //= 2 + j",
    "c *= x",
    "h += v",
    "b |= x > 0.5",
]


@pytest.mark.parametrize("statement", IN_PLACE)
@pytest.mark.parametrize(
    "layout", [(), (slice(None, None, -1),), (slice(None), slice(1, 5))], ids=["whole", "back", "part"]
)
def test_ndarrays_in_place(layout: Any, statement: str) -> None:
    """An ndarray is written in its own memory, after what is pending on that memory has been read."""
    outcomes = []
    for xp in (np, clarray):
        rng = np.random.default_rng(5)
        base = {"h": rng.random((6, 6)) + 1, "i": rng.integers(1, 9, (6, 6)), "c": rng.random((6, 6)) * (1 + 2j)}
        base["b"] = base["h"] > 1.5
        names = {name: array[layout] for name, array in base.items()}
        names |= {"x": xp.array(rng.random((6, 6))[layout]), "j": xp.array(rng.integers(1, 9, (6, 6))[layout])}
        names["v"] = xp.array(rng.random(names["h"].shape[-1]))
        target = names[statement[0]]
        reader = xp.asarray(target) + 0 if target.dtype != bool else xp.asarray(target) & True
        exec(statement, {}, names)
        assert names[statement[0]] is target
        outcomes.append([*map(np.asarray, base.values()), np.asarray(reader)])
    for theirs, ours in zip(*outcomes, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_no_update_of_an_ndarray_is_lost() -> None:
    """As with two ndarrays, whose statements Python runs one after the other."""
    target, one = np.zeros(100), clarray.ones(100).evaluate()

    def add() -> None:
        array = target
        for _ in range(300):
            array += one

    threads = [threading.Thread(target=add) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (target == 1200).all()


@pytest.mark.parametrize("statement", ["h += c", "i += x", "h += xp.ones((2, 6, 6))", "r += x", "h += xp.ones(5)"])
def test_ndarrays_that_cannot_be_written(statement: str) -> None:
    errors = []
    for xp in (np, clarray):
        names = {"xp": xp, "h": np.ones((6, 6)), "i": np.ones((6, 6), int), "r": np.ones((6, 6))}
        names |= {"x": xp.ones((6, 6)), "c": xp.ones((6, 6), dtype=complex)}
        names["r"].flags.writeable = False
        with pytest.raises((TypeError, ValueError)) as error:
            exec(statement, names)
        errors.append((error.value.__class__.__mro__[-4:], (names["h"] == 1).all()))
        assert (names["i"] == 1).all()
    assert errors[0] == errors[1]


@pytest.mark.kernels_alone
@pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")
@pytest.mark.parametrize(
    "form", ["x + s", "s - x", "x < s", "s > x", "x += s", "(x + x) * s", "x[1:3] = s", "array(s) / x"]
)
def test_the_way_is_short(form: str) -> None:
    x, scalar = clarray.ones(40, dtype=np.float32), np.float32(2)

    def call() -> None:
        FORMS[form](x, scalar).evaluate()

    for _ in range(4):
        call()
    assert min(python_calls(call) for _ in range(3)) <= 20  # 51 to 62 by way of an array


@pytest.mark.kernels_alone
@pytest.mark.skipif(speedups.native is None, reason="the compiled core is not there, or not wanted")
@pytest.mark.parametrize("form", ["x + h", "h - x", "x @ h", "x += h"])
def test_the_way_of_arrays_is_short(form: str) -> None:
    x, host = clarray.ones(40, dtype=np.float32), np.ones(40, np.float32)

    def call() -> None:
        BESIDE[form](x, host).evaluate()

    def calls() -> int:
        clarray.synchronize()  # or the upload of the next call waits, on a device with a queue
        return python_calls(call)

    for _ in range(4):
        call()
    if current_device().capabilities.host_memory:
        assert min(calls() for _ in range(3)) <= 24
