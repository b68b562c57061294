"""Every distribution against SciPy's, and the bits of its numbers against those of other devices.

Seeds are fixed, so nothing here happens by chance: a test of Kolmogorov and Smirnov, or of chi squared, fails where the
probability of what is drawn is below one in a thousand. The checksums are those of all devices; a change of one means
that numbers drawn with a seed have changed for every user.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import clarray
from clarray.random import Generator, default_rng

N = 20000
UNLIKELY = 1e-3

needs_double = pytest.mark.skipif("not clarray._engine.runtime.current_device().capabilities.fp64", reason="no float64")


class Row(NamedTuple):
    """A call, the distribution that it must have, and the checksum of its bits."""

    draw: Callable[[Generator], Any]
    like: Any
    checksum: int


def drawn(row: Row) -> np.ndarray:
    found: np.ndarray = row.draw(default_rng(2024)).get()
    assert found.shape == (N,)
    return found


def checksum(values: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(values).tobytes())


S = stats
CONTINUOUS: dict[str, Row] = {
    "random": Row(lambda g: g.random(N), S.uniform(), 0x486B2A5B),
    "uniform": Row(lambda g: g.uniform(-2, 5, N), S.uniform(-2, 7), 0x3B7BF4E4),
    "normal": Row(lambda g: g.normal(3, 2, N), S.norm(3, 2), 0x3E0843BC),
    "lognormal": Row(lambda g: g.lognormal(1, 0.5, N), S.lognorm(0.5, scale=np.e), 0x3AE9376E),
    "exponential": Row(lambda g: g.exponential(3, N), S.expon(scale=3), 0xA21A0302),
    "standard_cauchy": Row(lambda g: g.standard_cauchy(N), S.cauchy(), 0x2A9E2F76),
    "laplace": Row(lambda g: g.laplace(1, 2, N), S.laplace(1, 2), 0x4A2DE790),
    "gumbel": Row(lambda g: g.gumbel(1, 2, N), S.gumbel_r(1, 2), 0x1C5ECB31),
    "logistic": Row(lambda g: g.logistic(1, 2, N), S.logistic(1, 2), 0x8F61FF64),
    "rayleigh": Row(lambda g: g.rayleigh(2, N), S.rayleigh(scale=2), 0x51D0A4B5),
    "weibull": Row(lambda g: g.weibull(1.7, N), S.weibull_min(1.7), 0xFA24A7EF),
    "pareto": Row(lambda g: g.pareto(2.5, N), S.lomax(2.5), 0x46127112),
    "power": Row(lambda g: g.power(2.5, N), S.powerlaw(2.5), 0xDA7FCA47),
    "triangular": Row(lambda g: g.triangular(-1, 0, 3, N), S.triang(0.25, -1, 4), 0x901DCE72),
    "wald": Row(lambda g: g.wald(2, 3, N), S.invgauss(2 / 3, scale=3), 0x67BD36D9),
    "vonmises flat": Row(lambda g: g.vonmises(0, 1e-9, N), S.uniform(-np.pi, 2 * np.pi), 0x969FF199),
    "vonmises tiny": Row(lambda g: g.vonmises(0, 1e-6, N), S.uniform(-np.pi, 2 * np.pi), 0x90D48A3A),
    "vonmises": Row(lambda g: g.vonmises(0, 1.5, N), S.vonmises(1.5), 0x887CA843),
    "vonmises narrow": Row(lambda g: g.vonmises(0, 3e7, N), S.norm(0, 3e7**-0.5), 0xB62D3050),
    "gamma small": Row(lambda g: g.gamma(0.05, 2, N), S.gamma(0.05, scale=2), 0x97BBC92C),
    "gamma": Row(lambda g: g.gamma(3.3, 2, N), S.gamma(3.3, scale=2), 0xF1D12DD5),
    "standard_gamma large": Row(lambda g: g.standard_gamma(1e4, N), S.gamma(1e4), 0x30D0ED5E),
    "beta small": Row(lambda g: g.beta(0.3, 0.2, N), S.beta(0.3, 0.2), 0x24A97E62),
    "beta": Row(lambda g: g.beta(2, 5, N), S.beta(2, 5), 0x5377027D),
    "chisquare": Row(lambda g: g.chisquare(3, N), S.chi2(3), 0x39BAB0EF),
    "noncentral_chisquare": Row(lambda g: g.noncentral_chisquare(0.7, 4, N), S.ncx2(0.7, 4), 0x859D0FC8),
    "f": Row(lambda g: g.f(3, 7, N), S.f(3, 7), 0x6DF365C9),
    "noncentral_f": Row(lambda g: g.noncentral_f(3, 7, 2, N), S.ncf(3, 7, 2), 0xFC6EC806),
    "standard_t": Row(lambda g: g.standard_t(4, N), S.t(4), 0x3C58A0B5),
}

F4 = np.float32
SINGLE: dict[str, Row] = {
    "random": Row(lambda g: g.random(N, F4), S.uniform(), 0x4CE1927E),
    "normal": Row(lambda g: g.normal(3, 2, N, dtype=F4), S.norm(3, 2), 0x43E14605),
    "lognormal": Row(lambda g: g.lognormal(1, 0.5, N, dtype=F4), S.lognorm(0.5, scale=np.e), 0xBB193170),
    "exponential": Row(lambda g: g.exponential(3, N, dtype=F4), S.expon(scale=3), 0x36E89BCC),
    "pareto": Row(lambda g: g.pareto(2.5, N, dtype=F4), S.lomax(2.5), 0x5FE80241),
    "triangular": Row(lambda g: g.triangular(-1, 0, 3, N, dtype=F4), S.triang(0.25, -1, 4), 0xC05D08C2),
    "vonmises": Row(lambda g: g.vonmises(0, 1.5, N, dtype=F4), S.vonmises(1.5), 0xEE926932),
    "gamma": Row(lambda g: g.gamma(3.3, 2, N, dtype=F4), S.gamma(3.3, scale=2), 0x9CCD4C5E),
    "beta": Row(lambda g: g.beta(2, 5, N, dtype=F4), S.beta(2, 5), 0x04B7A2D2),
}

DISCRETE: dict[str, Row] = {
    "poisson few": Row(lambda g: g.poisson(3, N), S.poisson(3), 0x5B3596A8),
    "poisson": Row(lambda g: g.poisson(50, N), S.poisson(50), 0x7DCF16EB),
    "poisson many": Row(lambda g: g.poisson(1e9, N), S.poisson(1e9), 0xDDFE4592),
    "binomial few": Row(lambda g: g.binomial(20, 0.9, N), S.binom(20, 0.9), 0x747D15BC),
    "binomial": Row(lambda g: g.binomial(1000, 0.3, N), S.binom(1000, 0.3), 0xB7129FBF),
    "binomial often": Row(lambda g: g.binomial(1000, 0.97, N), S.binom(1000, 0.97), 0xF85F1256),
    "binomial rare": Row(lambda g: g.binomial(10**12, 1e-10, N), S.binom(10**12, 1e-10), 0x02C1B0A5),
    "negative_binomial": Row(lambda g: g.negative_binomial(3, 0.3, N), S.nbinom(3, 0.3), 0xED93CB96),
    "geometric": Row(lambda g: g.geometric(0.3, N), S.geom(0.3), 0x4E4F0396),
    "geometric rare": Row(lambda g: g.geometric(1e-4, N), S.geom(1e-4), 0xCA3E1B15),
    "hypergeometric few": Row(lambda g: g.hypergeometric(5, 7, 4, N), S.hypergeom(12, 5, 4), 0x9C43E66A),
    "hypergeometric": Row(lambda g: g.hypergeometric(300, 100, 150, N), S.hypergeom(400, 300, 150), 0xE6F933E6),
    "hypergeometric most": Row(lambda g: g.hypergeometric(300, 20, 311, N), S.hypergeom(320, 300, 311), 0x83B22645),
    "logseries": Row(lambda g: g.logseries(0.7, N), S.logser(0.7), 0x8E9DD215),
    "logseries long": Row(lambda g: g.logseries(0.99, N), S.logser(0.99), 0x6E11A89A),
    "zipf": Row(lambda g: np.minimum(g.zipf(2.0, N), 1000), S.zipf(2.0), 0xC96F3049),
}


def check_continuous(row: Row, dtype: type) -> None:
    values = drawn(row)
    assert values.dtype == dtype
    assert stats.kstest(values.astype(np.float64), row.like.cdf).pvalue > UNLIKELY
    assert checksum(values) == row.checksum


@needs_double
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    check_continuous(CONTINUOUS[name], np.float64)


@pytest.mark.parametrize("name", SINGLE)
def test_single(name: str) -> None:
    check_continuous(SINGLE[name], np.float32)


@needs_double
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    row = DISCRETE[name]
    values = drawn(row)
    assert values.dtype == np.int64
    ends = np.unique(np.quantile(values, np.linspace(0, 1, 21)[1:-1]).astype(np.int64))
    expected = np.diff([0, *row.like.cdf(ends), 1]) * N
    counted = np.histogram(values, [-np.inf, *(ends + 0.5), np.inf])[0]
    keep = expected > 1
    squares = (counted - expected)[keep] ** 2 / expected[keep]
    assert stats.chi2.sf(squares.sum(), squares.size - 1) > UNLIKELY
    assert checksum(values) == row.checksum


@needs_double
def test_tails_of_the_normal_distribution() -> None:
    """The inverse of the distribution function, element for element, as far as SciPy's goes."""
    bits = default_rng(6)
    normal = bits.standard_normal(1 << 18).get()
    words = default_rng(6).integers(0, 2**64, 1 << 18, np.uint64).get()
    p = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    np.testing.assert_allclose(normal, stats.norm.ppf(p), rtol=1e-12, atol=1e-15)
    assert np.abs(normal).max() > 4


