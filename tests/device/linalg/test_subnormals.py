"""Matrices of numbers so small that some devices take them, or products of them, for zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device
from clarray.linalg import factorizations, host_lapack

from ..conftest import policy_in_force

pytestmark = [pytest.mark.usefixtures("quick_builds"), pytest.mark.kernels_alone]

SCALES = [1e-36, 1e-38, 1e-40]
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "solve": lambda xp, a, b: xp.linalg.solve(a, b),
    "slogdet": lambda xp, a, b: xp.linalg.slogdet(a)[1],
    "cholesky": lambda xp, a, b: xp.linalg.cholesky(a),
    "eigvalsh": lambda xp, a, b: xp.linalg.eigvalsh(a),
    "svdvals": lambda xp, a, b: xp.linalg.svd(a, compute_uv=False),
    "Q of qr": lambda xp, a, b: abs(xp.linalg.qr(a)[0]),
    "matrix_rank": lambda xp, a, b: xp.linalg.matrix_rank(a),
    "cond": lambda xp, a, b: xp.linalg.cond(a),
    "lstsq": lambda xp, a, b: xp.linalg.lstsq(a[0], b[0], rcond=None)[0],
}


def tiny_matrices(n: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric matrices of multiples of a power of two near `scale`, well conditioned, and right sides."""
    unit = np.float32(2.0 ** np.floor(np.log2(scale)))
    a = np.fromfunction(lambda i, j: 40.0 * (i == j) + (i + j) % 3, (n, n)).astype(np.float32)
    return np.tile(a * unit, (300, 1, 1)), np.tile(np.arange(1, n + 1, dtype=np.float32)[:, None] * unit, (300, 1, 1))


@pytest.mark.parametrize("row", ["own", "tiny-cpu"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", CALLS)
def test_tiny_matrices(name: str, scale: float, row: str) -> None:
    a, b = tiny_matrices(7, scale)
    with policy_in_force(row), np.errstate(all="ignore"):
        expected = CALLS[name](np, a.astype(float), b.astype(float))
        computed = np.asarray(CALLS[name](clarray, clarray.asarray(a), clarray.asarray(b)))
    spread = np.abs(expected).max()
    np.testing.assert_allclose(computed, expected, rtol=0, atol=(2e-3 if scale < 1e-39 else 1e-4) * spread)


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The functions that NumPy computes, for a device without subnormal numbers."""
    called: list[str] = []

    def record(name: str, *args: Any, **kwargs: Any) -> Any:
        called.append(name)
        return host_lapack.on_host(name, *args, **kwargs)

    device = current_device()
    monkeypatch.setattr(device, "capabilities", replace(device.capabilities, subnormals=False))
    monkeypatch.setattr(factorizations, "on_host", record)
    with policy_in_force("tiny-cpu"):
        yield called


SQUARE = ["cholesky", "det", "eigh", "inv", "pinv", "qr", "slogdet", "solve", "svd"]


def call(name: str, a: np.ndarray) -> Any:
    matrices = clarray.asarray(a)
    return getattr(clarray.linalg, name)(*[matrices] * (1 + (name == "solve")))


@pytest.mark.parametrize("name", SQUARE)
def test_who_computes_tiny_matrices(on_host: list[str], name: str) -> None:
    """NumPy computes matrices whose largest element is tiny, also after captured calls of others."""
    a = tiny_matrices(6, 1.0)[0]
    for _ in range(4):
        call(name, a)
    assert on_host == []
    call(name, a * np.float32(2.0**-110))
    assert on_host == [name]
    a[7] *= np.float32(2.0**-110)  # one of many
    call(name, a)
    assert on_host == [name] * 2


@pytest.mark.parametrize("name", ["cholesky", "inv", "solve"])
def test_who_decides_that_a_matrix_is_singular(on_host: list[str], name: str) -> None:
    a = tiny_matrices(5, 1.0)[0]
    a[3, 2] = a[3, :, 2] = 0
    with pytest.raises(np.linalg.LinAlgError):
        call(name, a)
    assert on_host == [name]
    with clarray.config(host_library="raise"), pytest.raises(np.linalg.LinAlgError):
        call(name, a)
    assert on_host == [name]


def test_determinants_of_zero(on_host: list[str]) -> None:
    a = np.tile(np.diag(np.float32([1e30, 1e-40, 1e20, 1])), (300, 1, 1))
    np.testing.assert_allclose(np.asarray(clarray.linalg.slogdet(clarray.asarray(a))[1]), np.log(1e10), rtol=1e-3)
    np.testing.assert_allclose(np.asarray(clarray.linalg.det(clarray.asarray(a))), 1e10, rtol=1e-3)
    a[5, 1] = 0
    for name in ("det", "slogdet"):
        call(name, a)
    assert on_host[-2:] == ["det", "slogdet"]
