"""The plan of a reduction: how its axes become loops, and how the work is split.

Axes are sorted into kept (each position is an output) and reduced ones, put into the order of the
memory and merged. The innermost axis decides the form:

rows      It is reduced: an output's elements lie together. Work-items of a group go along
          the row, or one work-item takes it in vectors.
columns   It is kept: neighbouring outputs lie together. A work-item walks down the reduced axes
          with a vector (or a strip of vectors) of outputs side by side.

Where outputs alone do not fill the device, the reduced axes are split between work-groups, whose
states go to memory and are combined by a second launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

from clarray._engine.expr.layout import Shape, merge
from clarray._engine.tuning.policy import ReducePolicy
from clarray._engine.values import dataclass

ROWS = "rows"
COLUMNS = "columns"


class ReduceSpace(NamedTuple):
    """Loops of a reduction, outermost first; operand 0 is the output (stride 0 on reduced axes)."""

    kept: Shape
    reduced: Shape
    kept_strides: tuple[Shape, ...]
    reduced_strides: tuple[Shape, ...]
    offsets: Shape
    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducePlan:
    """What the source of a reduction is specialised on.

    Parameters
    ----------
    form : str
        ``rows`` or ``columns``.
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along the innermost loop.
    out_access : str
        Class of the output along the innermost kept axis (columns only).
    kept_rank, reduced_rank : int
    vector : int
        Elements per load.
    explicit : bool
        Written in vector types.
    loads : int
        Loads per iteration.
    lanes : int
        Work-items that share one output (or one column of outputs), combined in local memory; 0 where their number is
        an argument. It is written into the source where one works alone, and where all of a group work together, as
        for long rows: only there does it take time.
    strip : int
        Vectors of outputs per work-item (columns).
    index : str
        C type of positions.
    aligned, out_aligned : bool
        Whether contiguous inputs are loaded, and the output stored, by aligned vectors.
    spread : bool
        Whether the outputs of one work-item, in scalar code, are as far apart as there are others beside (columns).
    partial : bool
        Whether states go to memory, the reduced axes being split.
    ascending : bool
        Whether the loops go through the positions of an indexed monoid in order.
    last : bool
        Whether the last work-group of a block combines them; otherwise a second launch does.
    policy : ReducePolicy
    abreast : int
        Rows that one work-item goes along at once.
    common : tuple of int
        Which of the inputs in memory are the same in all of those.
    products : int
        Vectors of products that are summed in their own dtype before the sum enters a state; 0 where each value enters.
    """

    form: str
    accesses: tuple[str, ...]
    out_access: str
    kept_rank: int
    reduced_rank: int
    vector: int
    explicit: bool
    loads: int
    lanes: int
    strip: int
    index: str
    aligned: bool
    out_aligned: bool
    spread: bool
    partial: bool
    ascending: bool
    last: bool
    policy: ReducePolicy
    abreast: int = 1
    common: tuple[int, ...] = ()
    products: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How the work of a launch is divided."""

    row_parts: int  # splits of the outer reduced axes (columns: of all of them)
    rows_per_part: int
    inner_parts: int  # splits of the innermost reduced axis (rows only)
    inner_per_part: int
    tasks: int  # per output block: row_parts * inner_parts, times the number of blocks
    groups: int
    blocks: int

    @property
    def parts(self) -> int:
        return self.row_parts * self.inner_parts


@lru_cache(maxsize=4096)
def reduce_space(
    shape: Shape,
    axes: tuple[int, ...],
    operands: tuple[Shape, ...],
    vector: int,
    short: int,
    ordered: bool,
) -> ReduceSpace:
    """Sort, turn round and merge the axes of a reduction.

    Parameters
    ----------
    shape : tuple of int
        Shape of what is reduced.
    axes : tuple of int
        The reduced axes.
    operands : tuple of tuple of int
        Strides per operand, the output first.
    vector, short : int
        Lengths from which an inner axis is worth a vector loop, and from which a row is.
    ordered : bool
        Keep the order of the elements (the operation is not associative).
    """
    offsets = [0] * len(operands)
    kept: list[tuple[int, Shape]] = []
    reduced: list[tuple[int, Shape]] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = [o[axis] for o in operands]
        backwards = any(s < 0 for s in steps) and all(s <= 0 for s in steps)
        if axis in axes and not ordered and backwards:
            for k, step in enumerate(steps):
                offsets[k] += step * (extent - 1)
            steps = [-s for s in steps]
        (reduced if axis in axes else kept).append((extent, tuple(steps)))
    kept = _in_memory_order(kept)
    if not ordered:
        reduced = _in_memory_order(reduced)
    if not kept and not reduced:  # one element; the loops want an axis
        reduced = [(1, (0,) * len(operands))]
    form = _form(kept, reduced, vector, short)
    return ReduceSpace(
        tuple(a[0] for a in kept),
        tuple(a[0] for a in reduced),
        tuple(tuple(a[1][k] for a in kept) for k in range(len(operands))),
        tuple(tuple(a[1][k] for a in reduced) for k in range(len(operands))),
        tuple(offsets),
        form,
    )