@needs_double
def test_extreme_parameters() -> None:
    g = default_rng(1)
    assert (g.standard_gamma([0.0, 1e-300], 2).get() == 0).all()
    assert g.geometric([1.0, 1e-300]).get().tolist() == [1, 2**63 - 1]
    assert g.binomial([0, 10, 10], [0.5, 0.0, 1.0]).get().tolist() == [0, 0, 10]
    assert g.poisson(0.0) == 0
    assert g.weibull([0.0, 1.0]).get()[0] == 0
    assert g.zipf(2000.0) == 1
    assert g.hypergeometric([10, 0, 3], [0, 10, 3], [4, 4, 0]).get().tolist() == [4, 0, 0]
    angles = g.vonmises([3.0, -9.0], 0.1, (500, 2)).get()
    assert (np.abs(angles) <= np.pi).all()
    assert np.isnan(g.normal(np.nan, 1.0))
    assert np.isnan(g.beta(1e-300, 1e-300, 100).get()).sum() == 0


@needs_double
def test_parameters_broadcast() -> None:
    g = default_rng(3)
    loc = clarray.asarray([[0.0], [1e6]])
    found = g.normal(loc, [1.0, 10.0, 100.0]).get()
    assert found.shape == (2, 3)
    assert (np.abs(found - [[0.0], [1e6]]) < 700).all()
    shape = g.standard_gamma(clarray.asarray([0.5, 1000.0]), (4000, 2)).get()
    np.testing.assert_allclose(shape.mean(0), [0.5, 1000.0], rtol=0.1)
    counts = g.binomial(clarray.asarray([10, 1000]), 0.5, (4000, 2)).get()
    np.testing.assert_allclose(counts.mean(0), [5, 500], rtol=0.05)
    found = g.uniform(clarray.asarray([0.0, 5.0]), clarray.asarray([1.0, 6.0], dtype="float32"), (9, 2)).get()
    assert ((found >= [0, 5]) & (found < [1, 6])).all()
    assert g.normal(clarray.zeros((0, 3)), 1.0).shape == (0, 3)


