"""Where NumPy gives a number clarray gives one, and an array where it gives an array, for operands without axes."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import skip_without_float64
from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, SHARED_METHODS, fresh, sample

pytestmark = pytest.mark.usefixtures("quick_builds", "tier")

DTYPES = ("float32", "int16", "uint64", "bool", "complex64")
# Ways to a value without axes: arrays first, then numbers.
OPERANDS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "array": lambda xp, value: xp.array(value),
    "view": lambda xp, value: xp.array([value, value])[1:].reshape(()),
    "ellipsis": lambda xp, value: xp.array([value, value])[1, ...],
    "written": lambda xp, value: operator.iadd(xp.zeros((), value.dtype), value),
    "pending array": lambda xp, value: xp.array(value).byteswap().byteswap(),
    "element": lambda xp, value: xp.array([value, value])[1],
    "reduction": lambda xp, value: xp.array([value]).max(),
    "result": lambda xp, value: xp.array(value) * value.dtype.type(1),
}
METHODS: dict[str, tuple[Any, ...]] = {
    "astype": ("f4",),
    "choose": ([1, 2, 3, 4],),
    "clip": (0, 2),
    "compress": ([True],),
    "dot": (2,),
    "getfield": ("i1",),
    "repeat": (2,),
    "reshape": ((),),
    "round": (1,),
    "searchsorted": (2,),
    "take": (0,),
}
STATEMENTS: dict[str, Callable[[Any], Any]] = {
    "copy.copy(x)": copy.copy,
    "copy.deepcopy(x)": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "x.real": lambda x: x.real,
    "x.imag": lambda x: x.imag,
    "x.T": lambda x: x.T,
    "x[...]": lambda x: x[...],
    "x[()]": lambda x: x[()],
    "x[None]": lambda x: x[None],
    "x.flat[0]": lambda x: x.flat[0],
    "x.reshape(1)[0]": lambda x: x.reshape(1)[0],
    "x.view(x.dtype)": lambda x: x.view(x.dtype),
    "x.astype(x.dtype, copy=False)": lambda x: x.astype(x.dtype, copy=False),
    "x.sum(keepdims=True)": lambda x: x.sum(keepdims=True),
    "abs(x)": abs,
    "-x": operator.neg,
    "+x": operator.pos,
    "round(x)": round,
    "round(x, 1)": lambda x: round(x, 1),
    "x + 1": lambda x: x + 1,
    "1 - x": lambda x: 1 - x,
    "x**2": lambda x: x**2,
    "divmod(x, 2)": lambda x: divmod(x, 2),
    "x < 1": lambda x: x < 1,
    "x == x": lambda x: x == x,
    "x += 1": lambda x: operator.iadd(x, 1),
}
# What NumPy gives, and clarray does not.
LISTED = {
    ("histogram", "complex64"): "refused: complex values have no histogram",
    ("histogram2d", "complex64"): "refused likewise",
    ("histogramdd", "complex64"): "refused likewise",
    ("histogram_bin_edges", "complex64"): "refused likewise",
    ("put", ""): "of a number, which nobody else sees, NumPy writes a copy",
}


def kind(value: Any) -> Any:
    """Say whether a result is a number, or how many axes it has."""
    if isinstance(value, list | tuple):
        return [kind(each) for each in value]
    if isinstance(value, np.generic):
        return "number"
    return f"array of {np.ndim(value)} axes" if isinstance(value, np.ndarray | clarray.DeviceArray) else type(value)


def without_axes(value: Any, make: Callable[[Any], Any]) -> Any:
    """Put values without axes in the place of a call's arrays."""
    if isinstance(value, np.ndarray):
        return make(value.ravel()[0])
    return type(value)(without_axes(each, make) for each in value) if type(value) in (list, tuple) else value


def unlike(call: Callable[[ModuleType, Callable[[Any], Any]], Any], operand: str, dtype: str) -> str:
    """Make a call in NumPy and in clarray, and say how the kinds of the results differ."""
    kinds = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for xp in (np, clarray):
            try:
                kinds.append(kind(call(xp, lambda value, xp=xp: OPERANDS[operand](xp, value.astype(dtype)))))
            except Exception as error:
                if xp is np:
                    return ""
                skip_without_float64(error)
                kinds.append(repr(error))
    theirs, ours = kinds
    return "" if ours == theirs else f"NumPy {theirs}, clarray {ours}"


def check(calls: dict[str, Callable[[ModuleType, Callable[[Any], Any]], Any]], operand: str) -> None:
    found = []
    for name, call in calls.items():
        for dtype in DTYPES:
            text = unlike(call, operand, dtype)
            if text and not LISTED.keys() & {(name, dtype), (name, "")}:
                found.append(f"{name}, {dtype}: {text}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("operand", OPERANDS)
def test_functions(operand: str) -> None:
    names = [name for name in FUNCTIONS if name not in NO_CALL]

    def calling(name: str) -> Callable[[ModuleType, Callable[[Any], Any]], Any]:
        return lambda xp, make: getattr(xp, name)(*without_axes(fresh(sample(name)), make), **KEYWORDS.get(name, {}))

    check({name: calling(name) for name in names}, operand)


@pytest.mark.parametrize("operand", OPERANDS)
def test_methods(operand: str) -> None:
    def calling(name: str) -> Callable[[ModuleType, Callable[[Any], Any]], Any]:
        return lambda xp, make: getattr(make(np.array(3)), name)(*METHODS.get(name, ()))

    check({name: calling(name) for name in SHARED_METHODS}, operand)


@pytest.mark.parametrize("operand", OPERANDS)
def test_statements(operand: str) -> None:
    def calling(name: str) -> Callable[[ModuleType, Callable[[Any], Any]], Any]:
        return lambda xp, make: STATEMENTS[name](make(np.array(3)))

    check({name: calling(name) for name in STATEMENTS}, operand)
