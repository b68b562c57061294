"""Loops of statements: scalars read and written between views, assignments and operators in place, beside NumPy.

Values are pending, memory is shared with the host, and others hold what is assigned: whatever way a statement takes,
each array holds what NumPy's does. Sums and halves of float32 are exactly rounded however they are fused, and int16
wraps around, so every value is compared bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import clarray
from clarray._engine.runtime import current_device

MOST = 8  # arrays alive at once
LARGEST = 10**6

number = st.integers(0, 1000)
values = st.sampled_from([0, 1, -3, 2.5, True, 40_000, np.float32(1.5), np.int16(-7), np.float64(0.25)])
SLICES = [slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(2, 2)]


def key_for(shape: tuple[int, ...], n: int) -> Any:
    """A basic key for an array of this shape, with all its axes or fewer."""
    key = []
    for extent in shape:
        n, kind = divmod(n, len(SLICES) + 2)
        if kind >= len(SLICES) and extent:
            key.append(n % (2 * extent) - extent)
        elif kind < len(SLICES):
            key.append(SLICES[kind])
        else:
            break
    return tuple(key) if len(key) != 1 else key[0]


def element_of(shape: tuple[int, ...], n: int) -> Any:
    """The index of one element."""
    key = []
    for extent in shape:
        key.append(n % (2 * extent) - extent)
        n //= 3
    return tuple(key) if len(key) != 1 else key[0]


class Statements(RuleBasedStateMachine):
    """`pairs` holds (ours, theirs); `hosts` ndarrays on ours' memory and their mirrors; `walks` open iterations."""

    shapes: tuple[tuple[int, ...], ...] = ((7,), (4, 5))
    dtypes = ("float32", "int16")

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Any, np.ndarray]] = []
        self.hosts: list[tuple[np.ndarray, np.ndarray]] = []
        self.walks: list[tuple[Iterator[Any], Iterator[Any]]] = []
        self.sharing = current_device().capabilities.host_memory

    def pick(self, n: int) -> tuple[Any, np.ndarray]:
        return self.pairs[n % len(self.pairs)]

    def add(self, ours: Any, theirs: Any) -> None:
        if isinstance(theirs, np.generic):  # later statements write to it
            ours = clarray.array(ours)
        self.pairs.append((ours, np.asarray(theirs)))
        if len(self.pairs) > MOST:
            self.same(*self.pairs.pop(0))

    def same(self, ours: Any, theirs: np.ndarray) -> None:
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(clarray.asnumpy(ours), theirs)

    def both(self, function: Any, ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, Any] | None:
        """What a statement gives for both; None where it raises, which both must."""
        try:
            with np.errstate(all="ignore"):
                expected = function(*theirs)
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            try:
                function(*ours)
            except type(error):
                return None
            raise AssertionError(f"NumPy raised {error!r}") from error
        with np.errstate(all="ignore"):
            return function(*ours), expected

    @initialize()
    def start(self) -> None:
        self.new(0)
        self.new(1)

    # New arrays, and memory that the host writes too

    @rule(n=number)
    def new(self, n: int) -> None:
        shape = self.shapes[n % len(self.shapes)]
        theirs = (np.arange(np.prod(shape)) % 50 - 20).astype(self.dtypes[n // 2 % len(self.dtypes)]).reshape(shape)
        self.add(clarray.array(theirs), theirs)

    @rule(n=number)
    def share(self, n: int) -> None:
        shape = self.shapes[n % len(self.shapes)]
        host = (np.arange(np.prod(shape)) % 9).astype(self.dtypes[n // 2 % len(self.dtypes)]).reshape(shape)
        mirror = host.copy()
        self.hosts.append((host, mirror))
        self.add(clarray.asarray(host), mirror if self.sharing else mirror.copy())

    @precondition(lambda self: self.sharing)
    @rule(n=number)
    def share_what_there_is(self, n: int) -> None:
        ours, theirs = self.pick(n)
        if theirs.ndim:
            self.hosts.append((np.asarray(ours, copy=False), theirs))

    @precondition(lambda self: self.hosts)
    @rule(n=number, m=number)
    def write_on_the_host(self, n: int, m: int) -> None:
        for array in self.hosts[n % len(self.hosts)]:
            if array.flags.writeable:
                array[element_of(array.shape, m) if array.size else ...] += 1

    # Views and scalars

    @rule(n=number, k=number)
    def view(self, n: int, k: int) -> None:
        ours, theirs = self.pick(n)
        key = key_for(theirs.shape, k)
        self.add(ours[key], theirs[key] if np.ndim(theirs[key]) else theirs[key].copy())

    @rule(n=number, kind=st.sampled_from(["T", "ravel", "reshape"]))
    def arrange(self, n: int, kind: str) -> None:
        ours, theirs = self.pick(n)
        if kind == "T":
            self.add(ours.T, theirs.T)
        else:
            self.add(*(a.ravel() if kind == "ravel" else a.reshape(-1, 1) for a in (ours, theirs)))

    @rule(n=number, k=number, profiled=st.booleans())
    def read(self, n: int, k: int, profiled: bool) -> None:
        ours, theirs = self.pick(n)
        if not theirs.size:
            return
        key = element_of(theirs.shape, k)
        with clarray.profile() if profiled else nullcontext():
            for ask in (float, int, bool, lambda x: x.item(), np.ndarray.item):
                if ask is np.ndarray.item:
                    found, expected = ours.item(key), theirs.item(key)
                elif ask is int and not np.isfinite(theirs[key]):
                    continue
                else:
                    found, expected = ask(ours[key]), ask(theirs[key])
                assert type(found) is type(expected)
                assert found == expected or found != found

    @rule(n=number, k=number)
    def keep(self, n: int, k: int) -> None:
        """A scalar is a value: later writes do not change it."""
        ours, theirs = self.pick(n)
        if theirs.size:
            key = element_of(theirs.shape, k)
            self.add(ours[key], theirs[key].copy())

    @rule(n=number)
    def begin_walk(self, n: int) -> None:
        ours, theirs = self.pick(n)
        if theirs.ndim:
            self.walks.append((iter(ours), iter(theirs)))

    @precondition(lambda self: self.walks)
    @rule(n=number)
    def walk(self, n: int) -> None:
        ours, theirs = self.walks[n % len(self.walks)]
        end = object()
        found, expected = next(ours, end), next(theirs, end)
        assert (found is end) == (expected is end)
        if found is not end:
            self.add(found, expected.copy() if not expected.ndim else expected)

    # Pending values

    @rule(n=number, m=number)
    def sum_of_two(self, n: int, m: int) -> None:
        (a, x), (b, y) = self.pick(n), self.pick(m)
        if x.shape != y.shape and x.size * y.size > LARGEST:
            return
        made = self.both(lambda p, q: p + q, (a, b), (x, y))
        if made is not None:
            self.add(*made)

    @rule(n=number)
    def half(self, n: int) -> None:
        ours, theirs = self.pick(n)
        if theirs.dtype == np.float32:
            self.add(ours * 0.5, theirs * np.float32(0.5))

    # Writes

    def writeable(self, n: int) -> tuple[Any, np.ndarray] | None:
        found = self.pick(n)
        return found if found[1].flags.writeable and found[1].ndim else None

    @rule(n=number, k=number, value=values, profiled=st.booleans())
    def write_number(self, n: int, k: int, value: Any, profiled: bool) -> None:
        target = self.writeable(n)
        if target is not None and target[1].size:
            key = element_of(target[1].shape, k)
            with clarray.profile() if profiled else nullcontext():
                self.both(lambda a: a.__setitem__(key, value), target[:1], target[1:])

    @rule(n=number, k=number, value=values)
    def fill(self, n: int, k: int, value: Any) -> None:
        target = self.writeable(n)
        if target is not None:
            key = key_for(target[1].shape, k)
            self.both(lambda a: a.__setitem__(key, value), target[:1], target[1:])

    @rule(n=number, m=number, k=number, j=number)
    def assign(self, n: int, m: int, k: int, j: int) -> None:
        """Of one array to another, or to itself: all of it, or a part."""
        target, (b, y) = self.writeable(n), self.pick(m)
        if target is not None:
            key, other = key_for(target[1].shape, k), key_for(y.shape, j) if j % 2 else ...
            self.assign_part(target, key, b[other], y[other].copy())

    @rule(n=number, m=number, k=number, kept=st.booleans(), how=st.sampled_from(["place", "turned", "apart"]))
    def assign_expression(self, n: int, m: int, k: int, kept: bool, how: str) -> None:
        """What is assigned may read what is overwritten, be held, used again, and overwritten in its turn."""
        target, (b, y) = self.writeable(n), self.pick(m)
        if target is None:
            return
        ours, theirs = target
        key = key_for(theirs.shape, k)
        if y.shape != theirs.shape:
            key = ... if how == "turned" else key
            at = element_of(y.shape, m) if y.size else None
            made, expected = ours[key] + (2 if at is None else b[at]), theirs[key] + (2 if at is None else y[at])
        else:
            made, expected = b[key] + b[key], y[key] + y[key]
            if how != "apart":
                turned = how == "turned" and theirs[key].ndim
                made = (ours[key][::-1] if turned else ours[key]) + b[key]
                expected = (theirs[key][::-1] if turned else theirs[key]) + y[key]
        self.assign_part(target, key, made, np.copy(expected))
        if kept:
            self.add(made, expected)
            self.add(made + made, expected + expected)
            self.both(lambda a: a.__setitem__(key, 3), (ours,), (theirs,))

    def assign_part(self, target: tuple[Any, np.ndarray], key: Any, ours: Any, theirs: Any) -> None:
        if theirs.dtype.kind == "f" and target[1].dtype.kind == "i" and not np.all(np.abs(theirs) < 30_000):
            return  # out of range: any value
        before = target[1].copy()
        try:
            target[1][key] = theirs
        except (ValueError, TypeError) as error:
            with pytest.raises(type(error)):
                target[0][key] = ours
            target[1][...] = before
            return
        target[0][key] = ours

    @rule(n=number, m=number, k=number, part=st.booleans(), scalar=st.booleans())
    def in_place(self, n: int, m: int, k: int, part: bool, scalar: bool) -> None:
        target = self.writeable(n)
        if target is None:
            return
        ours, theirs = target
        b, y = (k % 5, k % 5) if scalar else self.pick(m)
        if not scalar and y.dtype.kind == "f" and theirs.dtype.kind == "i":
            return
        key = key_for(theirs.shape, k)

        if np.size(y) > 1 and np.shape(y) != theirs.shape and np.size(y) * theirs.size > LARGEST:
            return

        def whole(a: Any, c: Any) -> None:
            a += c

        def some(a: Any, c: Any) -> None:
            a[key] += c

        self.both(some if part and scalar else whole, (ours, b), (theirs, np.copy(y)))

    # Looking and forgetting

    @rule(n=number)
    def look(self, n: int) -> None:
        self.same(*self.pick(n))

    @rule(n=number)
    def evaluate(self, n: int) -> None:
        self.pick(n)[0].evaluate()

    @precondition(lambda self: len(self.pairs) > 2)
    @rule(n=number)
    def forget(self, n: int) -> None:
        del self.pairs[n % len(self.pairs)]

    @invariant()
    def device_writes_show_on_the_host(self) -> None:
        if self.sharing:
            for host, mirror in self.hosts:
                np.testing.assert_array_equal(host, mirror)

    def teardown(self) -> None:
        for ours, theirs in self.pairs:
            self.same(ours, theirs)
        super().teardown()


class LargeStatements(Statements):
    """Launches that do not wait stand before scalars that do."""

    shapes = ((500_000,), (500, 1000))
    dtypes = ("float32",)


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
TestStatements = Statements.TestCase
TestStatements.settings = settings(max_examples=1500 if THOROUGH else 60, stateful_step_count=40)
TestLargeStatements = LargeStatements.TestCase
TestLargeStatements.settings = settings(max_examples=200 if THOROUGH else 8, stateful_step_count=30)
