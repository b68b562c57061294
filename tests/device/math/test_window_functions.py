"""Windows, and the functions they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..closeness import check_close

fp64 = pytest.mark.skipif(not current_device().capabilities.fp64, reason="NumPy's result is float64")


@fp64
@pytest.mark.parametrize("count", [-1, 0, 1, 2, 7, 8, 4.5, 5000])
def test_windows(count: float) -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        check_close(name, count)
    if count != 4.5:  # NumPy's is NaN there
        check_close("kaiser", count, 14.0, ulps=32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_i0_is_within_its_bound(dtype: str) -> None:
    """Against sums of the series for it, whose terms are all positive."""
    if dtype == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    x = np.concatenate([np.linspace(-9, 9, 1001), np.geomspace(8, 80, 100)]).astype(dtype)
    term, true = np.ones(x.size, np.longdouble), np.ones(x.size, np.longdouble)
    for k in range(1, 200):
        term = term * (x.astype(np.longdouble) / (2 * k)) ** 2
        true = true + term
    found = clarray.asnumpy(clarray.i0(clarray.asarray(x)))
    assert (np.abs(found - true) / np.spacing(true.astype(dtype))).max() <= 8


@fp64
def test_i0_elsewhere() -> None:
    check_close("i0", np.arange(5))
    check_close("i0", np.array([0.0, -0.0, np.nan, np.inf, 1e300]))
    check_close("i0", np.ones(2, complex))
    assert np.isfinite(float(clarray.i0(712.0)))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_sinc(dtype: str) -> None:
    x = np.array([0, 1e-30, -0.0, 1, 0.5, -3.25, 2.7, np.nan, np.inf]).astype(dtype)
    check_close("sinc", x[:-2] if dtype[0] == "c" else x)


@fp64
def test_sinc_of_integers() -> None:
    check_close("sinc", np.arange(-2, 3))
