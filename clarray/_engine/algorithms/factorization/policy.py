"""Tuning of factorizations of large matrices: the policy, and its values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorizationPolicy:
    """Who factorizes a large matrix, and in which blocks.

    Parameters
    ----------
    taken, shared : bool
        Whether the device does: where it has memory of its own, and where it works in host memory, and LAPACK is the
        alternative. It multiplies matrices in tiles then.
    least_orthogonal : int
        Elements of the smallest matrix whose QR the device does by Cholesky's factors: the way has some 20 launches and
        three looks at a number.
    block, block_bytes : int
        Rows of a triangular block that a work-group solves by, a power of two: so many, and no more than make a row of
        so many bytes, which is what a work-item has in registers.
    panel, least_panel, panel_bytes : int
        Columns that are factorized with pivots before the rest of the matrix is updated, in registers: the most, and as
        many as a panel of so many bytes has. Of which there would be fewer than the least, it stays in memory.
    blocked_bytes : int
        Bytes of a column from which on panels update the block that they are of, and that the rest.
    tall_panel, inner : int
        Columns of a panel that stays in memory, and how many of them are factorized before the others are updated.
    items : int
        Work-items that share a panel of elements of 4 bytes, a power of two; fewer have wider ones in registers.
    lines : int
        Right sides per work-group, each a work-item's.
    search : str
        How the largest of a panel's column is found: by a tree of 'items', or by 'warps' and an instruction of
        NVIDIA's (architectures from 8.0 on, where a trial shows that it works; a tree elsewhere). 'emulated': by that
        instruction in OpenCL C, for tests.
    """

    taken: bool
    shared: bool
    least_orthogonal: int
    block: int
    block_bytes: int
    panel: int
    least_panel: int
    panel_bytes: int
    blocked_bytes: int
    tall_panel: int
    inner: int
    items: int
    lines: int
    search: str


# It works in host memory, where LAPACK is quicker.
CPU = FactorizationPolicy(
    taken=False,
    shared=False,
    least_orthogonal=1 << 15,
    block=64,
    block_bytes=512,
    panel=16,
    least_panel=4,
    panel_bytes=1 << 17,
    blocked_bytes=1 << 13,
    tall_panel=32,
    inner=8,
    items=64,
    lines=16,
    search="items",
)

# An H200, 2026-11-23, milliseconds, `solve` of 2048 with 16 right sides: float32 7.9, with 512 items 9.1, 256 11.5,
# panels of 8 12.1, of 32 19 to 24; float64, whose rows half as many items share, 11.6, twice as many 21.6, panels of 4
# and 8 15.8, of 16 25.3. 8192 float32: 315, 250 to 280 with 1024 items; in memory 121, which takes 12.6 for 2048. Lines
# per group: 32 9.0, 64 9.1, 128 9.4. Blocks of 32 rows: Cholesky 2.1 and 2.8 instead of 1.9 and 2.4.
# An H200, 2026-11-26, pivots by warps and by a tree of items: `solve` float32 6.5 and 7.6, float64 9.1 and 10.5,
# complex64 15.0 and 16.0; of 512 rows 1.25 and 1.48, 1.37 and 1.54, 1.95 and 2.08.
# An H200, 2026-11-26, panels whose steps are written out, with reciprocals: float32 5.4, det 4.6, inv 6.8, float64 7.4.
# Panels of 32 float32 columns where 512 items have room for them: 5.2, and twice the code. With blocks of panels, and
# without: 4096 float32 17.5 and 30, float64 25.6 and 58, complex64 44.5 and 160; 2048 float64 7.4 and 7.9, complex64
# 13.4 and 15.5, complex128 16.8 and 29.7, float32 5.4 both, and 5.8 with blocks from 4 KiB on; 8192 float32 70, and 90
# where panels of fewer than 8 columns stay in memory.
GPU = replace(CPU, taken=True, items=1024, lines=32, search="warps")

# For tests: matrices of a few rows have many blocks, on devices of both memory models, and panels of both forms.
TINY_GPU = replace(
    GPU,
    shared=True,
    least_orthogonal=0,
    block=4,
    panel=2,
    least_panel=1,
    panel_bytes=4 * 40,
    blocked_bytes=4 * 12,
    tall_panel=4,
    inner=2,
    items=8,
    lines=2,
    search="items",
)
