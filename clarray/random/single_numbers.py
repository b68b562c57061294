"""Draws without ``size``: Python scalars, as NumPy's generators return.

One launch computes a batch: the scalar of this call and the scalars of later calls with the same arguments. A draw is a
function of the generator's counter. So a prefetched scalar is valid for the counter that it was computed for, whatever
has been drawn in between.

    rng.normal(0, 1)  --  prefetched for this counter?  --yes-->  return it and advance the counter by its blocks
                              |
                              no
                              v
                          launch the next batch: 16 scalars, then four times as many each time
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clarray._core.device_array import DeviceArray, mark_0d_array
from clarray.random.bit_generator import STREAM_BLOCKS, Philox4x32, State
from clarray.random.nodes import Start

__all__ = ["PrefetchedNumbers", "with_prefetched_scalars"]

SMALLEST_BATCH, LARGEST_BATCH = 16, 1024  # scalars of a launch
CAPACITY = 64  # argument lists whose batches are cached
NEAR_END = 2**16  # blocks before the end of a stream: a call this close to the end may continue in the next stream
# Types of arguments whose values are part of the cache key.
_HASHABLE_TYPES = frozenset((int, float, bool, str, type, type(np.dtype(bool)), type(None), *np.sctypeDict.values()))

Method = TypeVar("Method", bound=Callable[..., Any])


class _Batch(NamedTuple):
    """Prefetched scalars of one launch. Scalar i belongs to the counter ``first + i * blocks``."""

    key: int
    first: int
    blocks: int
    values: list[Any]


class _SpacedBlocks:
    """Bit generator for a batch of calls: element i of each draw starts `i * blocks` blocks after the first call.

    So element i of the batch equals the scalar of call i, if every call takes `blocks` blocks.
    """

    def __init__(self, state: State, blocks: int) -> None:
        self._start = state.key, state.counter % STREAM_BLOCKS, state.counter // STREAM_BLOCKS
        self._blocks = blocks
        self.taken = 0

    def take(self, blocks: int) -> Start:
        key, first_block, stream = self._start
        self.taken += 1
        return Start(key, first_block + self.taken - 1, stream, self._blocks)


class _Call(NamedTuple):
    """A call of a generator's method without ``size``."""

    method: Callable[..., Any]
    args: Any
    kwargs: Any
    dtype: Any


class PrefetchedNumbers:
    """Cache of a generator's prefetched scalars, by method and arguments."""

    def __init__(self) -> None:
        self._batches: dict[Any, _Batch] = {}

    def next(self, source: Any, key: Any, method: Callable[..., Any], args: Any, kwargs: Any, dtype: Any) -> Any:
        """Return the next scalar of a method of `source`. `key` identifies the method and its arguments."""
        bits: Philox4x32 = source._bit_generator
        while True:
            state = bits._state
            batch = self._batches.get(key)
            if batch is not None and batch[0] == state[0]:
                stream_key, first, blocks, values = batch
                position, remainder = divmod(state[1] - first, blocks)
                if not remainder and 0 <= position < len(values):
                    if bits._replace(state, State(stream_key, state[1] + blocks)):
                        return values[position]
                    continue
            if state.counter % STREAM_BLOCKS > STREAM_BLOCKS - NEAR_END:
                return _as_scalar(method(source, *args, **kwargs), dtype)
            self._compute(type(source), state, key, _Call(method, args, kwargs, dtype))

    def _compute(self, source_type: type, state: State, key: Any, call: _Call) -> None:
        """Compute and cache the batch of a call that starts at `state`."""
        previous = self._batches.get(key)
        count, blocks = SMALLEST_BATCH, 1
        if previous is not None:
            count, blocks = min(4 * len(previous.values), LARGEST_BATCH), previous.blocks
        while True:
            spaced = _SpacedBlocks(state, blocks)
            source: Any = object.__new__(source_type)
            source._bit_generator = spaced
            array = call.method(source, *call.args, size=count, **call.kwargs)
            if spaced.taken == blocks:
                break
            blocks = spaced.taken
        if len(self._batches) >= CAPACITY:
            self._batches.clear()
        self._batches[key] = _Batch(*state, blocks, _as_numpy_scalars(array.get(), call.dtype))


def _as_numpy_scalars(values: np.ndarray, dtype: Any) -> list[Any]:
    """Return a list of Python scalars, or of NumPy scalars if `dtype` is one of NumPy's integer dtypes."""
    return list(values) if values.dtype.kind in "biu" and dtype not in (None, int, bool) else values.tolist()


def with_prefetched_scalars(method: Method) -> Method:
    """Decorator: return a prefetched scalar from calls of a generator's method without ``size`` and ``out``."""
    name = method.__name__
    parameters = signature(method).parameters
    names = [*parameters][1:]
    size_position = names.index("size")
    standard = parameters["dtype"].default if name == "integers" else None

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        keyword_arguments: Any = ()
        if kwargs or len(args) > size_position:
            kwargs |= zip(names[size_position:], args[size_position:], strict=False)
            args = args[:size_position]
            kwargs = {n: value for n, value in kwargs.items() if value is not None or n not in ("size", "out")}
            if "size" in kwargs or "out" in kwargs:
                array = method(self, *args, **kwargs)
                return mark_0d_array(array) if type(array) is DeviceArray else array
            keyword_arguments = *kwargs.values(), *kwargs
        dtype = kwargs.get("dtype", standard)
        arguments = (*args, *keyword_arguments) if keyword_arguments else args
        types = (*map(type, arguments),)
        if not _HASHABLE_TYPES.issuperset(types):
            return _as_scalar(method(self, *args, **kwargs), dtype)
        # The key has the types, because NumPy refuses 2.0 as an integer, and the text for the signs of zeros.
        key = name, arguments, types, None if all(arguments) else str(arguments)
        return self._prefetched.next(self, key, method, args, kwargs, dtype)

    return call  # type: ignore[return-value]


def _as_scalar(drawn: Any, dtype: Any) -> Any:
    """Convert a draw without axes to a scalar, and return any other draw unchanged."""
    if isinstance(drawn, DeviceArray) and not drawn.shape:
        return _as_numpy_scalars(drawn.get().reshape(1), dtype)[0]
    return drawn
