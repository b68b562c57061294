"""Order statistics against NumPy."""

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
from clarray._numpy.statistics.quantile_methods import METHODS

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
RNG = np.random.default_rng(11)

DATA: dict[str, np.ndarray] = {
    "float32": RNG.normal(size=(5, 8)).astype(np.float32),
    "int16": RNG.integers(-90, 90, (5, 8)).astype(np.int16),
    "float16": RNG.integers(-9, 9, (5, 8)).astype(np.float16),
}
MISSING = DATA["float32"].copy()
MISSING[[0, 2, 2], [1, 3, 4]] = np.nan
MISSING[4] = np.nan
AXES = (None, 0, -1, (0, 1))


def check(name: str, x: np.ndarray, *args: Any, **kwargs: Any) -> None:
    """Same dtype and shape, and the same value but for the last bit of an interpolation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs = np.asarray(getattr(np, name)(x, *args, **kwargs))
        ours = getattr(clarray, name)(clarray.array(x), *args, **kwargs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    eps = np.finfo(theirs.dtype).eps if theirs.dtype.kind == "f" else 0
    np.testing.assert_allclose(ours.get(), theirs, rtol=4 * eps)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", [*DATA, "uint8", "bool", "complex64"])
def test_median(dtype: str, keepdims: bool) -> None:
    x = DATA.get(dtype, np.abs(DATA["int16"]).astype(dtype))
    for axis in AXES if dtype in ("float32", "int16") else (None, 0):  # several axes and rows are sorted as one line is
        check("median", x, axis, keepdims=keepdims)
        check("median", x[:, :7], axis, keepdims=keepdims)
        check("nanmedian", x, axis, keepdims=keepdims)


def test_median_of_nan() -> None:
    for axis in AXES:
        check("median", MISSING, axis)
        check("nanmedian", MISSING, axis)
    cube = np.where(RNG.random((3, 4, 5)) < 0.3, np.nan, RNG.random((3, 4, 5))).astype(np.float32)
    for cube_axis in (1, (0, 2), (2, 1), None):
        check("median", cube, cube_axis)
        check("nanmedian", cube, cube_axis, keepdims=True)
    with pytest.warns(RuntimeWarning, match="All-NaN slice"):
        clarray.nanmedian(clarray.array(MISSING), 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_of_nothing(same: Same) -> None:
    x = np.zeros((0, 3), np.float32)
    same(lambda xp: xp.median(xp.asarray(x), axis=0))
    same(lambda xp: xp.nanmedian(xp.asarray(x), axis=0))
    same(lambda xp: xp.median(xp.asarray(x), axis=1))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, axis=0), message=False)


def test_out(same: Same) -> None:
    x = DATA["float32"]

    def into(xp: Any, name: str, *args: Any, shape: Any = (5,), **kwargs: Any) -> Any:
        out = xp.zeros(shape, np.float32)
        assert getattr(xp, name)(xp.asarray(x), *args, axis=1, out=out, **kwargs) is out
        return out

    same(lambda xp: into(xp, "median"))
    same(lambda xp: into(xp, "median", keepdims=True, shape=(5, 1)))
    same(lambda xp: into(xp, "nanmedian", overwrite_input=True))
    same(lambda xp: into(xp, "quantile", 0.25, method="lower"))
    same(lambda xp: into(xp, "percentile", [0, 50], shape=(2, 5), method="higher"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.optimized
def test_methods(method: str) -> None:
    quantiles: tuple[Any, ...] = (0.3, 0, 1, np.float64(0.5), [0.1, 0.5, 0.99], [[0.2, 0.7]], [0.4])
    for x in DATA.values():
        for q in quantiles:
            check("quantile", x, q, method=method)
            check("quantile", x, q, 1, method=method, keepdims=True)
    for q in quantiles:
        check("quantile", MISSING, q, 0, method=method)
        check("nanquantile", MISSING, q, 0, method=method)
        check("nanquantile", MISSING, q, method=method)
    check("nanpercentile", MISSING, [10, 90], 1, method=method)
    check("percentile", DATA["int16"], [10, 90.5], (0, 1), method=method)


def test_weights() -> None:
    x = DATA["float32"]
    weights = RNG.integers(0, 5, x.shape).astype(np.float32)
    weights[:, 0] = 0
    quantiles: tuple[Any, ...] = (0.5, [0, 0.25, 1])
    for q in quantiles:
        for w, axis in ((weights, None), (weights, 1), (weights[0], 1), (weights, (0, 1)), (weights[:, 3] + 1, 0)):
            check("quantile", x, q, axis, weights=w, method="inverted_cdf")
        check("quantile", MISSING, q, 0, weights=weights + 1, method="inverted_cdf")
        check("nanquantile", MISSING[:4], q, 1, weights=weights[:4], method="inverted_cdf")
        check("nanpercentile", MISSING, 40, weights=weights, method="inverted_cdf")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors(same: Same) -> None:
    x = DATA["float32"]
    same(lambda xp: xp.quantile(xp.asarray(x), 1.5))
    same(lambda xp: xp.percentile(xp.asarray(x), [-1, 3]))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, method="best"), message=False)
    same(lambda xp: xp.quantile(xp.asarray(x) * 1j, 0.5))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, axis=2))
    same(lambda xp: xp.median(xp.asarray(x), axis=(0, 0)))
    same(lambda xp: xp.quantile(xp.asarray(x), np.zeros((1, 1, 1))))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, weights=xp.asarray(x), method="linear"))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, weights=xp.asarray(x[0]), method="inverted_cdf"))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, 1, weights=xp.asarray(x[:, 0]), method="inverted_cdf"))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, weights=xp.asarray(-abs(x)), method="inverted_cdf"))
    same(lambda xp: xp.quantile(xp.asarray(x), 0.5, weights=xp.asarray(x * 0), method="inverted_cdf"), message=False)


def test_quantiles_on_the_device(same: Same) -> None:
    q = np.array([0.25, 0.5])
    same(lambda xp: xp.quantile(xp.arange(9, dtype=np.float32), xp.asarray(q)))
    same(lambda xp: xp.quantile(xp.arange(9) * 3, 0.5))


@settings(max_examples=20)
@given(
    arrays(np.float32, st.integers(1, 30), elements=st.floats(-1e6, 1e6, width=32)),
    st.floats(0, 1),
    st.sampled_from(sorted(METHODS)),
)
@pytest.mark.optimized
def test_any_quantile(x: np.ndarray, q: float, method: str) -> None:
    theirs = np.quantile(x, q, method=method)  # type: ignore[call-overload]
    ours = clarray.quantile(clarray.array(x), q, method=method)
    np.testing.assert_allclose(float(ours), theirs, rtol=1e-6, atol=1e-6 * np.abs(x).max())


@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "nanquantile"])
@pytest.mark.parametrize("dtype", ["uint64", "float32"])
def test_results_share_no_memory(name: str, dtype: str) -> None:
    q = () if "median" in name else (1,)
    for shape, axis in (((1, 1), 1), ((3, 1), 1), ((1,), 0), ((4, 2), 0)):
        x = clarray.ones(shape, dtype)
        assert not clarray.shares_memory(x, getattr(clarray, name)(x, *q, axis=axis))
