"""The plan of lines of weights on a GPU: along y, along x, or one after the other in one kernel.

The number of weights is part of the source, so that a work-item slides through registers: `items` outputs down a
column need ``items + taps - 1`` values of the tile, not ``items * taps``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil.plan import Frame
from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.fast_dataclass import dataclass

VECTOR = 4  # neighbouring elements that a work-item takes from local memory, or stores, at once


class Line(NamedTuple):
    """Weights along one axis of a tile: their form and number, and how many are before and after the output."""

    form: str
    taps: int
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparablePlan:
    """What the source of one or two lines of weights is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class.
    value, out : dtype
        What is computed in, and of the output.
    exact : bool
        Whether products are rounded before they are added.
    down, across : Line or None
        Along y, and then along x.
    inner : int
        Elements per position along x.
    rank : int
        Outer loops.
    height, width : int
        Outputs of a tile.
    index : str
        C type of positions.
    wide_load, wide_store : bool
        Whether rows are read and written by aligned vectors.
    """

    accesses: tuple[str, ...]
    value: np.dtype
    out: np.dtype
    exact: bool
    down: Line | None
    across: Line | None
    inner: int
    rank: int
    height: int
    width: int
    index: str
    wide_load: bool
    wide_store: bool
    policy: StencilPolicy

    @property
    def left(self) -> int:
        """Elements staged before a row of outputs, a whole number of vectors."""
        return _whole(self.across.before * self.inner) if self.across else 0

    @property
    def columns(self) -> int:
        """Elements of a staged row."""
        return self.width + self.left + (_whole(self.across.after * self.inner) if self.across else 0)

    @property
    def rows(self) -> int:
        """Staged rows."""
        return self.height + (self.down.taps - 1 if self.down else 0)

    @property
    def local_elements(self) -> int:
        """Elements of local memory: the tile, and what has been filtered down its columns."""
        return self.columns * (self.rows + (self.height if self.down and self.across else 0))


def _whole(n: int) -> int:
    return -(-n // VECTOR) * VECTOR


def line_tile(
    down: Line | None, across: Line | None, inner: int, itemsize: int, policy: StencilPolicy, local_bytes: int
) -> tuple[int, int] | None:
    """Height and width of the tile, the largest that fits local memory; None where none does."""
    if any(line is not None and line.taps > policy.unrolled for line in (down, across)):
        return None
    if across is not None and (across.taps - 1) * inner > policy.unrolled:
        return None
    columns = (_whole(across.before * inner) + _whole(across.after * inner)) if across else 0
    for height, width in policy.line_tiles:
        staged = (width + columns) * (height + (down.taps - 1 if down else 0))
        between = (width + columns) * height if down and across else 0
        if (staged + between) * itemsize <= min(local_bytes, policy.line_bytes):
            return height, width
    return None


def is_rectangle(frame: Frame, axes: tuple[int, ...]) -> bool:
    """Whether the lines go along y and x, one each, and nothing is shifted along the outer loops."""
    inside = {a.number for a in (frame.y, frame.x) if a.number is not None}
    return inside == set(axes) and all(a.number is None for a in frame.outer)
