"""Products by tiles of warps, of emulated instructions: NumPy's results at every edge, stride, dtype and stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.device_array import wrap
from clarray._engine.algorithms.matmul import launch_self_test as self_test
from clarray._engine.algorithms.matmul.launch import update_launch
from clarray._engine.algorithms.matmul.policy import TINY_WARPS
from clarray._engine.algorithms.matmul.policy_tensor import Instruction, WarpTile, warp_tile
from clarray._engine.evaluate import evaluate, kernel_cache_of
from clarray._engine.expr.node import view_leaf
from clarray._engine.runtime import current_device

from ..conftest import policy_changed, policy_in_force
from .test_matmul import whole

Same = Callable[..., None]

pytestmark = pytest.mark.skipif(not current_device().capabilities.fp64, reason="the device has no float64")


@pytest.fixture(params=["tiny-warps", "tiny-stages"])
def warps(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tiles of warps multiply: steps wait in registers, or are copied past them."""
    with policy_in_force(request.param):
        yield
        tiles = kernel_cache_of(current_device()).policies.matmul.tensor_tiles
        tried = [self_test._self_tests[key] for key in self_test._self_tests if key[1] in tiles]
        assert tried
        assert all(tried)


SIZES = [(2, 2, 2), (33, 17, 5), (31, 35, 41), (16, 16, 4), (64, 32, 48), (34, 50, 98), (2, 38, 8)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes_around_every_boundary(same: Same, warps: None, size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b = whole((m, k), float), whole((k, n), float, 1)
    same(lambda xp: xp.asarray(a) @ xp.asarray(b))


def test_strides(same: Same, warps: None) -> None:
    a, b, c = whole((18, 40), float), whole((20, 22), float, 1), whole((22, 20), float, 2)

    def body(xp: ModuleType) -> Any:
        x, y, z = xp.asarray(a), xp.asarray(b), xp.asarray(c)
        return [
            x[:, ::2] @ y,
            x[:, :20] @ z.T,
            y.T @ z.T,
            x[::-1, 40:0:-2] @ y[::-1, 3:],
            x[1:, 1:21] @ y[:, 1:],
            xp.broadcast_to(x[0, :20], (9, 20)) @ y,
            xp.broadcast_to(x[0, 0], (9, 20)) @ y,
        ]

    same(body)


def test_batches(same: Same, warps: None) -> None:
    a, b, c = whole((2, 3, 17, 8), float), whole((3, 8, 34), float, 1), whole((8, 18), float, 2)

    def body(xp: ModuleType) -> Any:
        x, y, z = xp.asarray(a), xp.asarray(b), xp.asarray(c)
        return [x @ y, x[0] @ z, x.transpose(1, 0, 2, 3)[:, ::-1] @ y[:, None], xp.dot(x[1], z)]

    same(body)


# Tiles with stages copy operands past the registers, so they convert none.
@pytest.mark.parametrize("warps", ["tiny-warps"], indirect=True)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float16"])
def test_operands_are_converted_as_they_are_loaded(same: Same, warps: None, dtype: str) -> None:
    a, b = whole((19, 22), dtype), whole((22, 18), float, 1)
    same(lambda xp: [xp.asarray(a) @ xp.asarray(b), xp.asarray(b).T @ xp.asarray(a).T])


@pytest.mark.parametrize(("m", "n", "k", "lower"), [(44, 44, 9, True), (34, 18, 20, False)])
def test_products_subtracted_in_place(warps: None, m: int, n: int, k: int, lower: bool) -> None:
    """Nothing beside the target is written: neither what lies between its rows nor before or after it."""
    a, b, frame = whole((m, k), float), whole((k, n), float, 1), whole((m + 6, n + 8), float, 2)
    x, y, z = (evaluate(clarray.array(each)._node) for each in (a, b, frame))
    target = view_leaf(z, (m, n), (n + 8, 1), 3 * (n + 8) + 4)
    update_launch(kernel_cache_of(current_device()), x, y, target, lower).run()
    found, expected = np.array(wrap(z)), frame.copy()
    expected[3 : m + 3, 4 : n + 4] -= a @ b
    if lower:  # above the diagonal there may be either
        above = np.triu(np.ones((m, n), bool), 1)
        found[3 : m + 3, 4 : n + 4][above] = expected[3 : m + 3, 4 : n + 4][above] = 0
    np.testing.assert_array_equal(found, expected)


def test_parts_of_a_long_axis(same: Same, warps: None) -> None:
    a, b = whole((2, 1500), float), whole((1500, 3), float, 1)
    same(lambda xp: xp.asarray(a) @ xp.asarray(b))


def test_nan_and_infinity_stay_in_their_rows(same: Same, warps: None) -> None:
    a, b = whole((35, 26), float), np.ones((26, 18))
    a[3, 4], a[34, 25], b[2, 17] = np.nan, np.inf, np.inf
    a[:, 2] = np.abs(a[:, 2]) + 1
    with np.errstate(invalid="ignore"):
        same(lambda xp: xp.asarray(a) @ xp.asarray(b))


def test_nothing_outside_is_written(warps: None) -> None:
    frame = clarray.full((40, 36), 7.0)
    a, b = whole((35, 11), float), whole((11, 36), float, 1)
    np.matmul(clarray.asarray(a), clarray.asarray(b), out=frame[2:37])
    found = clarray.asnumpy(frame)
    np.testing.assert_array_equal(found[2:37], a @ b)
    assert (found[:2] == 7).all()
    assert (found[37:] == 7).all()


def test_sums_are_as_exact_as_numpys(warps: None) -> None:
    random = np.random.default_rng(5)
    a, b = random.random((24, 3000)) - 0.3, random.random((3000, 20)) - 0.3
    exact = np.asarray(a.astype(np.longdouble) @ b.astype(np.longdouble))
    ours = clarray.asnumpy(clarray.asarray(a) @ clarray.asarray(b))

    def error(found: np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.abs(found - exact) ** 2)))

    assert error(ours) <= 1.25 * error(a @ b)


