"""Tune factorizations of small matrices: the policy and its values for each kind of device."""

from __future__ import annotations

from dataclasses import replace

from clarray._engine.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMatricesPolicy:
    """Parameters of factorizing a stack of small matrices.

    Parameters
    ----------
    most : int
        Rows of the largest matrices that kernels factorize.
    most_shared, least_shared : int
        The same on a device whose buffers are host memory, where LAPACK is the alternative, and the minimum of
        elements of a stack there.
    item_bytes : int
        Size of the largest matrices that a work-item factorizes alone. A work-group shares a larger one.
    vector_bytes : int
        Size of a work-item's vectors, with an element of a different matrix in each lane (CPU). 0: no vectors.
    unrolled : bool
        Whether a work-item's matrix is in registers, with a kernel for each size (GPU).
    work_group : int
        Work-items per work-group if each has its own matrices.
    items : tuple of (int, int)
        Pairs of rows and the number of work-items, a power of two, that share a matrix of at most so many rows.
    team_items : tuple of (int, int)
        The same for orthogonal factorizations, with columns instead of rows. `work_group` limits the teams.
    local_bytes : int
        Maximum of local memory of a work-group. Larger matrices stay in global memory.
    widened : bool
        Compute float32 in float64, as NumPy does, if the device supports it.
    """

    most: int
    most_shared: int
    least_shared: int
    item_bytes: int
    vector_bytes: int
    unrolled: bool
    work_group: int
    items: tuple[tuple[int, int], ...]
    team_items: tuple[tuple[int, int], ...]
    local_bytes: int
    widened: bool


# Two busy cores of a Zen 5, PoCL, 2026-11-23, float64, NumPy's time over ours, solve / inv / det / cholesky: 100,000 of
# 8 x 8 3.5 / 5.8 / 4.4 / 2.9 (det 25 ms), of 4 x 4 28 / 14 / 16 / 9; 10,000 of 16 x 16 3.3 / 3.7 / 4.5 / 1.6, of
# 20 x 20 2.1 / 2.7 / 3.2 / 2.3; 2,500 of 20 x 20 complex128, shared by work-groups, 0.4 / 0.7 / 0.4 / 0.7. Lanes
# filled through an array in memory took 2 to 6 times as long. A call costs 30 us: NumPy is faster for fewer than 64
# of 8 x 8, and has nothing to compile.
CPU = SmallMatricesPolicy(
    most=128,
    most_shared=16,
    least_shared=1 << 14,
    item_bytes=16 * 16 * 16,
    vector_bytes=64,
    unrolled=False,
    work_group=1,
    items=((128, 16),),
    team_items=((128, 1),),
    local_bytes=1 << 15,
    widened=True,
)

# Limited by registers and 48 KiB of local memory. An H100 (2026-11-26), inv of 100,000 of 8 x 8 float32, in ms:
# 0.144, in work-groups of 32 0.135, of 128 0.159; shared by teams of 4 to 16 0.51 to 0.55
# (others: docs/engineering/linalg.md).
GPU = SmallMatricesPolicy(
    most=128,
    most_shared=0,
    least_shared=0,
    item_bytes=512,
    vector_bytes=0,
    unrolled=True,
    work_group=64,
    items=((16, 32), (32, 64), (64, 128), (128, 256)),
    team_items=((4, 4), (8, 8), (32, 32), (64, 128), (128, 256)),
    local_bytes=48 << 10,
    widened=False,
)

# For tests: matrices of a few rows reach every form, on devices of both memory models.
TINY_CPU = replace(CPU, most=24, most_shared=24, least_shared=0, item_bytes=9 * 8, vector_bytes=16, items=((24, 4),))
TINY_GPU = replace(
    GPU,
    most=24,
    most_shared=24,
    least_shared=0,
    item_bytes=9 * 8,
    work_group=4,
    items=((6, 2), (24, 8)),
    team_items=((3, 2), (24, 8)),
    local_bytes=2 << 10,
)
