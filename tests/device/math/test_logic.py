"""Comparisons of whole arrays and tests of elements: NumPy's answers, in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

Same = Callable[..., None]
SPECIAL = [0.0, -0.0, 1.0, 1.00001, 1.001, np.nan, np.inf, -np.inf, 5.0, -5.0, 1e-9, 3e38]
KINDS = ["int8", "float16", "float32", "complex64"]


def numbers(dtype: str, values: Any = SPECIAL) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = np.array(values, "f8" if dtype[0] != "c" else "c16")
        if dtype[0] in "bi":
            found = np.where(np.isfinite(found), np.clip(found, -100, 100), 7)
        elif dtype[0] == "c":
            found.imag = np.roll(found.real, 3)
        return found.astype(dtype)


def pair(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every number beside every other."""
    x, y = (np.array(v) for v in zip(*itertools.product(numbers(dtype), repeat=2), strict=True))
    return x.astype(dtype), y.astype(dtype)


def needs_float64(*dtypes: str) -> None:
    if any(d[0] in "bi" for d in dtypes) and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(same: Same, kind: str, equal_nan: bool) -> None:
    needs_float64(kind)
    x, y = pair(kind)
    with np.errstate(all="ignore"):
        same(lambda xp: xp.isclose(xp.asarray(x), xp.asarray(y), equal_nan=equal_nan))
        same(lambda xp: xp.isclose(xp.asarray(x), xp.asarray(y), rtol=1e-3, atol=0.5, equal_nan=equal_nan))


def test_isclose_takes_scalars_and_arrays_of_tolerances(same: Same) -> None:
    x = numbers("float32")
    with np.errstate(all="ignore"):
        for other in (1, 1.0, np.nan, np.float32(5), True):
            same(lambda xp, other=other: xp.isclose(xp.asarray(x), other, equal_nan=True))
            same(lambda xp, other=other: xp.isclose(other, xp.asarray(x)))
        grid = np.array([[0.0], [1e-3], [1.0]], "float32")
        same(lambda xp: xp.isclose(xp.asarray(x), 1.0, rtol=xp.asarray(grid), atol=xp.asarray(grid)))
        same(lambda xp: xp.allclose(xp.asarray(x), x))
        same(lambda xp: xp.allclose(xp.asarray(x), x, equal_nan=True))
        same(lambda xp: xp.allclose(xp.asarray(x[:0]), 1.0))


def test_tolerances_that_are_not_finite_are_told() -> None:
    x = clarray.ones(3, "float32")
    with pytest.warns(RuntimeWarning, match="rtol or atol is not valid"):
        clarray.isclose(x, x, rtol=np.inf)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        clarray.isclose(x, x, atol=clarray.asarray(np.float32(np.nan)))
    with np.errstate(invalid="ignore"):
        clarray.isclose(x, x, atol=np.nan)


@pytest.mark.kernels_alone
def test_isclose_of_pending_operands_is_one_pass() -> None:
    x, y = clarray.ones(64, "float32").copy(), clarray.ones(64, "float32").copy()
    a, b = x * 2 + 1, y * 3
    with clarray.profile() as p:
        clarray.allclose(a, b, equal_nan=True)
    assert p.launches == 1


@pytest.mark.parametrize("function", ["array_equal", "array_equiv"])
def test_equality_of_arrays(same: Same, function: str) -> None:
    x = numbers("float32")
    finite = np.arange(6, dtype="float32")
    for a, b in (
        (x, x),
        (finite, finite),
        (finite, finite.astype("int16")),
        (finite, finite + 1),
        (finite, finite[:5]),
        (finite[:1], finite * 0),
        (finite.reshape(2, 3), finite),
        (finite[:0], finite[:0]),
        (True, 1),
        (finite, "text"),
        (finite, [[1], [2, 3]]),
        ([1, 2], [1, 2]),
        (np.ones((2, 1), "int8"), [1, 1]),
    ):
        one = (lambda xp, a=a: xp.asarray(a)) if isinstance(a, np.ndarray) else (lambda xp, a=a: a)
        same(lambda xp, one=one, b=b: getattr(xp, function)(one(xp), b))


