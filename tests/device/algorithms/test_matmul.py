"""Products of vectors and matrices: NumPy's results, at every shape, stride and dtype."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.evaluate import kernel_cache_of
from clarray._engine.runtime import current_device

from ..conftest import FEW_DTYPES, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")
Same = Callable[..., None]

has_matvec = pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy before 2.2 has no matvec")


needs_fp64 = pytest.mark.skipif(not current_device().capabilities.fp64, reason="the device has no float64")


def whole(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose products and sums every dtype has exactly (or wraps around)."""
    values = np.random.default_rng(seed).integers(-3, 4, shape)
    found = values.astype(dtype)
    if found.dtype.kind == "c":
        found += 1j * np.random.default_rng(seed + 1).integers(-3, 4, shape)
    return found


def test_every_dtype(same: Same, dtype: str) -> None:
    a, b, v = whole((5, 7), dtype), whole((7, 4), dtype, 1), whole((7,), dtype, 2)

    def body(xp: ModuleType) -> Any:
        x, y, w = xp.asarray(a), xp.asarray(b), xp.asarray(v)
        return [x @ y, *([w @ y, xp.vdot(w, w)] if dtype in FEW_DTYPES else [])]

    same(body)


@pytest.mark.parametrize("dtype", [*FEW_DTYPES, "int64"])
@pytest.mark.parametrize("row", ["tiny-cpu", "tiny-fenced"])
def test_every_dtype_in_tiles_and_panels(same: Same, dtype: str, row: str) -> None:
    a, b = whole((17, 21), dtype), whole((21, 19), dtype, 1)
    with policy_in_force(row):
        same(lambda xp: xp.asarray(a) @ xp.asarray(b))


def test_wide_dtypes_in_tiles_and_panels(same: Same, policy: str) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    a, b = whole((9, 21)), whole((21, 10), seed=1)
    for dtype in ("float64", "complex128"):
        same(lambda xp, dtype=dtype: xp.asarray(a.astype(dtype)) @ xp.asarray(b.astype(dtype)))


@pytest.mark.parametrize("row", ["tiny-cpu", "tiny-gpu"])
def test_unlike_dtypes(same: Same, row: str) -> None:
    kinds = [("int8", "float32"), ("bool", "int16"), ("float16", "complex64"), ("complex64", "bool")]
    for one, other in kinds:
        a, b = whole((9, 10), one), whole((10, 11), other, 1)
        with policy_in_force(row):
            same(lambda xp, a=a, b=b: [xp.asarray(a) @ xp.asarray(b), xp.asarray(b.T) @ xp.asarray(a.T)])