WRONG = warp_tile((16, 16, 4), (16, 16), Instruction(24, 8, 4, emulated=True))  # of whose rows no block has any
UNKNOWN = warp_tile((16, 16, 4), (16, 16), Instruction(16, 8, 6, emulated=True))


@pytest.mark.parametrize("tile", [WRONG, UNKNOWN], ids=["wrong", "refused"])
def test_what_fails_its_trial_is_not_used(same: Same, tile: WarpTile) -> None:
    a, b = whole((19, 20), float), whole((20, 18), float, 1)
    with policy_in_force("tiny-gpu"), policy_changed("matmul", warp_tiles=(tile, *TINY_WARPS.warp_tiles)):
        cache = kernel_cache_of(current_device())
        assert tile in self_test.tensor_tiles(cache)
        for _ in range(2):
            same(lambda xp: xp.asarray(a) @ xp.asarray(b))
        assert self_test._self_tests[cache.device, tile] is False
        assert self_test.tensor_tiles(cache) == TINY_WARPS.warp_tiles


def test_without_any_tile_that_passes_the_portable_kernel_multiplies(same: Same) -> None:
    a, b = whole((19, 20), float), whole((20, 18), float, 1)
    with policy_in_force("tiny-gpu"), policy_changed("matmul", warp_tiles=(WRONG, UNKNOWN)):
        same(lambda xp: xp.asarray(a) @ xp.asarray(b))
        assert self_test.tensor_tiles(kernel_cache_of(current_device())) == ()


def test_a_device_without_room_has_no_tiles_for_warps() -> None:
    cache = kernel_cache_of(current_device())
    with policy_in_force("tiny-warps"), policy_changed("matmul", warp_tiles=(replace(WRONG, columns=1 << 16),)):
        assert self_test.tensor_tiles(cache) == ()
