"""Reduction and scan kernels of the user's, on the engines of the built-in ones."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import ReductionKernel, ScanKernel

from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")
SUM = ReductionKernel("T x", "int64 y", "x", "a + b", identity=0, name="sum_of")
LARGEST = ReductionKernel("T x, T y", "T z", "x * y", "max(a, b)", name="largest")
NORM = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0, "norm")
OFFSETS = ScanKernel("int32 count", "int64 start", "count", "a + b", identity=0, exclusive=True, name="offsets")
# x -> p x + q, packed into 64 bits: applied one after the other, which is associative and not commutative
AFFINE = ScanKernel(
    "uint32 p, uint32 q",
    "uint32 y",
    "((ulong)p << 32) | q",
    "((ulong)((uint)(a >> 32) * (uint)(b >> 32)) << 32) | (uint)((uint)(b >> 32) * (uint)a + (uint)b)",
    "y = (uint)a",
    name="affine",
    scan_type="uint64",
)


def check(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(clarray.asnumpy(found), expected)


@pytest.fixture
def host() -> np.ndarray:
    return np.random.default_rng(3).integers(-50, 50, (7, 5, 11)).astype(np.int32)


@pytest.mark.parametrize("axis", [None, 0, 2, (0, 2), ()])
def test_axes(policy: str, host: np.ndarray, axis: Any) -> None:
    x = clarray.array(host)
    check(SUM(x, axis=axis), host.sum(axis=axis, dtype=np.int64))
    check(LARGEST(x, x, axis=axis, keepdims=True), (host * host).max(axis=axis, keepdims=True))


@pytest.mark.parametrize("kind", ["bool", "uint8", "float16", "complex64"])
def test_dtypes(policy: str, kind: str) -> None:
    x = (np.arange(200) % 3).astype(kind)
    total = ReductionKernel("T x", "T y", "x", "a + b" if kind != "bool" else "a || b", identity=0, name="total")
    expected = x.any() if kind == "bool" else x.sum(dtype=kind)
    check(total(clarray.array(x)), expected)


@pytest.mark.parametrize("identity", ["-INFINITY", -1e30, "", "LOWEST"])
@pytest.mark.optimized
def test_identities(policy: str, identity: Any) -> None:
    x = np.linspace(-9, -1, 77, dtype=np.float32)
    kernel = ReductionKernel(
        "T x", "T y", "x", "fmax(a, b)", identity=identity, name="top", preamble="#define LOWEST (-INFINITY)"
    )
    check(kernel(clarray.array(x)), x.max())
    if identity not in (None, ""):
        assert kernel(clarray.array(x[:0])).item() < -1e29


@pytest.mark.parametrize(("shape", "axis"), [((0, 3), 1), ((3, 0), 0), ((0, 2, 0), 1)])
def test_nothing_is_reduced_without_identity_where_lines_have_elements(shape: tuple[int, ...], axis: int) -> None:
    largest = ReductionKernel("T x", "T y", "x", "max(a, b)", name="largest")
    check(largest(clarray.zeros(shape, np.float32), axis=axis), np.zeros(shape, np.float32).max(axis))


@pytest.mark.kernels_alone
def test_reductions_are_pending_and_fuse(host: np.ndarray) -> None:
    x = clarray.array(host.astype(np.float32))
    expected = np.linalg.norm(host.astype(np.float64) * 2)
    (NORM(x * 2) + 1).item()
    with clarray.profile() as p:
        found = NORM(x * 2) + 1
        assert p.launches == 0
        np.testing.assert_allclose(found.item(), expected + 1, rtol=1e-6)
    assert p.launches == 1
    out = clarray.zeros((), np.float32)
    assert NORM(x, out=out) is out
    assert NORM(x, out) is out
    check(SUM(clarray.array(host)[clarray.array(host) > 0]), host[host > 0].sum(dtype=np.int64))


def test_positions_and_whole_arrays(policy: str) -> None:
    weighted = ReductionKernel("int32 x", "int64 y", "x * i + n", "a + b", identity=0, name="weighted")
    x = np.arange(60, dtype=np.int32).reshape(6, 10)
    check(weighted(clarray.array(x).T), (x.T * np.arange(60).reshape(10, 6) + 60).sum(dtype=np.int64))
    neighbours = ReductionKernel("raw T x", "T y", "x[i] * x[i + 1]", "a + b", identity=0, name="neighbours")
    flat = x.reshape(-1)
    check(neighbours(clarray.array(flat), size=59), (flat[:-1] * flat[1:]).sum(dtype=np.int32))


@pytest.mark.optimized
def test_the_same_bits_every_time() -> None:
    x = clarray.array(np.random.default_rng(0).random(100_003, dtype=np.float32))
    total = ReductionKernel("T x", "T y", "x", "a + b", identity=0, name="total")
    running = ScanKernel("T x", "T y", "x", "a + b", name="running")
    assert len({total(x).item() for _ in range(5)}) == 1
    assert len({clarray.asnumpy(running(x)).tobytes() for _ in range(5)}) == 1


# Scans --------------------------------------------------------------------------------------------


def affine(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    steps = zip(p.tolist(), q.tolist(), strict=True)
    states = accumulate(steps, lambda s, t: (0, (t[0] * s[1] + t[1]) % 2**32))
    return np.array([y for _, y in states], np.uint32)


@pytest.mark.parametrize("row", ["own", "tiny-cpu", "tiny-gpu", "tiny-fenced"])
def test_an_operation_that_does_not_commute(row: str) -> None:
    rng = np.random.default_rng(1)
    with policy_in_force(row):
        for size in (1, 7, 8, 9, 31, 32, 33, 64, 65, 257, 1000):
            p, q = rng.integers(0, 2**32, (2, size), dtype=np.uint32)
            check(AFFINE(clarray.array(p), clarray.array(q)), affine(p, q))


def test_exclusive_and_inclusive(policy: str, host: np.ndarray) -> None:
    x = clarray.array(host)
    flat = host.reshape(-1)
    check(OFFSETS(x), np.cumsum(flat, dtype=np.int64) - flat)
    for axis in range(3):
        check(OFFSETS(x, axis=axis), np.cumsum(host, axis=axis, dtype=np.int64) - host)
        check(OFFSETS(x[::-1] + 1, axis=axis), np.cumsum(host[::-1] + 1, axis=axis, dtype=np.int64) - host[::-1] - 1)
    largest = ScanKernel("T x", "T y", "x", "max(a, b)", name="largest")
    check(largest(x, axis=-1), np.maximum.accumulate(host, axis=-1))
    started = ScanKernel("T x", "T y", "x", "max(a, b)", identity="LOW", exclusive=True, preamble="#define LOW -99")
    check(started(x, axis=1)[:, 0], np.full((7, 11), -99, np.int32))


def test_the_end_of_a_scan_sees_the_inputs(host: np.ndarray) -> None:
    before = ScanKernel("T x, T y", "T z", "x", "a + b", "z = a - x + y * i", name="before")
    x = clarray.array(host)
    flat = host.reshape(-1)
    shifted = np.cumsum(flat + 1, dtype=np.int32) - flat - 1
    check(before(x + 1, 2), (shifted + 2 * np.arange(flat.size)).astype(np.int32))
    expected = np.cumsum(host, axis=1, dtype=np.int32) - host + host[:, :1]
    no_position = ScanKernel("T x, T y", "T z", "x", "a + b", "z = a - x + y", name="no_position")
    check(no_position(x, x[:, :1], axis=1), expected)
    check(no_position(x, x[:, :1]), (np.cumsum(flat, dtype=np.int32) - flat) + np.repeat(host[:, :1], 5, 1).reshape(-1))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), ()])
def test_small_shapes(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.int32)
    check(OFFSETS(clarray.array(x)), np.cumsum(x, dtype=np.int64) - x.reshape(-1))
    check(SUM(clarray.array(x)), x.sum(dtype=np.int64))


def test_outputs(host: np.ndarray) -> None:
    x = clarray.array(host)
    out = clarray.zeros(host.shape, np.int64)[:, ::-1]
    assert OFFSETS(x, axis=0, out=out) is out
    check(out, np.cumsum(host, axis=0, dtype=np.int64) - host)
    with pytest.raises(ValueError, match="the output has shape"):
        OFFSETS(x, out=out)
