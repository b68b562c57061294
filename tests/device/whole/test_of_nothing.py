"""Every function and method of NumPy's, called with arrays without elements: results, flags, errors and identities."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import on_device, skip_without_float64
from .test_every_function import (
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    NO_CALL,
    NO_METHOD,
    SHARED_METHODS,
    X,
    assert_alike,
    fresh,
    sample,
)

EMPTIED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first": lambda x: x[:0],
    "last": lambda x: x[..., :0],
    "all": lambda x: x[(slice(0),) * x.ndim],
    "beside one": lambda x: x[:1, ..., :0] if x.ndim > 1 else x[:0],
}


def emptied(value: Any, how: str) -> Any:
    if isinstance(value, np.ndarray):
        return EMPTIED[how](value).copy() if value.ndim else value
    return type(value)(emptied(v, how) for v in value) if type(value) in (tuple, list) else value


def arrays_of(value: Any) -> list[Any]:
    """The arrays of a result, in their order."""
    if isinstance(value, tuple | list):
        return [array for each in value for array in arrays_of(each)]
    return [value] if isinstance(value, np.ndarray | clarray.DeviceArray) else []


def identities(arrays: list[Any]) -> list[int]:
    """Which arrays are one object: of each the first that it is."""
    return [next(k for k, other in enumerate(arrays) if other is array) for array in arrays]


def called(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    try:
        with np.errstate(all="ignore"):
            return call(*args, **kwargs), None
    except Exception as error:
        return None, error


def check(ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    given, expected = on_device(fresh(args)), fresh(args)
    wanted, wanted_error = called(theirs, expected, kwargs)
    found, error = called(ours, given, kwargs)
    skip_without_float64(error)
    if wanted_error is not None:
        assert isinstance(error, type(wanted_error)), f"NumPy raised {wanted_error!r}, clarray {error!r}"
        return
    if error is not None:
        raise error
    assert_alike(found, wanted)
    mine, others = arrays_of((given, found)), arrays_of((expected, wanted))
    if len(mine) == len(others):  # no scalars among NumPy's
        assert identities(mine) == identities(others), "results that are one array"
        assert [a.flags.writeable for a in mine] == [a.flags.writeable for a in others]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "how"), list(product([n for n in FUNCTIONS if n not in NO_CALL], EMPTIED)))
def test_function(name: str, how: str) -> None:
    check(getattr(clarray, name), getattr(np, name), emptied(sample(name), how), KEYWORDS.get(name, {}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "how"), list(product([n for n in SHARED_METHODS if n not in NO_METHOD], EMPTIED)))
def test_method(name: str, how: str) -> None:
    args = (emptied(X, how), *emptied(METHODS.get(name, ()), how))
    check(getattr(clarray.DeviceArray, name), getattr(np.ndarray, name), args, {})
