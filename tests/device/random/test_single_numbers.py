"""Draws without a size: NumPy's types, and the values that a draw of the size () has at the same counter."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device, profiling
from clarray.random import single_numbers

if not current_device().capabilities.fp64:
    pytest.skip("most distributions need float64", allow_module_level=True)

DISTRIBUTIONS = """
beta(1, 2)|binomial(5, .5)|chisquare(2)|dirichlet([1, 2])|exponential()|exponential(2.)|f(2, 3)|gamma(2.)|geometric(.5)
gumbel()|hypergeometric(5, 5, 3)|laplace()|logistic()|lognormal()|logseries(.5)|multinomial(5, [.5, .5])
multivariate_normal([0, 0], [[1, 0], [0, 1]])|negative_binomial(5, .5)|noncentral_chisquare(2, 1)|noncentral_f(2, 3, 1)
normal()|normal(1, 2)|normal(loc=1., scale=0.)|normal(0, 1, None)|normal(0., 1., ())|normal([0., 1.])
normal(np.float64(0))|normal(np.array(0.))|normal(np.array([0.]))|pareto(2)|poisson()|poisson(3)|poisson(np.array(3))|power(2)|random()
random(())|random(1)|random(None)|rayleigh()|standard_cauchy()|standard_exponential()|standard_gamma(2)
standard_normal()|standard_t(3)|triangular(0, 1, 2)|uniform()|uniform(0, 1, ())|uniform(1., 2.)|uniform([0], [1])
uniform(np.array(0.), 1)|vonmises(0, 1)|wald(1, 1)|weibull(2)|zipf(2)|bytes(3)
permutation(5)|permutation([1, 2, 3])|permutation(range(4))|permutation(('a', 'b'))|permutation([[1, 2], [3, 4]])
choice(5)|choice(5, ())|choice(5, None)|choice(5, 2)|choice(np.int64(5))|choice(np.array(5))|choice([1.5, 2.5])
choice(range(5))|choice(range(5), 3)|choice((1, 2, 3), (2, 2))|choice(np.float32([1, 2]))|choice([True, False])
choice(['a', 'b'])|choice(['a', 'b'], 3)|choice([None, 1.5], 2)|choice(range(5), 3, False)
choice(range(5), replace=False)|choice(5, p=[.2] * 5)|choice([1, 2], p=[.5, .5])|choice([1, 2], ())
choice(['a', 'b'], 3, p=[.5, .5])|choice(range(0), 0)|choice({1: 2})|choice('abc')|choice(5.0)|choice([])
choice(0)|choice([], 0)
"""
OF_GENERATOR = """
integers(5)|integers(2**40)|integers(5, dtype=int)|integers(5, dtype='int32')|integers(0, 2, dtype=bool)
integers([5, 6])|integers(5, size=())|integers(0, 5, None, np.uint8, True)|integers(5, dtype=np.int64)
random(dtype='float32')|random(None, np.float32)|standard_normal(dtype=np.float32)|standard_gamma(2, dtype='float32')
standard_exponential(method='inv')|choice([[1, 2], [3, 4]])|choice([[1, 2], [3, 4]], axis=1)
choice([['a', 'b'], ['c', 'd']])
multivariate_hypergeometric([3, 4], 3)|permuted([1, 2, 3])
"""
OF_STATE = """
rand()|rand(2)|rand(1)|randn()|randn(2)|random_sample()|randint(5)|randint(2**40)|randint(5, dtype='int32')
randint(5, 6)|randint(0, 2, dtype=bool)|randint(5, dtype='uint8')|randint([5, 6])|randint(5, size=())
randint(np.int64(5))
tomaxint()|choice([[1, 2], [3, 4]])
"""


def calls(text: str) -> list[str]:
    return [call for call in re.split(r"[|\n]", text) if call]


def kind(owner: Any, call: str) -> Any:
    """Return the type, dtype and shape of what a call gives, or its error."""
    try:
        made = eval(f"owner.{call}", {"owner": owner, "np": np})
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    if isinstance(made, np.ndarray | clarray.DeviceArray):
        assert type(made) is np.ndarray or made.__class__ is clarray.DeviceArray, "a number waits"
        return "array", made.dtype, made.shape
    return type(made)


@pytest.mark.parametrize("call", calls(DISTRIBUTIONS + OF_GENERATOR))
def test_generators_give_numpys_types(call: str) -> None:
    assert kind(clarray.random.default_rng(1), call) == kind(np.random.default_rng(1), call)


@pytest.mark.parametrize("call", calls(DISTRIBUTIONS + OF_STATE))
def test_legacy_generators_give_numpys_types(call: str) -> None:
    assert kind(clarray.random.RandomState(1), call) == kind(np.random.RandomState(1), call)


@pytest.mark.parametrize("call", [*calls(DISTRIBUTIONS + OF_STATE), "ranf()", "sample()"])
def test_functions_give_numpys_types(call: str) -> None:
    if call != "tomaxint()":
        assert kind(clarray.random, call) == kind(np.random, call)


# Values -------------------------------------------------------------------------------------------

PARAMETERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("chisquare", "pareto", "power", "standard_gamma", "standard_t", "weibull", "zipf"), (2.0,)),
    **dict.fromkeys(("geometric", "logseries"), (0.5,)),
    **dict.fromkeys(("beta", "f", "gamma", "noncentral_chisquare", "vonmises", "wald"), (2.0, 1.5)),
    **dict.fromkeys(("binomial", "negative_binomial"), (5, 0.5)),
    "hypergeometric": (15, 15, 3),
    "noncentral_f": (2.0, 3.0, 1.0),
    "triangular": (0.0, 1.0, 2.0),
    "integers": (7,),
}
METHODS = sorted(
    name
    for name, method in inspect.getmembers(clarray.random.Generator, callable)
    # a boundary around `with_prefetched_scalars` around the method itself
    if hasattr(getattr(method, "__wrapped__", None), "__wrapped__") and "size" in inspect.signature(method).parameters
)


def one_by_one(rng: Any, name: str, count: int) -> list[Any]:
    return [getattr(rng, name)(*PARAMETERS.get(name, ()), size=()).item() for _ in range(count)]


def test_the_methods() -> None:
    assert len(METHODS) == 34
    assert {"normal", "poisson", "random", "integers", "gamma"} <= {*METHODS}


@pytest.mark.parametrize("name", METHODS)
def test_values_are_those_of_a_draw_of_no_axes(name: str) -> None:
    theirs, ours = (clarray.random.default_rng(5) for _ in range(2))
    expected = one_by_one(theirs, name, 40)
    assert [getattr(ours, name)(*PARAMETERS.get(name, ())) for _ in range(40)] == expected
    assert str(ours.bit_generator.state) == str(theirs.bit_generator.state)


def test_calls_may_alternate() -> None:
    """With each other, with draws of arrays and with jumps of the counter."""
    made: list[list[Any]] = []
    for size in ({"size": ()}, {}):
        rng = clarray.random.default_rng(8)
        numbers: list[Any] = []
        for turn in range(60):
            numbers += [float(rng.normal(0, 1, **size)), int(rng.integers(9, **size)), float(rng.random(**size))]
            numbers += [float(rng.normal(0.0, -0.0 + turn % 3, **size)), float(rng.standard_cauchy(**size))]
            if turn % 7 == 0:
                numbers += rng.random(3).tolist()
            if turn % 11 == 0:
                rng.bit_generator.advance(-9)
        made.append(numbers)
    assert made[0] == made[1]


def test_the_end_of_a_stream() -> None:
    made = []
    for size in ({"size": ()}, {}):
        rng = clarray.random.Generator(clarray.random.Philox4x32(3, counter=2**64 - 9))
        made.append([float(rng.standard_cauchy(**size)) for _ in range(40)])
    assert made[0] == made[1]


def test_seeds_and_states() -> None:
    state = clarray.random.RandomState(4)
    first = [state.rand() for _ in range(30)]
    kept = pickle.loads(pickle.dumps(state))
    assert state.rand() == kept.rand()
    state.seed(4)
    assert [state.rand() for _ in range(30)] == first
    state.set_state(clarray.random.RandomState(4).get_state())
    assert [state.randn() for _ in range(3)] != first[:3]


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (lambda rng: rng.normal(0, 0.0), lambda rng: rng.normal(0, -0.0)),
        (lambda rng: rng.normal(scale=0.0), lambda rng: rng.normal(scale=-0.0)),
        (lambda rng: rng.integers(5, dtype="int8"), lambda rng: rng.integers(500, dtype="int8")),
    ],
)
def test_errors_are_numpys_whatever_was_drawn_before(good: Callable[..., Any], bad: Callable[..., Any]) -> None:
    for library in (np, clarray):
        rng = library.random.default_rng(1)
        good(rng)
        with pytest.raises((TypeError, ValueError)):
            bad(rng)


def test_few_launches() -> None:
    rng = clarray.random.default_rng(2)
    rng.normal()
    with profiling.profile() as report:
        for _ in range(1000):
            rng.normal()
    assert 0 < report.launches <= 6


def test_few_argument_lists_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_numbers, "CAPACITY", 3)
    theirs, ours = (clarray.random.default_rng(5) for _ in range(2))
    assert [ours.normal(k % 5) for k in range(30)] == [theirs.normal(k % 5, size=()).item() for k in range(30)]
    assert len(ours._prefetched._batches) <= 3


def test_a_waiting_number_as_a_parameter() -> None:
    mean = clarray.arange(5.0).mean()
    assert clarray.random.default_rng(1).normal(mean, 1) == clarray.random.default_rng(1).normal(2.0, 1)
    assert SimpleNamespace(x=clarray.random.default_rng(1).normal(mean)).x.__class__ is float
