"""What NumPy has as a number no operator changes: ``t += 1`` makes another, and who else holds it keeps the old one.

What is an array of no axes there is written to in place, and its views and its other names see it.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import check_same


def _filled(t: Any) -> Any:
    t[...] = 2.5
    return t


def _without_axes(t: Any) -> Any:
    t.shape = ()
    return t


def _resized(t: Any) -> Any:
    t.resize((), refcheck=False)
    return t


Made = Callable[[ModuleType, Any, Any], Any]

# Of x, six floats in two rows, and a, an array of no axes.
NUMBERS: dict[str, Made] = {
    "element": lambda xp, x, a: x[0, 1],
    "element of a transpose": lambda xp, x, a: x.T[1, 1],
    "element of a pending value": lambda xp, x, a: (x + 1)[1, 1],
    "element of no axes": lambda xp, x, a: a[()],
    "last of a loop": lambda xp, x, a: list(x[0])[-1],
    "sum": lambda xp, x, a: x.sum(),
    "mean": lambda xp, x, a: x.mean(),
    "largest": lambda xp, x, a: x.max(),
    "product of vectors": lambda xp, x, a: x[0] @ x[1],
    "dot": lambda xp, x, a: xp.dot(x[0], x[1]),
    "vdot": lambda xp, x, a: xp.vdot(x, x),
    "einsum": lambda xp, x, a: xp.einsum("ij,ij->", x, x),
    "what is computed of an element": lambda xp, x, a: x[0, 1] * 2 + 1,
    "what is computed of a sum": lambda xp, x, a: np.sqrt(x.sum()),
    "what is computed of an array of no axes": lambda xp, x, a: a + 1,
    "opposite": lambda xp, x, a: -x.sum(),
    "modulus": lambda xp, x, a: abs(x[0, 1]),
    "rounded": lambda xp, x, a: xp.round(x.sum()),
    "clipped": lambda xp, x, a: xp.clip(x.sum(), 0, 4),
    "taken": lambda xp, x, a: xp.take(x, 2),
    "trace": lambda xp, x, a: xp.trace(x),
    "determinant": lambda xp, x, a: xp.linalg.det(xp.tril(x[:, :2])),  # a product, which no order of steps rounds
    "norm": lambda xp, x, a: xp.linalg.norm(x),
    "median": lambda xp, x, a: xp.median(x),
    "percentile": lambda xp, x, a: xp.percentile(x, 30),
    "trapezoid": lambda xp, x, a: xp.trapezoid(x[0]),
    "not a number": lambda xp, x, a: xp.median(x[:, :1] * np.nan),
}
ARRAYS: dict[str, Made] = {
    "array": lambda xp, x, a: a,
    "copy": lambda xp, x, a: a.copy(),
    "cast": lambda xp, x, a: a.astype("f4"),
    "array of a number": lambda xp, x, a: xp.array(x.sum()),
    "zeros": lambda xp, x, a: xp.zeros(()),
    "ones": lambda xp, x, a: xp.ones(()),
    "full": lambda xp, x, a: xp.full((), 3.0),
    "like another": lambda xp, x, a: xp.full_like(a, 3),
    "like a number": lambda xp, x, a: xp.zeros_like(x.sum()),
    "of the host's": lambda xp, x, a: xp.asarray(np.array(5.0)),
    "constructed": lambda xp, x, a: _filled(xp.ndarray(())),
    "constructed with strides": lambda xp, x, a: _filled(xp.ndarray((), strides=())),
    "of a buffer": lambda xp, x, a: xp.frombuffer(np.array([5.0]).tobytes()).copy().reshape(()).copy(),
    "of one element, its axis taken away": lambda xp, x, a: _without_axes(xp.array([5.0])),
    "of one element, resized": lambda xp, x, a: _resized(xp.array([5.0])),
    "pickled": lambda xp, x, a: pickle.loads(pickle.dumps(a)),
    "copied by the module": lambda xp, x, a: copy.deepcopy(a),
    "view": lambda xp, x, a: a[...],
    "reshaped": lambda xp, x, a: x[0, 1:2].reshape(()),
    "squeezed": lambda xp, x, a: xp.squeeze(x[:1, :1]),
    "element as a view": lambda xp, x, a: x[0, 1, ...],
}


def _added(t: Any) -> Any:
    t += 1
    return t


def _multiplied(t: Any) -> Any:
    t *= t
    return t


def _raised(t: Any) -> Any:
    t **= 2
    return t


def _divided(t: Any) -> Any:
    t -= 0.5
    t /= 3
    return t


@pytest.mark.filterwarnings("ignore:Setting the shape")
@pytest.mark.parametrize("evaluated", [False, True], ids=["pending", "evaluated"])
@pytest.mark.parametrize("name", [*NUMBERS, *ARRAYS])
def test_in_place(name: str, evaluated: bool) -> None:
    def body(xp: ModuleType) -> Any:
        x, a = xp.arange(6.0).reshape(2, 3), xp.array(2.5)
        t = (NUMBERS | ARRAYS)[name](xp, x, a)
        if evaluated and isinstance(t, clarray.DeviceArray):
            t.evaluate()
        found = []
        for change in (_added, _multiplied, _raised, _divided):
            held = t
            t = change(t)
            found += [held + 0, t + 0]
        return found, x, a

    check_same(body)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4"])
def test_an_element_takes_any_dtype(dtype: str) -> None:
    """NumPy computes of the number, and casts as it stores; an array of no axes refuses."""

    def body(xp: ModuleType) -> Any:
        x, n = xp.array([0, 1, 1], dtype), xp.array([True, False, True]).sum()
        x[1] += 1.5
        x[0] -= x[2] * 2 - 2
        n /= 2
        return x, n

    check_same(body)
    a = clarray.array(3)
    with pytest.raises(TypeError, match="Cannot cast"):
        a += 1.5
