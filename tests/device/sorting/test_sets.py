"""Distinct values and set operations against NumPy, by table and by sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import clarray
from clarray._core.device_array import wrap
from clarray._engine.algorithms.unique.launch_bitmap import distinct_by_bitmap
from clarray._engine.algorithms.unique.launch_hash_table import distinct_by_hash_table
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device
from clarray._engine.tuning.rows import CPU
from clarray._numpy.sorting.uniques import range_table

from ..conftest import by_dtype, policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
RNG = np.random.default_rng(20261121)
FLAGS = [
    dict(zip(("return_index", "return_inverse", "return_counts"), f, strict=True))
    for f in product((False, True), repeat=3)
]


def draw(dtype: str, shape: Any, values: int = 9) -> np.ndarray:
    """A few different values many times; NaN among floats, both zeros too."""
    kind = np.dtype(dtype).kind
    x = RNG.integers(-(values // 2) if kind in "ifc" else 0, values // 2 + 1, shape)
    if kind in "iu" and np.dtype(dtype).itemsize >= 4:
        x = x * 10**8  # too far apart for a table
    x = x.astype(dtype)
    if kind == "c":
        x = x + 1j * RNG.integers(0, 3, shape).astype(dtype)
    if kind in "fc" and x.size > 5:
        x.flat[1::5] = np.nan
        x.flat[3] = -0.0
    return x.astype(dtype)


def digits(flags: Any) -> str | None:
    return "".join(str(int(x)) for x in flags.values()) if isinstance(flags, dict) else None


# What is returned beside the values has a dtype of its own.
@by_dtype("flags", [FLAGS[0], FLAGS[-1]], FLAGS[1:-1], ids=digits)
def test_unique_of_every_dtype(same: Same, dtype: str, flags: dict[str, bool]) -> None:
    x = draw(dtype, (5, 13))
    same(lambda xp: xp.unique(xp.asarray(x), **flags))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16"])
def test_each_nan_may_be_its_own(same: Same, dtype: str) -> None:
    x = draw(dtype, 41)
    for flags in FLAGS:
        # without an index NumPy's order of equal elements, and so of NaN, is anyone's
        if flags["return_index"] or not flags["return_inverse"]:
            same(lambda xp, f=flags: xp.unique(xp.asarray(x), **f, equal_nan=False))


def test_named_results(same: Same) -> None:
    x = np.nan_to_num(draw("float32", (4, 5)), nan=7)
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        same(lambda xp, n=name: getattr(xp, n)(xp.asarray(x)))
    ours, theirs = clarray.unique_values(clarray.asarray(x)).get(), np.unique_values(x)
    np.testing.assert_array_equal(ours, np.sort(theirs))
    assert clarray.unique_all(clarray.asarray(x)).counts.dtype == np.int64


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_unique_slices(same: Same, dtype: str, axis: int) -> None:
    x = (RNG.integers(0, 2, (6, 5, 2)) / 2).astype(dtype)
    for flags in FLAGS:
        same(lambda xp, f=flags: xp.unique(xp.asarray(x), **f, axis=axis))


def test_unique_slices_with_nan(same: Same) -> None:
    x = np.array([[1, np.nan], [1, np.nan], [0, 2], [0, 2], [-0.0, 2]], np.float32)
    same(lambda xp: xp.unique(xp.asarray(x), axis=0, return_index=True, return_counts=True))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 2), (0,)])
def test_unique_of_little(same: Same, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    for flags in FLAGS:
        same(lambda xp, f=flags: xp.unique(xp.asarray(x), **f))
        same(lambda xp, f=flags: xp.unique(xp.asarray(x), **f, axis=0))


def test_errors(same: Same) -> None:
    x = np.zeros((3, 2), np.float32)
    same(lambda xp: xp.unique(xp.asarray(x), axis=2))
    same(lambda xp: xp.unique(xp.asarray(x), axis=-3))
    same(lambda xp: xp.isin(xp.asarray(x), [1], kind="hash"))
    same(lambda xp: xp.isin(xp.asarray(x), [1], kind="table"))


def test_pending_and_selected_values(same: Same) -> None:
    x = RNG.integers(0, 50, 300).astype(np.int32)
    same(lambda xp: xp.unique(xp.asarray(x) * 2 + 1))
    same(lambda xp: xp.unique((xp.asarray(x) * 10**6)[::-3]))
    same(lambda xp: xp.unique(xp.asarray(x).reshape(20, 15).T[::2]))
    same(lambda xp: xp.unique(xp.asarray(x)[xp.asarray(x) > 30]))


# Tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 65, 1000, CPU.unique.few + 5])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_tables(policy: str, dtype: str, size: int) -> None:
    x = RNG.integers(-40 if dtype.startswith("i") else 3, 90, size).astype(dtype)
    for view in (slice(None), slice(None, None, -2)):
        array = clarray.array(x)[view]
        values, counts = np.unique(x[view], return_counts=True)
        for counted in (False, True):
            table = range_table(array, counted)
            if table is None:
                assert counted
                assert dtype == "uint16"  # more counts than local memory holds
                continue
            slots = np.flatnonzero(table.cells)
            np.testing.assert_array_equal(slots + table.low, values.astype(np.int64))
            if counted:
                np.testing.assert_array_equal(table.cells[slots], counts)


@pytest.mark.parametrize("span", [CPU.unique.few_slots - 1, CPU.unique.few_slots])
@pytest.mark.parametrize("low", [0, -7, -(2**31), 2**31 - 1 - CPU.unique.few_slots])
def test_the_widest_range_of_a_table(policy: str, low: int, span: int) -> None:
    x = np.full(50, low + 1, np.int32)
    x[[7, 31]] = low, low + span
    found = range_table(clarray.array(x), False)
    assert (found is None) == (span >= CPU.unique.few_slots)
    np.testing.assert_array_equal(clarray.unique(clarray.array(x)).get(), np.unique(x))


@pytest.mark.parametrize("ends", [(0, 2**64 - 1), (2**64 - 300, 2**64 - 1), (2**63 - 2, 2**63 + 2)])
def test_ends_of_uint64(same: Same, ends: tuple[int, int]) -> None:
    x = np.array([*ends, ends[0] + 1, ends[1] - 1] * 3, np.uint64)
    for flags in FLAGS:
        same(lambda xp, f=flags: xp.unique(xp.array(x), **f))


def test_a_range_that_widens_late(same: Same) -> None:
    x = np.full(3 * CPU.unique.range_slots, 5, np.int32)
    x[-1] = 2**31 - 1
    same(lambda xp: xp.unique(xp.asarray(x), return_counts=True))


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("other", ["float64", "int64", "complex64"])
def test_values_that_are_one_in_the_common_dtype(same: Same, other: str, unique: bool) -> None:
    large = np.array([0, 2**63 - 1, 2**63, 2**63 + 2, 2**64 - 2, 2**64 - 1], np.uint64)
    few = np.array([0, 1, 2**53 + 1], np.int64).astype(other)
    for pair in ((large, few), (few, large), (large, large[:0].astype(other))):
        same(lambda xp, p=pair: xp.setxor1d(*map(xp.array, p), assume_unique=unique))
        for places in (False, True):
            same(lambda xp, p=pair, r=places: xp.intersect1d(*map(xp.array, p), unique, r))


def test_masks_and_halves(same: Same) -> None:
    m = RNG.integers(0, 2, 77).astype(bool)
    same(lambda xp: xp.unique(xp.asarray(m), return_counts=True, return_inverse=True))
    same(lambda xp: xp.unique(xp.asarray(m[:0])))
    same(lambda xp: xp.unique(xp.ones(5, bool)))
    h = np.arange(2**16, dtype=np.uint16).view(np.float16)
    same(lambda xp: xp.unique(xp.asarray(h)))


def test_the_same_bits_each_time(policy: str) -> None:
    x = clarray.array(draw("float32", 5000, 600))
    first = [y.get().tobytes() for y in clarray.unique(x, True, True, True)]
    for _ in range(3):
        assert [y.get().tobytes() for y in clarray.unique(x, True, True, True)] == first


def test_two_threads() -> None:
    x = RNG.integers(0, 700, 20000).astype(np.int32)
    wanted = np.unique(x, return_counts=True)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(10):
            found = clarray.unique(clarray.array(x), return_counts=True)
            if not all(np.array_equal(a.get(), b) for a, b in zip(found, wanted, strict=True)):
                wrong.append(found)

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@settings(max_examples=25)
@given(
    arrays(np.int64, st.integers(0, 60), elements=st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)),
    st.sampled_from(FLAGS),
)
def test_any_integers(x: np.ndarray, flags: dict[str, bool]) -> None:
    found, wanted = clarray.unique(clarray.array(x), **flags), np.unique(x, **flags)
    both = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for ours, theirs in both:
        np.testing.assert_array_equal(ours.get(), theirs)


@settings(max_examples=25)
@given(arrays(np.float32, st.integers(0, 60), elements=st.floats(width=32)), st.sampled_from(FLAGS))
def test_any_floats(x: np.ndarray, flags: dict[str, bool]) -> None:
    found, wanted = clarray.unique(clarray.array(x), **flags), np.unique(x, **flags)
    both = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for ours, theirs in both:
        np.testing.assert_array_equal(ours.get(), theirs)


# Few values ---------------------------------------------------------------------------------------


@pytest.fixture
def always_tried(policy: str) -> Iterator[None]:
    with policy_changed("unique", hash_from=1):
        yield


def chunked() -> bool:
    return kernel_cache_of(current_device()).policies.reduce.chunked


@pytest.mark.usefixtures("always_tried")
@pytest.mark.parametrize("size", [1, 2, 67, 9000])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_few_values(policy: str, dtype: str, size: int) -> None:
    for values in (1, 5, CPU.unique.hash_limit - 50, 3 * CPU.unique.hash_limit):
        x = (RNG.integers(-1, values, size) * 10007).astype(dtype)
        if dtype.startswith("f"):
            x[::5] = np.nan
            x[1:2] = -0.0
        for view in (slice(None), slice(None, None, -2)):
            found = distinct_by_hash_table(clarray.array(x)[view]._node, True)
            wanted = np.unique(x[view])
            if found is None:
                assert len(wanted) > CPU.unique.hash_limit - 60 or (dtype == "int64" and not chunked())
            else:
                np.testing.assert_array_equal(np.unique(found), wanted)


@pytest.mark.usefixtures("always_tried")
def test_each_nan_of_few_values(policy: str) -> None:
    x = np.array([1, np.nan, 2, np.nan] * 9, np.float32)
    assert distinct_by_hash_table(clarray.array(x)._node, False) is None
    ours = clarray.unique(clarray.array(x), equal_nan=False).get()
    np.testing.assert_array_equal(ours, np.unique(x, equal_nan=False))


@pytest.mark.usefixtures("always_tried")
@pytest.mark.optimized
def test_values_that_share_a_slot(policy: str) -> None:
    x = (np.arange(900, dtype=np.int64) << 52).astype(np.int64)  # the hash sees their highest bits only
    np.testing.assert_array_equal(clarray.unique(clarray.array(x)).get(), np.unique(x))
    bits = np.arange(1, 900, dtype=np.uint32) * np.uint32(pow(0x9E3779B1, -1, 2**32))
    np.testing.assert_array_equal(clarray.unique(clarray.array(bits)).get(), np.unique(bits))


# Bitmaps ------------------------------------------------------------------------------------------


@pytest.fixture
def small_bitmaps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("clarray._engine.algorithms.unique.plan_bitmap.BITS", 18)
    with policy_in_force("gpu"), policy_changed("unique", bitmap_from=1, bitmap_items=2):
        yield


@pytest.mark.usefixtures("small_bitmaps")
@pytest.mark.parametrize("size", [1, 255, 256, 257, 2049, 40000])
def test_bitmaps(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    some = {
        "all": RNG.integers(-(2**17), 2**17, size),
        "equal": np.full(size, 2**17 - 1),
        "two places": RNG.choice([-(2**17), 9], size),
        "one place": RNG.integers(0, 40, size),
        "sorted": np.arange(size),
    }
    monkeypatch.setattr("clarray._engine.algorithms.unique.launch_bitmap.has_runs", lambda sample: False)
    for x in some.values():
        found = distinct_by_bitmap(clarray.array(x.astype(np.int32))._node)
        assert found is not None
        np.testing.assert_array_equal(wrap(found).get(), np.unique(x.astype(np.int32)))


def test_bitmaps_of_all_keys() -> None:
    if chunked():
        pytest.skip("only GPUs use bitmaps, and one of all floats takes 512 MiB")
    x = RNG.normal(size=30000).astype(np.float32)
    x[:9] = np.nan, np.inf, -np.inf, -0.0, 0.0, -np.nan, 1e-45, -1e-45, 3e38
    for y in (x, RNG.integers(0, 2**32, 30000, np.uint32), RNG.integers(-(2**31), 2**31, 30000, np.int32)):
        with policy_changed("unique", bitmap_from=1):
            found = distinct_by_bitmap(clarray.array(y)._node)
        assert found is not None
        np.testing.assert_array_equal(wrap(found).get(), np.unique(y))


# Sets ---------------------------------------------------------------------------------------------

PAIRS = [
    ("int32", "int32"),
    ("int8", "int64"),
    ("uint64", "int64"),
    ("int64", "uint64"),
    ("float32", "float32"),
    ("bool", "int16"),
    ("complex64", "float32"),
    ("float16", "int8"),
]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_isin(same: Same, pair: tuple[str, str]) -> None:
    x, y = draw(pair[0], (4, 9), 12), draw(pair[1], 17, 8)
    for invert in (False, True):
        same(lambda xp, i=invert: xp.isin(xp.asarray(x), xp.asarray(y), invert=i))
    same(lambda xp: xp.isin(xp.asarray(x), xp.asarray(y[:0])))
    same(lambda xp: xp.isin(xp.asarray(x), xp.asarray(y[:0]), invert=True))


def test_isin_of_integers_that_no_dtype_holds_together(same: Same) -> None:
    x = np.array([-1, 0, 2**62 + 1, 2**63 - 1], np.int64)
    y = np.array([2**64 - 1, 2**62 + 1, 2**63, 0], np.uint64)
    for one, other, invert in product((x, y), (x, y), (False, True)):
        same(
            lambda xp, a=one, b=other, i=invert: (
                xp.isin(xp.asarray(a), xp.asarray(b), invert=i, kind="sort")
                if a.dtype == b.dtype
                else xp.asarray(np.array([(int(v) in b.tolist()) != i for v in a]))
                if xp is np
                else xp.isin(xp.asarray(a), xp.asarray(b), invert=i)
            )
        )


@pytest.mark.parametrize("pair", [p for p in PAIRS if p != ("uint64", "int64")], ids="-".join)
@pytest.mark.parametrize("name", ["intersect1d", "union1d", "setdiff1d", "setxor1d"])
def test_sets(same: Same, name: str, pair: tuple[str, str]) -> None:
    x, y = draw(pair[0], (4, 9), 12), draw(pair[1], 17, 8)
    same(lambda xp: getattr(xp, name)(xp.asarray(x), xp.asarray(y)))
    same(lambda xp: getattr(xp, name)(xp.asarray(x), xp.asarray(y[:0])))


def test_sets_of_unique_values(same: Same) -> None:
    x, y = RNG.permutation(40).astype(np.int32), RNG.permutation(30).astype(np.int32) + 20
    for name in ("intersect1d", "setdiff1d", "setxor1d"):
        same(lambda xp, n=name: getattr(xp, n)(xp.asarray(x), xp.asarray(y), assume_unique=True))
    for unique in (False, True):
        same(lambda xp, u=unique: xp.intersect1d(xp.asarray(x), xp.asarray(y), u, return_indices=True))
    x = draw("float32", 50)
    same(lambda xp: xp.intersect1d(xp.asarray(x), xp.asarray(x[7:]), return_indices=True))
