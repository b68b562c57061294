"""Whole programs of arrays, views, pending values and writes, beside the same program in NumPy.

The elements are int64, whose arithmetic is exact, so every value is compared bit for bit; few operations
and shapes, so that the programs share kernels.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import clarray
from clarray._engine.runtime import current_device

SHAPES: tuple[tuple[int, ...], ...] = ((12,), (3, 4), (4, 3), (1, 4), (4,))
MOST = 8  # arrays alive at once

number = st.integers(0, 1000)
small = st.integers(-3, 3)
steps = st.sampled_from([1, -1, 2, -2])
VIEWS = ["slice", "transpose", "reshape", "reverse", "newaxis", "column", "broadcast", "tail"]
UFUNCS = [np.add, np.subtract, np.multiply]


LARGEST = 10**6


def fits(*arrays: np.ndarray) -> bool:
    """Whether arrays broadcast against each other, and not to something huge."""
    try:
        return np.broadcast(*arrays).size <= LARGEST
    except ValueError:
        return False


def view_of(kind: str, step: int, a: Any) -> Any:
    """Apply one view; NumPy's arrays and ours take the same operations."""
    if kind == "slice":
        return a[::step] if a.ndim else a
    if kind == "tail":
        return a[1:] if a.ndim and len(a) > 1 else a
    if kind == "transpose":
        return a.T
    if kind == "reshape":
        return a.reshape(-1) if step > 0 else a.reshape(a.shape[::-1])
    if kind == "reverse":
        return a[..., ::-1] if a.ndim else a
    if kind == "newaxis":
        return a[None] if a.ndim < 3 else a[0]
    if kind == "column":
        return a[..., :1] if a.ndim else a
    return a if a.shape != (4,) else (np if isinstance(a, np.ndarray) else clarray).broadcast_to(a, (3, 4))


