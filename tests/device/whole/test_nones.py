"""None for each argument of each function that clarray shares with NumPy: its value, or an error where it raises.

Where NumPy makes an array of objects, so does clarray: an ndarray.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import on_device
from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, assert_alike, fresh, sample

ERRORS = (TypeError, ValueError, IndexError, AttributeError, OverflowError)
# Calls that differ on purpose.
DIFFERENT = {
    ("clip", "a_min"): "a limit by its older name may be None alone, as by its newer one",
    ("clip", "a_max"): "the same",
    ("reshape", "shape"): "NumPy takes None for the shape that the array has",
    ("count_nonzero", "keepdims"): "NumPy reads it only if there is an axis",
    ("array2string", "a"): "it prints any object",
    **{(f"{name}_like", "subok"): "accepted and not read" for name in ("full", "ones", "zeros")},
}
TIES = {"argsort", "argpartition"}  # equal elements have no order
OWN = {"like", "device"}  # accepted for NumPy's sake; where the result goes


def outcome(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = function(*args, **kwargs)
            if isinstance(value, clarray.DeviceArray):
                value.evaluate()
            return value, None
        except ERRORS as error:
            return None, error


def calls(name: str) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return arguments with None in the place of one, by the name of its parameter."""
    args, kwargs = sample(name), KEYWORDS.get(name, {})
    try:
        theirs = inspect.signature(getattr(np, name)).parameters
    except ValueError:  # NumPy does not say
        return {}
    ours = inspect.signature(getattr(clarray, name)).parameters
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = {}
    for at, parameter in enumerate(ours.values()):
        if parameter.kind in variadic or parameter.name not in theirs or parameter.name in OWN:
            continue
        if at < len(args):
            found[parameter.name] = (*args[:at], None, *args[at + 1 :]), kwargs
        elif parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            found[parameter.name] = args, kwargs | {parameter.name: None}
    return found


def has_objects(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(has_objects, value))
    return value is None or getattr(value, "dtype", None) == np.dtype(object)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_CALL])
def test_none(name: str) -> None:
    for parameter, (args, kwargs) in calls(name).items():
        if (name, parameter) in DIFFERENT:
            continue
        theirs_args, ours_args = fresh(args), on_device(fresh(args))
        theirs, expected = outcome(getattr(np, name), theirs_args, kwargs)
        ours, error = outcome(getattr(clarray, name), ours_args, kwargs)
        if expected is not None:
            assert error is not None, f"{parameter}=None gives {ours!r}, NumPy raises {expected!r}"
        elif theirs is None and error is None:  # the function writes to an argument
            assert_alike(ours_args[0], theirs_args[0])
        elif has_objects(theirs) or all(each is not None for each in args):
            assert error is None, f"{parameter}=None raises {error!r}, NumPy gives {theirs!r}"
            if name not in TIES:
                assert_alike(ours, theirs)


@pytest.mark.parametrize("values", [(None, None), (1.5, None), (None, 1.5)])
def test_where_makes_objects(values: tuple[Any, Any]) -> None:
    """None is a value, and not an argument that is missing."""
    assert clarray.where(clarray.array([True, False]), *values).tolist() == [values[0], values[1]]
