"""What NumPy's generator refuses is refused with its errors, and what it gives has the same shape and dtype."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

Body = Callable[[Any, ModuleType], Any]

needs_double = pytest.mark.skipif("not clarray._engine.runtime.current_device().capabilities.fp64", reason="no float64")

WRONG: list[Body] = [
    lambda g, xp: g.random(3, dtype="int32"),
    lambda g, xp: g.random(-1),
    lambda g, xp: g.random(3, out=xp.zeros(3, "float32")),
    lambda g, xp: g.random(4, out=xp.zeros(3)),
    lambda g, xp: g.normal(0, -1),
    lambda g, xp: g.normal(xp.zeros(3), [1.0, -1.0, 2.0]),
    lambda g, xp: g.normal(xp.zeros(3), 1.0, 2),
    lambda g, xp: g.normal(xp.zeros((3, 1)), 1.0, (3,)),
    lambda g, xp: g.normal(xp.zeros(3), xp.zeros(2)),
    lambda g, xp: g.uniform(1, 0),
    lambda g, xp: g.uniform(xp.asarray([0.0, 1.0]), [1.0, 0.5]),
    lambda g, xp: g.uniform(0, np.inf),
    lambda g, xp: g.uniform([0.0], [np.inf]),
    lambda g, xp: g.gamma(xp.asarray([1.0, -1.0])),
    lambda g, xp: g.standard_gamma(-1),
    lambda g, xp: g.beta(0, 1),
    lambda g, xp: g.standard_t([0.0, 1.0]),
    lambda g, xp: g.wald(0, 1),
    lambda g, xp: g.vonmises(0, -1),
    lambda g, xp: g.triangular(0, -1, 2),
    lambda g, xp: g.triangular(0, 3, 2),
    lambda g, xp: g.triangular(1, 1, 1),
    lambda g, xp: g.triangular([0.0, 2.0], [1.0, 1.0], [3.0, 3.0]),
    lambda g, xp: g.poisson(-1),
    lambda g, xp: g.poisson(1e30),
    lambda g, xp: g.poisson(xp.asarray([1.0, np.nan])),
    lambda g, xp: g.binomial(-1, 0.5),
    lambda g, xp: g.binomial(5, 1.5),
    lambda g, xp: g.negative_binomial(0, 0.5),
    lambda g, xp: g.geometric(0),
    lambda g, xp: g.zipf(1),
    lambda g, xp: g.logseries(1),
    lambda g, xp: g.hypergeometric(1, 2, 9),
    lambda g, xp: g.hypergeometric([1, 5], [2, 5], [2, 11]),
    lambda g, xp: g.hypergeometric(2e9, 2, 9),
    lambda g, xp: g.hypergeometric(xp.asarray([-1, 5]), 2, 1),
    lambda g, xp: g.integers(5, 5),
    lambda g, xp: g.integers(5, 4, endpoint=True),
    lambda g, xp: g.integers([1, 5], [2, 5]),
    lambda g, xp: g.integers(xp.asarray([1, 5]), xp.asarray([9, 4])),
    lambda g, xp: g.integers(0, 300, dtype="int8"),
    lambda g, xp: g.integers([-200], 3, dtype="int8"),
    lambda g, xp: g.integers(0, 5, dtype="float32"),
    lambda g, xp: g.integers(0, 5, dtype=">i4"),
    lambda g, xp: g.choice(0),
    lambda g, xp: g.choice(-3),
    lambda g, xp: g.choice(2.5),
    lambda g, xp: g.choice([], 2),
    lambda g, xp: g.choice(3, 5, replace=False),
    lambda g, xp: g.choice(3, p=[0.5, 0.5]),
    lambda g, xp: g.choice(3, p=[0.5, 0.5, 0.5]),
    lambda g, xp: g.choice(3, p=[-0.5, 0.5, 1]),
    lambda g, xp: g.choice(3, p=[np.nan, 0.5, 0.5]),
    lambda g, xp: g.choice(3, 2, False, [1, 0, 0]),
    lambda g, xp: g.permutation(xp.zeros((2, 3)), axis=3),
    lambda g, xp: g.permuted(xp.arange(4), axis=1),
    lambda g, xp: g.permuted(xp.arange(4), out=xp.zeros(3, int)),
    lambda g, xp: g.shuffle("abc"),
    lambda g, xp: g.shuffle(3),
    lambda g, xp: g.multinomial(-1, [0.5, 0.5]),
    lambda g, xp: g.multinomial(5, [-0.5, 1.5]),
    lambda g, xp: g.multinomial(5, []),
    lambda g, xp: g.dirichlet([0, -1]),
    lambda g, xp: g.multivariate_normal([[0]], [[1]]),
    lambda g, xp: g.multivariate_normal([0], [[1, 0], [0, 1]]),
    lambda g, xp: g.multivariate_normal([0, 0], [[1, 2], [2, 1]], check_valid="raise"),
    lambda g, xp: g.multivariate_normal([0, 0], np.eye(2), method="x"),
    lambda g, xp: g.multivariate_hypergeometric([3, 1], 5),
    lambda g, xp: g.multivariate_hypergeometric([3, 1], 2, method="x"),
    lambda g, xp: g.bytes(-1) if xp is clarray else g.random(-1),
]

RIGHT: list[Body] = [
    lambda g, xp: g.random((2, 3), "float32"),
    lambda g, xp: g.random(3, out=xp.zeros(3)),
    lambda g, xp: g.standard_normal(out=xp.zeros((2, 3), "float32"), dtype="float32"),
    lambda g, xp: g.normal([1, 2], xp.asarray([[1.0], [2.0]])),
    lambda g, xp: g.uniform(0, [1, 2, 3], (2, 3)),
    lambda g, xp: g.standard_gamma(xp.ones(3), dtype="float32"),
    lambda g, xp: g.poisson([1, 2], size=(2, 2)),
    lambda g, xp: g.binomial([1, 2], [[0.5], [0.2]]),
    lambda g, xp: g.exponential(2.0, 0),
    lambda g, xp: g.integers(5, size=(2,), dtype="uint8"),
    lambda g, xp: g.integers([2, 3], endpoint=True),
    lambda g, xp: g.choice(xp.arange(6.0).reshape(2, 3), 4, axis=1),
    lambda g, xp: g.multinomial([3, 4], [0.5, 0.5]),
    lambda g, xp: g.multinomial(3, [[0.5, 0.5]] * 3, (2, 3)),
    lambda g, xp: g.multivariate_hypergeometric([3, 4, 5], 4, 2),
    lambda g, xp: g.multivariate_normal([1, 2], np.eye(2), (2, 3)),
    lambda g, xp: g.dirichlet([1, 2, 3], (2, 2)),
]


def outcome(body: Body, xp: ModuleType) -> Any:
    try:
        return body(xp.random.default_rng(0), xp)
    except Exception as error:
        return error


@needs_double
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments(number: int) -> None:
    expected, found = (outcome(WRONG[number], xp) for xp in (np, clarray))
    assert isinstance(expected, Exception)
    assert type(found) is type(expected), repr(found)
    assert str(found).replace("DeviceArray", "ndarray") == str(expected)


@needs_double
@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_shapes_and_dtypes(number: int) -> None:
    expected, found = (outcome(RIGHT[number], xp) for xp in (np, clarray))
    assert isinstance(found, clarray.DeviceArray), repr(found)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
