"""pint: quantities around device arrays, which compute on the device what pint asks of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

unit = pytest.importorskip("pint").UnitRegistry()

VALUES = (np.arange(64, dtype=np.float32) * 7 % 13).reshape(8, 8) / np.float32(13)


def changed(quantity: Any, change: Callable[[Any], Any]) -> Any:
    change(quantity)
    return quantity


CALLS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "times a unit": lambda xp, x: x * unit.m,
    "a unit times": lambda xp, x: unit.m * x,
    "times a quantity": lambda xp, x: (2 * unit.m) * x,
    "made": lambda xp, x: unit.Quantity(x, "m"),
    "converted": lambda xp, x: (x * unit.m).to("cm"),
    "converted in place": lambda xp, x: changed(unit.Quantity(xp.array(x), "m"), lambda q: q.ito("cm")),
    "temperature": lambda xp, x: unit.Quantity(x, "degC").to("kelvin"),
    "sum": lambda xp, x: x * unit.m + x * unit.cm,
    "product": lambda xp, x: (x * unit.m) * (x * unit.s),
    "power": lambda xp, x: (x * unit.m) ** 2,
    "matrix product": lambda xp, x: (x * unit.m) @ (x * unit.s),
    "sqrt": lambda xp, x: np.sqrt(x * unit.m**2),
    "sin": lambda xp, x: np.sin(x * unit.deg),
    "total": lambda xp, x: (x * unit.m).sum(),
    "mean": lambda xp, x: (x * unit.m).mean(axis=0),
    "std": lambda xp, x: np.std(x * unit.m),
    "median": lambda xp, x: np.median(x * unit.m),
    "cumsum": lambda xp, x: np.cumsum(x * unit.m),
    "clip": lambda xp, x: np.clip(x * unit.m, 10 * unit.cm, 50 * unit.cm),
    "concatenate": lambda xp, x: np.concatenate([x * unit.m, x * unit.cm]),
    "where": lambda xp, x: np.where(x > 0.5, x * unit.m, x * unit.cm),
    "gradient": lambda xp, x: np.gradient(x[0] * unit.m, 1 * unit.s),
    "slice": lambda xp, x: (x * unit.m)[1:3],
    "mask": lambda xp, x: (x * unit.m)[x > 0.5],
    "written": lambda xp, x: changed(unit.Quantity(xp.array(x), "m"), lambda q: q.__setitem__(0, 3 * unit.cm)),
    "compared": lambda xp, x: x * unit.m > x * unit.cm,
    "close": lambda xp, x: np.isclose(x * unit.m, x * unit.m),
}


@pytest.mark.parametrize("name", CALLS)
def test_computed_on_the_device(name: str) -> None:
    found, expected = (CALLS[name](xp, xp.asarray(VALUES)) for xp in (clarray, np))
    assert getattr(found, "units", None) == getattr(expected, "units", None)
    values, wanted = (getattr(one, "magnitude", one) for one in (found, expected))
    assert isinstance(values, clarray.DeviceArray)
    assert (values.dtype, values.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(values, wanted, rtol=2e-6)


def test_units_that_do_not_fit() -> None:
    with pytest.raises(Exception, match="Cannot convert"):
        clarray.asarray(VALUES) + 2 * unit.m
