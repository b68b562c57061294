"""Keys of every kind against NumPy: read, written and updated in place, with the same errors and messages."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clarray
from clarray._engine.launch.host_tier import kernels_only

from ..conftest import check_same, policy_changed, policy_in_force

pytestmark = pytest.mark.usefixtures("quick_builds")

HOST = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
COLUMN = np.array([[2], [0], [-1]])
ROW = np.array([1, -4])
NOTHING = np.array([], int)
ALL = slice(None)
MASK = np.arange(12).reshape(3, 4) % 3 == 0


class Foreign:
    """An array of another library: it has `__index__`, which refuses unless there is one element."""

    def __init__(self, *values: Any) -> None:
        self.array = np.array(values)
        self.dtype, self.ndim = self.array.dtype, self.array.ndim

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array

    def __index__(self) -> int:
        if self.array.size != 1:
            raise TypeError("only arrays of one element are integers")
        return int(self.array[0])


KEYS: dict[str, Any] = {
    "open grid": (COLUMN, ROW),
    "open grid, last axis": (COLUMN, ALL, ROW),
    "three arrays": (COLUMN, ROW, np.array([[4, 0]])),
    "integer between": (COLUMN, 1, ROW),
    "integer apart": (0, ALL, ROW),
    "array and integer": (ROW % 3, 2, ALL),
    "0-d array": (np.array(1), ROW),
    "newaxis between arrays": (COLUMN, None, ROW),
    "newaxis before": (None, ROW, 0),
    "negative step": (slice(None, None, -1), ROW, slice(None, None, -2)),
    "nested list": [[0, 1], [2, -1]],
    "list and slice": ([0, 2], slice(1, 3)),
    "nothing": NOTHING,
    "nothing twice": (NOTHING, NOTHING),
    "nothing and out of bounds": (NOTHING, np.array([9])),
    "bool and array": (True, ROW),
    "two bools": (True, np.True_),
    "bool between": (ROW, False, ALL),
    "masks apart": (np.array([True, False, True]), ALL, np.array([1, 0, 1, 0, 0], bool)),
    "plane mask and mask": (MASK, np.arange(5) < 4),
    "mask and list": (ALL, np.array([True, False, True, False]), [0, 4]),
    "empty mask": np.zeros((3, 0), bool),
    "uint64": np.array([2, 2**64 - 1], np.uint64),
    "range": (range(2), ...),
    "repeated": np.array([0, 0, 1, 0]),
    "out of bounds": (COLUMN, np.array([1, 4])),
    "out of bounds for nothing": (slice(0, 0), np.array([-5])),
    "integer out of bounds": (3, ROW),
    "integer out of bounds beside nothing": (NOTHING, -5),
    "shapes": (COLUMN, np.array([0, 1, 2, 3])[:, None], ROW),
    "shapes with a mask": (MASK, np.array([1, 2, 3])),
    "too many": (0, 0, 0, ROW),
    "two ellipses": (..., ROW, ...),
    "floats": [0.0],
    "text": "x",
    "ragged": [[0, 1], [2]],
    "slice of floats": (slice(0, 1.5), ROW),
    "wrong mask": (ALL, np.array([True, False, True])),
    "wrong plane mask": MASK.T,
    "foreign array": (Foreign(2, 0), slice(1, 3)),
    "foreign mask": (0, Foreign(True, False, False, True)),
    "foreign integer": (Foreign(1), ROW),
    "foreign floats": (0, Foreign(0.0, 1.0)),
}
ON_DEVICE = ("open grid", "three arrays", "masks apart", "out of bounds", "mask and list", "repeated")


def key_of(xp: Any, name: str) -> Any:
    key = KEYS[name]
    if name not in ON_DEVICE:
        return key
    if isinstance(key, tuple):
        return tuple(xp.asarray(k) if isinstance(k, np.ndarray) else k for k in key)
    return xp.asarray(key)


@pytest.mark.parametrize("name", KEYS)
def test_key(same: Any, name: str) -> None:
    same(lambda xp: xp.array(HOST)[key_of(xp, name)])
    same(lambda xp: xp.array(HOST).T[::-1].T[key_of(xp, name)])

    def written(xp: Any) -> Any:
        a = xp.array(HOST)
        a[key_of(xp, name)] = -1
        return a

    def in_place(xp: Any) -> Any:
        a = xp.array(HOST)
        a[key_of(xp, name)] += 100
        return a

    def at(xp: Any) -> Any:
        a = xp.array(HOST)
        np.add.at(a, key_of(xp, name), 100)
        return a

    def values(xp: Any) -> Any:
        a = xp.array(HOST)[:, ::-1]
        a[key_of(xp, name)] = -np.arange(HOST[KEYS[name]].size).reshape(HOST[KEYS[name]].shape)
        return a

    for body in (written, in_place, at, values):
        same(body)


VALUES: dict[str, Any] = {
    "element and list": ((0, 0, 0), [1]),
    "element and array": ((0, 0, 0), np.zeros(1, np.int16)),
    "element, negative, and text": ((-1, 0, 0), "7"),
    "element and complex": ((0, 0, 0), 1j),
    "array too long": (ROW % 3, [1, 2, 3]),
    "array too long before bounds": (np.array([9, 1]), [1, 2, 3]),
    "one more axis": (ROW % 3, np.ones((1, 2, 4, 5), np.int8)),
    "True": (True, [1, 2, 3, 4, 5]),
    "True, too long": (True, [1, 2, 3]),
    "False, too long": (False, [1, 2, 3]),
    "mask, too many": (HOST > 40, np.arange(5)),
    "mask, one by one": (HOST > 55, [5, 6, 7, 8]),
    "mask, of two axes": (HOST > 40, [[1]]),
    "mask of rows, too many": (np.array([True, False, True]), np.zeros((3, 4, 5), np.int16)),
    "mask of rows, broadcast": (np.array([True, False, True]), [[1], [2], [3], [4]]),
}


@pytest.mark.parametrize("name", VALUES)
def test_value(same: Any, name: str) -> None:
    key, value = VALUES[name]

    def written(xp: Any) -> Any:
        a = xp.array(HOST)
        a[key] = value
        return a

    same(written)


def test_nothing_is_written_before_an_error() -> None:
    for policy in ("own", "tiny-cpu", "tiny-gpu"):
        with policy_in_force(policy):
            a = clarray.array(HOST)
            for key in ("out of bounds", "integer out of bounds"):
                for value in (1, np.arange(5)):
                    with pytest.raises(IndexError):
                        a[key_of(clarray, key)] = value
                with pytest.raises(IndexError):
                    np.add.at(a, key_of(clarray, key), 1)
            np.testing.assert_array_equal(a.get(), HOST)


@pytest.mark.parametrize("policy", ["own", "tiny-cpu", "tiny-gpu"])
def test_the_last_of_repeated_indices_stays(same: Any, policy: str) -> None:
    random = np.random.default_rng(5)
    rows, columns = random.integers(-7, 7, (2, 40, 1)), random.integers(-9, 9, 50)
    values = random.integers(0, 10**6, (2, 40, 50))

    def body(xp: Any) -> Any:
        a = xp.zeros((7, 9), int)
        a[xp.asarray(rows[0]), xp.asarray(columns)] = xp.asarray(values[0])
        b = xp.zeros((2, 9, 7), int)
        b.transpose(2, 0, 1)[xp.asarray(rows[1]), :, xp.asarray(columns)] = xp.asarray(values.transpose(1, 2, 0))
        c = xp.zeros((9, 4), np.int16)  # rows of 8 bytes
        c[xp.asarray(columns)] = xp.asarray(values[0, :4].T.astype(np.int16))
        return a, b, c

    with policy_in_force(policy):
        same(body)


@pytest.mark.parametrize("numbers", ["rising", "falling late", "repeating late", "out of bounds late", "negative"])
def test_numbers_that_rise(same: Any, numbers: str) -> None:
    """Long lists are looked at before a GPU writes; here those of more than eight numbers are long."""
    given = np.arange(0, 200, 3)
    given[-2:] = {
        "falling late": [150, 149],
        "repeating late": [30, 30],
        "out of bounds late": [198, 400],
        "negative": [-2, -1],
    }.get(numbers, [197, 199])

    def body(xp: Any) -> Any:
        a = xp.zeros((200, 2), np.float32)
        a[:, 0][xp.asarray(given)] = xp.asarray(np.arange(len(given), dtype=np.float32))
        a[xp.asarray(given)] += xp.asarray([[1, 2]], dtype=np.float32)
        return a

    with policy_in_force("tiny-gpu"), policy_changed("gather", long=8):
        same(body)


def test_positions_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a list of more than 2**31 indices takes, here one of more than seven."""
    monkeypatch.setattr("clarray._engine.algorithms.gather.launch.MAX_UINT_POSITION", 7)
    monkeypatch.setattr("clarray._engine.algorithms.gather.plan.MAX_UINT_POSITION", 7)
    host, numbers = np.zeros((9, 2), np.int64), np.random.default_rng(3).integers(-9, 9, 500)
    values = np.arange(1000).reshape(500, 2)
    host[numbers] = values
    with policy_in_force("tiny-gpu"):
        a = clarray.zeros((9, 2), np.int64)
        if not a.device.capabilities.int64_atomics:
            with pytest.raises(NotImplementedError, match="64-bit atomic"):
                a[clarray.array(numbers)] = clarray.array(values)
            return
        a[clarray.array(numbers)] = clarray.array(values)
    np.testing.assert_array_equal(a.get(), host)


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16])
def test_rows_of_any_width(policy: str, itemsize: int) -> None:
    """Rows are moved in the widest words that fit, from wherever they begin."""
    dtype = {1: "u1", 2: "f2", 4: "f4", 8: "f8", 16: "c16"}[itemsize]
    if itemsize > 4 and not clarray._engine.runtime.current_device().capabilities.fp64:
        dtype = {8: "c8", 16: "c8"}[itemsize]
    numbers = np.array([3, 0, -1, 3])
    with policy_in_force(policy):
        for first, width in ((0, 16), (1, 16), (4, 12), (2, 6), (3, 5)):
            host = (np.arange(5 * 24) % 100).astype(dtype).reshape(5, 24)[:, first : first + width]
            ours = clarray.array(host.base.reshape(5, 24))[:, first : first + width]
            np.testing.assert_array_equal(ours[numbers].get(), host[numbers])
            copy = host.copy()
            copy[numbers] = host[:4]
            target = ours[...]
            target[numbers] = clarray.array(host[:4])
            np.testing.assert_array_equal(target.get(), copy)


