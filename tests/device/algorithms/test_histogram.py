"""histogram, histogram_bin_edges, histogram2d, histogramdd, digitize: NumPy's bins, element for element."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.algorithms.histogram import launch
from clarray._engine.algorithms.histogram.plan import equal_bins
from clarray._engine.runtime import current_device

from ..conftest import assert_same, check_same, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")
Same = Callable[..., None]
RULES = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]
FP64 = current_device().capabilities.fp64

needs_fp64 = pytest.mark.skipif(not FP64, reason="the device has no float64")


def values(n: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(n) * 7919 % 1009 / 1009 * 2 - 0.5).astype(dtype)


def close(ours: Any, theirs: Any, rtol: float = 1e-12) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one.get(), other, rtol=rtol)


@pytest.mark.parametrize("bins", [1, 2, 10, 16, 17, 100])
@pytest.mark.parametrize("n", [1, 5, 48, 333])
def test_equal_bins(same: Same, policy: str, bins: int, n: int) -> None:
    same(lambda xp: xp.histogram(xp.asarray(values(n)), bins))
    same(lambda xp: xp.histogram(xp.asarray(values(n)), bins, (0, 1)))
    same(lambda xp: xp.histogram(xp.asarray(values(n)), bins=bins, range=(-7.5, 0.25)))


REAL = ["int8", "int32", "uint64", "float16", "float64"]


@needs_fp64
@pytest.mark.parametrize("name", REAL)
def test_dtypes(same: Same, name: str) -> None:
    x = (np.arange(700) * 31 % 101).astype(name)
    same(lambda xp: xp.histogram(xp.asarray(x), 7))
    same(lambda xp: xp.histogram(xp.asarray(x), 20, (10, 90)))
    same(lambda xp: xp.histogram(xp.asarray(x), np.array([0, 3, 50, 100])))
    same(lambda xp: xp.histogram(xp.asarray(x), [0.5, 3.25, 50, 200.5]))


@needs_fp64
def test_bool_is_converted() -> None:
    x = np.arange(20) % 3 == 0
    with pytest.warns(RuntimeWarning, match="Converting input"):
        ours = clarray.histogram(clarray.asarray(x), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(ours, np.histogram(x, 2))


@pytest.mark.optimized
def test_values_on_and_beside_edges(same: Same, policy: str) -> None:
    edges = np.linspace(0, 1, 101, dtype=np.float32)
    beside = np.concatenate([edges, np.nextafter(edges, np.float32(9)), np.nextafter(edges, np.float32(-9))])
    same(lambda xp: xp.histogram(xp.asarray(beside), 100, (0, 1)))
    same(lambda xp: xp.histogram(xp.asarray(beside), edges))
    same(lambda xp: xp.histogram(xp.asarray(beside), edges[::3]))


@needs_fp64
@pytest.mark.optimized
def test_rounding_of_numpy_decides(same: Same) -> None:
    x = values(2000, np.float16)
    for bins in (100, 300, 500, 700):  # in half precision positions are off by more than a bin
        same(lambda xp, n=bins: xp.histogram(xp.asarray(x), n))
    far = (1e6 + np.arange(4000) % 64 / 16).astype(np.float32)
    same(lambda xp: xp.histogram(xp.asarray(far), 20))
    same(lambda xp: xp.histogram(xp.asarray(far), 55, (1e6, 1000003.5)))


@pytest.mark.parametrize(
    "edges",
    [[0.0, 1.0], [0.0, 0.25, 0.25, 0.25, 1], [0.25, 0.25], [-1, 0.1, 0.2, 0.7, 0.75, 3], [0.5], [0, 1, 1]],
)
def test_given_edges(same: Same, policy: str, edges: list[float]) -> None:
    given_edges = np.array(edges, np.float32)
    x = np.concatenate([values(90), given_edges])
    same(lambda xp: xp.histogram(xp.asarray(x), xp.asarray(given_edges)))


def test_many_uneven_edges(same: Same, policy: str) -> None:
    for bins in (63, 64, 65, 150):
        edges = (np.linspace(0, 1, bins + 1) ** 2).astype(np.float32)
        same(lambda xp, e=edges: xp.histogram(xp.asarray(values(300)), xp.asarray(e)))
    edges = np.array([-100, -5, 0, 90, 120], np.int8)
    same(lambda xp: xp.histogram(xp.asarray((np.arange(300) * 37 % 256 - 128).astype(np.int8)), edges))


@needs_fp64
def test_edges_on_the_host_keep_their_dtype(same: Same) -> None:
    same(lambda xp: xp.histogram(xp.asarray(values(50)), [-1, 0, 2]))
    same(lambda xp: xp.histogram(xp.asarray(np.arange(50)), np.arange(0, 60, 5, dtype=np.uint8)))


HOSTILE = np.array([np.nan, np.inf, -np.inf, -0.0, 1e30, -1e30, 0.999, 1.0, 1.5, 3.4e38, 5e6, -5e6, 1e-45], np.float32)


def test_hostile_values(same: Same, policy: str) -> None:
    x = np.concatenate([HOSTILE, np.repeat(HOSTILE, 9)])
    same(lambda xp: xp.histogram(xp.asarray(x), 10, (0, 1)))
    same(lambda xp: xp.histogram(xp.asarray(x), 200, (-3, 2)))
    edges = np.array([0, 0.1, 0.7, 1, np.inf], np.float32)
    same(lambda xp: xp.histogram(xp.asarray(x), xp.asarray(edges)))
    edges = np.array([-np.inf, 0, 1, np.nan], np.float32)
    same(lambda xp: xp.histogram(xp.asarray(x), xp.asarray(edges)))


@needs_fp64
def test_hostile_doubles(same: Same, policy: str) -> None:
    x = np.concatenate([HOSTILE.astype(np.float64), [1e300, -1e300, 2.0**52, 2.0**53 + 2, 4.5e15, -4.5e15, 5e-324]])
    same(lambda xp: xp.histogram(xp.asarray(np.repeat(x, 3)), 10, (0, 1)))


def test_views_and_pending_expressions(same: Same, policy: str) -> None:
    # arrays of their own, not the host's memory: so operations on them stay pending
    x = values(240).reshape(12, 20)
    same(lambda xp: xp.histogram(xp.array(x).T, 10, (0, 1)))
    same(lambda xp: xp.histogram(xp.array(x)[::-2, 1::3], 10, (0, 1)))
    same(lambda xp: xp.histogram(xp.array(x) * 2 + 1, 10, (0, 1)))
    same(lambda xp: xp.histogram(xp.array(x)[3, 4], 10, (0, 1)))
    same(lambda xp: xp.histogram(xp.array(x[:0]), 4))
    same(lambda xp: xp.histogram(xp.broadcast_to(xp.array(x)[0], (7, 20)), 10, (0, 1)))


# Weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["int64", "float32"])
def test_weights_in_every_table(same: Same, policy: str, name: str) -> None:
    x, w = values(200), (np.arange(200) % 5).astype(name)
    same(lambda xp: xp.histogram(xp.asarray(x), 9, (0, 1), weights=xp.asarray(w)))


@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float16", "float32"])
def test_weights(same: Same, name: str) -> None:
    x, w = values(200), (np.arange(200) % 5).astype(name)
    same(lambda xp: xp.histogram(xp.asarray(x), 9, (0, 1), weights=xp.asarray(w)))
    if name not in ("bool", "float16"):  # NumPy sums these in their own dtype, or not at all
        edges = np.array([0, 0.1, 0.7, 1], np.float32)
        same(lambda xp: xp.histogram(xp.asarray(x), xp.asarray(edges), weights=xp.asarray(w)))


@needs_fp64
@pytest.mark.parametrize("name", ["float64", "complex64", "complex128"])
@pytest.mark.optimized
def test_weights_that_round(policy: str, name: str) -> None:
    x, w = values(300), np.sin(np.arange(300)).astype(name)
    if name != "float64":
        w = w + np.cos(np.arange(300)).astype(name) * w.dtype.type(1j)
    ours = [clarray.histogram(clarray.asarray(x), 9, (0, 1), weights=clarray.asarray(w)) for _ in range(3)]
    close(ours[0], np.histogram(x, 9, (0, 1), weights=w), 1e-12 if name != "complex64" else 1e-5)
    assert all(again[0].get().tobytes() == ours[0][0].get().tobytes() for again in ours)


def test_weights_lie_differently(same: Same, policy: str) -> None:
    x, w = values(120).reshape(10, 12), (np.arange(120) % 7).astype(np.float32).reshape(12, 10)
    same(lambda xp: xp.histogram(xp.array(x), 9, (0, 1), weights=xp.array(w).T * 2))


@needs_fp64
def test_density(same: Same) -> None:
    x = values(500)
    same(lambda xp: xp.histogram(xp.asarray(x), 9, (0, 1), density=True))
    same(lambda xp: xp.histogram(xp.asarray(x), [0, 0.5, 0.75, 1.5], density=True))


# Bins ---------------------------------------------------------------------------------------------


@needs_fp64
@pytest.mark.parametrize("rule", RULES)
def test_rules(same: Same, rule: str) -> None:
    x = np.random.default_rng(3).normal(size=400)
    for data in (x, (x * 10).astype(np.int32), np.zeros(5), np.zeros(0), x[:2]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(lambda xp, d=data: xp.histogram_bin_edges(xp.asarray(d), rule))
    same(lambda xp: xp.histogram(xp.asarray(x), rule, (-1, 1.5)))


@needs_fp64
def test_edges_alone(same: Same) -> None:
    same(lambda xp: xp.histogram_bin_edges(xp.asarray(values(30)), 4))
    same(lambda xp: xp.histogram_bin_edges(xp.asarray(np.full(5, 3)), 4))
    same(lambda xp: xp.histogram_bin_edges(xp.asarray(values(30)), [1, 2, 5]))


def test_kept_edges_are_not_shared() -> None:
    x = clarray.asarray(values(30))
    first = clarray.histogram(x, 4, (0, 1))[1]
    first[...] = 7
    assert_same(clarray.histogram(x, 4, (0, 1))[1], np.histogram(values(30), 4, (0, 1))[1])


def test_kept_edges_differ_by_dtype(same: Same) -> None:
    x = values(300)
    low, high = np.float32(-0.3), np.float32(0.7)  # in float32 the edges between are others
    same(lambda xp: xp.histogram(xp.asarray(x), 7, (low, high)))
    same(lambda xp: xp.histogram(xp.asarray(x), 7, (float(low), float(high))))


def test_equal_bins_of_edges() -> None:
    assert equal_bins(np.linspace(0, 1, 11)) is not None
    assert equal_bins(np.array([0, 1, 3.0])) is None
    assert equal_bins(np.array([0, np.nan, 3.0])) is None
    assert equal_bins(np.array([0.0, 0.0])) is None
    assert equal_bins(np.array([-1.7e308, 1.7e308])) is None
    assert equal_bins(np.array([0, 1e-320])) is None


BAD: list[Callable[[Any], Any]] = [
    lambda xp: xp.histogram(xp.asarray(values(9)), 0),
    lambda xp: xp.histogram(xp.asarray(values(9)), 1.5),
    lambda xp: xp.histogram(xp.asarray(values(9)), "best"),
    lambda xp: xp.histogram(xp.asarray(values(9)), [0, 2, 1]),
    lambda xp: xp.histogram(xp.asarray(values(9)), np.zeros((2, 2))),
    lambda xp: xp.histogram(xp.asarray(values(9)), 4, (2, 1)),
    lambda xp: xp.histogram(xp.asarray(values(9)), 4, (0, np.inf)),
    lambda xp: xp.histogram(xp.asarray(HOSTILE), 4),
    lambda xp: xp.histogram(xp.asarray(values(9)), 4, weights=np.zeros(8, np.float32)),
    lambda xp: xp.histogram(xp.asarray(values(9)), "auto", weights=np.zeros(9, np.float32)),
    lambda xp: xp.histogram(xp.asarray(np.array([1, 1 + 1e-7], np.float32)), 100),
    lambda xp: xp.histogram2d(xp.asarray(values(9)), xp.asarray(values(8))),
    lambda xp: xp.histogramdd(xp.asarray(values(9).reshape(3, 3)), (2, 2)),
    lambda xp: xp.histogramdd(xp.asarray(values(9).reshape(3, 3)), (2, 2, 0)),
    lambda xp: xp.histogramdd(xp.asarray(values(9).reshape(3, 3)), (2, 2, [2, 1])),
    lambda xp: xp.histogramdd(xp.asarray(values(9).reshape(3, 3)), 2, range=[(0, 1)]),
    lambda xp: xp.digitize(xp.asarray(values(9)), [0, 2, 1]),
    lambda xp: xp.digitize(xp.asarray(np.array([1j])), [0, 2]),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_errors(same: Same, number: int) -> None:
    if number == len(BAD) - 1 and not FP64:
        pytest.skip("the device has no complex128")
    same(BAD[number])


# More axes ----------------------------------------------------------------------------------------


@needs_fp64
def test_planes_and_boxes(same: Same, policy: str) -> None:
    points = np.stack([values(200, np.float64), values(200, np.float64)[::-1], np.arange(200.0) % 13], 1)
    x, y = points[:, 0], points[:, 1]
    same(lambda xp: xp.histogram2d(xp.asarray(x), xp.asarray(y), (3, 5), [[0, 1], [-0.5, 0.5]]))
    same(lambda xp: xp.histogram2d(xp.asarray(x), xp.asarray(y), [np.array([0, 0.5, 0.6, 1.2]), 4]))
    same(lambda xp: xp.histogramdd(xp.asarray(points), (2, 3, 4)))


@needs_fp64
def test_forms_of_bins(same: Same) -> None:
    x, y = values(200, np.float64), values(200, np.float64)[::-1]
    same(lambda xp: xp.histogram2d(xp.asarray(x), xp.asarray(y)))
    same(lambda xp: xp.histogram2d(xp.asarray(x), xp.asarray(y), [0, 0.5, 0.6, 1.2]))
    same(lambda xp: xp.histogram2d(xp.asarray(x), xp.asarray(y), 4, weights=np.arange(200.0) % 9))
    same(lambda xp: xp.histogramdd(xp.asarray(np.stack([x, y], 1)), (2, 3), density=True))
    same(lambda xp: xp.histogramdd((xp.asarray(x), xp.asarray(y)), 3, range=[None, (0, 1)]))


@needs_fp64
def test_points_of_other_dtypes(same: Same) -> None:
    x = np.arange(90) % 7
    same(lambda xp: xp.histogramdd(xp.asarray(np.stack([x, x[::-1]], 1)), 3))
    same(lambda xp: xp.histogram2d(xp.asarray(x), xp.asarray(values(90)), 3))
    same(lambda xp: xp.histogram2d(xp.asarray(HOSTILE), xp.asarray(HOSTILE), 3, [[0, 2], [-3, 4]]))
    same(lambda xp: xp.histogramdd(xp.asarray(values(60).reshape(60, 1)), 5))
    same(lambda xp: xp.histogram2d(xp.asarray(values(0)), xp.asarray(values(0)), 3, [[0, 2], [-3, 4]]))


@pytest.mark.parametrize("right", [False, True])
def test_digitize(same: Same, right: bool) -> None:
    x = np.concatenate([values(60), HOSTILE]).reshape(1, -1)
    for edges in ([0.0, 0.1, 0.5], [0.5, 0.1, 0.1, 0.0], [0.3], [], [0.2, 0.2]):
        bins = np.array(edges, np.float32)
        same(lambda xp, b=bins: xp.digitize(xp.asarray(x), xp.asarray(b), right))


# Any -----------------------------------------------------------------------------------------------


FLOATS = st.floats(-4, 4, width=32) | st.sampled_from([np.nan, np.inf, 0.0, 1.0, 0.1, 0.7, -0.0])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(FLOATS, max_size=120),
    st.integers(1, 150),
    st.floats(-3, 0.5, width=32),
    st.floats(1, 3, width=32),
    st.sampled_from(["own", "tiny-cpu", "tiny-gpu"]),
)
def test_any_values(x: list[float], bins: int, low: float, high: float, name: str) -> None:
    data = np.array(x, np.float32)
    with policy_in_force(name):
        check_same(lambda xp: xp.histogram(xp.asarray(data), bins, (np.float32(low), np.float32(high))))
        edges = np.sort(np.array([low, 0.51, 0.52, high], np.float32))
        check_same(lambda xp: xp.histogram(xp.asarray(data), xp.asarray(edges)))


@pytest.mark.optimized
def test_threads() -> None:
    x = values(4000)
    expected = [np.histogram(x, 10 + k, (0, 1))[0] for k in range(2)]
    wrong: list[int] = []

    def count(k: int) -> None:
        device = clarray.asarray(x)
        for _ in range(20):
            if not np.array_equal(clarray.histogram(device, 10 + k, (0, 1))[0].get(), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=count, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_tables_of_neighbouring_groups_share_no_line_of_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that take groups by turns would wait for each other at every element."""
    held, of_a_launch = [], launch._allocate_tables

    def noted(*given: Any) -> Any:
        held.append(of_a_launch(*given))
        return held[-1]

    monkeypatch.setattr(launch, "_allocate_tables", noted)
    x = clarray.arange(1 << 18, dtype=np.float32)
    with policy_in_force("cpu"):
        for bins in (3, 16, 31, 32, 256):
            for weights in (None, clarray.ones(1 << 18, np.float32)):
                assert int(clarray.histogram(x, bins, weights=weights)[0].sum()) == 1 << 18
    several = [each for each in held if each.rows > 1]
    assert several
    assert not any(each.memory.nbytes // each.rows % 128 for each in several)
