"""Tune eigendecompositions of large matrices: the policy and its values for each kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralPolicy:
    """Parameters of splitting a Hermitian matrix.

    Parameters
    ----------
    base : int
        Rows of the largest parts that rotations diagonalize, all in one launch, instead of a split.
    multiple : int
        Intermediate matrices are padded with zeros to a multiple of this in rows and columns: whole vectors, and
        whole steps of a tile.
    items, groups : int
        Work-items of a work-group, and the maximum of work-groups, in kernels that divide the rows of a matrix.
    """

    base: int
    multiple: int
    items: int
    groups: int


CPU = SpectralPolicy(base=160, multiple=16, items=1, groups=8)

# An H200, 2026-11-26, `eigh`, milliseconds: 2048 float32 with base 48, 64, 96, 128 and 160 65, 60, 53, 60 and 59; with
# 64, 96 and 160 2048 float64 68, 62 and 80, 1024 complex64 52, 48 and 72, 512 float32 12, 11 and 20, 4096 270, 231 and
# 240. Groups and items were not varied.
GPU = replace(CPU, base=96, items=128, groups=256)

# For tests: split matrices of a few rows more than once.
TINY_GPU = SpectralPolicy(base=4, multiple=4, items=4, groups=3)
