"""Plan scans along one axis: parallel scans, and the sequential reference.

A line has all elements along the scanned axis at one position of the other axes. A parallel scan has one of two forms:

    rows      the stride along a line is smaller than the stride between lines: a line, or a part of it, is scanned
              in vectors (CPU) or tiles (GPU) with a carry
    columns   the stride between lines is smaller: many neighbouring lines are scanned at once

If there are too few lines to fill the device, they are split into parts. The first launch then computes the state of
each part, and the last launch the results. With look-back, a single launch suffices.

In the sequential reference, one work-item scans a line from its first element to its last, so the operation need not
be associative. On a CPU a work-item scans several neighbouring lines row by row, to read each cache line once. On a
GPU neighbouring work-items scan neighbouring lines.

The same loops reduce the segments of a line (``ufunc.reduceat``), one work-item per segment.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from clarray._engine.algorithms.scan.plan_lookback import block_size, published_states
from clarray._engine.algorithms.scan.policy import ScanPolicy
from clarray._engine.expr.layout import (
    ALIGNMENT,
    INDEX,
    STRIDED,
    UNIT,
    Shape,
    access,
    collapse,
    furthest,
    index_type,
    reach,
)
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

BLOCK = 16  # neighbouring lines per work-item: a cache line of float32


class Lines(NamedTuple):
    """The scanned axis, and the other axes as loops. Operand 0 is the output.

    Parameters
    ----------
    kept : tuple of int
        Extents of the other axes, outermost first.
    strides : tuple of tuple of int
        Strides per operand, in the order of `kept`.
    steps : tuple of int
        Stride per operand along the scanned axis.
    offsets : tuple of int
        Increments of the operands' offsets, from axes that were reversed.
    length : int
        Elements of the input along the scanned axis.
    """

    kept: Shape
    strides: tuple[Shape, ...]
    steps: Shape
    offsets: Shape
    length: int


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The specialization of the sequential kernel.

    Parameters
    ----------
    accesses : tuple of str
        The access class of each distinct input: ``'const'``, ``'index'`` or ``'strided'``.
    kept_rank : int
    block : int
        Neighbouring lines per work-item.
    index : str
        C type of positions.
    segmented : bool
        Whether to reduce segments instead of scanning lines.
    policy : ElementwisePolicy
        The tuning of elementwise kernels, which suits the sequential kernel too.
    """

    accesses: tuple[str, ...]
    kept_rank: int
    block: int
    index: str
    segmented: bool
    policy: ElementwisePolicy


@lru_cache(maxsize=4096)
def line_space(shape: Shape, axis: int, operands: tuple[Shape, ...]) -> Lines:
    """Separate the scanned axis of a shape, and merge the other axes."""
    kept = shape[:axis] + shape[axis + 1 :]
    space = collapse(kept, tuple(o[:axis] + o[axis + 1 :] for o in operands))
    return Lines(space.shape, space.strides, tuple(o[axis] for o in operands), space.offsets, shape[axis])


def scan_plan(
    lines: Lines,
    outputs: int,
    accesses: tuple[str, ...],
    segmented: bool,
    policy: ElementwisePolicy,
) -> ScanPlan:
    """Choose the block of lines and the width of positions.

    Parameters
    ----------
    outputs : int
        Elements of the output along the scanned axis.
    """
    block, length = 1, lines.length
    if policy.chunked and lines.kept:
        between = max((abs(s[-1]) for s in lines.strides[1:]), default=0)
        along = max(map(abs, lines.steps[1:]), default=0)
        block = BLOCK if between < along else 1
    reached = max(
        reach((*lines.kept, n), (*s, step))
        for n, s, step in zip((outputs, *[length] * (len(lines.steps) - 1)), lines.strides, lines.steps, strict=True)
    )
    index = index_type(max(reached, length, outputs), policy.chunked)
    return ScanPlan(accesses, len(lines.kept), block, index, segmented, policy)


