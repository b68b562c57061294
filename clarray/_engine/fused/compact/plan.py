"""The plan of a compaction: which elements a mask selects, one after the other in C order.

Two passes, each over the same contiguous parts of the elements: the first counts what each part
keeps, the second writes it behind what the parts before keep. Or one: where work-groups look back, and where
there is one part only.

    elements   | part 0    | part 1    | part 2    |        1: counts  2  3  1
    kept         x   x       x x     x     x
    output     x x x x x x                                  2: part p from the sum of counts before p
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarray._engine.expr.layout import STRIDED, Shape, index_type, merge
from clarray._engine.fused.compact.policy import CompactPolicy
from clarray._engine.values import dataclass

WORD = 64  # elements whose flags make one word of the first pass's bits
ITEMS = 32  # elements of a tile per work-item, at most: as many flags as an int has
LANES = 8  # elements that a CPU keeps or drops at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPlan:
    """What the source of a compaction is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'``, or its access class.
    vector : int
        Elements per load.
    explicit : bool
        Written in vector types.
    index : str
        C type of positions inside the operands.
    aligned : bool
        Whether contiguous operands may be loaded by aligned vectors.
    loads : int
        Loads per work-item and tile.
    once : bool
        Whether every element is read once: the work-groups look back, or, of chunks, there is one part.
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
    once: bool
    positional: bool
    policy: CompactPolicy

    @property
    def tile(self) -> int:
        """Elements that a work-group takes at once."""
        return self.policy.work_group * self.vector * self.loads


def flat_step(shape: Shape, strides: Shape) -> int | None:
    """The distance between neighbours in C order where it is the same everywhere, else None."""
    axes = [(n, (s,)) for n, s in zip(shape, strides, strict=True) if n != 1]
    merged = merge(axes)
    if len(merged) > 1:
        return None
    return merged[0][1][0] if merged else 0


def compact_plan(
    accesses: tuple[str, ...],
    loaded: Sequence[np.dtype],
    computed: Sequence[np.dtype],
    furthest: int,
    aligned: bool,
    once: bool,
    positional: bool,
    policy: CompactPolicy,
) -> CompactPlan:
    """Choose the vectors.

    Parameters
    ----------
    loaded, computed : sequence of dtype
        Of the inputs in memory, and of everything that is computed, the result first.
    furthest : int
        The largest position inside an operand.
    once : bool
        Whether the work-groups may look back, or there is one part.
    positional : bool
        Whether the values are positions.
    """
    index = index_type(furthest, policy.chunked)
    if policy.chunked:
        complex_ = any(d.kind == "c" for d in (*loaded, *computed))
        return CompactPlan(
            accesses=accesses,
            vector=1 if complex_ else LANES,
            explicit=not complex_,
            index=index,
            aligned=False,
            loads=1,
            once=once,
            positional=False,
            policy=policy,
        )
    widest = max((d.itemsize for d in loaded), default=4)
    vector = max(1, min(16, policy.vector_bytes // widest))
    if STRIDED in accesses:
        vector = 1
    loads = max(1, min(policy.loads, ITEMS // vector))
    held = 2 if positional else max(4, computed[0].itemsize)
    most = policy.local_bytes // held // policy.work_group
    while vector * loads > most and vector * loads > 1:
        vector, loads = (vector, loads // 2) if loads > 1 else (vector // 2, 1)
    loads = min(loads, 4 if vector * 32 > 255 else 8)
    return CompactPlan(
        accesses=accesses,
        vector=vector,
        explicit=False,
        index=index,
        aligned=aligned and vector > 1,
        loads=loads,
        once=once,
        positional=positional,
        policy=policy,
    )


def parts(n: int, nbytes: int, units: int, plan: CompactPlan) -> int:
    """Contiguous parts that the elements are cut into, one per work-group."""
    policy = plan.policy
    quantum = WORD if policy.chunked else plan.tile
    most = min(units * policy.groups_per_unit, -(-n // quantum), nbytes // policy.chunk_bytes)
    return max(1, most)
