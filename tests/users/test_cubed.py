"""Cubed over device arrays: each operation gives NumPy's values, and its chunks are on the device.

Cubed's own tests run by ``python tests/suites/run.py cubed``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

os.environ["CUBED_BACKEND_ARRAY_API_MODULE"] = "clarray"  # which Cubed reads when it is imported
cubed = pytest.importorskip("cubed")
over_chunks = pytest.importorskip("cubed.array_api")
random = pytest.importorskip("cubed.random")

pytestmark = pytest.mark.filterwarnings("ignore:numpy.core:DeprecationWarning")  # Cubed imports numpy.core.numeric

GRID = (np.arange(48) * 7 % 48).reshape(6, 8) / 8
Body = Callable[[Any, Any], Any]

# A body takes the namespace, Cubed's or NumPy's, and the grid as its array.
CASES: dict[str, Body] = {
    # element by element
    "arithmetic": lambda xp, a: (a * 2 + 1) / (a + 3) - a**2,
    "chain": lambda xp, a: xp.sqrt(xp.sin(a) ** 2 + xp.cos(a) ** 2),
    "exp": lambda xp, a: xp.exp(-a),
    "log1p": lambda xp, a: xp.log1p(a),
    "atan2": lambda xp, a: xp.atan2(a, a + 1),
    "hypot": lambda xp, a: xp.hypot(a, a),
    "logaddexp": lambda xp, a: xp.logaddexp(a, a),
    "floor_divide": lambda xp, a: a // 0.75,
    "remainder": lambda xp, a: a % 0.75,
    "maximum": lambda xp, a: xp.maximum(a, 6 - a),
    "clip": lambda xp, a: xp.clip(a, 1, 4),
    "round": lambda xp, a: xp.round(a),
    "sign": lambda xp, a: xp.sign(a - 2),
    "compare": lambda xp, a: (a > 1) & (a != 2),
    "where": lambda xp, a: xp.where(a > 3, a, -a),
    "isfinite": lambda xp, a: xp.isfinite(1 / a[1:, :]),
    "astype": lambda xp, a: xp.astype(a, xp.int32),
    "bits": lambda xp, a: xp.bitwise_xor(xp.astype(a, xp.int32), xp.astype(a * 8, xp.int32)),
    "broadcast": lambda xp, a: a - a[:1, :] + a[:, :1],
    "broadcast_to": lambda xp, a: xp.broadcast_to(a, (2, 6, 8)),
    "isin": lambda xp, a: xp.isin(a, xp.asarray([0.0, 1.0, 2.0])),
    # reductions and scans
    "sum": lambda xp, a: xp.sum(a, axis=0),
    "sum of all": lambda xp, a: xp.sum(a),
    "prod": lambda xp, a: xp.prod(a + 0.5, axis=1),
    "mean": lambda xp, a: xp.mean(a, axis=1, keepdims=True),
    "var": lambda xp, a: xp.var(a, axis=0),
    "std": lambda xp, a: xp.std(a),
    "max": lambda xp, a: xp.max(a, axis=1),
    "min": lambda xp, a: xp.min(a),
    "argmax": lambda xp, a: xp.argmax(a, axis=0),
    "argmin": lambda xp, a: xp.argmin(a, axis=1),
    "any": lambda xp, a: xp.any(a > 5, axis=0),
    "all": lambda xp, a: xp.all(a >= 0),
    "count_nonzero": lambda xp, a: xp.count_nonzero(a, axis=1),
    "cumulative_sum": lambda xp, a: xp.cumulative_sum(a, axis=1),
    "cumulative_prod": lambda xp, a: xp.cumulative_prod(a + 0.5, axis=0),
    "standardized": lambda xp, a: (a - xp.mean(a, axis=0)) / xp.std(a, axis=0),
    # shapes and places
    "slice": lambda xp, a: a[1:5, ::3],
    "reversed": lambda xp, a: xp.flip(a, axis=1),
    "take": lambda xp, a: xp.take(a, xp.asarray([5, 0, 2]), axis=0),
    "reshape": lambda xp, a: xp.reshape(xp.arange(48), (6, 8)),
    "transpose": lambda xp, a: xp.permute_dims(a, (1, 0)),
    "expand_dims": lambda xp, a: xp.expand_dims(a, axis=1),
    "squeeze": lambda xp, a: xp.squeeze(a[:, :1], axis=1),
    "concat": lambda xp, a: xp.concat([a, a + 1], axis=1),
    "stack": lambda xp, a: xp.stack([a, -a], axis=1),
    "unstack": lambda xp, a: xp.unstack(a, axis=0)[2],
    "roll": lambda xp, a: xp.roll(a, 3, axis=1),
    "repeat": lambda xp, a: xp.repeat(a, 2, axis=0),
    "tile": lambda xp, a: xp.tile(a, (1, 2)),
    "tril": lambda xp, a: xp.tril(a),
    "diff": lambda xp, a: xp.diff(a, axis=1),
    "meshgrid": lambda xp, a: xp.meshgrid(a[0, :], a[:, 0])[1],
    "searchsorted": lambda xp, a: xp.searchsorted(xp.asarray([0.0, 1.0, 2.0, 5.0]), a[0, :]),
    # products
    "matmul": lambda xp, a: a @ a.T,
    "tensordot": lambda xp, a: xp.tensordot(a, a, axes=([0], [0])),
    "vecdot": lambda xp, a: xp.vecdot(a, a),
    # made by Cubed
    "arange": lambda xp, a: xp.arange(10) * 2,
    "linspace": lambda xp, a: xp.linspace(0, 1, 7),
    "eye": lambda xp, a: xp.eye(6) + a[:, :6],
    "full_like": lambda xp, a: xp.full_like(a, 3.0),
    "zeros": lambda xp, a: xp.zeros((6, 8)) + xp.ones((6, 8)),
}


@pytest.fixture
def chunked() -> Any:
    """The grid in chunks of 4 by 3, which divide neither extent."""
    if not current_device().capabilities.fp64:
        pytest.skip("Cubed's default dtype is float64, which the device has not")
    return over_chunks.asarray(GRID, chunks=(4, 3))


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str, chunked) -> None:
    ours, theirs = CASES[name](over_chunks, chunked), np.asarray(CASES[name](np, GRID))
    found = ours.compute()
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(found, theirs, rtol=1e-12)


def kind(block: clarray.DeviceArray) -> clarray.DeviceArray:
    """One for each chunk that lies on the device."""
    return clarray.full((1, 1), isinstance(block, clarray.DeviceArray))


def test_chunks_are_on_the_device(chunked) -> None:
    for array in (
        chunked,
        chunked + 1,
        chunked @ chunked.T,
        random.random((6, 8), chunks=(4, 3)),
    ):
        chunks = cubed.map_blocks(kind, array, dtype=bool, chunks=tuple((1,) * n for n in array.numblocks))
        assert chunks.shape == array.numblocks
        assert np.all(chunks.compute())


def test_rechunk_and_blocks(chunked) -> None:
    again = cubed.rechunk(chunked + 1, (2, 8))
    assert again.chunks == ((2, 2, 2), (8,))
    np.testing.assert_array_equal(again.compute(), GRID + 1)
    np.testing.assert_array_equal(cubed.map_blocks(clarray.sort, again, dtype=again.dtype).compute(), np.sort(GRID + 1))


def test_windows(chunked) -> None:
    smooth = cubed.map_overlap(
        lambda block: clarray.ndimage.gaussian_filter(block, 1.0, truncate=2.0)[2:-2, 2:-2],
        chunked,
        dtype=chunked.dtype,
        chunks=chunked.chunks,
        depth=2,
        boundary=0,
    )
    ndimage = pytest.importorskip("scipy.ndimage")
    expected = ndimage.gaussian_filter(np.pad(GRID, 2), 1.0, truncate=2.0, mode="constant")[2:-2, 2:-2]
    inner = (slice(2, -2),) * 2
    np.testing.assert_allclose(smooth.compute()[inner], expected[inner], rtol=1e-6)
