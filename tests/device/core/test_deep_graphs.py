"""Graphs of thousands of pending operations: every walk through them is a loop, whose depth Python does not limit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

TURNS = 1500  # each grows one to four operations, up to the 4,096 that stay pending


def chain(xp: Any, x: Any) -> Any:
    for _ in range(TURNS):
        x = x + 1
    return x


def two_names(xp: Any, x: Any) -> Any:
    y = x + 1
    for _ in range(TURNS):
        x, y = y, (x ^ y) + 1
    return x - y


def choices(xp: Any, x: Any) -> Any:
    for _ in range(TURNS):
        x = xp.where(x & 1, (x >> 1) ^ 77, x >> 1)
    return x


def names_kept(xp: Any, x: Any) -> Any:
    kept = [x]
    for _ in range(TURNS):
        kept.append(kept[-1] * 3 + kept[len(kept) // 2])
    return sum(kept[::100], x)


def numbers(xp: Any, x: Any) -> Any:
    total = x.sum()
    for _ in range(TURNS):
        total = (total ^ 5) + 1
    return total


def of_views(xp: Any, x: Any) -> Any:
    for _ in range(TURNS // 10):
        x = x * 3
        x = x[::-1] + x
    return x


def written(xp: Any, x: Any) -> Any:
    x = x.copy()
    y = x
    for _ in range(TURNS):
        y = y * 3 + x
    x += y
    return x


def written_in_parts(xp: Any, x: Any) -> Any:
    x = x.copy()
    y = x[1:]
    for _ in range(TURNS):
        y = (y ^ x[1:]) + x[1:]
    x[1:] = y
    return x


def overwritten(xp: Any, x: Any) -> Any:
    """Readers of a memory are computed before a write to it."""
    x = x.copy()
    y = x
    z = x + 1
    for _ in range(TURNS):
        y, z = z, y ^ (z + 1)
    x[:] = 0
    return y + z + x


def written_at_each_turn(xp: Any, x: Any) -> Any:
    x = x.copy()
    y = x + 1
    for turn in range(TURNS // 5):
        y ^= x
        for _ in range(5):
            y = xp.where(y & 1, y >> 1, y + turn)
    return y


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    chain,
    two_names,
    choices,
    names_kept,
    numbers,
    of_views,
    written,
    written_in_parts,
    overwritten,
    written_at_each_turn,
]


@pytest.fixture
def few_frames() -> Any:
    """Let Python call no deeper than usual code needs."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)


def values() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1 << 40, 100)


@pytest.mark.usefixtures("few_frames")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_thousands_of_operations(program: Callable[[Any, Any], Any]) -> None:
    expected = program(np, values())
    for _ in range(3):  # by Python, and by the core's programs
        np.testing.assert_array_equal(clarray.asnumpy(program(clarray, clarray.array(values()))), expected)


@pytest.mark.usefixtures("few_frames")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_explaining_thousands_of_operations(program: Callable[[Any, Any], Any]) -> None:
    assert str(program(clarray, clarray.array(values())).explain())
