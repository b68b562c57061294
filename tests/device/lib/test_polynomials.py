"""Polynomials, as arrays of coefficients and as objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

from ..closeness import check_close

rng = np.random.default_rng(7)
P = rng.random(6).astype("float32")
X = rng.random((4, 5)).astype("float32")
fp64 = pytest.mark.skipif(not current_device().capabilities.fp64, reason="NumPy's result is float64")


@pytest.mark.parametrize("p", [P, P[:1], P[:0], P + np.complex64(1j)], ids=["six", "one", "none", "complex"])
def test_polyval(p: np.ndarray) -> None:
    check_close("polyval", p, X)
    check_close("polyval", p, np.array([np.inf, -2, np.nan], "float32"))


@fp64
def test_polyval_of_other_dtypes() -> None:
    check_close("polyval", [1, 2, 3], (X * 10).astype("int16"))
    check_close("polyval", [1, 2, 3], 2.5)
    check_close("polyval", rng.random(40), X.T)
    check_close("polyval", P, 3)


@pytest.mark.kernels_alone
def test_polyval_is_one_pass() -> None:
    x = clarray.array(X)
    pending = x + 1
    with clarray.profile() as p:
        clarray.polyval(P[:4], pending).evaluate()
    assert p.launches == 1


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_arithmetic(name: str) -> None:
    for a, b in ((P, P[:3]), (P[:2], P), (np.array([0, 0, 1, 2], "int32"), np.array([0, 3], "int32")), (P, P)):
        check_close(name, a, b)


@fp64
@pytest.mark.parametrize(
    ("u", "v"),
    [(P, P[:3]), (P[:2], P), (np.convolve(P, P[:3]).astype(float), P[:3].astype(float)), ([1, 2], [2]), (2, [1.0, 2])],
)
def test_polydiv(u: Any, v: Any) -> None:
    check_close("polydiv", u, v, ulps=64)


@fp64
@pytest.mark.parametrize("m", [0, 1, 2, 9, -1])
def test_derivatives_and_integrals(m: int) -> None:
    for p in (P, np.arange(4)):
        check_close("polyder", p, m)
        check_close("polyint", p, min(m, 3))


@fp64
def test_constants_of_integration() -> None:
    check_close("polyint", P, 2, [1, 2])
    check_close("polyint", P, 2, k=3)
    check_close("polyint", P, 3, [1, 2])


@pytest.mark.parametrize("x", [P, P + np.complex64(1j), X], ids=["real", "complex", "matrix"])
def test_vander(x: np.ndarray) -> None:
    if x.dtype.kind == "f" and not current_device().capabilities.fp64:
        pytest.skip("NumPy's result is float64")
    for kwargs in ({}, {"N": 3, "increasing": True}, {"N": 1}, {"N": 0}):
        check_close("vander", x, **kwargs)


@fp64
@pytest.mark.parametrize(
    "zeros",
    [P, [1, 2, 3], [1 + 2j, 1 - 2j], [1j, 2], X[:, :4].astype(float), X[:, :3], np.ones((2, 2, 2))],
    ids=["floats", "integers", "pairs", "complex", "matrix", "no square", "axes"],
)
def test_poly(zeros: Any) -> None:
    check_close("poly", zeros, ulps=64)


@fp64
def test_roots() -> None:
    for p in (P.astype(float), [0, 0, 1, -3, 2, 0, 0], [0, 0], [5], X):
        check_close("roots", p, ulps=64)
    assert clarray.poly([]) == 1.0


@fp64
@pytest.mark.parametrize("y", [rng.random(30), rng.random((30, 3))], ids=["one", "several"])
def test_polyfit(y: np.ndarray) -> None:
    x, w = rng.random(30), rng.random(30)
    check_close("polyfit", x, y, 3, ulps=1e5)
    check_close("polyfit", x, y, 2, w=w, cov=True, ulps=1e5)
    check_close("polyfit", x, y, 2, cov="unscaled", ulps=1e5)
    found, wanted = clarray.polyfit(clarray.asarray(x), y, 2, full=True), np.polyfit(x, y, 2, full=True)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(mine), theirs)


@fp64
def test_polyfit_errors() -> None:
    x, y = rng.random(9), rng.random(9)
    check_close("polyfit", x, y, -1)
    check_close("polyfit", X, y, 1)
    check_close("polyfit", x, X[:, None], 1)
    check_close("polyfit", x[:0], y[:0], 1)
    check_close("polyfit", x, y[:3], 1)
    check_close("polyfit", x, y, 1, w=x[:3])
    check_close("polyfit", x, y, 1, w=X)
    check_close("polyfit", x[:3], y[:3], 2, cov=True)
    with pytest.warns(np.exceptions.RankWarning):
        clarray.polyfit(clarray.asarray(x[:2]), y[:2], 3)


@fp64
def test_objects() -> None:
    ours, theirs = clarray.poly1d([0, 1, 2, 3]), np.poly1d([0, 1, 2, 3])
    assert str(ours) == str(theirs)
    assert repr(ours**2 - 1) == repr(theirs**2 - 1)
    assert repr(1 - ours * ours / 2) == repr(1 - theirs * theirs / 2)
    assert repr(ours(ours)) == repr(theirs(theirs))
    assert ours == clarray.poly1d([1, 2, 3])
    assert ours != clarray.poly1d([1, 2])
    assert (len(ours), ours.order, ours.o) == (len(theirs), theirs.order, theirs.o)
    assert [repr(p) for p in ours / clarray.poly1d([1, 1])] == [repr(p) for p in theirs / np.poly1d([1, 1])]
    assert repr(2 / ours) == repr(2 / theirs)
    assert repr(-ours.deriv()) == repr(-theirs.deriv())
    assert repr(ours.integ(k=2)) == repr(theirs.integ(k=2))
    assert [int(ours[k]) for k in range(5)] == [int(theirs[k]) for k in range(5)]
    ours[4] = theirs[4] = 7
    assert repr(+ours) == repr(theirs)
    np.testing.assert_allclose(np.sort(np.asarray(ours.r)), np.sort(theirs.r))
    assert ours(clarray.arange(3)).tolist() == theirs(np.arange(3)).tolist()
    assert repr(clarray.arange(1, 3) * clarray.poly1d([1, 2])) == repr(clarray.poly1d([1, 4, 4]))
    assert repr(clarray.poly1d([2, 1], r=True)) == repr(np.poly1d([2, 1], r=True))
    assert np.asarray(clarray.polyadd(ours, [1])).tolist() == [7, 0, 1, 2, 4]
    with pytest.raises(ValueError, match="1d only"):
        clarray.poly1d([[1, 2]])
