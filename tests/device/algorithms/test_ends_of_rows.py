"""Rows of every length around a vector's: what is left over at their ends is computed once, of what was there before.

Kernels of CPUs compute the end of a row together with elements before it, which they compute a second time. That must
show nowhere: not where a row is overwritten by what is computed of it, nor in a sum, a count or a position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import assert_same

LENGTHS = [*range(1, 36), 63, 64, 65, 79]
# Each policy's vectors: of the widest lanes, of the narrowest, and of what is added in another dtype.
WRITTEN = [("own", "float32"), ("own", "uint8"), ("tiny-cpu", "float32")]
REDUCED = [*WRITTEN, ("own", "float64"), ("tiny-cpu", "float16")]

pytestmark = pytest.mark.usefixtures("policy")


@pytest.fixture(autouse=True)
def builds(request: pytest.FixtureRequest, policy: str) -> None:
    """Compile kernels of tiny vectors of float32 as a program has them, and the many others quickly."""
    parameters = request.node.callspec.params
    if (policy, parameters.get("dtype", "float32")) != ("tiny-cpu", "float32"):
        request.getfixturevalue("quick_builds")


def rows(dtype: str, n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(1, 4, (3, 2 * n + 3)).astype(dtype)


def flat_in_place(xp: Any, a: Any, n: int) -> None:
    a[1, 2 : n + 2] *= 2


def rows_in_place(xp: Any, a: Any, n: int) -> None:
    a[:, 2 : n + 2] += 1
    a[:, 2 : n + 2] *= a[:, 2 : n + 2] + 1


def shifted(xp: Any, a: Any, n: int) -> None:
    a[:, 1 : n + 1] = a[:, 2 : n + 2] * 2 - a[:, 1 : n + 1]


def of_every_second(xp: Any, a: Any, n: int) -> None:
    a[:, 1 : n + 1] += a[:, : 2 * n : 2]


def of_turned_rows(xp: Any, a: Any, n: int) -> None:
    b = a + 1
    a[:, :n] *= b[:, n:0:-1]


def numbers_and_positions(xp: Any, a: Any, n: int) -> None:
    a[:, 1 : n + 1] *= xp.arange(n).astype(a.dtype)


def to_every_second(xp: Any, a: Any, n: int) -> None:
    a[:, : 2 * n : 2] += 1


@pytest.mark.parametrize(("policy", "dtype"), WRITTEN, indirect=["policy"])
@pytest.mark.parametrize(
    "write",
    [flat_in_place, rows_in_place, shifted, of_every_second, of_turned_rows, numbers_and_positions, to_every_second],
)
def test_writes(write: Callable[[Any, Any, int], None], dtype: str) -> None:
    for n in LENGTHS:
        expected = rows(dtype, n)
        found = clarray.array(expected)
        write(np, expected, n)
        write(clarray, found, n)
        assert_same(found, expected)


def taken(a: Any, n: int) -> list[Any]:
    return [a[:, 1 : n + 1], a[:, : 2 * n : 2], a[:, n:0:-1], a[:, :n] * a[:1, 2 : n + 2]]


@pytest.mark.parametrize(("policy", "dtype"), REDUCED, indirect=["policy"])
@pytest.mark.parametrize(
    "reduce",
    [
        lambda a: a.sum(axis=1),
        lambda a: a.max(axis=1),
        lambda a: a.argmin(axis=1),
        lambda a: a.sum(axis=1, where=a > 1),
        lambda a: a.sum(),
    ],
    ids=["sum", "max", "position", "masked", "all"],
)
def test_reductions(reduce: Callable[[Any], Any], dtype: str) -> None:
    for n in LENGTHS:
        host = rows(dtype, n)
        for found, expected in zip(taken(clarray.array(host), n), taken(host, n), strict=True):
            assert_same(reduce(found), reduce(expected))


def special(dtype: str, n: int) -> np.ndarray:
    """Rows of few values, which are extreme several times and in all lanes, with NaN in some of the rows."""
    random = np.random.default_rng(n)
    a = random.integers(0, 3, (37, n)).astype(dtype)
    if a.dtype.kind == "f":
        a[random.random(a.shape) < 1 / n] = np.nan
        a[:5] = np.copysign(0, random.random((5, n)) - 0.5)
    return a


# Another policy changes how rows are walked, not how two values are compared: three dtypes stand for all.
ROWS_OF = [("own", kind) for kind in ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")]
EXTREMA = ("max", "min", "argmax", "argmin")
AS_BOOLS = ("bool", "uint8", "float16", "float32")  # `any` and `all` load the other dtypes as one of these
ROWS_OF += [("tiny-cpu", kind) for kind in ("float32", "float16", "int64")]


@pytest.mark.parametrize(("policy", "dtype"), ROWS_OF, indirect=["policy"])
def test_extrema_and_their_positions(dtype: str) -> None:
    for n in (*range(1, 36), 63, 64, 65, 79, 130, 259):
        host = special(dtype, n)
        x = clarray.array(host)
        for name in EXTREMA if dtype not in AS_BOOLS else (*EXTREMA, "any", "all"):
            assert_same(getattr(x, name)(axis=1), getattr(host, name)(axis=1))
            assert_same(getattr(x, name)(), getattr(host, name)())
            assert_same(getattr(x[:, ::-1], name)(axis=1), getattr(host[:, ::-1], name)(axis=1))


@pytest.mark.parametrize("policy", ["own", "tiny-cpu"], indirect=True)
def test_products_with_vectors() -> None:
    for n in LENGTHS:
        host = rows("float32", n)
        x = clarray.array(host)
        assert_same(x[:, :n] @ x[0, 1 : n + 1], host[:, :n] @ host[0, 1 : n + 1])
        assert_same(x[0, :n] @ x[1, 1 : n + 1], host[0, :n] @ host[1, 1 : n + 1])
