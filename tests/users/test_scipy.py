"""SciPy with SCIPY_ARRAY_API=1 (tests/conftest.py): what it lists as fit for the Array API takes device arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

scipy = pytest.importorskip("scipy")

from scipy import (  # noqa: E402  # noqa: E402
    constants,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    special,
    stats,
)
from scipy.cluster import hierarchy, vq  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402

_random = np.random.default_rng(0)
A, B = _random.random((2, 32)) + 0.1
P = _random.random(20) * 0.98 + 0.01
M = _random.random((6, 8))
TALL = _random.random((8, 3))
COUNTS = _random.integers(3, 9, 30)

Body = Callable


def of_one(module, names: str, *data) -> dict[str, Body]:
    """Functions of the same arguments, by name."""
    return {
        f"{module.__name__.removeprefix('scipy.')}.{name}": lambda xp, name=name: getattr(module, name)(
            *map(xp.asarray, data)
        )
        for name in names.split()
    }


CASES: dict[str, Body] = {
    **of_one(special, "digamma entr erf erfc erfinv expit gammaln i0 i0e i1 log_ndtr logit ndtr ndtri", P),
    **of_one(special, "gammainc gammaincc rel_entr xlog1py xlogy zeta", A + 1.5, B),
    "special.logsumexp": lambda xp: special.logsumexp(xp.asarray(M), axis=1, b=xp.asarray(M)),
    "special.softmax": lambda xp: special.softmax(xp.asarray(M), axis=0),
    "special.log_softmax": lambda xp: special.log_softmax(xp.asarray(M), axis=1),
    # statistics
    **of_one(stats, "describe entropy gmean hmean jarque_bera kstat kurtosis kurtosistest median_abs_deviation", A),
    **of_one(stats, "moment normaltest rankdata sem skew tmean tvar variation zscore", A),
    **of_one(stats, "bartlett f_oneway fligner kruskal levene mannwhitneyu pearsonr ttest_ind wilcoxon", A, B),
    "stats.skew_of_rows": lambda xp: stats.skew(xp.asarray(M), axis=1, bias=False),
    "stats.zmap": lambda xp: stats.zmap(xp.asarray(A), xp.asarray(B)),
    "stats.chisquare": lambda xp: stats.chisquare(xp.asarray(COUNTS)),
    "stats.mode": lambda xp: stats.mode(xp.asarray(COUNTS)),
    "stats.quantile": lambda xp: stats.quantile(xp.asarray(A), xp.asarray([0.1, 0.5])),
    "stats.trim_mean": lambda xp: stats.trim_mean(xp.asarray(A), 0.1),
    "stats.false_discovery_control": lambda xp: stats.false_discovery_control(xp.asarray(P)),
    "stats.combine_pvalues": lambda xp: stats.combine_pvalues(xp.asarray(P)),
    # clusters
    "vq.whiten": lambda xp: vq.whiten(xp.asarray(M)),
    "vq.vq": lambda xp: vq.vq(xp.asarray(M), xp.asarray(M[:3])),
    "vq.kmeans": lambda xp: vq.kmeans(xp.asarray(M), xp.asarray(M[:2])),
    "hierarchy.linkage": lambda xp: hierarchy.linkage(xp.asarray(M)),
    # signals
    "windows.hann": lambda xp: signal.windows.hann(12, xp=xp),
    "windows.kaiser": lambda xp: signal.windows.kaiser(12, 5.0, xp=xp),
    **of_one(signal, "convolve correlate fftconvolve oaconvolve", A, B[:9]),
    **of_one(signal, "detrend envelope hilbert medfilt", A),
    "signal.lfilter": lambda xp: signal.lfilter(*map(xp.asarray, ([0.5, 0.5], [1.0, 0.2], A))),
    "signal.filtfilt": lambda xp: signal.filtfilt(*map(xp.asarray, ([0.5, 0.5], [1.0], A))),
    "signal.savgol_filter": lambda xp: signal.savgol_filter(xp.asarray(A), 5, 2),
    "signal.resample": lambda xp: signal.resample(xp.asarray(A), 20),
    # transforms
    **of_one(fft, "fft hfft ifft irfft rfft dct dst", A),
    **of_one(fft, "fft2 ifftn rfft2", M),
    "fft.fftshift": lambda xp: fft.fftshift(fft.fftfreq(8, xp=xp)),
    # calculus
    "integrate.trapezoid": lambda xp: integrate.trapezoid(xp.asarray(A), xp.asarray(np.sort(B))),
    "integrate.cumulative_simpson": lambda xp: integrate.cumulative_simpson(xp.asarray(M), dx=0.1, axis=1, initial=0.0),
    "integrate.romb": lambda xp: integrate.romb(xp.asarray(M[:, :5]), dx=0.25),
    "differentiate.derivative": lambda xp: differentiate.derivative(xp.exp, xp.asarray(A)).df,
    "differentiate.jacobian": lambda xp: (
        differentiate.jacobian(lambda t: xp.stack([t[0] ** 2, t[0] * t[1]]), xp.asarray([1.0, 2.0])).df
    ),
    "optimize.rosen_hess": lambda xp: optimize.rosen_hess(xp.asarray(A[:6])),
    # the rest
    "linalg.block_diag": lambda xp: linalg.block_diag(xp.asarray(M[:2, :2]), xp.asarray(M[2:4, 2:5])),
    "linalg.orthogonal_procrustes": lambda xp: linalg.orthogonal_procrustes(xp.asarray(TALL), xp.asarray(TALL**2)),
    "ndimage.gaussian_filter": lambda xp: ndimage.gaussian_filter(xp.asarray(M), 1.0),
    "ndimage.label": lambda xp: ndimage.label(xp.asarray(M > 0.5)),
    "interpolate.CubicSpline": lambda xp: interpolate.CubicSpline(*map(xp.asarray, (np.sort(A), B)))(xp.asarray(P)),
    "interpolate.RBFInterpolator": lambda xp: interpolate.RBFInterpolator(xp.asarray(M[:, :2]), xp.asarray(M[:, 2]))(
        xp.asarray(M[:3, 3:5])
    ),
    "spatial.Rotation": lambda xp: Rotation.from_quat(xp.asarray(M[:, :4])).as_matrix(),
    "constants.convert_temperature": lambda xp: constants.convert_temperature(xp.asarray(A), "C", "K"),
}


@pytest.fixture(scope="module", autouse=True)
def _on_a_device_with_float64() -> None:
    """SciPy makes float64 constants of its own."""
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


@pytest.fixture(autouse=True)
def _elements_are_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What SCIPY_ARRAY_API does where it is set before clarray is imported."""
    monkeypatch.setattr(clarray.config, "elements", "arrays")


def parts(result) -> list:
    """The arrays and numbers of a result: tuples, also named ones, and the results of tests."""
    if isinstance(result, tuple | list):
        return [part for one in result for part in parts(one)]
    if hasattr(result, "pvalue"):
        return [result.statistic, result.pvalue]
    return [result]


@pytest.mark.parametrize("name", CASES)
def test_function(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small samples
        ours, theirs = parts(CASES[name](clarray)), parts(CASES[name](np))
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, np.ndarray | np.generic):
            assert isinstance(one, clarray.DeviceArray)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-10)


def test_float32_stays_float32() -> None:
    data = A.astype("float32")
    for function in (special.erf, special.softmax, stats.zscore, fft.rfft):
        ours, theirs = function(clarray.asarray(data)), function(data)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