def _in_memory_order(axes: list[tuple[int, Shape]]) -> list[tuple[int, Shape]]:
    # the farthest-reaching input decides; ties keep C order because sort is stable
    return merge(sorted(axes, key=lambda a: -max(map(abs, a[1][1:]), default=0)))


def _form(kept: Sequence[tuple[int, Shape]], reduced: Sequence[tuple[int, Shape]], vector: int, short: int) -> str:
    if not kept:
        return ROWS
    if not reduced:
        return COLUMNS
    inner_kept = max(map(abs, kept[-1][1][1:]), default=0)
    inner_reduced = max(map(abs, reduced[-1][1][1:]), default=0)
    if inner_kept <= inner_reduced:  # outputs lie together
        return COLUMNS if kept[-1][0] >= vector or reduced[-1][0] < short else ROWS
    rows = 1
    for extent, _ in reduced:
        rows *= extent
    return COLUMNS if rows < short and kept[-1][0] >= vector else ROWS


def ascending(extents: Shape, strides: Shape) -> bool:
    """Whether loops over `extents`, outermost first, meet the values of such strides in order."""
    steps = [(n, s) for n, s in zip(extents, strides, strict=True) if n > 1]
    inner = all(o[1] > i[1] * (i[0] - 1) for o, i in pairwise(steps))
    return inner and all(s > 0 for _, s in steps)


def rows_abreast(space: ReduceSpace, divided: Split, vector: int, policy: ReducePolicy) -> int:
    """How many rows a work-item goes along at once: several, where there are enough of them for all."""
    if space.form != ROWS or divided.parts > 1 or policy.work_group > 1 or not space.reduced or not space.kept:
        return 1
    enough = divided.blocks >= policy.rows_per_item * divided.groups
    return policy.rows_per_item if enough and space.reduced[-1] >= vector else 1


def tasks_abreast(divided: Split, rows: int) -> Split:
    """The same, of one part, with so many rows in a task."""
    blocks = -(-divided.blocks // rows)
    return replace(divided, blocks=blocks, tasks=blocks, groups=min(divided.groups, blocks))


def power_of_two(n: int) -> int:
    """The smallest power of two that is at least `n`."""
    return 1 << max(0, n - 1).bit_length()


def lanes_for(form: str, outputs: int, inner: int, reduced: int, vector: int, policy: ReducePolicy) -> int:
    """Work-items per output along the reduced axis."""
    group = policy.work_group
    if outputs == 1:
        return group  # the others would idle, and one kernel does for every length
    if form == ROWS:
        return min(group, power_of_two(-(-inner // vector)))
    across = min(group, power_of_two(-(-inner // vector)))
    return min(group // across, power_of_two(reduced))


def split(
    space: ReduceSpace,
    plan_form: str,
    vector: int,
    lanes: int,
    strip: int,
    loads: int,
    policy: ReducePolicy,
    units: int,
    sequential: bool,
    most: int,
    block: int = 1,
) -> Split:
    """Divide a reduction between work-groups; parts of many rows have at most twice `most` elements.

    However many there are, they hold whole blocks of `block` vectors (rows) or rows (columns), but for the last of
    them. The result depends on sizes and policy only, never on timing, so that the order of combination, and with it
    every bit of a float sum, is the same each time.
    """
    outputs = prod(space.kept)
    reduced = prod(space.reduced)
    inner = space.reduced[-1] if space.reduced else 1
    side = policy.work_group // lanes
    if plan_form == ROWS:
        blocks = -(-outputs // side)
    else:
        width = space.kept[-1] if space.kept else 1
        blocks = (outputs // max(1, width)) * -(-width // (vector * strip * side))
    target = units * policy.groups_per_unit
    per_block = max(1, outputs * reduced // max(1, blocks))
    least = policy.min_split if outputs == 1 else policy.least or policy.min_split
    parts = 1 if sequential else max(1, min(-(-target // blocks), per_block // least))
    if not sequential:
        parts = max(parts, -(-reduced // most))
    rows = reduced if plan_form == COLUMNS else reduced // inner
    if plan_form == COLUMNS or rows >= parts:
        row_parts, inner_parts = min(parts, max(1, rows)), 1
    else:
        row_parts, inner_parts = max(1, rows), -(-parts // max(1, rows))
    rows_per_part = -(-rows // row_parts)
    if plan_form == COLUMNS:
        rows_per_part = -(-rows_per_part // block) * block
    step = vector * lanes * block
    step *= loads if inner >= step * loads * inner_parts else 1
    share = -(-inner // inner_parts)
    inner_per_part = -(-share // step) * step
    row_parts = -(-rows // rows_per_part)
    inner_parts = -(-inner // inner_per_part) if plan_form == ROWS else 1
    tasks = blocks * row_parts * inner_parts
    if policy.chunked:
        # a chunk of tasks per work-group: no more groups than have something worth a thread
        useful = max(1, outputs * reduced // least)
        groups = max(1, min(target, tasks, useful))
    else:
        groups = min(tasks, 2**31 // policy.work_group - 1)
    return Split(
        row_parts=row_parts,
        rows_per_part=rows_per_part,
        inner_parts=inner_parts,
        inner_per_part=inner_per_part,
        tasks=tasks,
        groups=groups,
        blocks=blocks,
    )
