"""Values without memory, the same number everywhere, through what counts, sorts, chooses and moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..outcomes import difference

pytestmark = pytest.mark.usefixtures("quick_builds")

MADE = ["xp.isreal(xp.zeros(5, 'f4'))", "xp.iscomplex(xp.zeros((2, 3), 'f4'))"]

STATEMENTS = """
X.sum() ; X.any(1 - X.ndim) ; xp.count_nonzero(X) ; xp.argmax(X) ; xp.nonzero(X) ; xp.argwhere(X) ; xp.flatnonzero(X)
xp.histogram(X * 1, [0, 1, 2, 5]) ; xp.histogram(X * 1, 3) ; xp.histogram(X * 1.5, [0, 1, 2], weights=X + 1)
xp.histogram2d(X.ravel() * 1, X.ravel() * 1, 2)[0].tolist() ; xp.bincount(X.ravel() * 1)
xp.bincount(X.ravel() * 1, X.ravel() * 2.0) ; xp.unique(X) ; xp.unique(X, return_counts=True)
xp.unique(X * 3, return_inverse=True) ; xp.isin(X, [True]) ; xp.sort(X) ; xp.argsort(X, kind='stable')
xp.median(X * 1.0) ; xp.searchsorted([0, 1], X) ; xp.digitize(X * 1, [0, 1]) ; xp.cumsum(X, 0) ; xp.diff(X * 1)
xp.add.reduceat(X.ravel() * 1, [0, 1]) ; xp.interp(X * 1, [0, 1], [3, 4]) ; xp.zeros(X.shape)[X] ; X[X] ; X[[0, 1]]
xp.take([5, 6], X * 1) ; xp.choose(X * 1, [1, 2]) ; xp.where(X, 1, 2) ; xp.repeat(X, 2) ; xp.roll(X, 1) ; xp.pad(X, 1)
xp.concatenate((X, X)) ; xp.packbits(X) ; xp.trim_zeros(X.ravel() * 1) ; xp.convolve(X.ravel() * 1, X.ravel() * 1)
(X * 1).T @ (X * 1) ; xp.extract(X, X) ; xp.compress(X.ravel()[:2], X, 0)
"""


LISTED = [s for line in STATEMENTS.split("\n") for s in line.split(" ; ") if s]


@pytest.mark.parametrize("statement", LISTED)
def test_constants(statement: str) -> None:
    for made in MADE:
        code = statement.replace("X", f"{made}")
        found = difference(code)
        assert found is None, f"{code}: {found}"


def test_large_constants(same: Any) -> None:
    same(lambda xp: xp.histogram(xp.iscomplex(xp.zeros((300, 500), np.float32)) * 1, [0, 1, 2]))
    same(lambda xp: xp.bincount(xp.isreal(xp.zeros(100_000, np.float32)) * 2))
