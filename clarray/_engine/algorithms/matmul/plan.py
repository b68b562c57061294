"""The plan of a matrix product: from two strided operands to tiles (GPU) or packed panels (CPU).

    c[z, i, j] = sum over k of a[z, i, k] * b[z, k, j]

z stands for the axes of a batch: none where there is one matrix. Every operand may have any strides along every
axis; one that repeats over a batch has stride 0 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from clarray._engine.algorithms.matmul.policy import MatmulPolicy, Tile
from clarray._engine.algorithms.matmul.policy_tensor import WarpTile
from clarray._engine.expr.layout import ALIGNMENT, Shape, merge
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import dtype_row, wide_dtype

AnyTile = Tile | WarpTile
T = TypeVar("T", Tile, WarpTile, Tile | WarpTile)


class Matrix(NamedTuple):
    """How an operand lies in memory, in elements."""

    outer: int  # stride along the axis that the result keeps
    inner: int  # stride along the summed axis
    batch: Shape
    offset: int
    itemsize: int


class Problem(NamedTuple):
    """Extents of a product, the axes of its batch merged where all operands allow it."""

    m: int
    n: int
    k: int
    batch: Shape

    @property
    def matrices(self) -> int:
        out = 1
        for extent in self.batch:
            out *= extent
        return out


@dataclass(frozen=True, slots=True)
class Side:
    """How a kernel loads one operand.

    Parameters
    ----------
    dtype : dtype
    along : bool
        Neighbouring work-items load along the kept axis, otherwise along the summed one.
    lanes : int
        Elements per load.
    """

    dtype: np.dtype
    along: bool
    lanes: int


class Update(NamedTuple):
    """How a product goes to a matrix whose rows may lie apart: subtracted in place, ``c -= a @ b``, unless `scaled`.

    A field that does not matter for the dtype is False, so that equal kernels have equal plans.
    """

    lower: bool = False  # only what touches the lower triangle is of interest
    conjugated: bool = False  # of b
    adjoint: bool = False  # a's elements are conjugated
    scaled: bool = False  # c = alpha * a @ b + beta * d, numbers and a matrix given at the launch
    mirrored: bool = False  # c is Hermitian: its lower triangle is computed, and stored above it as well


@dataclass(frozen=True, slots=True, kw_only=True)
class TiledPlan:
    """What the source of a tiled product is specialised on.

    Parameters
    ----------
    update : Update, optional
        The product is subtracted from what is there.
    """

    tile: AnyTile
    work: np.dtype
    a: Side
    b: Side
    out: np.dtype
    out_vectors: bool
    lanes: int
    rank: int
    policy: MatmulPolicy
    update: Update | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlan:
    """What the source that packs an operand is specialised on.

    Parameters
    ----------
    dtype, work : dtype
        In memory and in the panels.
    width : int
        Positions of the kept axis per panel.
    along, unit : bool
        Whether the kept axis is the inner loop, and whether its elements follow each other.
    rank : int
        Axes of the batch.
    block : int
        Elements of the summed axis that are packed at a time.
    """

    dtype: np.dtype
    work: np.dtype
    width: int
    along: bool
    unit: bool
    rank: int
    block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedPlan:
    """What the source of a packed product is specialised on."""

    work: np.dtype
    out: np.dtype
    rows: int
    vectors: int
    lanes: int
    rank: int
    policy: MatmulPolicy


class Blocks(NamedTuple):
    """How a packed product is divided: panels per block of rows and of columns, and parts of the summed axis."""

    rows: int
    columns: int
    down: int
    across: int
    parts: int
    part_depth: int


class Parts(NamedTuple):
    """How the summed axis is split between work-groups."""

    tile: AnyTile
    parts: int
    part_depth: int


def work_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype a product is summed in, and what wraps around as NumPy's integers do."""
    if dtype_row(dtype).kind in "fc":
        return wide_dtype(dtype)
    return np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)


def batch_numbers(*batches: Sequence[int]) -> list[int]:
    """Return the extents and strides of the axes of a stack as kernels take them: axis by axis, the last one first."""
    return [number for axis in reversed(list(zip(*batches, strict=True))) for number in axis]


