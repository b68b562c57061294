"""Float reductions are at least as accurate as NumPy's, or within 2 units in the last place (ulp).

Both are judged against exact sums (math.fsum, fractions), never against each other. GPU kernels add
blocks of elements before they compensate: theirs may also keep to the worst case of that, which is
smaller than NumPy's worst case for the same number of elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device

ULPS = 2
N = 20000  # elements of each data set
Rows = Callable[[np.ndarray], Any]


def wide(rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1, 1], N) * 10.0 ** rng.uniform(-6, 6, N)


def cancelling(rng: np.random.Generator) -> np.ndarray:
    half = wide(rng)[: N // 2]
    return rng.permutation(np.concatenate([half, -half * (1 + 2.0**-12)]))


DATA: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "constant": lambda rng: np.full(N, 0.1),
    "uniform": lambda rng: rng.random(N),
    "normal": lambda rng: rng.standard_normal(N),
    "large offset": lambda rng: 1e6 + rng.standard_normal(N),
    "outlier first": lambda rng: np.concatenate([[1e8], rng.standard_normal(N - 1)]),
    "huge and small": lambda rng: np.tile([1e8, 1.0, -1e8, 0.1, 3.0], N // 5),
    "growing": lambda rng: 1.001 ** np.arange(N),
    "wide": wide,
    "cancelling": cancelling,
}
SHAPES = [(N,), (2, N // 2), (N // 2, 2), (N // 50, 50), (50, N // 50), (10, N // 50, 5)]


@pytest.fixture(params=["float32", "float64"])
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "float64" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    return str(request.param)


def data(name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    return DATA[name](np.random.default_rng(7)).reshape(shape).astype(kind)


def exactly(host: np.ndarray, axis: int | None, reduce_row: Rows) -> list[Fraction]:
    """`reduce_row`'s exact results over an axis, in C order."""
    lines = host.reshape(1, -1) if axis is None else np.moveaxis(host, axis, -1)
    return [Fraction(reduce_row(line)) for line in lines.reshape(-1, lines.shape[-1])]


def errors(found: Any, exact: list[Fraction]) -> np.ndarray:
    """Distances from the exact results, in units in the last place of those."""
    flat = np.asarray(found).reshape(-1)
    nearest = np.array([float(x) for x in exact])
    rest = np.array([float(x - Fraction(n)) for x, n in zip(exact, nearest.tolist(), strict=True)])
    with np.errstate(all="ignore"):
        unit = np.spacing(abs(nearest.astype(flat.dtype))).astype(float)
        distance = abs(flat.astype(float) - nearest - rest) / unit
    return np.where(np.isfinite(flat), distance, np.inf)


def assert_accurate(ours: Any, theirs: Any, exact: list[Fraction], ulps: Any = ULPS) -> None:
    """Our errors are within `ulps`, or within the worst of NumPy's."""
    found, peer = errors(ours.get(), exact), errors(theirs, exact).max()
    assert (found <= np.maximum(ulps, peer)).all(), f"{found.max():.3g} ulp, NumPy {peer:.3g}"


def block_bound(host: np.ndarray, axis: int | None, exact: list[Fraction]) -> Any:
    """Worst error, in ulp, of adding blocks as trees: u * levels * sum of magnitudes."""
    policy = kernel_cache_of(current_device()).policies.reduce
    if policy.explicit:
        return ULPS
    levels = math.ceil(math.log2(policy.loads * policy.max_width))
    unit = np.spacing(abs(np.array([float(x) for x in exact]).astype(host.dtype))).astype(float)
    sizes = np.array([float(x) for x in exactly(abs(host), axis, math.fsum)])
    return ULPS + levels * np.finfo(host.dtype).eps / 2 * sizes / unit


def exact_variance(line: np.ndarray) -> Fraction:
    """From sums of integers: all values are multiples of the smallest one's last place."""
    scale = Fraction(float(np.spacing(abs(line[line != 0]).min())))
    whole = [int(Fraction(float(x)) / scale) for x in line]
    n = len(whole)
    return Fraction(n * sum(x * x for x in whole) - sum(whole) ** 2, n * n) * scale**2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DATA)