SIZES = [
    (1, 1, 1),
    (2, 2, 2),
    (3, 16, 5),
    (7, 8, 9),
    (8, 8, 8),
    (8, 7, 4),
    (16, 33, 12),
    (31, 17, 3),
    (2, 2, 61),
    (64, 3, 2),
    (3, 65, 24),
    (5, 5, 40),
]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.optimized
def test_sizes_around_every_boundary(same: Same, policy: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b = whole((m, k)), whole((k, n), seed=1)
    same(lambda xp: xp.asarray(a) @ xp.asarray(b))


def test_strides(same: Same, policy: str) -> None:
    a, b, c = whole((18, 40)), whole((20, 22), seed=1), whole((22, 20), seed=2)

    def body(xp: ModuleType) -> Any:
        x, y, z = xp.asarray(a), xp.asarray(b), xp.asarray(c)
        return [
            x[:, ::2] @ y,
            x[:, :20] @ z.T,
            x[:, :20] @ y,
            y.T @ z.T,
            x[::-1, 40:0:-2] @ y[::-1, 3:],
            x[1:, 1:21] @ y[:, 1:],
            xp.broadcast_to(x[0, :20], (9, 20)) @ y,
            x[:, :20] @ xp.broadcast_to(y[:, :1], (20, 9)),
            xp.broadcast_to(x[0, 0], (9, 20)) @ y,
        ]

    same(body)


BATCHES = [
    ((3, 6, 7), (3, 7, 5)),
    ((3, 6, 7), (7, 5)),
    ((6, 7), (3, 7, 5)),
    ((2, 1, 6, 7), (3, 7, 5)),
    ((3, 6, 7), (7,)),
    ((2, 3, 6, 7), (1, 3, 7, 5)),
    ((7,), (3, 7, 5)),
    ((2, 0, 6, 7), (7, 5)),
    ((1, 6, 7), (3, 7, 5)),
    ((0, 7), (7, 5)),
    ((6, 0), (0, 5)),
    ((2, 6, 0), (0,)),
]


@pytest.mark.parametrize("shapes", BATCHES, ids=str)
def test_batches(same: Same, policy: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = whole(shapes[0]), whole(shapes[1], seed=1)
    same(lambda xp: [xp.asarray(a) @ xp.asarray(b), xp.dot(xp.asarray(a), xp.asarray(b))])


def test_batches_of_any_strides(same: Same, policy: str) -> None:
    a, b = whole((6, 2, 3, 10)), whole((10, 3, 7), seed=1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        turned = x.transpose(1, 2, 0, 3)
        last = y[:, 0]
        return [turned @ y.transpose(1, 0, 2), turned[:, ::-1] @ last, xp.matmul(x, y, axes=[(0, 3), (0, 2), (2, 1)])]

    same(body)


def test_numpys_functions_and_operands_of_the_host(same: Same) -> None:
    a, b = whole((6, 7)), whole((7, 5), seed=1)

    def body(xp: ModuleType) -> Any:
        x = xp.asarray(a)
        return [
            x @ b,
            a @ xp.asarray(b),
            np.matmul(x, b),
            np.dot(x, b),
            np.inner(x, x),
            np.vdot(x, x),
            x.dot(b),
            np.tensordot(x, xp.asarray(b), 1),
            xp.dot(x, np.float32(3)),
        ]

    same(body)


@needs_fp64
def test_python_scalars_and_lists(same: Same) -> None:
    a, b = whole((6, 7)), whole((7, 5), seed=1)

    def body(xp: ModuleType) -> Any:
        x = xp.asarray(a)
        scalars = [xp.dot(x, 3), xp.dot(2.5, x), xp.dot(2, 3), xp.inner(2.0, x), xp.kron(2, x), xp.vdot(3, 4j)]
        return [x @ b.tolist(), *scalars]

    same(body)


def test_pending_operands(same: Same, policy: str) -> None:
    a, b, v = whole((6, 7)), whole((7, 5), seed=1), whole((7,), seed=2)

    def body(xp: ModuleType) -> Any:
        x, y, w = xp.asarray(a), xp.asarray(b), xp.asarray(v)
        twice = x * 2
        return [(x + 1) @ (y - 1), twice @ (w + 1), (w * w) @ (y + 1), xp.dot(w + 1, w - 1) + 3, twice @ y, twice]

    same(body)


@pytest.mark.kernels_alone
@pytest.mark.optimized
def test_a_dot_product_is_one_pass() -> None:
    x = clarray.asarray(whole((1000,))).copy()
    y = clarray.asarray(whole((1000,), seed=1)).copy()
    float(clarray.dot(x, y))
    with clarray.profile() as profile:
        found = float(clarray.dot(x + 1, y))
    assert found == float(np.dot(clarray.asnumpy(x) + 1, clarray.asnumpy(y)))
    assert profile.launches <= 2


def test_out(same: Same, policy: str) -> None:
    a, b = whole((8, 8)), whole((8, 8), seed=1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a).copy(), xp.asarray(b)
        results = []
        for out in (
            xp.zeros((8, 8), np.float32),
            xp.zeros((8, 8), np.complex64),
            xp.zeros((8, 8), np.float32, order="F"),
            xp.zeros((8, 16), np.float32)[:, ::2],
            xp.zeros((9, 8), np.float32)[1:],
        ):
            assert np.matmul(x, y, out=out) is out
            results.append(out)
        reader = x + 1
        np.matmul(x, y, out=x)
        np.matmul(x, x.T, out=x[::-1])
        x @= y
        square = xp.empty((8, 8), np.float32)
        assert xp.dot(x, y, out=square) is square
        outer = xp.empty((8, 8), np.float32)
        assert xp.outer(x[0], x[1], out=outer) is outer
        return [*results, reader, x, square, outer]

    same(body)


SHAPES = [(), (3,), (3, 3), (2, 3), (4, 2, 3), (4, 3, 3), (3, 2), (2, 0), (0, 0)]


@pytest.mark.parametrize("left", SHAPES, ids=str)
def test_in_place(same: Same, left: tuple[int, ...]) -> None:
    """A vector by a matrix, too; what NumPy refuses is refused in its words."""

    def multiplied(xp: ModuleType, right: Any) -> Any:
        x = xp.asarray(whole(left)).copy()
        x @= right
        return x

    for right in SHAPES:
        other = whole(right, seed=1)
        same(lambda xp, other=other: multiplied(xp, xp.asarray(other)))
        same(lambda xp, other=other: multiplied(xp, other))
    same(lambda xp: multiplied(xp, 2))
    same(lambda xp: multiplied(xp, [[1.0, 0, 0], [0, 1, 0], [2, 0, 1]]))


@has_matvec
def test_generalized_ufuncs(same: Same) -> None:
    a, v, w = whole((3, 6, 7), "complex64"), whole((7,), "complex64", 1), whole((3, 6), "complex64", 2)

    def body(xp: ModuleType) -> Any:
        x, y, z = xp.asarray(a), xp.asarray(v), xp.asarray(w)
        return [
            np.vecdot(x, y),
            np.vecdot(x, x),
            np.vecdot(x, x, axis=0),
            np.vecdot(x, y[:, None, None], axes=[2, 0]),
            np.vecdot(x, x, axis=1, keepdims=True),
            np.matvec(x, y),
            np.matvec(x, x[0, :1]),
            np.vecmat(z, x),
            np.matmul(x, x, axes=[(0, 1), (1, 0), (-1, -2)]),
            np.matmul(x, y, dtype=np.complex64),
            np.matvec(x, y, axes=[(0, 2), 0, 0]),
            np.vecdot(x.real, y.real),
            np.vecmat(z[0], x[0]),
        ]

    same(body)


def test_other_products(same: Same) -> None:
    a, b = whole((3, 4, 5)), whole((5, 4, 3, 2), seed=1)

    def body(xp: ModuleType) -> Any:
        x, y = xp.asarray(a), xp.asarray(b)
        return [
            xp.dot(x, y[:, :, 0].transpose(1, 0, 2)),
            xp.tensordot(x, y, ([0, 1, 2], [2, 1, 0])),
            xp.inner(x, x),
            xp.inner(x, x[0, 0]),
            xp.tensordot(x, y, ((2, 1), (0, 1))),
            xp.tensordot(x, y, ([-1], [0])),
            xp.tensordot(x, y, (2, 0)),
            xp.tensordot(x, x[0, 0], 0),
            xp.tensordot(x, x, 3),
            xp.kron(x[0], y[0, :2]),
            xp.kron(x, x[0]),
            xp.kron(x[0, 0], x[0, 1]),
            xp.vdot(x, x.transpose(2, 0, 1)),
            xp.outer(x[0], x[1, 0]),
        ]

    same(body)


WRONG = [
    lambda xp, x, y: x @ x,
    lambda xp, x, y: x @ 3,
    lambda xp, x, y: 3 @ x,
    lambda xp, x, y: x @ y[:2],
    lambda xp, x, y: xp.asarray(2.0) @ x,
    lambda xp, x, y: xp.ones((2, 3, 4)) @ xp.ones((3, 4, 5)),
    lambda xp, x, y: np.matmul(x, y, axes=[(0, 1), (0, 1)]),
    lambda xp, x, y: np.matmul(x, y, axis=0),
    lambda xp, x, y: np.matmul(x, y, keepdims=True),
    lambda xp, x, y: np.matmul(x, y, out=xp.zeros((3, 3))),
    lambda xp, x, y: np.vecdot(x, y),
    lambda xp, x, y: np.vecdot(x, x, axis=5),
    lambda xp, x, y: np.matmul(x, y, dtype=np.int8),
    lambda xp, x, y: xp.dot(x, x),
    lambda xp, x, y: xp.dot(x, y, out=xp.zeros((3, 5), np.int32)),
    lambda xp, x, y: xp.inner(x, y),
    lambda xp, x, y: xp.vdot(x, y[:2]),
    lambda xp, x, y: xp.tensordot(x, y, 2),
    lambda xp, x, y: xp.tensordot(x, y, ([0, 1], [0])),
]


@needs_fp64
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors_are_numpys(same: Same, number: int) -> None:
    a, b = whole((3, 4), "float32"), whole((4, 5), "float32", 1)
    same(lambda xp: WRONG[number](xp, xp.asarray(a), xp.asarray(b)), message=False)


@needs_fp64
def test_errors_say_what_numpy_says(same: Same) -> None:
    a, b = whole((3, 4)), whole((3, 5), seed=1)
    same(lambda xp: xp.asarray(a) @ xp.asarray(b))
    same(lambda xp: xp.dot(xp.asarray(a), xp.asarray(b)))
    same(lambda xp: xp.asarray(a) @ 2)


@pytest.mark.parametrize("row", ["tiny-cpu", "tiny-gpu"])
def test_integers_wrap_around(same: Same, row: str) -> None:
    for dtype in ("int8", "uint32", "int64"):
        info = np.iinfo(dtype)
        a = np.random.default_rng(3).integers(info.min, info.max, (9, 30), dtype, endpoint=True)
        with policy_in_force(row):
            same(lambda xp, a=a: xp.asarray(a) @ xp.asarray(a.T))


@pytest.mark.parametrize("row", ["own", "gpu"])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16"])
@pytest.mark.optimized
def test_long_sums_are_as_exact_as_numpys(row: str, dtype: str) -> None:
    random = np.random.default_rng(5)
    a, b = random.random((24, 5000)) - 0.3, random.random((5000, 40)) - 0.3
    if dtype == "complex64":
        a, b = a + 1j * random.random(a.shape), b - 1j * random.random(b.shape)
    a, b = a.astype(dtype), b.astype(dtype)
    exact = a.astype(np.complex128) @ b.astype(np.complex128)
    with policy_in_force(row):
        ours = clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b))
        vector = clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b[:, 0].copy()))

    def error(found: np.ndarray, wanted: np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.abs(found - wanted) ** 2)))

    assert error(ours, exact) <= 1.25 * error(a @ b, exact)
    assert error(vector, exact[:, 0]) <= 1.02 * error(a @ b[:, 0].copy(), exact[:, 0])


