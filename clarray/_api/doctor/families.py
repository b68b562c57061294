"""A short computation by each family of kernels, whose answer NumPy gives as well."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FAMILIES", "agrees", "compute"]

_N = 10_007  # no multiple of a vector or a work-group
_RANDOM = np.random.default_rng(7)
_FLOATS = (_RANDOM.random(_N) - 0.5).astype(np.float32)
_INTEGERS = _RANDOM.integers(-1000, 1000, _N).astype(np.int32)
_SHORTS = _INTEGERS.astype(np.int16)  # beside float32 they make float32: not every device has float64
_PLACES = _RANDOM.permutation(_N).astype(np.int64)
_MATRIX = _RANDOM.random((67, 45)).astype(np.float32)
_STACK = _RANDOM.random((40, 4, 4)).astype(np.float32) + 4 * np.eye(4, dtype=np.float32)
_WAVES = (_RANDOM.random((12, 360)) + 1j * _RANDOM.random((12, 360))).astype(np.complex64)


def _scatter(x: Any, at: Any) -> Any:
    made = np.zeros_like(x)
    made[at] = x
    return made


def _index_map(x: Any) -> Any:
    return np.pad(np.roll(x, 3, 0), 2, mode="reflect")


# NumPy's functions go to the device with the arrays that they are given.
FAMILIES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "elementwise": (lambda x, i: np.sqrt(abs(x) * 2 + 1) - i // 7, (_FLOATS, _SHORTS)),
    "functions": (lambda x: np.exp(x) + np.sin(x) * np.log1p(abs(x)), (_FLOATS,)),
    "transposing": (lambda m: (m.T + 1).copy(), (_MATRIX,)),
    "reduction": (lambda i: i.sum(), (_INTEGERS,)),
    "reduction, axis": (lambda m: ((m - 1) ** 2).sum(axis=0), (_MATRIX,)),
    "masked reduction": (lambda x: x[x > 0].sum(), (_FLOATS,)),
    "scan": (lambda i: np.cumsum(i), (_INTEGERS,)),
    "selection": (lambda i: i[i % 3 == 1], (_INTEGERS,)),
    "gather": (lambda x, at: x[at], (_FLOATS, _PLACES)),
    "scatter": (_scatter, (_INTEGERS, _PLACES)),
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
    """Compute one family's answer on what `make` makes of the operands: device arrays, or ndarrays; in host memory."""
    function, operands = FAMILIES[name]
    found = function(*map(make, operands))
    return np.asarray(found if isinstance(found, np.ndarray | np.generic) else found.get())


def agrees(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two answers are the same: integers exactly, floats up to the roundings of a few hundred terms."""
    if found.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc":
        return bool(np.array_equal(found, expected))
    scale = float(np.abs(expected).max(initial=0)) or 1.0
    most = 8 * math.sqrt(max(found.size, 1)) * float(np.finfo(np.float32).eps)
    return bool(np.allclose(found, expected, rtol=0, atol=most * scale))
