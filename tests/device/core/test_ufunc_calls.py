"""Calls of ufuncs: out=, where=, casting=, dtype=, several outputs, outer; operators and in-place ones."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

A = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
B = np.linspace(-2, 2, 4).astype(np.float32)
I = np.arange(-6, 6, dtype=np.int32).reshape(3, 4)  # noqa: E741

pytestmark = [pytest.mark.usefixtures("quick_builds"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@pytest.fixture(autouse=True)
def with_float64() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


def made(xp: Any, shape: tuple[int, ...] = (3, 4), dtype: Any = np.float32) -> Any:
    return xp.full(shape, 9, dtype)


CALLS: dict[str, Callable[[Any], Any]] = {
    "out": lambda xp: np.add(xp.asarray(A), xp.asarray(B), out=made(xp)),
    "out in a tuple": lambda xp: np.add(xp.asarray(A), 1, out=(made(xp),)),
    "out by position": lambda xp: np.add(xp.asarray(A), 1, made(xp)),
    "out of a larger shape": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, (2, 3, 4))),
    "out of another dtype": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, dtype=np.float64)),
    "out smaller float": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, dtype=np.float16)),
    "out from int": lambda xp: np.add(xp.asarray(I), 1, out=made(xp)),
    "out unsafe": lambda xp: np.multiply(xp.asarray(A), 1.5, out=made(xp, dtype=np.int32), casting="unsafe"),
    "out refused": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, dtype=np.int32)),
    "out refused by casting": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, dtype=np.float64), casting="no"),
    "out refused, unsigned": lambda xp: np.add(xp.asarray(I), 1, out=made(xp, dtype=np.uint32)),
    "out too small": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, (4,))),
    "out of no shape": lambda xp: np.add(xp.asarray(A), 1, out=made(xp, (2, 4))),
    "out read-only": lambda xp: np.add(xp.asarray(A), 1, out=xp.broadcast_to(xp.asarray(B), (3, 4))),
    "out twice": lambda xp: np.add(xp.asarray(A), 1, made(xp), out=made(xp)),
    "out too many": lambda xp: np.add(xp.asarray(A), 1, out=(made(xp), made(xp))),
    "out is an input": lambda xp: (lambda x: (np.subtract(x[:, ::-1], x, out=x), x))(xp.array(A)),
    "out overlaps": lambda xp: (lambda x: (np.add(x[:-1], x[1:], out=x[1:]), x))(xp.array(A)),
    "out strided": lambda xp: (lambda x: (np.negative(xp.asarray(B), out=x.T[:, 1]), x))(made(xp)),
    "where": lambda xp: np.add(xp.asarray(A), 1, out=made(xp), where=xp.asarray(A) > 5),
    "where of ndarrays": lambda xp: np.add(xp.asarray(A), 1, out=made(xp), where=A > 5),
    "where a row": lambda xp: np.add(xp.asarray(A), 1, out=made(xp), where=[True, False] * 2),
    "where false": lambda xp: np.add(xp.asarray(A), 1, out=made(xp), where=False),
    "where casts": lambda xp: np.sqrt(xp.asarray(I), out=made(xp, dtype=np.float64), where=I > 0),
    "where of ints": lambda xp: np.add(xp.asarray(A), 1, out=made(xp), where=I),
    "where too large": lambda xp: np.add(xp.asarray(B), 1, out=made(xp, (4,)), where=A > 5),
    "where broadcasts the result": lambda xp: np.add(xp.asarray(B), 1, out=made(xp), where=A > 5),
    "dtype": lambda xp: np.add(xp.asarray(I), xp.asarray(I), dtype=np.float32, casting="unsafe"),
    "dtype wider": lambda xp: np.multiply(xp.asarray(A), xp.asarray(A), dtype=np.float64),
    "dtype refused": lambda xp: np.add(xp.asarray(A), 1.5, dtype=np.int32),
    "dtype of a comparison": lambda xp: np.less(xp.asarray(A), 3, dtype=bool),
    "signature": lambda xp: np.add(xp.asarray(A), 1, signature="dd->d"),
    "signature tuple": lambda xp: np.add(xp.asarray(A), 1, signature=(None, None, np.float64)),
    "sig": lambda xp: np.add(xp.asarray(I), 1, sig="ll->l"),
    "signature and dtype": lambda xp: np.add(xp.asarray(A), 1, signature="dd->d", dtype="d"),
    "casting no": lambda xp: np.add(xp.asarray(A), xp.asarray(I), casting="no"),
    "casting safe": lambda xp: np.add(xp.asarray(A), xp.asarray(I), casting="safe"),
    "casting wrong": lambda xp: np.add(xp.asarray(A), 1, casting="nonsense"),
    "order and subok": lambda xp: np.add(xp.asarray(A), 1, order="C", subok=False),
    "no such keyword": lambda xp: np.add(xp.asarray(A), 1, nonsense=1),
    "shapes": lambda xp: np.add(xp.asarray(A), xp.asarray(A[:2])),
    "too few": lambda xp: np.add(xp.asarray(A)),
    "modf": lambda xp: np.modf(xp.asarray(A / 4)),
    "modf out": lambda xp: np.modf(xp.asarray(A / 4), out=(made(xp), made(xp))),
    "modf one out": lambda xp: np.modf(xp.asarray(A / 4), out=(None, made(xp))),
    "modf by position": lambda xp: np.modf(xp.asarray(A / 4), made(xp)),
    "modf no tuple": lambda xp: np.modf(xp.asarray(A), out=made(xp)),
    "modf short tuple": lambda xp: np.modf(xp.asarray(A), out=(made(xp),)),
    "frexp": lambda xp: np.frexp(xp.asarray(A)),
    "divmod": lambda xp: np.divmod(xp.asarray(A), xp.asarray(B)),
    "divmod of ints": lambda xp: divmod(xp.asarray(I), 4),
    "divmod where": lambda xp: np.divmod(
        xp.asarray(I), 4, out=(made(xp, dtype=np.int32), made(xp, dtype=np.int32)), where=I > 0
    ),
    "power": lambda xp: np.power(xp.asarray(I), 3),
    "power of arrays": lambda xp: xp.asarray(I) ** xp.asarray(I + 6),
    "negative power": lambda xp: xp.asarray(I) ** -1,
    "negative powers": lambda xp: np.power(xp.asarray(I), xp.asarray(I)),
    "power of no elements": lambda xp: np.power(xp.asarray(I[:0]), xp.asarray(I[:0])),
    "2 to negative powers": lambda xp: 2 ** xp.asarray(I),
    "float power": lambda xp: np.float_power(xp.asarray(np.abs(I) + 1), 2),
    "square": lambda xp: xp.asarray(A) ** 2,
    "square of ints": lambda xp: xp.asarray(I) ** 2,
    "square root": lambda xp: xp.asarray(A) ** 0.5,
    "power of bools": lambda xp: xp.asarray(I > 0) ** 2,
    "first power": lambda xp: xp.asarray(A) ** 1,
    "outer": lambda xp: np.add.outer(xp.asarray(B), xp.asarray(A[0])),
    "outer with an ndarray": lambda xp: np.multiply.outer(xp.asarray(B), A),
    "outer with a scalar": lambda xp: np.subtract.outer(xp.asarray(B), 3),
    "outer out": lambda xp: np.add.outer(xp.asarray(B), xp.asarray(B), out=made(xp, (4, 4))),
    "bitwise of floats": lambda xp: xp.asarray(A) & 1,
    "minus of bools": lambda xp: xp.asarray(A > 3) - xp.asarray(A > 5),
    "negative of bools": lambda xp: -xp.asarray(A > 3),
    "invert of floats": lambda xp: ~xp.asarray(A),
    "names": lambda xp: [xp.abs(xp.asarray(I)), xp.maximum(xp.asarray(I), 2), xp.add(1, [2, 3])],
    "of scalars": lambda xp: xp.asarray(xp.sqrt(2.0)),
    "nested": lambda xp: xp.add(xp.multiply(xp.asarray(A), 2), xp.subtract([1, 2, 3, 4], B)),
}


@pytest.mark.parametrize("name", CALLS)
def test_call(same: Any, name: str) -> None:
    message = name not in ("no such keyword",)  # a version's wording
    same(CALLS[name], message)


def test_out_is_returned() -> None:
    out = made(clarray)
    assert np.add(clarray.asarray(A), 1, out=out) is out
    first, second = made(clarray), made(clarray)
    results = np.modf(clarray.asarray(A), out=(first, second))
    assert results[0] is first
    assert results[1] is second


def test_where_without_out_reads_nothing_undefined() -> None:
    x = clarray.add(clarray.asarray(A), 1, out=None, where=A > 5)
    np.testing.assert_array_equal(clarray.asnumpy(x)[A > 5], A[A > 5] + 1)


BINARY = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
}
OTHERS = {
    "int": 2,
    "float": 2.5,
    "complex": 1j,
    "bool": True,
    "int8": np.int8(3),
    "float64": np.float64(0.5),
    "row": B,
    "ints": np.abs(I),
    "list": [1, 2, 3, 4],
    "larger": np.ones((2, 3, 4), np.float32),
    "wrong": np.ones(3, np.float32),
}


# A number that no dtype holds, and a cast that is refused: NumPy looks at the number first.
REFUSED_TWICE = {
    "out": lambda xp, ufunc, n: ufunc(xp.asarray(I), n, out=made(xp, dtype=bool)),
    "out, number first": lambda xp, ufunc, n: ufunc(n, xp.asarray(I), out=made(xp, dtype=np.uint8)),
    "out of bools": lambda xp, ufunc, n: ufunc(xp.asarray(I) > 1, n, out=made(xp, dtype=bool)),
    "where": lambda xp, ufunc, n: ufunc(xp.asarray(I), n, out=made(xp, dtype=bool), where=xp.asarray(I) > 1),
    "dtype": lambda xp, ufunc, n: ufunc(xp.asarray(I), n, dtype=np.uint16),
    "signature": lambda xp, ufunc, n: ufunc(xp.asarray(I), n, signature=(np.int8, None, None)),
    "in place": lambda xp, ufunc, n: ufunc(xp.asarray(I), n, out=xp.asarray(I), dtype=np.uint8),
}


@pytest.mark.parametrize("number", [-3, 300, 2**40, -(2**62)])
@pytest.mark.parametrize("ufunc", [np.add, np.left_shift, np.bitwise_or, np.floor_divide])
@pytest.mark.parametrize("call", REFUSED_TWICE.values(), ids=REFUSED_TWICE)
def test_which_error_comes_first(same: Any, call: Any, ufunc: np.ufunc, number: int) -> None:
    same(lambda xp: call(xp, ufunc, number))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("symbol", ["+", "-", "/", "**", "&"])
@pytest.mark.parametrize("state", ["memory", "pending"])
def test_in_place_casting(symbol: str, other: str, state: str) -> None:
    """The same dtype is kept, or the same error raised, whether the array is memory or pending."""
    hosts = (A, I, A > 5, A.astype(np.float16))
    if state == "memory":  # each that succeeds is a kernel of its own
        hosts = hosts[:2] if symbol == "+" else hosts[1:3] if symbol == "**" else ()
    for host in hosts:
        for value in (OTHERS[other], clarray.asarray(OTHERS[other])):
            if other in ("int", "float", "complex", "bool") and value is not OTHERS[other]:
                continue  # a 0-d array is no weak scalar
            theirs = host.copy()
            ours = clarray.array(host)
            if state == "pending":
                ours = ours[...] * host.dtype.type(1) if host.dtype != bool else ours | False
                assert ours.dtype == host.dtype
            before = ours
            plain = OTHERS[other]
            expected, error = outcome(lambda xp, a=theirs, b=plain: BINARY[symbol](a, b), np)
            if error is None:
                ours = BINARY[symbol](ours, value)
                assert ours is before
                assert ours.dtype == expected.dtype
                assert ours.shape == expected.shape
                continue
            with pytest.raises(type(error)) as caught:
                BINARY[symbol](ours, value)
            assert str(caught.value) == str(error)
            assert ours.dtype == host.dtype


def outcome(body: Callable[[Any], Any], xp: Any) -> tuple[Any, Exception | None]:
    try:
        return body(xp), None
    except (TypeError, ValueError) as error:
        return None, error


@pytest.mark.parametrize("symbol", BINARY)
def test_in_place_values(same: Any, symbol: str) -> None:
    def body(xp: Any) -> Any:
        x = xp.array(np.abs(I) + 1)
        view = x[::-1, 1:]
        view = BINARY[symbol](view, xp.asarray(np.abs(I[:, 1:]) % 3 + 1)) if symbol != "/" else view
        y = xp.array(np.abs(I) + 1)
        y = BINARY[symbol](y, 2) if symbol != "/" else y
        return x, y

    same(body)


def test_in_place_on_a_slice(same: Any) -> None:
    def body(xp: Any) -> Any:
        x = xp.array(A)
        x[1] += 5
        x[:, ::2] *= xp.asarray(B[::2])
        x[x > 20] -= 1
        x.T[0] /= 4
        x[2, 3] **= 2
        return x

    same(body)