@pytest.mark.optimized
def test_the_same_bits_every_time(policy: str) -> None:
    random = np.random.default_rng(6)
    a, b = random.random((20, 300), np.float32), random.random((300, 13), np.float32)
    x, y = clarray.asarray(a), clarray.asarray(b)
    first = clarray.asnumpy(x @ y)
    for _ in range(5):
        np.testing.assert_array_equal(clarray.asnumpy(x @ y), first)


def test_nan_and_infinity_stay_in_their_rows(policy: str) -> None:
    a, b = whole((19, 20)), np.ones((20, 18), np.float32)
    a[3, 4], a[18, 19], b[2, 17] = np.nan, np.inf, np.inf
    a[:, 2] = np.abs(a[:, 2]) + 1
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    np.testing.assert_array_equal(clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b)), wanted)


def test_nothing_outside_is_written(policy: str) -> None:
    frame = clarray.full((12, 32), 7, np.float32)
    out = frame[1:10, :]
    a, b = whole((9, 11)), whole((11, 32), seed=1)
    np.matmul(clarray.asarray(a), clarray.asarray(b), out=out)
    found = clarray.asnumpy(frame)
    np.testing.assert_array_equal(found[1:10], a @ b)
    assert (found[0] == 7).all()
    assert (found[10:] == 7).all()


def test_parts_of_a_long_axis(policy: str) -> None:
    for dtype in ("float32", "bool", "complex64"):
        a, b = whole((2, 500), dtype), whole((500, 3), dtype, 1)
        np.testing.assert_array_equal(clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b)), a @ b)


@pytest.mark.optimized
def test_threads() -> None:
    a = whole((40, 40))
    wanted = a @ a
    wrong: list[int] = []

    def work(number: int) -> None:
        x = clarray.asarray(a).copy()
        for _ in range(10):
            if not np.array_equal(clarray.asnumpy(x @ x), wanted):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_every_row_has_tiles_that_fit_their_work_items() -> None:
    policy = kernel_cache_of(current_device()).policies.matmul
    for tile in (*policy.tiles, *policy.wide_tiles, *policy.widest_tiles):
        assert tile.rows % tile.item_rows == 0
        assert tile.columns % tile.item_columns == 0
        assert tile.rows * tile.depth % tile.work_items == 0
        assert tile.columns * tile.depth % tile.work_items == 0
