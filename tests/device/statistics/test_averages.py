"""Means, variances and what leaves NaN out, as NumPy and as clarray.

The results are quotients of sums of small integers, compared to a few units in the last place;
how accurate they are on hard data is tested in test_reduce_accuracy.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import by_dtype

pytestmark = pytest.mark.usefixtures("quick_builds")

Body = Callable[[Any], Any]
ULPS = 4


def small(shape: Any, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).integers(-3, 4, shape)
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (found + 1j * found[..., ::-1]).astype(dtype)
    return (abs(found) if kind in "bu" else found).astype(dtype)


def run(body: Body, xp: Any) -> tuple[Any, list[type], Exception | None]:
    """Result, categories of the warnings, and the error of a body."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = body(xp)
        except Exception as error:
            return None, [], error
    return found, sorted({w.category for w in caught}, key=str), None


def check(body: Body, ulps: int = ULPS, warned: bool = True) -> None:
    """The same value but for `ulps`, dtype, shape and, if `warned`, warnings; or the same error."""
    theirs, expected, error = run(body, np)
    ours, found, ours_error = run(body, clarray)
    if error is not None:
        assert isinstance(ours_error, type(error)), f"{ours_error!r} instead of {error!r}"
        return
    assert ours_error is None, repr(ours_error)
    if warned:
        assert found == expected
    assert isinstance(ours, clarray.DeviceArray)
    theirs = np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if theirs.dtype.kind not in "fc":
        np.testing.assert_array_equal(ours.get(), theirs)
        return
    eps = np.finfo(theirs.dtype).eps
    np.testing.assert_allclose(ours.get(), theirs, rtol=ulps * eps, atol=ulps * eps / 4)


HOST = small((4, 5, 6))
CHOSEN = small((4, 5, 6), np.int8, seed=2) > 0
HOLES = np.where(small((4, 5, 6), np.int8, seed=4) > 1, np.float32(np.nan), HOST)
HOLES[1, :, 2] = np.nan
BYTES = small((4, 5, 6), np.int8, seed=3)
NAMES = ["mean", "var", "std"]


@by_dtype("name", ["mean", "var"], ["std"])
def test_every_dtype(dtype: str, name: str) -> None:
    host = small((5, 7), dtype)
    check(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1))


AXES = [None, 0, 1, -1, (0, 2), (0, 1, 2), ()]
# `std` is the root of `var`, whatever the axes.
AXES_OF = [(name, axis) for name in NAMES for axis in (AXES[:3] if name == "std" else AXES)]


@pytest.mark.parametrize(("name", "axis"), AXES_OF, ids=str)
def test_axes(policy: str, name: str, axis: Any) -> None:
    check(lambda xp: getattr(xp.asarray(HOST), name)(axis=axis))
    check(lambda xp: getattr(xp.asarray(HOST), name)(axis=axis, keepdims=True))


@pytest.mark.parametrize("name", NAMES)
def test_lengths(policy: str, name: str) -> None:
    host = small((2, 600))
    for n in (1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 33, 64, 65, 129, 257, 513, 600):
        check(lambda xp, n=n: getattr(xp.asarray(host)[:, :n], name)(axis=1))
        check(lambda xp, n=n: getattr(xp.asarray(host)[:, :n].T, name)(axis=0))


@pytest.mark.parametrize("step", [2, 3, -1])
def test_steps(policy: str, step: int) -> None:
    host = small((9, 130))
    for axis in (None, 0, 1):
        check(lambda xp, axis=axis: xp.asarray(host)[:, ::step].var(axis=axis))