def line_blocks(kept: Shape, block: int) -> int:
    """Return the number of blocks of neighbouring lines."""
    blocks = -(-kept[-1] // block) if kept else 1
    for extent in kept[:-1]:
        blocks *= extent
    return blocks


# Parallel scans ----------------------------------------------------------------------------------------

ROWS = "rows"
COLUMNS = "columns"

WHOLE = "whole"  # one launch over whole lines
SPLIT = "split"  # several launches: the states of parts first, then the results
LOOKBACK = "lookback"  # one launch, whose work-groups publish the states of tiles to each other


class ParallelProblem(NamedTuple):
    """A scan to be planned.

    Parameters
    ----------
    lines : Lines
    kinds : sequence of str
        The kind of each distinct input: ``'const'``, ``'index'``, or ``''`` for memory.
    dtypes : sequence of dtype
        The dtypes of the output, of the inputs that are no constants, and of all intermediate values.
    offsets : sequence of int
        The offsets of the output and of those inputs, in elements.
    has_vectors : bool
        Whether the operation exists for vectors.
    element_bytes : int
        Local memory of a GPU per element.
    """

    lines: Lines
    kinds: Sequence[str]
    dtypes: Sequence[np.dtype]
    offsets: Sequence[int]
    has_vectors: bool
    element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelPlan:
    """The specialization of the kernels of a parallel scan.

    Parameters
    ----------
    form : str
        `ROWS` or `COLUMNS`.
    mode : str
        `WHOLE`, `SPLIT` or `LOOKBACK`. On a CPU the first two modes have the same kernels.
    accesses : tuple of str
        The access class of each distinct input along the vectors, or ``'const'``.
    out_access : str
        The access class of the output.
    kept_rank : int
    vector : int
        Elements per load.
    explicit : bool
        Whether the kernel uses vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether contiguous operands are aligned for vector loads.
    stream : bool
        Whether results bypass the caches.
    work_group : int
    policy : ScanPolicy
    """

    form: str
    mode: str
    accesses: tuple[str, ...]
    out_access: str
    kept_rank: int
    vector: int
    explicit: bool
    index: str
    aligned: bool
    stream: bool
    work_group: int
    policy: ScanPolicy

    @property
    def tile(self) -> int:
        """Elements of a line that a work-group scans at a time, in rows on a GPU."""
        return self.work_group * self.policy.loads * self.vector

    @property
    def block(self) -> int:
        """Tiles in a block, for the look-back of rows on a GPU."""
        return block_size(self.work_group, self.policy.wave)

    @property
    def down(self) -> int:
        """Work-items of a group per line, in columns with look-back."""
        return max(1, self.work_group // self.policy.across)


class Partition(NamedTuple):
    """The split of lines into parts, and the resulting units of work.

    Parameters
    ----------
    mode : str
    parts, length : int
        Parts per line, and elements of a part.
    units : int
        Units of work. A unit takes a work-group, or on a CPU one iteration of its loop.
    """

    mode: str
    parts: int
    length: int
    units: int


def is_columnwise(lines: Lines, vector: int) -> bool:
    """Return whether to scan at least `vector` neighbouring lines at once, because they are closer than elements."""
    if not lines.kept or lines.kept[-1] < vector or lines.length < 2:
        return False
    between = [abs(s[-1]) for s in lines.strides]
    along = [abs(step) for step in lines.steps]
    closer = sum(b < a for b, a in zip(between, along, strict=True))
    return between[0] < along[0] and 2 * closer >= len(along)


def parallel_plan(problem: ParallelProblem, policy: ScanPolicy) -> ParallelPlan:
    """Choose the form, the vectors and the C type of positions. `choose_partition` chooses the mode."""
    lines, dtypes, offsets, length = problem.lines, problem.dtypes, problem.offsets, problem.lines.length
    explicit = policy.chunked and problem.has_vectors and all(d.kind != "c" for d in dtypes)
    widest = max(d.itemsize for d in dtypes)
    vector = max(1, min(policy.max_width, policy.vector_bytes // widest)) if explicit or not policy.chunked else 1
    columnwise = is_columnwise(lines, vector if policy.chunked else policy.across)
    out_access, *accesses = _accesses(lines, problem.kinds, columnwise)
    strided = out_access != UNIT and all(a in (STRIDED, "const") for a in accesses)
    if not policy.chunked and (columnwise or strided):
        vector = 1  # so that neighbouring work-items load neighbouring elements
    spaces = [(*s, step) for s, step in zip(lines.strides, lines.steps, strict=True)]
    last_position = furthest((*lines.kept, length), spaces, length)
    aligned = all(_starts_aligned(o, s, d, ALIGNMENT) for o, s, d in zip(offsets, spaces, dtypes, strict=False))
    store = vector * dtypes[0].itemsize
    stream = (
        explicit
        and 0 < policy.stream_bytes <= dtypes[0].itemsize * length * prod(lines.kept)
        and store in (32, 64)
        and _starts_aligned(offsets[0], spaces[0], dtypes[0], store)
    )
    group = policy.work_group
    if not policy.chunked:
        policy = _fit_loads(policy, vector * problem.element_bytes)
        needed = lines.kept[-1] if columnwise else -(-length // (policy.loads * vector))
        group = max(min(policy.least_group, group), min(group, 1 << (needed - 1).bit_length()))
    return ParallelPlan(
        form=COLUMNS if columnwise else ROWS,
        mode=WHOLE,
        accesses=tuple(accesses),
        out_access=out_access,
        kept_rank=len(lines.kept),
        vector=vector,
        explicit=explicit,
        index=index_type(last_position, policy.chunked),
        aligned=aligned and not explicit,
        stream=stream,
        work_group=group,
        policy=policy,
    )


def _fit_loads(policy: ScanPolicy, nbytes: int) -> ScanPolicy:
    """Return the policy with at most as many loads of `nbytes` bytes as fit the local memory."""

    def max_loads(group: int) -> int:
        vectors = max(1, policy.local_bytes // (group * nbytes))
        return vectors - (vectors % 2 == 0)  # an odd number avoids bank conflicts

    single = policy.single_group or policy.work_group
    return replace(
        policy,
        loads=min(policy.loads, max_loads(policy.work_group)),
        single_loads=min(policy.single_loads, max_loads(single)),
    )


def _accesses(lines: Lines, kinds: Sequence[str], columnwise: bool) -> list[str]:
    """Return the access classes of the output and of each input along the inner loop."""
    steps = [s[-1] for s in lines.strides] if columnwise else lines.steps
    input_steps = iter(steps[1:])
    return [access(steps[0]), *("const" if k == "const" else _access_class(k, next(input_steps)) for k in kinds)]


def _access_class(kind: str, step: int) -> str:
    return INDEX if kind == "index" else access(step)


def _starts_aligned(offset: int, strides: Shape, dtype: np.dtype, alignment: int) -> bool:
    """Return whether every contiguous run of elements starts at an aligned address."""
    steps = [s for s in strides if s != 1]
    return all(v * dtype.itemsize % alignment == 0 for v in (offset, *steps))


def choose_partition(plan: ParallelPlan, kept: Shape, length: int, units: int, lookback: bool) -> Partition:
    """Choose the split of lines into parts.

    Parameters
    ----------
    length : int
        Elements along the scanned axis.
    units : int
        Compute units of the device.
    lookback : bool
        Whether a single pass is allowed.
    """
    policy = plan.policy
    lines = 1
    for extent in kept:
        lines *= extent
    groups = units * policy.groups_per_unit
    whole_units = lines
    quantum = plan.vector
    if plan.form == COLUMNS:
        side = policy.strip * plan.vector if policy.chunked else plan.work_group
        whole_units = lines // kept[-1] * -(-kept[-1] // side)
        quantum = 1
    elif not policy.chunked:
        quantum = plan.tile
    parts = max(1, min(-(-groups // whole_units), length // policy.min_part))
    if parts == 1 or 2 * whole_units >= groups:
        return Partition(WHOLE, 1, length, whole_units)
    if lookback and _may_look_back(plan, length):
        return _lookback_partition(plan, kept, lines, length)
    part = -(-length // parts)
    part = -(-part // quantum) * quantum
    parts = -(-length // part)
    return Partition(SPLIT if parts > 1 else WHOLE, parts, part, whole_units * parts)


def single_pass(plan: ParallelPlan) -> ParallelPlan:
    """Return the plan with the tile size of a single pass, if it has a size of its own."""
    policy = plan.policy
    if plan.form == COLUMNS or policy.chunked:
        return plan
    group = policy.single_group or plan.work_group
    return replace(plan, work_group=group, policy=replace(policy, loads=policy.single_loads or policy.loads))


def _may_look_back(plan: ParallelPlan, length: int) -> bool:
    if plan.form == COLUMNS:
        return not plan.policy.chunked
    return length >= 4 * plan.policy.tile if plan.policy.chunked else plan.work_group >= 2 * plan.block


def _lookback_partition(plan: ParallelPlan, kept: Shape, lines: int, length: int) -> Partition:
    if plan.form == ROWS:
        tile = plan.policy.tile if plan.policy.chunked else plan.tile
        tiles = -(-length // tile)
        return Partition(LOOKBACK, tiles, tile, lines * tiles)
    rows = plan.down * plan.policy.rows
    tiles = -(-length // rows)
    across = plan.work_group // plan.down
    return Partition(LOOKBACK, tiles, rows, lines // kept[-1] * -(-kept[-1] // across) * tiles)


def tile_state_words(plan: ParallelPlan, kept: Shape, tiles: int, state: int) -> tuple[int, int]:
    """Return the number of 64-bit words for the published states: in total, and of one line.

    Parameters
    ----------
    tiles : int
        Tiles per line, or in columns per strip of lines.
    state : int
        Words of a state.
    """
    lines = 1
    for extent in kept:
        lines *= extent
    if plan.form == COLUMNS:
        across = plan.work_group // plan.down
        strips = lines // kept[-1] * -(-kept[-1] // across)
        return 2 + strips * tiles * across * state, 0
    region = published_states(tiles, plan.block) * state
    return 2 + lines * region, region
