"""Plan a stencil: the loops over its axes, the tiles, and the memory of a tile.

Axes without shifts are merged if their strides allow it. The remaining axes become

outer  planes, one at a time; a window that extends over several planes stages all of them,
y      the rows of a tile,
x      the columns of a tile: `inner` neighbouring elements belong to one position, so that whole rows of an image with
       interleaved colours are filtered at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.stencil.policy import StencilPolicy
from clarray._engine.expr.layout import Shape, index_type
from clarray._engine.expr.layout import reach as farthest_element
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.reduce.plan import power_of_two

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

Spans = tuple[tuple[int, int], ...]  # least and greatest shift along each axis

LINE, EVEN, ODD, TABLE = "line", "even", "odd", "table"
LEAST, GREATEST, NETWORK, SELECT = "least", "greatest", "network", "select"
RANKS = (LEAST, GREATEST, NETWORK, SELECT)

MODES = ("nearest", "wrap", "reflect", "mirror", "constant")  # the kernels use the index


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Window:
    """The function of the values around a position. A launch is prepared once for each object.

    Parameters
    ----------
    form : str
        See `StencilPlan`.
    spans : tuple of (int, int)
        Least and greatest shift along each axis.
    shifts : tuple of tuple of int
        Shifts of each tap along all axes. Empty for weights along one axis.
    weights : ndarray or Node or None
        In the dtype of the computation. A node is a contiguous leaf.
    taps : int
        Number of taps.
    axis : int
        The axis of weights along one axis.
    rank : int
        Index of an order statistic in ascending order.
    divisor : number or None
        Divisor of the sum.
    exact : bool
        See `StencilPlan`.
    """

    form: str
    spans: Spans
    shifts: tuple[tuple[int, ...], ...] = ()
    weights: Any = None
    taps: int = 0
    axis: int = 0
    rank: int = 0
    divisor: Any = None
    exact: bool = False


class Axis(NamedTuple):
    """A loop: the extents of input and output, a stride per operand, and the axis's number if it has shifts."""

    extent: int
    out_extent: int
    steps: Shape
    number: int | None


class Frame(NamedTuple):
    """The loops of a stencil. Operand 0 is the output.

    Parameters
    ----------
    outer : tuple of Axis
    y, x : Axis
        The strides of `x` are between single elements.
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
    """The division of the outputs into tiles, and the layout of a tile's elements.

    Parameters
    ----------
    height, width : int
        Rows of outputs of a tile, and elements of a row.
    pitch, plane : int
        Strides between staged rows and between planes, in elements.
    size : int
        Elements of the whole tile. 0: nothing is staged.
    """

    height: int
    width: int
    pitch: int
    plane: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilPlan:
    """The specialization of the source of a stencil.

    Parameters
    ----------
    form : str
        The function of a window: ``line`` (weights along one axis), ``even`` and ``odd`` (the same, symmetric and
        antisymmetric), ``table`` (weights at listed shifts), or an order statistic, by ``least``, ``greatest``,
        ``network`` and ``select``.
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along x.
    value, out : dtype
        Of the computation, and of the output.
    exact : bool
        Whether products are rounded before they are added, in the order of the weights, as SciPy does in double.
    divides : bool
        Whether sums are divided by a scalar at the end.
    rank : int
        Number of outer loops.
    deep : bool
        Whether a window extends over several planes.
    vector : int
        Elements per vector.
    index : str
        C type of positions.
    staged : bool
        Whether tiles are staged. Otherwise every tap is read from the input.
    width, lanes, local : int
        Columns of a tile, work-items that stage a row, and elements of local memory (GPU).
    taps : int
        Number of weights if the source is specialized on it, or 0.
    network : tuple of (int, int, bool, bool)
        Comparators: two lines, and whether a later comparator needs the lesser and the greater value.
    target : int
        The line of the network with the result.
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
    spans: Spans,
    joined: int,
) -> Frame:
    """Merge the axes without shifts, and return the loops.

    Parameters
    ----------
    shape, out_shape : tuple of int
        Of input and output. They differ only along axes with shifts.
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
    """The extent of a window in a frame: its planes, and the least shift and the span along y and x, in elements."""

    planes: tuple[Shape, ...]
    low_y: int
    span_y: int
    low_x: int
    span_x: int


def window_reach(frame: Frame, spans: Spans, shifts: Sequence[Shape]) -> Reach:
    """Return the planes and the halo of a window.

    Parameters
    ----------
    shifts : sequence of tuple of int
        Shifts of each tap along all axes. Empty for weights along one axis, which the spans describe.
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
    """Choose tiles that fit a core's cache, so tall that the rows of the halo cost little."""
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
    """Choose the tile of a work-group with the least halo. Its size is 0 if no tile fits local memory."""
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


class StencilProblem(NamedTuple):
    """A window over the loops of an array, the dtypes of the computation and the output, and the output's size."""

    window: Window
    frame: Frame
    reach: Reach
    dtype: np.dtype
    out: np.dtype
    size: int

    @property
    def tile_dtype(self) -> np.dtype:
        return tile_dtype(self.window.form, self.dtype)


def tile_dtype(form: str, dtype: np.dtype) -> np.dtype:
    """Return the dtype of a tile's elements. Order statistics compare floats as integers."""
    if form in RANKS and dtype.kind == "f":
        return np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)
    return dtype