# Vectors ------------------------------------------------------------------------------------------


@needs_double
def test_multinomial() -> None:
    p = [0.1, 0.2, 0.7]
    found = default_rng(4).multinomial(20, p, N).get()
    assert found.shape == (N, 3)
    assert (found.sum(1) == 20).all()
    for k in range(3):
        counted = np.bincount(found[:, k], minlength=21)
        expected = stats.binom(20, p[k]).pmf(np.arange(21)) * N
        keep = expected > 5
        assert stats.chi2.sf(((counted - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1) > UNLIKELY
    assert abs(np.cov(found.T)[0, 1] + 20 * 0.1 * 0.2) < 0.03
    several = default_rng(4).multinomial([[3], [40]], [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]).get()
    assert several.shape == (2, 3, 2)
    assert several.sum(-1).tolist() == [[3] * 3, [40] * 3]
    assert several[:, 1:].tolist() == [[[0, 3], [3, 0]], [[0, 40], [40, 0]]]


@needs_double
@pytest.mark.parametrize("method", ["marginals", "count"])
def test_multivariate_hypergeometric(method: str) -> None:
    found = default_rng(4).multivariate_hypergeometric([10, 20, 30], 15, (50, 100), method).get()
    assert found.shape == (50, 100, 3)
    assert (found.sum(-1) == 15).all()
    np.testing.assert_allclose(found.mean((0, 1)), [2.5, 5, 7.5], atol=0.1)


@needs_double
def test_dirichlet() -> None:
    found = default_rng(4).dirichlet([1.0, 2.0, 3.0], N).get()
    np.testing.assert_allclose(found.sum(1), 1)
    assert stats.kstest(found[:, 0], stats.beta(1, 5).cdf).pvalue > UNLIKELY
    rare = default_rng(4).dirichlet([0.001, 0.002, 0.003], N).get()  # the gamma variates underflow
    np.testing.assert_allclose(rare.sum(1), 1)
    np.testing.assert_allclose(rare.mean(0), [1 / 6, 1 / 3, 1 / 2], atol=0.014)
    assert default_rng(4).dirichlet([1, 1], (2, 3), dtype=F4).dtype == F4


@needs_double
@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method: str) -> None:
    cov = np.array([[2, 0.5], [0.5, 1]])
    found = default_rng(4).multivariate_normal([1, 2], cov, N, method=method).get()
    np.testing.assert_allclose(np.cov(found.T), cov, atol=0.06)
    direction = (found - [1, 2]) @ [1.0, -1.0]
    assert stats.kstest(direction, stats.norm(0, 2**0.5).cdf).pvalue > UNLIKELY
    assert default_rng(4).multivariate_normal([0, 0], cov).shape == (2,)
    with pytest.warns(RuntimeWarning, match="semidefinite"):
        default_rng(4).multivariate_normal([0, 0], [[1, 2], [2, 1]])
