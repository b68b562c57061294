"""Slopes, angles and phases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..closeness import check_close

rng = np.random.default_rng(4)
GRID = rng.random((5, 6)).astype("float32")
UNEVEN = np.array([0, 1, 1.5, 3.5, 4, 6], "float32")
EVEN = np.arange(5, dtype="float32") * 2
fp64 = pytest.mark.skipif(not current_device().capabilities.fp64, reason="NumPy's result is float64")


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize(
    ("f", "steps"),
    [(GRID, ()), (GRID, (2.0,)), (GRID, (EVEN, UNEVEN)), (GRID[0], (UNEVEN,))],
    ids=["unit", "scalar", "coordinates", "line"],
)
def test_gradient(f: np.ndarray, steps: tuple[Any, ...], edge_order: int) -> None:
    check_close("gradient", f, *steps, edge_order=edge_order)


@fp64
def test_gradient_of_other_dtypes() -> None:
    check_close("gradient", (GRID * 100).astype("uint8"), axis=(1, 0))
    check_close("gradient", GRID, np.float64(3), axis=0)
    check_close("gradient", GRID[0] + 1j * GRID[1], np.arange(6) ** 2)


def test_gradient_errors() -> None:
    check_close("gradient", GRID, edge_order=3)
    check_close("gradient", GRID, 1, 2, 3)
    check_close("gradient", GRID, EVEN, EVEN)
    check_close("gradient", GRID, np.ones((2, 2), "float32"), 1)
    check_close("gradient", GRID[:1])
    check_close("gradient", GRID[:2], axis=0, edge_order=2)
    check_close("gradient", GRID > 0.5, axis=0)
    with pytest.raises(np.exceptions.AxisError):
        clarray.gradient(clarray.asarray(GRID), axis=2)


@pytest.mark.kernels_alone
def test_gradient_takes_one_pass_inside_and_one_per_end() -> None:
    x = clarray.asarray(GRID.ravel()).copy()
    pending = x * 2
    with clarray.profile() as p:
        clarray.gradient(pending).evaluate()
    assert p.launches <= 4  # the pending operand is read three times, so it is stored


@pytest.mark.parametrize("deg", [False, True])
def test_angle(deg: bool) -> None:
    z = (GRID - 0.5) + 1j * (GRID[::-1] - 0.5)
    check_close("angle", z.astype("complex64"), deg)
    check_close("angle", GRID - np.float32(0.5), deg)
    check_close("angle", np.array([0.0, -0.0, np.inf, -np.inf, np.nan], "float32"), deg)


@fp64
def test_angle_of_integers() -> None:
    check_close("angle", np.arange(-2, 3))


@pytest.mark.parametrize("axis", [-1, 0])
def test_unwrap(axis: int) -> None:
    p = np.cumsum(rng.random((4, 20)) * 8 - 4, axis).astype("float32")
    check_close("unwrap", p, axis=axis)
    check_close("unwrap", p.T, 4.0, axis, period=5.5)


def test_unwrap_of_integers() -> None:
    jumps = rng.integers(-50, 50, (3, 30))
    for period in (6, 7, 255, np.int64(10)):
        check_close("unwrap", jumps, period=period)


def test_unwrap_errors() -> None:
    check_close("unwrap", np.ones((), "float32"))
    with pytest.raises(np.exceptions.AxisError):
        clarray.unwrap(clarray.ones(3, "float32"), axis=1)
