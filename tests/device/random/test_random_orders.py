"""Integers, choices and permutations: every outcome as likely as any other."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import clarray
from clarray.random import default_rng

N = 20000
UNLIKELY = 1e-3

needs_double = pytest.mark.skipif("not clarray._engine.runtime.current_device().capabilities.fp64", reason="no float64")


def even(counts: Any) -> bool:
    """Whether counts could be those of equally likely outcomes."""
    return bool(stats.chisquare(counts).pvalue > UNLIKELY)


# Integers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 10, "int64"),
        (-128, 128, "int8"),
        (5, 6, "uint16"),
        (0, 2, "bool"),
        (-7, 2**31 - 1, "int32"),
        (0, 2**32, "uint32"),
        (0, 2**63 + 5, "uint64"),
        (-(2**63), 2**63, "int64"),
        (0, 3 * 2**61, "int64"),
    ],
)
def test_integers_are_even(low: int, high: int, dtype: str) -> None:
    found = default_rng(7).integers(low, high, N, dtype)
    assert found.dtype == dtype
    values = found.get()
    exact = [int(v) - low for v in values.tolist()]
    assert min(exact) >= 0
    assert max(exact) < high - low
    kinds = min(high - low, 16)
    assert kinds == 1 or even(np.bincount([v * kinds // (high - low) for v in exact], minlength=kinds))


def test_a_bound_of_three_quarters_has_no_bias() -> None:
    """Without a second draw one of three values would come twice as often."""
    third = 2**30
    values = default_rng(7).integers(0, 3 * third, N, np.uint32).get()
    assert even(np.bincount(values // third, minlength=3))
    assert even(np.bincount(values % 3, minlength=3))


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_bounds_that_are_arrays(dtype: str) -> None:
    low = clarray.asarray([0, 3, 100], dtype=dtype)
    high = np.array([[7], [120]])
    rng = default_rng(2)
    found = rng.integers(low[:2], high, (2000, 2, 2), dtype).get()
    assert found.dtype == dtype
    assert (found >= [0, 3]).all()
    assert (found < high).all()
    assert found.max(0).tolist() == [[6, 6], [119, 119]]
    assert rng.integers(low, 101).shape == (3,)
    assert rng.integers([0, 0], [255, 255], dtype="uint8", endpoint=True).dtype == "uint8"
    whole = rng.integers([-(2**63)], [2**63 - 1], 1000, endpoint=True).get()
    assert whole.min() < -(2**61)
    assert whole.max() > 2**61
    assert rng.integers(low[:0], 5).shape == (0,)


def test_bytes() -> None:
    found = default_rng(1).bytes(1001)
    assert type(found) is bytes
    assert len(found) == 1001
    assert found[:8] == default_rng(1).integers(0, 2**32, 2, np.uint32).get().astype("<u4").tobytes()


# Order --------------------------------------------------------------------------------------------


def test_permutations_are_equally_likely() -> None:
    rows = clarray.asarray(np.broadcast_to(np.arange(4), (N, 4)).copy())
    found = default_rng(3).permuted(rows, axis=1).get()
    number = {p: k for k, p in enumerate(permutations(range(4)))}
    assert even(np.bincount([number[tuple(row)] for row in found.tolist()], minlength=24))
    assert even(np.bincount(default_rng(4).permuted(rows.T, axis=0).get()[0], minlength=4))


def test_permutation() -> None:
    rng = default_rng(5)
    found = rng.permutation(1000)
    assert found.dtype == np.int64
    values = found.get()
    assert sorted(values.tolist()) == list(range(1000))
    assert abs(np.corrcoef(values, np.arange(1000))[0, 1]) < 0.1
    table = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    rows = rng.permutation(table).get()
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, table.tolist()))
    columns = rng.permutation(clarray.asarray(table), axis=-1).get()
    assert sorted(columns[0].tolist()) == table[0].tolist()
    assert (np.diff(columns, axis=0) == 4).all()
    assert rng.permutation(0).shape == (0,)


def test_shuffle() -> None:
    order = default_rng(6).permutation(6).get()
    on_device = clarray.arange(6) * 10
    default_rng(6).shuffle(on_device)
    assert on_device.tolist() == (order * 10).tolist()
    on_host = np.arange(6) * 10
    default_rng(6).shuffle(on_host)
    assert on_host.tolist() == on_device.tolist()
    letters = list("abcdef")
    default_rng(6).shuffle(letters)
    assert letters == ["abcdef"[k] for k in order]
    table = clarray.arange(12).reshape(3, 4)
    view = table[:, ::2]
    default_rng(1).shuffle(view, axis=1)
    assert sorted(table[0].tolist()) == [0, 1, 2, 3]
    assert table[:, 1].tolist() == [1, 5, 9]


def test_permuted() -> None:
    rng = default_rng(6)
    table = clarray.arange(12).reshape(3, 4)
    whole = rng.permuted(table)
    assert whole.shape == (3, 4)
    assert sorted(whole.get().ravel().tolist()) == list(range(12))
    out = clarray.empty((3, 4), np.int64)
    assert rng.permuted(table, axis=0, out=out) is out
    assert np.sort(out.get(), 0).tolist() == table.tolist()
    rng.permuted(table, axis=1, out=table)
    assert np.sort(table.get(), 1).tolist() == np.arange(12).reshape(3, 4).tolist()


# Choice -------------------------------------------------------------------------------------------


def test_choice() -> None:
    rng = default_rng(9)
    assert even(np.bincount(rng.choice(5, N).get(), minlength=5))
    one = rng.choice(5)
    assert type(one) is int
    assert 0 <= one < 5
    assert rng.choice([7, 8], (2, 3)).shape == (2, 3)
    table = clarray.arange(12).reshape(3, 4)
    picked = rng.choice(table, 50, axis=1).get()
    assert picked.shape == (3, 50)
    assert (picked[1] - picked[0] == 4).all()
    assert rng.choice(0, 0).shape == (0,)


def test_choice_without_replacement() -> None:
    rng = default_rng(9)
    assert sorted(rng.choice(10, 10, replace=False).tolist()) == list(range(10))
    few = rng.choice(1 << 20, (100, 5), replace=False).get()
    assert len(set(few.ravel().tolist())) == 500
    first = [int(rng.choice(3, 2, replace=False)[0]) for _ in range(60)]
    assert even(np.bincount(first, minlength=3))


@needs_double
def test_choice_by_probability() -> None:
    rng = default_rng(9)
    p = [0.1, 0.0, 0.6, 0.3]
    counts = np.bincount(rng.choice(4, N, p=p).get(), minlength=4)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3]], np.array([0.1, 0.6, 0.3]) * N).pvalue > UNLIKELY
    assert set(rng.choice([5, 6, 7, 8], 3, replace=False, p=clarray.asarray(p)).tolist()) == {5, 7, 8}
    first = np.array([rng.choice(4, 2, replace=False, p=p).tolist() for _ in range(400)])
    assert stats.chisquare(np.bincount(first[:, 0], minlength=4)[[0, 2, 3]], [40, 240, 120]).pvalue > UNLIKELY
    # the second one of those that are left: 2 first, then 0 with probability 1 / 4
    after = first[first[:, 0] == 2, 1]
    assert abs((after == 0).mean() - 0.25) < 0.12
    single = rng.choice(4, 10, p=clarray.asarray(p, dtype="float32"))
    assert single.shape == (10,)
