"""Whose memory a result is: a write to an argument shows in it, and the other way round, where it does in NumPy.

Each function is called with its usual sample and with arguments for which it has nothing to do, when it may be
tempted to give back what it was given.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pytest

import clarray
from clarray._core.device_array import mark_0d_array

from ..whole.test_every_function import (
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    NO_CALL,
    NO_METHOD,
    SAMPLES,
    SHARED_METHODS,
    fresh,
    required,
    sample,
)

pytestmark = pytest.mark.usefixtures("quick_builds")

CELL = np.array(5, "float32")
ONE = np.array([3], "float32")
NONE = np.zeros(0, "float32")
FLAG = np.array(True)
LINE = np.array([1, 2j, 3], "complex64")
TABLE = np.arange(1, 5, dtype="int32").reshape(2, 2)
ARRAYS = [CELL, ONE, NONE, FLAG, LINE, TABLE]
AXES = [a for a in ARRAYS if a.ndim]

# What a function has nothing to do for.
NOTHING: dict[str, list[tuple[Any, ...]]] = {
    "append": [(a, []) for a in ARRAYS],
    "apply_along_axis": [(lambda line: line, 0, a) for a in (ONE, LINE, TABLE)],
    "apply_over_axes": [(lambda v, axis: v, a, [0]) for a in AXES],
    "around": [(a, 2) for a in ARRAYS],
    "array_split": [(a, 1) for a in AXES],
    "astype": [(a, a.dtype) for a in ARRAYS],
    "block": [(a,) for a in ARRAYS],
    "broadcast_arrays": [(a, a) for a in ARRAYS],
    "broadcast_to": [(a, a.shape) for a in ARRAYS],
    "choose": [(np.zeros((), int), [a]) for a in ARRAYS],
    "clip": [(a, None, None) for a in ARRAYS] + [(TABLE, -(2**40), 2**40)],
    "column_stack": [((a,),) for a in ARRAYS],
    "compress": [([True] * a.size, a) for a in ARRAYS],
    "concatenate": [((a,),) for a in AXES],
    "convolve": [(ONE, np.ones(1, "float32"))],
    "delete": [(a, []) for a in AXES] + [(a, slice(0, 0)) for a in AXES],
    "diff": [(a, 0) for a in AXES],
    "dot": [(a, a) for a in ARRAYS],
    "dstack": [((a,),) for a in ARRAYS],
    "einsum": [("...", a) for a in ARRAYS] + [("ii->i", TABLE), ("ij->ji", TABLE)],
    "expand_dims": [(a, ()) for a in ARRAYS],
    "extract": [(np.ones(a.shape, bool), a) for a in ARRAYS],
    "flip": [(a, ()) for a in ARRAYS],
    "hstack": [((a,),) for a in ARRAYS],
    "insert": [(a, [], []) for a in AXES],
    "meshgrid": [(a,) for a in ARRAYS],
    "moveaxis": [(a, (), ()) for a in ARRAYS],
    "nan_to_num": [(a, False) for a in ARRAYS],
    "pad": [(a, 0) for a in AXES],
    "partition": [(ONE, 0)],
    "permute_dims": [(a, None) for a in ARRAYS],
    "piecewise": [(a, [a == a], [lambda v: v]) for a in ARRAYS],
    "polyder": [(ONE, 0)],
    "polyint": [(ONE, 0)],
    "ravel": [(a, "F") for a in ARRAYS],
    "real_if_close": [(a,) for a in ARRAYS] + [(LINE.real.astype("complex64"),)],
    "repeat": [(a, 1) for a in ARRAYS],
    "reshape": [(a, a.shape) for a in ARRAYS],
    "resize": [(a, a.shape) for a in ARRAYS],
    "roll": [(a, 0) for a in ARRAYS],
    "rollaxis": [(a, 0) for a in AXES],
    "rot90": [(TABLE, 0), (TABLE, 4)],
    "round": [(a, 0) for a in ARRAYS],
    "select": [([np.array(True)], [a]) for a in ARRAYS],
    "split": [(a, 1) for a in AXES],
    "stack": [((a,),) for a in ARRAYS],
    "swapaxes": [(a, 0, 0) for a in AXES],
    "take": [(ONE, [0]), (CELL, 0)],
    "tile": [(a, ()) for a in ARRAYS] + [(a, (1, 1)) for a in ARRAYS],
    "trim_zeros": [(ONE,)],
    "unique": [(a, False, False, False, 0) for a in AXES],
    "vander": [(ONE, 1)],
    "vstack": [((a,),) for a in ARRAYS],
    "where": [(True, a, a) for a in ARRAYS],
}
NO_AXES = [
    *("sum", "prod", "max", "min", "any", "all", "mean", "std", "ptp", "median", "average", "nanmin", "nanmax"),
    *("nansum", "nanmean", "nanstd", "count_nonzero", "squeeze"),
]
METHOD_ARGUMENTS: dict[str, Callable[[np.ndarray], tuple[Any, ...]]] = {
    "astype": lambda a: (a.dtype,),
    "reshape": lambda a: (a.shape,),
    "view": lambda a: (a.dtype,),
    "clip": lambda a: (None, None),
    "repeat": lambda a: (1,),
    "take": lambda a: ([0],),
    "transpose": lambda a: (),
}
# NumPy refuses, or warns of the write to come; the shape of what is written back.
ELSEWHERE = {"histogram", "histogramdd", "broadcast_arrays"}
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "x[...]": lambda x: x[...],
    "x[()]": lambda x: x[()],
    "x[:]": lambda x: x[:],
    "x[None]": lambda x: x[None],
    "x[True]": lambda x: x[True],
    "x[mask]": lambda x: x[x == x],
    "x[[0]]": lambda x: x[[0]],
    "x[0]": lambda x: x[0],
    "+x": lambda x: +x,
    "abs(x)": abs,
    "x ** 1": lambda x: x**1,
    "list": list,
    "copy": copy.copy,
    "copy F": lambda x: x.copy("F"),
    "astype": lambda x: x.astype(x.dtype, copy=False),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "conj": lambda x: x.conj(),
    "out=": lambda x: x.sum(axis=(), out=x),
    "x += x": lambda x: x.__iadd__(x),
}


class Told(NamedTuple):
    """What became of one result."""

    moved: bool  # by a write to the arguments
    writeable: bool
    moves: bool  # the arguments, when it is written to
    same: bool  # as one of the arguments


def arrays_of(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    return [a for x in value for a in arrays_of(x, kind)] if isinstance(value, tuple | list) else []


def results_of(value: Any) -> list[Any]:
    return [one for x in value for one in results_of(x)] if isinstance(value, tuple | list) else [value]


def host(a: Any) -> np.ndarray:
    return a.get() if isinstance(a, clarray.DeviceArray) else np.array(a)


def write(a: Any) -> None:
    with suppress(ValueError):  # where it is read-only
        a[...] = host(~a if a.dtype == bool else a + 1)


def told(function: Any, args: Any, kwargs: Any, kind: type) -> Any:
    """What NumPy's scalars, which nobody can write to, became is "a value"."""
    try:
        found = results_of(function(*args, **kwargs))
    except Exception as error:
        return error
    arrays = arrays_of(args, kind)
    values = [host(one.evaluate() if kind is not np.ndarray else one) if isinstance(one, kind) else 0 for one in found]
    for a in arrays:
        write(a)
    answers: list[Any] = []
    for one, value in zip(found, values, strict=True):
        if not isinstance(one, kind):
            answers.append("a value")
            continue
        moved = not np.array_equal(host(one), value, equal_nan=value.dtype.kind in "fc")
        writeable = bool(one.flags.writeable)
        before = [host(a) for a in arrays]
        write(one)
        moves = not all(np.array_equal(host(a), b) for a, b in zip(arrays, before, strict=True))
        answers.append(Told(moved, writeable, moves, any(one is a for a in arrays)))
    return answers


