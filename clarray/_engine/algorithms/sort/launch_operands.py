"""Describe the values that the launches of a sort read."""

from __future__ import annotations

from typing import NamedTuple

from clarray._engine.algorithms.sort.plan import KeyKind
from clarray._engine.runtime import Memory


class KeyLines(NamedTuple):
    """Lines of values that are contiguous in memory, one line after the other.

    Parameters
    ----------
    kind : KeyKind
        The conversion of the values to keys.
    memory : Memory
    offset : int
        Position of the first value in the memory, in elements.
    n : int
        Values per line.
    lines : int
    """

    kind: KeyKind
    memory: Memory
    offset: int
    n: int
    lines: int = 1


__all__ = ["KeyLines"]
