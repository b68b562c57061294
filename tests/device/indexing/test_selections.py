"""What is done to a selection by a mask while its size is not known: the same as to an array of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..closeness import outcome
from ..conftest import check_same
from ..whole.test_every_function import (
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    NO_CALL,
    NO_METHOD,
    SHARED_METHODS,
    check_results,
    fresh,
    sample,
)

pytestmark = pytest.mark.usefixtures("quick_builds")

# Which of equal elements comes first, and in which order a partition leaves the others, is NumPy's own affair.
TIES = {"argpartition", "argsort", "partition"}
HOST = (np.arange(18) * 5 % 13).astype("int8").reshape(3, 6)


class Selections:
    """Makes the arrays of a call pending selections, all or the one of a number; those of one size have one mask."""

    def __init__(self, only: int | None) -> None:
        self.only = only
        self.number = 0
        self.masks: dict[int, Any] = {}

    def given(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            self.number += 1
            chosen = self.only is None or self.number == self.only
            return self.selected(value) if chosen else clarray.array(value)
        return type(value)(map(self.given, value)) if type(value) in (tuple, list) else value

    def selected(self, value: np.ndarray) -> Any:
        wide = np.repeat(value, 2)[: 2 * value.size - 1]
        mask = self.masks.setdefault(value.size, clarray.array(np.arange(wide.size) % 2 == 0))
        return clarray.array(wide)[mask]


def flat(value: Any) -> Any:
    """Arguments whose arrays have one axis, as selections do."""
    if isinstance(value, np.ndarray):
        return value.ravel()
    return type(value)(map(flat, value)) if type(value) in (tuple, list) else value


def count(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return 1
    return sum(map(count, value)) if type(value) in (tuple, list) else 0


def check_call(ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    number = count(args)
    for only in {None, *range(1, number + 1 if number > 1 else 1)} if number else ():
        expected = flat(fresh(args))
        given = Selections(only).given(expected)
        wanted, failure = outcome(theirs, expected, kwargs)
        found, error = outcome(ours, given, kwargs)
        if "cl_khr_fp64" in str(error):
            continue
        if failure is not None:
            assert isinstance(error, type(failure)), f"{error!r} instead of {failure!r}"
            continue
        if error is not None:
            raise error
        check_results(found, wanted, given, expected)


@pytest.mark.filterwarnings("ignore")  # each NumPy has its own
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not {name} & (NO_CALL.keys() | TIES)])
def test_function(name: str) -> None:
    check_call(getattr(clarray, name), getattr(np, name), sample(name), KEYWORDS.get(name, {}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SHARED_METHODS if not {name} & (NO_METHOD.keys() | TIES)])
def test_method(name: str) -> None:
    array = np.sort(HOST.ravel()) if name == "searchsorted" else HOST.ravel()
    array = array % 2 if name == "choose" else array
    args = METHODS.get(name, ())
    check_call(getattr(clarray.DeviceArray, name), getattr(np.ndarray, name), (array, *args), {})


# Operands of every shape --------------------------------------------------------------------------

KEPT = 8  # elements that the mask below selects
MASK = HOST > 6
assert np.count_nonzero(MASK) == KEPT

OPERANDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "the same mask's": lambda xp, a, m: (a + 1)[m],
    "another mask's": lambda xp, a, m: a[~m][:KEPT],
    "another mask's, pending": lambda xp, a, m: (a + 1)[xp.array(MASK)],
    "another mask's, of another size": lambda xp, a, m: a[~m],
    "itself, selected again": lambda xp, a, m: a[m][a[m] > 8],
    "array": lambda xp, a, m: xp.arange(KEPT, dtype="int8"),
    "array of the size before": lambda xp, a, m: xp.arange(18, dtype="int8"),
    "the array before": lambda xp, a, m: a,
    "a row": lambda xp, a, m: xp.arange(6, dtype="int8"),
    "a column": lambda xp, a, m: xp.arange(KEPT, dtype="int8")[:, None],
    "one": lambda xp, a, m: xp.array([3], dtype="int8"),
    "0-d": lambda xp, a, m: xp.array(3, dtype="int8"),
    "pending 0-d": lambda xp, a, m: a[m].max(),
    "none": lambda xp, a, m: xp.zeros(0, "int8"),
    "an int": lambda xp, a, m: 3,
    "an int beyond": lambda xp, a, m: 300,
    "an int below": lambda xp, a, m: -300,
    "a float": lambda xp, a, m: 0.5,
    "NumPy's": lambda xp, a, m: np.arange(KEPT, dtype="int8"),
    "a list": lambda xp, a, m: list(range(KEPT)),
}


def into(xp: Any, target: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    function(*args, out=target, **kwargs)
    return target


def changed(x: Any, change: Callable[[Any], Any]) -> Any:
    change(x)
    return x


def added(x: Any, other: Any) -> Any:
    x += other
    return x


USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + y": lambda xp, x, y: x + y,
    "y + x": lambda xp, x, y: y + x,
    "x < y": lambda xp, x, y: (x < y, (x == y).sum(), y != x, (y >= x).any()),
    "x / y, sum": lambda xp, x, y: (x * y).sum(),
    "x += y": lambda xp, x, y: added(x, y),
    "x += y, copied": lambda xp, x, y: added(x + 0, y),
    "minimum out": lambda xp, x, y: into(xp, x, xp.minimum, x, y),
    "out of the selection's size": lambda xp, x, y: into(xp, xp.zeros(KEPT, "int8"), xp.minimum, x, y),
    "out of the size before": lambda xp, x, y: into(xp, xp.zeros((3, 6), "int8"), xp.minimum, x, y),
    "where=": lambda xp, x, y: into(xp, xp.zeros(KEPT, "int8"), xp.minimum, x, y, where=x > 8),
    "where": lambda xp, x, y: xp.where(x > 8, x, y),
    "where, condition": lambda xp, x, y: xp.where(xp.asarray(y) > 8, 1, x),
    "clip": lambda xp, x, y: xp.clip(x, y, 100) if not isinstance(y, float) else None,
    "divmod": lambda xp, x, y: divmod(x, xp.asarray(y) + 400),
    "power": lambda xp, x, y: x ** abs(xp.asarray(y)) if not isinstance(y, float) else None,
    "matmul": lambda xp, x, y: x @ xp.asarray(y),
    "dot": lambda xp, x, y: xp.dot(xp.asarray(y), x),
    "outer": lambda xp, x, y: np.multiply.outer(x, y),
    "concatenate": lambda xp, x, y: xp.concatenate([x, xp.ravel(y)]),
    "stack": lambda xp, x, y: xp.stack([x, xp.asarray(y)]),
    "x[:] = y": lambda xp, x, y: changed(x, lambda x: x.__setitem__(slice(None), xp.asarray(y))),
    "y[...] = x": lambda xp, x, y: changed(xp.array(y), lambda z: z.__setitem__(..., x)),
    "z[m] = y": lambda xp, x, y: changed(
        xp.zeros((3, 6), "int8"), lambda z: z.__setitem__(xp.array(MASK), xp.asarray(y).astype("int8"))
    ),
    "x[x > 7] = y": lambda xp, x, y: changed(x, lambda x: x.__setitem__(x > 7, xp.asarray(y).astype("int8"))),
    "x[x > 7] += y": lambda xp, x, y: changed(x, lambda x: x.__setitem__(x > 7, added(x[x > 7], xp.asarray(y)))),
    "x[y]": lambda xp, x, y: x[xp.asarray(y) % 5] if not isinstance(y, float) else None,
    "x[y > 3]": lambda xp, x, y: x[xp.asarray(y) > 3],
    "add.at": lambda xp, x, y: changed(xp.zeros(20, "int64"), lambda z: np.add.at(z, x, xp.asarray(y).astype("int8"))),
    "add.at of x": lambda xp, x, y: changed(x, lambda x: np.add.at(x, [0, 1, 0], xp.ravel(y)[:1].astype("int8"))),
    "broadcast": lambda xp, x, y: xp.broadcast_arrays(x, xp.asarray(y)),
    "var, mean": lambda xp, x, y: (x * (xp.asarray(y) * 0 + 1)).max(),
}


def chained(use: Any, operand: Any) -> Callable[[Any], Any]:
    def body(xp: Any) -> Any:
        a = xp.array(HOST)
        m = xp.array(MASK)
        y = operand(xp, a, m)
        return use(xp, a[m], y), a  # nothing may have changed what was selected from

    return body


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
def test_operand(use: str) -> None:
    for name, operand in OPERANDS.items():
        if name.startswith("an int ") and use == "out of the size before":
            continue  # an error of the shape and one of the value
        try:
            check_same(chained(USES[use], operand), message=False)
        except Exception as error:
            raise AssertionError(f"with {name}: {error}") from error


# One selection ------------------------------------------------------------------------------------

ALONE: dict[str, Callable[[Any, Any], Any]] = {
    "keepdims": lambda xp, x: [getattr(x, name)(keepdims=True) for name in ("sum", "max", "any", "mean", "var")],
    "axis 0": lambda xp, x: [getattr(x, name)(axis=0) for name in ("sum", "max", "any", "argmin")],
    "no axis": lambda xp, x: [getattr(x, name)(axis=()) for name in ("sum", "max", "any", "mean")],
    "where=": lambda xp, x: [x.sum(where=x > 8), x.max(where=x < 9, initial=0), x.mean(where=x > 8)],
    "where=, one": lambda xp, x: [x.sum(where=xp.array([True])), x.any(where=xp.array(False))],
    "initial=": lambda xp, x: [x.sum(initial=3), x.min(initial=1)],
    "out=": lambda xp, x: x.sum(out=xp.zeros((), "int64")),
    "axis 1": lambda xp, x: x.sum(axis=1),
    "views": lambda xp, x: [x.reshape(2, -1), x[::-2], x[1:], x.T, x[None], x.view("uint8"), x[-1], x[[0, -1]]],
    "asked": lambda xp, x: [x.shape, x.size, x.ndim, x.nbytes, len(x), x.flags.c_contiguous],
    "to the host": lambda xp, x: [x.tolist(), str(x), float(x[0]), list(map(int, x))],
    "conversions": lambda xp, x: [x.astype("float32"), x.astype("int8", copy=False), x.copy(), xp.array(x, ndmin=2)],
    "likes": lambda xp, x: [xp.zeros_like(x), xp.ones_like(x + 1), xp.full_like(x, 3)],
    "grown": lambda xp, x: [(x + 1)[(x + 1) > 8], (-x).sum(), xp.sqrt(x.astype("float32")).shape, x.cumsum()],
    "twice": lambda xp, x: [x[x > 7][x[x > 7] < 11], x[x > 7].sum()],
    "reduceat": lambda xp, x: [np.add.reduceat(x, [0, 3]), np.add.accumulate(x), np.maximum.reduce(x)],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", ALONE)
def test_alone(use: str) -> None:
    for mask in (MASK, np.zeros_like(MASK), np.ones_like(MASK)):
        check_same(lambda xp, mask=mask: ALONE[use](xp, xp.array(HOST)[xp.array(mask)]), message=False)
        check_same(lambda xp, mask=mask: ALONE[use](xp, (xp.array(HOST) + 1)[xp.array(mask)]), message=False)


def test_rows_take_what_was_selected(same: Any) -> None:
    """The elements of a selection, and not of what it was selected from, fill the rest of the axes."""

    def body(xp: Any) -> Any:
        a, row, mask = xp.zeros((3, 3), "float32"), xp.arange(3, dtype="float32"), xp.array([False, True, False])
        a[mask] = row[mask]
        b = xp.zeros((3, 3), "float32")
        b[row > 0] = row[row > 0][:, None]
        return a, b

    same(body)


# Written where they were selected -------------------------------------------------------------------

START = np.arange(7, dtype=np.float32)
M = np.array([True, False, True, True, False, False, True])


def add(x: Any, m: Any, y: Any) -> Any:
    x[m] += 1
    return x


def add_selected(x: Any, m: Any, y: Any) -> Any:
    x[m] += y[m]
    return x


def add_of_another_mask(x: Any, m: Any, y: Any) -> Any:
    x[m] += y[~m][[0, 1, 2, 0]]
    return x


def copy_compared(x: Any, m: Any, y: Any) -> Any:
    x[x > 2] = y[x > 2]
    return x


def add_compared(x: Any, m: Any, y: Any) -> Any:
    x[x > 2] += 10
    x[x > 5] -= 3
    return x


def other_constants(x: Any, m: Any, y: Any) -> Any:
    x[x > 2.0] = y[y < 4.0]
    return x


def kept(x: Any, m: Any, y: Any) -> Any:
    s = x[m]
    s += 1
    t = s * 2
    x[m] = s
    x[0] = 50
    u = s + 0
    x[...] = 9
    return s, t, u, x


def kept_of_compared(x: Any, m: Any, y: Any) -> Any:
    mask = x > 2
    s = x[mask] * 3
    x[mask] = s
    t = s - 1
    x[3] = -1
    return s, t, mask, x


def overlapping(x: Any, m: Any, y: Any) -> Any:
    s = x[:-1][m[1:]]
    x[1:][m[1:]] = s
    return s, x


def of_several_layers(x: Any, m: Any, y: Any) -> Any:
    x[m] = x[m] ** 2 + y[m] * x[m]
    s = x[m] + 1
    x[m] = (s * s - s) / (y[m] + 2)
    y[m] = s - y[m] * s
    return s, x, y


def held_parts(x: Any, m: Any, y: Any) -> Any:
    s = x[m] * 2
    t = s + y[m]
    x[m] = t * s + 1
    x[3] = -1
    return s, t, x


def of_another_dtype(x: Any, m: Any, y: Any) -> Any:
    s = x[m] * np.float64(1.1)
    x[m] = s
    return s.astype(np.float32), x


def in_place_of_two(x: Any, m: Any, y: Any) -> Any:
    s = x[x > 1]
    s += y[x > 1]
    s *= 2
    return s, x


def integers(x: Any, m: Any, y: Any) -> Any:
    i = x.astype(np.int16)
    i[m] += 3
    i[i > 4] //= 2
    return i


def error(x: Any, m: Any, y: Any) -> Any:
    i = x.astype(np.int16)
    i[m] += 0.5
    return i


WRITTEN = [
    add,
    add_selected,
    add_of_another_mask,
    copy_compared,
    add_compared,
    other_constants,
    kept,
    kept_of_compared,
    overlapping,
    of_several_layers,
    held_parts,
    of_another_dtype,
    in_place_of_two,
    integers,
    error,
]


@pytest.mark.parametrize("body", WRITTEN)
def test_selections_written_where_they_were_selected(body: Any, same: Any) -> None:
    same(lambda xp: body(xp.array(START), xp.array(M), xp.array(START[::-1].copy())))


@pytest.mark.kernels_alone
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("body", "launches"), [(add, 1), (add_selected, 1), (copy_compared, 2)])
def test_they_are_not_computed_before(body: Any, launches: int) -> None:
    """One pass, and where the mask was grown from what is overwritten, one for that."""
    x, m, y = clarray.array(START), clarray.array(M), clarray.array(START)
    body(x, m, y)
    with clarray.profile() as seen:
        body(x, m, y)
    assert seen.launches + seen.first_calls == launches