KEYWORDS: dict[str, Body] = {
    "mean where": lambda xp: xp.asarray(HOST).mean(axis=1, where=xp.asarray(CHOSEN)),
    "mean where of a row": lambda xp: xp.asarray(HOST).mean(axis=1, where=xp.asarray(CHOSEN[0, 0])),
    "mean where over no axes": lambda xp: xp.asarray(HOST).mean(axis=(), where=xp.asarray(CHOSEN)),
    "mean where, int": lambda xp: xp.asarray(BYTES).mean(axis=1, where=xp.asarray(CHOSEN)),
    "mean where, dtype int": lambda xp: xp.asarray(BYTES).mean(axis=(0, 1), dtype=np.int32, where=xp.asarray(CHOSEN)),
    "mean where too large": lambda xp: xp.asarray(HOST[0]).mean(where=xp.asarray(CHOSEN)),
    "mean dtype": lambda xp: xp.asarray(BYTES).mean(axis=1, dtype=np.float32),
    "mean dtype half": lambda xp: xp.asarray(HOST).mean(axis=1, dtype=np.float16),
    "mean dtype int": lambda xp: xp.asarray(HOST).mean(axis=1, dtype=np.int64),
    "mean dtype int8": lambda xp: xp.asarray(BYTES).mean(axis=(0, 1, 2), dtype=np.int8),
    "mean dtype complex": lambda xp: xp.asarray(HOST).mean(axis=1, dtype=np.complex64),
    "mean out": lambda xp: xp.asarray(HOST).mean(axis=1, out=xp.zeros((4, 6), np.float32)),
    "mean out int": lambda xp: xp.asarray(HOST).mean(axis=1, out=xp.zeros((4, 6), np.int32)),
    "mean of nothing": lambda xp: xp.asarray(HOST)[:0].mean(),
    "mean along nothing": lambda xp: xp.asarray(HOST)[:0].mean(axis=0),
    "mean beside nothing": lambda xp: xp.asarray(HOST)[:0].mean(axis=1),
    "mean of no rows of nothing": lambda xp: xp.asarray(np.zeros((0, 0))).mean(axis=1),
    "mean axis": lambda xp: xp.asarray(HOST).mean(axis=3),
    "var ddof": lambda xp: xp.asarray(HOST).var(axis=1, ddof=1),
    "var ddof float": lambda xp: xp.asarray(HOST).var(axis=1, ddof=1.5),
    "var ddof too large": lambda xp: xp.asarray(HOST).var(axis=1, ddof=5),
    "var correction": lambda xp: xp.var(xp.asarray(HOST), axis=1, correction=1),
    "var both": lambda xp: xp.var(xp.asarray(HOST), 1, ddof=1, correction=1),
    "var where": lambda xp: xp.asarray(HOST).var(axis=1, where=xp.asarray(CHOSEN)),
    "var where of a row": lambda xp: xp.asarray(HOST).var(axis=2, where=xp.asarray(CHOSEN[0, 0])),
    "var where ddof": lambda xp: xp.asarray(HOST).var(axis=(0, 1), ddof=1, where=xp.asarray(CHOSEN)),
    "var where of a row ddof": lambda xp: xp.asarray(HOST).var(axis=2, ddof=1, where=xp.asarray(CHOSEN[0, 0])),
    "var where over no axes": lambda xp: xp.asarray(HOST).var(axis=(), where=xp.asarray(CHOSEN)),
    "var mean": lambda xp: xp.asarray(HOST).var(axis=1, mean=xp.asarray(HOST).mean(axis=1, keepdims=True)),
    "var of another mean": lambda xp: xp.asarray(HOST).var(axis=1, mean=1),
    "var mean where": lambda xp: xp.asarray(HOST).var(
        axis=2, mean=xp.asarray(HOST[..., :1]), where=xp.asarray(CHOSEN[0, 0]), ddof=1
    ),
    "var dtype": lambda xp: xp.asarray(BYTES).var(axis=1, dtype=np.float32),
    "var dtype half": lambda xp: xp.asarray(BYTES).var(axis=1, dtype=np.float16),
    "var dtype int": lambda xp: xp.asarray(HOST / 2).var(axis=1, dtype=np.int64),
    "var out": lambda xp: xp.asarray(HOST).var(axis=1, out=xp.zeros((4, 6), np.float32)),
    "var of nothing": lambda xp: xp.asarray(HOST)[:0].var(),
    "var of no rows of nothing": lambda xp: xp.asarray(np.zeros((0, 0))).var(axis=1),
    "std ddof": lambda xp: xp.asarray(HOST).std(axis=1, ddof=1),
    "std where": lambda xp: xp.asarray(HOST).std(axis=1, where=xp.asarray(CHOSEN)),
    "std int": lambda xp: xp.asarray(BYTES).std(axis=(0, 2)),
    "std complex": lambda xp: (xp.asarray(HOST) + 1j * xp.asarray(HOST)[::-1]).std(axis=1),
    "std complex mean": lambda xp: (xp.asarray(HOST) * 1j).std(axis=1, mean=xp.asarray(HOST[:, :1])),
    "selected mean": lambda xp: (lambda x: x[x > 0].mean())(xp.asarray(HOST)),
    "selected var": lambda xp: (lambda x: x[x > 0].var())(xp.asarray(HOST)),
    "selected std ddof": lambda xp: (lambda x: x[x > 0].std(ddof=1))(xp.asarray(HOST)),
    "scaled": lambda xp: (lambda x: ((x - x.mean()) / x.std()).sum(axis=(0, 1)))(xp.asarray(HOST)),
}
# Whether a mask leaves anything over is known only to the device: there are no warnings about it.
UNWARNED = ("where", "selected")


@pytest.mark.parametrize("case", KEYWORDS)
def test_keywords(case: str) -> None:
    check(KEYWORDS[case], 400 if case == "scaled" else ULPS, not any(w in case for w in UNWARNED))


