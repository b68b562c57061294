"""Reductions and accumulations of numbers at the edge of the range of their dtype.

Sums, products and means are near the exact ones, and infinite where those are past the largest number. No result of
finite values is NaN, as NumPy's is at times because parts of it overflow with both signs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

FP64 = current_device().capabilities.fp64
LENGTH = 300
DTYPES = ["float16", "float32", "float64", "complex64", "complex128"]
SUMS, PRODUCTS = ["sum", "mean", "nansum", "nanmean"], ["prod", "nanprod"]
RUNNING_SUMS = ["cumsum", "nancumsum", "cumulative_sum"]
RUNNING_PRODUCTS = ["cumprod", "nancumprod", "cumulative_prod"]
VARIANCES = ["var", "std", "nanvar", "nanstd"]


def forms(functions: list[str], layout: str) -> list[str]:
    """The functions for a layout: those without NaNs are masked reductions, and are compiled for one layout only."""
    return functions if layout == "flat" else [name for name in functions if not name.startswith("nan")]


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


def every_layout() -> pytest.MarkDecorator:
    """Parametrise by policy, dtype and layout.

    The device's own policy has all pairs. Each tiny policy has every dtype with the flat layout, and every other layout
    with one dtype. The other pairs are left to `--exhaustive`. Without float64 all of them run.
    """
    cases = []
    for shift, policy in enumerate(["own", "tiny-cpu", "tiny-gpu"]):
        for (i, dtype), (j, layout) in itertools.product(enumerate(DTYPES), enumerate(LAYOUTS)):
            is_chosen = policy == "own" or layout == "flat" or (i + j) % 5 == shift or not FP64
            cases.append(pytest.param(policy, dtype, layout, marks=[] if is_chosen else pytest.mark.exhaustive))
    return pytest.mark.parametrize(("policy", "dtype", "layout"), cases, indirect=["policy", "dtype"])


@pytest.fixture(autouse=True)
def builds(request: pytest.FixtureRequest) -> None:
    """Compile the kernels of the flat layout as a program has them, and those of the other layouts quickly."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if parameters.get("layout", "flat") != "flat":
        request.getfixturevalue("quick_builds")


@pytest.fixture(params=DTYPES)
def dtype(request: pytest.FixtureRequest) -> np.dtype:
    dtype = np.dtype(request.param)
    if dtype.name in ("float64", "complex128") and not FP64:
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


def running(lines: np.ndarray, product: bool) -> np.ndarray:
    """Exact running sums or products along the last axis of reals, as the nearest long doubles."""
    results = np.empty(lines.shape, np.longdouble)
    for line, result in zip(lines.reshape(-1, lines.shape[-1]), results.reshape(-1, lines.shape[-1]), strict=True):
        whole, exponent = (1, 0) if product else (0, -1200)
        for n, number in enumerate(line.tolist()):
            mantissa, power = math.frexp(number)
            digits = int(math.ldexp(mantissa, 53))
            if product:
                whole, exponent = whole * digits, exponent + power - 53
            else:
                whole += digits << (power - 53 + 1200)
            spare = max(whole.bit_length() - 64, 0)
            result[n] = np.ldexp(np.longdouble(whole >> spare), exponent + spare)
    return results


def exact_parts(x: np.ndarray, axis: int | None, product: bool) -> list[np.ndarray]:
    """The exact parts of running sums or products along the last axis. Complex factors lie on one axis of the plane."""
    lines = np.moveaxis(x.reshape(-1) if axis is None else x, axis or 0, -1)
    if x.dtype.kind != "c":
        return [running(lines, product)]
    if not product:
        return [running(lines.real, False), running(lines.imag, False)]
    assert not (lines.real.any() and lines.imag.any())
    sizes, turns = running(lines.real + lines.imag, True), np.arange(1, lines.shape[-1] + 1)
    if not lines.imag.any():
        turns = 0 * turns
    return [sizes * np.array([1, 0, -1, 0])[turns % 4], sizes * np.array([0, 1, 0, -1])[turns % 4]]


def assert_near(ours: np.ndarray, exact: np.ndarray, error: np.ndarray, what: str, count: int = 1) -> None:
    """Within `error` of the exact result, and infinite where that is past the largest number.

    A mean, of `count` values with the sum `exact`, is infinite where its sum is.
    """
    largest = float(np.finfo(ours.dtype if count == 1 else np.promote_types(ours.dtype, np.float32)).max)
    assert not np.isnan(ours).any(), what
    with np.errstate(over="ignore"):
        inside, outside = np.abs(exact) + error <= largest, np.abs(exact) - error > largest
    assert (np.abs(ours[inside].astype(np.longdouble) - exact[inside] / count) <= error[inside]).all(), what
    assert (ours[outside] == np.copysign(np.inf, exact[outside])).all(), what


