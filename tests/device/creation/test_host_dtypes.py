"""Text, dates, objects, records and other dtypes that no device holds: NumPy computes, and the arrays are ndarrays."""

from __future__ import annotations

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
from clarray._core.host_fallback import _HostFallback, with_host_fallback
from clarray._engine.ops.dtypes import HostOnly

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
# What differs, by function and cast.
MEANT = {
    ("array", "masked"): "device arrays have no mask",
}


def cast(value: Any, kind: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return CASTS[kind](value)
    return type(value)(cast(each, kind) for each in value) if type(value) in (tuple, list) else value


def called(function: Any, name: str, kind: str) -> tuple[Any, Exception | None, Any]:
    args = cast(fresh(sample(name)), kind)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = function(*args, **KEYWORDS.get(name, {}))
        except Exception as error:
            skip_without_float64(error)
            return None, error, args
    return value, None, args


def difference(name: str, kind: str) -> str:
    theirs, expected, _ = called(getattr(np, name), name, kind)
    ours, error, _ = called(getattr(clarray, name), name, kind)
    if expected is not None:
        return "" if isinstance(error, TypeError | ValueError | type(expected)) else f"{error!r}, NumPy {expected!r}"
    if error is not None:
        return f"{error!r}, NumPy gives {theirs!r}"
    mine, other = described(ours), described(theirs)
    return "" if mine == other else f"{mine}, NumPy {other}"


@pytest.mark.parametrize("kind", CASTS)
def test_every_function(kind: str) -> None:
    names = [name for name in FUNCTIONS if name not in LEFT_OUT]
    assert len(names) > 230
    found = {name: difference(name, kind) for name in names}
    unlike = {name: text for name, text in found.items() if text and (name, kind) not in MEANT}
    assert not unlike, "\n".join(f"{name}: {text}" for name, text in unlike.items())
