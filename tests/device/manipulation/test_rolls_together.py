"""Rolls that wait for what reads them: several of one array are views of one larger copy, and nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import Device

from ..conftest import assert_same, policy_changed

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.usefixtures("policy"),
    pytest.mark.parametrize("policy", ["tiny-cpu", "tiny-gpu"], indirect=True),
]


def board(dtype: str = "float32", shape: tuple[int, ...] = (9, 13)) -> np.ndarray:
    a = np.random.default_rng(3).integers(0, 9, shape)
    return (a * (1 + 2j) if dtype.startswith("c") else a).astype(dtype)


def neighbours(xp: Any, a: Any) -> Any:
    return xp.roll(a, 1, 0) + xp.roll(a, -1, 0) + xp.roll(a, 1, 1) + xp.roll(a, -1, 1)


def line(xp: Any, a: Any) -> Any:
    return xp.roll(a[0], 2) * 2 - xp.roll(a[0], -1) + a[0]


def three_axes(xp: Any, a: Any) -> Any:
    b = xp.stack([a, a + 1, a * 2, a, a - 3, a, a])
    return xp.roll(b, 1, 0) + xp.roll(b, (1, -1), (1, 2)) - xp.roll(b, (-1, 1, 1), (0, 1, 2)) + b


def far(xp: Any, a: Any) -> Any:  # the copy would be much larger: each on its own
    return xp.roll(a, 4, 0) + xp.roll(a, 6, 1) + xp.roll(a, 0, 1)


def round_and_round(xp: Any, a: Any) -> Any:
    return xp.roll(a, 10, 0) - xp.roll(a, -12, 1) + xp.roll(a, 9, 0)


def of_two(xp: Any, a: Any) -> Any:
    b = a * 2
    return xp.roll(a, 1, 1) - xp.roll(b, 1, 1) * xp.roll(a, -1, 0) + xp.roll(b, -2, 1)


def of_rolls(xp: Any, a: Any) -> Any:
    b = xp.roll(a, 1, 0) + xp.roll(a, -1, 0)
    return xp.roll(b, 1, 1) + xp.roll(b, -1, 1)


def of_a_view(xp: Any, a: Any) -> Any:
    return neighbours(xp, a[2:7]) + neighbours(xp, a.T[:, 2:7].T) + neighbours(xp, a[2:7, 1:])[:, :1]


def repeated(xp: Any, a: Any) -> Any:
    r = xp.roll(a, 1, 0)
    return r * r + r - xp.roll(a, -1, 1) + xp.roll(a, 1, 0)


def reduced(xp: Any, a: Any) -> Any:
    n = neighbours(xp, a)
    return [(a * n).sum(axis=1), (n - a).max(), n.sum(axis=0) + neighbours(xp, a).min(axis=0)]


def chosen(xp: Any, a: Any) -> Any:
    near = neighbours(xp, a)
    return [xp.where(near > 16, a, xp.roll(a, 1, 1)), near[near > 16], xp.sort(near, axis=1), near.cumsum(axis=0)]


def held_and_written(xp: Any, a: Any) -> Any:
    one, other = xp.roll(a, 1, 0), xp.roll(a, -1, 0)
    both = one + other
    one += 1
    a[2:4] = 7
    other[0] = 5
    both *= 2
    return one, other, both, a


def in_place(xp: Any, a: Any) -> Any:
    a += neighbours(xp, a)
    a[:] = neighbours(xp, a) - a
    a[1:] = (xp.roll(a, 1, 0) + xp.roll(a, 2, 1))[:-1]
    a[a > 20] -= 20
    return a


def one_each(xp: Any, a: Any) -> Any:
    a[:] = xp.roll(a, (1, -1), (0, 1))
    return a - xp.roll(a, 1, 0), xp.roll(a, 1).reshape(-1)[:3], xp.roll(a, 0, 0)


def a_step_at_a_time(xp: Any, a: Any) -> Any:
    for _ in range(5):
        near = neighbours(xp, a)
        a = xp.where((near > 12) & (near < 20), a + 1, near - a)
    return a


PROGRAMS = [
    neighbours,
    line,
    three_axes,
    far,
    round_and_round,
    of_two,
    of_rolls,
    of_a_view,
    repeated,
    reduced,
    chosen,
    held_and_written,
    in_place,
    one_each,
    a_step_at_a_time,
]


def results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_numpy(program: Callable[[Any, Any], Any]) -> None:
    expected = results(program(np, board()))
    for _ in range(3):  # as it comes, as it is recorded, from the recording
        for mine, theirs in zip(results(program(clarray, clarray.array(board()))), expected, strict=True):
            assert_same(mine, theirs)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    for shape in ((9, 13), (1, 40), (40, 1), (8, 8, 8), (257,)):
        host = board(dtype, shape)
        x = clarray.array(host)
        axes = range(host.ndim)
        mine = sum((clarray.roll(x, s, axis) for axis in axes for s in (1, -1)), start=x)
        assert_same(mine, sum((np.roll(host, s, axis) for axis in axes for s in (1, -1)), start=host))


@pytest.mark.kernels_alone
@pytest.mark.parametrize(("read", "more"), [(lambda a: a, 0), (lambda a: (a * a).sum(axis=1), 1)], ids=["all", "sum"])
def test_neighbours_are_copied_once(read: Callable[[Any], Any], more: int) -> None:
    x = clarray.array(board())
    with clarray.profile() as p:
        read(neighbours(clarray, x) - 4 * x).evaluate()
    assert [r.name for r in p.records if r.kind == "launch"].count("index_map") == 1
    assert p.launches in (2, 2 + more)  # a sum may have a second pass


@pytest.mark.kernels_alone
def test_explained_as_it_is_computed() -> None:
    x = clarray.array(board())
    rolled = neighbours(clarray, x)
    told = str(rolled.explain())
    assert told.count("which store") == 2
    assert rolled._node.memory is None
    assert_same(rolled, neighbours(np, board()))


def test_no_room_for_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    host = board()
    x = clarray.array(host)
    rolled = neighbours(clarray, x)
    allocate = Device.allocate

    def refuse(self: Device, nbytes: int) -> Any:
        if nbytes > host.nbytes:
            raise MemoryError
        return allocate(self, nbytes)

    with monkeypatch.context() as patch:
        patch.setattr(Device, "allocate", refuse)
        rolled.evaluate()
    assert_same(rolled, neighbours(np, host))


@pytest.mark.kernels_alone
def test_small_arrays_are_rolled_at_once() -> None:
    x = clarray.array(board())
    assert clarray.roll(x, 1, 0)._node.memory is None
    with policy_changed("index_map", rolled_bytes=1 << 20):
        assert clarray.roll(x, 1, 0)._node.memory is not None
