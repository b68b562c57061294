"""Many statements as one pass: the same bits as one by one, few launches, and no more memory than is needed."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import evaluate
from clarray._engine.expr import region
from clarray._engine.launch.host_tier import kernels_only
from clarray._engine.speedups import native

from .region_programs import Program, have_same_bits, random_program, run, without_products

by_core = pytest.mark.skipif(native is None, reason="only the core has programs")
PROGRAMS = int(os.environ.get("CLARRAY_REGION_PROGRAMS", "12"))
FIRST = int(os.environ.get("CLARRAY_REGION_SEED", "0"))


@pytest.fixture(autouse=True)
def by_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let NumPy compute nothing until a kernel is there, except in half of the random programs."""
    seed = getattr(request.node, "callspec", None) and request.node.callspec.params.get("seed")
    with nullcontext() if seed is not None and seed % 2 == 0 else kernels_only():
        yield


@contextmanager
def by_statements() -> Iterator[None]:
    """Evaluate each statement by itself."""
    clarray.config.evaluation = "statements"
    try:
        yield
    finally:
        clarray.config.evaluation = "regions"


def launches(work: Callable[[], Any]) -> int:
    """Return the number of launches of the second run, when all kernels are there."""
    work()
    clarray.synchronize()
    with clarray.profile() as p:
        result = work()
        clarray.synchronize()
    del result
    return p.launches


def arrays(count: int, size: int = 1000) -> list[Any]:
    values = np.random.default_rng(0)
    return [clarray.array(values.uniform(0.5, 2, size)) for _ in range(count)]


