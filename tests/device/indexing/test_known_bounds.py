"""Indices are looked at once: whoever knows that they are in bounds waits for nothing, until they are written."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.expr.bounds import recorded_range, value_bounds

from ..conftest import check_same, policy_in_force

pytestmark = [pytest.mark.usefixtures("quick_builds"), pytest.mark.kernels_alone]

FAR = 99  # no element of the arrays here
MANY = 5000  # more than a CPU selects from in one launch
Write = Callable[[Any, ModuleType], Any]


def through_dlpack(i: Any, xp: ModuleType) -> None:
    """Write where another library sees the memory, if it can; else to a view."""
    try:
        shared = np.from_dlpack(i)
        shared[0] = FAR
    except (BufferError, RuntimeError, ValueError):
        i[:1] = FAR


def through_host(i: Any, xp: ModuleType) -> None:
    """Share the memory first, then write to the host's array."""
    try:
        np.asarray(i, copy=False)[0] = FAR
    except ValueError:
        i[0] = FAR


# Every way to write to an array of integers that is there already; the first element comes to be FAR.
WRITES: dict[str, Write] = {
    "element": lambda i, xp: i.__setitem__(0, FAR),
    "element by NumPy's number": lambda i, xp: i.__setitem__(0, np.int64(FAR)),
    "element by a number of the device's": lambda i, xp: i.__setitem__(0, xp.array([FAR])[0]),
    "element by a tuple": lambda i, xp: i.__setitem__((0,), FAR),
    "slice": lambda i, xp: i.__setitem__(slice(0, 1), FAR),
    "slice from an array": lambda i, xp: i.__setitem__(slice(0, 1), xp.array([FAR])),
    "slice from a pending value": lambda i, xp: i.__setitem__(slice(0, 2), xp.array([FAR, 1]) + 0),
    "slice from the host": lambda i, xp: i.__setitem__(slice(0, 1), np.array([FAR])),
    "slice of another dtype": lambda i, xp: i.__setitem__(slice(0, 1), xp.array([FAR], np.int16)),
    "all": lambda i, xp: i.__setitem__(..., FAR),
    "reversed onto itself": lambda i, xp: (i.__setitem__(slice(None), i[::-1]), i.__setitem__(-1, FAR)),
    "in place": lambda i, xp: i.__iadd__(FAR),
    "in place, by an array": lambda i, xp: i.__iadd__(xp.array([FAR, 0, 0])),
    "out": lambda i, xp: np.add(i, FAR, out=i),
    "out, where": lambda i, xp: np.add(i, FAR, out=i, where=i == 3),
    "out of a reduction": lambda i, xp: xp.full((2, 3), FAR).sum(axis=0, out=i),
    "out of an accumulation": lambda i, xp: xp.cumsum(xp.array([FAR, 1, 1]), out=i),
    "out of a product": lambda i, xp: xp.matmul(xp.full((3, 2), FAR), xp.array([1, 0]), out=i),
    "out of a gather": lambda i, xp: xp.take(xp.array([FAR, 1]), xp.array([0, 1, 1]), out=i),
    "out of a gather that wraps": lambda i, xp: xp.take(xp.array([FAR, 1]), xp.array([2, 1, 1]), out=i, mode="wrap"),
    "out of clip": lambda i, xp: xp.clip(i, FAR, FAR, out=i),
    "out of compress": lambda i, xp: xp.compress([True] * 3, xp.array([FAR, 1, 2]), out=i),
    "out of concatenate": lambda i, xp: xp.concatenate((xp.array([FAR]), xp.array([1, 2])), out=i),
    "mask": lambda i, xp: i.__setitem__(i == 3, FAR),
    "mask, by an array": lambda i, xp: i.__setitem__(i == 3, xp.array([FAR])),
    "mask, in place": lambda i, xp: (i[i == 3], i.__setitem__(i == 3, i[i == 3] + FAR)),
    "index array": lambda i, xp: i.__setitem__(xp.array([0, 1]), FAR),
    "index array, by an array": lambda i, xp: i.__setitem__(xp.array([0, 1]), xp.array([FAR, 0])),
    "itself": lambda i, xp: (i.__setitem__(slice(None), [2, 1, 0]), i.__setitem__(i, xp.array([0, 1, FAR]))),
    "at": lambda i, xp: np.add.at(i, xp.array([0, 0]), FAR),
    "put": lambda i, xp: xp.put(i, [0], [FAR]),
    "place": lambda i, xp: xp.place(i, i == 3, [FAR]),
    "putmask": lambda i, xp: xp.putmask(i, i == 3, FAR),
    "put_along_axis": lambda i, xp: xp.put_along_axis(i, xp.array([0]), xp.array([FAR]), 0),
    "copyto": lambda i, xp: xp.copyto(i, xp.array([FAR, 0, 0])),
    "copyto, where": lambda i, xp: xp.copyto(i, FAR, where=i == 3),
    "fill": lambda i, xp: i.fill(FAR),
    "flat": lambda i, xp: i.flat.__setitem__(0, FAR),
    "flat, a slice": lambda i, xp: i.flat.__setitem__(slice(0, 1), FAR),
    "a view": lambda i, xp: i[:2].__setitem__(0, FAR),
    "a view of a view": lambda i, xp: i[::-1][1:].__setitem__(1, FAR),
    "another shape": lambda i, xp: i.reshape(3, 1).__setitem__((0, 0), FAR),
    "another dtype": lambda i, xp: i.view(np.uint64).__setitem__(0, FAR),
    "bytes": lambda i, xp: i.view(np.uint8).__setitem__(0, FAR),
    "the transpose": lambda i, xp: i.T.__setitem__(slice(1), FAR),
    "sorted in place": lambda i, xp: (i.__setitem__(slice(None), [FAR, 0, 1]), i.sort()),
    "another library": through_dlpack,
    "the host": through_host,
}
READS: dict[str, Callable[[Any, Any, ModuleType], Any]] = {
    "gather": lambda x, i, xp: x[i],
    "scatter": lambda x, i, xp: (x.__setitem__(i, xp.array([1.0, 2.0, 3.0])), x + 0)[1],
    "take_along_axis": lambda x, i, xp: xp.take_along_axis(x, i, 0),
    "several arrays": lambda x, i, xp: x.reshape(5, 2)[i, i % 2],
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("way", WRITES)
def test_what_has_been_written_is_looked_at_again(way: str, read: str) -> None:
    def body(xp: ModuleType) -> Any:
        x, i = xp.arange(10.0), xp.array([3, 1, 2])
        READS[read](x, i, xp)
        if isinstance(i, clarray.DeviceArray):
            assert recorded_range(i._node) is not None
        WRITES[way](i, xp)
        return READS[read](x, i, xp)

    check_same(body)


MASK_WRITES: dict[str, Write] = {
    "element": lambda m, xp: m.__setitem__(0, False),
    "slice": lambda m, xp: m.__setitem__(slice(0, 3), False),
    "slice from an array": lambda m, xp: m.__setitem__(slice(0, 2), xp.array([False, True])),
    "slice from a pending value": lambda m, xp: m.__setitem__(slice(0, 2), ~xp.array([True, False])),
    "by what it selects": lambda m, xp: m.__setitem__(slice(0, 4), m[m][:4] & xp.array([True, False] * 2)),
    "by what it selects of others": lambda m, xp: m.__setitem__(slice(0, 4), xp.arange(m.size)[m][:4] > 2),
    "in place": lambda m, xp: m.__ixor__(True),
    "in place, by what it selects": lambda m, xp: m.__iand__(m[m][:1]),
    "out": lambda m, xp: np.equal(m, xp.arange(m.size) > 3, out=m),
    "mask": lambda m, xp: m.__setitem__(m, xp.array(False)),
    "mask, by an array": lambda m, xp: m.__setitem__(m, ~m[m]),
    "index array": lambda m, xp: m.__setitem__(xp.array([0, 1]), False),
    "at": lambda m, xp: np.logical_xor.at(m, xp.array([0, 1, 4]), True),
    "put": lambda m, xp: xp.put(m, [0], [False]),
    "fill": lambda m, xp: m.fill(True),
    "copyto, where": lambda m, xp: xp.copyto(m, False, where=m),
    "out of a scan": lambda m, xp: np.logical_and.accumulate(m[::-1], out=m),
    "out of a gather": lambda m, xp: xp.take(m, xp.arange(m.size)[::-1] // 2, out=m),
    "another dtype": lambda m, xp: m.view(np.uint8).__setitem__(slice(0, 2), 0),
    "sorted in place": lambda m, xp: (m.__setitem__(0, False), m.sort()),
}


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
@pytest.mark.parametrize("way", MASK_WRITES)
def test_what_readers_have_counted_is_of_before(way: str, policy: str) -> None:
    """A pending selection is computed, and its elements are counted, because the mask is about to be written."""

    def body(xp: ModuleType) -> Any:
        x, m = xp.arange(MANY), xp.array(np.arange(MANY) % 3 != 1)
        before, others = x[m] + 1, x[~m] + 1
        MASK_WRITES[way](m, xp)
        return x[m], x[~m], before, others, m

    with policy_in_force(policy):
        check_same(body)


def waits(body: Callable[[], Any]) -> int:
    """How often a body waits for the device, and reads from it."""
    with clarray.profile() as seen:
        body()
    return seen.transfers + seen.synchronisations


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
@pytest.mark.parametrize("read", [*READS, "at"])
def test_indices_are_looked_at_once(policy: str, read: str) -> None:
    x, i = clarray.arange(10.0).evaluate(), clarray.array([3, 1, -2])
    y = clarray.array([1.0, 2.0, 3.0])

    def run() -> Any:
        if read == "scatter":
            x[i] = y
        elif read == "at":
            np.add.at(x, i, 1.0)
        else:
            READS[read](x, i, clarray)

    with policy_in_force(policy):
        run()
        assert waits(run) == 0
        run()


def test_a_shorter_axis_is_another_question(same: Any) -> None:
    def body(xp: ModuleType) -> Any:
        i = xp.array([7, 1])
        long, short = xp.arange(10.0), xp.arange(5.0)
        first = long[i]
        return first, short[i]

    same(body)
    i = clarray.array([4, -5])
    short, long = clarray.arange(5.0).evaluate(), clarray.arange(10.0).evaluate()
    short[i].evaluate()
    assert waits(lambda: long[i].evaluate()) == 0


MADE: dict[str, Callable[[], Any]] = {
    "argsort": lambda: clarray.argsort(clarray.array([2.0, 1.0, 3.0])),
    "argsort of rows": lambda: clarray.argsort(clarray.array([[2.0, 1.0], [1.0, 3.0]]), axis=1),
    "lexsort": lambda: clarray.lexsort((clarray.array([2.0, 1.0, 3.0]),)),
    "nonzero": lambda: clarray.nonzero(clarray.array([0, 1, 1]))[0],
    "nonzero of a plane": lambda: clarray.nonzero(clarray.array([[0, 1], [1, 1]]))[1],
    "flatnonzero": lambda: clarray.flatnonzero(clarray.array([0, 1, 1])),
    "where": lambda: clarray.where(clarray.array([True, False, True]))[0],
    "argmax": lambda: clarray.array([[1.0, 2.0, 0.0], [3.0, 1.0, 2.0]]).argmax(axis=1),
    "argmax of all": lambda: clarray.array([1.0, 2.0, 0.0]).argmax(keepdims=True),
    "searchsorted": lambda: clarray.searchsorted(clarray.array([1.0, 2.0]), clarray.array([0.5, 3.0])),
    "inverse": lambda: clarray.unique(clarray.array([0.5, 3.0, 0.5]), return_inverse=True)[1],
    "arange": lambda: clarray.arange(2, -1, -1),
    "remainder": lambda: clarray.array([71, -5, 8]) % 3,
    "mask of bits": lambda: clarray.array([71, -5, 8]) & 1,
    "clip": lambda: clarray.array([71, -5, 8]).clip(0, 2),
    "minimum": lambda: clarray.minimum(clarray.array([7, 200], np.uint8), 2),
    "where of constants": lambda: clarray.where(clarray.array([True, False]), 0, 2),
    "bools": lambda: clarray.array([True, False]).astype(np.int64),
    "shifted": lambda: (clarray.array([200, 3], np.uint8) >> 6) // 2 * 2,
    "exclusive or": lambda: clarray.arange(2) ^ 1,
    "some of a range": lambda: clarray.arange(3)[clarray.array([True, False, True])],
    "some by number": lambda: clarray.arange(3)[clarray.array([True, False, True]).astype(int)],
}


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
@pytest.mark.parametrize("made", MADE)
def test_what_follows_from_the_making_is_not_looked_at(policy: str, made: str) -> None:
    x = clarray.arange(3.0).evaluate()
    with policy_in_force(policy):
        MADE[made]()  # what it waits for itself
        x[MADE[made]()].evaluate()
        i = MADE[made]()
        assert i.shape  # a selection is computed for it
        assert waits(lambda: x[i].evaluate()) == 0
        np.testing.assert_array_equal(x[i].get(), x.get()[i.get()])


RULES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "remainder": lambda a, b: a % b,
    "floor_divide": lambda a, b: a // b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "left_shift": lambda a, b: a << b,
    "right_shift": lambda a, b: a >> b,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "clip": lambda a, b: a.clip(b, 5),
    "cast": lambda a, b: (a + b).astype(np.int8),
    "float": lambda a, b: (a / 2).astype(np.int16) + b,
    "comparison": lambda a, b: a < b,
    "where": lambda a, b: np.where(a < 3, a, b),
}


@pytest.mark.parametrize("rule", RULES)
def test_bounds_hold(rule: str) -> None:
    """Of values at the ends of their dtypes, and of such as are known to be small.

    Kernels compute each dtype with a number and with itself, NumPy the other pairs: the bounds depend on the
    operands, and not on who computes the values.
    """
    ends = [
        clarray.array([np.iinfo(t).min, -1 % 256, 0, 3, np.iinfo(t).max], dtype=t)
        for t in (np.int16, np.int32, np.uint8)
    ]
    ends += [clarray.array([-3, 0, 2]), clarray.array([4, 1, 7], np.int32), clarray.arange(-2, 3)]
    for known in ends[3:5]:
        clarray.zeros(9)[known].evaluate()
    for a in ends:
        for b in (1, 3, 7, *ends):
            if isinstance(b, clarray.DeviceArray) and b.shape != a.shape:
                continue
            found = RULES[rule](a, b)
            bounds = value_bounds(found._node)
            assert bounds is not None
            operands = [clarray.asnumpy(x) if isinstance(x, clarray.DeviceArray) else x for x in (a, b)]
            by_kernels = b == 7 if isinstance(b, int) else b is a
            with np.errstate(all="ignore"):
                values = clarray.asnumpy(found) if by_kernels else RULES[rule](*operands)
            assert values.dtype == found.dtype
            host = values.astype(object)
            assert bounds[0] <= host.min()
            assert host.max() <= bounds[1]


def test_an_error_is_raised_again(same: Any) -> None:
    """What is out of bounds is not remembered, and a flag is not left behind."""

    def body(xp: ModuleType) -> Any:
        x, i, good = xp.arange(5.0), xp.array([1, 9]), xp.array([1, 2])
        for _ in range(2):
            with pytest.raises(IndexError):
                x[i]
            with pytest.raises(IndexError):
                x[i] = 0.0
        return x[good], x[good], x

    same(body)


@pytest.mark.parametrize("policy", ["own", "tiny-gpu"])
def test_whether_numbers_repeat_is_known(policy: str) -> None:
    """A permutation is written through in one launch; a list that has been seen to repeat is not looked at for it."""
    order = clarray.argsort(clarray.array([3.0, 1.0, 2.0]))
    x, y = clarray.zeros(3).evaluate(), clarray.array([1.0, 2.0, 3.0])
    with policy_in_force(policy):
        x[order] = y
        with clarray.profile() as seen:
            x[order] = y
        assert seen.launches == 1
        np.testing.assert_array_equal(x.get(), [3.0, 1.0, 2.0])
        order[0] = 0
        x[order] = y + 3
        np.testing.assert_array_equal(x.get(), [6.0, 1.0, 5.0])


def test_negative_numbers_of_another_axis_may_meet() -> None:
    """-1 and 4 are two elements of six, and one of five."""
    i, y = clarray.array([-1, 4]), clarray.array([1.0, 2.0])
    x = clarray.zeros(6)
    x[i] = y
    x = clarray.zeros(5)
    x[i] = y
    np.testing.assert_array_equal(x.get(), [0, 0, 0, 0, 2])


def test_memory_that_is_used_again_knows_nothing() -> None:
    x = clarray.arange(5.0)
    for value in (1, 4, 7):
        i = clarray.full(3, value)
        i.evaluate()
        if value < 5:
            x[i].evaluate()
        else:
            with pytest.raises(IndexError):
                x[i]
        del i
        gc.collect()


def test_rows_of_a_table_are_looked_at_together() -> None:
    table = clarray.array([[0, 1, 2], [2, 2, 0], [1, 0, -3]])
    x = clarray.array([1.0, 2.0, 3.0])
    with policy_in_force("tiny-gpu"):
        x[table[0]].evaluate()
        for row in range(3):
            assert waits(lambda row=row: x[table[row]].evaluate()) == 0
        table[2, 0] = 3
        x[table[0]].evaluate()  # once more, and in vain
        assert waits(lambda: x[table[0]].evaluate()) == 0
        x[table[1]].evaluate()
        with pytest.raises(IndexError):
            x[table[2]]
        longer = clarray.array([1.0, 2.0, 3.0, 4.0])
        longer[table[2]].evaluate()
        assert waits(lambda: longer[table[:, 1]].evaluate()) == 0
        np.testing.assert_array_equal(longer[table[2]].get(), [4.0, 1.0, 2.0])


def test_a_table_that_comes_to_reach_outside() -> None:
    """Each call often enough for the core to make its launches again, which then find what they did not find before."""
    x = clarray.array([1.0, 2.0, 3.0])
    with policy_in_force("tiny-gpu"):
        table = clarray.array([[0, 1, 2], [2, 2, 0], [1, 0, 0]])
        for turn in range(24):
            table[2, 2] = 7 if turn % 3 == 2 else 0  # what was known is not any more
            for row in (0, 1, 1):
                np.testing.assert_array_equal(x[table[row]].get(), x.get()[table[row].get()])


def test_an_interrupt_before_the_flag_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a gather out of bounds has set is not there for the next one, which is in bounds."""
    x = clarray.array([1.0, 2.0, 3.0])

    def interrupted(*_: Any) -> bool:
        raise KeyboardInterrupt

    with policy_in_force("tiny-gpu"):
        with monkeypatch.context() as patch:
            patch.setattr("clarray._engine.algorithms.gather.launch_kernels._was_set", interrupted)
            with pytest.raises(KeyboardInterrupt):
                x[clarray.array([0, 7])].evaluate()
        np.testing.assert_array_equal(x[clarray.array([2, 1])].get(), [3.0, 2.0])
        with pytest.raises(IndexError):
            x[clarray.array([0, 7])].evaluate()
