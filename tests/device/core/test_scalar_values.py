"""Scalars beside arrays and in the place of elements, out of range or of another kind: NumPy says what happens."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import skip_without_float64
from ..conftest import check_same

pytestmark = pytest.mark.usefixtures("quick_builds")

DTYPES = ["bool", "int8", "uint16", "float32", "complex64"]
SCALARS: dict[str, Any] = {
    "-1": -1,
    "300": 300,
    "10**6": 10**6,
    "2**40": 2**40,
    "2**70": 2**70,
    "1.5": 1.5,
    "nan": float("nan"),
    "1j": 1j,
    "True": True,
    "int64": np.int64(3),
    "float32": np.float32(0.5),
    "uint8": np.uint8(200),
    "0-d": np.array(7),
}

Call = Callable[[Any, Any, Any], Any]  # of a module, an array and a scalar


def mask(xp: Any) -> Any:
    return xp.asarray(np.array([True, False, True, False, True]))


def writing(call: Call) -> Call:
    def body(xp: Any, x: Any, s: Any) -> Any:
        call(xp, x, s)
        return x

    return body


def at(key: Callable[[Any, Any], Any]) -> Call:
    return writing(lambda xp, x, s: x.__setitem__(key(xp, x), s))


COMPARISONS: dict[str, Call] = {
    "equal": lambda xp, x, s: x == s,
    "less": lambda xp, x, s: x < s,
    "greater_equal, reflected": lambda xp, x, s: np.greater_equal(s, x),
}
CALLS: dict[str, Call] = COMPARISONS | {
    "where": lambda xp, x, s: xp.where(mask(xp), s, x),
    "where, last": lambda xp, x, s: xp.where(mask(xp), x, s),
    "select": lambda xp, x, s: xp.select([mask(xp)], [x], s),
    "choose": lambda xp, x, s: xp.choose(mask(xp).astype("i1"), [x, s]),
    "clip from below": lambda xp, x, s: xp.clip(x, s, None),
    "clip from above": lambda xp, x, s: xp.clip(x, None, s),
    "clip": lambda xp, x, s: xp.clip(x, 0, s),
    "putmask": writing(lambda xp, x, s: xp.putmask(x, mask(xp), s)),
    "place": writing(lambda xp, x, s: xp.place(x, mask(xp), [s])),
    "copyto": writing(lambda xp, x, s: xp.copyto(x, s)),
    "copyto, where": writing(lambda xp, x, s: xp.copyto(x, s, where=mask(xp))),
    "copyto, unsafe": writing(lambda xp, x, s: xp.copyto(x, s, "unsafe")),
    "put": writing(lambda xp, x, s: xp.put(x, [0, 1], s)),
    "put_along_axis": writing(lambda xp, x, s: xp.put_along_axis(x, xp.asarray([0, 2]), s, 0)),
    "fill": writing(lambda xp, x, s: x.fill(s)),
    "full": lambda xp, x, s: xp.full(2, s, x.dtype),
    "full_like": lambda xp, x, s: xp.full_like(x, s),
    "element": at(lambda xp, x: 1),
    "slice": at(lambda xp, x: slice(1, 3)),
    "mask": at(lambda xp, x: mask(xp)),
    "indices": at(lambda xp, x: [0, 2]),
    "flat": writing(lambda xp, x, s: x.flat.__setitem__(slice(0, 2), s)),
    "flat, element": writing(lambda xp, x, s: x.flat.__setitem__(1, s)),
    "insert": lambda xp, x, s: xp.insert(x, 1, s),
    "piecewise": lambda xp, x, s: xp.piecewise(x, [mask(xp)], [s, 0]),
    "sum": lambda xp, x, s: xp.sum(x, initial=s),
    "max": lambda xp, x, s: xp.max(x, initial=s),
    "add": lambda xp, x, s: x + s,
    "rsub": lambda xp, x, s: s - x,
    "less": lambda xp, x, s: x < s,
    "and": lambda xp, x, s: x & s,
    "logical_or": lambda xp, x, s: xp.logical_or(x, s),
    "logical_xor": lambda xp, x, s: xp.logical_xor(s, x),
    "fmin": lambda xp, x, s: xp.fmin(x, s),
    "in place": lambda xp, x, s: operator.imul(x, s),
}
OBJECTS = "2**70"  # where NumPy computes with Python's ints, and bools beside it


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_scalar(call: Call, dtype: str) -> None:
    for name, scalar in SCALARS.items():
        if name == OBJECTS and dtype == "bool" and call not in COMPARISONS.values():
            continue

        def body(xp: Any, scalar: Any = scalar) -> Any:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                return call(xp, xp.asarray(np.array([0, 1, 2, 3, 5]).astype(dtype)), scalar)

        try:
            check_same(body, message=False)
        except TypeError as error:
            skip_without_float64(error)
            raise


def test_lost_imaginary_parts_warn_as_numpys() -> None:
    for xp in (np, clarray):
        with pytest.warns(np.exceptions.ComplexWarning):
            assert xp.full_like(xp.zeros(2, "f4"), 1j).tolist() == [0, 0]
        with pytest.warns(np.exceptions.ComplexWarning):
            xp.copyto(xp.zeros(2, "f4"), 1j, "unsafe")


MASKS = [[1, 0, 1], [1.0, 0, 1], 1, True, np.int64(1), np.array([1, 0, 1]), np.array(1), np.array([True, False, True])]


@pytest.mark.parametrize("where", MASKS, ids=repr)
def test_masks_of_other_dtypes(where: Any) -> None:
    def given(xp: Any) -> Any:
        return xp.asarray(where) if isinstance(where, np.ndarray) and where.ndim else where

    def copied(xp: Any) -> Any:
        x = xp.zeros(3, "f4")
        xp.copyto(x, 5, where=given(xp))
        return x

    check_same(copied, message=False)
    check_same(lambda xp: xp.add(xp.ones(3, "f4"), 1, where=given(xp), out=xp.zeros(3, "f4")), message=False)


@pytest.mark.parametrize(
    "values", [[300, 1], [1.5], np.array([3, 4]), np.array([3], "i1"), [1j], [], np.array(3)], ids=repr
)
@pytest.mark.parametrize("name", ["putmask", "place"])
def test_values_of_other_dtypes(name: str, values: Any) -> None:
    def body(xp: Any) -> Any:
        x = xp.zeros(4, "i1")
        getattr(xp, name)(x, xp.asarray(np.array([True, False, True, True])), values)
        return x

    check_same(body, message=False)


SPREADS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda xp: xp.broadcast_to(xp.arange(3), (2, 3)),
    "columns": lambda xp: xp.broadcast_to(xp.arange(3), (2, 3)).T,
    "inner": lambda xp: xp.broadcast_to(xp.arange(3)[:, None, None], (3, 2, 2)),
    "between": lambda xp: xp.broadcast_to(xp.arange(3)[:, None, None], (3, 2, 2)).transpose(2, 0, 1),
    "two axes": lambda xp: xp.broadcast_to(xp.arange(6).reshape(2, 3).T, (2, 3, 2)).transpose(2, 0, 1),
    "one element": lambda xp: xp.arange(6).reshape(2, 1, 3).T,
    "backwards": lambda xp: xp.arange(12).reshape(3, 4)[::-1].T,
}


@pytest.mark.parametrize("make", SPREADS.values(), ids=SPREADS)
@pytest.mark.parametrize("order", "KAFC")
def test_ravel_in_every_order(make: Any, order: str) -> None:
    check_same(lambda xp: [make(xp).ravel(order), make(xp).flatten(order)])


@pytest.mark.parametrize("shape", [(-1,), (2, -1), (-1, 2), (0,), (0, 2)])
def test_unit_matrices_of_no_extent(shape: tuple[int, ...]) -> None:
    check_same(lambda xp: xp.eye(*shape, dtype="f4"))