def check_bits(program: Program, turns: int) -> None:
    """Compare what regions compute with what statements one by one compute."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with by_statements():
            expected = run(clarray, program, turns=turns)
        for _ in range(3):  # planned, captured, and run by the program
            found = run(clarray, program, turns=turns)
            assert len(found) == len(expected)
            assert [k for k, both in enumerate(zip(found, expected, strict=True)) if not have_same_bits(*both)] == []


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_the_bits_of_statements(seed: int) -> None:
    check_bits(random_program(seed, 20, 60 if seed % 4 else 300), 1)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_the_bits_of_loops_that_carry_up_to_ten_arrays(seed: int) -> None:
    check_bits(without_products(random_program(seed, 5, 25, most_inputs=10)), 8)


def two_results(x: Any, y: Any) -> tuple[Any, Any]:
    t = np.exp(x) * y
    return t + 1, t - x


def many_statements(x: Any, y: Any) -> Any:
    for _ in range(60):
        x, y = x * 0.5 + y * 0.25, y - x * 0.125
    return x


def carried(*state: Any) -> tuple[Any, ...]:
    for _ in range(12):
        state = tuple(a * 0.5 + b for a, b in zip(state, state[1:] + state[:1], strict=True))
    return state


COUNTS: dict[str, tuple[Callable[..., Any], int, int]] = {  # a function, its inputs, and its launches
    "two results": (two_results, 2, 1),
    "several statements": (many_statements, 2, 1),
    "ten carried arrays": (carried, 10, 1),
    "a value and its mean": (lambda x: (x - x.mean()) / x.std(), 1, 6),
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_number_of_launches(name: str) -> None:
    function, inputs, most = COUNTS[name]
    operands = arrays(inputs)

    def work() -> None:
        results = function(*operands)
        for each in results if isinstance(results, tuple) else (results,):
            np.asarray(each)

    assert launches(work) <= most


@pytest.mark.parametrize("name", COUNTS)
def test_the_results_of_functions(name: str) -> None:
    function, inputs, _ = COUNTS[name]
    operands = arrays(inputs)
    with by_statements():
        expected = function(*operands)
    for _ in range(3):
        found = function(*operands)
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        assert all(have_same_bits(np.asarray(a), np.asarray(b)) for a, b in pairs)


@by_core
def test_constants_are_arguments(planned: list[Any]) -> None:
    """A number that changes from turn to turn takes neither another kernel nor another plan."""
    x, y = arrays(2)

    def step(number: float) -> Any:
        t = x * number + y
        return np.asarray((t * t - x) / (t + number) + many_statements(t, x))

    for number in (0.25, 0.75, 1.25):
        step(number)
    planned.clear()
    found = [step(number) for number in (0.3, 0.6, 2.5)]
    assert planned == []
    with by_statements():
        expected = [step(number) for number in (0.3, 0.6, 2.5)]
    assert all(map(have_same_bits, found, expected))


def test_equal_constants_may_become_different() -> None:
    x, y = arrays(2)

    def step(a: float, b: float) -> Any:
        t = x * a + y * b
        return np.asarray(many_statements(t * a, t * b))

    for a, b in [(0.5, 0.5), (0.5, 0.5), (0.5, 0.5), (0.5, 0.75), (0.75, 0.5), (-0.0, 0.0), (0.0, -0.0)] * 2:
        found = step(a, b)
        with by_statements():
            assert have_same_bits(found, step(a, b))


def test_a_dropped_name_is_never_memory() -> None:
    (x,) = arrays(1, 1 << 18)
    nbytes = x.nbytes

    def function() -> Any:
        t = np.exp(x)
        u = t * x
        v = u - t
        return many_statements(v, u)

    np.asarray(function())
    clarray.synchronize()
    gc.collect()
    with clarray.profile() as p:
        result = function()
        np.asarray(result)
    assert p.allocated_bytes <= 2 * nbytes


def test_a_heavy_value_that_is_kept_is_computed_once() -> None:
    x, y = arrays(2)

    def work() -> None:
        t = np.exp(np.sin(x)) * y
        u = (t + x) * (t - x)
        np.asarray(u)
        np.asarray(t)

    assert launches(work) == 1


def test_a_heavy_value_that_is_written_from_is_computed_once() -> None:
    """What a name keeps is an output of the pass that writes, though nothing else reads it yet."""
    x, y = arrays(2)
    first, second = clarray.zeros((2, x.size)), clarray.zeros(x.size)

    def work() -> None:
        t = np.exp(x) * y
        first[1] += t * 2
        second[:] = t - y

    assert launches(work) == 2
    with clarray.profile() as p:
        work()
    moved = [record.nbytes // x.nbytes for record in p.records if record.kind == "launch"]
    assert moved == [5, 3]  # x, y, twice the part of `first`, and t; t, y and `second`


@by_core
def test_writes_are_planned_once(planned: list[Any]) -> None:
    """A write whose value shares work, and keeps some, runs by its program from the third turn on."""
    x, y = arrays(2)
    target = clarray.zeros((4, x.size))
    for _ in range(6):
        t = x * y
        target[1:3] = np.exp(t) * t + (t - x).sum()
    assert len(planned) <= 4  # in each of two turns the sum and the write
    expected = np.exp(np.asarray(x) * np.asarray(y))
    assert np.allclose(np.asarray(target)[1], expected * np.asarray(t) + np.asarray((t - x).sum()))
    assert not np.asarray(target)[::3].any()


@by_core
def test_what_a_loop_only_adds_up_has_small_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that each turn changes by new memory, and nothing reads, is computed before its plan takes long."""
    sizes: list[int] = []
    plan = evaluate.plan_passes

    def note(roots: Any, *args: Any, **options: Any) -> Any:
        sizes.append(len(region.pending_below(*roots)))
        return plan(roots, *args, **options)

    monkeypatch.setattr(evaluate, "plan_passes", note)
    x, y = arrays(2)
    state, total = x, y
    for _ in range(400):
        state = state * 0.5 + y
        state.evaluate()
        total = total + (state - x) * 0.1
    assert np.asarray(total).shape == x.shape
    assert max(sizes) < 500
    assert len(sizes) <= 6  # of the two values, until they are captured


