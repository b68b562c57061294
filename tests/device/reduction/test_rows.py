"""Rows that are normalised in one launch have the bits of several launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import evaluate
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force

pytestmark = pytest.mark.kernels_alone

Program = Callable[..., Any]


def softmax(xp: Any, x: Any, axis: int) -> Any:
    e = xp.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(xp: Any, x: Any, axis: int) -> Any:
    centred = x - x.mean(axis=axis, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(axis=axis, keepdims=True) + 1e-5) * 2 + 1


def standardised(xp: Any, x: Any, axis: int) -> Any:
    return (x - x.mean(axis=axis, keepdims=True)) / x.std(axis=axis, keepdims=True)


def shares(xp: Any, x: Any, axis: int) -> Any:
    return x / (x * x).sum(axis=axis, keepdims=True)


def ranges(xp: Any, x: Any, axis: int) -> Any:
    low, high = x.min(axis=axis, keepdims=True), x.max(axis=axis, keepdims=True)
    above = x - low
    return above / (high - low), above * 2


def masked(xp: Any, x: Any, axis: int) -> Any:
    return xp.where(x > 0, x / x.sum(axis=axis, keepdims=True, where=x > 0), -x)


def without_keepdims(xp: Any, x: Any, axis: int) -> Any:
    """A row's sum is read by the elements of a column, as the array is square."""
    square = x[: min(x.shape), : min(x.shape)] if x.ndim == 2 else x[0, :5, :5]
    return square - square.sum(axis=axis % 2) * 0.5


PROGRAMS = [softmax, layer_norm, standardised, shares, ranges, masked, without_keepdims]
LAYOUTS: list[tuple[tuple[int, ...], int, str]] = [
    ((60, 257), 1, "whole"),
    ((60, 256), 1, "reversed"),
    ((40, 40), 1, "whole"),
    ((40, 40), 0, "whole"),
    ((300, 31), 1, "transposed"),
    ((5, 7, 130), 2, "whole"),
    ((5, 130, 7), 1, "whole"),
    ((3, 5000), 1, "whole"),
    ((64, 64), 1, "every second"),
    ((1, 100), 1, "whole"),
    ((100, 1), 1, "whole"),
    ((0, 5), 1, "whole"),
]


def viewed(array: Any, view: str) -> Any:
    if view == "reversed":
        return array[:, ::-1]
    if view == "every second":
        return clarray.repeat(array, 2, axis=1)[:, ::2]
    return array.T.copy().T if view == "transposed" else array


def outcome(program: Program, x: Any, axis: int) -> list[np.ndarray]:
    results = program(clarray, x, axis)
    return [result.get() for result in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("policy", ["own", "tiny-cpu", "tiny-gpu", "nvidia"])
@pytest.mark.parametrize(("shape", "axis", "view"), LAYOUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_those_of_several_passes(
    program: Program, shape: tuple[int, ...], axis: int, view: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if 0 in shape and program in (softmax, ranges):
        pytest.skip("NumPy has no extremum of nothing")
    host = np.random.default_rng(0).standard_normal(shape).astype("f4")
    with policy_in_force(policy):
        x = viewed(clarray.array(host), view)
        with monkeypatch.context() as patch:
            patch.setattr(evaluate, "fits_rows", lambda *_: False)
            several = outcome(program, x, axis)
        together = outcome(program, x, axis)
    for one, other in zip(several, together, strict=True):
        np.testing.assert_array_equal(one.view(np.int32), other.view(np.int32))


@pytest.mark.parametrize("program", [softmax, layer_norm, standardised, shares, ranges])
def test_one_launch_for_a_gpu(program: Program) -> None:
    x = clarray.array(np.random.default_rng(0).standard_normal((300, 700)).astype("f4"))
    with policy_in_force("nvidia"):
        outcome(program, x, 1)
        with clarray.profile() as profile:
            outcome(program, x, 1)
    assert profile.launches == 1


def test_a_named_intermediate_is_stored_by_the_same_launch() -> None:
    x = clarray.array(np.random.default_rng(0).standard_normal((300, 700)).astype("f4"))
    with policy_in_force("nvidia"):
        e = clarray.exp(x - x.max(axis=1, keepdims=True))
        result = e / e.sum(axis=1, keepdims=True)
        with clarray.profile() as profile:
            values, powers = result.get(), e.get()
    assert profile.launches == 1
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), values, rtol=1e-6)


def test_nan_and_infinity_stay_in_their_rows() -> None:
    host = np.ones((50, 400), "f4")
    host[3, 7], host[20, 399], host[30, 0] = np.nan, np.inf, -np.inf
    with policy_in_force("nvidia"), np.errstate(all="ignore"):
        ours = softmax(clarray, clarray.array(host), 1).get()
        theirs = softmax(np, host, 1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_float64_rows_on_a_cpu_take_one_launch() -> None:
    device = current_device()
    if device.capabilities.kind != "cpu" or not device.capabilities.fp64:
        pytest.skip("for vectors of float64")
    x = clarray.array(np.random.default_rng(0).standard_normal((300, 700)))
    layer_norm(clarray, x, 1).evaluate()
    with clarray.profile() as profile:
        layer_norm(clarray, x, 1).evaluate()
    assert profile.launches == 1


def test_equal_constants_of_large_expressions() -> None:
    """Equal constants of a large graph are one input, whether they are one node or several."""
    host = np.random.default_rng(0).standard_normal((40, 300)).astype("f4")

    def long(xp: Any, x: Any, numbers: list[float]) -> Any:
        for number in numbers:
            x = x * number + 0.5
        return x / x.sum(axis=1, keepdims=True)

    for numbers in ([0.75] * 40, [0.75, 0.5] * 20, [0.75 + k / 100 for k in range(40)], [0.75] * 40):
        x = clarray.array(host)
        np.testing.assert_allclose(long(clarray, x, numbers).get(), long(np, host, numbers), rtol=1e-3)