def test_pending_keys_and_values(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.array(HOST).reshape(12, 5)
        i = xp.asarray(np.array([3, 1, 4, 1, 5]))
        total = a.sum()
        found = (a * 2)[i * 2 + 1, (i - 1) % 5]
        a[i + 6] = a[i] * xp.asarray([[1], [2], [3], [4], [5]])
        a[(a % 7 == 3)] = 0
        a[a[0, 1:3] + 2, 4] += i[:2]
        return a, found, total

    same(body)


def test_targets_and_values_that_overlap(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = xp.arange(24)
        a[a[:6][::-1] * 2] = a[3:9]
        b = a.reshape(4, 6)
        b[xp.asarray([[0], [3]]), xp.asarray([1, 5])] = b[1:3, ::3]
        b.T[b[0, :2] % 4] = b.T[2:4]
        return a, b

    same(body)


def test_read_only_targets(same: Any) -> None:
    def windows(xp: Any) -> list[Any]:
        a = xp.array(HOST)
        return [xp.broadcast_to(a[0, 0], (4, 5)), xp.diagonal(a), a.diagonal()[1:]]

    for number in range(3):
        for key in (0, ROW, np.array([True, False, True, False])[: 4 if number == 0 else 2]):

            def body(xp: Any, number: int = number, key: Any = key) -> None:
                windows(xp)[number][key] = 1

            same(body)


@pytest.mark.parametrize(
    "key", ["i", "j", "u", "i, 2", "1, j", "i, u", "j, 1:", "..., i", "None, i", "o", "1, o", "b", "b, 1", "f"]
)
def test_numbers_that_were_read_are_integers_of_a_key(key: str) -> None:
    def run(xp: Any) -> Any:
        a = xp.arange(20).reshape(4, 5)
        numbers = xp.array([2, -1, 7])
        names = dict(zip("ijo", numbers, strict=True), u=xp.array([3], "uint8")[0], b=xp.array([True])[0])
        names |= {"f": xp.array([1.0])[0], "a": a, "numbers": numbers}
        try:
            found = eval(f"a[{key}]", names)
            exec(f"a[{key}] += 100; numbers[0] = 0; a[{key}] = 7", names)
        except IndexError:
            return None
        return found, a

    ours, theirs = run(clarray), run(np)
    assert (ours is None) is (theirs is None)
    for one, other in zip(ours or (), theirs or (), strict=True):
        np.testing.assert_array_equal(clarray.asnumpy(one), other)


def test_random_keys() -> None:
    """Few programs, many keys: arrays, slices, integers, masks and new axes in any order."""

    @settings(max_examples=60)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        shape = data.draw(st.sampled_from([(), (2,), (3, 1), (0,)]))
        key: list[Any] = []
        for extent in HOST.shape:
            kind = data.draw(st.sampled_from(["array", "slice", "mask", "number", "new", "stop"]))
            if kind == "stop":
                break
            if kind == "new":
                key.append(data.draw(st.sampled_from([None, True])))
            key.append(
                {
                    "slice": slice(None, None, int(random.choice([-2, 1]))),
                    "mask": random.random(extent) < 0.5,
                    "number": int(random.integers(-extent, extent)),
                }.get(kind, random.integers(-extent, extent + (random.random() < 0.1), shape))
            )

        def written(xp: Any) -> Any:
            a = xp.array(HOST)
            a[tuple(key)] = a[tuple(key)] * 2 + 1
            return a

        check_same(written)
        check_same(lambda xp: xp.array(HOST)[tuple(key)] if any(map(np.ndim, key)) else xp.array(HOST))

    run()


PARTS = {
    "list": np.array([0, -1]),
    "column": np.array([[0], [1]]),
    "none": NOTHING,
    "all": ALL,
    "last": slice(-1, None),
}


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (0, 0), (0, 3, 2), (3, 0, 2)], ids=str)
@pytest.mark.parametrize("policy", ["own", "gpu"])
def test_axes_of_no_elements(shape: tuple[int, ...], policy: str) -> None:
    """An index into nothing is refused: a kernel that is run all the same divides by the axis's length."""

    def written(xp: Any, key: Any) -> Any:
        a = xp.zeros(shape, np.float32)
        a[key] = 1
        return a

    with policy_in_force(policy), kernels_only():
        for names in product(PARTS, repeat=len(shape)):
            key = tuple(PARTS[name] for name in names)
            check_same(lambda xp, key=key: xp.zeros(shape, np.float32)[key] + 0)
            check_same(lambda xp, key=key: written(xp, key))
