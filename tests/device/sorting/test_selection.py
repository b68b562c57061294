"""Elements at places of a line's order, found by counting keys: NumPy's, of every dtype and any values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import clarray
from clarray._engine.runtime import current_device
from clarray._numpy.sorting import selection
from clarray._numpy.statistics.quantile_methods import METHODS

from ..conftest import policy_changed

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
RNG = np.random.default_rng(5)
ALWAYS = {"selected": 1, "parted": 1, "places": 8}
REALS = [*"bBhHiIlL", "e", "f", *("d" if current_device().capabilities.fp64 else "")]


def lines(dtype: np.dtype) -> dict[str, np.ndarray]:
    """Of 500 elements: spread over all keys, within a few of them, all alike, and what lies at the ends."""
    if dtype.kind == "f":
        info: Any = np.finfo(dtype)
        ends = np.array([0.0, -0.0, np.inf, -np.inf, info.tiny, -info.tiny, info.max, info.min, 1, -1, info.eps], dtype)
        spread = (RNG.normal(size=500) * 10.0 ** RNG.integers(-4, 5, 500)).astype(dtype)
    else:
        info = np.iinfo(dtype)
        ends = np.array([0, 1, info.max, info.min, info.max - 1, info.min + 1], dtype)
        spread = RNG.integers(info.min, info.max, 500, dtype, endpoint=True)
    return {
        "spread": spread,
        "narrow": (100 + RNG.random(500) * 8).astype(dtype),
        "alike": np.full(500, 3, dtype),
        "ends": RNG.choice(ends, 500),
        "in order": np.sort(spread),
        "one apart": np.where(np.arange(500) == 250, 1, 0).astype(dtype),
    }


def check_partition(found: np.ndarray, x: np.ndarray, k: int) -> None:
    k %= x.size
    ordered = np.sort(x)
    np.testing.assert_array_equal(np.sort(found), ordered)
    np.testing.assert_array_equal(found[k], ordered[k])
    if not np.isnan(x).any():
        assert (found[:k] <= found[k]).all()
        assert (found[k:] >= found[k]).all()


@pytest.mark.parametrize(("char", "few"), [*((char, 1) for char in REALS), ("h", 20), ("f", 20), ("f", 600)])
def test_places_of_every_dtype(char: str, few: int) -> None:
    with policy_changed("sort", **ALWAYS, few=few):
        for name, x in lines(np.dtype(char)).items():
            places = np.unique(RNG.integers(0, 500, 4))
            for line in (clarray.array(x), clarray.array(np.repeat(x, 2))[::2], clarray.array(x[::-1])[::-1]):
                found = selection.select_positions(line, places)
                assert found.dtype == x.dtype
                np.testing.assert_array_equal(found.get(), np.sort(x)[places], err_msg=name)
            for k in (0, 499, -1, *places.tolist()):
                check_partition(clarray.partition(clarray.array(x), k).get(), x, k)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, st.integers(1, 60), elements=st.floats(width=32)), st.data())
def test_any_numbers(x: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(-x.size, x.size - 1))
    with policy_changed("sort", **ALWAYS, few=2), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check_partition(clarray.partition(clarray.array(x), k).get(), x, k)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(clarray.median(clarray.array(x)).get(), np.median(x))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("missing", [False, True])
def test_quantiles(method: str, missing: bool) -> None:
    x = (RNG.normal(size=777) * 100).astype(np.float32)
    if missing:
        x[5], x[70] = np.nan, -np.float32(np.nan)
    with policy_changed("sort", **ALWAYS, few=30):
        for q in (0.5, 0, 1, [0.25, 0.5, 0.75], np.linspace(0, 1, 23)):
            ours, theirs = clarray.quantile(clarray.array(x), q, method=method), np.quantile(x, q, method=method)
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours.get(), theirs, rtol=4 * np.finfo(np.float32).eps)


def test_long_lines_as_they_come(same: Same) -> None:
    """By the policy as it is: pending, of two axes, read only, in place, and what is not done by selection."""
    x = RNG.normal(size=1 << 19).astype(np.float32)
    n = RNG.integers(-(1 << 40), 1 << 40, 1 << 19)

    def body(xp: Any) -> Any:
        y, m = xp.asarray(x), xp.asarray(n)
        in_place = xp.array(m)
        in_place.partition(1000)
        return [
            xp.median(y * 2),
            xp.median(y.reshape(1 << 10, 1 << 9)),
            xp.percentile(m, [5, 50, 95]),
            xp.quantile(y, 0.3, keepdims=True),
            xp.median(y[:1000].reshape(10, 100), axis=1),
            in_place[1000],
            xp.sort(in_place),
            xp.partition(y, [10, 400_000])[[10, 400_000]],
            xp.partition(m, -7)[-7:].min(),
        ]

    same(body)


def test_nothing_of_what_is_given_changes() -> None:
    x = RNG.normal(size=1 << 18).astype(np.float32)
    line = clarray.array(x)
    found, parted = clarray.median(line), clarray.partition(line, 77)
    parted[:], before = 0, float(found)
    np.testing.assert_array_equal(line.get(), x)
    assert float(found) == before
