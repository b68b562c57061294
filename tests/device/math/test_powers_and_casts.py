"""Negative powers of integers are refused as the cast makes them; numbers are cast, or refused, as NumPy does it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ..conftest import check_same

HOST = np.array([3, 2, 65534, 1], np.uint16)  # as int16 or int8 -2 is among them
POWERS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "array": lambda xp, x, dtype: np.power(x, x, dtype=dtype, casting="unsafe"),
    "of a number": lambda xp, x, dtype: np.power(2, x, dtype=dtype, casting="unsafe"),
    "by a number": lambda xp, x, dtype: np.power(x, -2, dtype=dtype, casting="unsafe"),
    "where": lambda xp, x, dtype: np.power(x, x, dtype=dtype, casting="unsafe", where=x < 9, out=xp.zeros(4, dtype)),
    "accumulate": lambda xp, x, dtype: np.power.accumulate(x, dtype=dtype),
    "accumulate from": lambda xp, x, dtype: np.power.accumulate(x[2:], dtype=dtype),
    "reduce": lambda xp, x, dtype: np.power.reduce(x[:3], dtype=dtype),
    "reduce from": lambda xp, x, dtype: np.power.reduce(x[2:], dtype=dtype),
    "reduce from a number": lambda xp, x, dtype: np.power.reduce(x[2:], dtype=dtype, initial=1),
    "reduce columns": lambda xp, x, dtype: np.power.reduce(x.reshape(2, 2), axis=0, dtype=dtype),
    "reduce rows": lambda xp, x, dtype: np.power.reduce(x.reshape(2, 2)[:1], axis=1, dtype=dtype),
    "reduce what is selected": lambda xp, x, dtype: np.power.reduce(x[x > 1], dtype=dtype),
    "reduce where": lambda xp, x, dtype: np.power.reduce(x, dtype=dtype, initial=3, where=x < 9),
    "reduce over no axes": lambda xp, x, dtype: np.power.reduce(x, axis=(), dtype=dtype),
    "reduceat": lambda xp, x, dtype: np.power.reduceat(x, [0, 2], dtype=dtype),
    "outer": lambda xp, x, dtype: np.power.outer(x, x, dtype=dtype, casting="unsafe"),
    "at": lambda xp, x, dtype: np.power.at(y := x.astype(dtype), xp.array([0, 1]), x[2:]) or y,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "u4"])
@pytest.mark.parametrize("name", POWERS)
def test_negative_powers(name: str, dtype: str) -> None:
    check_same(lambda xp: POWERS[name](xp, xp.array(HOST), dtype))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("casting", ["same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "c8"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1.5, 300, -1, 1j, 2**70, True], ids=str)
def test_numbers_are_cast(value: Any, dtype: str, casting: Any) -> None:
    for ufunc in (np.add, np.fmin, np.copysign, np.power, np.less):
        for swapped in (False, True):

            def body(xp: ModuleType, ufunc: Any = ufunc, swapped: bool = swapped) -> Any:
                x = xp.array([0, 1], "i1")
                return ufunc(*((value, x) if swapped else (x, value)), dtype=dtype, casting=casting)

            check_same(body, message=False)