def test_sums(policy: str, kind: str, name: str) -> None:
    for shape in SHAPES:
        host = data(name, shape, kind)
        x = clarray.array(host)
        for axis in [None, *range(len(shape))]:
            exact = exactly(host, axis, math.fsum)
            bound = block_bound(host, axis, exact)
            assert_accurate(x.sum(axis=axis), host.sum(axis=axis), exact, bound)


@pytest.mark.parametrize("name", ["constant", "large offset", "huge and small", "wide"])
def test_means(kind: str, name: str) -> None:
    for shape in [(N,), (N // 50, 50)]:
        host = data(name, shape, kind)
        x = clarray.array(host)
        mask = clarray.ones(shape, bool)
        for axis in [None, *range(len(shape))]:
            count = host.size if axis is None else shape[axis]
            totals = exactly(host, axis, math.fsum)
            exact = [total / count for total in totals]
            bound = block_bound(host, axis, totals)
            assert_accurate(x.mean(axis=axis), host.mean(axis=axis), exact, bound)
            assert_accurate(x.mean(axis=axis, where=mask), host.mean(axis=axis), exact)


@pytest.mark.parametrize("name", ["constant", "normal", "large offset", "outlier first", "huge and small", "growing"])
def test_variances(policy: str, kind: str, name: str) -> None:
    for shape in [(N // 10,), (N // 50, 5), (5, N // 50)]:
        host = data(name, (N,), kind)[: math.prod(shape)].reshape(shape)
        x = clarray.array(host)
        mask = clarray.ones(shape, bool)
        for axis in [None, *range(len(shape))]:
            exact = exactly(host, axis, exact_variance)
            theirs = host.var(axis=axis)
            if name == "constant":
                assert not x.var(axis=axis).get().any()
                continue
            for ours in (x.var(axis=axis), x.var(axis=axis, where=mask)):
                # of many short lines the worst is a matter of luck: their mean is compared
                assert_accurate(ours, theirs, exact, 5)
                found, peer = (errors(e, exact).mean() for e in (ours.get(), theirs))
                bound = max(1 if len(exact) > 50 else ULPS, peer)
                assert found <= bound, f"{found:.3g} ulp, NumPy {peer:.3g}"


def test_products(kind: str) -> None:
    host = (1 + np.random.default_rng(3).standard_normal((300, 40)) / 100).astype(kind)
    x = clarray.array(host)
    for axis in (0, 1):
        exact = exactly(host, axis, lambda line: math.prod(Fraction(float(v)) for v in line))
        # every order of n roundings is as good as any other: sqrt(n)/2 units at random, the worst of
        # some hundred lines four times that
        bound = 2 * math.sqrt(host.shape[axis])
        assert_accurate(x.prod(axis=axis), host.prod(axis=axis), exact, bound)


def test_halves(policy: str) -> None:
    """Summed in float32: rounded once."""
    host = np.random.default_rng(5).random((70, 60)).astype(np.float16)
    x = clarray.array(host)
    for axis in (None, 0, 1):
        exact = exactly(host, axis, lambda line: math.fsum(line.astype(float)))
        assert errors(x.sum(axis=axis).get(), exact).max() <= 0.501
        count = host.size if axis is None else host.shape[axis]
        assert errors(x.mean(axis=axis).get(), [e / count for e in exact]).max() <= 0.501


def test_complex_sums() -> None:
    real, imag = (data(name, (N // 50, 50), "float32") for name in ("huge and small", "wide"))
    host = real + 1j * imag
    x = clarray.array(host)
    for axis in (None, 0, 1):
        found, theirs = x.sum(axis=axis), host.sum(axis=axis)
        assert_accurate(found.real, theirs.real, exactly(real, axis, math.fsum))
        assert_accurate(found.imag, theirs.imag, exactly(imag, axis, math.fsum))


@pytest.mark.parametrize("value", [2**53 + 1, 2**60 + 3])
def test_means_of_integers(value: int) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("means of integers are float64")
    host = np.full(1000, value, np.int64)
    host[::2] -= 2**12
    exact = [Fraction(int(sum(map(int, host))), host.size)]
    assert_accurate(clarray.array(host).mean(), host.mean(), exact)
