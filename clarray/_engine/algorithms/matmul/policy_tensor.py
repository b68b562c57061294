"""Define the tiles of float64 products on NVIDIA's tensor cores: instructions, warps, and candidates for tuning."""

from __future__ import annotations

from clarray._engine.fast_dataclass import dataclass

WARP = 32  # work-items per warp


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a warp that multiplies small matrices, such as ``mma.sync.aligned.m16n8k8``.

    Parameters
    ----------
    rows, columns, depth : int
        Rows and columns of the result, and elements of the summed axis.
    capabilities : tuple of (int, int)
        Compute capabilities of the devices on which the instruction is faster than multiplications by work-items.
        Other devices take 64 times as long for it.
    emulated : bool
        Whether OpenCL C emulates the instruction through local memory, with the same elements in the same work-items.
        For tests on any device.
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
    """The part of a product that one work-group computes on tensor cores.

    Parameters
    ----------
    rows, columns : int
        Rows and columns of the result per work-group. Multiples of 16.
    depth : int
        Elements of the summed axis per step through local memory: 4, 8, 16 or 32.
    warp_rows, warp_columns : int
        Rows and columns of the result per warp. Each work-item accumulates a 32nd of them in registers.
    instruction : Instruction
    speed : float
        Measured throughput of a device full of these tiles, relative to the fastest tile.
    stages : int
        Steps in local memory at a time. Two unless `copied`.
    copied : bool
        Whether steps are copied asynchronously past the registers (``cp.async``). This converts no elements.
    total : bool
        Whether the second sum is in registers, not in the memory of the result.
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
        """Return the local memory of a work-group."""
        shared = self.stages * self.depth * (self.rows + self.columns)
        if self.instruction.emulated:
            instruction = self.instruction
            shared += self.work_items // WARP * instruction.depth * (instruction.rows + instruction.columns)
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
    """Return a tile. `tile` has its rows, columns and depth, and `warp` the rows and columns of a warp."""
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


def _by_name(*tiles: WarpTile) -> dict[str, WarpTile]:
    return {tile.name: tile for tile in tiles}


# Candidates for large products, timed by benchmarks/tensor_tiles.py. Tiles of 128 x 128 x 8 in three stages use all
# 48 KiB of local memory of a work-group, and 252 of the 255 registers of a work-item.
LARGE = _by_name(
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

# For tests: arrays of a few elements reach every stride, edge and stage.
TINY_TENSOR = (
    warp_tile((32, 32, 8), (32, 16), Instruction(16, 8, 8, emulated=True)),
    warp_tile((16, 16, 4), (8, 16), Instruction(8, 8, 4, emulated=True), 0.5),
)
TINY_STAGED = (
    warp_tile((32, 16, 16), (16, 16), Instruction(16, 8, 16, emulated=True), stages=3, copied=True, total=True),
    warp_tile((16, 16, 8), (16, 16), Instruction(16, 8, 4, emulated=True), 0.5, stages=4, copied=True),
)

__all__ = ["LARGE", "TINY_STAGED", "TINY_TENSOR", "WARP", "Instruction", "WarpTile", "warp_tile"]
