"""A short computation for each family of kernels, which NumPy computes as well."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FAMILIES", "agrees", "compute"]

_N = 10_007  # not a multiple of a vector or a work-group
_RANDOM = np.random.default_rng(7)
_FLOATS = (_RANDOM.random(_N) - 0.5).astype(np.float32)
_INTEGERS = _RANDOM.integers(-1000, 1000, _N).astype(np.int32)
_SHORTS = _INTEGERS.astype(np.int16)  # promoted with float32 to float32, because not every device has float64
_PERMUTATION = _RANDOM.permutation(_N).astype(np.int64)
_MATRIX = _RANDOM.random((67, 45)).astype(np.float32)
_STACK = _RANDOM.random((40, 4, 4)).astype(np.float32) + 4 * np.eye(4, dtype=np.float32)
_WAVES = (_RANDOM.random((12, 360)) + 1j * _RANDOM.random((12, 360))).astype(np.complex64)


def _scatter(x: Any, indices: Any) -> Any:
    scattered = np.zeros_like(x)
    scattered[indices] = x
    return scattered


def _index_map(x: Any) -> Any:
    return np.pad(np.roll(x, 3, 0), 2, mode="reflect")


# NumPy's functions dispatch to the device for device arrays.
FAMILIES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "elementwise": (lambda x, i: np.sqrt(abs(x) * 2 + 1) - i // 7, (_FLOATS, _SHORTS)),
    "functions": (lambda x: np.exp(x) + np.sin(x) * np.log1p(abs(x)), (_FLOATS,)),
    "transposing": (lambda m: (m.T + 1).copy(), (_MATRIX,)),
    "reduction": (lambda i: i.sum(), (_INTEGERS,)),
    "reduction, axis": (lambda m: ((m - 1) ** 2).sum(axis=0), (_MATRIX,)),
    "masked reduction": (lambda x: x[x > 0].sum(), (_FLOATS,)),
    "scan": (lambda i: np.cumsum(i), (_INTEGERS,)),
    "selection": (lambda i: i[i % 3 == 1], (_INTEGERS,)),
    "gather": (lambda x, at: x[at], (_FLOATS, _PERMUTATION)),
    "scatter": (_scatter, (_INTEGERS, _PERMUTATION)),
    "joining": (lambda x, i: np.concatenate((x, i)), (_FLOATS, _SHORTS)),
    "index map": (_index_map, (_MATRIX,)),
    "sort": (lambda x: np.sort(x), (_FLOATS,)),
    "argsort": (lambda i: np.argsort(i, stable=True), (_INTEGERS,)),
    "search": (lambda x: np.searchsorted(np.sort(x), x[:99]), (_FLOATS,)),
    "unique": (lambda i: np.unique(i), (_INTEGERS,)),
    "histogram": (lambda i: np.bincount(i + 1000, minlength=2000), (_INTEGERS,)),
    "stencil": (lambda x: np.convolve(x, x[:15], "same"), (_FLOATS,)),
    "product": (lambda m: m @ m.T, (_MATRIX,)),
    "small matrices": (lambda a: np.linalg.inv(a), (_STACK,)),
    "Fourier transform": (lambda z: np.fft.fft(z, axis=1), (_WAVES,)),
}


def compute(name: str, make: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Compute the result of a family, and return it in host memory. `make` makes device arrays or ndarrays."""
    function, operands = FAMILIES[name]
    answer = function(*map(make, operands))
    return np.asarray(answer if isinstance(answer, np.ndarray | np.generic) else answer.get())


def agrees(computed: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two results agree: integers exactly, floats up to the roundings of a few hundred terms."""
    if computed.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc":
        return bool(np.array_equal(computed, expected))
    scale = float(np.abs(expected).max(initial=0)) or 1.0
    bound = 8 * math.sqrt(max(computed.size, 1)) * float(np.finfo(np.float32).eps)
    return bool(np.allclose(computed, expected, rtol=0, atol=bound * scale))
