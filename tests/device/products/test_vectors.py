"""Cross products, traces."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import check_close

rng = np.random.default_rng(8)
A = rng.random((3, 4, 3)).astype("float32")


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        (A, A[::-1], {}),
        (A[0, 0], A, {"axisc": 0}),
        (A, A.transpose(1, 2, 0)[:3, None], {"axis": 0}),
        (A, A.T, {"axisa": 0, "axisb": 2, "axisc": 1}),
        ((A * 100).astype("int8"), (A[0] * 100).astype("uint8"), {}),
        (A + 1j * A[::-1], A[1], {}),
        (A[:, :2], A, {}),
        (np.float32(1), A, {}),
        (A, A, {"axisa": 3}),
        (A, A, {"axisc": 4}),
        (A > 0.5, A > 0.5, {}),
    ],
)
def test_cross(a: Any, b: Any, axes: dict[str, int]) -> None:
    check_close("cross", a, b, **axes)


PAIRS = [(2, 2), (2, 3), (3, 2)]


@pytest.mark.parametrize(("m", "n"), [*PAIRS, (1, 3), (3, 4), (1, 1), (0, 3)])
def test_lengths_are_refused_as_numpy_does(same: Any, m: int, n: int) -> None:
    """Of two elements by NumPy 2.5, which 2.4 takes; whatever else by all, each with its words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        a = np.arange(15.0, dtype=np.float32).reshape(3, 5)
        same(lambda xp: xp.cross(xp.asarray(a[:, :m]), xp.asarray(a[:, :n])))


def takes_two() -> bool:
    """Whether the NumPy there is takes vectors of two elements."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            np.cross([1.0, 2.0], [1.0, 2.0])
        except ValueError:
            return False
    return True


needs_two = pytest.mark.skipif(not takes_two(), reason="NumPy 2.5 refuses vectors of two elements, and so does clarray")


@needs_two
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_third_elements_lie_in_c_order() -> None:
    host = np.asfortranarray(np.ones((3, 4, 2), np.float32))
    found = clarray.cross(clarray.array(host), clarray.array(host) + 1)
    assert found.strides == np.cross(host, host + 1).strides


@needs_two
@pytest.mark.parametrize(("m", "n"), PAIRS)
def test_a_third_element_is_zero(m: int, n: int) -> None:
    """As NumPy had it up to 2.4."""
    a, b = A.copy(), A[::-1].copy()
    a[..., m:] = b[..., n:] = 0
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors"):
        found = clarray.cross(clarray.asarray(a[..., :m]), clarray.asarray(b[..., :n]))
    wanted = np.cross(a, b)
    np.testing.assert_allclose(found.get(), wanted[..., 2] if m == n == 2 else wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [1, 4])
def test_vectors_of_other_lengths(count: int) -> None:
    with pytest.raises(ValueError, match="dimension"):
        clarray.cross(clarray.ones((2, count), "float32"), clarray.ones((2, 3), "float32"))


def test_trace() -> None:
    check_close("trace", A)
    check_close("trace", A, 1, 0, 2, dtype=np.float32)
    check_close("trace", (A * 100).astype("int8"), -1, axis1=1, axis2=-1)
    out = clarray.zeros(3, "float32")
    assert clarray.trace(clarray.asarray(A), out=out) is out
