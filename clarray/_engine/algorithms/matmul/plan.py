"""Plan matrix products of two strided operands: in tiles (GPU) or from packed panels (CPU).

    c[z, i, j] = sum over k of a[z, i, k] * b[z, k, j]

z stands for the batch axes, which a single matrix lacks. Every operand may have any stride along every axis. An
operand that is broadcast along a batch axis has stride 0 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from clarray._engine.algorithms.matmul.policy import MatmulPolicy, Tile
from clarray._engine.algorithms.matmul.policy_tensor import WarpTile
from clarray._engine.expr.layout import ALIGNMENT, Shape, merge
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import dtype_row, wide_dtype

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities

AnyTile = Tile | WarpTile
T = TypeVar("T", Tile, WarpTile, Tile | WarpTile)


class Matrix(NamedTuple):
    """The strides and offset of an operand, in elements."""

    outer: int  # stride along the kept axis: rows of the left operand, columns of the right operand
    inner: int  # stride along the summed axis
    batch: Shape
    offset: int
    itemsize: int


class Problem(NamedTuple):
    """The extents of a product, with batch axes merged if the strides of all operands allow it."""

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
class OperandLoad:
    """The loads of one operand by a tiled kernel.

    Parameters
    ----------
    dtype : dtype
    along : bool
        Whether neighbouring work-items load along the kept axis. Otherwise they load along the summed axis.
    lanes : int
        Elements per load.
    """

    dtype: np.dtype
    along: bool
    lanes: int


class Update(NamedTuple):
    """The update of a matrix with any row stride by a product: ``c -= a @ b`` unless `scaled`.

    A field that has no effect on the dtype is False, so that equal kernels have equal plans.
    """

    lower: bool = False  # tiles that lie above the diagonal are skipped
    conjugated: bool = False  # multiply conj(b)
    adjoint: bool = False  # multiply conj(a)
    scaled: bool = False  # c = alpha * a @ b + beta * d, with alpha, beta and d as arguments of the launch
    mirrored: bool = False  # c is Hermitian: only the lower triangle is computed, and stored in both triangles


class StridedProduct(NamedTuple):
    """A product with the layout of its operands, the dtype of its sums, and the update that it makes."""

    problem: Problem
    left: Matrix
    right: Matrix
    work: np.dtype
    update: Update | None = None


class TileLimits(NamedTuple):
    """The resources of a device that limit its tiles."""

    units: int  # compute units
    local_bytes: int
    work_items: int  # per work-group


@dataclass(frozen=True, slots=True, kw_only=True)
class TiledPlan:
    """The specialization of a tiled kernel.

    Parameters
    ----------
    update : Update, optional
        The update of the output. By default the product overwrites it.
    """

    tile: AnyTile
    work: np.dtype
    a: OperandLoad
    b: OperandLoad
    out: np.dtype
    out_vectors: bool
    lanes: int
    rank: int
    policy: MatmulPolicy
    update: Update | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlan:
    """The specialization of a kernel that packs an operand.

    Parameters
    ----------
    dtype, work : dtype
        The dtypes in memory and in the panels.
    width : int
        Positions of the kept axis per panel.
    along, unit : bool
        Whether the inner loop runs along the kept axis, and whether the stride of the inner loop is 1.
    rank : int
        Number of batch axes.
    block : int
        Elements of the summed axis per unit of work.
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
    """The specialization of a kernel that multiplies packed panels."""

    work: np.dtype
    out: np.dtype
    rows: int
    vectors: int
    lanes: int
    rank: int
    policy: MatmulPolicy


class Blocks(NamedTuple):
    """The division of a packed product into blocks of panels and parts of the summed axis."""

    rows: int  # panels of the left operand per block
    columns: int  # panels of the right operand per block
    down: int  # blocks along the rows of the result
    across: int  # blocks along the columns of the result
    parts: int
    part_depth: int


class Parts(NamedTuple):
    """The tile of a product, and the split of its summed axis between work-groups."""

    tile: AnyTile
    parts: int
    part_depth: int


def tile_limits(device: Capabilities) -> TileLimits:
    """Return the resources of a device that limit its tiles."""
    return TileLimits(device.compute_units, device.local_bytes, device.max_work_group)


