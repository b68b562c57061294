"""Workloads of `python -m clarray tune`, by algorithm: calls with exact results, so that results can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.creation import array
from clarray._core.device_array import DeviceArray
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.runtime import current_device
from clarray.ndimage import convolve

__all__ = ["Workload", "workloads"]


@dataclass(frozen=True)
class Workload:
    """A call on arrays that are created once.

    Parameters
    ----------
    label : str
    make : callable
        Creates the arrays from a random generator and the number of elements of a large array.
    call : callable
        Computes the result from the arrays: an array, or a sequence of arrays.
    """

    label: str
    make: Callable[[np.random.Generator, int], tuple[DeviceArray, ...]]
    call: Callable[..., Any]


def _floats(rng: np.random.Generator, n: int) -> DeviceArray:
    """Return small integers as float32: their sums are exact in any order."""
    return array(rng.integers(-4, 5, n, dtype=np.int8).astype(np.float32))


def _rows(n: int) -> tuple[int, int]:
    side = max(1, 1 << (max(n, 1).bit_length() // 2))
    return side, max(1, n // side)


def _matrix(rng: np.random.Generator, n: int) -> DeviceArray:
    rows, columns = _rows(n)
    return _floats(rng, rows * columns).reshape(rows, columns)


def _small_matrices(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    """Return permutation matrices times powers of two: their inverses are exact."""
    order = np.argsort(rng.random((max(1, n // 64), 8)), axis=1)
    return (array(np.eye(8, dtype=np.float32)[order] * 2 ** (order[..., None] % 3)),)


def _large_matrix(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    """Return a large permutation matrix times powers of two, and a large positive definite matrix."""
    side = max(160, min(2048, round((n / 16) ** 0.5)))
    order = rng.permutation(side)
    unit = np.eye(side, dtype=np.float32)
    return array(unit[order] * 2 ** (order[:, None] % 3)), array(unit * 4 ** (order % 3))


def _rounded_integers(values: Any) -> Any:
    """Round values to the integers that they are without rounding errors."""
    return np.rint(values.real).astype(np.int32)


def _vector(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return (_floats(rng, n),)


def _two_vectors(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return _floats(rng, n), _floats(rng, n)


def _two_small_vectors(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return _two_vectors(rng, min(n, 50_000))


def _single_matrix(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return (_matrix(rng, n),)


def _matrix_and_vectors(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    rows, columns = _rows(n)
    return _floats(rng, rows * columns).reshape(rows, columns), _floats(rng, columns), _floats(rng, rows)


def _small_matrix_and_vectors(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return _matrix_and_vectors(rng, min(n, 50_000))


def _floats_and_integers(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    size = max(1, n // 8)
    return (array(rng.random(size, dtype=np.float32)), array(rng.integers(-(2**31), 2**31, size, dtype=np.int32)))


def _bins(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return (array(rng.integers(0, 1000, n, dtype=np.int32)),)


def _two_squares(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    side = max(1, min(1024, round((n / 16) ** 0.5)))
    return tuple(_floats(rng, side * side).reshape(side, side) for _ in range(2))


def _wide_squares(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    """Return square matrices of float64, or of float32 if the device lacks it."""
    narrow = _two_squares(rng, n)
    return tuple(a.astype(np.float64) for a in narrow) if current_device().capabilities.fp64 else narrow


def _few_floats(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return (array(rng.choice(rng.random(100, dtype=np.float32), n)),)


def _wide_integers(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return (array(rng.integers(0, 60_000, n, dtype=np.int32)),)


def _values_and_indices(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    """Return values, and unsorted indices of values with repetitions."""
    return _floats(rng, n), array(rng.integers(0, n, max(1, n // 4)))


def _add_at(x: DeviceArray, numbers: DeviceArray) -> DeviceArray:
    sums = x[:10_000].copy()
    np.add.at(sums, numbers[:20_000] % sums.size, x[: numbers[:20_000].size])
    return sums


def _assign_at(x: DeviceArray, numbers: DeviceArray) -> DeviceArray:
    changed = x.copy()
    changed[numbers] = x[: numbers.size]
    return changed


def _needles(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return array(np.sort(rng.random(max(1, n // 16), dtype=np.float32))), array(rng.random(max(1, n // 8), np.float32))


def _edges(rng: np.random.Generator, n: int) -> tuple[DeviceArray, ...]:
    return (_floats(rng, max(1, n // 8)), array(np.cumsum(rng.random(40)).astype(np.float32) - 10))


_WEIGHTS = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32)


def _convolve(x: DeviceArray) -> Any:

    return convolve(x, _WEIGHTS)


def _sums(x: DeviceArray, y: DeviceArray) -> Any:
    return (x * y).sum()


_TABLE: dict[str, tuple[Workload, ...]] = {
    "elementwise": (
        Workload("a + b", _two_vectors, lambda a, b: a + b),
        Workload("a * b + a, small", _two_small_vectors, lambda a, b: a * b + a),
        Workload("a.T + 1 copied", _single_matrix, lambda a: (a.T + 1).copy()),
        Workload("a[::2] * 2", _vector, lambda a: a[::2] * 2),
    ),
    "reduce": (
        Workload("sum", _vector, lambda a: a.sum()),
        Workload("(a * b).sum(), small", _two_small_vectors, _sums),
        Workload("sum axis 0", _single_matrix, lambda a: a.sum(axis=0)),
        Workload("sum axis 1", _single_matrix, lambda a: a.sum(axis=1)),
        Workload("max", _vector, lambda a: a.max()),
    ),
    "products": (
        Workload("a @ b, vectors", _two_vectors, lambda a, b: a @ b),
        Workload("A @ x", _matrix_and_vectors, lambda a, x, y: a @ x),
        Workload("y @ A", _matrix_and_vectors, lambda a, x, y: y @ a),
        Workload("A @ x, small", _small_matrix_and_vectors, lambda a, x, y: a @ x),
    ),
    "scan": (
        Workload("cumsum", _vector, lambda a: np.add.accumulate(a)),
        Workload("cumsum axis 0", _single_matrix, lambda a: np.add.accumulate(a, axis=0)),
        Workload("cumsum axis 1", _single_matrix, lambda a: np.add.accumulate(a, axis=1)),
    ),
    "compact": (
        Workload("a[a > 0]", _vector, lambda a: a[a > 0]),
        Workload("nonzero", _vector, lambda a: np.nonzero(a > 3)),
    ),
    "sort": (
        Workload("sort float32", _floats_and_integers, lambda x, y: np.sort(x)),
        Workload("sort int32", _floats_and_integers, lambda x, y: np.sort(y)),
        Workload("argsort float32", _floats_and_integers, lambda x, y: np.argsort(x, kind="stable")),
        Workload("sort 100 different ones", _few_floats, lambda x: np.sort(x)),
    ),
    "histogram": (
        Workload("bincount", _bins, lambda a: np.bincount(a, minlength=1000)),
        Workload("histogram", _vector, lambda a: np.histogram(a, 256, (-8, 8))[0]),
        Workload("histogram between edges", _edges, lambda a, edges: np.histogram(a, edges)[0]),
    ),
    "matmul": (
        Workload("a @ b", _two_squares, lambda a, b: a @ b),
        Workload("a @ b, wide", _wide_squares, lambda a, b: a @ b),
    ),
    "stencil": (Workload("convolve 3 x 3", _single_matrix, _convolve),),
    "unique": (
        Workload("unique of a range", _wide_integers, lambda a: np.unique(a)),
        Workload("unique of 100 floats", _few_floats, lambda a: np.unique(a)),
        Workload("unique, small", _two_small_vectors, lambda a, b: np.unique(a)),
    ),
    "gather": (
        Workload("a[numbers]", _values_and_indices, lambda a, numbers: a[numbers]),
        Workload("a[numbers] = b", _values_and_indices, _assign_at),
    ),
    "scatter": (Workload("add.at", _values_and_indices, _add_at),),
    "search": (Workload("searchsorted", _needles, lambda line, needles: np.searchsorted(line, needles)),),
    "join": (
        Workload("stack, last axis", _two_vectors, lambda a, b: np.stack([a, b], axis=-1)),
        Workload("concatenate, small", _two_small_vectors, lambda a, b: np.concatenate([a[:1000], b[:1000], a[:10]])),
    ),
    "small_matrices": (Workload("inv of 8 x 8", _small_matrices, lambda a: np.linalg.inv(a)),),
    "factorization": (
        Workload("inv", _large_matrix, lambda a, b: np.linalg.inv(a)),
        Workload("cholesky", _large_matrix, lambda a, b: np.linalg.cholesky(b)),
    ),
    "spectral": (Workload("eigvalsh", _large_matrix, lambda a, b: _rounded_integers(np.linalg.eigvalsh(b))),),
    "fft": (
        Workload("fft and ifft", _vector, lambda a: _rounded_integers(np.fft.ifft(np.fft.fft(a)))),
        Workload("fft2 and ifft2", _single_matrix, lambda a: _rounded_integers(np.fft.ifft2(np.fft.fft2(a)))),
        Workload(
            "rfft and irfft", _single_matrix, lambda a: _rounded_integers(np.fft.irfft(np.fft.rfft(a), a.shape[1]))
        ),
    ),
    "index_map": (Workload("tile", _vector, lambda a: np.tile(a[: a.size // 4], 4)),),
}


def workloads(algorithm: str) -> tuple[Workload, ...]:
    """Return the workloads of an algorithm, or an empty tuple."""
    return _TABLE.get(algorithm, ())
