"""0-d arrays as Python scalars, and Python's and NumPy's scalars as operands: NumPy's rules (NEP 50)."""

from __future__ import annotations

import cmath
import copy
import math
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

VALUES = [
    *(np.float32(2.5), np.float64(-0.0), np.float16(1.25), np.float32("nan"), np.float64("inf")),
    *(np.int8(-3), np.int64(2**62), np.uint64(2**64 - 1), np.uint8(0), np.bool_(True)),
    *(np.bool_(False), np.complex64(1 - 2j), np.complex128(3)),
]

CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "bool": bool,
    "index": operator.index,
    "format": lambda x: format(x, ".3g"),
    "format nothing": lambda x: f"{x}",
    "format wrong": lambda x: format(x, "zz"),
    "str": str,
    "item": lambda x: x.item(),
    "item 0": lambda x: x.item(()),
    "tolist": lambda x: x.tolist(),
    "sqrt": math.sqrt,
    "floor of math": lambda x: math.floor(float(x)),
    "isnan": math.isnan,
    "phase": cmath.phase,
    "list index": lambda x: [1, 2, 3][x],
    "range": lambda x: list(range(x)),
    "hash": hash,
    "len": len,
    "iter": lambda x: sum(1 for _ in x),
    "if": lambda x: 1 if x else 2,
    "and": lambda x: type(x and 5).__name__ == "int",
}


@pytest.fixture(autouse=True)
def with_float64() -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


def same_outcome(body: Callable[[Any], Any], x: Any, y: Any) -> None:
    """The same Python value, or an error of the same type and, but for the class's name, text."""
    try:
        expected = body(y)
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            body(x)
        wanted = str(error).replace("numpy.ndarray", "DeviceArray").replace("ndarray", "DeviceArray")
        assert str(caught.value).replace("numpy.ndarray", "DeviceArray") == wanted
        return
    found = body(x)
    assert type(found) is type(expected)
    assert found == expected or (found != found and expected != expected)
    assert not isinstance(expected, float) or math.copysign(1, found) == math.copysign(1, expected)


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_conversions_of_0d_arrays(name: str) -> None:
    for value in VALUES:
        same_outcome(CONVERSIONS[name], clarray.array(value), np.array(value))


@pytest.mark.parametrize("name", [name for name in CONVERSIONS if name != "str"])  # test_repr has texts
@pytest.mark.filterwarnings("ignore:Conversion of an array with ndim > 0:DeprecationWarning")
def test_conversions_of_other_arrays(name: str) -> None:
    for host in (np.array([3]), np.array([[2.5]], np.float32), np.array([1, 2]), np.array([], int)):
        same_outcome(CONVERSIONS[name], clarray.array(host), host)


def test_pending_values_are_scalars_too() -> None:
    x = clarray.arange(5, dtype=np.float32)
    assert float(x.sum() + 1) == 11
    assert math.sqrt(x.max()) == 2
    assert round(x.mean() / 3, 3) == round(np.float32(2) / np.float32(3), 3)
    assert round(x.max()) == 4
    assert isinstance(round(x.max()), int)
    assert [10, 20, 30, 40, 50][clarray.arange(5).argmax()] == 50
    assert f"{x.sum():.2f}" == "10.00"
    with pytest.raises(TypeError):
        round(x)


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons(same: Any, compare: Any) -> None:
    tables = [("int8", [1, 127, 128, -129, 10**30, -(10**30)]), ("uint64", [-1, 2**64])]
    if compare in (operator.lt, operator.eq):  # each needs kernels of its own
        tables += [
            ("int8", [1.5, True, np.int64(300)]),
            ("uint8", [-1, 255, 256, np.int8(-1)]),
            ("uint64", [2**64 - 1, np.int64(3)]),
            ("int64", [2**63, -(2**63), -(2**63) - 1, np.uint64(2**63)]),
            ("float32", [1, 0.1, np.float64(0.1), float("inf"), 2**70]),
            ("bool", [True, 2]),
        ]
    for dtype, others in tables:
        host = np.array([0, 1, 100]).astype(dtype)
        for other in others:
            same(lambda xp, h=host, o=other: compare(xp.asarray(h), o))
            same(lambda xp, h=host, o=other: compare(o, xp.asarray(h)))


