"""Plan elementwise kernels: the values that their sources are specialised on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clarray._engine.expr.layout import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementwisePlan:
    """The values that the source of an elementwise kernel is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along the inner loop.
    out_accesses : tuple of str
        Access class of each output.
    rank : int
        Number of loops. 0 for a flat kernel, whose operands are all contiguous or constant.
    vector : int
        Elements per load.
    explicit : bool
        Whether the source uses vector types.
    index : str
        C type of positions: ``'int'`` or ``'long'``.
    aligned : bool
        Whether all contiguous operands may be loaded by aligned vectors.
    stream : bool
        Whether the outputs bypass the caches.
    tile_axis : int
        0, or the axis (1: next to the innermost) along which some operands are contiguous. The kernel then works on
        tiles of this axis and the innermost one.
    staged : tuple of bool
        Per distinct input: whether a tiled kernel loads it through local memory.
    """

    accesses: tuple[str, ...]
    out_accesses: tuple[str, ...]
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
    """Return the axis, counted from the innermost, along which a transposed input is contiguous, or 0.

    Parameters
    ----------
    shape : tuple of int
        Loops, outermost first.
    strides : sequence of tuple of int
        Strides of the inputs in memory.
    """
    last = len(shape) - 1
    for axis in range(last):
        large = shape[axis] >= TILE // 2 and shape[last] >= TILE // 2
        if large and any(s[axis] == 1 and s[last] not in (0, 1) for s in strides):
            return last - axis
    return 0


def groups(size: int, nbytes: int, units: int, policy: ElementwisePolicy) -> int:
    """Return the number of work-groups of a launch over `size` work units that moves `nbytes` bytes."""
    most = units * policy.groups_per_unit
    if policy.chunked:
        return max(1, min(most, size, nbytes // policy.chunk_bytes))
    return max(1, min(most, -(-size // policy.work_group), 2**31 // policy.work_group - 1))
