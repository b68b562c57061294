"""A plugin of pytest: NumPy's own tests with clarray's functions in the place of NumPy's.

A test module's ``np`` becomes a namespace that has clarray's function wherever there is one, and so do the functions
that the module has imported by name. Types stay NumPy's, and what a module keeps in a class's body: it was made before.
NumPy's assertions compare what arrays hold, so they are given it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

import numpy as np
import numpy.testing
import pytest
from suite_report import EXPECTED

import clarray

# What clarray does not promise, by what a test that asks for it ends with.
OUT_OF_SCOPE = {
    "dtypes that no device has: objects, text, dates, long doubles, records": (
        r"clarray has no dtype|NotNumbers|did not contain a loop for types \(object|StringDType"
    ),
    "masked arrays and other subclasses of NumPy's array": r"clarray has no masked|sub-type of DeviceArray",
    "no device tells of floating-point errors": (
        r"did not raise fpe|Did not raise floating|FloatingPointError not raised|No warnings of type \(<class 'RuntimeW"
    ),
    "NumPy's C functions, and addresses of memory": (
        r"must be numpy\.ndarray|needs ndarray|bad argument to internal|Expected an array for parameter"
        r"|attribute 'ctypes'|__array_interface__|__array_struct__|a bytes-like object is required"
    ),
    "elements that are not aligned": r"would not begin at multiples",
}


class Namespace(ModuleType):
    """A module of NumPy's with clarray's functions in it."""

    def __init__(self, theirs: ModuleType, ours: ModuleType) -> None:
        super().__init__(theirs.__name__)
        self.__dict__.update(_theirs=theirs, _ours=ours)

    def __getattr__(self, name: str) -> Any:
        theirs, ours = getattr(self._theirs, name), getattr(self._ours, name, None)
        if isinstance(theirs, ModuleType):
            return Namespace(theirs, ours) if isinstance(ours, ModuleType) else theirs
        return theirs if ours is None or (isinstance(theirs, type) and name != "ndarray") else ours


def held(value: Any) -> Any:
    """What NumPy would have in its place: an array, or a scalar."""
    if isinstance(value, clarray.DeviceArray):
        return np.asarray(value)[()] if not value.ndim else np.asarray(value)
    return type(value)(held(each) for each in value) if type(value) in (list, tuple) else value


def comparing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:
        return function(*map(held, args), **{name: held(value) for name, value in kwargs.items()})

    return compare


def replacements() -> dict[int, tuple[Any, Any]]:
    """What modules import by name, by identity, and what they get."""
    found: dict[int, tuple[Any, Any]] = {}
    for theirs, ours in ((np, clarray), (np.linalg, clarray.linalg), (np.fft, clarray.fft)):
        found[id(theirs)] = theirs, Namespace(theirs, ours)
        for name, value in vars(theirs).items():
            ours_too = getattr(ours, name, None)
            if callable(value) and not isinstance(value, type) and ours_too is not None and not name.startswith("_"):
                found[id(value)] = value, ours_too
    for name, value in vars(numpy.testing).items():
        if name.startswith("assert_") and callable(value) and "raises" not in name and "warns" not in name:
            found[id(value)] = value, comparing(value)
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = replacements()
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        for name, value in list(vars(module).items()):
            theirs, ours = known.get(id(value), (None, None))
            if theirs is value and value is not None:
                setattr(module, name, ours)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure for what is not promised is one that is expected."""
    report = yield
    if report.failed and call.excinfo is not None:
        text = f"{call.excinfo.typename}: {call.excinfo.value}"
        for reason, pattern in OUT_OF_SCOPE.items():
            if re.search(pattern, text):
                report.outcome = "skipped"
                report.wasxfail = EXPECTED + reason
                break
    return report
