"""The generator of random bits: Philox4x32-10, whose state is a key and a counter."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.own_frames import with_boundaries
from clarray.random.nodes import Start, as_size, draw_words

__all__ = ["STREAM_BLOCKS", "Philox4x32", "SeedSequence", "State"]

_BLOCK_BITS = 64  # of the counter: number of the block in its stream
STREAM_BLOCKS = 2**_BLOCK_BITS
_COUNTER_BITS = 96  # and number of the stream; the last word counts attempts within a draw
_NAME = "Philox4x32"


class State(NamedTuple):
    """State of a bit generator: its key, and a counter of the streams (high bits) and their blocks (low bits)."""

    key: int
    counter: int


@with_boundaries
class Philox4x32:
    """Compute random bits from a key and a counter by Philox4x32-10 (Salmon et al., SC'11).

    Parameters
    ----------
    seed : None, int, sequence of int or SeedSequence, optional
        Seed that `SeedSequence` turns into the key. None takes fresh entropy from the system.
    counter : int or sequence of int, optional
        Number of the next block of 128 bits, below 2**96, or its 32-bit words, lowest first.
    key : int or sequence of int, optional
        Key of 64 bits, or its two words, instead of a seed.

    Raises
    ------
    ValueError
        Both a seed and a key are given, or a number is out of range.

    Notes
    -----
    The state consists of only the key and the counter. Each number is a function of both and of its position in the
    result. So a device can compute the numbers in any order, and all devices compute the same numbers. A draw uses
    whole blocks and advances the counter past them. `numpy.random.Philox` is a relative with 64-bit words.

    Examples
    --------
    >>> import clarray
    >>> bits = clarray.random.Philox4x32(key=0)
    >>> [hex(word) for word in bits.random_raw(4).tolist()]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """

    def __init__(self, seed: Any = None, counter: Any = None, key: Any = None) -> None:
        if seed is not None and key is not None:
            raise ValueError("seed and key cannot be both used")
        self._seed_seq: Any = None
        if key is None:
            seed = seed.tolist() if isinstance(seed, DeviceArray) else seed
            self._seed_seq = seed if hasattr(seed, "generate_state") else SeedSequence(seed)
            key = self._seed_seq.generate_state(2, np.uint32)
        self._state = State(_integer_from_words(key, 64, "key"), _integer_from_words(counter, _COUNTER_BITS, "counter"))

    def __repr__(self) -> str:
        return f"<{_NAME} key={self._state.key:#018x} counter={self._state.counter:#x}>"

    def __reduce__(self) -> Any:
        return _restore, (self.state, self._seed_seq)

    @property
    def seed_seq(self) -> Any:
        """Return the `SeedSequence` that the key was made from, or None if the key was given.

        Examples
        --------
        >>> import clarray
        >>> clarray.random.Philox4x32(3).seed_seq.entropy
        3
        """
        return self._seed_seq

    @property
    def state(self) -> dict[str, Any]:
        """Return the state as a dictionary, or set it.

        The name of the generator stands under ``bit_generator``, the 32-bit words of ``counter`` and ``key`` under
        ``state``.

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(key=5)
        >>> saved = bits.state
        >>> saved["state"]["key"].tolist()
        [5, 0]
        >>> first = bits.random_raw(4)
        >>> bits.state = saved
        >>> clarray.array_equal(bits.random_raw(4), first)
        True
        """
        key, counter = self._state
        return {
            "bit_generator": _NAME,
            "state": {"counter": _integer_words(counter, 4), "key": _integer_words(key, 2)},
        }

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != _NAME:
            raise ValueError(f"state must be for a {_NAME} PRNG")
        inner = value["state"]
        restored = State(
            _integer_from_words(inner["key"], 64, "key"),
            _integer_from_words(inner["counter"], _COUNTER_BITS, "counter"),
        )
        self._state = restored

    def reseed(self, seed: Any) -> None:
        """Set the state from another seed.

        Parameters
        ----------
        seed : None, int, sequence of int or SeedSequence
            None takes fresh entropy from the system.

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(1)
        >>> bits.reseed(2)
        >>> clarray.array_equal(bits.random_raw(4), clarray.random.Philox4x32(2).random_raw(4))
        True
        """
        fresh = Philox4x32(seed)
        self._state, self._seed_seq = fresh._state, fresh._seed_seq

    def _replace(self, before: State, after: State) -> bool:
        """Compare and swap the state. Return whether the state was still `before`.

        The swap is atomic, because nothing is called between comparison and assignment. A lock would not do: a signal
        handler that draws would find the lock held by its own thread.
        """
        if self._state is not before:
            return False
        self._state = after
        return True

    def take(self, blocks: int) -> Start:
        """Reserve the next blocks of 128 bits for a draw, and move the counter behind them.

        Parameters
        ----------
        blocks : int
            Number of blocks. All of them are in one stream.

        Returns
        -------
        Start
            Key, block and stream of the first block.

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(key=0)
        >>> bits.take(2).block, bits.take(2).block
        (0, 2)
        """
        while True:
            before = self._state
            key, counter = before
            if (counter % 2**_BLOCK_BITS) + blocks > 2**_BLOCK_BITS:
                counter = ((counter >> _BLOCK_BITS) + 1) << _BLOCK_BITS
            counter %= 2**_COUNTER_BITS
            if self._replace(before, State(key, (counter + blocks) % 2**_COUNTER_BITS)):
                break
        return Start(key, counter % 2**_BLOCK_BITS, counter >> _BLOCK_BITS)

    def advance(self, delta: int) -> Philox4x32:
        """Move the counter forwards or backwards.

        Parameters
        ----------
        delta : int
            Number of blocks of four 32-bit words. A negative number moves backwards.

        Returns
        -------
        Philox4x32
            The generator itself.

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(key=0)
        >>> first = bits.random_raw(4)
        >>> clarray.array_equal(bits.advance(-1).random_raw(4), first)
        True
        """
        delta = operator.index(delta)
        while True:
            before = self._state
            if self._replace(before, State(before.key, (before.counter + delta) % 2**_COUNTER_BITS)):
                return self

    def jumped(self, jumps: int = 1) -> Philox4x32:
        """Make a generator of the same key in a later stream, for draws that never overlap with draws of this one.

        Parameters
        ----------
        jumps : int, optional
            Number of streams to move on. A stream is 2**64 blocks.

        Returns
        -------
        Philox4x32

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(key=0)
        >>> bits.jumped(2).state["state"]["counter"].tolist()
        [0, 0, 2, 0]
        """
        key, counter = self._state
        later = Philox4x32(key=key, counter=(counter + (operator.index(jumps) << _BLOCK_BITS)) % 2**_COUNTER_BITS)
        later._seed_seq = self._seed_seq
        return later

    def spawn(self, n_children: int) -> list[Philox4x32]:
        """Make generators with keys of their own, from children of the seed sequence.

        Parameters
        ----------
        n_children : int
            Number of generators.

        Returns
        -------
        list of Philox4x32

        Raises
        ------
        TypeError
            The seed sequence cannot spawn, or the key was given instead of a seed.

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(1)
        >>> len(bits.spawn(3))
        3
        """
        if not hasattr(self._seed_seq, "spawn"):
            raise TypeError("The underlying SeedSequence does not implement spawning.")
        return [Philox4x32(child) for child in self._seed_seq.spawn(n_children)]

    def random_raw(self, size: Any = None, output: bool = True) -> DeviceArray | None:
        """Draw raw 32-bit words.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result, () if None.
        output : bool, optional
            False moves the counter only, and returns None.

        Returns
        -------
        DeviceArray of uint32, or None

        Examples
        --------
        >>> import clarray
        >>> bits = clarray.random.Philox4x32(key=0)
        >>> x = bits.random_raw((2, 3))
        >>> x.shape, x.dtype
        ((2, 3), dtype('uint32'))
        """
        raw = wrap(draw_words(self.take, as_size(size), np.dtype(np.uint32)))
        return raw if output else None


def _restore(state: dict[str, Any], seed_seq: Any) -> Philox4x32:
    restored = Philox4x32(key=0)
    restored.state = state
    restored._seed_seq = seed_seq
    return restored


def _integer_from_words(integer: Any, bits: int, argument: str) -> int:
    """Return an integer of at most `bits` bits, from an integer or from its 32-bit words, lowest first."""
    if integer is None:
        return 0
    if isinstance(integer, Sequence | np.ndarray):
        words_ = [operator.index(word) for word in integer]
        if any(not 0 <= word < 2**32 for word in words_):
            raise ValueError(f"{argument} must be words of 32 bits")
        integer = sum(word << 32 * position for position, word in enumerate(words_))
    integer = operator.index(integer)
    if not 0 <= integer < 2**bits:
        raise ValueError(f"{argument} must be positive and less than 2**{bits}.")
    return integer


def _integer_words(integer: int, count: int) -> np.ndarray:
    return np.array([integer >> 32 * position & 0xFFFFFFFF for position in range(count)], np.uint32)
