"""Products with few columns, whose rows stay in registers: NumPy's results, at every extent, stride and dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.algorithms.matmul.launch import matmul, worthwhile
from clarray._engine.algorithms.matmul.launch_narrow import run_narrow
from clarray._engine.algorithms.matmul.policy import CPU
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]


def whole(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose products and sums every dtype has exactly (or wraps around)."""
    random = np.random.default_rng(seed)
    values = random.integers(-3, 4, shape).astype(dtype)
    return (values + 1j * random.integers(-3, 4, shape)).astype(dtype) if values.dtype.kind == "c" else values


# A CPU's kernels have so much in registers that a GPU keeps 30 KB for each work-item it may run, 8 GB for the process.
@pytest.fixture(autouse=True, params=["cpu", "gpu"] if current_device().capabilities.host_memory else ["gpu"])
def launches(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """A policy for products however small, and for each that is neither packed nor in tiles how many rows it has."""
    found: list[int] = []

    def counted(*args: Any) -> None:
        found.append(args[-1].shape[-2])
        run_narrow(*args)

    monkeypatch.setitem(matmul.__globals__, "run_narrow", counted)
    cpu = {name: getattr(CPU, name) for name in ("narrow_bytes", "narrow_block", "narrow_left")}
    with policy_in_force(request.param), policy_changed("matmul", narrow_work=0, **cpu):
        yield found


@pytest.mark.kernels_alone
def test_every_dtype(same: Same, dtype: str, launches: list[int]) -> None:
    a, b, c = whole((4, 9, 5), dtype), whole((4, 5, 7), dtype, 1), whole((4, 7, 5), dtype, 1)
    same(lambda xp: xp.asarray(a) @ xp.asarray(b))
    same(lambda xp: xp.asarray(a) @ xp.asarray(c).swapaxes(1, 2))
    assert launches == [9, 9]


@pytest.mark.parametrize("extent", range(2, 18))
@pytest.mark.optimized
def test_every_extent(same: Same, extent: int, launches: list[int]) -> None:
    m, k = extent * 5 % 17 + 1, extent * 3 % 17 + 2  # 1 .. 17, 2 .. 18
    a, b = whole((3, m, k)), whole((3, k, extent), seed=1)
    same(lambda xp: xp.asarray(a) @ xp.asarray(b))
    assert launches == ([m] if m > 1 else [])


@pytest.mark.kernels_alone
def test_rows_of_several_vectors(same: Same, launches: list[int]) -> None:
    for dtype, n in (("float32", 31), ("uint16", 17), ("complex64", 13), ("float16", 29), ("bool", 30)):
        a, b = whole((2, 19, 4), dtype), whole((2, 4, n), dtype, 1)
        same(lambda xp, a=a, b=b: xp.asarray(a) @ xp.asarray(b))
    assert launches == [19] * 5


UNLIKE = [
    ("int8", "float32"),
    ("bool", "int16"),
    ("float32", "bool"),
    ("float16", "complex64"),
    ("complex64", "bool"),
    ("float32", "complex64"),
    ("int32", "uint8"),
    ("uint8", "float16"),
    ("int64", "int32"),
]


@pytest.mark.parametrize("dtypes", UNLIKE, ids=str)
def test_unlike_dtypes(same: Same, dtypes: tuple[str, str]) -> None:
    a, b = whole((4, 9, 5), dtypes[0]), whole((4, 5, 6), dtypes[1], 1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        return [x @ y, y.swapaxes(1, 2) @ x.swapaxes(1, 2), y.mT[..., ::-1] @ x.mT.copy()]

    same(body)


def test_unlike_wide_dtypes(same: Same) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    for one, other in (("complex64", "complex128"), ("float64", "complex64"), ("int64", "float32")):
        test_unlike_dtypes(same, (one, other))


def test_any_strides(same: Same) -> None:
    a, b = whole((6, 10, 12)), whole((6, 12, 10), seed=1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        return [
            x[:, ::2, ::3] @ y[:, ::3, 1::3],
            x[::-1, ::-1, ::-1] @ y[:, ::-1],
            x[:, 1:, 1:] @ y[:, 1:, ::-2],
            x.transpose(0, 2, 1) @ y.transpose(0, 2, 1),
            x.transpose(1, 0, 2) @ y.transpose(2, 1, 0),
            xp.broadcast_to(x[:, :1], (6, 10, 12)) @ xp.broadcast_to(y[:, :, :1], (6, 12, 7)),
            xp.broadcast_to(x[0, 0, 0], (9, 12)) @ y,
        ]

    same(body)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "float16"])
def test_vectors_wherever_they_begin(same: Same, dtype: str) -> None:
    """Rows and matrices of a window begin at multiples of a vector, or not, and end before one does."""
    a, b = whole((6, 9, 5), dtype), whole((6, 7, 24), dtype, 1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        windows = [(first, first + n) for first in (0, 1, 2, 4, 8) for n in (2, 3, 4, 7, 8, 12)]
        found = [x @ y[:, :5, slice(*window)] for window in windows]
        return [*found, x @ y[:, 1:6, 8:16], x[0] @ y[1:, 2:, 4:12]]

    same(body)


BATCHES = [
    ((5, 6, 7), (7, 5)),
    ((6, 7), (5, 7, 5)),
    ((2, 1, 6, 7), (3, 7, 5)),
    ((2, 3, 9, 7), (1, 3, 7, 5)),
    ((2, 3, 1, 9, 7), (3, 4, 7, 5)),
    ((1, 6, 7), (3, 7, 5)),
    ((1000, 3), (3, 3)),
    ((2, 0, 6, 7), (7, 5)),
]


@pytest.mark.parametrize("shapes", BATCHES, ids=str)
def test_batches(same: Same, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = whole(shapes[0]), whole(shapes[1], seed=1)
    same(lambda xp: [xp.asarray(a) @ xp.asarray(b), xp.asarray(a)[::-1] @ xp.asarray(b)[..., ::-1]])


def test_results_written_past_the_caches(same: Same, launches: list[int]) -> None:
    cache = kernel_cache_of(current_device())
    rows = cache.policies
    cache.policies = replace(rows, elementwise=replace(rows.elementwise, stream_bytes=1))
    for dtype in ("float32", "int32", "complex64", "float16", "bool"):
        a, b = whole((40, 8, 8), dtype), whole((40, 8, 8), dtype, 1)

        def body(xp: ModuleType, a: np.ndarray = a, b: np.ndarray = b) -> Any:
            x, y = xp.asarray(a), xp.asarray(b)
            whole_, moved = xp.zeros((42, 8, 8), a.dtype), xp.zeros(40 * 64 + 1, a.dtype)
            xp.matmul(x, y, out=whole_[1:41])
            xp.matmul(x, y, out=moved[1:].reshape(40, 8, 8))
            return [x @ y, x @ y[..., :7], whole_, moved]

        same(body)
    assert launches == [8] * 20


def test_integers_wrap_around(same: Same) -> None:
    for dtype in ("int8", "uint32", "int64"):
        info = np.iinfo(dtype)
        a = np.random.default_rng(3).integers(info.min, info.max, (9, 8, 8), dtype, endpoint=True)
        same(lambda xp, a=a: xp.asarray(a) @ xp.asarray(a).swapaxes(1, 2))


def test_nan_and_infinity_stay_in_their_rows(same: Same) -> None:
    a, b = whole((3, 19, 10)), np.ones((3, 10, 7), np.float32)
    a[1, 3, 4], a[2, 18, 9], b[0, 2, 6] = np.nan, np.inf, np.inf
    a[:, :, 2] = np.abs(a[:, :, 2]) + 1
    with np.errstate(invalid="ignore"):
        same(lambda xp: xp.asarray(a) @ xp.asarray(b))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16"])
@pytest.mark.optimized
def test_sums_are_as_exact_as_in_order(dtype: str, launches: list[int]) -> None:
    random = np.random.default_rng(5)
    a, b = random.random((400, 256)) - 0.3, random.random((256, 4)) - 0.3
    if dtype == "complex64":
        a, b = a + 1j * random.random(a.shape), b - 1j * random.random(b.shape)
    a, b = a.astype(dtype), b.astype(dtype)
    exact = a.astype(np.complex128) @ b.astype(np.complex128)
    ours = clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b))
    in_order = np.zeros_like(exact, dtype)  # which NumPy's library betters on some processors
    for column, row in zip(a.T, b, strict=True):
        in_order += column[:, None] * row
    errors = [float(np.sqrt(np.mean(np.abs(found - exact) ** 2))) for found in (ours, a @ b, in_order)]
    assert launches == [400]
    assert errors[0] <= 1.25 * max(errors[1:])


def test_what_is_too_wide_or_too_long_is_packed(launches: list[int]) -> None:
    policy = kernel_cache_of(current_device()).policies.matmul
    for m, k, n in ((9, 8, 33), (9, 257, 4), (9, 100, 32)):
        a, b = whole((m, k)), whole((k, n), seed=1)
        assert worthwhile(policy, m, n, k, a.dtype)
        np.testing.assert_array_equal(clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b)), a @ b)
    assert launches == []