def test_large_regions_are_cut() -> None:
    x, y = arrays(2)

    def work() -> Any:
        a, b = x, y
        for _ in range(region.MOST_WEIGHT // 3):
            a, b = a * 0.5 + b, b - a * 0.25
        return np.asarray(a)

    assert 1 < launches(work) <= 3
    with by_statements():
        expected = work()
    assert have_same_bits(work(), expected)


def test_many_operands_are_cut() -> None:
    operands = arrays(2 * region.MOST_OPERANDS)

    def work() -> Any:
        total = operands[0]
        for each in operands[1:]:
            total = total * 0.5 + each
        return np.asarray(total)

    assert launches(work) <= 4
    expected = np.asarray(operands[0])
    for each in operands[1:]:
        expected = expected * 0.5 + np.asarray(each)
    assert have_same_bits(work(), expected)


@pytest.mark.parametrize("turns", [1, 4, region.MOST_WEIGHT // 3])
def test_a_region_allocates_what_its_passes_store(turns: int) -> None:
    """Peak use is at most the inputs, the results, and what the cuts store, as `explain` names it."""
    x, y = arrays(2, 1 << 16)

    def results() -> tuple[Any, Any]:
        a, b = x, y
        for _ in range(turns):
            a, b = a * 0.5 + b, b - a * 0.25
        scale = np.exp(a) - a.mean()
        return scale * b, scale / (b + a.max())

    first, second = results()
    lines = str(first.explain()).split("\npolicies")[0].splitlines()
    stored = sum(f"float64 {x.size}: " in line for line in lines)
    assert 2 <= stored <= 2 + 4 * (turns > 4) + 3
    with clarray.profile() as p:
        first.evaluate(), second.evaluate()
    assert p.allocated_bytes <= stored * x.nbytes + 65_536  # the states of reductions


@by_core
def test_many_layouts_are_not_planned_for_ever(planned: list[Any]) -> None:
    (x,) = arrays(1)
    for size in range(100, 160):
        part = x[:size]
        t = part * 2
        u, v = t + 1, t - 1
        np.asarray(u), np.asarray(v)
    assert len(planned) < 60


def test_writes_come_in_their_order() -> None:
    x, y = arrays(2)
    before = np.asarray(x).copy()
    t = x * 2 + y
    u = t * t
    x[:] = 0
    v = t + x
    assert have_same_bits(np.asarray(u), (before * 2 + np.asarray(y)) ** 2)
    assert have_same_bits(np.asarray(v), before * 2 + np.asarray(y))


def test_the_setting() -> None:
    (x,) = arrays(1)
    assert clarray.config.evaluation == "regions"
    with pytest.raises(ValueError, match="evaluation must be one of"):
        clarray.config.evaluation = "lines"
    with by_statements():
        t = x * 2 + 1
        assert t._node.memory is not None
        assert np.sqrt(t)._node.memory is not None
    assert (x * 2)._node.memory is None


@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (4, 6), (1, 1), (3, 0)])
@pytest.mark.parametrize("tier", [nullcontext, kernels_only])
def test_reductions_of_reductions(shape: tuple[int, ...], tier: Callable[[], Any]) -> None:
    """What reads the result of a reduction's pass has a pass after it, though both have one element."""

    def statistics(xp: Any, x: Any) -> list[Any]:
        a = x.std(axis=-1, keepdims=True)
        b = a.mean(axis=None, keepdims=True)
        c = np.logical_and(b, np.logical_and(a, b))
        return [a, b, b.astype("f2"), c, np.tanh(a), c.std(axis=-1, keepdims=True), c.sum(axis=-1, keepdims=True) - b]

    x = np.random.default_rng(0).random(shape)
    with warnings.catch_warnings(), np.errstate(all="ignore"), tier():
        warnings.simplefilter("ignore")
        for _ in range(3):
            for one, other in zip(statistics(clarray, clarray.array(x)), statistics(np, x), strict=True):
                np.testing.assert_allclose(clarray.asnumpy(one), other, rtol=1e-12)


@by_core
def test_loops_over_shrinking_arrays_are_not_planned_for_each_length(planned: list[Any]) -> None:

    def price(xp: Any, v: Any) -> Any:
        for _ in range(100):
            later = v[1:]
            v = xp.maximum(0.5 * later + 0.4 * v[:-1], later * later - 0.1)
        return v

    x = np.random.default_rng(0).random(150)
    for _ in range(10):
        assert np.allclose(clarray.asnumpy(price(clarray, clarray.array(x))), price(np, x))
    assert len(planned) <= 20, planned


@by_core
def test_a_loop_is_planned_once_though_its_last_values_stay_pending(planned: list[Any]) -> None:
    """What one turn stores for values that the next turn reads is memory then, and is not computed again and again."""
    contact, s, i = (np.random.default_rng(k).random(shape) for k, shape in enumerate([(20, 20), 20, 20]))

    def spread(xp: Any, contact: Any, s: Any, i: Any) -> Any:
        r, total = i * 0, xp.zeros(30)
        for t in range(30):
            caught = [s * (contact @ i)]
            for step in (0.25, 0.25, 0.5):
                caught.append((s - step * caught[-1]) * (contact @ (i + step * (caught[-1] - 0.1 * i))) / 400)
            s = s - sum(caught) / 12
            r = r + 0.1 * i
            i = i + (sum(caught) - 0.4 * i) / 12
            total[t] = i.sum()
        return s, i, r, total

    counts = []
    for _ in range(6):
        planned.clear()
        found = spread(clarray, *map(clarray.array, (contact, s, i)))
        for one, other in zip(found, spread(np, contact, s, i), strict=True):
            np.testing.assert_allclose(clarray.asnumpy(one), other, rtol=1e-10)
        counts.append(len(planned))
    assert counts[-1] == 0, counts
