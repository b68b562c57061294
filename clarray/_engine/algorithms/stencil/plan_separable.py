"""Plan lines of weights on a GPU: along y, along x, or both in one kernel.

The source is specialized on the number of weights, so that a work-item slides values through registers: `items` outputs
of a column load ``items + taps - 1`` values from the tile, not ``items * taps``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil.plan import Frame
from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.fast_dataclass import dataclass

VECTOR = 4  # elements per load from local memory and per store


class Line(NamedTuple):
    """Weights along one axis of a tile: their form, their number, and the numbers before and after the output."""

    form: str
    taps: int
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparablePlan:
    """The specialization of the source of one or two lines of weights.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class.
    value, out : dtype
        Of the computation, and of the output.
    exact : bool
        Whether products are rounded before they are added.
    down, across : Line or None
        Weights along y, which come first, and along x.
    inner : int
        Elements per position along x.
    rank : int
        Number of outer loops.
    height, width : int
        Rows and columns of outputs of a tile.
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
    def halo_before(self) -> int:
        """Elements staged before a row of outputs, a whole number of vectors."""
        return _whole_vectors(self.across.before * self.inner) if self.across else 0

    @property
    def columns(self) -> int:
        """Elements of a staged row."""
        return self.width + self.halo_before + (_whole_vectors(self.across.after * self.inner) if self.across else 0)

    @property
    def rows(self) -> int:
        """Staged rows."""
        return self.height + (self.down.taps - 1 if self.down else 0)

    @property
    def local_elements(self) -> int:
        """Elements of local memory: the tile, and its columns after the filter along y."""
        return self.columns * (self.rows + (self.height if self.down and self.across else 0))


def _whole_vectors(n: int) -> int:
    return -(-n // VECTOR) * VECTOR


def line_tile(
    down: Line | None, across: Line | None, inner: int, itemsize: int, policy: StencilPolicy, local_bytes: int
) -> tuple[int, int] | None:
    """Return height and width of the largest tile that fits local memory; None if no tile fits."""
    if any(line is not None and line.taps > policy.unrolled for line in (down, across)):
        return None
    if across is not None and (across.taps - 1) * inner > policy.unrolled:
        return None
    columns = (_whole_vectors(across.before * inner) + _whole_vectors(across.after * inner)) if across else 0
    for height, width in policy.line_tiles:
        staged = (width + columns) * (height + (down.taps - 1 if down else 0))
        between = (width + columns) * height if down and across else 0
        if (staged + between) * itemsize <= min(local_bytes, policy.line_bytes):
            return height, width
    return None


def is_rectangle(frame: Frame, axes: tuple[int, ...]) -> bool:
    """Return whether the lines are along y and x, one each, and the outer loops have no shifts."""
    inside = {a.number for a in (frame.y, frame.x) if a.number is not None}
    return inside == set(axes) and all(a.number is None for a in frame.outer)