def vector_width(dtypes: set[np.dtype], policy: StencilPolicy) -> int:
    """Return the elements per vector for values of these dtypes."""
    if any(dtype.kind == "c" for dtype in dtypes):
        return 1
    return max(1, min(policy.max_width, policy.vector_bytes // max(dtype.itemsize for dtype in dtypes)))


def stencil_tiling(problem: StencilProblem, vector: int, policy: StencilPolicy, capabilities: Capabilities) -> Tiling:
    """Choose the tiles of a stencil."""
    frame, reach, itemsize = problem.frame, problem.reach, problem.tile_dtype.itemsize
    if policy.chunked:
        return cpu_tiling(frame, reach, itemsize, vector, policy)
    return gpu_tiling(frame, reach, itemsize, policy, capabilities.local_bytes)


class TiledForm(NamedTuple):
    """The tiles of a stencil, the elements per vector, and the access class of each distinct input."""

    tiling: Tiling
    vector: int
    accesses: tuple[str, ...]


def stencil_plan(
    problem: StencilProblem, tiled: TiledForm, policy: StencilPolicy, capabilities: Capabilities
) -> StencilPlan:
    """Choose the form of a stencil and the shape of its work-groups."""
    window, frame, reach = problem.window, problem.frame, problem.reach
    tiling, form = tiled.tiling, window.form
    staged = tiling.size > 0
    network: tuple[tuple[int, int, bool, bool], ...] = ()
    if form == SELECT and window.taps <= policy.network and staged:
        form, network = NETWORK, rank_network(window.taps, window.rank)
    halo = 4 * sum(high - low for low, high in window.spans) + sum(abs(low) for low, _ in window.spans)
    largest = max(input_span(frame), problem.size, 2 * max(a.extent for a in frame.axes)) + halo
    lanes = local = 0
    if not policy.chunked:
        rows = (tiling.height + reach.span_y) * len(reach.planes)
        lanes = max(min(32, policy.work_group), policy.work_group // power_of_two(max(1, rows)))
        limit = min(policy.tile_bytes, capabilities.local_bytes) // problem.tile_dtype.itemsize
        local = min(power_of_two(tiling.size), limit) if staged else 0
    return StencilPlan(
        form=form,
        accesses=tiled.accesses,
        value=problem.dtype,
        out=problem.out,
        exact=window.exact,
        divides=window.divisor is not None,
        rank=len(frame.outer),
        deep=len(reach.planes) > 1 or any(map(any, reach.planes)),
        vector=tiled.vector,
        index=index_type(largest, policy.chunked),
        staged=staged,
        width=0 if policy.chunked else tiling.width,
        lanes=lanes,
        local=local,
        taps=window.taps if form == NETWORK else 0,
        network=network,
        target=window.rank if form == NETWORK else 0,
        policy=policy,
    )


def input_span(frame: Frame) -> int:
    """Return the largest distance between two elements of an input."""
    extents = tuple(max(1, a.extent * (frame.inner if a is frame.x else 1)) for a in frame.axes)
    strides = [tuple(a.steps[k] for a in frame.axes) for k in range(1, len(frame.x.steps))]
    return max((farthest_element(extents, steps) for steps in strides), default=0)


def tap_offsets(frame: Frame, reach: Reach, shifts: Sequence[Shape], tiling: Tiling) -> np.ndarray:
    """Return the offset of each tap in a tile, relative to the output's row and column.

    Without staging, return the shifts of each tap along all loops instead, one row per tap.
    """
    offsets: list[int | tuple[int, ...]] = []
    numbers = {plane: p for p, plane in enumerate(reach.planes)}
    for shift in shifts:
        plane = tuple(0 if a.number is None else shift[a.number] for a in frame.outer)
        dy = 0 if frame.y.number is None else shift[frame.y.number]
        dx = 0 if frame.x.number is None else shift[frame.x.number]
        if tiling.size:
            row = (dy - reach.low_y) * tiling.pitch
            offsets.append(numbers[plane] * tiling.plane + row + dx * frame.inner - reach.low_x)
        else:
            offsets.append((*plane, dy, dx))
    return np.array(offsets, np.int32)


def line_step(frame: Frame, axis: int, tiling: Tiling) -> int:
    """Return the stride in a tile between neighbouring taps along an axis."""
    if frame.x.number == axis:
        return frame.inner
    if frame.y.number == axis:
        return tiling.pitch
    return tiling.plane


def tiles(frame: Frame, tiling: Tiling) -> tuple[int, int, int]:
    """Return the number of tiles of all planes, and down and across a plane."""
    down = -(-frame.y.out_extent // tiling.height)
    across = -(-(frame.x.out_extent * frame.inner) // tiling.width)
    return prod(a.out_extent for a in frame.outer) * down * across, down, across


@lru_cache(maxsize=256)
def rank_network(count: int, rank: int) -> tuple[tuple[int, int, bool, bool], ...]:
    """Return the comparators that move the order statistic of a rank to the line of that index.

    They are Batcher's odd-even merge sort, without the comparators that the result does not depend on.

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
    comparators = []
    for low, high in reversed(pairs):
        if high >= count:  # lines past the last hold infinity
            continue
        if low in needed or high in needed:
            comparators.append((low, high, low in needed, high in needed))
            needed |= {low, high}
    return tuple(reversed(comparators))
