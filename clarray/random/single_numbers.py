"""Draws without ``size``: Python's numbers, as NumPy's generators give them.

One launch computes a number and those that the next calls with the same arguments will give. A draw is a function of
the generator's counter, so a number computed ahead is right as long as the counter is where it was computed for,
whatever has been drawn in between.

    rng.normal(0, 1)  --  computed for this counter?  --yes-->  the number; the counter moves behind its blocks
                              |
                              no
                              v
                          the next 16 such numbers, four times as many each time, in one launch
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clarray._core.device_array import DeviceArray, no_number
from clarray.random.bit_generator import STREAM_BLOCKS, Philox4x32, State
from clarray.random.nodes import Start

__all__ = ["NumbersAhead", "gives_numbers"]

FIRST, LARGEST = 16, 1024  # numbers of a launch
KEPT = 64  # argument lists whose numbers are kept
NEAR_END = 2**16  # blocks before the end of a stream, where a call may go on in the next one
# Types of arguments that say which numbers a call draws.
_PLAIN = frozenset((int, float, bool, str, type, type(np.dtype(bool)), type(None), *np.sctypeDict.values()))

Method = TypeVar("Method", bound=Callable[..., Any])


class _Numbers(NamedTuple):
    """Numbers computed ahead: number i is that of the counter ``first + i * blocks``."""

    key: int
    first: int
    blocks: int
    values: list[Any]


class _SpacedBlocks:
    """Stands for a bit generator of which every call of a method takes `blocks` blocks.

    Element i of each of the method's draws begins where that draw of call i would.
    """

    def __init__(self, state: State, blocks: int) -> None:
        self._start = state.key, state.counter % STREAM_BLOCKS, state.counter // STREAM_BLOCKS
        self._blocks = blocks
        self.taken = 0

    def take(self, blocks: int) -> Start:
        key, block, stream = self._start
        self.taken += 1
        return Start(key, block + self.taken - 1, stream, self._blocks)


class NumbersAhead:
    """The numbers that a generator has computed ahead, by method and arguments."""

    def __init__(self) -> None:
        self._numbers: dict[Any, _Numbers] = {}

    def next(self, source: Any, key: Any, method: Callable[..., Any], args: Any, kwargs: Any, dtype: Any) -> Any:
        """Return the next number of a method of `source` with these arguments, for which `key` stands."""
        bits: Philox4x32 = source._bit_generator
        while True:
            state = bits._state
            numbers = self._numbers.get(key)
            if numbers is not None and numbers[0] == state[0]:
                stream_key, first, blocks, values = numbers
                at, rest = divmod(state[1] - first, blocks)
                if not rest and 0 <= at < len(values):
                    if bits._replace(state, State(stream_key, state[1] + blocks)):
                        return values[at]
                    continue
            if state.counter % STREAM_BLOCKS > STREAM_BLOCKS - NEAR_END:
                return _as_number(method(source, *args, **kwargs), dtype)
            self._compute(type(source), state, key, method, args, kwargs, dtype)

    def _compute(
        self, kind: type, state: State, key: Any, method: Callable[..., Any], args: Any, kwargs: Any, dtype: Any
    ) -> None:
        before = self._numbers.get(key)
        count, blocks = (FIRST, 1) if before is None else (min(4 * len(before.values), LARGEST), before.blocks)
        while True:
            spaced = _SpacedBlocks(state, blocks)
            source: Any = object.__new__(kind)
            source._bit_generator = spaced
            array = method(source, *args, size=count, **kwargs)
            if spaced.taken == blocks:
                break
            blocks = spaced.taken
        if len(self._numbers) >= KEPT:
            self._numbers.clear()
        self._numbers[key] = _Numbers(*state, blocks, _as_numpys(array.get(), dtype))


def _as_numpys(values: np.ndarray, dtype: Any) -> list[Any]:
    """Return Python's numbers, as NumPy does but for integers of NumPy's dtypes."""
    return list(values) if values.dtype.kind in "biu" and dtype not in (None, int, bool) else values.tolist()


def gives_numbers(method: Method) -> Method:
    """Decorator: a method of a generator that gives a number where neither ``size`` nor ``out`` is given."""
    name = method.__name__
    parameters = signature(method).parameters
    names = [*parameters][1:]
    at = names.index("size")
    standard = parameters["dtype"].default if name == "integers" else None

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        more: Any = ()
        if kwargs or len(args) > at:
            kwargs |= zip(names[at:], args[at:], strict=False)
            args = args[:at]
            kwargs = {n: value for n, value in kwargs.items() if value is not None or n not in ("size", "out")}
            if "size" in kwargs or "out" in kwargs:
                made = method(self, *args, **kwargs)
                return no_number(made) if type(made) is DeviceArray else made
            more = *kwargs.values(), *kwargs
        dtype = kwargs.get("dtype", standard)
        given = (*args, *more) if more else args
        types = (*map(type, given),)
        if not _PLAIN.issuperset(types):
            return _as_number(method(self, *args, **kwargs), dtype)
        # types, as NumPy does not take 2.0 for an integer, and signs of zeros
        key = name, given, types, None if all(given) else str(given)
        return self._ahead.next(self, key, method, args, kwargs, dtype)

    return call  # type: ignore[return-value]


def _as_number(made: Any, dtype: Any) -> Any:
    """Return the number that a draw of scalar parameters is; an array as it is."""
    if isinstance(made, DeviceArray) and not made.shape:
        return _as_numpys(made.get().reshape(1), dtype)[0]
    return made
