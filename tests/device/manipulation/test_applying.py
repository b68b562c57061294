"""Functions of the user's on lines, parts and elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray

HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

CALLS: list[Any] = [
    lambda xp, a: [xp.apply_along_axis(lambda line: line.sum(), axis, a) for axis in (0, 1, -1)],
    lambda xp, a: xp.apply_along_axis(lambda line: line[::-1] * 2, 1, a),
    lambda xp, a: xp.apply_along_axis(lambda line, n, by=1: xp.stack([line[:n], line[-n:]]) * by, 1, a, 2, by=3),
    lambda xp, a: xp.apply_along_axis(lambda line: 5, 0, a),
    lambda xp, a: xp.apply_along_axis(lambda line: line.sum(), 1, a[:0]),
    lambda xp, a: xp.apply_along_axis(lambda line: line.sum(), 3, a),
    lambda xp, a: [xp.apply_over_axes(xp.sum, a, (0, -1)), xp.apply_over_axes(xp.cumsum, a, 1)],
    lambda xp, a: xp.apply_over_axes(lambda x, axis: x[0, 0], a, [1]),
    lambda xp, a: xp.piecewise(a, [a < 5, a >= 18], [-1, 1]),
    lambda xp, a: xp.piecewise(a, [a < 5, a >= 18], [lambda x: -x, lambda x: x * x, 7]),
    lambda xp, a: xp.piecewise(a, a > 90, [lambda x, n, k: x * n + k, lambda x, n, k: x + n], 2, k=3),
    lambda xp, a: xp.piecewise(a[0, 0], [a[0, 0] > 1, a[0, 0] > 2], [5, xp.sqrt]),
    lambda xp, a: xp.piecewise(a[0, 0, 0:1].reshape(()), [True, False], [lambda x: x + 2, 0]),
    lambda xp, a: xp.piecewise(a, [a < 5], [1, 2, 3]),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls(same: Any, number: int) -> None:
    same(lambda xp: CALLS[number](xp, xp.asarray(HOST)), message=number != 5)


def double(x: float, by: float = 2) -> float:
    """Scale."""
    return x * by if x > 3 else 0.0


def test_vectorize_follows_the_policy() -> None:
    scaled = clarray.vectorize(double, otypes=["f"])
    assert scaled.__doc__ == "Scale."
    with clarray.config(host_library="raise"), pytest.raises(TypeError, match=r"clarray\.vectorize.*host_library"):
        scaled(clarray.array(HOST))
    found = scaled(clarray.array(HOST), by=3)
    decorated = clarray.vectorize(otypes=["f"])(double)(clarray.array(HOST))
    objects = clarray.frompyfunc(double, 1, 1)(clarray.array(HOST))
    assert isinstance(found, clarray.DeviceArray)
    np.testing.assert_array_equal(found.get(), np.vectorize(double, otypes=["f"])(HOST, by=3))
    np.testing.assert_array_equal(decorated.get(), np.vectorize(double, otypes=["f"])(HOST))
    assert objects.dtype == object
