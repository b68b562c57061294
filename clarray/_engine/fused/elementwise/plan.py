"""The plan of an elementwise kernel: what its source is specialised on, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.tuning.policy import ElementwisePolicy
from clarray._engine.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clarray._engine.expr.layout import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementwisePlan:
    """One elementwise kernel.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along the inner loop.
    out_access : str
        Access class of the output.
    rank : int
        Loops; 0 for a flat kernel, whose operands are all contiguous or constant.
    vector : int
        Elements per load.
    explicit : bool
        Written in vector types.
    index : str
        C type of positions: ``'int'`` or ``'long'``.
    aligned : bool
        Whether all contiguous operands may be loaded by aligned vectors.
    stream : bool
        Whether the output bypasses the caches.
    tile_axis : int
        0, or the axis (1: next to the innermost) along which some operands are contiguous: the
        kernel then works on tiles of it and the innermost axis.
    staged : tuple of bool
        Per distinct input: whether it goes through local memory in a tiled kernel.
    """

    accesses: tuple[str, ...]
    out_access: str
    rank: int
    vector: int
    explicit: bool
    index: str
    aligned: bool
    stream: bool
    policy: ElementwisePolicy
    tile_axis: int = 0
    staged: tuple[bool, ...] = ()


TILE = 32  # side of a tile: as many elements as neighbouring work-items load at once
STAGED_LIMIT = 5  # tiles of 16-byte elements that fit the 48 KiB of local memory most GPUs have


def tile_axis(shape: Shape, strides: Sequence[Shape]) -> int:
    """The axis, counted from the innermost, that a transposed input is contiguous along, or 0.

    Parameters
    ----------
    shape : tuple of int
        Loops, outermost first.
    strides : sequence of tuple of int
        Of the inputs in memory.
    """
    last = len(shape) - 1
    for axis in range(last):
        large = shape[axis] >= TILE // 2 and shape[last] >= TILE // 2
        if large and any(s[axis] == 1 and s[last] not in (0, 1) for s in strides):
            return last - axis
    return 0


def groups(size: int, nbytes: int, units: int, policy: ElementwisePolicy) -> int:
    """Work-groups for a launch over `size` work units that moves `nbytes` bytes."""
    most = units * policy.groups_per_unit
    if policy.chunked:
        return max(1, min(most, size, nbytes // policy.chunk_bytes))
    return max(1, min(most, -(-size // policy.work_group), 2**31 // policy.work_group - 1))
