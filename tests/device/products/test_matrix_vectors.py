"""Products of vectors with vectors and matrices: ``@``, `dot` and `inner`, over dtypes and ways to lie in memory.

Values are small integers, so that every order of summation gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import FEW_DTYPES

ROWS, COLUMNS = 6, 9
pytestmark = pytest.mark.usefixtures("quick_builds")
Same = Callable[..., None]

# Each from the same values: a vector of COLUMNS, a matrix of ROWS x COLUMNS.
VECTORS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "contiguous": lambda xp, b: b[0, :COLUMNS],
    "backwards": lambda xp, b: b[1, COLUMNS - 1 :: -1],
    "a column": lambda xp, b: b[:COLUMNS, 2],
    "one element for all": lambda xp, b: xp.broadcast_to(b[3, 3:4], (COLUMNS,)),
    "pending": lambda xp, b: b[0, :COLUMNS] + b[1, :COLUMNS],
    "selected by a mask": lambda xp, b: b[0, : COLUMNS + 1][xp.arange(COLUMNS + 1) != 2],
}
MATRICES: dict[str, Callable[[ModuleType, Any], Any]] = {
    "contiguous": lambda xp, b: b[:ROWS, :COLUMNS],
    "transposed": lambda xp, b: b[:COLUMNS, :ROWS].T,
    "pending": lambda xp, b: b[:ROWS, :COLUMNS] * b[1 : 1 + ROWS, :COLUMNS],
}
PRODUCTS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "operator": lambda xp, a, b: a @ b,
    "matmul": lambda xp, a, b: xp.matmul(a, b),
    "dot": lambda xp, a, b: xp.dot(a, b),
    "inner": lambda xp, a, b: xp.inner(a, b),
}


def values(dtype: str) -> np.ndarray:
    """12 x 12 small integers in any dtype."""
    found = np.random.default_rng(5).integers(0, 4, (12, 12))
    return (found + 1j * found.T).astype(dtype) if np.dtype(dtype).kind == "c" else found.astype(dtype)


def test_operands_that_lie_in_every_way(same: Same) -> None:
    host = values("float32")
    for vector in VECTORS.values():
        same(lambda xp, v=vector: v(xp, xp.array(host)) @ VECTORS["contiguous"](xp, xp.array(host)))
        for matrix in MATRICES.values():
            same(lambda xp, m=matrix, v=vector: m(xp, xp.array(host)) @ v(xp, xp.array(host)))
            same(lambda xp, m=matrix, v=vector: v(xp, xp.array(host)) @ m(xp, xp.array(host)).T)


@pytest.mark.parametrize("dtype", [*FEW_DTYPES, "int64"])
def test_dtypes(same: Same, dtype: str) -> None:
    host = values(dtype)
    for body in (lambda a, x: x @ x, lambda a, x: a @ x, lambda a, x: x @ a):
        same(lambda xp, f=body: f(xp.array(host), xp.array(host[0])))


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_function(same: Same, name: str) -> None:
    host = values("float32")
    operands: dict[str, Callable[[ModuleType], Any]] = {
        "vector": lambda xp: xp.array(host[0]),
        "matrix": lambda xp: xp.array(host),
        "another dtype": lambda xp: xp.array(host[0].astype("int16")),
        "empty vector": lambda xp: xp.array(host[0, :0]),
        "no columns": lambda xp: xp.array(host[:, :0]),
        "no rows": lambda xp: xp.array(host[:0]),
        "too short": lambda xp: xp.array(host[0, :5]),
        "0-d": lambda xp: xp.array(np.float32(3)),
    }
    for a in operands.values():
        for b in (*operands.values(), lambda xp: host[0]):
            same(lambda xp, a=a, b=b: PRODUCTS[name](xp, a(xp), b(xp)))


def test_operands_written_afterwards(same: Same) -> None:
    host = values("float32")

    def body(xp: ModuleType) -> Any:
        a, x = xp.array(host), xp.array(host[0])
        products = [a @ x, x @ a, x @ x, a[:, ::2] @ x[::2], xp.dot(x[:3], x[3:6])]
        x[...] = 7
        a[...] = 5
        return products

    same(body)


def test_triangular_solve_by_rows(same: Same) -> None:
    """A slice of another length in each turn."""
    lower = np.tril(values("float64")) + 4 * np.eye(12)
    right = values("float64")[3]

    def body(xp: ModuleType) -> Any:
        a, b, x = xp.array(lower), xp.array(right), xp.zeros(12)
        for i in range(12):
            x[i] = b[i] - a[i, :i] @ x[:i]
            x[i] -= x[i] % 2
        return x

    same(body)


@pytest.mark.parametrize("rows", [8, 63, 64, 66, 129])
@pytest.mark.optimized
def test_rows_that_are_gone_along_together(same: Same, policy: str, rows: int) -> None:
    """Whole blocks of rows and what is left of them, with ends of rows; more than one reduced axis."""
    values = np.random.default_rng(0).integers(-3, 4, (3, rows, 41))

    def body(xp: ModuleType) -> Any:
        found = []
        for dtype in (np.float32, np.float16, np.int32):
            b = xp.asarray(values.astype(dtype))
            a = b[0]
            found += [a @ b[1, 0], a[:, :16] @ b[1, 0, :16], a[:, ::-1] @ b[1, 0], (a + b[1, 0]).max(axis=1) * 2]
            found += [
                b.transpose(1, 0, 2)[:, :, 1:].sum(axis=(1, 2)),
                a.sum(axis=1, where=a > 0),
                b[:, :, :19].min(axis=2),
            ]
        return found

    same(body)


INTO_OPERANDS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "dot": lambda xp, a, b, v: xp.dot(a, v, out=v),
    "its method": lambda xp, a, b, v: a.dot(v, v),
    "dot into a row": lambda xp, a, b, v: xp.dot(a, b[0], out=b[0]),
    "dot of matrices": lambda xp, a, b, v: xp.dot(a, b, out=b),
    "matmul": lambda xp, a, b, v: xp.matmul(a, v, out=v),
    "einsum": lambda xp, a, b, v: xp.einsum("ij,j->i", a, v, out=v),
    "einsum of matrices": lambda xp, a, b, v: xp.einsum("ij,jk->ik", a, b, out=b),
    "einsum, turned": lambda xp, a, b, v: xp.einsum("ij,jk->ki", a, b, out=a),
    "a sum": lambda xp, a, b, v: (a * v).sum(1, out=v),
    "a largest": lambda xp, a, b, v: (a + v).max(1, out=v),
    "a slice": lambda xp, a, b, v: v.__setitem__(slice(None), (a * v).sum(1) * 2 + 1),
    "a slice, turned": lambda xp, a, b, v: v.__setitem__(slice(None, None, -1), (a * v).sum(1)),
    "a column": lambda xp, a, b, v: b.__setitem__((slice(None), 0), (b * v).sum(1)),
    "in place": lambda xp, a, b, v: v.__imul__((a * v).sum(1)),
    "in place, less what is the same in all rows": lambda xp, a, b, v: b.__isub__(b.mean(0)),
    "copyto": lambda xp, a, b, v: xp.copyto(v, xp.dot(a, v)),
}


@pytest.mark.parametrize("n", [2, 3, 5, 33, 300])
@pytest.mark.parametrize("name", INTO_OPERANDS)
def test_into_an_operand(name: str, n: int) -> None:
    """Each element is of all of the operand, so that it is read before any is written."""
    random = np.random.default_rng(n)
    for _ in range(4):
        given = [random.integers(0, 3, shape).astype(np.float32) for shape in ((n, n), (n, n), n)]
        apart = [x.copy() for x in given]
        ours = [clarray.array(x) for x in given]
        INTO_OPERANDS[name](clarray, *ours)
        INTO_OPERANDS[name](np, *apart)
        for found, expected in zip(ours, apart, strict=True):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)


@pytest.mark.parametrize("out", ["int64", "int16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("text", ["ij->i", "ij,jk->ik", "ij,ij->ij", "ij,j->i", "ii->i", "ij,jk,k->i"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float32"])
def test_einsum_sums_in_the_dtype_of_out(dtype: str, text: str, out: str) -> None:
    a, b = ((np.arange(9).reshape(3, 3) * 30 % 100).astype(dtype) for _ in range(2))
    terms = [(a, b)[k % 2] if len(labels) == 2 else a[0] for k, labels in enumerate(text.split("->")[0].split(","))]
    shape = np.einsum(text, *terms).shape
    if not np.can_cast(np.result_type(dtype, out), out, "safe"):
        with pytest.raises(TypeError):
            clarray.einsum(text, *map(clarray.asarray, terms), out=clarray.zeros(shape, out))
        return
    found, expected = clarray.zeros(shape, out), np.zeros(shape, out)
    clarray.einsum(text, *map(clarray.asarray, terms), out=found)
    np.einsum(text, *terms, out=expected)
    np.testing.assert_array_equal(np.asarray(found), expected)
