"""Tuning of matrix product: the policy, and its measured values per kind of device."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a product that one work-group computes, through local memory.

    Parameters
    ----------
    rows, columns : int
        Of the result, per work-group; powers of two.
    depth : int
        Elements along the summed axis that are staged in local memory at a time.
    item_rows, item_columns : int
        Of the result, per work-item: what it accumulates in registers.
    speed : float
        Measured arithmetic per second of a device full of such tiles, the largest tile's being 1.
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


@dataclass(frozen=True, slots=True)
class MatmulPolicy:
    """Shape of a matrix product.

    Parameters
    ----------
    packed : bool
        Operands are packed into panels, and a work-item computes whole blocks in vectors (CPU); otherwise
        work-groups stage tiles in local memory (GPU).
    vector_bytes : int
        Bytes of one vector in registers (packed) or of one load (tiled).
    depth : int
        Elements along the summed axis that are added up before the sum is added to a second one: it bounds the error
        of float sums, and on a CPU what stays in the caches. NumPy's OpenBLAS does so too.
    fill : float
        Work-groups per compute unit below which the summed axis is split between groups.
    min_part : int
        Elements along the summed axis that a part must have for that.
    waste : int
        Matrices so small that the tile or panel holds this many times their elements are multiplied by a fused
        reduction instead.
    multiply_add : str
        OpenCL's function for floats: ``fma``, or ``mad`` where that is a function call.
    inline_work : int
        Products of no more multiplications run on the calling thread, where the device can.
    tiles, wide_tiles, widest_tiles : tuple of Tile
        For elements of 4, 8 and 16 bytes; the largest first (tiled).
    total : bool
        Whether that second sum is in registers too, not in the result's memory (tiled).
    band : int
        Tiles below each other that are computed one after the other, so that the columns they share stay in the cache
        (tiled).
    panel, wide_panel : (int, int)
        Rows of the left panel and vectors of the right one: their product is accumulated in registers. The wide one is
        for processors with as many and as wide registers as AVX-512 has (packed).
    block_rows, block_columns : int
        Of the result, per work-group: the left operand's block stays in the second-level cache (packed).
    """

    packed: bool
    vector_bytes: int
    depth: int
    fill: float
    min_part: int
    waste: int
    multiply_add: str = "fma"
    inline_work: int = 0
    tiles: tuple[Tile, ...] = ()
    wide_tiles: tuple[Tile, ...] = ()
    widest_tiles: tuple[Tile, ...] = ()
    total: bool = False
    band: int = 8
    panel: tuple[int, int] = (1, 1)
    wide_panel: tuple[int, int] = (1, 1)
    block_rows: int = 1
    block_columns: int = 1


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
)

GPU = MatmulPolicy(
    packed=False,
    vector_bytes=16,
    depth=256,
    fill=1,
    min_part=256,
    waste=64,
    tiles=(Tile(128, 128, 16, 8, 8), Tile(64, 64, 16, 4, 4, 0.6), Tile(32, 32, 16, 4, 2, 0.3)),
    wide_tiles=(Tile(64, 64, 16, 4, 4), Tile(32, 32, 16, 4, 2, 0.5)),
    widest_tiles=(Tile(64, 64, 8, 4, 4), Tile(32, 32, 8, 4, 2, 0.5)),
)
NVIDIA = GPU

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
)
TINY_FENCED = replace(TINY_GPU, total=True)
