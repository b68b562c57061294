"""``ufunc.at``: positions that repeat, overlaps, errors that change nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import clarray

pytestmark = pytest.mark.usefixtures("quick_builds")
FEW_DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]


def updated(ufunc: str, host: Any, key: Any, *operand: Any, device: bool = False) -> Any:
    """A body that gives an updated copy of `host`; `device`: other arrays are on the device."""

    def place(xp: Any, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(place(xp, v) for v in value)
        return xp.asarray(value) if device and isinstance(value, np.ndarray) else value

    def body(xp: Any) -> Any:
        a = xp.array(host)
        assert getattr(xp, ufunc).at(a, place(xp, key), *(place(xp, b) for b in operand)) is None
        return a

    return body


def test_at_dtypes(same: Any, host: np.ndarray) -> None:
    flat = host.reshape(-1)[:7]
    same(updated("add", flat, [0, 3, 0, -1], flat[:4]))
    if host.dtype.name in FEW_DTYPES:
        same(updated("maximum", flat, np.array([0, 3, 0, -1]), flat[:4], device=True))
        same(updated("multiply", host, (0, [1, 1, 2]), 3))


FLAT = np.arange(5.0)
FLAT_KEYS = [
    ([0, 0, 1], 1),
    ([0, 0, -1], [1, 2, 3]),
    ([[0, 1], [1, 1]], [10, 1]),
    (2, 1),
    (-2, 1),
    (slice(1, 3), [1, 2]),
    (..., 1),
    (None, 1),
    ((), 1),
    (True, 2),
    ([], 1),
    (np.array([0, 4, 0, 4], np.uint8), np.arange(4)),
    (np.array([-5, -5], np.int8), 2.5),
    (FLAT % 2 == 0, 7),
    (FLAT % 2 == 0, np.array([1, 2, 3])),
    (FLAT > 9, np.zeros(0)),
]
FLAT_ERRORS = [
    ([0, 5], 1),
    ([0, -6], 1),
    (np.array([0, 5]), 1),
    (7, 1),
    ([0, 1], [1, 2, 3]),
    ([0.0], 1),
    (np.array([0.0]), 1),
    ("a", 1),
    (1.0, 1),
    ([], [1, 2]),
    (np.array([True, False]), 1),
    (slice(1, 3), [1, 2, 3]),
    ([0, 1], np.ones((2, 2))),
    (([0], [0]), 1),
]


@pytest.mark.parametrize("device", [False, True])
def test_at_keys(same: Any, device: bool) -> None:
    for key, value in FLAT_KEYS:
        same(updated("subtract", FLAT, key, value, device=device))


@pytest.mark.parametrize("device", [False, True])
def test_at_errors_change_nothing(same: Any, device: bool) -> None:
    for key, value in FLAT_ERRORS:
        same(updated("subtract", FLAT, key, value, device=device))
    a = clarray.array(FLAT)
    for key, value in FLAT_ERRORS:
        with pytest.raises((IndexError, ValueError)):
            clarray.add.at(a, key, value)
    assert a.tolist() == FLAT.tolist()


BOX = np.arange(120.0).reshape(2, 3, 4, 5)
ODD = BOX % 2 == 1
BOX_KEYS = [
    ([0, 0, 1], 1),
    ([0, 0], np.arange(5)),
    (([0, 0, 1], [1, 1, 2]), np.arange(4)[:, None]),
    (([[0], [1]], [1, 1]), 1),
    ((0, [1, 1]), 2),
    (([0, 1], None), 5),
    (np.s_[:, [0, 0, 2], :, [1, 1, 3]], np.arange(3).reshape(3, 1, 1)),
    (np.s_[:, [0, 0, 2], [1, 1, 3]], np.arange(5)),
    (np.s_[::-1, [0, 2], ..., [1, 3]], 4),
    (np.s_[:, [0], ..., [1], :], np.arange(10).reshape(2, 5)),
    (np.s_[:, [0], [1], ...], np.arange(10).reshape(2, 1, 5)),
    (ODD, np.arange(60)),
    ((slice(None), ODD[0, :, :, 0]), 3),
    (np.s_[:, ODD[0, 0]], np.arange(10)),
    (np.s_[1, np.array([True, False, True]), [0, 1]], np.arange(5)),
    (np.s_[..., [1, 1]], [1, 2]),
    (np.s_[:0, [1, 1]], 1),
    (([1, 1], slice(None, None, 2), -1), 1),
]
BOX_ERRORS = [
    ([2], 1),
    (([0, 1], [1, 3]), 1),
    (([0, 1], [0, 1, 2]), 1),
    (([0],) * 5, 1),
    (np.s_[:, [0, 1], 9], 1),
    ((ODD[:, :2],), 1),
    (np.s_[..., [0], ...], 1),
]


@pytest.mark.parametrize("device", [False, True])
def test_at_several_axes(same: Any, device: bool) -> None:
    def arrays(key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(map(arrays, key))
        return np.array(key) if device and isinstance(key, list) else key

    for key, value in [*BOX_KEYS, *BOX_ERRORS]:
        same(updated("subtract", BOX, arrays(key), value, device=device))


def test_at_ufuncs(same: Any) -> None:
    ones, ints = np.ones(4), np.array([2, 9, 4])
    with np.errstate(all="ignore"):
        same(updated("negative", ones, [0, 0, 1]))
        same(updated("sqrt", ints, [1]))
        same(updated("square", ints, np.s_[1:]))
        same(updated("ldexp", ones, [0, 0], 3))
        same(updated("less", ones, [0, 0], 5))
        same(updated("true_divide", ints, [0, 2], 2))
        same(updated("add", ints.astype(np.int8), [0, 0], 300))
        same(updated("add", ints.astype(np.int32), [0, 0], 1.5))
        same(updated("add", ones.astype(np.float16), [0, 0, 0], 1e-3))
        same(updated("add", ones.astype(np.float32), [0, 0, 0], np.float64(1e-8)))
        same(updated("power", ints, [0, 0], 2))
        same(updated("power", ints, [0, 0], -1))
        same(updated("power", ints, 0, np.array(-1)))
    same(updated("modf", ones, [0]))
    same(updated("divmod", ones, [0], 1))
    same(updated("negative", ones, [0], 1))
    same(updated("add", ones, [0]))
    with pytest.raises(TypeError):
        clarray.add.at(clarray.asarray(ones), [0], "a")
    same(lambda xp: xp.add.at([1, 2], [0], 1), message=False)
    with pytest.raises(ValueError, match="read-only"):
        clarray.add.at(clarray.broadcast_to(clarray.asarray([1, 2]), (3, 2)), [0], 1)


@pytest.mark.optimized
def test_at_overlap_and_order(same: Any) -> None:
    host = np.arange(6)

    def body(xp: Any) -> Any:
        a, b, c, d = (xp.array(host) for _ in range(4))
        before, later = a * 2, a + 1
        np.add.at(a, [0, 1, 2, 2], a[2:])
        np.add.at(b, b, b)
        np.add.at(c[::2], [0, 0, 2], c[3:] * c[:3])
        np.subtract.at(d, d[::-1] // 2, later)  # pending on an array written in between
        return a, b, c, d, before, later

    same(body)


@given(st.data())
def test_any_key(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    key: Any = data.draw(
        st.one_of(
            hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(min_side=0, max_dims=2)),
            hnp.arrays(bool, shape),
        )
    )
    theirs = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    ours = clarray.array(theirs)
    value = np.arange(theirs[key].size, dtype=np.int32).reshape(theirs[key].shape)
    np.subtract.at(theirs, key, value)
    if data.draw(st.booleans()):
        key = tuple(map(clarray.asarray, key)) if isinstance(key, tuple) else clarray.asarray(key)
    clarray.subtract.at(ours, key, clarray.asarray(value))
    np.testing.assert_array_equal(ours.get(), theirs)