INFINITE = np.array([np.nan, -np.inf, np.nan])
NAN_CASES: dict[str, Body] = {
    "sum": lambda xp: xp.nansum(xp.asarray(HOLES), axis=1),
    "sum of all": lambda xp: xp.nansum(xp.asarray(HOLES)),
    "sum where": lambda xp: xp.nansum(xp.asarray(HOLES), axis=1, where=xp.asarray(CHOSEN)),
    "sum initial": lambda xp: xp.nansum(xp.asarray(HOLES), axis=1, initial=5),
    "sum dtype": lambda xp: xp.nansum(xp.asarray(HOLES), axis=1, dtype=np.complex64),
    "prod": lambda xp: xp.nanprod(xp.asarray(HOLES), axis=0),
    "max": lambda xp: xp.nanmax(xp.asarray(HOLES), axis=1),
    "min of all": lambda xp: xp.nanmin(xp.asarray(HOLES)),
    "min keepdims": lambda xp: xp.nanmin(xp.asarray(HOLES), axis=2, keepdims=True),
    "max of int": lambda xp: xp.nanmax(xp.asarray(BYTES), axis=1),
    "max of nothing": lambda xp: xp.nanmax(xp.asarray(HOLES)[:0]),
    "mean": lambda xp: xp.nanmean(xp.asarray(HOLES), axis=1),
    "mean of all": lambda xp: xp.nanmean(xp.asarray(HOLES)),
    "mean of int": lambda xp: xp.nanmean(xp.asarray(BYTES), axis=1),
    "mean where": lambda xp: xp.nanmean(xp.asarray(HOLES), axis=1, where=xp.asarray(CHOSEN)),
    "mean over no axes": lambda xp: xp.nanmean(xp.asarray(HOLES), axis=()),
    "var": lambda xp: xp.nanvar(xp.asarray(HOLES), axis=1),
    "var of all": lambda xp: xp.nanvar(xp.asarray(HOLES)),
    "var ddof": lambda xp: xp.nanvar(xp.asarray(HOLES), axis=1, ddof=2),
    "var of int": lambda xp: xp.nanvar(xp.asarray(BYTES), axis=1, ddof=1),
    "std": lambda xp: xp.nanstd(xp.asarray(HOLES), axis=(0, 2), ddof=1),
    "argmax": lambda xp: xp.nanargmax(xp.asarray(HOLES)[2], axis=1),
    "argmin of all": lambda xp: xp.nanargmin(xp.asarray(HOLES)),
    "argmax of infinities": lambda xp: xp.nanargmax(xp.asarray(INFINITE)),
    "argmax, nothing but nan": lambda xp: xp.nanargmax(xp.asarray(HOLES), axis=1),
    "argmax of nothing": lambda xp: xp.nanargmax(xp.asarray(HOLES)[:0]),
    "argmin of int": lambda xp: xp.nanargmin(xp.asarray(BYTES), axis=1),
    "complex": lambda xp: xp.nanmean(xp.asarray(HOLES) * (1 + 1j), axis=2),
}


@pytest.mark.parametrize("case", NAN_CASES)
def test_without_nan(case: str) -> None:
    check(NAN_CASES[case], warned=False)


SPECIAL = [
    [1, 2, np.nan, 3],
    [np.inf, 1, 2, 3],
    [np.inf, -np.inf, 1, 2],
    [1e38, 1e38, -1e38, 1],
    [1e30, -1e30, 0, 0],
    [1e-45, 0, 0, 0],
    [-0.0] * 4,
    [5] * 4,
    [np.nan] * 4,
]


@pytest.mark.parametrize("name", [*NAMES, "nanmean"])
def test_special_values(policy: str, name: str) -> None:
    host = np.array(SPECIAL, np.float32)
    check(lambda xp: getattr(xp, name)(xp.asarray(host), axis=1), warned=False)


def test_warnings_name_the_callers_line() -> None:
    with pytest.warns(RuntimeWarning, match="Mean of empty slice") as caught:
        clarray.mean(clarray.zeros(0))
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="Degrees of freedom") as caught:
        clarray.var(clarray.zeros(3), ddof=3)
    assert caught[0].filename == __file__


@pytest.mark.kernels_alone
def test_a_mean_is_one_launch() -> None:
    x = clarray.array(np.ones((64, 64), np.float32))
    for body in (
        lambda: x.mean(axis=1),
        lambda: x.var(axis=1),
        lambda: x.std(axis=0),
        lambda: x.mean(axis=1, where=x > 0),
        lambda: x.var(axis=1, where=x > 0),
        lambda: clarray.nanmean(x, axis=1),
        lambda: clarray.nanvar(x, axis=1),
    ):
        with clarray.profile() as record:
            body().evaluate()
        assert record.launches == 1
