"""The plan of a stencil: which loops its axes become, how they are cut into tiles, what a tile needs.

Axes that nothing is shifted along are merged where they can be. What is left becomes

outer  planes that are gone through one by one; a window that reaches over several of them stages several,
y      rows of a tile,
x      its columns: `inner` neighbouring elements belong to one position, so that an image with its colours
       side by side is filtered along whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.expr.layout import Shape
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.plan import power_of_two

LINE, EVEN, ODD, TABLE = "line", "even", "odd", "table"
LEAST, GREATEST, NETWORK, SELECT = "least", "greatest", "network", "select"
RANKS = (LEAST, GREATEST, NETWORK, SELECT)

MODES = ("nearest", "wrap", "reflect", "mirror", "constant")  # kernels know them by number


class Axis(NamedTuple):
    """One loop: extents of the input and of the output, a stride per operand, its number if shifted along."""

    extent: int
    out_extent: int
    steps: Shape
    number: int | None


class Frame(NamedTuple):
    """Loops of a stencil; operand 0 is the output.

    Parameters
    ----------
    outer : tuple of Axis
    y, x : Axis
        Strides of `x` are those of single elements.
    inner : int
        Elements per position along x.
    """

    outer: tuple[Axis, ...]
    y: Axis
    x: Axis
    inner: int

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (*self.outer, self.y, self.x)


class Tiling(NamedTuple):
    """How outputs are cut into tiles and where a tile's elements lie.

    Parameters
    ----------
    height, width : int
        Outputs of a tile, in rows and elements.
    pitch, plane : int
        Elements from one staged row and plane to the next.
    size : int
        Elements of the whole tile; 0: nothing is staged.
    """

    height: int
    width: int
    pitch: int
    plane: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilPlan:
    """What the source of a stencil is specialised on.

    Parameters
    ----------
    form : str
        How a window becomes a value: ``line``, ``even``, ``odd`` (weights along one axis, of which the last two
        are the same from both ends but for the sign), ``table`` (weights at listed places); ``least``,
        ``greatest``, ``network`` and ``select`` (order statistics).
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along x.
    value, out : dtype
        What is computed in, and of the output.
    exact : bool
        Whether products are rounded before they are added, in the order of the weights, as SciPy does in double.
    divides : bool
        Whether sums are divided by a number at the end.
    rank : int
        Outer loops.
    deep : bool
        Whether windows reach over several planes.
    vector : int
        Elements per vector.
    index : str
        C type of positions.
    staged : bool
        Whether tiles are staged; otherwise every tap is read where it lies.
    width, lanes, local : int
        Columns of a tile, work-items that stage one row, elements of local memory (GPU).
    taps : int
        Number of weights, where the source is specialised on it, or 0.
    network : tuple of (int, int, bool, bool)
        Comparators: two lines, and whether the lesser and the greater value is needed later.
    target : int
        The line of the network that holds the answer.
    """

    form: str
    accesses: tuple[str, ...]
    value: np.dtype
    out: np.dtype
    exact: bool
    divides: bool
    rank: int
    deep: bool
    vector: int
    index: str
    staged: bool
    width: int
    lanes: int
    local: int
    taps: int
    network: tuple[tuple[int, int, bool, bool], ...]
    target: int
    policy: StencilPolicy


@lru_cache(maxsize=4096)
def stencil_frame(
    shape: Shape,
    out_shape: Shape,
    operands: tuple[Shape, ...],
    spans: tuple[tuple[int, int], ...],
    joined: int,
) -> Frame:
    """Merge the axes that nothing is shifted along.

    Parameters
    ----------
    shape, out_shape : tuple of int
        Of input and output; they differ along shifted axes only.
    operands : tuple of tuple of int
        Strides per operand, the output first.
    spans : tuple of (int, int)
        Least and greatest shift along each axis.
    joined : int
        See `StencilPolicy`.
    """
    axes: list[Axis] = []
    for number, (extent, out_extent, span) in enumerate(zip(shape, out_shape, spans, strict=True)):
        steps = tuple(o[number] for o in operands)
        shifted = span != (0, 0) or extent != out_extent
        if not shifted and extent == 1:
            continue
        last = axes[-1] if axes else None
        if not shifted and last is not None and last.number is None and _follows(last, steps, extent):
            axes[-1] = Axis(last.extent * extent, last.out_extent * extent, steps, None)
        else:
            axes.append(Axis(extent, out_extent, steps, number if shifted else None))
    inner = 1
    if len(axes) > 1 and axes[-1].number is None and axes[-1].extent < joined:
        before, last = axes[-2:]
        if _follows(before, last.steps, last.extent):
            inner = last.extent
            axes[-2:] = [Axis(before.extent, before.out_extent, last.steps, before.number)]
    while len(axes) < 2:
        axes.insert(0, Axis(1, 1, (0,) * len(operands), None))
    return Frame(tuple(axes[:-2]), axes[-2], axes[-1], inner)


def _follows(outer: Axis, steps: Shape, extent: int) -> bool:
    return all(o == s * extent for o, s in zip(outer.steps, steps, strict=True))


class Reach(NamedTuple):
    """What a window covers in a frame: planes, and the least shift and the span along y and x (in elements)."""

    planes: tuple[Shape, ...]
    low_y: int
    span_y: int
    low_x: int
    span_x: int


def window_reach(frame: Frame, spans: tuple[tuple[int, int], ...], shifts: Sequence[Shape]) -> Reach:
    """Find the planes and the halo of a window.

    Parameters
    ----------
    shifts : sequence of tuple of int
        Of every tap along every axis; empty for a line, which its spans describe.
    """
    outer = [a.number for a in frame.outer]
    if shifts:
        planes = dict.fromkeys(tuple(0 if n is None else s[n] for n in outer) for s in shifts)
    else:
        ranges: list[Shape] = [()]
        for n in outer:
            low, high = (0, 0) if n is None else spans[n]
            ranges = [(*r, s) for r in ranges for s in range(low, high + 1)]
        planes = dict.fromkeys(ranges)
    low_y, high_y = (0, 0) if frame.y.number is None else spans[frame.y.number]
    low_x, high_x = (0, 0) if frame.x.number is None else spans[frame.x.number]
    inner = frame.inner
    return Reach(tuple(planes), low_y, high_y - low_y, low_x * inner, (high_x - low_x) * inner)


def cpu_tiling(frame: Frame, reach: Reach, itemsize: int, vector: int, policy: StencilPolicy) -> Tiling:
    """Tiles that a core's cache holds: tall enough for the rows of the halo not to matter much."""
    block = vector * policy.blocks
    budget = max(1, policy.tile_bytes // itemsize // len(reach.planes))
    rows, columns = max(1, frame.y.out_extent), max(1, frame.x.out_extent * frame.inner)
    height = min(rows, max(16, 4 * reach.span_y))
    width = budget // (height + reach.span_y) - reach.span_x
    if width < min(block, columns):
        height = max(1, min(height, budget // (block + reach.span_x) - reach.span_y))
        width = max(block, min(reach.span_x, columns))
    elif columns <= width:
        height = min(rows, max(height, budget // (columns + reach.span_x) - reach.span_y))
    width = min(-(-width // block) * block, -(-columns // vector) * vector)
    pitch = width + -(-reach.span_x // vector) * vector
    plane = pitch * (height + reach.span_y)
    return Tiling(height, width, pitch, plane, plane * len(reach.planes) + block)


def gpu_tiling(frame: Frame, reach: Reach, itemsize: int, policy: StencilPolicy, local_bytes: int) -> Tiling:
    """The tile of a work-group whose halo is least; of size 0 where none fits local memory."""
    outputs = policy.work_group * policy.items
    rows, columns = frame.y.out_extent, frame.x.out_extent * frame.inner
    best: tuple[int, Tiling] | None = None
    width = power_of_two(min(outputs, max(1, columns)))
    least = min(width, 32)
    while width >= least:
        height = outputs // width
        pitch = width + reach.span_x
        plane = pitch * (height + reach.span_y)
        size = plane * len(reach.planes)
        used = min(height, power_of_two(max(1, rows)))
        cost = -(-rows // height) * -(-columns // width) * pitch * (used + reach.span_y)
        if size * itemsize <= min(policy.tile_bytes, local_bytes) and (best is None or cost < best[0]):
            best = cost, Tiling(height, width, pitch, plane, size)
        width //= 2
    if best is not None:
        return best[1]
    width = min(policy.work_group, power_of_two(max(1, columns)))
    return Tiling(outputs // width, width, 0, 0, 0)


def places(frame: Frame, reach: Reach, shifts: Sequence[Shape], tiling: Tiling) -> np.ndarray:
    """Where each tap lies in a tile, from the place of the output's own column and row on.

    Where nothing is staged: its shift along every loop instead, one row per tap.
    """
    found: list[int | tuple[int, ...]] = []
    number = {plane: p for p, plane in enumerate(reach.planes)}
    for shift in shifts:
        plane = tuple(0 if a.number is None else shift[a.number] for a in frame.outer)
        dy = 0 if frame.y.number is None else shift[frame.y.number]
        dx = 0 if frame.x.number is None else shift[frame.x.number]
        if tiling.size:
            row = (dy - reach.low_y) * tiling.pitch
            found.append(number[plane] * tiling.plane + row + dx * frame.inner - reach.low_x)
        else:
            found.append((*plane, dy, dx))
    return np.array(found, np.int32)


def line_step(frame: Frame, axis: int, tiling: Tiling) -> int:
    """Elements of a tile from one tap of a line to the next."""
    if frame.x.number == axis:
        return frame.inner
    if frame.y.number == axis:
        return tiling.pitch
    return tiling.plane


def tiles(frame: Frame, tiling: Tiling) -> tuple[int, int, int]:
    """Tiles over all planes, and their number down and across one."""
    down = -(-frame.y.out_extent // tiling.height)
    across = -(-(frame.x.out_extent * frame.inner) // tiling.width)
    return prod(a.out_extent for a in frame.outer) * down * across, down, across


@lru_cache(maxsize=256)
def rank_network(count: int, rank: int) -> tuple[tuple[int, int, bool, bool], ...]:
    """The comparators that bring the value of a rank to the line of that number.

    Batcher's odd-even merge sort, without what the wanted line does not depend on.

    References
    ----------
    K. E. Batcher, "Sorting networks and their applications", AFIPS Spring Joint Computing Conference, 1968.
    """
    full = power_of_two(count)
    pairs: list[tuple[int, int]] = []
    p = 1
    while p < full:
        k = p
        while k >= 1:
            for j in range(k % p, full - k, 2 * k):
                for i in range(min(k, full - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        pairs.append((i + j, i + j + k))
            k //= 2
        p *= 2
    needed = {rank}
    kept = []
    for low, high in reversed(pairs):
        if high >= count:  # lines past the last hold what is greater than everything
            continue
        if low in needed or high in needed:
            kept.append((low, high, low in needed, high in needed))
            needed |= {low, high}
    return tuple(reversed(kept))
