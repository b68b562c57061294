"""The sort engine against NumPy: every dtype, the boundaries of every pass, stability, NaN and zeros."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import clarray
from clarray._core.creation import as_array
from clarray._core.device_array import wrap
from clarray._engine.algorithms.sort.launch import argsort_rows, sort_pairs, sort_rows
from clarray._engine.runtime import current_device

from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

# 4 and 16 are where the tiny policies change from counting to digits, and from one work-item to several.
SIZES = (0, 1, 2, 4, 5, 15, 16, 17, 31, 33, 100, 257, 1000)


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Numbers of the whole range, many of them equal; among floats NaN of both signs, inf and both zeros."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        span = np.iinfo(kind)
        wide = rng.integers(span.min, span.max, shape, dtype=kind, endpoint=True)
        return np.where(rng.random(shape) < 0.3, rng.integers(0, 3, shape), wide).astype(kind)
    if kind.kind == "c":
        part = "float32" if kind.itemsize == 8 else "float64"
        found = np.empty(shape, kind)
        found.real, found.imag = values(part, shape, seed + 1), values(part, shape, seed + 2)
        return found
    found = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)
    chance = rng.random(shape)
    for number, special in enumerate((np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.5, -1.5)):
        found[(chance > number / 20) & (chance < (number + 1) / 20)] = special
    return found.astype(kind)


def sort(host: np.ndarray, axis: int = -1) -> np.ndarray:
    node = as_array(host, current_device())._node
    return clarray.asnumpy(wrap(sort_rows(node, axis % host.ndim)))


def argsort(host: np.ndarray, axis: int = -1) -> np.ndarray:
    node = as_array(host, current_device())._node
    return clarray.asnumpy(wrap(argsort_rows(node, axis % host.ndim)))


def check(host: np.ndarray, axis: int = -1) -> None:
    found = sort(host, axis)
    assert found.dtype == host.dtype
    np.testing.assert_array_equal(found, np.sort(host, axis))
    order = argsort(host, axis)
    assert order.dtype == np.int64
    np.testing.assert_array_equal(order, np.argsort(host, axis, kind="stable"))


def test_dtypes(dtype: str) -> None:
    for n in (0, 1, 2, 100, 1000):
        check(values(dtype, (n,)))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64"])  # keys of 8, 32 and 64 bits
@pytest.mark.optimized
def test_sizes(policy: str, dtype: str) -> None:
    whole = values(dtype, (SIZES[-1],))
    for n in SIZES:
        check(whole[:n])


@pytest.mark.parametrize("dtype", ["float32", "uint64"])
def test_look_back_that_gives_up(dtype: str) -> None:
    with policy_in_force("tiny-fenced"):
        for n in (17, 33, 1000):
            check(values(dtype, (n,)))


@pytest.mark.parametrize("row", ["tiny-cpu", "tiny-gpu", "tiny-fenced"])
def test_counts_and_positions_of_64_bits(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarray._engine.algorithms.sort.plan.WORD", 1)
    with policy_in_force(row):
        for n in (17, 1000):
            check(values("float32", (n,)))


@pytest.mark.parametrize("shape", [(7, 3), (40, 5), (3, 33), (300, 2), (2, 257), (5, 1), (0, 4), (4, 0)])
def test_lines(policy: str, shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "complex64"):
        host = values(dtype, shape)
        check(host, 0)
        check(host, 1)


def test_axes_and_strides(policy: str) -> None:
    host = values("float32", (6, 5, 8))
    for axis in range(3):
        check(host, axis)
        check(host.transpose(2, 0, 1), axis)
        check(np.asfortranarray(host), axis)
        check(host[::-2, :, ::3], axis)
        check(np.broadcast_to(host[:, :1], (6, 4, 8)), axis)


@pytest.mark.parametrize("dtype", ["float32", "uint64"])
def test_distributions(policy: str, dtype: str) -> None:
    n = 3000
    rng = np.random.default_rng(1)
    few, some = rng.random(n) < 0.6, rng.random(n) < 0.9
    for host in (
        *(np.full(n, 7), np.arange(n), np.arange(n)[::-1], np.arange(n) % 5, rng.integers(0, 1 << 20, n)),
        np.where(np.arange(n) == 9, 1 << 30, rng.integers(0, 9, n)),
        np.where(some, 3, rng.integers(0, 1 << 30, n)),
        rng.integers(0, 6, n) * (1 << 25),
        rng.permutation(n) + (1 << 22),
        np.where(few, 5 << 20, 6 << 20) + rng.integers(0, 3, n),
    ):
        check(host.astype(dtype))


@pytest.mark.parametrize("payload", ["bool", "int16", "int64", "complex128"])
def test_pairs(policy: str, payload: str) -> None:
    if payload == "complex128" and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    for dtype in ("float32",):
        host, carried = values(dtype, (1000,)), values(payload, (1000,), 5)
        nodes = [as_array(h, current_device())._node for h in (host, carried)]
        keys, moved = (clarray.asnumpy(wrap(n)) for n in sort_pairs(*nodes))
        order = np.argsort(host, kind="stable")
        np.testing.assert_array_equal(keys, host[order])
        np.testing.assert_array_equal(moved, carried[order])


@pytest.mark.optimized
def test_bits_of_zeros_and_nans_survive(policy: str) -> None:
    host = values("float32", (1000,))
    found = sort(host)
    assert np.signbit(found[found == 0]).sum() == np.signbit(host[host == 0]).sum()
    np.testing.assert_array_equal(np.sort(found.view("u4")), np.sort(host.view("u4")))


def test_long_line_of_every_width() -> None:
    for dtype in ("uint8", "float16", "float32", "uint64"):
        check(values(dtype, (150_000,)))


def test_long_lines_of_every_distribution() -> None:
    n = 400_000
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(n)
    for host in (
        rng.random(n),
        np.full(n, 2.5),
        np.sort(noise),
        noise[:9][rng.integers(0, 9, n)],
        np.exp(9 * noise),
        np.where(rng.random(n) < 0.9, 1 + rng.random(n) / 1000, noise),
        np.where(np.arange(n) == n // 2, noise, 0),
    ):
        check(host.astype(np.float32))


def test_pending_operand(policy: str) -> None:
    host = values("float32", (33, 40))
    x = clarray.asarray(host)
    for axis in (0, 1):
        found = clarray.asnumpy(wrap(sort_rows((x * 2 + 1)._node, axis)))
        np.testing.assert_array_equal(found, np.sort(host * 2 + 1, axis))
    positions = clarray.asnumpy(wrap(argsort_rows(clarray.arange(50)._node, 0)))
    np.testing.assert_array_equal(positions, np.arange(50))


@pytest.mark.optimized
def test_same_bits_every_time_and_from_two_threads() -> None:
    host = values("float32", (70_000,))
    first, order = sort(host).tobytes(), argsort(host).tobytes()
    found: list[bool] = []

    def work() -> None:
        for _ in range(5):
            found.append(sort(host).tobytes() == first and argsort(host).tobytes() == order)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 10
