"""Expressions whose dtypes change on the way, complex in between or half, as they are read by every algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import outcome, skip_without_float64
from ..conftest import policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = (np.arange(240) % 7).astype("float32").reshape(12, 20)


def written(target: Any, key: Any, value: Any) -> Any:
    target[key] = value
    return target


BEFORE: dict[str, Callable[[Any, Any], Any]] = {
    "complex": lambda xp, x: x * 1j,
    "complex between": lambda xp, x: abs(x * 1j + 2),
    "half": lambda xp, x: x.astype("float16"),
    "bool of complex": lambda xp, x: x * 1j != 0,
}
READ: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lambda xp, v: [v.cumsum(1), v.cumsum(0), v.cumsum()],
    "mask": lambda xp, v: [v[v != 0], v[v != 0].sum()],
    "indices": lambda xp, v: [v[:, [3, 1, 1]], xp.take(v, [3, 100, 7])],
    "sort": lambda xp, v: [xp.sort(v, axis=None), xp.argsort(v, axis=1, kind="stable")],
    "unique": lambda xp, v: xp.unique(v, return_counts=True),
    "products": lambda xp, v: [v @ v.T, v.ravel() @ v.ravel()],
    "joining": lambda xp, v: [xp.concatenate([v, v * v], 1), xp.roll(v, 3), xp.pad(v, 1)],
    "layouts": lambda xp, v: [v.T + v.T, v[::-1, ::2] * v[:, 1::2]],
    "reductions": lambda xp, v: [v.sum(0), v.sum(1), v.max(0), v.argmax(1), v.any(0)],
    "statistics": lambda xp, v: [v.mean(1), v.var(0)],
    "writes": lambda xp, v: [
        written(xp.zeros((12, 20), v.dtype), (slice(None), [1, 2]), v[:, :2]),
        written(xp.zeros((12, 20), v.dtype), v != 0, v[v != 0]),
    ],
    "segments": lambda xp, v: np.add.reduceat(v, [0, 4], axis=0),
    "positions": lambda xp, v: [xp.nonzero(v)[0], xp.searchsorted(xp.sort(v[0]), v[1]), xp.isin(v, v[0, :3])],
    "stencil": lambda xp, v: xp.convolve(v.ravel(), xp.ones(3, "float32")),
}


def as_list(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("read", READ)
def test_dtypes_on_the_way(read: str, before: str) -> None:
    def run(xp: Any) -> list[Any]:
        return as_list(READ[read](xp, BEFORE[before](xp, xp.array(HOST))))

    with policy_in_force("tiny-cpu"):
        found, error = outcome(run, (clarray,), {})
        skip_without_float64(error)
        if error is not None:
            raise error
        for mine, other in zip(found, run(np), strict=True):
            assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
            wide = np.result_type(other, np.complex64)
            np.testing.assert_allclose(mine.get().astype(wide), other.astype(wide), rtol=4e-3)
