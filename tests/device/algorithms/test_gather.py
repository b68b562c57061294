"""Indexing with arrays, take and put: against NumPy, with indices in and out of bounds."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray

from ..conftest import check_same, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = np.arange(60, dtype=np.float32).reshape(3, 4, 5) % 7
I = np.array([[0, -1], [2, 1]])  # noqa: E741
ROWS = np.array([True, False, True])
PLANES = np.arange(12).reshape(3, 4) % 3 == 0
ALL = slice(None)

KEYS: dict[str, Any] = {
    "row mask": ROWS,
    "plane mask": PLANES,
    "whole mask": HOST > 3,
    "mask, slice, number": (ROWS, ALL, 2),
    "slice, mask": (ALL, np.array([True, False, True, True])),
    "number, array": (0, np.array([0, 2])),
    "mask, array": (ROWS, np.array([1, 3])),
    "mask, array of another length": (ROWS, np.array([1, 3, 0])),
    "slice, array": (slice(1, None), I % 2),
    "array": I,
    "two arrays": (I, I),
    "arrays apart": (I, ALL, I),
    "last": (Ellipsis, I),
    "new axes": (None, I, None, I),
    "rows and columns": (np.array([0, 1])[:, None], np.array([1, 2, 3])),
    "list": [0, 2],
    "empty": [],
    "True": True,
    "False": False,
    "True, array": (True, I),
    "array, True, slice": (I, True, ALL),
    "array, False": (I, False),
    "plane mask, number": (PLANES, 0),
    "plane mask, array": (PLANES, np.arange(4)),
    "too far": 7 * I,
    "too far along axis 1": (ALL, I * 9),
    "not broadcastable": (I, np.array([1, 2, 3])),
    "floats": np.array([1.0, 2]),
    "too many": (HOST > 3, 0),
    "unsigned": np.array([1, 2], np.uint64),
    "narrow": np.array([-1], np.int8),
    "wrong mask": np.array([True]),
    "two ellipses": (Ellipsis, Ellipsis, I),
}


ON_DEVICE = {
    "row mask",
    "whole mask",
    "slice, mask",
    "mask, array",
    "array",
    "arrays apart",
    "rows and columns",
    "too far",
    "too far along axis 1",
}


def _on_device(xp: Any, key: Any, name: str) -> Any:
    """The key with its arrays on the device, for those keys: each is a program or two."""
    if name not in ON_DEVICE:
        return key
    if isinstance(key, tuple):
        return tuple(xp.asarray(k) if isinstance(k, np.ndarray) else k for k in key)
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("name", KEYS)
def test_reading(same: Any, name: str) -> None:
    key = KEYS[name]
    same(lambda xp: xp.array(HOST)[_on_device(xp, key, name)])
    if name not in ON_DEVICE:
        same(lambda xp: xp.array(HOST).transpose(2, 0, 1)[:, ::-1][key])


@pytest.mark.parametrize("name", KEYS)
def test_writing(same: Any, name: str) -> None:
    key = KEYS[name]

    def scalar(xp: Any) -> Any:
        a = xp.array(HOST)
        a[_on_device(xp, key, name)] = 9
        return a

    def values(xp: Any) -> Any:
        a = xp.array(HOST).T[::-1].T
        shape = HOST[key].shape
        a[_on_device(xp, key, name)] = xp.asarray(np.arange(np.prod(shape)).reshape(shape))
        return a

    def in_place(xp: Any) -> Any:
        a = xp.array(HOST)
        a[_on_device(xp, key, name)] += 1
        return a

    def unfitting(xp: Any) -> Any:
        a = xp.array(HOST)
        a[_on_device(xp, key, name)] = [1, 2]
        return a

    for body in (scalar, values, in_place):
        same(body)
    if "too far" not in name:  # which of two errors comes first
        same(unfitting, message=key is not True and key is not False)


@pytest.mark.parametrize("policy_name", ["own", "tiny-cpu", "tiny-gpu"])
def test_the_last_of_repeated_indices_stays(same: Any, policy_name: str) -> None:
    random = np.random.default_rng(2)
    indices = random.integers(-50, 50, 3000)
    values = random.random(3000, dtype=np.float32)
    rows = random.random((300, 3), dtype=np.float32)

    def body(xp: Any) -> Any:
        a, b = xp.zeros(50, np.float32), xp.zeros((50, 3), np.float32)
        a[xp.asarray(indices)] = xp.asarray(values)
        b[xp.asarray(indices[:300])] = xp.asarray(rows)
        c = xp.zeros((3, 50), np.float32)
        c[:, xp.asarray(indices[:300])] = xp.asarray(rows).T
        return a, b, c

    with policy_in_force(policy_name):
        for _ in range(2):
            same(body)


def test_nothing_is_written_before_an_error() -> None:
    for name in ("own", "tiny-gpu"):
        with policy_in_force(name):
            a = clarray.zeros(1000)
            for value in (1, clarray.ones(4)):
                with pytest.raises(IndexError, match="index 1000 is out of bounds for axis 0"):
                    a[clarray.array([1, 2, 1000, 3])] = value
            assert not bool(a.any())
            with pytest.raises(IndexError, match="index -1001 is out of bounds"):
                a[clarray.array([1, -1001])]


@pytest.mark.optimized
def test_overlaps(same: Any) -> None:
    def itself(xp: Any) -> Any:
        a = xp.arange(5)
        a[a] = a[::-1]
        return a

    def pending(xp: Any) -> Any:
        a = xp.arange(5)
        a[(a + 1) % 5] = a * 10
        return a

    def windows(xp: Any) -> Any:
        a = xp.arange(10)
        a[2:][xp.asarray([3, 0, 5])] = a[:6:2]
        b = a[xp.asarray([1, 1])]
        a[...] = 0
        return a, b

    for body in (itself, pending, windows):
        same(body)


@pytest.mark.parametrize("name", ["own", "tiny-gpu"])
def test_hostile_indices(name: str) -> None:
    """Numbers that overflow any smaller type."""
    with policy_in_force(name):
        a = clarray.arange(10)
        for far in (2**32, 2**62, -(2**63), 2**63 - 1, -(2**32)):
            for key in (clarray.array([1, far]), clarray.array([far] * 9)):
                with pytest.raises(IndexError):
                    a[key]
            host = np.array([far, 3])
            # NumPy's take wraps round by one length at a time: far ones would keep it for years
            expected = {"wrap": [far % 10, 3], "clip": [9 if far > 0 else 0, 3]}
            for mode, wanted in expected.items():
                assert clarray.take(a, host, mode=mode).tolist() == wanted


def test_dtypes(dtype: str) -> None:
    values = (np.arange(40) % 23).astype(dtype)
    indices = np.array([3, 39, 0, -40, 7])
    a = clarray.array(values)
    np.testing.assert_array_equal(a[indices].get(), values[indices])
    np.testing.assert_array_equal(a.reshape(4, 10)[[1, -1]].get(), values.reshape(4, 10)[[1, -1]])
    a[indices] = clarray.array(values[:5])
    values[indices] = values[:5].copy()
    np.testing.assert_array_equal(a.get(), values)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(same: Any, axis: Any, mode: str) -> None:
    same(lambda xp: xp.take(xp.array(HOST), xp.asarray(I), axis, mode=mode))
    same(lambda xp: xp.take(xp.array(HOST).T, xp.asarray(I * 20), axis, mode=mode))
    same(lambda xp: xp.array(HOST).take(1, axis, mode=mode))
    same(lambda xp: xp.array(HOST)[:, ::2].take([[], []], axis, mode=mode))

    def into(xp: Any) -> Any:
        wanted = np.take(HOST, I, axis, mode="clip").shape
        out = xp.zeros(wanted, np.float32)
        assert xp.take(xp.array(HOST), I, axis, out, mode) is out
        return out

    same(into)


def test_take_errors(same: Any) -> None:
    same(lambda xp: xp.take(xp.zeros((0, 3)), [0], 0))
    same(lambda xp: xp.take(xp.zeros((0, 3)), [], 0))
    same(lambda xp: xp.take(xp.zeros(3), xp.asarray([0.5])))
    same(lambda xp: xp.take(xp.zeros(3), [True, False]))
    same(lambda xp: xp.take(xp.zeros(3), [0], 1))
    same(lambda xp: xp.take(xp.zeros(3), [0], out=xp.zeros(3)), message=False)
    same(lambda xp: xp.take(xp.zeros(3), [0], mode="none"), message=False)
    same(lambda xp: xp.take(xp.asarray(3), [0, 0]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_along_axis(same: Any, axis: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(HOST)
        i = xp.asarray([1, 2]) if axis is None else xp.argmax(a, axis=axis, keepdims=True)
        found = xp.take_along_axis(a, i, axis)
        xp.put_along_axis(a, i, 99, axis)
        return found, a

    same(body)


def test_along_axis_errors(same: Any) -> None:
    same(lambda xp: xp.take_along_axis(xp.array(HOST), xp.zeros((3, 4, 2), int) - 4, 1))
    same(lambda xp: xp.take_along_axis(xp.array(HOST), xp.zeros((3, 4), int), 1))
    same(lambda xp: xp.take_along_axis(xp.array(HOST), xp.zeros((3, 2, 5), int) + 9, 1))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_put(same: Any, mode: str) -> None:
    for where in ([0, 3, -1, 0], [100], [], 3):

        def body(xp: Any, where: Any = where) -> Any:
            a = xp.array(HOST)[:, ::2]
            xp.put(a, where, [7, 8, 9], mode=mode)
            return a

        same(body)


@pytest.mark.optimized
def test_threads() -> None:
    values = np.random.default_rng(1).random(5000, dtype=np.float32)
    indices = np.random.default_rng(2).integers(0, 5000, 7000)
    a, i = clarray.array(values), clarray.array(indices)
    wrong: list[int] = []

    def work() -> None:
        for _ in range(5):
            if not np.array_equal(a[i].get(), values[indices]):
                wrong.append(1)
            try:
                a[i + 5000]
            except IndexError:
                continue
            wrong.append(2)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.optimized
def test_any_key(data: st.DataObject) -> None:
    """Arrays between slices, against NumPy, read and written."""
    host = np.arange(120).reshape(4, 5, 6)
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    shape = data.draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
    key: list[Any] = []
    for extent in host.shape:
        kind = data.draw(st.sampled_from(["array", "slice", "mask", "number"]))
        if kind == "array":
            key.append(random.integers(-extent, extent, shape))
        elif kind == "slice":
            key.append(slice(*sorted(random.integers(0, extent + 1, 2))))
        elif kind == "number":
            key.append(int(random.integers(-extent, extent)))
        else:
            key.append(random.random(extent) < 0.5)
    with policy_in_force(data.draw(st.sampled_from(["own", "tiny-gpu"]))):
        ours = clarray.array(host)
        try:
            expected = host[tuple(key)]
        except IndexError:
            with pytest.raises(IndexError):
                ours[tuple(key)]
            return
        found = ours[tuple(key)]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(clarray.asnumpy(found), expected)
        host = host.copy()
        host[tuple(key)] = -np.arange(expected.size).reshape(expected.shape)
        ours[tuple(key)] = -clarray.arange(expected.size).reshape(expected.shape)
        np.testing.assert_array_equal(ours.get(), host)


@pytest.mark.parametrize("row", ["own", "gpu"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_numbers_of_elements_that_are_not_there(shape: tuple[int, ...], row: str) -> None:
    """An extent of 0 takes no number, on any path: what the kernels divide by it is never asked for."""
    host = np.zeros(shape, "float32")

    def write(xp: Any, key: Any) -> Any:
        made = xp.array(host)
        made[key] = 7
        return made

    with policy_in_force(row):
        for number in ([0], [-1], [[0, 0]], []):
            key = np.array(number, dtype=np.int64)
            for body in (
                lambda xp, key=key: xp.array(host)[xp.asarray(key)],
                lambda xp, key=key: xp.array(host)[..., xp.asarray(key)],
                lambda xp, key=key: xp.take(xp.array(host), xp.asarray(key)),
                lambda xp, key=key: xp.take(xp.array(host), xp.asarray(key), axis=-1, mode="raise"),
                lambda xp, key=key: write(xp, xp.asarray(key)),
                lambda xp, key=key: write(xp, (..., xp.asarray(key))),
            ):
                check_same(body, message=False)
