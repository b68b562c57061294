"""Tuning of matrix products: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.algorithms.matmul.policy_tensor import LARGE, TINY_STAGED, TINY_TENSOR, WarpTile
from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a product that one work-group computes through local memory.

    Parameters
    ----------
    rows, columns : int
        Rows and columns of the result per work-group. Powers of two.
    depth : int
        Elements of the summed axis per step through local memory.
    item_rows, item_columns : int
        Rows and columns of the result that a work-item accumulates in registers.
    speed : float
        Measured throughput of a device full of these tiles, relative to the largest tile.
    """

    rows: int
    columns: int
    depth: int
    item_rows: int
    item_columns: int
    speed: float = 1.0

    @property
    def work_items(self) -> int:
        return (self.rows // self.item_rows) * (self.columns // self.item_columns)

    def local_bytes(self, itemsize: int) -> int:
        """Return the local memory of a work-group."""
        return 2 * itemsize * self.depth * (self.rows + self.columns + 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulPolicy:
    """The tuning of matrix products.

    Parameters
    ----------
    packed : bool
        Whether to pack operands into panels, so that a work-item computes whole blocks in vectors (CPU). Otherwise
        work-groups stage tiles in local memory (GPU).
    vector_bytes : int
        Bytes of one vector in registers (packed) or of one load (tiled).
    depth : int
        Elements of the summed axis that are added up before their sum is added to a second sum. This bounds the error
        of float sums, and on a CPU the working set in the caches. OpenBLAS does the same.
    fill : float
        Work-groups per compute unit. With fewer groups, the summed axis is split.
    min_part : int
        Smallest number of elements of the summed axis in a part.
    waste : int
        Largest ratio of the elements of a tile or panel to the elements of a matrix. Smaller matrices are multiplied
        by a fused reduction.
    part_cost : float
        The time to add up the parts of a split axis, in multiplications of a compute unit.
    latency : int
        Sums in the registers of a compute unit at which it reaches half its speed.
    inline_work : int
        Largest number of multiplications of a product that runs on the calling thread, if the device allows it.
    tiles, wide_tiles, widest_tiles : tuple of Tile
        The tiles for elements of 4, 8 and 16 bytes, the largest first (tiled).
    total : bool
        Whether the second sum is in registers, not in the memory of the result (tiled).
    tensor : str
        The name of the tile of `LARGE` that multiplies large float64 matrices on tensor cores, if it passes its
        self-test.
    warp_tiles : tuple of WarpTile
        Further tiles for tensor cores, the largest first.
    tensor_depth : int
        The same as `depth`, for sums of tensor cores whose second sum is in the memory of the result.
    band : int
        Tiles of one column of tiles that are computed consecutively, so that the columns that they share stay in the
        cache (tiled).
    panel, wide_panel : (int, int)
        Rows of the left panel and vectors of the right panel. Their product is accumulated in registers. The wide
        panel is for processors with the registers of AVX-512 (packed).
    pack_block : int
        Elements of the summed axis per unit of packing (packed).
    block_rows, block_columns : int
        Rows and columns of the result per work-group. The block of the left operand stays in the second-level cache
        (packed).
    narrow_bytes, narrow_block, narrow_left : int
        Largest number of bytes of a row of the result, of the right operand, and of a row of the left operand of a
        product that is computed without packing or tiles. The right operand is read again for every few rows. 0
        disables narrow products.
    narrow_work : int
        Smallest number of multiplications of a narrow product. Its kernel depends on the number of columns, and
        programs with growing slices should not compile a kernel per slice.
    narrow_rows : int
        Largest number of rows that a work-item of a narrow product keeps in registers.
    narrow_items : int
        Work-items per work-group of a narrow product. A single work-item computes consecutive rows.
    """

    packed: bool
    vector_bytes: int
    depth: int
    fill: float
    min_part: int
    waste: int
    part_cost: float = 0.0
    latency: int = 0
    inline_work: int = 0
    tiles: tuple[Tile, ...] = ()
    wide_tiles: tuple[Tile, ...] = ()
    widest_tiles: tuple[Tile, ...] = ()
    total: bool = False
    tensor: str = ""
    warp_tiles: tuple[WarpTile, ...] = ()
    tensor_depth: int = 512
    band: int = 8
    panel: tuple[int, int] = (1, 1)
    wide_panel: tuple[int, int] = (1, 1)
    block_rows: int = 1
    block_columns: int = 1
    pack_block: int = 256
    narrow_bytes: int = 0
    narrow_block: int = 0
    narrow_left: int = 0
    narrow_work: int = 0
    narrow_rows: int = 1
    narrow_items: int = 1

    @property
    def tensor_tiles(self) -> tuple[WarpTile, ...]:
        """All tiles for tensor cores, or an empty tuple."""
        return (*((LARGE[self.tensor],) if self.tensor else ()), *self.warp_tiles)


CPU = MatmulPolicy(
    packed=True,
    vector_bytes=64,
    # Root mean square error of 4096 products of normal float32: 256 5.0, 384 5.9, NumPy 5.2 x 2^-24. 384 is 3 % faster.
    depth=256,
    fill=4,
    min_part=2048,
    waste=16,
    inline_work=1 << 19,
    # 1024 float32 on two Zen 5 cores, GFLOP/s, PoCL / Intel (OpenBLAS: 255): 8 x 2 vectors 423 / 454, 6 x 4 439 / 389,
    # 12 x 2 374 / 439, 12 x 1 359, 6 x 1 311 / 354. Only the last fits the sixteen 32-byte registers of AVX2.
    panel=(6, 1),
    wide_panel=(8, 2),
    block_rows=240,
    block_columns=1024,
    # Packed and narrow, ms, PoCL, two Zen 3 cores: 30,000 of 8 x 8 float32 9.6 and 1.0, float64 10.5 and 2.1, 10,000
    # complex64 5.6 and 1.1 (with one sum for both parts of a); 8,000 of 16 x 16 4.2 and 1.3; 2,000 of 32 x 32 7.6 and
    # 3.6, 1,000 of float64 3.1 and 2.4; 1,000 of
    # 48 x 48 5.4 and 4.7. 20,000 x k by k x 32: k = 64 1.45 and 1.19, 128 3.3 and 4.8, 256 6.8 and 9.2. 4 rows or 12
    # instead of 8 differ by less than the noise.
    narrow_bytes=128,
    narrow_block=1 << 13,
    narrow_left=1 << 12,
    narrow_work=1 << 22,
    narrow_rows=8,
)

GPU = MatmulPolicy(
    packed=False,
    vector_bytes=16,
    depth=256,
    fill=1,
    min_part=256,
    waste=64,
    part_cost=2.5e6,  # 15 us; with 40 us 4096 x 64 x 4096 was not split: 0.198 ms instead of 0.138
    latency=1800,  # one 64 x 64 tile per unit runs at 0.78 of its speed, two 32 x 32 at 0.47, one 128 x 128 at 0.9
    # 4096 float32 on an H200, TFLOP/s of a @ b / a.T @ b (cuBLAS: 50.9): 128 x 128 x 8 44.1 / 44.6, steps 16 deep
    # 43.7 / 47.1 but 34 KB of local memory, which some devices lack; 64 x 128 42.9 / 44.0, 128 x 64 38.5 / 43.6,
    # 64 x 64 by 8 x 8 38.3 / 43.1, by 8 x 4 37.3 / 40.1, by 4 x 4 31.8, 32 x 32 28.0, 256 x 128 36.2, 128 x 128 by
    # 8 x 16 29.7. Loads of neighbouring rows, for stores without conflicts: 38.6. The band does not matter there.
    tiles=(Tile(128, 128, 8, 8, 8), Tile(64, 64, 16, 8, 4, 0.85), Tile(32, 32, 16, 4, 4, 0.63)),
    # float64, 2048: 64 x 64 x 16 by 8 x 4 19.0, 64 x 64 x 8 18.7, 128 x 64 x 8 18.6, 64 x 64 x 16 by 4 x 4 14.7.
    wide_tiles=(Tile(64, 64, 8, 8, 4), Tile(32, 32, 16, 4, 4, 0.6)),
    widest_tiles=(Tile(64, 64, 8, 4, 4), Tile(32, 32, 8, 4, 2, 0.5)),
    # An H100 (2026-11-26), ms, in tiles (3 x 3: a reduction) and narrow (CuPy 14): 100,000 of 8 x 8 float32 0.262 and
    # 0.042 (0.217), float64 0.413 and 0.088 (0.378), complex64 0.851 and 0.090 (0.424), 16 x 16 float32 0.254 and 0.177
    # (0.275), 50,000 of 24 x 24 0.195 and 0.217, 200,000 of 3 x 3 2.349 and 0.016 (0.409), 100,000 of 4 x 4 complex128
    # 0.668 and 0.048 (0.185). 10^6 rows of k by k x n: 8 x 8 0.094 and 0.041, 16 x 4 0.093 and 0.057, 16 x 16 0.094 and
    # 0.098, 32 x 4 0.125 and 0.175, 8 x 32 0.096 and 0.156: neighbours' rows then lie too far apart.
    narrow_bytes=64,
    narrow_block=1 << 10,
    narrow_left=64,
    narrow_work=1 << 18,
    narrow_items=256,
    # In memory: 39.1 / 42.2 with depth 256, 41.0 / 44.1 with 512, 42.6 / 45.1 with 2048.
    total=True,
)
NVIDIA = replace(
    GPU,
    tiles=(Tile(128, 128, 16, 8, 8), *GPU.tiles[1:]),
    wide_tiles=(Tile(64, 64, 16, 8, 4), *GPU.wide_tiles[1:]),
    # 4096 float64 on an H100 (2026-11-27), TFLOP/s, the portable kernel 19 to 20, cuBLAS 58: 128 x 128 x 8 copied in
    # three stages with m16n8k4 50 by 64 x 32 and 48 to 49 by 32 x 64, with m16n8k8 42 and 46; 64 x 64 x 16 by 32 x 32
    # with both sums in registers 44, with m16n8k8 37; m8n8k4 27 to 30; docs/engineering/products.md has the others.
    tensor="128x128x8 by 64x32, m16n8k4, 3 stages, copied",
    warp_tiles=tuple(
        replace(LARGE[name], speed=speed)
        for name, speed in (
            ("128x128x8 by 32x64, m8n8k4, 3 stages, copied", 0.6),
            ("64x64x16 by 32x32, m16n8k4, 2 stages, total", 0.88),
            ("64x64x16 by 32x32, m8n8k4, 2 stages, total", 0.55),
            ("32x32x16 by 16x16, m16n8k4, 2 stages, total", 0.57),
        )
    ),
)

# A shape so small that arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = MatmulPolicy(
    packed=True,
    vector_bytes=16,
    depth=3,
    fill=2,
    min_part=5,
    waste=1 << 30,
    panel=(3, 2),
    wide_panel=(3, 2),
    block_rows=6,
    block_columns=16,
    narrow_bytes=24,
    narrow_block=96,
    narrow_left=96,
    narrow_rows=3,
)
TINY_GPU = MatmulPolicy(
    packed=False,
    vector_bytes=8,
    depth=8,
    fill=2,
    min_part=5,
    waste=1 << 30,
    tiles=(Tile(8, 8, 4, 4, 2),),
    wide_tiles=(Tile(4, 8, 4, 2, 2),),
    widest_tiles=(Tile(4, 4, 2, 1, 2),),
    band=2,
    narrow_bytes=12,
    narrow_block=36,
    narrow_left=12,
    narrow_items=4,
)
TINY_FENCED = replace(TINY_GPU, total=True)
TINY_WARPS = replace(TINY_GPU, vector_bytes=16, warp_tiles=TINY_TENSOR, tensor_depth=16)
TINY_STAGES = replace(TINY_WARPS, warp_tiles=TINY_STAGED)
