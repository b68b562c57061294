"""Tuning of eigenvalues of large matrices: the policy, and its values per kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralPolicy:
    """How a Hermitian matrix is split.

    Parameters
    ----------
    base : int
        Rows of the largest blocks that are not split but diagonalized by rotations, all in one launch, if that takes
        them.
    multiple : int
        Rows and columns of what is between are so many more, zeros, that they are multiples of this: whole vectors, and
        whole steps of a tile.
    items, groups : int
        Work-items of a group, and most groups, that look at a matrix: each has rows of it.
    """

    base: int
    multiple: int
    items: int
    groups: int


CPU = SpectralPolicy(base=160, multiple=16, items=1, groups=8)

# An H100, 2026-11-25, `eigh` of 2048 float32, milliseconds: base 96 102, 128 108, 160 80, 192 80, 256 168; of 512
# 21, 25, 25, 25 and 122. Bases together in blocks of up to 384 rows 80, of up to 768 82, of all 80, of none 99. Groups
# and items were not varied.
GPU = replace(CPU, items=128, groups=256)

# For tests: matrices of a few rows are split more than once.
TINY_GPU = SpectralPolicy(base=4, multiple=4, items=4, groups=3)
