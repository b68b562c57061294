"""The plan of a scan along one axis, as the slow sequential twin does it.

Every position of the other axes is a line, and one work-item goes along a line from its first
element to its last, so any operation may be scanned, associative or not. Lines that lie side by
side in memory are taken several at a time on a CPU, row by row, so that each row's cache line is
read once; on a GPU neighbouring work-items take them.

The same loops reduce the segments of a line (``ufunc.reduceat``): there a work-item takes one
segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from clarray.plan.elementwise import index_type
from clarray.plan.layout import Shape, collapse, reach
from clarray.plan.tuning.policy import ElementwisePolicy

BLOCK = 16  # lines side by side: a cache line of float32


class Lines(NamedTuple):
    """The axes other than the scanned one as loops; operand 0 is the output.

    Parameters
    ----------
    kept : tuple of int
        Extents, outermost first.
    strides : tuple of tuple of int
        Per operand, in the order of `kept`.
    steps : tuple of int
        Per operand: its stride along the scanned axis.
    offsets : tuple of int
        Added to each operand's offset, where an axis was turned round.
    """

    kept: Shape
    strides: tuple[Shape, ...]
    steps: Shape
    offsets: Shape


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """What the source of a scan is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'`` or ``'strided'``.
    kept_rank : int
    block : int
        Lines that a work-item takes side by side.
    index : str
        C type of positions.
    segmented : bool
        Whether segments are reduced rather than lines scanned.
    policy : ElementwisePolicy
        A scan has no other needs than an elementwise kernel.
    """

    accesses: tuple[str, ...]
    kept_rank: int
    block: int
    index: str
    segmented: bool
    policy: ElementwisePolicy


@lru_cache(maxsize=4096)
def line_space(shape: Shape, axis: int, operands: tuple[Shape, ...]) -> Lines:
    """Take the scanned axis out of a shape and merge the others."""
    kept = shape[:axis] + shape[axis + 1 :]
    space = collapse(kept, tuple(o[:axis] + o[axis + 1 :] for o in operands))
    return Lines(space.shape, space.strides, tuple(o[axis] for o in operands), space.offsets)


def scan_plan(
    lines: Lines, length: int, outputs: int, accesses: tuple[str, ...], segmented: bool,
    policy: ElementwisePolicy,
) -> ScanPlan:  # fmt: skip
    """Choose the block of lines and the width of positions.

    Parameters
    ----------
    length, outputs : int
        Elements along the scanned axis of the input and of the output.
    """
    block = 1
    if policy.chunked and lines.kept:
        beside = max((abs(s[-1]) for s in lines.strides[1:]), default=0)
        along = max(map(abs, lines.steps[1:]), default=0)
        block = BLOCK if beside < along else 1
    furthest = max(
        reach((*lines.kept, n), (*s, step))
        for n, s, step in zip(
            (outputs, *[length] * (len(lines.steps) - 1)), lines.strides, lines.steps, strict=True
        )
    )
    index = index_type(max(furthest, length, outputs), policy.chunked)
    return ScanPlan(accesses, len(lines.kept), block, index, segmented, policy)


def line_blocks(kept: Shape, block: int) -> int:
    """Blocks of lines side by side."""
    found = -(-kept[-1] // block) if kept else 1
    for extent in kept[:-1]:
        found *= extent
    return found
