"""Interpolation between points: NumPy's bits, for any order of what is looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..closeness import check_close

pytestmark = pytest.mark.skipif(not current_device().capabilities.fp64, reason="NumPy computes in float64")

rng = np.random.default_rng(6)
XP = np.sort(rng.random(50))
FP = rng.random(50)
X = rng.random((20, 30)) * 1.4 - 0.2
X[0, :6] = np.nan, np.inf, -np.inf, XP[3], XP[-1], XP[0]
SPECIAL = FP.copy()
SPECIAL[[5, 9, 20, 21]] = np.inf, np.nan, -np.inf, -np.inf
COMPLEX = FP.astype(complex)
COMPLEX.imag = SPECIAL[::-1]


@pytest.mark.parametrize("values", [FP, SPECIAL, COMPLEX], ids=["real", "special", "complex"])
def test_interp(values: np.ndarray) -> None:
    check_close("interp", X, XP, values, ulps=0)
    check_close("interp", X.astype("float32"), XP, values, -1, 5.5, ulps=0)
    check_close("interp", X, XP[::-1].copy(), values, period=0.7, ulps=1)


def test_few_points_and_other_dtypes() -> None:
    for count in (1, 2):
        check_close("interp", X, XP[:count], FP[:count], ulps=0)
    check_close("interp", np.arange(5), np.arange(4), np.arange(4) * 2, ulps=0)
    check_close("interp", X[:0], XP, FP)
    check_close("interp", X, XP, FP, left=np.nan, ulps=0)
    check_close("interp", 0.5, XP, FP, ulps=0)


@pytest.mark.parametrize(
    "args",
    [
        (X, XP[:0], FP[:0]),
        (X, XP, FP[:3]),
        (X, XP.reshape(5, 10), FP),
        (X, np.array(1.0), np.array(1.0)),
        (X.astype(complex), XP, FP),
        (X, XP, FP, None, None, 0),
        (X, XP, FP[:3], None, None, 1),
        (X, XP.reshape(5, 10), FP, None, None, 1),
    ],
)
def test_errors(args: tuple[Any, ...]) -> None:
    check_close("interp", *args)


@pytest.mark.kernels_alone
def test_one_pass_computes_a_pending_operand() -> None:
    x, xp, fp = (clarray.array(a) for a in (X, XP, FP))
    pending = x * 2 + 1
    with clarray.profile() as p:
        clarray.interp(pending, xp, fp, 0, 1).evaluate()
    assert p.launches == 1