@pytest.mark.parametrize("kind", ["float32", "complex64", "int32"])
def test_equality_with_nan(same: Same, kind: str) -> None:
    x = numbers(kind)
    other = x.copy()
    other[0] += 1
    for y in (x, other, x[::-1].copy()):
        same(lambda xp, y=y: xp.array_equal(xp.asarray(x), xp.asarray(y), equal_nan=True))


@pytest.mark.parametrize("function", ["isreal", "iscomplex", "isposinf", "isneginf", "real_if_close"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_element(same: Same, function: str, kind: str) -> None:
    x = numbers(kind)
    same(lambda xp: getattr(xp, function)(xp.asarray(x.reshape(3, 4).T)))


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
def test_fix() -> None:
    x = numbers("float32", [1.7, -1.7, 0.5, -0.0, np.nan, np.inf, -np.inf, 3e9, 2.0, -2.5, 1e-9, 7.9])
    out = clarray.zeros(12, "float32")
    assert clarray.fix(clarray.asarray(x), out) is out
    np.testing.assert_array_equal(out.get(), np.trunc(x))


def test_outputs(same: Same) -> None:
    x = numbers("float32")
    for function in ("isposinf", "isneginf"):

        def body(xp: Any, function: str = function) -> Any:
            out = xp.zeros(12, "float32")
            assert getattr(xp, function)(xp.asarray(x), out) is out
            return out

        same(body)
    same(lambda xp: xp.isposinf(xp.arange(3), xp.ones(3, bool)))


@pytest.mark.parametrize("kind", KINDS)
def test_nan_to_num(same: Same, kind: str) -> None:
    x = numbers(kind)
    same(lambda xp: xp.nan_to_num(xp.asarray(x)))
    same(lambda xp: xp.nan_to_num(xp.asarray(x), nan=7, posinf=9.5, neginf=-2))


def test_nan_to_num_in_place_and_by_arrays(same: Same) -> None:
    x = numbers("float32").reshape(3, 4)

    def in_place(xp: Any) -> Any:
        array = xp.array(x)
        assert xp.nan_to_num(array[:, 1:], copy=False, nan=-1) is not array
        return array

    same(in_place)
    same(lambda xp: xp.nan_to_num(xp.asarray(x), nan=xp.asarray(x[0, ::-1].copy()), posinf=xp.arange(4)))
    same(lambda xp: xp.nan_to_num(xp.asarray(x), nan=1j))
    same(lambda xp: xp.nan_to_num(xp.asarray(x), nan=xp.asarray(numbers("complex64"))[:4]))
    same(lambda xp: xp.nan_to_num([1.0, 2.0], copy=False), message=False)
    same(lambda xp: xp.nan_to_num(xp.arange(3), copy=False))


def test_copies_are_copies() -> None:
    x = clarray.arange(3)
    y = clarray.nan_to_num(x)
    x[0] = 9
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize("tol", [100, 1000, 0.1])
def test_real_if_close(same: Same, tol: float) -> None:
    x = np.array([1 + 2e-5j, 2 - 1e-5j], "complex64")
    same(lambda xp: xp.real_if_close(xp.asarray(x), tol))


def test_selections_are_operands_like_any_others(same: Same) -> None:
    """Elements that a mask selects, how many is not known yet."""
    z = numbers("complex64")
    for function in ("isreal", "iscomplex", "nan_to_num", "real_if_close"):
        same(lambda xp, function=function: getattr(xp, function)(xp.asarray(z)[xp.asarray(z.imag != 1)]))
    x = z.real.copy()
    same(lambda xp: xp.isclose(xp.asarray(x)[xp.asarray(x > 0)], 1, equal_nan=True))
    same(lambda xp: xp.allclose(xp.asarray(x)[xp.asarray(x > 0)], x[x > 0]))
    same(lambda xp: xp.array_equal(xp.asarray(x)[xp.asarray(x > 0)], x[x > 0]))
