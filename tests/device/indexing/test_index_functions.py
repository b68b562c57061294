"""Functions of indices: choose and select, diagonals, tables of indices, grids, a.flat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.usefixtures("quick_builds")

A = np.arange(12, dtype=np.int32).reshape(3, 4)
F = A.astype(np.float32)
I = np.array([[0, 3, 1], [2, 0, 1]])  # noqa: E741


def made(xp: Any, host: np.ndarray = A) -> Any:
    """An array whose elements do not lie in C order."""
    return xp.array(host.T.copy()).T


CALLS: dict[str, Callable[[Any], Any]] = {
    "choose": lambda xp: xp.choose(xp.asarray(I), [A[:2, :3].astype(np.int8), xp.asarray(F[0, :3]), 7, F[:2, 1:]]),
    "choose, method": lambda xp: xp.asarray(I).choose(xp.asarray(np.stack([F[:2, :3]] * 4))),
    "choose, raise": lambda xp: xp.choose(xp.asarray(I), [1, 2, 3]),
    "choose, wrap": lambda xp: xp.choose(xp.asarray(I - 2), [F[:2, :3], 2.5, 3], mode="wrap"),
    "choose, clip": lambda xp: xp.choose(xp.asarray(I - 2), [F[:2, :3], 2, 3], mode="clip"),
    "choose, out": lambda xp: xp.choose(xp.asarray(I), [1, 2, 3, 4], out=xp.zeros((2, 3), np.int64)),
    "choose, one": lambda xp: xp.choose(xp.asarray(I * 0), [5]),
    "choose, floats": lambda xp: xp.choose(xp.asarray(F), [1, 2]),
    "choose, none": lambda xp: xp.choose(xp.asarray(I), []),
    "choose, mode": lambda xp: xp.choose(xp.asarray(I), [1, 2], mode="none"),
    "choose, small out": lambda xp: xp.choose(xp.asarray(I), [1, 2, 3, 4], out=xp.zeros(3, int)),
    "select": lambda xp: xp.select([xp.asarray(F) > 8, xp.asarray(F) > 3], [xp.asarray(F), -F], 1),
    "select, broadcast": lambda xp: xp.select([xp.asarray(A) > 5, True], [F[0], xp.asarray(A[:, :1].astype(np.int16))]),
    "select, ints": lambda xp: xp.select([xp.asarray(A) % 2 == 0], [np.int8(3)], 2),
    "select, of nothing": lambda xp: xp.select([xp.asarray(A)[:0] > 5], [xp.asarray(A)[:0]], 2**70),
    "select, ints beside uint8": lambda xp: xp.select(
        [xp.asarray(A) > 5] * 2, [xp.asarray(A.astype(np.uint8)), 3], True
    ),
    "select, an int for bools": lambda xp: xp.select([xp.asarray(A) > 5], [xp.asarray(A) > 2], 3),
    "select, a float for ints": lambda xp: xp.select([xp.asarray(A) > 5], [2.5], xp.asarray(A.astype(np.int8))),
    "select, lengths": lambda xp: xp.select([xp.asarray(A) > 5], [1, 2]),
    "select, nothing": lambda xp: xp.select([], []),
    "select, no bools": lambda xp: xp.select([xp.asarray(A)], [1]),
    "diag": lambda xp: [xp.diag(xp.asarray(F[0]), k) for k in (0, -2, 1)],
    "diag of a matrix": lambda xp: [xp.diag(made(xp), k) for k in (0, -1, 2, 9)],
    "diag of no matrix": lambda xp: xp.diag(xp.zeros((2, 2, 2), np.int8)),
    "diagflat": lambda xp: xp.diagflat(made(xp, I), 1),
    "diagonal": lambda xp: [xp.asarray(A).diagonal(1), xp.diagonal(made(xp).reshape(1, 3, 4), -1, 2, 1)],
    "ix_": lambda xp: xp.ix_(xp.asarray([True, False, True]), [1, 2, 0], xp.asarray([], dtype=np.int64)),
    "ix_ as a key": lambda xp: xp.asarray(A)[xp.ix_([2, 0], xp.asarray([True, False, True, True]))],
    "ix_, axes": lambda xp: xp.ix_([[1]]),
    "indices": lambda xp: [xp.indices((2, 3)), xp.indices((3, 1, 2), np.float32), xp.indices(())],
    "indices, sparse": lambda xp: xp.indices((2, 0, 3), np.int16, sparse=True),
    "indices, negative": lambda xp: xp.indices((2, -1)),
    "unravel_index": lambda xp: [xp.unravel_index(xp.asarray(I), (2, 1, 4, 1), o) for o in "CF"],
    "unravel_index of a number": lambda xp: xp.unravel_index(xp.asarray(5, dtype=np.uint8), 6),
    "unravel_index, nothing": lambda xp: xp.unravel_index(xp.asarray(I[:0]), (2, 0)),
    "unravel_index, no axes": lambda xp: xp.unravel_index(xp.asarray(0), ()),
    "unravel_index, too far": lambda xp: xp.unravel_index(xp.asarray(I), (3,)),
    "unravel_index, negative": lambda xp: xp.unravel_index(xp.asarray(I - 1), (3, 4)),
    "unravel_index, floats": lambda xp: xp.unravel_index(xp.asarray(F), (3, 4)),
    "unravel_index, order": lambda xp: xp.unravel_index(xp.asarray(I), (3, 4), "K"),
    "ravel_multi_index": lambda xp: [
        xp.ravel_multi_index((xp.asarray(I), xp.asarray(I[:, :1])), (4, 3), order=o) for o in "CF"
    ],
    "ravel_multi_index, modes": lambda xp: [
        xp.ravel_multi_index((xp.asarray(I - 2), xp.asarray(I * 3)), (3, 5), m)
        for m in ("wrap", "clip", ("clip", "wrap"))
    ],
    "ravel_multi_index, too far": lambda xp: xp.ravel_multi_index((xp.asarray(I), xp.asarray(I)), (4, 3)),
    "ravel_multi_index, length": lambda xp: xp.ravel_multi_index((xp.asarray(I),), (4, 3)),
    "ravel_multi_index, empty": lambda xp: xp.ravel_multi_index((xp.asarray(I), xp.asarray(I)), (4, 0), "wrap"),
    "ravel_multi_index, large": lambda xp: xp.ravel_multi_index((xp.asarray(I),) * 2, (2**40, 2**30)),
    "ravel_multi_index, shapes": lambda xp: xp.ravel_multi_index((xp.asarray(I), xp.asarray([0, 1])), (4, 3)),
    "tril_indices": lambda xp: [xp.tril_indices(3), xp.tril_indices(4, -1, 2), xp.tril_indices(0)],
    "triu_indices": lambda xp: [xp.triu_indices(3, 1), xp.triu_indices(2, -1, 4)],
    "triangles of": lambda xp: [xp.tril_indices_from(xp.asarray(A), 1), xp.triu_indices_from(xp.asarray(A), 1)],
    "triangles of no matrix": lambda xp: xp.triu_indices_from(xp.asarray(A[0])),
    "mask_indices": lambda xp: xp.mask_indices(3, xp.triu, 1),
    "diag_indices": lambda xp: [xp.diag_indices(3), xp.diag_indices_from(xp.zeros((2, 2, 2), np.int8))],
    "diag_indices, lengths": lambda xp: xp.diag_indices_from(xp.zeros((2, 3), np.int8)),
    "diag_indices, axes": lambda xp: xp.diag_indices_from(xp.zeros(2, np.int8)),
    "mgrid": lambda xp: [xp.mgrid[0:3, 5:1:-2], xp.mgrid[2:7:2], xp.mgrid[0:0, :2], xp.mgrid[()]],
    "mgrid of float32": lambda xp: xp.mgrid[np.float32(0) : 1 : np.float32(0.25), 0:2],
    "ogrid": lambda xp: [xp.ogrid[0:3, -2:2], xp.ogrid[1:4]],
    "r_": lambda xp: [xp.r_[1:4, xp.asarray(A[0]), 0], xp.r_["-1", xp.asarray(F), xp.asarray(F)]],
    "r_, weak": lambda xp: [xp.r_[xp.asarray(F[0]), 2, 0.5], xp.r_[np.int8(1), 3], xp.r_[5]],
    "r_, places": lambda xp: [xp.r_[how, [1, 2], 3:5] for how in ("0,2", "0,2,0", "1,2,0", "-1,3,-2", "0,3,1")],
    "r_, directive": lambda xp: xp.r_[1, "0", 2],
    "r_, nothing": lambda xp: xp.r_[()],
    "c_": lambda xp: [xp.c_[[1, 2], xp.asarray([[3], [4]])], xp.c_[1:3, 5:7], xp.c_[xp.asarray(A), A]],
    "ndenumerate": lambda xp: list(xp.ndenumerate(made(xp, A[:2, :2]))),
    "ndindex": lambda xp: [*xp.ndindex(2, 2), xp.s_[1:, ...], xp.index_exp[2]],
    "take, out": lambda xp: xp.take(xp.asarray(F), xp.asarray(I), 1, xp.zeros((3, 2, 3), np.float32), "clip"),
    "triu of what has no axes": lambda xp: xp.triu(xp.asarray(3)),
}
NO_MESSAGE = {"choose, small out", "triu of what has no axes"}


@pytest.mark.parametrize("name", CALLS)
def test_call(same: Any, name: str) -> None:
    same(CALLS[name], name not in NO_MESSAGE)


def test_grids_of_floats(same: Any) -> None:
    if not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")
    same(lambda xp: [xp.mgrid[0:1:5j], xp.mgrid[0:3, 1:2:3j], xp.ogrid[-1:1:4j, 0:2], xp.r_[0:1:5j, 3]])
    same(lambda xp: [xp.mgrid[0:3.0:0.5, 1:2], xp.mgrid[0:1:1j]])


@pytest.mark.parametrize(
    ("shape", "value", "wrap"),
    [
        ((3, 3), 5, False),
        ((7, 2), [1, 2, 3], False),
        ((7, 2), [1, 2, 3], True),
        ((2, 5), F[0], False),
        ((2, 2, 2), 4, False),
        ((3, 3), [], False),
        ((0, 2), 1, False),
        ((4,), 1, False),
        ((2, 3, 2), 1, False),
    ],
)
def test_fill_diagonal(same: Any, shape: tuple[int, ...], value: Any, wrap: bool) -> None:
    def body(xp: Any) -> Any:
        a, b = xp.zeros(shape, np.float32), xp.zeros(shape[::-1], np.int32)
        xp.fill_diagonal(a, value, wrap)
        xp.fill_diagonal(b.T if a.ndim == 2 else b, xp.asarray(value, dtype=np.int32), wrap=wrap)
        return a, b

    same(body)


FLAT_KEYS: dict[str, Any] = {
    "integer": -2,
    "slice": slice(1, None, 3),
    "backwards": slice(None, None, -2),
    "everything": ...,
    "list": [0, 5, -1, 0],
    "array": I,
    "nothing": [],
    "in a tuple": (3,),
    "mask": np.arange(12) % 5 == 0,
    "too far": 12,
    "array too far": np.array([0, -13]),
    "two": (1, 2),
    "new axis": None,
    "text": "x",
    "wrong mask": np.array([True]),
}


@pytest.mark.parametrize("name", FLAT_KEYS)
def test_flat(same: Any, name: str) -> None:
    key = FLAT_KEYS[name]
    message = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
    same(lambda xp: made(xp).flat[key], message)

    def written(xp: Any, value: Any) -> Any:
        a = made(xp)
        a.flat[key] = value
        return a

    same(lambda xp: written(xp, 99), message)
    same(lambda xp: written(xp, [-1, -2, -3]), message)


def test_flat_as_a_whole(same: Any) -> None:
    def body(xp: Any) -> Any:
        a, b, c = made(xp), xp.zeros((2, 3), np.float32), xp.zeros((), np.float32)
        found = a.flat
        first, second = next(found), next(found)
        b.flat = [1, 2, 3, 4]
        c.flat = 5.0
        a.T.flat[2:9] = a.flat[:5]
        state = (found.index, found.coords, len(found), found.base is a)
        return a, b, c, first, second, state, list(b.flat), a.flat.copy(), a.flat == 3, a.flat < 3

    same(body)
    np.testing.assert_array_equal(np.asarray(made(clarray).flat), A.ravel())


def test_the_diagonal_is_a_view() -> None:
    a = clarray.array(A)
    d = clarray.diagonal(a)
    a[1, 1] = 50
    assert d.tolist() == [0, 50, 10]
    with pytest.raises(ValueError, match="read-only"):
        d[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        d += 1
    assert (d + 1).tolist() == [1, 51, 11]


def test_methods(same: Any) -> None:
    def body(xp: Any) -> Any:
        a = made(xp)
        a.put([1, -1, 40], [7, 8, 9], mode="wrap")
        a.put(xp.asarray(I), -1)
        return a, a.take([1, 0], 1), a.item(2, 1), a.item(-1), hasattr(a, "itemset")

    same(body)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32", "float64", "complex64"])
def test_take_into_another_dtype(same: Any, mode: str, dtype: str) -> None:
    """Of what is converted, or refused, nothing is written as it lies."""
    x, i = np.arange(40, dtype=np.float32).reshape(8, 5) - 7, np.array([7, 0, 3, 3])

    def body(xp: Any) -> Any:
        frame = xp.full((6, 5), 99, dtype)
        xp.take(xp.asarray(x), xp.asarray(i), axis=0, out=frame[1:5], mode=mode)
        return frame

    same(body, message=False)