def work_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the sums. Integers are summed as unsigned integers, which wrap around like NumPy's."""
    if dtype_row(dtype).kind in "fc":
        return wide_dtype(dtype)
    return np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)


def batch_numbers(*batches: Sequence[int]) -> list[int]:
    """Return extents and strides of batch axes in the order of kernel arguments: axis by axis, the last axis first."""
    return [number for axis in reversed(list(zip(*batches, strict=True))) for number in axis]


def merge_batch(batch: Shape, operands: tuple[Shape, ...]) -> tuple[Shape, tuple[Shape, ...]]:
    """Merge batch axes. `operands` has the strides of each operand along them."""
    axes = [(n, tuple(strides[i] for strides in operands)) for i, n in enumerate(batch) if n != 1]
    merged = merge(axes)
    return tuple(n for n, _ in merged), tuple(tuple(steps[i] for _, steps in merged) for i in range(len(operands)))


def choose_load(matrix: Matrix, extent: int, dtype: np.dtype, work: np.dtype, tile: AnyTile, lanes: int) -> OperandLoad:
    """Choose the loads of an operand: vectors of `lanes` elements if all of them are aligned, else scalars."""
    along = abs(matrix.outer) == 1 or (abs(matrix.inner) != 1 and abs(matrix.outer) < abs(matrix.inner))
    stride, other = (matrix.outer, matrix.inner) if along else (matrix.inner, matrix.outer)
    # A vector is loaded as `work` without a conversion. Signed integers are summed in unsigned integers of their size.
    same = dtype == work or (dtype.kind in "iu" and work.kind in "iu" and dtype.itemsize == work.itemsize)
    vectors = same and stride == 1 and lanes * dtype.itemsize <= ALIGNMENT and tile.depth % lanes == 0
    vectors = vectors and all(step % lanes == 0 for step in (matrix.offset, other, *matrix.batch))
    if along:
        vectors = vectors and extent % lanes == 0
    return OperandLoad(dtype, along, lanes if vectors else 1)


