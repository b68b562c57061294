"""Factorizations of matrices with a NaN: it spreads, and its column is not singular."""

from __future__ import annotations

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", [3, 40, 150])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (-1, -1), (-1, 0), (0, -1)])
def test_a_nan_spreads(dtype: type, n: int, place: tuple[int, int]) -> None:
    if np.dtype(dtype).char in "dD" and not current_device().capabilities.fp64:
        pytest.skip("no float64")
    host = np.eye(n, dtype=dtype)
    host[place] = np.nan
    stack = clarray.array(np.stack([np.eye(n, dtype=dtype), host]))
    determinant = np.linalg.det(host)
    for a in (clarray.array(host), stack):
        inverse = clarray.asnumpy(clarray.linalg.inv(a))
        assert np.isnan(inverse if a.ndim == 2 else inverse[1]).any()
        assert np.isnan(clarray.asnumpy(clarray.linalg.det(a))).any() == np.isnan(determinant)
        if a.ndim == 3:
            np.testing.assert_array_equal(inverse[0], np.eye(n))
    solution = clarray.linalg.solve(clarray.array(host), clarray.ones(n, dtype=dtype))
    assert np.isnan(solution.get()).any()
