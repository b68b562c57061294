"""Tune factorizations of large matrices: the policy and its values for each kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorizationPolicy:
    """Parameters of factorizing a large matrix by blocks.

    Parameters
    ----------
    in_device_memory, in_host_memory : bool
        Whether kernels, rather than LAPACK, factorize on a device with memory of its own, and on a device whose
        buffers are host memory. Both need products of matrices by tiles.
    least_orthogonal : int
        Elements of the smallest matrix whose QR is computed on the device by Cholesky. It takes some 20 launches and
        three reads of a scalar.
    block, block_bytes : int
        Rows of the triangular block of a substitution, a power of two, and the maximum of bytes of its row. A
        work-item holds a row in registers.
    panel, least_panel, panel_bytes : int
        Maximum and minimum of columns of a panel in registers, and its size in bytes. A panel with fewer columns than
        the minimum stays in memory.
    blocked_bytes : int
        Bytes of a column from which a panel updates only its block, and the block updates the trailing matrix.
    tall_panel, inner : int
        Columns of a panel that stays in memory, and the number of them that are factorized before the others are
        updated.
    items : int
        Work-items of a panel with elements of 4 bytes, a power of two. Panels of wider elements have fewer.
    lines : int
        Right sides per work-group, one for each work-item.
    search : str
        The pivot search of a panel's column: by a tree of 'items', or by 'warps' with an instruction of NVIDIA's
        (from compute capability 8.0 on, after a self-test, with 'items' as the fallback). 'emulated': the same
        instruction in OpenCL C, for tests.
    """

    in_device_memory: bool
    in_host_memory: bool
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


# Its buffers are host memory, and LAPACK is faster.
CPU = FactorizationPolicy(
    in_device_memory=False,
    in_host_memory=False,
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
# panels of 8 12.1, of 32 19 to 24; float64, with half as many items, 11.6, twice as many 21.6, panels of 4
# and 8 15.8, of 16 25.3. 8192 float32: 315, 250 to 280 with 1024 items; in memory 121, and 12.6 for 2048. Lines
# per group: 32 9.0, 64 9.1, 128 9.4. Blocks of 32 rows: Cholesky 2.1 and 2.8 instead of 1.9 and 2.4.
# An H200, 2026-11-26, pivots by warps and by a tree of items: `solve` float32 6.5 and 7.6, float64 9.1 and 10.5,
# complex64 15.0 and 16.0; of 512 rows 1.25 and 1.48, 1.37 and 1.54, 1.95 and 2.08.
# An H200, 2026-11-26, panels with unrolled steps and reciprocals: float32 5.4, det 4.6, inv 6.8, float64 7.4.
# Panels of 32 float32 columns in the registers of 512 items: 5.2, and twice the code. With blocks of panels, and
# without: 4096 float32 17.5 and 30, float64 25.6 and 58, complex64 44.5 and 160; 2048 float64 7.4 and 7.9, complex64
# 13.4 and 15.5, complex128 16.8 and 29.7, float32 5.4 both, and 5.8 with blocks from 4 KiB on; 8192 float32 70, and 90
# with panels of fewer than 8 columns in memory.
GPU = replace(CPU, in_device_memory=True, items=1024, lines=32, search="warps")

# For tests: divide matrices of a few rows into many blocks, on devices of both memory models, with both panel forms.
TINY_GPU = replace(
    GPU,
    in_host_memory=True,
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
