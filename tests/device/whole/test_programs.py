"""Whole programs of views, writes and pending expressions: NumPy and clarray, step by step.

Each step is done to an ndarray and to a DeviceArray. What is pending must hold the values of its
time, whatever is written afterwards, through whichever view.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
)

import clarray

SHAPES = [(6,), (4, 6), (6, 4), (2, 3, 4)]
OPERATIONS = [np.add, np.subtract, np.multiply]


class Pair:
    """The same value on both sides."""

    def __init__(self, theirs: np.ndarray, ours: Any) -> None:
        self.theirs = theirs
        self.ours = ours

    def __repr__(self) -> str:
        return f"Pair({self.theirs.shape})"

    def check(self) -> None:
        assert self.ours.dtype == self.theirs.dtype
        np.testing.assert_array_equal(clarray.asnumpy(self.ours), self.theirs)


def fits(value: np.ndarray, target: np.ndarray) -> bool:
    try:
        return np.broadcast_shapes(value.shape, target.shape) == target.shape
    except ValueError:
        return False


class Programs(RuleBasedStateMachine):
    """Draws a program; every array is compared when it is dropped, some before."""

    arrays = Bundle("arrays")

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[Pair] = []
        self.next = 0

    def keep(self, theirs: np.ndarray, ours: Any) -> Pair:
        pair = Pair(np.asarray(theirs), ours)
        self.alive.append(pair)
        return pair

    def values(self, shape: tuple[int, ...]) -> np.ndarray:
        self.next += 100
        return np.arange(self.next, self.next + np.prod(shape), dtype=np.int32).reshape(shape)

    @initialize(target=arrays, shape=st.sampled_from(SHAPES))
    def first(self, shape: tuple[int, ...]) -> Any:
        values = self.values(shape)
        return multiple(self.keep(values, clarray.array(values)), self.shared(shape))

    @rule(target=arrays, shape=st.sampled_from(SHAPES))
    def new(self, shape: tuple[int, ...]) -> Pair:
        values = self.values(shape)
        return self.keep(values, clarray.array(values))

    @rule(target=arrays, shape=st.sampled_from(SHAPES))
    def shared(self, shape: tuple[int, ...]) -> Pair:
        values = self.values(shape)
        return self.keep(values, clarray.asarray(values.copy()))

    @rule(target=arrays, a=arrays, data=st.data())
    def view(self, a: Pair, data: st.DataObject) -> Any:
        kind = data.draw(st.sampled_from(["index", "transpose", "flat", "newaxis"]))
        if kind == "index":
            key = data.draw(hnp.basic_indices(a.theirs.shape, min_dims=1, allow_ellipsis=False))
            return self.keep(a.theirs[key], a.ours[key])
        if kind == "transpose":
            return self.keep(a.theirs.T, a.ours.T)
        if kind == "flat":
            return self.keep(a.theirs.reshape(-1), a.ours.reshape(-1))
        return self.keep(a.theirs[:, None], a.ours[:, None])

    @rule(target=arrays, a=arrays, b=arrays, operation=st.sampled_from(OPERATIONS))
    def combine(self, a: Pair, b: Pair, operation: np.ufunc) -> Any:
        try:
            theirs = operation(a.theirs, b.theirs)
        except ValueError:
            return multiple()
        if theirs.size > 1000:
            return multiple()
        return self.keep(theirs, operation(a.ours, b.ours))

    @rule(target=arrays, a=arrays, number=st.integers(-3, 3))
    def with_number(self, a: Pair, number: int) -> Pair:
        return self.keep(a.theirs * number + 1, a.ours * number + 1)

    @rule(target=arrays, a=arrays, keepdims=st.booleans())
    def total(self, a: Pair, keepdims: bool) -> Pair:
        theirs = a.theirs.sum(axis=0, dtype=np.int32, keepdims=True)
        ours = a.ours.sum(axis=0, dtype=np.int32, keepdims=True)
        return self.keep(theirs, ours) if keepdims else self.keep(theirs[0:], ours[0:])

    @rule(target=arrays, a=arrays)
    def copied(self, a: Pair) -> Pair:
        return self.keep(a.theirs.copy(), a.ours.copy())

    @rule(a=arrays, number=st.integers(-100, 100), data=st.data())
    def write_number(self, a: Pair, number: int, data: st.DataObject) -> None:
        if not a.theirs.flags.writeable:
            return
        key = data.draw(hnp.basic_indices(a.theirs.shape))
        a.theirs[key] = number
        a.ours[key] = number

    @rule(a=arrays, b=arrays)
    def write_array(self, a: Pair, b: Pair) -> None:
        if fits(b.theirs, a.theirs):
            # NumPy reads what it has just written for some 1-d slices: give it a copy
            a.theirs[...] = b.theirs.copy()
            a.ours[...] = b.ours

    @rule(a=arrays, b=arrays)
    def write_expression(self, a: Pair, b: Pair) -> None:
        if fits(b.theirs, a.theirs):
            a.theirs[...] = b.theirs * 2 - a.theirs
            a.ours[...] = b.ours * 2 - a.ours

    @rule(a=arrays, b=arrays, operation=st.sampled_from(OPERATIONS))
    def in_place(self, a: Pair, b: Pair, operation: np.ufunc) -> None:
        if fits(b.theirs, a.theirs):
            operation(a.theirs, b.theirs, out=a.theirs)
            operation(a.ours, b.ours, out=a.ours)

    @rule(a=arrays, b=arrays)
    def operator_in_place(self, a: Pair, b: Pair) -> None:
        if fits(b.theirs, a.theirs):
            theirs, ours = a.theirs, a.ours
            theirs += b.theirs
            ours += b.ours
            assert ours is a.ours

    @rule(a=arrays, limit=st.integers(0, 500))
    def write_where(self, a: Pair, limit: int) -> None:
        a.theirs[a.theirs > limit] = 7
        a.ours[a.ours > limit] = 7

    @rule(a=arrays)
    def evaluate(self, a: Pair) -> None:
        a.ours.evaluate()

    @rule(a=arrays)
    def compare(self, a: Pair) -> None:
        a.check()

    @rule(a=consumes(arrays))
    def drop(self, a: Pair) -> None:
        a.check()
        self.alive.remove(a)

    def teardown(self) -> None:
        for pair in self.alive:
            pair.check()


Programs.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)
TestPrograms = Programs.TestCase
