"""Rolls, tiles, repeats and resizes, through every form of the kernel behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clarray
from clarray._engine.runtime import current_device

from ..conftest import policy_changed

HOST = np.random.default_rng(1).integers(0, 100, (5, 7, 3))

CALLS: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: [xp.roll(a, 3), xp.roll(a, -40), xp.roll(a, 0), xp.roll(a, 105)],
    lambda xp, a: [xp.roll(a, 2, 0), xp.roll(a, -1, 1), xp.roll(a, 4, -1)],
    lambda xp, a: [xp.roll(a, (1, -2, 9), (0, 1, 2)), xp.roll(a, (1, 3), (1, 1)), xp.roll(a, 1, (0, 2))],
    lambda xp, a: [xp.roll(a.T, (1, 2), (0, 1)), xp.roll(a[:, ::2], 1, 1), xp.roll(a[::-1, :, ::-1], -8, 0)],
    lambda xp, a: [xp.roll(a[:0], 3), xp.roll(a[0, 0, 0], 3), xp.roll(a[:, :0], (1, 2), (0, 1))],
    lambda xp, a: [xp.tile(a, (2, 1, 3)), xp.tile(a, 4), xp.tile(a, (2, 2, 1, 1)), xp.tile(a, ())],
    lambda xp, a: [xp.tile(a.T, 2), xp.tile(a[0, 0, 0], (2, 3)), xp.tile(a, (0, 2, 1)), xp.tile(a[0, 0], 9)],
    lambda xp, a: [xp.repeat(a, 3), a.repeat(3, 1), xp.repeat(a, 2, -1), xp.repeat(a, 40, 0), xp.repeat(a, 0)],
    lambda xp, a: [xp.repeat(a, [1, 0, 2, 3, 0, 1, 1], 1), xp.repeat(a, [2], 1), xp.repeat(a[0, 0, 0], 3)],
    lambda xp, a: [xp.resize(a, (13, 17)), xp.resize(a, 4), xp.resize(a, ()), xp.resize(a[:0], (2, 3))],
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_results(same: Any, policy: str, number: int) -> None:
    kind = {"own": "float32", "tiny-cpu": "uint8", "tiny-gpu": "int16"}[policy]
    same(lambda xp: CALLS[number](xp, xp.asarray(HOST.astype(kind))))


def test_wide_elements(same: Any, policy: str) -> None:
    kind = "complex128" if current_device().capabilities.fp64 else "complex64"
    same(lambda xp: [CALLS[number](xp, xp.asarray(HOST.astype(kind))) for number in (1, 5, 7)])


@given(st.lists(st.integers(0, 5), min_size=6, max_size=6), st.sampled_from([0, 1, -1]))
def test_counts_on_the_device(counts: list[int], axis: int) -> None:
    host = np.arange(216.0, dtype=np.float32).reshape(6, 6, 6)
    found = clarray.repeat(clarray.array(host), clarray.asarray(counts), axis)
    np.testing.assert_array_equal(found.get(), np.repeat(host, counts, axis))


@given(st.integers(-300, 300), st.integers(-30, 30), st.booleans())
def test_rolls_of_any_width(flat: int, other: int, turned: bool) -> None:
    host = HOST.astype(np.int16)
    host = host.T if turned else host
    array = clarray.asarray(host)
    np.testing.assert_array_equal(clarray.roll(array, flat).get(), np.roll(host, flat))
    both = (other, flat), (0, 2)
    np.testing.assert_array_equal(clarray.roll(array, *both).get(), np.roll(host, *both))


def test_copies_of_a_large_array(policy: str) -> None:
    host = np.arange(48, dtype=np.float32).reshape(6, 8)
    with policy_changed("index_map", copied_bytes=64):
        found = clarray.tile(clarray.array(host), (3, 1)), clarray.tile(clarray.array(host), (2, 2))
    np.testing.assert_array_equal(found[0].get(), np.tile(host, (3, 1)))
    np.testing.assert_array_equal(found[1].get(), np.tile(host, (2, 2)))


def test_layout_is_kept() -> None:
    host = np.asfortranarray(HOST.astype(np.float32))
    assert clarray.roll(clarray.array(host), 2, 1).strides == np.roll(host, 2, 1).strides


@pytest.mark.kernels_alone
@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.roll(a, (1, 2), (0, 1)),
        lambda xp, a: xp.tile(a, (2, 3, 1)),
        lambda xp, a: xp.repeat(a, 3, 1),
        lambda xp, a: xp.resize(a, 500),
    ],
)
def test_one_launch(call: Callable[[Any, Any], Any]) -> None:
    a = clarray.array(HOST)
    with clarray.profile() as seen:
        call(clarray, a)
    assert seen.launches == 1


WRONG: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: xp.roll(a, 1, 3),
    lambda xp, a: xp.roll(a, [[1], [2]], [[0], [1]]),
    lambda xp, a: xp.repeat(a, -1),
    lambda xp, a: xp.repeat(a, [1, -1, 1, 1, 1], 0),
    lambda xp, a: xp.repeat(a, [1, 2], 0),
    lambda xp, a: xp.repeat(a, 1.5),
    lambda xp, a: xp.resize(a, (2, -1)),
    lambda xp, a: xp.tile(a, -1),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(same: Any, number: int) -> None:
    same(lambda xp: WRONG[number](xp, xp.asarray(HOST)), message=number not in (0, 1, 2, 7))