def pending(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return mark_0d_array(clarray.array(value) + np.zeros((), value.dtype))  # as NumPy's side has an array
    return type(value)(map(pending, value)) if type(value) in (tuple, list) else value


def stored(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return clarray.array(value)
    return type(value)(map(stored, value)) if type(value) in (tuple, list) else value


def shares(wanted: Any) -> bool:
    """Whether NumPy gives memory of the arguments, or one of them."""
    return isinstance(wanted, list) and any(one.moved or one.moves or one.same for one in wanted if one != "a value")


def check(ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tempting: bool = True) -> None:
    with np.errstate(all="ignore"):
        wanted = told(theirs, fresh(args), kwargs, np.ndarray)
        # A kernel more each: enough of them to see a pending argument shared where there is something to share.
        dtypes = ("float32", "int32") if tempting or shares(wanted) else ("float32",)
        few = all((a.dtype == "int32" or not a.ndim) and a.dtype in dtypes for a in arrays_of(args, np.ndarray))
        ways = [stored, pending] if few else [stored]
        for given in (way(fresh(args)) for way in ways):
            found = told(ours, given, kwargs, clarray.DeviceArray)
            if isinstance(wanted, Exception) or "cl_khr_fp64" in str(found):
                continue  # the errors are other tests' affair
            assert isinstance(found, list), repr(found)
            for mine, other in zip(found, wanted, strict=True):
                expected = Told(False, True, False, False) if other == "a value" and mine != other else other
                assert mine == expected, f"{args} {kwargs}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not {name} & (NO_CALL.keys() | ELSEWHERE)])
def test_function(name: str) -> None:
    ours, theirs = getattr(clarray, name), getattr(np, name)
    check(ours, theirs, sample(name), KEYWORDS.get(name, {}))
    for a in ARRAYS if name not in SAMPLES and required(name) == 1 else ():
        check(ours, theirs, (a,), {}, tempting=False)
    for args in NOTHING.get(name, []):
        check(ours, theirs, args, {})
    for a in ARRAYS if name in NO_AXES else ():
        check(ours, theirs, (a,), {"axis": ()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SHARED_METHODS if name not in NO_METHOD])
def test_method(name: str) -> None:
    for a in ARRAYS:
        args = METHOD_ARGUMENTS[name](a) if name in METHOD_ARGUMENTS else METHODS.get(name, ())
        check(getattr(clarray.DeviceArray, name), getattr(np.ndarray, name), (a, *args), {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str) -> None:
    for a in ARRAYS:
        check(OPERATIONS[name], OPERATIONS[name], (a,), {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.fmin, np.logical_or, np.hypot, np.bitwise_and])
def test_reductions_of_nothing(ufunc: np.ufunc) -> None:
    for a in ARRAYS:
        for kwargs in ({"axis": ()}, {"axis": None}, {"axis": (), "keepdims": True}):
            check(ufunc.reduce, ufunc.reduce, (a,), kwargs)
        if ufunc in (np.add, np.logical_or):  # running results of their own dtype, and bools whatever is given
            for method in (ufunc.accumulate, lambda a, ufunc=ufunc: ufunc.reduceat(a, [0])):
                check(method, method, (a,), {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "ufunc", [np.positive, np.conjugate, np.absolute, np.floor, np.rint, np.trunc, np.deg2rad, np.invert, np.sign]
)
def test_ufuncs_of_one(ufunc: np.ufunc) -> None:
    for a in ARRAYS:
        check(ufunc, ufunc, (a,), {})