def assert_as_numpy(ours: Any, numpys: Any, tolerance: float, what: str) -> None:
    """No NaN, and finite where NumPy's is, within `tolerance` (absolute)."""
    for got, wanted in zip(parts(ours), parts(numpys), strict=True):
        assert not np.isnan(got).any(), what
        finite = np.isfinite(wanted)
        assert np.isfinite(got[finite]).all(), what
        difference = np.abs(got[finite].astype(np.longdouble) - wanted[finite].astype(np.longdouble))
        assert (difference <= tolerance + 1e-3 * np.abs(wanted[finite].astype(np.longdouble))).all(), what


def error_of(exact: np.ndarray, x: np.ndarray, product: bool) -> np.ndarray:
    """How far a result may be off: a product by its roundings, a sum by those of its largest part."""
    info = np.finfo(x.dtype)
    eps = float(info.eps) + LENGTH * min(float(info.eps), float(np.finfo(np.float32).eps))
    largest = LENGTH * max(np.abs(part).max().astype(np.longdouble) for part in parts(x))
    size = np.where(np.isinf(exact), 0, np.abs(exact)) if product else np.full_like(exact, largest)
    return size * eps + float(info.smallest_subnormal)


@every_layout()
def test_sums_and_products_are_those_of_exact_numbers(dtype: np.dtype, layout: str, policy: str) -> None:
    """Not NumPy's: parts of its products go through subnormal numbers and zero, where digits are lost."""
    view, axis = LAYOUTS[layout]
    for name in VALUES:
        x = values(name, dtype)
        for product, functions in ((False, [*SUMS, *RUNNING_SUMS]), (True, [*PRODUCTS, *RUNNING_PRODUCTS])):
            with np.errstate(all="ignore"):
                exact = exact_parts(view(x), axis, product)
            for function in forms(functions, layout):
                found = getattr(clarray, function)(view(clarray.array(x)), axis=axis).get()
                for got, runs in zip(parts(found), exact, strict=True):
                    wanted = np.moveaxis(runs, -1, axis or 0)
                    if function in SUMS + PRODUCTS:
                        wanted = np.atleast_1d(runs[..., -1])
                    error = error_of(wanted, x, product)
                    count = runs.shape[-1] if "mean" in function else 1
                    assert_near(got, wanted, error, f"{function} of {name}", count)


@every_layout()
def test_variances_leave_the_range_where_numpys_do(dtype: np.dtype, layout: str, policy: str) -> None:
    view, axis = LAYOUTS[layout]
    for name in VALUES:
        x = values(name, dtype)
        spread = LENGTH**2 * float(np.finfo(dtype).eps) * float(max(np.abs(part).max() for part in parts(x)))
        for function in forms(VARIANCES, layout):
            with np.errstate(all="ignore"):
                numpys = getattr(np, function)(view(x), axis=axis)
            ours = getattr(clarray, function)(view(clarray.array(x)), axis=axis).get()
            assert_as_numpy(ours, numpys, spread, f"{function} of {name}")


def test_products_are_those_of_exact_fractions(dtype: np.dtype, policy: str) -> None:
    """Parts that leave the range both ways lose no digits: not those of float16, whose parts are float32."""
    if dtype.kind != "f":
        pytest.skip("complex products have no exact reference here")
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


def test_a_start_is_part_of_the_whole(dtype: np.dtype) -> None:
    """A start brings what is out of range back, as one value more does."""
    largest = float(np.finfo(dtype).max)
    rows: list[tuple[str, list[float], float, float]] = [
        ("prod", [largest, 2.0, 1.5], 0.0, 0.0),
        ("prod", [largest, 4.0], 0.125, largest / 2),
        ("prod", [1 / 1024, 4 / largest, 1 / 1024], 1024.0, 4 / largest / 1024),
        ("sum", [largest, largest, 1.0], -largest, largest),
        ("sum", [-largest, -largest / 2], largest, -largest / 2),
        ("sum", [1.0, 2.0], 3.0, 6.0),
    ]
    for name, numbers, start, wanted in rows:
        x = clarray.array(np.array(numbers, dtype))
        mask = np.ones(len(numbers), bool)
        results = [
            getattr(clarray, name)(x, initial=start),
            getattr(clarray, "nan" + name)(x, initial=start),
            getattr(clarray, name)(x.reshape(-1, 1), axis=0, initial=start, where=mask[:, None]),
            {"sum": np.add, "prod": np.multiply}[name].reduce(x, initial=start),
        ]
        for result in results:
            found = np.asarray(result.get()).ravel()[0]
            assert np.isclose(found.real, wanted, rtol=8 * float(np.finfo(dtype).eps), atol=0), (name, numbers, start)
            assert found.imag == 0