def test_equality_with_what_is_no_number(same: Any) -> None:
    host = np.arange(3)
    for other in (None, "a", b"a"):
        same(lambda xp, o=other: xp.asarray(host) == o)
        same(lambda xp, o=other: xp.asarray(host) != o)
        for op in (operator.lt, operator.add):
            same(lambda xp, o=other, op=op: op(xp.asarray(host), o))
    same(lambda xp: (2 in xp.asarray(host), 7 in xp.asarray(host)))


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "int64", "float16", "float32", "complex64"]
HUGE = 10**20
PYTHON = [2, 300, -1, HUGE, 2.5, 1e300, True, 1j]
NUMPY = [
    np.int8(2),
    np.uint8(200),
    np.int64(3),
    np.float16(0.5),
    np.float32(1.5),
    np.float64(2.5),
    np.complex64(1j),
    np.bool_(True),
    np.uint64(7),
]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_dtypes_beside_scalars(name: str) -> None:
    """The dtype, or the error, of every operation; the values are checked where a kernel is shared."""
    host = np.array([0, 1, 3]).astype(name)
    x = clarray.array(host)
    for scalar in (*PYTHON, *NUMPY):
        for op in ARITHMETIC:
            for a, b, c, d in ((x, scalar, host, scalar), (scalar, x, scalar, host)):
                expected, error = outcome(op, c, d)
                if error is None:
                    found = op(a, b)
                    assert isinstance(found, clarray.DeviceArray)
                    assert found.dtype == expected.dtype
                    continue
                with pytest.raises(type(error)) as caught:
                    op(a, b)
                if scalar is not HUGE:  # NumPy says "too large to convert to C long", without a name
                    assert str(caught.value) == str(error)


def outcome(op: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[Any, Exception | None]:
    try:
        return op(a, b), None
    except (OverflowError, TypeError, ValueError) as error:
        return None, error


def test_values_beside_scalars(same: Any) -> None:
    ints, floats = np.arange(5, dtype=np.int8), np.arange(5, dtype=np.float32)
    for host, scalar in [
        *((ints, 3), (ints, -3), (ints, 2.5), (ints, np.int64(300)), (ints, True), (ints, 1j)),
        *((floats, 3), (floats, 0.1), (floats, np.float64(0.1)), (floats, 2**60)),
    ]:
        same(lambda xp, h=host, s=scalar: xp.asarray(h) + s)
        same(lambda xp, h=host, s=scalar: s - xp.asarray(h))
    same(lambda xp: 7 // xp.asarray(ints[1:]))
    same(lambda xp: 7.5 % xp.asarray(floats[1:]))
    same(lambda xp: divmod(xp.asarray(ints), 3))
    same(lambda xp: divmod(7, xp.asarray(ints[1:])))
    same(lambda xp: 1 << xp.asarray(ints))
    same(lambda xp: xp.asarray(ints) & 6)
    same(lambda xp: 3.0 & xp.asarray(ints), message=False)


def test_lists_and_ndarrays_beside(same: Any) -> None:
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    for other in (
        [1, 2, 3],
        (1.5, 2.5, 3.5),
        [[1], [2]],
        np.arange(3),
        np.float64(2),
        np.arange(6.0).reshape(3, 2).T,
        np.arange(3, dtype=">i4"),
        memoryview(b"abc"),
        np.array(3, np.int16),
    ):
        same(lambda xp, o=other: xp.asarray(host) + o)
        same(lambda xp, o=other: o - xp.asarray(host) if hasattr(o, "__array_ufunc__") else None)
        same(lambda xp, o=other: np.multiply(o, xp.asarray(host)))
    same(lambda xp: operator.add(xp.asarray(host), [1, 2]))
    same(lambda xp: [1, 2, 3] * xp.asarray(host))
    same(lambda xp: operator.add(xp.asarray(host), ["a"]), message=False)


class Weird:
    """Handles operations with arrays itself."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "mine"

    def __add__(self, other: Any) -> str:
        return "mine too"


class WithArray:
    """An array-like."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([10, 20, 30], np.int16)


def test_foreign_operands() -> None:
    x = clarray.arange(3)
    assert x + Weird() == "mine"
    assert Weird() + x == "mine too"
    with pytest.raises(TypeError):
        x * Weird()
    with pytest.raises(TypeError):
        x *= Weird()
    with pytest.raises(TypeError):
        np.add(x, Weird())
    found = x + WithArray()
    assert found.dtype == np.int64
    assert found.tolist() == [10, 21, 32]
    assert operator.add(x, Fraction(1, 3)).tolist() == [Fraction(1, 3), Fraction(4, 3), Fraction(7, 3)]
    with pytest.raises(TypeError, match="unhashable type"):
        hash(x)


def test_copies_and_pickles() -> None:
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = clarray.array(host)
    others = [
        copy.copy(x[::-1]),
        copy.deepcopy(x[::-1]),
        pickle.loads(pickle.dumps(x[::-1])),
        pickle.loads(pickle.dumps(x[::-1] + 0)),
        copy.deepcopy([x[::-1], {"a": x}])[0],
    ]
    x[...] = 0
    for other in others:
        assert isinstance(other, clarray.DeviceArray)
        np.testing.assert_array_equal(other, host[::-1])
    shared = copy.deepcopy([x, x])
    assert shared[0] is shared[1]