class Programs(RuleBasedStateMachine):
    """`pairs` holds (ours, theirs); `hosts` what ours may share with the host, and its mirror."""

    shapes = SHAPES

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Any, np.ndarray]] = []
        self.values: list[tuple[Any, Any]] = []
        self.hosts: list[tuple[np.ndarray, np.ndarray]] = []
        self.sharing = current_device().capabilities.host_memory

    def pick(self, n: int) -> tuple[Any, np.ndarray]:
        return self.pairs[n % len(self.pairs)]

    def add(self, ours: Any, theirs: Any) -> None:
        if isinstance(theirs, np.generic):  # operations on 0-d arrays give numbers; later ones write to it
            ours = clarray.array(ours)
        self.pairs.append((ours, np.asarray(theirs)))
        if len(self.pairs) > MOST:
            self.same(*self.pairs.pop(0))

    def same(self, ours: Any, theirs: Any) -> None:
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)

    @initialize()
    def start(self) -> None:
        self.new(0, 1)

    # New arrays

    @rule(which=number, start=small)
    def new(self, which: int, start: int) -> None:
        shape = self.shapes[which % len(self.shapes)]
        theirs = np.arange(start, start + np.prod(shape), dtype=np.int64).reshape(shape)
        self.add(clarray.array(theirs), theirs)

    @rule(which=number, step=steps)
    def share(self, which: int, step: int) -> None:
        shape = self.shapes[which % len(self.shapes)]
        host = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
        mirror = host.copy()
        self.hosts.append((host, mirror))
        ours, theirs = host[::step], mirror[::step]
        self.add(clarray.asarray(ours), theirs if self.sharing else theirs.copy())
        if which % 3 == 0:  # two windows on the same bytes
            self.add(clarray.asarray(host), mirror if self.sharing else mirror.copy())

    @precondition(lambda self: self.hosts)
    @rule(n=number, value=small)
    def write_on_the_host(self, n: int, value: int) -> None:
        host, mirror = self.hosts[n % len(self.hosts)]
        place = (..., slice(None, None, 2 if n % 2 else -1))
        host[place] += value
        mirror[place] += value

    # Views

    @rule(n=number, kind=st.sampled_from(VIEWS), step=steps)
    def view(self, n: int, kind: str, step: int) -> None:
        ours, theirs = self.pick(n)
        seen = view_of(kind, step, theirs)
        made = view_of(kind, step, ours)
        self.add(made, seen)

    # Pending values

    @rule(n=number, m=number, op=st.sampled_from(UFUNCS))
    def binary(self, n: int, m: int, op: Any) -> None:
        (a, x), (b, y) = self.pick(n), self.pick(m)
        if not fits(x, y):
            return
        self.add(op(a, b), op(x, y))

    @rule(n=number, c=small, reflected=st.booleans())
    def scalar(self, n: int, c: int, reflected: bool) -> None:
        ours, theirs = self.pick(n)
        self.add(*((c - ours, c - theirs) if reflected else (ours * c, theirs * c)))

    @rule(n=number, m=number)
    def beside_an_ndarray(self, n: int, m: int) -> None:
        ours, theirs = self.pick(n)
        if not theirs.ndim or theirs.size > LARGEST:
            return
        host = np.arange(theirs.shape[-1], dtype=np.int64) + m
        self.add(host - ours, host - theirs)
        host[...] = 77

    @rule(n=number)
    def copy(self, n: int) -> None:
        ours, theirs = self.pick(n)
        self.add(ours.copy(), theirs.copy())

    @rule(n=number, axis=st.sampled_from([None, 0, -1]))
    def total(self, n: int, axis: int | None) -> None:
        ours, theirs = self.pick(n)
        if axis is None or not theirs.ndim:
            self.values.append((ours.sum(), theirs.sum()))
        else:
            self.add(ours.sum(axis=axis), theirs.sum(axis=axis))

    @rule(n=number, c=small)
    def masked_total(self, n: int, c: int) -> None:
        ours, theirs = self.pick(n)
        self.values.append((ours[ours > c].sum(), theirs[theirs > c].sum()))

    # Writes

    def writeable(self, n: int) -> tuple[Any, np.ndarray] | None:
        found = self.pick(n)
        return found if found[1].flags.writeable and found[1].ndim else None

    @rule(n=number, m=number, op=st.sampled_from(UFUNCS))
    def in_place(self, n: int, m: int, op: Any) -> None:
        target = self.writeable(n)
        b, y = self.pick(m)
        if target is None or not fits(target[1], y):
            return
        ours, theirs = target
        try:
            op(theirs, y, out=theirs)
        except ValueError:
            return
        where = next(k for k, pair in enumerate(self.pairs) if pair[0] is ours)
        before = ours
        if op is np.add:
            ours += b
        elif op is np.subtract:
            ours -= b
        else:
            ours *= b
        assert ours is before
        assert self.pairs[where][0] is ours

    @rule(n=number, c=small)
    def in_place_scalar(self, n: int, c: int) -> None:
        target = self.writeable(n)
        if target is not None:
            ours, theirs = target
            ours += c
            theirs += c

    @rule(n=number, m=number, k=number, masked=st.booleans())
    def out(self, n: int, m: int, k: int, masked: bool) -> None:
        target = self.writeable(k)
        if target is None:
            return
        (a, x), (b, y), (ours, theirs) = self.pick(n), self.pick(m), target
        where, mask = (ours > 2, theirs > 2) if masked else (True, True)
        if not fits(x, y, theirs):
            return
        try:
            np.subtract(x, y, out=theirs, where=mask)
        except ValueError:
            return
        assert np.subtract(a, b, out=ours, where=where) is ours

    @rule(n=number, m=number, step=steps)
    def assign(self, n: int, m: int, step: int) -> None:
        target = self.writeable(n)
        value = self.pick(m)
        if target is not None:
            ours, theirs = target
            try:
                theirs[::step] = value[1]
            except ValueError:
                return
            ours[::step] = value[0]

    @rule(n=number, step=steps)
    def assign_overlapping(self, n: int, step: int) -> None:
        target = self.writeable(n)
        if target is not None:
            for a in target:
                if step > 0:
                    a[step:] = a[:-step]
                else:
                    a[:step] = a[-step:] - a[:step]

    @rule(n=number, c=small)
    def assign_masked(self, n: int, c: int) -> None:
        target = self.writeable(n)
        if target is not None:
            for a in target:
                a[a > c] = c

    @rule(n=number, c=small)
    def add_masked(self, n: int, c: int) -> None:
        target = self.writeable(n)
        if target is not None:
            for a in target:
                a[a < c] += 3

    @rule(n=number, axis=st.sampled_from([0, -1]))
    def sum_into(self, n: int, axis: int) -> None:
        target = self.writeable(n)
        if target is not None and target[1].ndim == 2:
            for a in target:
                place = a[-1] if axis == 0 else a[:, 0]
                a.sum(axis=axis, out=place)

    # Looking and forgetting

    @rule(n=number)
    def look(self, n: int) -> None:
        self.same(*self.pick(n))

    @rule(n=number)
    def evaluate(self, n: int) -> None:
        self.pick(n)[0].evaluate()

    @precondition(lambda self: len(self.pairs) > 2)
    @rule(n=number, collect=st.booleans())
    def forget(self, n: int, collect: bool) -> None:
        del self.pairs[n % len(self.pairs)]
        if collect:
            gc.collect()

    @invariant()
    def device_writes_show_on_the_host(self) -> None:
        if self.sharing:
            for host, mirror in self.hosts:
                np.testing.assert_array_equal(host, mirror)

    def teardown(self) -> None:
        for ours, theirs in self.pairs:
            self.same(ours, theirs)
        for ours, theirs in self.values:
            assert int(ours) == theirs
        super().teardown()


class LargePrograms(Programs):
    """Some arrays are large enough for launches that do not wait, reductions of two passes among them."""

    shapes = ((60_000,), (240, 250), (1, 250), (250,), (240, 1))


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
TestPrograms = Programs.TestCase
TestPrograms.settings = settings(max_examples=1000 if THOROUGH else 40, stateful_step_count=30)
TestLargePrograms = LargePrograms.TestCase
TestLargePrograms.settings = settings(max_examples=500 if THOROUGH else 15, stateful_step_count=30)
