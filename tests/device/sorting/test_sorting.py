"""Sorting and searching against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import clarray
from clarray._engine.launch.host_tier import setting

from ..conftest import FEW_DTYPES

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
RNG = np.random.default_rng(7)


def draw(dtype: str, shape: Any) -> np.ndarray:
    kind = np.dtype(dtype).kind
    x = RNG.integers(0 if kind in "bu" else -20, 2 if kind == "b" else 20, shape).astype(dtype)
    if kind == "c":
        x = x + 1j * RNG.integers(0, 3, shape).astype(dtype)
    if kind in "fc" and x.size > 4:
        x.flat[::4] = np.nan
        x.flat[1::9] = -np.inf
        x.flat[2::9] = -0.0
    return x.astype(dtype)


@pytest.mark.parametrize("axis", [-1, 0, None])
def test_sort_and_argsort(same: Same, dtype: str, axis: Any) -> None:
    x = draw(dtype, (6, 11))
    same(lambda xp: xp.sort(xp.asarray(x), axis))
    same(lambda xp: xp.argsort(xp.asarray(x), axis, kind="stable"))
    if dtype in FEW_DTYPES:
        same(lambda xp: xp.sort(xp.asarray(x).T[::-1, ::2], axis))


def test_options(same: Same) -> None:
    x = draw("int32", (3, 4, 5))
    for axis in (0, 1, 2, -3):
        same(lambda xp, a=axis: xp.sort(xp.asarray(x), axis=a, stable=True))
        same(lambda xp, a=axis: xp.argsort(xp.asarray(x), axis=a, stable=True))
    for kind in ("quicksort", "mergesort", "heapsort", "stable"):
        same(lambda xp, k=kind: xp.sort(xp.asarray(x), kind=k))
    same(lambda xp: xp.sort(xp.asarray(x), kind="bubble"))
    same(lambda xp: xp.sort(xp.asarray(x), kind="stable", stable=True))
    same(lambda xp: xp.sort(xp.asarray(x), order="f0"))
    same(lambda xp: xp.sort(xp.asarray(x), axis=3))
    same(lambda xp: xp.sort(xp.asarray(3)))
    same(lambda xp: xp.sort(xp.asarray(3), None))
    same(lambda xp: xp.argsort(xp.asarray(3)))


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (3, 1)])
def test_little(same: Same, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    same(lambda xp: xp.sort(xp.asarray(x)))
    same(lambda xp: xp.argsort(xp.asarray(x)))
    same(lambda xp: xp.sort(xp.asarray(x), None))
    same(lambda xp: xp.lexsort((xp.asarray(x), xp.asarray(x))))


def test_in_place(same: Same) -> None:
    x = draw("float32", (4, 7))

    def method(xp: Any, change: Callable[[Any], Any]) -> Any:
        a = xp.array(x)
        assert change(a) is None
        return a

    same(lambda xp: method(xp, lambda a: a.sort()))
    same(lambda xp: method(xp, lambda a: a.sort(0)))
    same(lambda xp: method(xp, lambda a: a[::2].sort(axis=0)))
    same(lambda xp: method(xp, lambda a: a.T.sort(kind="stable")))
    same(lambda xp: xp.sort(method(xp, lambda a: a.partition(3))))
    same(lambda xp: xp.broadcast_to(xp.asarray(x[0]), (2, 7)).sort())


def test_in_place_of_what_is_pending_or_read() -> None:
    x = draw("int32", 50)
    a = clarray.array(x) + 1
    a.sort()
    np.testing.assert_array_equal(a.get(), np.sort(x + 1))
    b = clarray.array(x)
    later = b * 2
    b.sort()
    np.testing.assert_array_equal(later.get(), x * 2)
    np.testing.assert_array_equal(b.get(), np.sort(x))


def test_lexsort(same: Same) -> None:
    keys = RNG.integers(0, 3, (3, 40)).astype(np.int16)
    same(lambda xp: xp.lexsort(xp.asarray(keys)))
    same(lambda xp: xp.lexsort((xp.asarray(keys[0]), xp.asarray(keys[1] / 2), xp.asarray(keys[2] > 1))))
    cube = RNG.integers(0, 3, (2, 5, 6)).astype(np.float32)
    for axis in (-1, 0):
        same(lambda xp, a=axis: xp.lexsort(xp.asarray(cube), axis=a))
    same(lambda xp: xp.lexsort(()))
    same(lambda xp: xp.lexsort((xp.asarray(keys[0]), xp.asarray(keys[0, :5]))))
    same(lambda xp: xp.lexsort(xp.asarray(cube), axis=2))


def test_partition(same: Same) -> None:
    x = draw("float32", (5, 9))
    for kth, axis in ((3, -1), ((1, -1), 0), (8, 1), (20, None)):
        found = clarray.partition(clarray.array(x), kth, axis).get()
        places = clarray.argpartition(clarray.array(x), kth, axis).get()
        wanted = np.sort(x, axis)
        np.testing.assert_array_equal(np.sort(found, axis), wanted)
        at = -1 if axis is None else axis
        np.testing.assert_array_equal(np.take(found, kth, at), np.take(wanted, kth, at))
        np.testing.assert_array_equal(np.take(np.take_along_axis(x, places, axis), kth, at), np.take(wanted, kth, at))
    for kth in (9, -10, 1.5):
        same(lambda xp, k=kth: xp.partition(xp.asarray(x), k))
    same(lambda xp: xp.partition(xp.asarray(x), [[1]]), message=False)
    same(lambda xp: xp.partition(xp.asarray(x), 1, kind="quick"))


SEARCHES = [
    ("int32", "int32"),
    ("int8", "int64"),
    ("uint64", "int64"),
    ("float32", "float32"),
    ("float16", "float32"),
    ("bool", "bool"),
    ("complex64", "complex64"),
    ("float32", "int16"),
]


@pytest.mark.parametrize("pair", SEARCHES, ids="-".join)
@pytest.mark.optimized
def test_searchsorted(same: Same, policy: str, pair: tuple[str, str]) -> None:
    needles = draw(pair[1], (5, 7))
    for size in (0, 1, 2, 5, 64, 100):
        line = np.sort(draw(pair[0], size))
        for side in ("left", "right"):
            same(lambda xp, a=line, s=side: xp.searchsorted(xp.asarray(a), xp.asarray(needles), s))
    line = draw(pair[0], 30)
    order = np.argsort(line, kind="stable")
    same(lambda xp: xp.asarray(line).searchsorted(xp.asarray(needles).T[::-1], "right", xp.asarray(order)))
    same(lambda xp: xp.searchsorted(xp.sort(xp.asarray(line))[::2], xp.asarray(needles)[:, ::3].conj()))


def test_searchsorted_of_scalars_and_errors(same: Same) -> None:
    x = np.arange(10, dtype=np.float32)
    same(lambda xp: xp.searchsorted(xp.asarray(x), 3))
    same(lambda xp: xp.searchsorted(xp.asarray(x), 3.5, side="right"))
    same(lambda xp: xp.searchsorted(xp.asarray(x), [[1, 20], [-4, 9]]))
    same(lambda xp: xp.searchsorted(xp.asarray(x), xp.asarray(x[:0])))
    same(lambda xp: xp.searchsorted(xp.asarray(x.reshape(2, 5)), 3))
    same(lambda xp: xp.searchsorted(xp.asarray(x), 3, side="middle"))
    for sorter in ([0, 1], [0.0] * 10, [10] * 10, [-1] * 10):
        same(lambda xp, s=sorter: xp.searchsorted(xp.asarray(x), 3, sorter=s), message=False)


@pytest.mark.kernels_alone
def test_searchsorted_in_what_is_not_sorted_stays_inside() -> None:
    x = RNG.permutation(1000).astype(np.float32)
    x[::7] = np.nan
    found = clarray.searchsorted(clarray.array(x), clarray.array(RNG.permutation(1000))).get()
    assert found.min() >= 0
    assert found.max() <= 1000


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "float32", "complex64"])
def test_sort_complex(same: Same, dtype: str) -> None:
    x = draw(dtype, (3, 5))
    same(lambda xp: xp.sort_complex(xp.asarray(x)))


@settings(max_examples=25)
@given(arrays(np.float32, st.integers(1, 40), elements=st.floats(width=32)), st.floats(width=32))
def test_any_search(x: np.ndarray, needle: float) -> None:
    line = np.sort(x)
    v = np.append(x, np.float32(needle))
    for side in ("left", "right"):
        ours = clarray.searchsorted(clarray.array(line), clarray.array(v), side).get()
        np.testing.assert_array_equal(ours, np.searchsorted(line, v, side))  # type: ignore[call-overload]


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float16", "complex64"])
@pytest.mark.parametrize("size", [17, 300])
def test_small_orders_are_stable(monkeypatch: pytest.MonkeyPatch, dtype: str, size: int) -> None:
    """Of equal elements NumPy's own sort gives any first where there are more than sixteen."""
    monkeypatch.setattr(setting, "on", True)
    host = (np.arange(size) % 3).astype(dtype)
    x = clarray.array(host)
    expected = np.argsort(host, kind="stable")
    for found in (clarray.argsort(x), x.argsort(), clarray.argsort(x, kind="quicksort"), x.argsort(stable=False)):
        np.testing.assert_array_equal(found.get(), expected)
    rows = np.stack([host, host[::-1]], axis=1)
    np.testing.assert_array_equal(
        clarray.argsort(clarray.array(rows), axis=0).get(), np.argsort(rows, axis=0, kind="stable")
    )
    with pytest.raises(ValueError, match="sort kind must be one of"):
        clarray.argsort(x, kind="best")
