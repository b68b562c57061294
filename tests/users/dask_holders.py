"""What holds arrays in a task's result: each is made of pending arrays, and says which of them are computed."""

from __future__ import annotations

from collections import OrderedDict, UserDict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import xarray

import clarray

NUMBER = 40  # of arrays: Dask looks at ten of a longer list


@dataclass
class Fields:
    first: Any
    second: Any = None


@dataclass(frozen=True, slots=True)
class Slots:
    only: Any
    name: str = "slots"

    def __hash__(self) -> int:
        return id(self)


class Plain:
    def __init__(self, held: Any) -> None:
        self.held = held


Named = namedtuple("Named", "left right")


def halves(arrays: list[Any]) -> tuple[list[Any], list[Any]]:
    return arrays[: NUMBER // 2], arrays[NUMBER // 2 :]


def of_objects(arrays: list[Any]) -> np.ndarray:
    made = np.empty(len(arrays), object)
    for number, array in enumerate(arrays):
        made[number] = array
    return made


def around(arrays: list[Any]) -> Any:
    made: dict[str, Any] = {"arrays": arrays}
    made["itself"] = made
    return made


Made = Callable[[list[Any]], Any]
Read = Callable[[Any], Iterable[Any]]

HOLDERS: dict[str, tuple[Made, Read]] = {
    "list": (list, list),
    "tuple": (tuple, list),
    "dict": (lambda x: dict(enumerate(x)), dict.values),
    "ordered dict": (lambda x: OrderedDict(enumerate(x)), OrderedDict.values),
    "a class of dicts": (lambda x: UserDict(enumerate(x)), UserDict.values),
    "deque": (deque, list),
    "set of objects": (lambda x: {Slots(each) for each in x}, lambda h: [each.only for each in h]),
    "named tuple": (lambda x: Named(*halves(x)), lambda h: h.left + h.right),
    "dataclass": (lambda x: Fields(*halves(x)), lambda h: h.first + h.second),
    "objects": (lambda x: Plain(tuple(map(Plain, x))), lambda h: [each.held for each in h.held]),
    "namespace": (lambda x: SimpleNamespace(arrays=x), lambda h: h.arrays),
    "partial": (lambda x: partial(max, x), lambda h: h.args[0]),
    "array of objects": (of_objects, lambda h: list(h.flat)),
    "dataset": (
        lambda x: xarray.Dataset({f"v{n}": ("x", each) for n, each in enumerate(x)}),
        lambda h: [v.variable._data for v in h.data_vars.values()],
    ),
    "between others": (lambda x: [*range(500), *x, *"text"], lambda h: h[500 : 500 + NUMBER]),
    "a ring": (around, lambda h: h["arrays"]),
}


def made(name: str) -> Any:
    """A holder of arrays that nobody has computed."""
    arrays = [clarray.arange(10.0) + number for number in range(NUMBER)]
    assert not any(array._node.memory for array in arrays)
    return HOLDERS[name][0](arrays)


def computed(name: str, holder: Any) -> int:
    """How many of its arrays are computed."""
    return sum(array._node.memory is not None for array in HOLDERS[name][1](holder))
