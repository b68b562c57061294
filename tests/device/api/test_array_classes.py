"""``clarray.ndarray`` as programs with a changed import use it: each question has the answer that NumPy gives."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import singledispatch
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray


def _dispatched(xp: ModuleType) -> list[str]:
    @singledispatch
    def kind(_value: Any) -> str:
        return "other"

    kind.register(xp.ndarray, lambda _value: "array")
    return [kind(value) for value in (xp.arange(3), 1.5, [1])]


def _matched(xp: ModuleType) -> list[str]:
    found = []
    for value in (xp.arange(3), np.arange(3), [1], 2.0):
        match value:
            case xp.ndarray():
                found.append("array")
            case _:
                found.append("other")
    return found


QUESTIONS: dict[str, Callable[[ModuleType], Any]] = {
    "array": lambda xp: isinstance(xp.ones(3), xp.ndarray),
    "array of no axes": lambda xp: isinstance(xp.zeros(()), xp.ndarray),
    "a library's array": lambda xp: isinstance(np.ones(3), xp.ndarray),
    "strings": lambda xp: isinstance(np.array(["a"]), xp.ndarray),
    "masked array": lambda xp: isinstance(np.ma.ones(3), xp.ndarray),
    "element": lambda xp: isinstance(xp.ones(3)[1], xp.ndarray),
    "sum": lambda xp: isinstance(xp.ones(3).sum(), xp.ndarray),
    "number of a sum": lambda xp: isinstance(xp.ones(3).sum() + 1, xp.ndarray),
    "kept axis": lambda xp: isinstance(xp.ones(3).sum(keepdims=True), xp.ndarray),
    "list": lambda xp: isinstance([1], xp.ndarray),
    "among others": lambda xp: [isinstance(v, (list, xp.ndarray)) for v in ([1], xp.ones(1), np.ones(1), 1)],
    "union": lambda xp: [isinstance(v, list | xp.ndarray) for v in ([1], xp.ones(1), np.ones(1), 1)],
    "subclass": lambda xp: [issubclass(kind, xp.ndarray) for kind in (xp.ndarray, np.ndarray, np.matrix, list)],
    "type": lambda xp: type(xp.ones(3)) == xp.ndarray,  # noqa: E721 - as programs ask
    "type of a list": lambda xp: type([1]) == xp.ndarray,  # noqa: E721
    "type in a tuple": lambda xp: type(xp.ones(3)) in (list, xp.ndarray),
    "key": lambda xp: {xp.ndarray: 1}[type(xp.ones(3))],
    "new": lambda xp: xp.ndarray((2, 3), "f4").shape,
    "derived": lambda xp: isinstance(type("Mine", (xp.ndarray,), {})((2, 3), "f4"), xp.ndarray),
    "derived of the base": lambda xp: type(xp.ndarray.__new__(type("Mine", (xp.ndarray,), {}), (2,))).__name__,
    "view": lambda xp: isinstance(xp.ones(3).view(xp.ndarray), xp.ndarray),
    "method": lambda xp: xp.ndarray.sum(xp.ones(3)),
    "name": lambda xp: xp.ndarray.__name__,
    "generic": lambda xp: isinstance(xp.ndarray[tuple[int], np.dtype[np.float32]], type(list[int])),
    "pickled": lambda xp: pickle.loads(pickle.dumps(xp.ndarray)) is xp.ndarray,
    "dispatched": _dispatched,
    "matched": _matched,
    "listed": lambda xp: {"sum", "shape", "T", "astype"} <= {*dir(xp.ndarray)},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_numpys(name: str) -> None:
    assert QUESTIONS[name](clarray) == QUESTIONS[name](np)


def test_a_device_array_is_told_by_its_own_class() -> None:
    assert isinstance(clarray.ones(3), clarray.DeviceArray)
    assert not isinstance(np.ones(3), clarray.DeviceArray)