@lru_cache(maxsize=1024)
def choose_parts(
    problem: Problem,
    itemsize: int,
    policy: MatmulPolicy,
    limits: TileLimits,
    *,
    split: bool = True,
    tensor: tuple[WarpTile, ...] = (),
    lower: bool = False,
) -> Parts:
    """Choose the tile and the parts with the lowest estimated time: rounds of the device times the time of a tile.

    The choice depends only on sizes, the device and the policy, so repeated float sums are equal bit by bit.

    Parameters
    ----------
    itemsize : int
        Bytes of an element of the sums.
    split : bool
        Whether the summed axis may be split.
    tensor : tuple of WarpTile
        The usable tiles for tensor cores. If there are any, the tile is one of them.
    lower : bool
        Whether tiles above the diagonal are skipped, and take no time.
    """
    best: tuple[float, Parts] | None = None
    units = limits.units
    tiles: tuple[AnyTile, ...] = tensor or _tiles(policy, itemsize)
    for tile in fitting_tiles(tiles, itemsize, limits) or tiles[-1:]:
        groups = _tile_count(problem, tile, lower) * problem.matrices
        parts = 1
        while True:
            depth = -(-problem.k // parts // tile.depth) * tile.depth if parts > 1 else problem.k
            depth = max(depth, 1)
            actual = -(-problem.k // depth)
            rounds = max(groups * actual / (units * policy.fill), -(-groups * actual // int(units * policy.fill)))
            sums = min(-(-groups * actual // units), 8) * tile.rows * tile.columns
            cost = rounds * tile.rows * tile.columns * (depth + 2 * tile.depth + 64) / tile.speed
            cost *= 1 + policy.latency / sums
            if parts > 1:  # the time to store, load and add the partial sums
                cost += policy.part_cost + 64.0 * actual * problem.m * problem.n * problem.matrices / units
            if best is None or cost < best[0]:
                best = cost, Parts(tile, actual, depth)
            if not split or problem.k < 2 * parts * policy.min_part:
                break
            parts *= 2
    assert best is not None
    chosen = best[1]
    tile = chosen.tile
    return chosen._replace(part_depth=-(-chosen.part_depth // tile.depth) * tile.depth)


def _tile_count(problem: Problem, tile: Tile | WarpTile, lower: bool) -> int:
    """Return the number of tiles of a result, or of the tiles that touch its lower triangle."""
    across = -(-problem.n // tile.columns)
    if not lower:
        return -(-problem.m // tile.rows) * across
    return sum(min(across, (first + tile.rows - 1) // tile.columns + 1) for first in range(0, problem.m, tile.rows))


def packed_plan(problem: Problem, work: np.dtype, out: np.dtype, policy: MatmulPolicy, wide: bool) -> PackedPlan:
    """Choose the panels for a dtype: half the rows for complex sums, which take two registers each.

    Parameters
    ----------
    wide : bool
        Whether the processor has the registers of AVX-512.
    """
    panel_rows, vectors = policy.wide_panel if wide else policy.panel
    complex_ = work.kind == "c"
    lanes = policy.vector_bytes // (work.itemsize // 2 if complex_ else work.itemsize)
    rows = max(1, panel_rows // 2) if complex_ else panel_rows
    return PackedPlan(
        work=work, out=out, rows=rows, vectors=vectors, lanes=min(16, lanes), rank=len(problem.batch), policy=policy
    )


def pack_plan(matrix: Matrix, dtype: np.dtype, plan: PackedPlan, width: int) -> PackPlan:
    """Choose the inner loop: along the axis with the smaller stride."""
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
    """Divide whole panels as evenly as possible between work-groups."""
    policy = plan.policy
    a_panels = -(-problem.m // plan.rows)
    b_panels = -(-problem.n // (plan.vectors * plan.lanes))
    columns = max(1, policy.block_columns // (plan.vectors * plan.lanes))
    across = -(-b_panels // columns)
    groups = int(units * policy.fill)
    down = max(-(-a_panels * plan.rows // policy.block_rows), -(-groups // (across * problem.matrices)))
    down = min(a_panels, -(-down // units) * units if problem.matrices * across % units else down)
    rows = -(-a_panels // down)
    down = -(-a_panels // rows)
    if down * across * problem.matrices < groups and b_panels > across:
        across = min(b_panels, -(-groups // (down * problem.matrices)))
        columns = -(-b_panels // across)
        across = -(-b_panels // columns)
    tasks = down * across * problem.matrices
    parts = min(-(-units // tasks), max(1, problem.k // policy.min_part)) if tasks < units else 1
    depth = -(-problem.k // parts)
    return Blocks(rows, columns, down, across, -(-problem.k // depth), depth)


def fitting_tiles(tiles: tuple[T, ...], itemsize: int, limits: TileLimits) -> tuple[T, ...]:
    """Return the tiles that fit the local memory and the work-groups of a device."""
    return tuple(
        [
            tile
            for tile in tiles
            if tile.local_bytes(itemsize) <= limits.local_bytes and tile.work_items <= limits.work_items
        ]
    )


def smallest_tile(policy: MatmulPolicy, work: np.dtype) -> tuple[int, int]:
    """Return the rows and columns of the smallest tile, or of the panels."""
    if policy.packed:
        rows, vectors = policy.wide_panel
        return rows, vectors * max(1, policy.vector_bytes // work.itemsize)
    tile = _tiles(policy, work.itemsize)[-1]
    return tile.rows, tile.columns


def _tiles(policy: MatmulPolicy, itemsize: int) -> tuple[Tile, ...]:
    return policy.tiles if itemsize <= 4 else policy.wide_tiles if itemsize == 8 else policy.widest_tiles


def accumulation_depth(policy: MatmulPolicy, tile: AnyTile) -> int:
    """Return the number of products per sum in registers: a multiple of the depth of a tile."""
    depth = policy.tensor_depth if isinstance(tile, WarpTile) and not tile.total else policy.depth
    return max(1, depth // tile.depth) * tile.depth


__all__ = [
    "Blocks",
    "Matrix",
    "OperandLoad",
    "PackPlan",
    "PackedPlan",
    "Parts",
    "Problem",
    "StridedProduct",
    "TileLimits",
    "TiledPlan",
    "Update",
    "accumulation_depth",
    "batch_numbers",
    "choose_blocks",
    "choose_load",
    "choose_parts",
    "fitting_tiles",
    "merge_batch",
    "pack_plan",
    "packed_plan",
    "smallest_tile",
    "tile_limits",
    "work_dtype",
]
