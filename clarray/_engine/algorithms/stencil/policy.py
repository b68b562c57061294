"""Tune stencils: the policy and its measured values for each kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilPolicy:
    """Parameters of a stencil.

    Parameters
    ----------
    chunked : bool
        Whether a work-item computes a contiguous chunk of tiles, staged in its cache (CPU), or a work-group computes
        a tile, staged in local memory (GPU).
    vector_bytes, max_width, inline_bytes
        As in `ElementwisePolicy`.
    blocks : int
        Vectors of neighbouring outputs that a work-item accumulates together (CPU).
    work_group : int
        Work-items per work-group.
    items : int
        Outputs per work-item (GPU).
    groups_per_unit : int
        Work-groups per compute unit (CPU).
    tile_bytes : int
        Bytes of a tile with its halo, limited by a core's cache or by local memory.
    network : int
        Taps of the largest window whose order statistics are computed by a sorting network. Larger windows are
        searched bit by bit.
    joined : int
        Last axes without shifts and with an extent below this are merged with the axis before.
    unrolled : int
        Longest line of weights that the source is specialized on (GPU). Its values slide through registers. 0: none.
    line_tiles : tuple of (int, int)
        Heights and widths of the tiles of such lines. The first tile that fits `line_bytes` is used.
    line_items : int
        Outputs of a column per work-item.
    line_bytes : int
        Local memory of such a tile.
    """

    chunked: bool
    vector_bytes: int
    max_width: int
    inline_bytes: int
    blocks: int
    work_group: int
    items: int
    groups_per_unit: int
    tile_bytes: int
    network: int
    unrolled: int
    joined: int
    line_tiles: tuple[tuple[int, int], ...]
    line_items: int
    line_bytes: int


# AMD EPYC Zen 5, 2 cores, PoCL 3.0, 2026-11-21: gaussian_filter of 4096 x 4096 float32, sigma 2: 14 ms, 23 x SciPy.
CPU = StencilPolicy(
    chunked=True,
    vector_bytes=64,
    max_width=16,
    inline_bytes=1 << 16,
    blocks=4,
    work_group=1,
    items=0,
    groups_per_unit=8,
    tile_bytes=1 << 18,
    network=49,
    unrolled=0,
    joined=16,
    line_tiles=(),
    line_items=0,
    line_bytes=0,
)
# NVIDIA H200, 2026-11-21: gaussian_filter of 4096 x 4096 float32, sigma 2: 0.085 ms, with one pass per axis 0.37;
# alternatives in docs/engineering/stencil.md.
GPU = StencilPolicy(
    chunked=False,
    vector_bytes=4,
    max_width=1,
    inline_bytes=0,
    blocks=1,
    work_group=256,
    items=8,
    groups_per_unit=0,
    tile_bytes=32768,
    network=49,
    unrolled=65,
    joined=16,
    line_tiles=((32, 64), (16, 64), (16, 32), (8, 32)),
    line_items=8,
    line_bytes=49152,
)
NVIDIA = GPU

# For tests: arrays of a few elements reach every pass, boundary and tail.
TINY_CPU = replace(
    CPU, vector_bytes=16, max_width=4, inline_bytes=0, blocks=2, groups_per_unit=2, tile_bytes=256, network=5
)
TINY_GPU = replace(
    GPU,
    work_group=8,
    items=2,
    tile_bytes=512,
    network=5,
    unrolled=5,
    line_tiles=((4, 8), (2, 4)),
    line_items=2,
    line_bytes=1024,
)
TINY_FENCED = TINY_GPU
