"""Reductions and accumulations of numbers at the edge of the range of their dtype.

Where NumPy's result is finite, so is ours, and close to the exact one; a sum, product, mean, variance or standard
deviation of finite values is never NaN. NumPy's is at times, as parts of one overflow with both signs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

LENGTH = 300
DTYPES = ["float16", "float32", "float64", "complex64", "complex128"]
REDUCTIONS = ["sum", "prod", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd"]
ACCUMULATIONS = ["cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod"]


def repeated(*parts: float) -> Callable[[np.random.Generator, Any], np.ndarray]:
    """The same few numbers again and again, as shares of the largest."""
    return lambda rng, info: np.resize(np.array(parts), LENGTH) * float(info.max)


def mixed(rng: np.random.Generator, info: Any) -> np.ndarray:
    """Numbers of every magnitude, zeros of both signs among them."""
    large = float(info.max)
    extremes = [large, -large, large / 2, float(info.tiny), -float(info.smallest_subnormal), 0.0, -0.0, 1.0, -1.5]
    return rng.choice(extremes, LENGTH)


def out_and_back(rng: np.random.Generator, info: Any) -> np.ndarray:
    """Factors whose product leaves the range both ways, and is about one in the end."""
    root = 2.0 ** rng.integers(1, max(2, info.maxexp // 2), LENGTH // 2)
    return rng.permutation(np.concatenate([root, 1 / root])) * rng.choice([1.0, -1.0], LENGTH)


VALUES: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "largest": repeated(1.0),
    "largest of both signs": repeated(1.0, -1.0),
    "pairs of both signs": repeated(1.0, 0.5, -1.0, -0.5),
    "runs of both signs": lambda rng, info: np.repeat([1.0, -1.0, 0.25], LENGTH // 3) * float(info.max),
    "zero among large": lambda rng, info: np.where(np.arange(LENGTH) == 211, -0.0, float(info.max) / 2),
    "zero first": lambda rng, info: np.minimum(np.arange(LENGTH) * 1.0, 200.0),
    "smallest": lambda rng, info: np.full(LENGTH, float(info.tiny)),
    "subnormal": lambda rng, info: rng.integers(1, 9, LENGTH) * float(info.smallest_subnormal),
    "out and back": out_and_back,
    "mixed": mixed,
}
LAYOUTS: dict[str, tuple[Callable[[Any], Any], int | None]] = {
    "flat": (lambda x: x, None),
    "strided": (lambda x: x[::-2], 0),
    "axis 0": (lambda x: x.reshape(-1, 10), 0),
    "axis 1": (lambda x: x.reshape(5, -1), 1),
    "few columns": (lambda x: x.reshape(-1, 3), 0),
}


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest) -> np.dtype:
    dtype = np.dtype(request.param)
    if dtype.name in ("float64", "complex128") and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    return dtype


def values(name: str, dtype: np.dtype) -> np.ndarray:
    drawn: np.ndarray = VALUES[name](np.random.default_rng(5), np.finfo(dtype)).astype(dtype)
    if dtype.kind == "c" and "both" in name:
        drawn.imag, drawn.real = drawn.real.copy(), 0
    return drawn


def parts(x: Any) -> list[np.ndarray]:
    x = np.atleast_1d(np.asarray(x))
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]


def assert_in_range(ours: Any, numpys: Any, tolerance: float, what: str) -> None:
    """No NaN, and finite where NumPy's is, within `tolerance` (absolute)."""
    for got, wanted in zip(parts(ours), parts(numpys), strict=True):
        assert not np.isnan(got).any(), what
        finite = np.isfinite(wanted)
        assert np.isfinite(got[finite]).all(), what
        difference = np.abs(got[finite].astype(np.longdouble) - wanted[finite].astype(np.longdouble))
        assert (difference <= tolerance + 1e-3 * np.abs(wanted[finite].astype(np.longdouble))).all(), what


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_reduction_leaves_the_range(dtype: np.dtype, layout: str, policy: str) -> None:
    view, axis = LAYOUTS[layout]
    for name in VALUES:
        x = values(name, dtype)
        info = np.finfo(dtype)
        for function in REDUCTIONS:
            with np.errstate(all="ignore"):
                numpys = getattr(np, function)(view(x), axis=axis)
            ours = getattr(clarray, function)(view(clarray.array(x)), axis=axis).get()
            if "prod" in function and name == "out and back":
                assert not any(np.isnan(part).any() for part in parts(ours))  # NumPy's goes through subnormal numbers
                continue
            spread = LENGTH**2 * float(info.eps) * float(max(np.abs(part).max() for part in parts(x)))
            assert_in_range(ours, numpys, spread if "prod" not in function else 0.0, f"{function} of {name}")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_accumulation_leaves_the_range(dtype: np.dtype, layout: str, policy: str) -> None:
    view, axis = LAYOUTS[layout]
    for name in VALUES:
        x = values(name, dtype)
        info = np.finfo(dtype)
        for function in ACCUMULATIONS:
            with np.errstate(all="ignore"):
                numpys = getattr(np, function)(view(x), axis=axis)
            ours = getattr(clarray, function)(view(clarray.array(x)), axis=axis).get()
            if "prod" in function and name == "out and back":
                assert not any(np.isnan(part).any() for part in parts(ours))
                continue
            spread = LENGTH**2 * float(info.eps) * float(max(np.abs(part).max() for part in parts(x)))
            assert_in_range(ours, numpys, spread if "prod" not in function else 0.0, f"{function} of {name}")


def test_products_are_those_of_exact_fractions(dtype: np.dtype, policy: str) -> None:
    """Parts that leave the range both ways lose no digits: not those of float16, whose parts are float32."""
    if dtype.kind != "f":
        return
    for seed in range(20):
        x = out_and_back(np.random.default_rng(seed), np.finfo(dtype)).astype(dtype)
        exact = Fraction(1)
        running = []
        for number in x.tolist():
            exact *= Fraction(number)
            running.append(exact)
        largest, tiny = Fraction(float(np.finfo(dtype).max)), Fraction(float(np.finfo(dtype).tiny))
        found = clarray.prod(clarray.array(x)).item()
        assert abs(Fraction(found) - exact) <= abs(exact) * Fraction(LENGTH * float(np.finfo(dtype).eps))
        for got, wanted in zip(clarray.cumprod(clarray.array(x)).tolist(), running, strict=True):
            if tiny <= abs(wanted) <= largest:
                assert abs(Fraction(got) - wanted) <= abs(wanted) * Fraction(LENGTH * float(np.finfo(dtype).eps))


def test_infinity_and_nan_go_on(dtype: np.dtype, policy: str) -> None:
    """What is not finite among the operands is NumPy's result of it."""
    for odd in ([np.inf], [-np.inf], [np.nan], [np.inf, -np.inf], [np.inf, 0.0]):
        x = np.full(LENGTH, 1.0, dtype)
        x[20 : 20 + len(odd)] = odd
        for function in ("sum", "mean", "var", "cumsum", *(("prod", "cumprod") if dtype.kind == "f" else ())):
            with np.errstate(all="ignore"):
                numpys = getattr(np, function)(x)
            ours = getattr(clarray, function)(clarray.array(x)).get()
            for got, wanted in zip(parts(ours), parts(numpys), strict=True):
                if function == "mean":  # NumPy divides complex numbers by complex ones, which makes more NaNs
                    got = np.where(np.isnan(wanted), wanted, got)
                assert np.isclose(got, wanted, equal_nan=True).all(), f"{function} of {odd}"
