"""average, cov, corrcoef against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

Same = Callable[..., None]

pytestmark = pytest.mark.skipif(not current_device().capabilities.fp64, reason="the device has no float64")


def close(body: Callable[[Any], Any], rtol: float = 1e-12) -> None:
    ours, theirs = body(clarray), body(np)
    if not isinstance(theirs, tuple):
        ours, theirs = (ours,), (theirs,)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one.get(), other, rtol=rtol, atol=rtol)


A = np.sin(np.arange(60.0)).reshape(3, 4, 5)
M = np.sin(np.arange(40.0) ** 1.5).reshape(4, 10)
W = np.arange(10) % 3 + 1


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 1)])
def test_average(axis: Any) -> None:
    close(lambda xp: xp.average(xp.asarray(A), axis=axis, returned=True))
    close(lambda xp: xp.average(xp.asarray(A), axis=axis, weights=xp.asarray(A) ** 2, returned=True, keepdims=True))
    if axis is not None:
        shape = tuple(A.shape[k] for k in np.atleast_1d(axis))
        weights = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        close(lambda xp: xp.average(xp.asarray(A), axis=axis, weights=xp.asarray(weights)))


def test_average_of_other_dtypes() -> None:
    close(lambda xp: xp.average(xp.asarray(np.arange(9)), weights=np.arange(9)))
    close(lambda xp: xp.average(xp.asarray(A.astype("f4")), 1, weights=xp.asarray(A.astype("f4") ** 2)), 1e-5)
    close(lambda xp: xp.average(xp.asarray(A * 1j), 1))


BAD: list[Callable[[Any], Any]] = [
    lambda xp: xp.average(xp.asarray(A), weights=np.ones(5)),
    lambda xp: xp.average(xp.asarray(A), 1, weights=np.ones(5)),
    lambda xp: xp.average(xp.asarray(A[0]), 1, weights=np.zeros(5)),
    lambda xp: xp.cov(xp.asarray(A)),
    lambda xp: xp.cov(xp.asarray(M), ddof=0.5),
    lambda xp: xp.cov(xp.asarray(M), fweights=np.full(10, 0.5)),
    lambda xp: xp.cov(xp.asarray(M), fweights=np.full(9, 1)),
    lambda xp: xp.cov(xp.asarray(M), aweights=np.full(10, -1.0)),
    lambda xp: xp.cov(xp.asarray(M), aweights=np.ones((10, 1))),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_errors(same: Same, number: int) -> None:
    same(BAD[number])


def test_cov() -> None:
    close(lambda xp: xp.cov(xp.asarray(M)))
    close(lambda xp: xp.cov(xp.asarray(M), rowvar=False, bias=True))
    close(lambda xp: xp.cov(xp.asarray(M[0])))
    close(lambda xp: xp.cov(xp.asarray(M[0]), xp.asarray(M[1]), ddof=0))
    close(lambda xp: xp.cov(xp.asarray(M), fweights=xp.asarray(W)))
    close(lambda xp: xp.cov(xp.asarray(M), fweights=W, aweights=W / 7))
    close(lambda xp: xp.cov(xp.asarray(M), aweights=W / 7, ddof=0))
    close(lambda xp: xp.cov(xp.asarray(M + 1j * M[::-1])))
    close(lambda xp: xp.cov(xp.asarray(np.arange(12).reshape(3, 4) ** 2)))
    close(lambda xp: xp.cov(xp.asarray(M.astype("f4")), dtype="f4"), 1e-5)
    close(lambda xp: xp.cov(xp.asarray(np.zeros((0, 3)))))


def test_degrees_of_freedom() -> None:
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        clarray.cov(clarray.asarray(M[:, :1]))


def test_corrcoef() -> None:
    close(lambda xp: xp.corrcoef(xp.asarray(M)))
    close(lambda xp: xp.corrcoef(xp.asarray(M[0]), xp.asarray(M[1])))
    close(lambda xp: xp.corrcoef(xp.asarray(M[0])))
    close(lambda xp: xp.corrcoef(xp.asarray(M + 1j * M[::-1])))
