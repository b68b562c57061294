"""What is computed of memory that the host writes is there when the call returns: later writes do not change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._api.functions import ufuncs_by_name
from clarray._engine.expr.node import EAGER
from clarray._engine.runtime import current_device
from clarray._engine.speedups import native

from ..closeness import outcome
from ..python_calls import PythonCalls
from .test_every_function import (
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    NO_CALL,
    NO_METHOD,
    SHARED_METHODS,
    SORTED,
    N,
    X,
    fresh,
    sample,
)

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.skipif(not current_device().capabilities.host_memory, reason="no memory is shared with the host"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning"),
]

Path = tuple[int, ...]


def arrays_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where the arrays are among arguments."""
    if isinstance(value, np.ndarray):
        yield path
    elif type(value) in (tuple, list):
        for k, each in enumerate(value):
            yield from arrays_in(each, (*path, k))


def shared(value: Any, single: Path | None, path: Path = ()) -> Any:
    """The arguments on the host's memory, the array at one place with its first element for all of it."""
    if isinstance(value, np.ndarray):
        return clarray.asarray(np.array(value.flat[0]) if path == single and value.size else value)
    if type(value) in (tuple, list):
        return type(value)([shared(each, single, (*path, k)) for k, each in enumerate(value)])
    return value


def pending(value: Any) -> Iterator[Any]:
    """The arrays among results that read the host's memory when they are read themselves."""
    if isinstance(value, clarray.DeviceArray):
        node = value._node
        if node.memory is None and node.flags & EAGER:
            yield node
    elif isinstance(value, tuple | list):
        for each in value:
            yield from pending(each)
    elif isinstance(value, Iterator):
        yield from pending(list(value))


def check(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for single in (None, *arrays_in(args)):
        given = shared(fresh(args), single)
        found, error = outcome(function, given, kwargs)
        assert error is None or single is not None, error
        assert list(pending(found)) == [], f"with a single element at {single}"


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in NO_CALL])
def test_function(name: str) -> None:
    check(getattr(clarray, name), sample(name), KEYWORDS.get(name, {}))


@pytest.mark.parametrize("name", [n for n in SHARED_METHODS if n not in NO_METHOD])
def test_method(name: str) -> None:
    array = SORTED if name == "searchsorted" else N % 2 if name == "choose" else X
    check(getattr(clarray.DeviceArray, name), (array, *METHODS.get(name, ())), {})


@pytest.mark.parametrize("name", ufuncs_by_name())
def test_ufunc(name: str) -> None:
    count = getattr(np, name).nin
    check(getattr(clarray, name), (N.reshape(2, 2),) * count, {})


@pytest.mark.skipif(native is None, reason="without the core Python evaluates all")
def test_the_core_runs_statements() -> None:
    """Statements with many different numbers, and writes to other memory, need no Python once they are known."""
    values = np.random.default_rng(0).random(1000)
    x, y = clarray.asarray(values), clarray.array(values)

    def statements(x: Any, y: Any) -> list[Any]:
        found = [x * (0.01 * k + y) for k in range(20)]
        found.append(x * 2)
        found[-1] += x
        found[-1][1:] *= x[1:]
        return found

    for _ in range(200):
        with PythonCalls.of_modules("clarray._engine.evaluate", "clarray._engine.writing") as calls:
            found = statements(x, y)
        values *= 0.99
    assert not calls.count
    values /= 0.99
    for one, other in zip(found, statements(values, clarray.asnumpy(y)), strict=True):
        np.testing.assert_allclose(clarray.asnumpy(one), other, rtol=1e-12)
