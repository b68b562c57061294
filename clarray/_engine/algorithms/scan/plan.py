"""The plan of a scan along one axis: in parallel, or as the slow sequential reference does it.

In parallel, lines (one for each position of the other axes) are taken in one of two forms:

    rows      the elements of a line are closer together than the lines: a line, or a part of one, goes
              through vectors (CPU) or tiles (GPU) with a carry
    columns   neighbouring lines are neighbours in memory: many lines are carried side by side

Lines are cut into parts where there are too few of them. The first launch then gives the state of each
part, and the last one the results; on devices whose policy has a look-back one launch does it all.

The reference: every position of the other axes is a line, and one work-item goes along a line from its first
element to its last, so any operation may be scanned, associative or not. Lines that lie side by
side in memory are taken several at a time on a CPU, row by row, so that each row's cache line is
read once; on a GPU neighbouring work-items take them.

The same loops reduce the segments of a line (``ufunc.reduceat``): there a work-item takes one
segment.
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
    lines: Lines,
    length: int,
    outputs: int,
    accesses: tuple[str, ...],
    segmented: bool,
    policy: ElementwisePolicy,
) -> ScanPlan:
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
    reached = max(
        reach((*lines.kept, n), (*s, step))
        for n, s, step in zip((outputs, *[length] * (len(lines.steps) - 1)), lines.strides, lines.steps, strict=True)
    )
    index = index_type(max(reached, length, outputs), policy.chunked)
    return ScanPlan(accesses, len(lines.kept), block, index, segmented, policy)


def line_blocks(kept: Shape, block: int) -> int:
    """Blocks of lines side by side."""
    found = -(-kept[-1] // block) if kept else 1
    for extent in kept[:-1]:
        found *= extent
    return found


# In parallel ----------------------------------------------------------------------------------------

ROWS = "rows"
COLUMNS = "columns"

WHOLE = "whole"  # one launch: lines are not cut
SPLIT = "split"  # the states of parts first
LOOKBACK = "lookback"  # one launch, whose work-groups tell each other


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelPlan:
    """What the sources of a parallel scan are specialised on.

    Parameters
    ----------
    form : str
        `ROWS` or `COLUMNS`.
    mode : str
        `WHOLE`, `SPLIT` or `LOOKBACK`; on a CPU the first two have the same source.
    accesses : tuple of str
        Per distinct input: ``'const'`` or its access class along the vectors.
    out_access : str
    kept_rank : int
    vector : int
        Elements per load.
    explicit : bool
        Written in vector types.
    index : str
        C type of positions.
    aligned : bool
        Whether contiguous operands may be loaded by aligned vectors.
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
        """Elements of a line that a work-group takes at a time, in rows on a GPU."""
        return self.work_group * self.policy.loads * self.vector

    @property
    def block(self) -> int:
        """Tiles in a block, where the tiles of rows look back on a GPU."""
        return block_size(self.work_group, self.policy.wave)

    @property
    def down(self) -> int:
        """Work-items of a group that share a line, in columns with look-back."""
        return max(1, self.work_group // self.policy.across)


class Partition(NamedTuple):
    """How the lines are cut, and the launch that follows from it.

    Parameters
    ----------
    mode : str
    parts, length : int
        Parts per line, and elements of a part.
    units : int
        Pieces of work: what a work-group (CPU: a turn of its loop) takes at a time.
    """

    mode: str
    parts: int
    length: int
    units: int


def is_beside(lines: Lines, length: int, vector: int) -> bool:
    """Whether lines are to be taken side by side: neighbours are closer than a line's elements."""
    if not lines.kept or lines.kept[-1] < vector or length < 2:
        return False
    beside = [abs(s[-1]) for s in lines.strides]
    along = [abs(step) for step in lines.steps]
    nearer = sum(b < a for b, a in zip(beside, along, strict=True))
    return beside[0] < along[0] and 2 * nearer >= len(along)


def parallel_plan(
    lines: Lines,
    length: int,
    kinds: Sequence[str],
    dtypes: Sequence[np.dtype],
    offsets: Sequence[int],
    vectors: bool,
    held: int,
    policy: ScanPolicy,
) -> ParallelPlan:
    """Choose form, vectors and positions; the mode is chosen by `cut`.

    Parameters
    ----------
    kinds : sequence of str
        Per distinct input: ``'const'``, ``'index'`` or ``''`` for memory.
    dtypes : sequence of dtype
        Of the output, of the inputs that are no constants, and of everything computed.
    offsets : sequence of int
        Of the output and of those inputs, in elements.
    vectors : bool
        Whether the operation exists for vectors.
    held : int
        Bytes of an element in the local memory of a GPU.
    """
    explicit = policy.chunked and vectors and all(d.kind != "c" for d in dtypes)
    widest = max(d.itemsize for d in dtypes)
    vector = max(1, min(policy.max_width, policy.vector_bytes // widest)) if explicit or not policy.chunked else 1
    beside = is_beside(lines, length, vector if policy.chunked else policy.across)
    out_access, *accesses = _accesses(lines, kinds, beside)
    apart = out_access != UNIT and all(a in (STRIDED, "const") for a in accesses)
    if not policy.chunked and (beside or apart):
        vector = 1  # neighbouring work-items take neighbouring elements
    spaces = [(*s, step) for s, step in zip(lines.strides, lines.steps, strict=True)]
    reached = furthest((*lines.kept, length), spaces, length)
    whole = all(_starts_aligned(o, s, d, ALIGNMENT) for o, s, d in zip(offsets, spaces, dtypes, strict=False))
    store = vector * dtypes[0].itemsize
    stream = (
        explicit
        and 0 < policy.stream_bytes <= dtypes[0].itemsize * length * prod(lines.kept)
        and store in (32, 64)
        and _starts_aligned(offsets[0], spaces[0], dtypes[0], store)
    )
    group = policy.work_group
    if not policy.chunked:
        policy = _fitted(policy, vector * held)
        wanted = lines.kept[-1] if beside else -(-length // (policy.loads * vector))
        group = max(min(policy.least_group, group), min(group, 1 << (wanted - 1).bit_length()))
    return ParallelPlan(
        form=COLUMNS if beside else ROWS,
        mode=WHOLE,
        accesses=tuple(accesses),
        out_access=out_access,
        kept_rank=len(lines.kept),
        vector=vector,
        explicit=explicit,
        index=index_type(reached, policy.chunked),
        aligned=whole and not explicit,
        stream=stream,
        work_group=group,
        policy=policy,
    )


def _fitted(policy: ScanPolicy, nbytes: int) -> ScanPolicy:
    """The policy with as many loads, of so many bytes each, as local memory has room for."""

    def most(group: int) -> int:
        vectors = max(1, policy.local_bytes // (group * nbytes))
        return vectors - (vectors % 2 == 0)  # runs lie an odd number of vectors apart

    single = policy.single_group or policy.work_group
    return replace(
        policy, loads=min(policy.loads, most(policy.work_group)), single_loads=min(policy.single_loads, most(single))
    )


def _accesses(lines: Lines, kinds: Sequence[str], beside: bool) -> list[str]:
    """Access classes along the inner loop: of the output, and of each input."""
    steps = [s[-1] for s in lines.strides] if beside else lines.steps
    placed = iter(steps[1:])
    return [access(steps[0]), *("const" if k == "const" else _class(k, next(placed)) for k in kinds)]


def _class(kind: str, step: int) -> str:
    return INDEX if kind == "index" else access(step)


def _starts_aligned(offset: int, strides: Shape, dtype: np.dtype, alignment: int) -> bool:
    """Whether every run of neighbouring elements starts where an aligned vector may."""
    steps = [s for s in strides if s != 1]
    return all(v * dtype.itemsize % alignment == 0 for v in (offset, *steps))


def partition(plan: ParallelPlan, kept: Shape, length: int, units: int, lookback: bool) -> Partition:
    """Choose how lines are cut.

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
    wanted = units * policy.groups_per_unit
    pieces = lines
    quantum = plan.vector
    if plan.form == COLUMNS:
        side = policy.strip * plan.vector if policy.chunked else plan.work_group
        pieces = lines // kept[-1] * -(-kept[-1] // side)
        quantum = 1
    elif not policy.chunked:
        quantum = plan.tile
    parts = max(1, min(-(-wanted // pieces), length // policy.min_part))
    if parts == 1 or 2 * pieces >= wanted:
        return Partition(WHOLE, 1, length, pieces)
    if lookback and _may_look_back(plan, length):
        return _lookback_partition(plan, kept, lines, length)
    part = -(-length // parts)
    part = -(-part // quantum) * quantum
    parts = -(-length // part)
    return Partition(SPLIT if parts > 1 else WHOLE, parts, part, pieces * parts)


def single_pass(plan: ParallelPlan) -> ParallelPlan:
    """The plan with the tiles of a single pass, where they are others."""
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
    """64-bit words that the work-groups of a look-back tell each other in: all, and those of one line.

    Parameters
    ----------
    tiles : int
        Per line, or in columns per strip of lines.
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
