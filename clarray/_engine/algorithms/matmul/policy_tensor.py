"""Tiles of float64 products on NVIDIA's tensor cores: what a warp multiplies by one instruction, and what is tried."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass

WARP = 32  # work-items that run one instruction together


@dataclass(frozen=True, slots=True)
class Instruction:
    """A product of small matrices by one instruction of a warp, ``mma.sync.aligned.m16n8k8`` and its like.

    Parameters
    ----------
    rows, columns, depth : int
        Of the result, and along the summed axis.
    capabilities : tuple of (int, int)
        Compute capabilities of the devices where it is quicker than what work-items multiply each for itself. Others
        have the instruction too, and do it in the time of sixty-four.
    emulated : bool
        In OpenCL C, through local memory: the same elements in the same work-items, for tests on any device.
    """

    rows: int
    columns: int
    depth: int
    capabilities: tuple[tuple[int, int], ...] = ()
    emulated: bool = False

    @property
    def name(self) -> str:
        return f"m{self.rows}n{self.columns}k{self.depth}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpTile:
    """The part of a product that one work-group computes, each of its warps a part of that by instructions.

    Parameters
    ----------
    rows, columns : int
        Of the result, per work-group; multiples of 16.
    depth : int
        Elements along the summed axis that are staged in local memory at a time: 4, 8, 16 or 32.
    warp_rows, warp_columns : int
        Of the result, per warp: what its work-items accumulate in registers, each a 32nd.
    instruction : Instruction
    speed : float
        Measured arithmetic per second of a device full of such tiles, that of the quickest being 1.
    stages : int
        Steps that are in local memory at once; two, where they are not `copied`.
    copied : bool
        Whether steps are copied past the registers (``cp.async``), where nothing has to be converted.
    total : bool
        Whether the second sum is in registers too, not in the result's memory.
    """

    rows: int
    columns: int
    depth: int
    warp_rows: int
    warp_columns: int
    instruction: Instruction
    speed: float = 1.0
    stages: int = 2
    copied: bool = False
    total: bool = False

    @property
    def work_items(self) -> int:
        return (self.rows // self.warp_rows) * (self.columns // self.warp_columns) * WARP

    @property
    def name(self) -> str:
        size = f"{self.rows}x{self.columns}x{self.depth} by {self.warp_rows}x{self.warp_columns}"
        kinds = "".join([", copied"] * self.copied + [", total"] * self.total)
        return f"{size}, {self.instruction.name}, {self.stages} stages{kinds}"

    def local_bytes(self, itemsize: int) -> int:
        """Local memory of a work-group."""
        shared = self.stages * self.depth * (self.rows + self.columns)
        if self.instruction.emulated:
            one = self.instruction
            shared += self.work_items // WARP * one.depth * (one.rows + one.columns)
        return itemsize * shared


def warp_tile(
    tile: tuple[int, int, int],
    warp: tuple[int, int],
    instruction: Instruction,
    speed: float = 1.0,
    stages: int = 2,
    copied: bool = False,
    total: bool = False,
) -> WarpTile:
    """A tile by its rows, columns and depth, and a warp's rows and columns."""
    rows, columns, depth = tile
    warp_rows, warp_columns = warp
    return WarpTile(
        rows=rows,
        columns=columns,
        depth=depth,
        warp_rows=warp_rows,
        warp_columns=warp_columns,
        instruction=instruction,
        speed=speed,
        stages=stages,
        copied=copied,
        total=total,
    )


HOPPER = ((9, 0),)
AMPERE = ((8, 0), (9, 0))
M16K4 = Instruction(16, 8, 4, HOPPER)
M16K8 = Instruction(16, 8, 8, HOPPER)
M16K16 = Instruction(16, 8, 16, HOPPER)
M8K4 = Instruction(8, 8, 4, AMPERE)


def _named(*tiles: WarpTile) -> dict[str, WarpTile]:
    return {tile.name: tile for tile in tiles}


# What products fill a device with, to be timed: benchmarks/tensor_tiles.py. The local memory of a work-group is 48 KiB,
# which 128 x 128 x 8 in three stages fill to the last byte; a work-item has 252 of its 255 registers in use there.
LARGE = _named(
    warp_tile((128, 128, 8), (64, 32), M16K4, stages=3, copied=True),
    warp_tile((128, 128, 8), (32, 64), M16K4, stages=3, copied=True),
    warp_tile((128, 128, 8), (64, 32), M16K8, stages=3, copied=True),
    warp_tile((128, 128, 8), (32, 64), M16K8, stages=3, copied=True),
    warp_tile((128, 128, 8), (32, 32), M16K4, stages=3, copied=True),
    warp_tile((128, 128, 8), (32, 64), M16K4, stages=2, copied=True),
    warp_tile((128, 128, 8), (32, 64), M16K4),
    warp_tile((128, 128, 8), (64, 32), M16K4),
    warp_tile((128, 64, 16), (32, 32), M16K4, total=True),
    warp_tile((128, 64, 16), (64, 32), M16K4, stages=2, copied=True),
    warp_tile((128, 64, 8), (64, 32), M16K4, stages=4, copied=True),
    warp_tile((64, 128, 8), (32, 64), M16K4, stages=4, copied=True),
    warp_tile((128, 64, 8), (32, 32), M16K4, stages=4, copied=True, total=True),
    warp_tile((64, 64, 16), (32, 32), M16K4, total=True),
    warp_tile((64, 64, 16), (32, 32), M16K4),
    warp_tile((64, 64, 16), (32, 32), M16K8, total=True),
    warp_tile((64, 64, 16), (32, 32), M16K4, stages=3, copied=True, total=True),
    warp_tile((64, 64, 8), (32, 32), M16K4, stages=4, copied=True, total=True),
    warp_tile((32, 32, 16), (16, 16), M16K4, total=True),
    warp_tile((32, 32, 16), (16, 16), M16K8, total=True),
    warp_tile((32, 32, 16), (16, 16), M16K4, stages=3, copied=True, total=True),
    warp_tile((128, 128, 8), (32, 64), M8K4, stages=3, copied=True),
    warp_tile((64, 64, 16), (32, 32), M8K4, total=True),
)

# For tests: every stride, edge and stage is reached by arrays of a few elements.
TINY_TENSOR = (
    warp_tile((32, 32, 8), (32, 16), Instruction(16, 8, 8, emulated=True)),
    warp_tile((16, 16, 4), (8, 16), Instruction(8, 8, 4, emulated=True), 0.5),
)
TINY_STAGED = (
    warp_tile((32, 16, 16), (16, 16), Instruction(16, 8, 16, emulated=True), stages=3, copied=True, total=True),
    warp_tile((16, 16, 8), (16, 16), Instruction(16, 8, 4, emulated=True), 0.5, stages=4, copied=True),
)

__all__ = ["LARGE", "TINY_STAGED", "TINY_TENSOR", "WARP", "Instruction", "WarpTile", "warp_tile"]
