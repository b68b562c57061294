"""bincount: every integer dtype, weights, hostile values, every pass and table."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import check_same, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]

needs_fp64 = pytest.mark.skipif(not current_device().capabilities.fp64, reason="the device has no float64")


def numbers(n: int, below: int, dtype: Any = np.int64) -> np.ndarray:
    return (np.arange(n) * 7919 % 10007 % below).astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes(same: Same, dtype: str) -> None:
    below = 2 if dtype == "bool" else 100
    same(lambda xp: xp.bincount(xp.asarray(numbers(1000, below, dtype))))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 47, 48, 49, 96, 97, 500])
@pytest.mark.parametrize("below", [3, 16, 17, 40, 70])
@pytest.mark.optimized
def test_every_pass(same: Same, policy: str, n: int, below: int) -> None:
    # tiny policies: tables of 16 bins, at most three passes, launches of 48 elements
    same(lambda xp: xp.bincount(xp.asarray(numbers(n, below, np.int32))))


@needs_fp64
@pytest.mark.parametrize("n", [1, 9, 100, 333])
@pytest.mark.parametrize("below", [1, 3, 16, 30, 60])
def test_weights_in_every_pass(same: Same, policy: str, n: int, below: int) -> None:
    weights = (np.arange(n) % 17).astype(np.float64)  # sums are exact in any order
    same(lambda xp: xp.bincount(xp.asarray(numbers(n, below, np.int32)), xp.asarray(weights)))


@needs_fp64
def test_weights_of_other_dtypes(same: Same) -> None:
    x = numbers(50, 9)
    for dtype in ("float32", "int16", "bool", "float16", "uint64"):
        weights = (np.arange(50) % 5).astype(dtype)
        same(lambda xp, w=weights: xp.bincount(xp.asarray(x), weights=xp.asarray(w)))
    same(lambda xp: xp.bincount(xp.asarray(x), weights=list(range(50))))


@needs_fp64
@pytest.mark.optimized
def test_sums_are_accurate_and_the_same_each_time(policy: str) -> None:
    random = np.random.default_rng(1)
    x, w = random.integers(0, 7, 3000), random.normal(size=3000) * 10.0 ** random.integers(-8, 8, 3000)
    exact = np.array([np.sum(w[x == k].astype(np.longdouble)) for k in range(7)], np.float64)
    size = np.array([np.abs(w[x == k]).sum() for k in range(7)])
    ours = [clarray.bincount(clarray.asarray(x), clarray.asarray(w)).get() for _ in range(4)]
    assert np.all(np.abs(ours[0] - exact) <= 1e-14 * size)
    for again in ours[1:]:
        assert again.tobytes() == ours[0].tobytes()


@needs_fp64
def test_weights_that_are_not_finite(same: Same, policy: str) -> None:
    weights = np.array([np.inf, 1, np.nan, 2, -np.inf, 3, 4])
    same(lambda xp: xp.bincount(xp.asarray(np.array([0, 1, 2, 3, 4, 5, 5])), xp.asarray(weights)))


@pytest.mark.parametrize("minlength", [0, 1, 5, 20, 5000, 70000])
def test_minlength(same: Same, policy: str, minlength: int) -> None:
    same(lambda xp: xp.bincount(xp.asarray(numbers(30, 12)), minlength=minlength))
    same(lambda xp: xp.bincount(xp.asarray(numbers(0, 12)), minlength=minlength))


def test_large_values(same: Same, policy: str) -> None:
    same(lambda xp: xp.bincount(xp.asarray(np.array([5, 100_000, 70_000, 5], np.uint32))))


def test_strides_and_pending_operands(same: Same, policy: str) -> None:
    x = numbers(120, 30, np.int32)
    same(lambda xp: xp.bincount(xp.array(x)[::-1]))
    same(lambda xp: xp.bincount(xp.array(x)[3::4]))
    same(lambda xp: xp.bincount(xp.broadcast_to(xp.array(x)[5:6], (33,))))
    same(lambda xp: xp.bincount(abs(xp.array(x) - 15) + 2))
    same(lambda xp: xp.bincount(xp.arange(40) // 4))
    same(lambda xp: xp.bincount((xp.array(x) * 50_000) % 100_000))  # a second pass over it
    same(lambda xp: xp.bincount(xp.array(x).reshape(10, 12)[:, 3]))


@needs_fp64
def test_weights_lie_differently(same: Same, policy: str) -> None:
    x, w = numbers(60, 11), np.arange(120.0)
    same(lambda xp: xp.bincount(xp.array(x)[::-1], xp.array(w)[::2] * 2))
    same(lambda xp: xp.bincount(xp.array(x), xp.broadcast_to(xp.array(w)[3:4], (60,))))


BAD: list[Callable[[Any], Any]] = [
    lambda xp: xp.bincount(xp.asarray(np.array([3, -1, 2]))),
    lambda xp: xp.bincount(xp.asarray(np.array([-1], np.int8))),
    lambda xp: xp.bincount(xp.asarray(np.array([0, np.iinfo(np.int64).min]))),
    lambda xp: xp.bincount(xp.asarray(np.array([1.0], np.float32))),
    lambda xp: xp.bincount(xp.asarray(np.array([[1]]))),
    lambda xp: xp.bincount(xp.asarray(np.array(3))),
    lambda xp: xp.bincount(xp.asarray(np.array([1])), minlength=-1),
    lambda xp: xp.bincount(xp.asarray(np.array([1])), minlength=1.5),
    lambda xp: xp.bincount(xp.asarray(np.array([1])), minlength=None),
    lambda xp: xp.bincount(xp.asarray(np.array([1])), np.array([1.0, 2.0])),
    lambda xp: xp.bincount(xp.asarray(np.array([1])), np.array([1j])),
    lambda xp: xp.bincount(xp.asarray(np.array([1])), np.array([[1.0]])),
]


@needs_fp64
@pytest.mark.parametrize("number", range(len(BAD)))
def test_errors(same: Same, number: int) -> None:
    same(BAD[number], message=number != 7)


def test_negatives_are_found_by_every_table(policy: str) -> None:
    for dtype in ("int8", "int32", "int64"):
        x = numbers(200, 10, dtype)
        x[111] = -5
        with pytest.raises(ValueError, match="no negative elements"):
            clarray.bincount(clarray.asarray(x))
    assert int(clarray.bincount(clarray.asarray(numbers(200, 10))).sum()) == 200  # nothing is left over


@pytest.mark.parametrize("value", [2**32 - 1, 2**40, 2**62, 2**63 - 2])
def test_values_too_large_raise_memory_error(value: int) -> None:
    with pytest.raises(MemoryError):
        clarray.bincount(clarray.asarray(np.array([1, value, 3])))


def test_lists() -> None:
    check_same(lambda xp: xp.bincount([1, 2, 2, 5]))
    assert clarray.bincount([]).shape == (0,)


@pytest.mark.filterwarnings("ignore:Non-integer input:DeprecationWarning")
def test_lists_of_floats_are_refused_as_numpy_does() -> None:
    """From NumPy 2.5 on; 2.4 converts them."""
    check_same(lambda xp: xp.bincount([1.0, 2.0, 2.0]))


@pytest.mark.parametrize("n", [1, 47, 48, 49, 96, 500])
def test_last_group_makes_the_result(same: Same, n: int) -> None:
    with policy_in_force("tiny-fenced"):
        for below in (3, 16, 17):
            same(lambda xp, b=below: xp.bincount(xp.asarray(numbers(n, b, np.int32))))
        same(lambda xp: xp.histogram(xp.asarray(numbers(n, 9, np.float32)), 5, (0, 8)))


def test_launches_and_passes_are_several() -> None:
    with policy_in_force("tiny-gpu"):
        cache = kernel_cache_of(current_device())
        cache.policies = replace(cache.policies, histogram=replace(cache.policies.histogram, passes=9))
        check_same(lambda xp: xp.bincount(xp.asarray(numbers(300, 120))))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 300), max_size=200), st.integers(0, 40), st.sampled_from(["tiny-cpu", "tiny-fenced"]))
def test_any_values(values: list[int], minlength: int, name: str) -> None:
    with policy_in_force(name):
        check_same(lambda xp: xp.bincount(xp.asarray(np.array(values, np.int64)), minlength=minlength))


@pytest.mark.optimized
def test_threads() -> None:
    x = [numbers(5000 + 100 * k, 900 + k) for k in range(2)]
    wrong: list[int] = []

    def count(k: int) -> None:
        expected = np.bincount(x[k])
        device = clarray.asarray(x[k])
        for _ in range(20):
            if not np.array_equal(clarray.bincount(device).get(), expected):
                wrong.append(k)

    threads = [threading.Thread(target=count, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# What is known of the values ---------------------------------------------------------------------


def transfers(call: Callable[[], clarray.DeviceArray]) -> tuple[int, np.ndarray]:
    with clarray.profile() as p:
        found = call()
        found.device.synchronize()
    return p.transfers, np.asarray(found)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_has_been_seen_of_values_is_not_waited_for_again(weighted: bool) -> None:
    host = np.random.default_rng(1).integers(0, 300, 5000)
    x = clarray.array(host)
    weights = np.arange(5000.0) if weighted else None
    w = None if weights is None else clarray.array(weights)
    assert clarray.bincount(x, w, 400).shape == (400,)
    count, found = transfers(lambda: clarray.bincount(x, w, 400))
    assert count == 0
    np.testing.assert_array_equal(found, np.bincount(host, weights, 400))
    # a length that the values decide is looked at, and so is a view that nobody has looked at
    np.testing.assert_array_equal(np.asarray(clarray.bincount(x, w, 7)), np.bincount(host, weights, 7))
    half = None if w is None or weights is None else (w[::2], weights[::2])
    found = clarray.bincount(x[::2], half and half[0], 2)
    np.testing.assert_array_equal(np.asarray(found), np.bincount(host[::2], half and half[1], 2))


@pytest.mark.parametrize("write", ["number", "slice", "in place", "scatter", "fill"])
def test_what_is_written_is_looked_at(write: str) -> None:
    host = np.random.default_rng(2).integers(0, 300, 5000)
    x = clarray.array(host)
    clarray.bincount(x, minlength=400)
    writes: dict[str, Callable[[Any], Any]] = {
        "number": lambda a: operator.setitem(a, 7, 900),
        "slice": lambda a: operator.setitem(a, slice(3, 5), 900),
        "in place": lambda a: operator.iadd(a, 500),
        "scatter": lambda a: operator.setitem(a, [1, 2], 900),
        "fill": lambda a: a.fill(900),
    }
    writes[write](x)
    writes[write](host)
    np.testing.assert_array_equal(np.asarray(clarray.bincount(x, minlength=400)), np.bincount(host, minlength=400))
    x[4] = -1
    with pytest.raises(ValueError, match="negative"):
        clarray.bincount(x, minlength=400)


@pytest.mark.kernels_alone
def test_what_a_dtype_or_an_operation_bounds_is_not_waited_for() -> None:
    host = np.random.default_rng(3).integers(0, 256, 5000, np.uint8)
    x = clarray.array(host)
    x.device.synchronize()
    count, found = transfers(lambda: clarray.bincount(x, minlength=256))
    assert count == 0
    np.testing.assert_array_equal(found, np.bincount(host, minlength=256))
    wide = clarray.array(host.astype(np.int64) - 128)
    count, found = transfers(lambda: clarray.bincount(wide % 16, minlength=16))
    assert count == 0
    np.testing.assert_array_equal(found, np.bincount((host.astype(np.int64) - 128) % 16, minlength=16))
