"""Text, dates, objects, records and other dtypes that no device holds: NumPy computes, and the arrays are ndarrays."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.host_fallback import _HostFallback

from ..closeness import skip_without_float64
from ..whole.test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, fresh, sample

STATEMENTS = Path(__file__).with_name("host_dtypes.txt").read_text().splitlines()


def outcome(statement: str, xp: types.ModuleType) -> tuple[Any, type[Exception] | None]:
    """Return `r` after a line of statements, or the type of its error."""
    names: dict[str, Any] = {"xp": xp, "np": np, "Decimal": Decimal}
    try:
        exec(statement, names)
    except Exception as error:
        skip_without_float64(error)
        return None, type(error)
    return names["r"], None


def on_host(value: Any) -> Any:
    """Return a result with ndarrays and NumPy's scalars in place of device arrays."""
    if isinstance(value, clarray.DeviceArray):
        return clarray.asnumpy(value)[()] if np.isscalar(value) else clarray.asnumpy(value)
    if type(value) in (list, tuple):
        return type(value)(map(on_host, value))
    return {key: on_host(each) for key, each in value.items()} if type(value) is dict else value


def described(value: Any) -> str:
    value = on_host(value)
    return f"{getattr(value, 'dtype', '')} {value!r}"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, expected = outcome(statement, np)
        ours, error = outcome(statement, clarray)
    assert expected not in (SyntaxError, NameError)
    if expected is not None:
        assert error is not None, ours
        assert issubclass(error, next(kind for kind in expected.__mro__ if "_core" not in kind.__module__))
    else:
        assert error is None, error
        assert described(ours) == described(theirs)


# Every function --------------------------------------------------------------------------------------

CASTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "objects": lambda x: x.astype(object),
    "text": lambda x: x.astype("U5"),
    "dates": lambda x: x.astype("M8[D]"),
    "durations": lambda x: x.astype("m8[s]"),
    "long": lambda x: x.astype(np.longdouble),
    "masked": lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == 1),
}
# NumPy's result has no value that could be compared, or is none of NumPy's.
LEFT_OUT = {"info", "show_runtime", "source"} | NO_CALL.keys()


