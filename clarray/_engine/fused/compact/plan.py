"""Plan compactions: copy the elements that a mask selects, in C order.

A compaction has two passes over the same contiguous parts of the elements. The first pass counts the selected elements
of each part. The second pass writes them after those of the earlier parts. One pass is enough if work-groups look back,
or if there is only one part.

    elements   | part 0    | part 1    | part 2    |        1: counts  2  3  1
    selected     x   x       x x     x     x
    output     x x x x x x                                  2: part p starts at the sum of the counts before p
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarray._engine.expr.layout import STRIDED, Shape, index_type, merge
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.fused.compact.policy import CompactPolicy

WORD = 64  # elements whose flags make one word of the first pass's bits
ITEMS = 32  # elements of a tile per work-item, at most: as many flags as an int has
LANES = 8  # elements that a CPU keeps or drops at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPlan:
    """The values that the source of a compaction is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'``, or its access class.
    vector : int
        Elements per load.
    explicit : bool
        Whether the source uses vector types.
    index : str
        C type of positions inside the operands.
    aligned : bool
        Whether contiguous operands may be loaded by aligned vectors.
    loads : int
        Loads per work-item and tile.
    single_pass : bool
        Whether there is one pass: the work-groups look back, or there is one part (chunks).
    positional : bool
        Whether the values are the positions themselves (tiles only).
    policy : CompactPolicy
    """

    accesses: tuple[str, ...]
    vector: int
    explicit: bool
    index: str
    aligned: bool
    loads: int
    single_pass: bool
    positional: bool
    policy: CompactPolicy

    @property
    def tile(self) -> int:
        """Elements that a work-group loads at once."""
        return self.policy.work_group * self.vector * self.loads


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOperands:
    """The operands of a compaction.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'``, or its access class.
    loaded, computed : sequence of dtype
        Dtypes of the inputs in memory, and of all computed values, the result first.
    largest_position : int
        The largest position inside an operand.
    aligned : bool
        Whether the inputs in memory start aligned for vectors.
    """

    accesses: tuple[str, ...]
    loaded: Sequence[np.dtype]
    computed: Sequence[np.dtype]
    largest_position: int
    aligned: bool


def flat_step(shape: Shape, strides: Shape) -> int | None:
    """Return the stride between neighbours in C order if all neighbours have the same one, else None."""
    axes = [(n, (s,)) for n, s in zip(shape, strides, strict=True) if n != 1]
    merged = merge(axes)
    if len(merged) > 1:
        return None
    return merged[0][1][0] if merged else 0


def compact_plan(
    operands: CompactOperands,
    single_pass: bool,
    positional: bool,
    policy: CompactPolicy,
) -> CompactPlan:
    """Choose the vectors of a compaction.

    Parameters
    ----------
    single_pass : bool
        Whether there is one pass, because the work-groups may look back or there is one part.
    positional : bool
        Whether the values are the positions themselves.
    """
    accesses, loaded, computed = operands.accesses, operands.loaded, operands.computed
    index = index_type(operands.largest_position, policy.chunked)
    if policy.chunked:
        complex_ = any(d.kind == "c" for d in (*loaded, *computed))
        return CompactPlan(
            accesses=accesses,
            vector=1 if complex_ else LANES,
            explicit=not complex_,
            index=index,
            aligned=False,
            loads=1,
            single_pass=single_pass,
            positional=False,
            policy=policy,
        )
    widest = max((d.itemsize for d in loaded), default=4)
    vector = max(1, min(16, policy.vector_bytes // widest))
    if STRIDED in accesses:
        vector = 1
    loads = max(1, min(policy.loads, ITEMS // vector))
    local_itemsize = 2 if positional else max(4, computed[0].itemsize)
    most_elements = policy.local_bytes // local_itemsize // policy.work_group
    while vector * loads > most_elements and vector * loads > 1:
        vector, loads = (vector, loads // 2) if loads > 1 else (vector // 2, 1)
    loads = min(loads, 4 if vector * 32 > 255 else 8)
    return CompactPlan(
        accesses=accesses,
        vector=vector,
        explicit=False,
        index=index,
        aligned=operands.aligned and vector > 1,
        loads=loads,
        single_pass=single_pass,
        positional=positional,
        policy=policy,
    )


def parts(n: int, nbytes: int, units: int, plan: CompactPlan) -> int:
    """Return the number of contiguous parts of the elements, one per work-group."""
    policy = plan.policy
    quantum = WORD if policy.chunked else plan.tile
    most_parts = min(units * policy.groups_per_unit, -(-n // quantum), nbytes // policy.chunk_bytes)
    return max(1, most_parts)
