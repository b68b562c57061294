"""Which of several complex NaNs is returned: they differ in their other part, and NumPy keeps the first one."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")

Axis = int | tuple[int, ...] | None

REDUCTIONS: dict[str, Callable[[ModuleType, Any, Axis], Any]] = {
    "max": lambda xp, x, axis: xp.max(x, axis=axis),
    "min": lambda xp, x, axis: xp.min(x, axis=axis),
    "ptp": lambda xp, x, axis: xp.ptp(x, axis=axis),
    "max of a pending value": lambda xp, x, axis: xp.max(2 * x, axis=axis, keepdims=True) + 1,
    "initial": lambda xp, x, axis: xp.max(x, axis=axis, initial=0),
    "initial nan": lambda xp, x, axis: xp.min(x, axis=axis, initial=complex(1, np.nan)),
    "where": lambda xp, x, axis: xp.max(x, axis=axis, initial=-9, where=x.real != 1),
    "fmax": lambda xp, x, axis: xp.fmax.reduce(x, axis=axis),
    "fmin": lambda xp, x, axis: xp.fmin.reduce(x, axis=axis),
}
ALONG_AXIS: dict[str, Callable[[ModuleType, Any, int], Any]] = {
    "maximum.accumulate": lambda xp, x, axis: xp.maximum.accumulate(x, axis=axis),
    "fmin.accumulate": lambda xp, x, axis: xp.fmin.accumulate(x, axis=axis),
    "maximum.reduceat": lambda xp, x, axis: xp.maximum.reduceat(x, [0, 2], axis=axis),
    "fmax.reduceat": lambda xp, x, axis: xp.fmax.reduceat(x, [0, 2], axis=axis),
    "argmax": lambda xp, x, axis: xp.argmax(x, axis=axis),
    "sort": lambda xp, x, axis: xp.sort(x, axis=axis, kind="stable"),
    "median": lambda xp, x, axis: xp.median(x, axis=axis),
}
OTHERS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "selected": lambda xp, x: x[x.real != 1].max(),
    "unique": lambda xp, x: xp.unique(x),
    "unique, each nan": lambda xp, x: xp.unique(x, equal_nan=False),
    "union1d": lambda xp, x: xp.union1d(x, x[:1]),
    "maximum": lambda xp, x: xp.maximum(x, x[::-1]),
    "fmin": lambda xp, x: xp.fmin(x, x[::-1]),
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "F": lambda x: x.T.copy("C").T,
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.T,
}
SHAPES = [(5,), (3000,), (5, 3, 7)]


def with_nans(shape: tuple[int, ...], share: float) -> np.ndarray:
    """Small integers, of which a share have NaN as their real part, their imaginary part or both."""
    rng = np.random.default_rng(len(shape))
    values = (rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)).astype(np.complex64)
    drawn = rng.random(shape)
    values.real[drawn < share / 2] = np.nan
    values.imag[(drawn > share / 4) & (drawn < share)] = np.nan
    return values


def parts(value: Any) -> np.ndarray:
    """Real and imaginary parts, which NumPy compares each by itself."""
    host = np.asarray(clarray.asnumpy(value) if isinstance(value, clarray.DeviceArray) else value)
    return np.stack([host.real, host.imag])


def cases(shape: tuple[int, ...]) -> dict[str, Callable[[ModuleType, Any], Any]]:
    """Every call for an array of a shape."""
    axes: list[Axis] = [None, *range(len(shape)), *((a, b) for a in range(len(shape)) for b in range(a))]
    reductions = {f"{n}, axis={a}": lambda xp, x, f=f, a=a: f(xp, x, a) for n, f in REDUCTIONS.items() for a in axes}
    along = {f"{n}, axis={a}": lambda xp, x, f=f, a=a: f(xp, x, a) for n, f in ALONG_AXIS.items() for a in (0, -1)}
    return {**reductions, **along, **OTHERS}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_first_nan(shape: tuple[int, ...], layout: str) -> None:
    check(shape, layout, [0.05, 0.4, 1.0])


# Of each policy two layouts, and the others with `--exhaustive`.
CHOSEN = [("tiny-cpu", "C"), ("tiny-cpu", "reversed"), ("tiny-gpu", "F"), ("tiny-gpu", "transposed")]
OF_POLICIES = [
    pytest.param(policy, layout, marks=[] if (policy, layout) in CHOSEN else pytest.mark.exhaustive)
    for policy in ("tiny-cpu", "tiny-gpu")
    for layout in LAYOUTS
]


@pytest.mark.parametrize(("policy", "layout"), OF_POLICIES, indirect=["policy"])
def test_other_policies(layout: str, policy: str) -> None:
    check((5, 3, 7), layout, [0.4])


def check(shape: tuple[int, ...], layout: str, shares: list[float]) -> None:
    unlike = []
    for share in shares:
        host = with_nans(shape, share)
        ours, theirs = LAYOUTS[layout](clarray.array(host)), LAYOUTS[layout](host)
        for name, body in cases(shape).items():
            found, expected = parts(body(clarray, ours)), parts(body(np, theirs))
            if not np.array_equal(found, expected, equal_nan=True):
                unlike.append(f"{name}, {share} NaN: {found.ravel()[:6]} instead of {expected.ravel()[:6]}")
    assert not unlike, "\n".join(unlike)
