"""Arrays joined, put together of blocks, and taken apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

JOINS: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: xp.concatenate([a, a]),
    lambda xp, a: xp.concatenate((a, a[:, :1], a[:, :0]), axis=-2),
    lambda xp, a: xp.concat([a, a.astype(np.int16)], axis=2),
    lambda xp, a: xp.concatenate([a, a[0, 0]], axis=None),
    lambda xp, a: xp.concatenate([a.astype(np.float32), 1.5, 2], axis=None),
    lambda xp, a: xp.concatenate([a, np.int64(1), [7, 8]], axis=None),
    lambda xp, a: xp.concatenate(a),
    lambda xp, a: xp.concatenate([a.T, a.T * 2], axis=1),
    lambda xp, a: xp.concatenate([a, a], dtype=np.int64),
    lambda xp, a: xp.concatenate([a, a], dtype=np.uint8, casting="unsafe"),
    lambda xp, a: xp.concatenate([a[0], a[1]], out=xp.zeros((6, 4), dtype=np.float32)),
    lambda xp, a: xp.stack([a, a + 1], axis=-1),
    lambda xp, a: xp.stack(a, axis=1),
    lambda xp, a: xp.stack([a[0, 0], [1, 2, 3, 4]], dtype=np.int64),
    lambda xp, a: [xp.vstack([a[0], a[0, 0]]), xp.vstack(a), xp.vstack([1, 2])],
    lambda xp, a: [xp.hstack([a[0], a[1]]), xp.hstack([a[0, 0], 5]), xp.hstack([a, a], dtype=np.int64)],
    lambda xp, a: [xp.dstack([a, a]), xp.dstack([a[0], a[1]]), xp.dstack([a[0, 0], a[0, 1]])],
    lambda xp, a: [xp.column_stack([a[0, 0], a[0, 1]]), xp.column_stack([a[0], a[0, :, 0]])],
    lambda xp, a: [xp.append(a, a[0]), xp.append(a, a[:1], 0), xp.append(a, 1), xp.append(a[0, 0], [1, 2])],
]


@pytest.mark.parametrize("number", range(len(JOINS)))
def test_joins(same: Any, number: int) -> None:
    same(lambda xp: JOINS[number](xp, xp.asarray(HOST)))


WRONG: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: xp.concatenate([]),
    lambda xp, a: xp.concatenate([a, a[0]]),
    lambda xp, a: xp.concatenate([a, a[:, :2]]),
    lambda xp, a: xp.concatenate([a[0, 0, 0], a[0, 0, 0]]),
    lambda xp, a: xp.concatenate([a, a], axis=3),
    lambda xp, a: xp.concatenate([a, a], out=a),
    lambda xp, a: xp.concatenate([a, a], out=xp.zeros((4, 3, 4), dtype=int), dtype=np.int64),
    lambda xp, a: xp.concatenate([a, a], dtype=np.uint8),
    lambda xp, a: xp.stack([]),
    lambda xp, a: xp.stack([a, a[0]]),
    lambda xp, a: xp.stack([a, a], axis=5),
    lambda xp, a: xp.vstack(x for x in a),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_join_errors(same: Any, number: int) -> None:
    same(lambda xp: WRONG[number](xp, xp.asarray(HOST)))


PENDING: list[Callable[..., Any]] = [
    lambda xp, a, b: xp.concatenate([a * 2, b - 3], axis=1),
    lambda xp, a, b: xp.stack([a * 2, b - 3]),
    lambda xp, a, b: xp.stack([a * 2, b - 3], axis=1),
    lambda xp, a, b: xp.stack([a[0] * 2, b[0] - 3], axis=-1),
    lambda xp, a, b: xp.vstack([a[0] * 2, b - 3]),
    lambda xp, a, b: xp.hstack([a[0] * 2, b[0] - 3]),
    lambda xp, a, b: xp.dstack([a * 2, b - 3]),
    lambda xp, a, b: xp.dstack([a[0] * 2, b[0] - 3]),
    lambda xp, a, b: xp.column_stack([a[:, 0] * 2, b - 3]),
    lambda xp, a, b: xp.column_stack([a[:, 0] * 2, b[:, 0]]),
    lambda xp, a, b: xp.block([[a[0] * 2], [b - 3]]),
]


@pytest.mark.kernels_alone
@pytest.mark.optimized
@pytest.mark.parametrize("number", range(len(PENDING)))
def test_pending_parts_are_computed_in_their_places(number: int) -> None:
    values = np.arange(64 * 512, dtype=np.float32).reshape(64, 512)
    expected = PENDING[number](np, values, values)
    a = clarray.array(values)
    for _ in range(3):
        with clarray.profile() as seen:
            made = PENDING[number](clarray, a, a)
            made.evaluate()
        assert seen.launches == 2
        assert made.strides == expected.strides
        assert np.array_equal(np.asarray(made), expected)


@pytest.mark.kernels_alone
@pytest.mark.parametrize(("kind", "count"), [("uint8", 2), ("complex64", 3), ("float32", 19)])
def test_short_parts_are_joined_in_few_launches(policy: str, kind: str, count: int) -> None:
    host = [np.arange(n * 5, n * 5 + 5 * (1 + n % 3)).astype(kind).reshape(5, -1) for n in range(count)]
    arrays = [clarray.array(x) for x in host]
    with clarray.profile() as seen:
        rows, columns = clarray.concatenate(arrays, axis=None), clarray.concatenate(arrays, axis=1)
    assert seen.launches == 2 * -(-count // 8)
    np.testing.assert_array_equal(rows.get(), np.concatenate(host, axis=None))
    np.testing.assert_array_equal(columns.get(), np.concatenate(host, axis=1))
    lines = [x[:, 0] for x in host]
    np.testing.assert_array_equal(clarray.stack([x[:, 0] for x in arrays], axis=-1).get(), np.stack(lines, axis=-1))


def test_fortran_order_is_kept() -> None:
    a = np.asfortranarray(HOST[0])
    for axis in (0, 1):
        made = clarray.concatenate([clarray.array(a), clarray.array(a)], axis)
        assert made.strides == np.concatenate([a, a], axis).strides


JOINED: list[Callable[..., Any]] = [
    *(lambda xp, a, b, axis=axis: xp.concatenate([a, b], axis) for axis in (0, 1, -1)),
    *(lambda xp, a, b, axis=axis: xp.stack([a, b, a], axis) for axis in (0, 1, 2, -1)),
    lambda xp, a, b: xp.concatenate([a]),
    lambda xp, a, b: xp.concatenate([a, a, b * 2]),
    lambda xp, a, b: xp.block([[a, b], [b, a]]),
    lambda xp, a, b: xp.block([a, b]),
    lambda xp, a, b: xp.block([[a], [b]]),
    lambda xp, a, b: xp.block(a),
    lambda xp, a, b: [f((a, b)) for f in (xp.vstack, xp.hstack, xp.dstack, xp.column_stack)],
    lambda xp, a, b: [xp.append(a, b, 1), xp.r_[a, b], xp.c_[a, b]],
]


def laid_out(xp: Any) -> list[Any]:
    """Arrays of one shape in every order, turned round, with gaps, and repeating a row."""
    cube = xp.array(HOST)
    orders = [cube.transpose(p).copy().transpose(np.argsort(p)) for p in permutations(range(3))]
    turned = [xp.flip(orders[-1], axis) for axis in range(3)]
    wide = xp.array(np.repeat(HOST, 2, -1))
    return [*orders, *turned, wide[..., ::2], xp.broadcast_to(cube[0], HOST.shape), cube.T.copy().T * 2]


@pytest.mark.parametrize("number", range(len(JOINED)))
def test_the_layout_is_that_of_the_parts(number: int) -> None:
    def strides(xp: Any, a: Any, b: Any) -> list[Any]:
        made = JOINED[number](xp, a, b)
        return [one.strides for one in (made if isinstance(made, list) else [made])]

    pairs = list(product(laid_out(np), repeat=2))
    for theirs, ours in zip(pairs, product(laid_out(clarray), repeat=2), strict=True):
        assert [a.strides for a in ours] == [a.strides for a in theirs], "not what was meant to be joined"
        assert strides(clarray, *ours) == strides(np, *theirs), [a.strides for a in theirs]


BLOCKS: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: xp.block([[a[0], a[1]], [a[1, :1], a[0, :1]]]),
    lambda xp, a: xp.block([a[0, 0], 3, xp.asarray([1, 2])]),
    lambda xp, a: xp.block([[a[0, 0]], [a[0, 1]]]),
    lambda xp, a: xp.block([[[a], [a]], [[a], [a]]]),
    lambda xp, a: xp.block([a, a]),
    lambda xp, a: xp.block([[a[0], xp.zeros((3, 0), dtype=int)], [a[0, :, :0], a[1]]]),
    lambda xp, a: xp.block(a),
    lambda xp, a: xp.block(3),
    lambda xp, a: xp.block([a[0], (1, 2)]),
    lambda xp, a: xp.block([]),
    lambda xp, a: xp.block([[a], a]),
    lambda xp, a: xp.block([[a], []]),
    lambda xp, a: xp.block([[a[0], a[0]], [a[0]]]),
]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_blocks(same: Any, number: int) -> None:
    same(lambda xp: BLOCKS[number](xp, xp.asarray(HOST)))


PARTS: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: xp.split(a, 3, axis=1),
    lambda xp, a: xp.split(a, [1, 5], axis=-1),
    lambda xp, a: xp.split(a, xp.asarray([1, 2]), axis=1),
    lambda xp, a: xp.array_split(a, 3, axis=2),
    lambda xp, a: xp.array_split(a, [-1, 2, 2], axis=2),
    lambda xp, a: [xp.hsplit(a, 3), xp.hsplit(a[0, 0], 2), xp.vsplit(a, 2), xp.dsplit(a, [1])],
    lambda xp, a: [xp.unstack(a), xp.unstack(a, axis=-1)],
    lambda xp, a: xp.split(a, 2, axis=1),
    lambda xp, a: xp.array_split(a, 0),
    lambda xp, a: xp.split(a, 2, axis=3),
    lambda xp, a: xp.split(1.0, [1, 2]),
    lambda xp, a: xp.split(a[0, 0, 0], [1]),
    lambda xp, a: xp.array_split(7, 2),
    lambda xp, a: xp.array_split([7, 8], 2),
    lambda xp, a: xp.hsplit(a[0, 0, 0], 1),
    lambda xp, a: xp.vsplit(a[0, 0], 2),
    lambda xp, a: xp.dsplit(a[0], 2),
    lambda xp, a: xp.unstack(a[0, 0, 0]),
]


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_parts(same: Any, number: int) -> None:
    same(lambda xp: PARTS[number](xp, xp.asarray(HOST)), message=number != 9)


def test_parts_are_views() -> None:
    a = clarray.array(HOST)
    for part in (*clarray.split(a, 3, 1), *clarray.unstack(a, axis=2)):
        part[...] = 7
    assert (a.get() == 7).all()


GRIDS: list[Callable[[Any, Any], Any]] = [
    lambda xp, a: xp.meshgrid(a[0, 0], a[0, :, 0]),
    lambda xp, a: xp.meshgrid(a[0, 0], a[0, :, 0], [1, 2], indexing="ij"),
    lambda xp, a: xp.meshgrid(a[0, 0], a[0, :, 0], sparse=True),
    lambda xp, a: xp.meshgrid(a[0, 0], a[0, :, 0], 5, copy=False),
    lambda xp, a: [xp.meshgrid(a[0, 0]), xp.meshgrid(xp.asarray(1), a[0, 0])],
    lambda xp, a: xp.meshgrid(a[0, 0], indexing="yx"),
]


@pytest.mark.parametrize("number", range(len(GRIDS)))
def test_grids(same: Any, number: int) -> None:
    same(lambda xp: GRIDS[number](xp, xp.asarray(HOST)))


def test_broadcast_object(same: Any) -> None:
    def body(xp: Any) -> Any:
        common = xp.broadcast(xp.asarray([1, 2, 3]), xp.asarray([[4], [5]]), xp.asarray(6))
        facts = [common.shape, common.size, common.ndim, common.nd, common.numiter, common.index]
        first = [int(x) for x in next(common)]
        rest = [[int(x) for x in row] for row in common]
        common.reset()
        return [*facts, first, rest, common.index]

    same(body)
    same(lambda xp: xp.broadcast(xp.asarray([1, 2]), xp.asarray([1, 2, 3])))
    with pytest.raises(AttributeError):
        _ = clarray.broadcast([1]).iters_


@pytest.mark.parametrize("scalar", [-1, 300, 1.5, True, 2**40])
@pytest.mark.parametrize("dtype", ["u4", "i1", "f4", "c8"])
def test_numbers_are_joined_as_numpy_converts_them(dtype: str, scalar: Any) -> None:
    for host in (np.array([], dtype), np.array([1, 2], dtype)):
        ours, theirs = (of.concatenate((of.asarray(host), scalar), axis=None) for of in (clarray, np))
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
