"""Slices inserted and left out, zeros trimmed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray

HOST = np.arange(24, dtype=np.float32).reshape(4, 6)

INSERTS: list[Any] = [
    lambda xp, a: [xp.insert(a, 2, 9), xp.insert(a, -1, [7, 8]), xp.insert(a, 24, 1)],
    lambda xp, a: [xp.insert(a, 1, 5, axis=1), xp.insert(a, 1, [1, 2, 3, 4], axis=1), xp.insert(a, 0, a[1], axis=0)],
    lambda xp, a: [xp.insert(a, [1], [[1], [2], [3], [4]], axis=1), xp.insert(a, [1], 5, axis=0)],
    lambda xp, a: [xp.insert(a, [0, 2, 2, -1], 9.5, axis=0), xp.insert(a, [3, 0], [[1, 2]] * 4, axis=1)],
    lambda xp, a: xp.insert(a, xp.asarray([3, 0, 3]), xp.asarray([[1], [2], [3]]), axis=0),
    lambda xp, a: [xp.insert(a, slice(None, None, 2), 0, axis=1), xp.insert(a, slice(2, 2), 5, axis=0)],
    lambda xp, a: [xp.insert(a, np.array([True, False, True, False]), 0, axis=0), xp.insert(a, [], 3)],
    lambda xp, a: [xp.insert(a.T, 1, 5, axis=0), xp.insert(a[::2, ::-1], [1, 2], 5, axis=1)],
    lambda xp, a: [xp.insert(a, np.arange(70) % 4, 7, axis=0), xp.insert(a.T, [1] * 65, a[0, 0], axis=0)],
    lambda xp, a: xp.insert(a.astype(np.uint8), [1, 2], xp.asarray(np.array([1.9, 2.9], np.float32))),
    lambda xp, a: xp.insert(a, 7, 0, axis=1),
    lambda xp, a: xp.insert(a, [0, 9], 0, axis=1),
    lambda xp, a: xp.insert(a, [[0]], 0),
    lambda xp, a: xp.insert(a, 0, [1, 2, 3], axis=1),
    lambda xp, a: xp.insert(a, 0, 1, axis=2),
    lambda xp, a: xp.insert(a, [0, 1], [1, 2, 3], axis=1),
]


@pytest.mark.parametrize("number", range(len(INSERTS)))
def test_insert(same: Any, number: int) -> None:
    same(lambda xp: INSERTS[number](xp, xp.asarray(HOST)), message=number not in (15,))


@given(st.lists(st.integers(-6, 5), max_size=8), st.booleans())
def test_positions_on_the_device(positions: list[int], on_device: bool) -> None:
    key: Any = clarray.asarray(np.array(positions, np.int64)) if on_device else positions
    found = clarray.insert(clarray.array(HOST), key, -1, axis=1)
    np.testing.assert_array_equal(found.get(), np.insert(HOST, np.array(positions, np.int64), -1, axis=1))


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("extent", [0, 1, 2])
@pytest.mark.parametrize(
    "positions", [[-1, -1], [0, 0], [-1, -1, -1], [0, -1], [-1, -2], [5, 5], [-3, 0, 0], [-1], [0], [-4, 0]]
)
def test_into_few(same: Any, positions: list[int], extent: int, on_device: bool) -> None:
    host = np.arange(3 * extent, dtype=np.int32).reshape(3, extent)
    key = np.array(positions, np.int64)
    for axis, source in ((1, host), (None, host[0])):
        place = key if not on_device else None
        same(
            lambda xp, s=source, a=axis, p=place: xp.insert(xp.array(s), xp.asarray(key) if p is None else p, 7, a),
            message=False,
        )


@pytest.mark.parametrize("positions", [4, [4], [4, 4], [0, 9], 1, [0, 1], [[1]]])
@pytest.mark.parametrize("values", [1j, "a", [1j], object(), [1, 2, 3]])
def test_positions_are_looked_at_before_values(same: Any, positions: Any, values: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        same(lambda xp: xp.insert(xp.array(np.array([5, 6], np.int32)), positions, values), message=False)


def test_fortran_order_is_kept() -> None:
    host = np.asfortranarray(HOST)
    assert clarray.insert(clarray.array(host), 1, 0, axis=1).strides == np.insert(host, 1, 0, axis=1).strides


LINE = np.array([0, 0, 1, 2, 0, 3, 0, 0, 0], np.int32)
TABLE = np.zeros((5, 6, 4), np.float32)
TABLE[1:3, 2:5, 1] = 1

TRIMS: list[Any] = [
    lambda xp, a, t: [xp.trim_zeros(a), xp.trim_zeros(a, "f"), xp.trim_zeros(a, "B"), xp.trim_zeros(a[2:6])],
    lambda xp, a, t: [xp.trim_zeros(a * 0), xp.trim_zeros(a * 0, "f"), xp.trim_zeros(a[:0])],
    lambda xp, a, t: [xp.trim_zeros(t), xp.trim_zeros(t, axis=1), xp.trim_zeros(t, "f", axis=(0, -1))],
    lambda xp, a, t: [xp.trim_zeros(t * 0, axis=1), xp.trim_zeros(t, axis=())],
    lambda xp, a, t: xp.trim_zeros(a, "x"),
    lambda xp, a, t: xp.trim_zeros(t, axis=3),
]


@pytest.mark.parametrize("number", range(len(TRIMS)))
def test_trim_zeros(same: Any, number: int) -> None:
    same(lambda xp: TRIMS[number](xp, xp.asarray(LINE), xp.asarray(TABLE)), message=number != 5)


DELETES: list[Any] = [
    lambda xp, a: [xp.delete(a, 3), xp.delete(a, -1, 1), xp.delete(a, [0, 0, 2], 0)],
    lambda xp, a: [xp.delete(a, slice(None, None, -2), 1), xp.delete(a, slice(1, 3), 0)],
    lambda xp, a: [xp.delete(a, [], 0), xp.delete(a, slice(3, 3), 1), xp.delete(a, xp.asarray([1, -1]), 1)],
    lambda xp, a: xp.delete(a, np.array([True, False, True, False]), 0),
    lambda xp, a: xp.delete(a, 9, 0),
    lambda xp, a: xp.delete(a, [True], 0),
]


@pytest.mark.parametrize("number", range(len(DELETES)))
def test_delete(same: Any, number: int) -> None:
    same(lambda xp: DELETES[number](xp, xp.asarray(HOST)))
