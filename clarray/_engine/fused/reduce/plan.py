"""Plan reductions: turn axes into loops, and split the work between work-groups.

Axes are kept (each position is an output) or reduced. Both kinds are sorted into memory order and merged. The innermost
axis decides the form:

rows      The innermost axis is reduced, so the elements of an output are contiguous. The work-items of a group share a
          row, or one work-item loads it in vectors.
columns   The innermost axis is kept, so neighbouring outputs are contiguous. A work-item loops over the reduced axes
          for a vector (or a strip of vectors) of outputs.

If the outputs alone do not fill the device, the reduced axes are split between work-groups. They write their states to
memory, and a second launch combines them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

from clarray._engine.expr.layout import Shape, merge
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ReducePolicy

ROWS = "rows"
COLUMNS = "columns"


class ReduceSpace(NamedTuple):
    """Loops of a reduction, outermost first. Operand 0 is the output, whose strides on reduced axes are 0."""

    kept: Shape
    reduced: Shape
    kept_strides: tuple[Shape, ...]
    reduced_strides: tuple[Shape, ...]
    offsets: Shape
    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducePlan:
    """The values that the source of a reduction is specialised on.

    Parameters
    ----------
    form : str
        ``rows`` or ``columns``.
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along the innermost loop.
    out_access : str
        Access class of the output along the innermost kept axis (columns only).
    kept_rank, reduced_rank : int
    vector : int
        Elements per load.
    explicit : bool
        Whether the source uses vector types.
    loads : int
        Loads per iteration.
    lanes : int
        Work-items that share one output (or one column of outputs) and combine their states in local memory. 0 if their
        number is an argument. The source contains the number if it is 1 or the whole work-group, as for long rows,
        because an argument would cost time only there.
    strip : int
        Vectors of outputs per work-item (columns).
    index : str
        C type of positions.
    aligned, out_aligned : bool
        Whether contiguous inputs are loaded, and the output stored, by aligned vectors.
    spread : bool
        Whether, in scalar code, neighbouring work-items have neighbouring outputs, instead of each one having several
        neighbouring outputs (columns).
    partial : bool
        Whether the reduced axes are split and states are written to memory.
    ascending : bool
        Whether the loops visit the positions of an indexed monoid in order.
    last : bool
        Whether the last work-group of a block combines the states. Otherwise a second launch does.
    policy : ReducePolicy
    rows_per_item : int
        Rows that one work-item reduces at once.
    common : tuple of int
        Numbers of the inputs in memory that are the same in all of these rows.
    products : int
        Vectors of products that are summed in their own dtype before the sum enters a state. 0 if each value enters.
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
    rows_per_item: int = 1
    common: tuple[int, ...] = ()
    products: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskShape:
    """The elements of one iteration of a work-item, and the work-items that share an output.

    Parameters
    ----------
    vector : int
        Elements per load.
    lanes : int
        Work-items per output along the reduced axes.
    strip : int
        Vectors of outputs per work-item (columns).
    loads : int
        Loads per iteration.
    block : int
        Vectors (rows) or rows (columns) of a block that no split divides.
    spread : bool
        Whether neighbouring work-items, in scalar code, have neighbouring outputs (columns).
    """

    vector: int
    lanes: int
    strip: int
    loads: int
    block: int = 1
    spread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The division of a launch's work between work-groups."""

    row_parts: int  # parts of the outer reduced axes (columns: of all reduced axes)
    rows_per_part: int
    inner_parts: int  # parts of the innermost reduced axis (rows only)
    inner_per_part: int
    tasks: int  # blocks * row_parts * inner_parts
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
    """Sort, reverse and merge the axes of a reduction.

    Parameters
    ----------
    shape : tuple of int
        Shape of the reduced expression.
    axes : tuple of int
        The reduced axes.
    operands : tuple of tuple of int
        Strides of each operand, the output first.
    vector, short : int
        Least length of an inner axis for a vector loop, and least length of a row for the form ``rows``.
    ordered : bool
        Whether the order of the elements must not change, because the operation is not associative.
    """
    offsets = [0] * len(operands)
    kept_axes: list[tuple[int, Shape]] = []
    reduced_axes: list[tuple[int, Shape]] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = [o[axis] for o in operands]
        backwards = min(steps) < 0 and max(steps) <= 0
        if axis in axes and not ordered and backwards:
            for k, step in enumerate(steps):
                offsets[k] += step * (extent - 1)
            steps = [-s for s in steps]
        (reduced_axes if axis in axes else kept_axes).append((extent, tuple(steps)))
    kept_axes = _in_memory_order(kept_axes)
    if not ordered:
        reduced_axes = _in_memory_order(reduced_axes)
    if not kept_axes and not reduced_axes:  # one element: the source needs at least one loop
        reduced_axes = [(1, (0,) * len(operands))]
    form = _form(kept_axes, reduced_axes, vector, short)
    return ReduceSpace(
        tuple([extent for extent, _ in kept_axes]),
        tuple([extent for extent, _ in reduced_axes]),
        tuple([tuple([steps[k] for _, steps in kept_axes]) for k in range(len(operands))]),
        tuple([tuple([steps[k] for _, steps in reduced_axes]) for k in range(len(operands))]),
        tuple(offsets),
        form,
    )


