"""Statements that the compiled core does alone: after the first times none of clarray's Python runs."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine import speedups
from clarray._engine.evaluate import evaluate
from clarray._engine.runtime import Device, current_device

from ..conftest import assert_same
from ..python_calls import PythonCalls
from .test_recordings import python_calls

# And how many functions of Python's they go through: `sum`, `max` and `@` by their names, and two that ask a device on
# which launches are waited for whether a number is there at once.
STATEMENTS: list[tuple[str, int]] = [
    ("w[:, -1] = w[:, -2]", 0),
    ("w[0, :] = w[1, :]", 0),
    ("w[4:, :4] = w[4:, 4:8] * 2", 0),
    ("w[2:, 3:] -= w[2:, 2:3] * w[1, 3:]", 0),
    ("v[::2] = v[1::2]", 0),
    ("v[:8] = v[:7:-1]", 0),
    ("v[1:] = v[:-1] + v[1:]", 0),
    ("w[-1, :] = 0", 0),
    ("w[2:4, ::2] = 1.5", 0),
    ("v[2:5] = v[7]", 0),
    ("v[:4] = (v[:4] + v[4:8])[::-1]", 0),
    ("s = ((v + 1)[:, None] * v).sum()", 1),
    ("v[3] = v[:3].sum() * 2", 1),
    ("v[:] = (v - v.sum()) * v.max()", 2),
    ("s = w[3, :5] @ v[:5]", 3),
    ("s = w @ v[:10]", 1),
    ("s = v[:9] @ w", 1),
    ("n = i[3] * 2 + 1", 0),
    ("n = 7 - i[1] > i[2]", 0),
    ("v[1:4] = v[0] * v[4:7]", 0),
]


def _names() -> dict[str, Any]:
    r = np.random.default_rng(3)
    return {"w": r.integers(1, 9, (9, 10)) / 2, "v": r.integers(1, 9, 16) / 2, "i": np.arange(6)}


@pytest.mark.kernels_alone
@pytest.mark.skipif(speedups.native is None, reason="there is no compiled core")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64", "bool"])
def test_no_python_runs_where_a_number_becomes_memory(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "several", False)
    if not current_device().capabilities.host_memory:
        pytest.skip("elements of memory of the device's own are read by Python")
    x = clarray.array([1, 0, 1], dtype)
    clarray.synchronize()
    calls = []
    for _ in range(12):
        number = x[:1].max()
        calls.append(python_calls(partial(evaluate, number._node)))
        assert_same(number, np.ones(1, dtype)[0])
    assert min(calls) == 0


@pytest.mark.kernels_alone
@pytest.mark.skipif(speedups.native is None, reason="there is no compiled core")
@pytest.mark.parametrize(("statement", "functions"), STATEMENTS)
def test_no_python_runs(statement: str, functions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "several", False)  # whatever devices other tests have opened
    code = compile(statement, "", "exec")
    if not current_device().capabilities.host_memory:
        pytest.skip("elements of memory of the device's own are read by Python")
    least = 1000
    for _ in range(12):
        expected = _names()
        found = {name: clarray.array(a) for name, a in expected.items()}
        exec(code, expected)
        least = min(least, python_calls(partial(exec, code, found)))
        for name, value in expected.items():
            if isinstance(value, np.ndarray | np.generic):
                assert_same(found[name], value)
    assert least <= functions


# The same where slices are others at every step: a launch is prepared for all of them.
STEPS = [
    "v[:k] += v[:k][::-1] * 2",
    "w[k:, 1] = v[k:] - w[k, 3]",
    "w[k:, k:] -= v[k:, None] * v[k:]",
    "u[:k, 2:] = w[-k:, 2:]",
    "s = w[k:, k:] - v[k:, None]; s *= s",
]


@pytest.mark.skipif(speedups.native is None, reason="there is no compiled core")
@pytest.mark.parametrize("statement", STEPS)
def test_no_python_runs_for_other_extents(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "several", False)
    if not current_device().capabilities.host_memory:
        pytest.skip("elements of memory of the device's own are read by Python")
    code = compile(statement, "", "exec")
    r = np.random.default_rng(3)
    expected: dict[str, Any] = {"w": r.integers(1, 9, (40, 40)) / 2, "v": r.integers(1, 9, 40) / 2}
    expected["u"] = expected["w"] + 1
    found = {name: clarray.array(a) for name, a in expected.items()}
    calls = []
    for k in range(4, 36):
        exec(code, expected | {"k": k})
        calls.append(python_calls(partial(exec, code, found | {"k": k})))
        for name, value in expected.items():
            assert_same(found[name], value)
    assert min(calls) == 0


@pytest.mark.skipif(speedups.native is None, reason="the core has the operators")
def test_pairs_of_dtypes_beyond_the_core_table() -> None:
    """However many pairs of dtypes an operator has seen, the core computes what comes often."""
    ones = [clarray.ones(3, dtype) for dtype in "?bBhHiIlLfF" + "dD" * current_device().capabilities.fp64]
    x = clarray.ones(3, "f")
    for _ in range(2):
        for a, b in product(ones, repeat=2):
            _ = a + b
        _ = x + 0.5, x + x  # which asks Python for the loops once more
        with PythonCalls.of_modules("clarray._api.operators") as python_calls:
            _ = x + 0.5, x + x
        assert not python_calls.count