def merge_batch(batch: Shape, operands: tuple[Shape, ...]) -> tuple[Shape, tuple[Shape, ...]]:
    """Merge the axes of a batch, given each operand's strides along them."""
    axes = [(n, tuple(o[i] for o in operands)) for i, n in enumerate(batch) if n != 1]
    merged = merge(axes)
    return tuple(n for n, _ in merged), tuple(tuple(steps[i] for _, steps in merged) for i in range(len(operands)))


def side_of(matrix: Matrix, extent: int, dtype: np.dtype, work: np.dtype, tile: AnyTile, lanes: int) -> Side:
    """Choose the loads of an operand: whole vectors where every one of them is aligned."""
    along = abs(matrix.outer) == 1 or (abs(matrix.inner) != 1 and abs(matrix.outer) < abs(matrix.inner))
    unit, other = (matrix.outer, matrix.inner) if along else (matrix.inner, matrix.outer)
    # A vector is loaded as `work`: that converts nothing, and signed integers are summed in unsigned ones.
    same = dtype == work or (dtype.kind in "iu" and work.kind in "iu" and dtype.itemsize == work.itemsize)
    whole = same and unit == 1 and lanes * dtype.itemsize <= ALIGNMENT and tile.depth % lanes == 0
    whole = whole and all(step % lanes == 0 for step in (matrix.offset, other, *matrix.batch))
    if along:
        whole = whole and extent % lanes == 0
    return Side(dtype, along, lanes if whole else 1)