def _in_memory_order(axes: list[tuple[int, Shape]]) -> list[tuple[int, Shape]]:
    """Sort and merge axes, the one with the largest strides first."""
    if len(axes) < 2:
        return axes
    # the input with the largest stride decides; equal strides stay in C order because the sort is stable
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
    """Return whether loops over `extents`, outermost first, visit increasing offsets for these strides."""
    steps = [(n, s) for n, s in zip(extents, strides, strict=True) if n > 1]
    inner = all(o[1] > i[1] * (i[0] - 1) for o, i in pairwise(steps))
    return inner and all(s > 0 for _, s in steps)


def rows_per_item(space: ReduceSpace, division: Split, vector: int, policy: ReducePolicy) -> int:
    """Return the number of rows that a work-item reduces at once: several if that leaves enough tasks for all."""
    if space.form != ROWS or division.parts > 1 or policy.work_group > 1 or not space.reduced or not space.kept:
        return 1
    enough = division.blocks >= policy.rows_per_item * division.groups
    return policy.rows_per_item if enough and space.reduced[-1] >= vector else 1


def merge_row_tasks(division: Split, rows: int) -> Split:
    """Return the division, which has one part, with `rows` rows per task."""
    blocks = -(-division.blocks // rows)
    return replace(division, blocks=blocks, tasks=blocks, groups=min(division.groups, blocks))


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least `n`."""
    return 1 << max(0, n - 1).bit_length()


def lanes_for(form: str, outputs: int, inner: int, reduced: int, vector: int, policy: ReducePolicy) -> int:
    """Return the number of work-items per output along the reduced axis."""
    group = policy.work_group
    if outputs == 1:
        return group  # other work-items would idle, and one kernel is for every length
    if form == ROWS:
        return min(group, power_of_two(-(-inner // vector)))
    across = min(group, power_of_two(-(-inner // vector)))
    return min(group // across, power_of_two(reduced))


def split(
    space: ReduceSpace,
    task: TaskShape,
    policy: ReducePolicy,
    units: int,
    sequential: bool,
    longest: int,
) -> Split:
    """Divide a reduction between work-groups.

    The division depends on sizes and policy only, never on timing. So the order of combination, and every bit of a
    float sum, is the same each time. All parts but the last have whole blocks of `task.block`.

    Parameters
    ----------
    units : int
        Compute units of the device.
    sequential : bool
        Whether there is one part because the operation is not associative.
    longest : int
        Parts of many rows have at most twice this number of elements.
    """
    vector, lanes, block = task.vector, task.lanes, task.block
    outputs = prod(space.kept)
    reduced = prod(space.reduced)
    inner = space.reduced[-1] if space.reduced else 1
    side = policy.work_group // lanes
    if space.form == ROWS:
        blocks = -(-outputs // side)
    else:
        width = space.kept[-1] if space.kept else 1
        blocks = (outputs // max(1, width)) * -(-width // (vector * task.strip * side))
    target = units * policy.groups_per_unit
    per_block = max(1, outputs * reduced // max(1, blocks))
    least = policy.min_split if outputs == 1 else policy.least or policy.min_split
    parts = 1 if sequential else max(1, min(-(-target // blocks), per_block // least))
    if not sequential:
        parts = max(parts, -(-reduced // longest))
    rows = reduced if space.form == COLUMNS else reduced // inner
    if space.form == COLUMNS or rows >= parts:
        row_parts, inner_parts = min(parts, max(1, rows)), 1
    else:
        row_parts, inner_parts = max(1, rows), -(-parts // max(1, rows))
    rows_per_part = -(-rows // row_parts)
    if space.form == COLUMNS:
        rows_per_part = -(-rows_per_part // block) * block
    step = vector * lanes * block
    step *= task.loads if inner >= step * task.loads * inner_parts else 1
    share = -(-inner // inner_parts)
    inner_per_part = -(-share // step) * step
    row_parts = -(-rows // rows_per_part)
    inner_parts = -(-inner // inner_per_part) if space.form == ROWS else 1
    tasks = blocks * row_parts * inner_parts
    if policy.chunked:
        # A work-group has a chunk of tasks. Each group has enough elements to be worth a thread.
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
