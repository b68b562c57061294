"""Choosing between values: where, clip, triangles, rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("quick_builds")

NUMBERS = np.array([[-3, 5, 0, 12], [7, -8, 100, 1]])


@pytest.mark.parametrize(
    ("x", "y"),
    [(1, 0), (2.5, 1), (1j, np.float32(2)), (np.int8(3), np.arange(4.0)), (True, False)],
    ids=str,
)
def test_where(same: Any, x: Any, y: Any) -> None:
    same(lambda xp: xp.where(xp.asarray(NUMBERS) > 1, x, y))
    same(lambda xp: xp.where(xp.asarray(NUMBERS), x, xp.asarray(NUMBERS)))
    same(lambda xp: xp.where(xp.asarray(NUMBERS[0]) > 1, xp.asarray(NUMBERS), y).sum())


def test_where_of_every_dtype(same: Any, host: np.ndarray) -> None:
    same(lambda xp: xp.where(xp.asarray(host.real > 3), xp.asarray(host), xp.asarray(host)[::-1]))
    same(lambda xp: xp.where(xp.asarray(host), xp.asarray(host), 1))


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_clip(same: Any, dtype: str) -> None:
    values = np.abs(NUMBERS).astype(dtype)
    same(lambda xp: xp.clip(xp.asarray(values), 2, 9))
    same(lambda xp: xp.clip(xp.asarray(values), None, 9))
    same(lambda xp: xp.clip(xp.asarray(values), min=3))
    same(lambda xp: xp.clip(xp.asarray(values), xp.asarray(values[0]), 2.5))


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "float16"])
@pytest.mark.parametrize("decimals", [0, 1, -1])
@pytest.mark.optimized
def test_round(same: Any, dtype: str, decimals: int) -> None:
    values = (NUMBERS / 8).astype(dtype) if dtype != "int32" else NUMBERS.astype(dtype)
    same(lambda xp: xp.round(xp.asarray(values), decimals))


def test_round_into_another_dtype(same: Any) -> None:
    """Each step is rounded to the output's dtype, which bools have none of: see NumPy's errors."""
    for dtype in ("bool", "int32", "float32"):
        values = NUMBERS.astype(dtype)
        for decimals in (-1, 0, 1):
            same(lambda xp, d=decimals, v=values: xp.round(xp.asarray(v), d))
            for out in ("float32", "float16", "int32", "bool"):
                same(
                    lambda xp, d=decimals, v=values, o=out: xp.round(xp.asarray(v), d, xp.zeros(v.shape, o)),
                    message=False,
                )


def test_triangles(same: Any) -> None:
    same(lambda xp: [xp.tri(3), xp.tri(3, 5, 1, dtype=np.int8), xp.tri(2, 4, -1)])
    same(lambda xp: [xp.tril(xp.asarray(NUMBERS), k) for k in (-1, 0, 2)])
    same(lambda xp: [xp.triu(xp.asarray(NUMBERS), k) for k in (-1, 0, 2)])
    same(lambda xp: xp.tril(xp.asarray([1, 2, 3])))
    same(lambda xp: xp.triu(xp.ones((2, 3, 3), dtype=np.float32)))