@lru_cache(maxsize=1024)
def choose_parts(
    problem: Problem,
    itemsize: int,
    units: int,
    local_bytes: int,
    most_items: int,
    policy: MatmulPolicy,
    split: bool = True,
    tensor: tuple[WarpTile, ...] = (),
    lower: bool = False,
) -> Parts:
    """Choose tile and parts by the time they would take: rounds of the device, times a tile's.

    Tiles that the device has no room for are left out, but for the last. The choice depends on sizes, the device
    and the policy only, so every bit of a float sum is the same each time. Where there are tiles for tensor cores,
    it is among those. With `lower` only tiles that touch the lower triangle take time.
    """
    best: tuple[float, Parts] | None = None
    for tile in _fitting(tensor or _tiles(policy, itemsize), itemsize, local_bytes, most_items):
        groups = _tiles_of(problem, tile, lower) * problem.matrices
        parts = 1
        while True:
            depth = -(-problem.k // parts // tile.depth) * tile.depth if parts > 1 else problem.k
            depth = max(depth, 1)
            actual = -(-problem.k // depth)
            rounds = max(groups * actual / (units * policy.fill), -(-groups * actual // int(units * policy.fill)))
            sums = min(-(-groups * actual // units), 8) * tile.rows * tile.columns
            cost = rounds * tile.rows * tile.columns * (depth + 2 * tile.depth + 64) / tile.speed
            cost *= 1 + policy.latency / sums
            if parts > 1:  # the parts are written, read and added
                cost += policy.part_cost + 64.0 * actual * problem.m * problem.n * problem.matrices / units
            if best is None or cost < best[0]:
                best = cost, Parts(tile, actual, depth)
            if not split or problem.k < 2 * parts * policy.min_part:
                break
            parts *= 2
    assert best is not None
    found = best[1]
    tile = found.tile
    return found._replace(part_depth=-(-found.part_depth // tile.depth) * tile.depth)


def _tiles_of(problem: Problem, tile: Tile | WarpTile, lower: bool) -> int:
    """Tiles of a result, or of what of it touches the lower triangle."""
    across = -(-problem.n // tile.columns)
    if not lower:
        return -(-problem.m // tile.rows) * across
    return sum(min(across, (first + tile.rows - 1) // tile.columns + 1) for first in range(0, problem.m, tile.rows))


def packed_plan(problem: Problem, work: np.dtype, out: np.dtype, policy: MatmulPolicy, wide: bool) -> PackedPlan:
    """Panels for a dtype: complex sums take two registers each."""
    panel_rows, vectors = policy.wide_panel if wide else policy.panel
    complex_ = work.kind == "c"
    lanes = policy.vector_bytes // (work.itemsize // 2 if complex_ else work.itemsize)
    rows = max(1, panel_rows // 2) if complex_ else panel_rows
    return PackedPlan(
        work=work, out=out, rows=rows, vectors=vectors, lanes=min(16, lanes), rank=len(problem.batch), policy=policy
    )


def pack_plan(matrix: Matrix, dtype: np.dtype, plan: PackedPlan, width: int) -> PackPlan:
    """Choose the inner loop that goes along the memory."""
    along = abs(matrix.outer) <= abs(matrix.inner)
    unit = (matrix.outer if along else matrix.inner) == 1
    return PackPlan(
        dtype=dtype,
        work=plan.work,
        width=width,
        along=along,
        unit=unit,
        rank=sum(step != 0 for step in matrix.batch),
        block=plan.policy.pack_block,
    )


def choose_blocks(problem: Problem, plan: PackedPlan, units: int) -> Blocks:
    """Divide a product between work-groups, as evenly as whole panels can be."""
    policy = plan.policy
    a_panels = -(-problem.m // plan.rows)
    b_panels = -(-problem.n // (plan.vectors * plan.lanes))
    columns = max(1, policy.block_columns // (plan.vectors * plan.lanes))
    across = -(-b_panels // columns)
    wanted = int(units * policy.fill)
    down = max(-(-a_panels * plan.rows // policy.block_rows), -(-wanted // (across * problem.matrices)))
    down = min(a_panels, -(-down // units) * units if problem.matrices * across % units else down)
    rows = -(-a_panels // down)
    down = -(-a_panels // rows)
    if down * across * problem.matrices < wanted and b_panels > across:
        across = min(b_panels, -(-wanted // (down * problem.matrices)))
        columns = -(-b_panels // across)
        across = -(-b_panels // columns)
    tasks = down * across * problem.matrices
    parts = min(-(-units // tasks), max(1, problem.k // policy.min_part)) if tasks < units else 1
    depth = -(-problem.k // parts)
    return Blocks(rows, columns, down, across, -(-problem.k // depth), depth)


def fitting(tiles: tuple[T, ...], itemsize: int, local_bytes: int, most_items: int) -> tuple[T, ...]:
    """The tiles that a device has room for."""
    return tuple([t for t in tiles if t.local_bytes(itemsize) <= local_bytes and t.work_items <= most_items])


def _fitting(tiles: tuple[AnyTile, ...], itemsize: int, local_bytes: int, most_items: int) -> tuple[AnyTile, ...]:
    return fitting(tiles, itemsize, local_bytes, most_items) or tiles[-1:]


def smallest(policy: MatmulPolicy, work: np.dtype) -> tuple[int, int]:
    """Rows and columns of the smallest piece of a product that is computed."""
    if policy.packed:
        rows, vectors = policy.wide_panel
        return rows, vectors * max(1, policy.vector_bytes // work.itemsize)
    tile = _tiles(policy, work.itemsize)[-1]
    return tile.rows, tile.columns


def _tiles(policy: MatmulPolicy, itemsize: int) -> tuple[Tile, ...]:
    return policy.tiles if itemsize <= 4 else policy.wide_tiles if itemsize == 8 else policy.widest_tiles


def rounded(policy: MatmulPolicy, tile: AnyTile) -> int:
    """Depth of the sums in registers, in whole steps of a tile."""
    depth = policy.tensor_depth if isinstance(tile, WarpTile) and not tile.total else policy.depth
    return max(1, depth // tile.depth) * tile.depth


__all__ = [
    "Blocks",
    "Matrix",
    "PackPlan",
    "PackedPlan",
    "Parts",
    "Problem",
    "Side",
    "TiledPlan",
    "Update",
    "choose_blocks",
    "choose_parts",
    "fitting",
    "pack_plan",
    "packed_plan",
    "merge_batch",
    "rounded",
    "side_of",
    "smallest",
    "work_dtype",
]