def cast(value: Any, kind: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return CASTS[kind](value)
    return type(value)(cast(each, kind) for each in value) if type(value) in (tuple, list) else value


def called(function: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    """Return the result of a call and its error, one of which is None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs), None
        except Exception as error:
            skip_without_float64(error)
            return None, error


def difference(name: str, kind: str) -> str:
    outcomes = []
    for module in (clarray, np):
        outcomes += called(getattr(module, name), cast(fresh(sample(name)), kind), KEYWORDS.get(name, {}))
    return compared(*outcomes)


def difference_of_method(name: str, kind: str) -> str:
    """Compare a method of an array of numbers whose other operands have a dtype that no device holds."""
    array, *others = fresh(sample(name))
    outcomes = []
    for module in (clarray, np):
        method = getattr(module.array(array), name)
        outcomes += called(method, cast(others, kind), KEYWORDS.get(name, {}))
    return compared(*outcomes)


def compared(ours: Any, error: Exception | None, theirs: Any, expected: Exception | None) -> str:
    """Say how the outcome of a call differs from NumPy's; return an empty text if it does not."""
    if expected is not None:
        return "" if isinstance(error, TypeError | ValueError | type(expected)) else f"{error!r}, NumPy {expected!r}"
    if error is not None:
        return f"{error!r}, NumPy gives {theirs!r}"
    mine, other = described(ours), described(theirs)
    return "" if mine == other or is_rounded(ours, theirs) else f"{mine}, NumPy {other}"


def is_rounded(ours: Any, theirs: Any) -> bool:
    """Tell whether two floats differ in their last bits alone: a device sums in another order."""
    ours = on_host(ours)
    same = isinstance(theirs, np.floating) and getattr(ours, "dtype", None) == theirs.dtype and np.ndim(ours) == 0
    return same and bool(abs(ours - theirs) <= 2 * np.spacing(abs(theirs)))


@pytest.mark.parametrize("kind", CASTS)
def test_every_function(kind: str) -> None:
    names = [name for name in FUNCTIONS if name not in LEFT_OUT]
    assert len(names) > 230
    found = {name: difference(name, kind) for name in names}
    unlike = {name: text for name, text in found.items() if text}
    assert not unlike, "\n".join(f"{name}: {text}" for name, text in unlike.items())


@pytest.mark.parametrize("kind", CASTS)
def test_every_method(kind: str) -> None:
    methods = [
        name for name in FUNCTIONS if inspect.isroutine(getattr(np.ndarray, name, None)) and name not in LEFT_OUT
    ]
    assert len(methods) > 20
    found = {name: difference_of_method(name, kind) for name in methods}
    unlike = {name: text for name, text in found.items() if text}
    assert not unlike, "\n".join(f"{name}: {text}" for name, text in unlike.items())


# Policies, profiles and memory -----------------------------------------------------------------------


def test_no_leave_is_needed_without_device_arrays() -> None:
    with clarray.config(host_library="raise", host_fallback="raise"), clarray.profile() as profile:
        words = clarray.sort(clarray.array(["b", "a"]))
        np.testing.assert_array_equal(words, ["a", "b"])
        assert clarray.vectorize(str.upper)(["a"])[0] == "A"
    assert profile.launches == 0
    assert profile.host_calls == 3


def test_device_arrays_need_leave() -> None:
    mask = clarray.arange(3) > 1
    with clarray.config(host_library="raise"):
        for call in (
            lambda: clarray.where(mask, "a", "b"),
            lambda: mask.astype(str),
            lambda: clarray.add(np.zeros(3, object), mask),
            lambda: np.zeros(3, object) + mask,
            lambda: mask + np.zeros(3, object),
            lambda: clarray.vectorize(str)(mask),
            lambda: clarray.copyto(np.zeros(3, object), mask),
        ):
            with pytest.raises(TypeError, match="host_library"):
                call()
    with clarray.config(host_library="warn"), pytest.warns(clarray.HostFallbackWarning, match="numpy.where"):
        clarray.where(mask, "a", "b")


def test_what_numpy_writes_reaches_a_device_array() -> None:
    target = clarray.zeros(3, int)
    clarray.copyto(target, np.array(["4", "5", "6"], object), casting="unsafe")
    assert target.tolist() == [4, 5, 6]


def test_numbers_go_to_the_device_beside_device_arrays() -> None:
    labels = np.array(["a", "b"], object)
    assert isinstance(clarray.equal(labels, clarray.arange(2)), clarray.DeviceArray)
    assert isinstance(clarray.equal(labels, "a"), np.ndarray)


def test_the_users_function_is_called_once_for_each_line() -> None:
    lines = []

    def text(line: Any) -> str:
        lines.append(line)
        return str(line.sum()) if len(lines) != 2 else "two"

    assert clarray.apply_along_axis(text, 1, clarray.arange(6).reshape(3, 2)).tolist() == ["1", "t", "9"]
    assert len(lines) == 3


# The functions as objects ----------------------------------------------------------------------------


class Holder:
    zeros, array, empty, arange = clarray.zeros, clarray.array, clarray.empty, clarray.arange
    sum, where, norm = clarray.sum, clarray.where, clarray.linalg.norm


@pytest.mark.parametrize("name", ["zeros", "array", "empty", "arange"])
def test_what_is_builtin_in_numpy_does_not_become_a_method(name: str) -> None:
    assert getattr(Holder(), name)(3) is not None


@pytest.mark.parametrize("name", ["sum", "where"])
def test_numpys_other_functions_become_methods(name: str) -> None:
    assert isinstance(getattr(Holder(), name), types.MethodType)
    assert isinstance(getattr(type("Theirs", (), {name: getattr(np, name)})(), name), types.MethodType)


@pytest.mark.parametrize("function", [clarray.sum, clarray.zeros, clarray.take, clarray.linalg.norm, clarray.interp])
def test_functions_are_copied_and_pickled_by_name(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert function.__module__ in ("clarray", "clarray.linalg")


def test_the_python_type_does_as_the_cores() -> None:
    def ours(x: Any, *, axis: int = 0) -> Any:
        """Sort."""
        return clarray.sort.__wrapped__(x, axis=axis)

    fallback = _HostFallback(ours, np.sort, False)
    assert fallback(np.array(["b", "a"]), axis=0).tolist() == ["a", "b"]
    assert fallback(np.array([2, 1])).tolist() == [1, 2]
    assert fallback.__doc__ == "Sort."
    with pytest.raises(np.exceptions.AxisError) as caught:
        fallback(np.array(["b", "a"]), axis=3)
    assert caught.value.__context__ is None
    assert type("A", (), {"f": fallback})().f is fallback
    assert isinstance(type("A", (), {"f": _HostFallback(ours, np.sort, True)})().f, types.MethodType)
