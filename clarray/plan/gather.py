"""The plan of gathers and scatters: elements named by numbers, moved as plain bits.

The result's axes are those of the list of numbers between the other axes of the array, which are
merged where they can be. Of the axes after the list the innermost is a loop of its own, so that what
lies together is copied together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from clarray.plan.elementwise import index_type
from clarray.plan.layout import merge, reach
from clarray.plan.tuning.policy import ElementwisePolicy

NEIGHBOURS = 4  # of a list, that a work-item takes at once: as many loads in flight


class GatherSpace(NamedTuple):
    """The loops of a gather, outermost first, with the strides of the array."""

    before: tuple[tuple[int, int], ...]
    chosen: tuple[tuple[int, int], ...]
    after: tuple[tuple[int, int], ...]
    listed: int  # numbers in the list

    @property
    def size(self) -> int:
        """Elements of the result."""
        return self.listed * prod(n for n, _ in (*self.before, *self.after))


@dataclass(frozen=True, slots=True)
class GatherPlan:
    """What the source of a gather is specialised on.

    Parameters
    ----------
    op : str
        ``'gather'``, ``'scatter'``, ``'mark'``, ``'claim'``, ``'settle'`` or ``'check'``; see the template.
    mode : str
        What is done with a number out of bounds: ``'raise'`` notes it, ``'wrap'``, ``'clip'``;
        ``'reversed'`` where negative ones count from the end and ``'known'`` where none is.
    accesses : tuple of str
        Per distinct input of the numbers: ``'const'``, ``'index'`` or its access class.
    itemsize : int
        Bytes of an element.
    before_rank, chosen_rank, after_rank : int
    vector : int
        Numbers that a work-item takes at once, where no axes come after the list.
    close : bool
        Whether elements of the innermost axis after the list follow each other.
    whole : bool
        Whether a vector of results may be stored at once.
    single : bool
        Whether one element is scattered everywhere.
    index : str
        C type of positions.
    policy : ElementwisePolicy
        A gather has no other needs than an elementwise kernel.
    """

    op: str
    mode: str
    accesses: tuple[str, ...]
    itemsize: int
    before_rank: int
    chosen_rank: int
    after_rank: int
    vector: int
    close: bool
    whole: bool
    single: bool
    index: str
    policy: ElementwisePolicy


def gather_space(
    before: Sequence[tuple[int, int]], chosen: Sequence[tuple[int, int]],
    after: Sequence[tuple[int, int]], listed: int,
) -> GatherSpace:  # fmt: skip
    """Merge neighbouring axes, given as extents and strides."""
    return GatherSpace(_merged(before), _merged(chosen), _merged(after), listed)


def _merged(axes: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    found = merge([(n, (s,)) for n, s in axes if n != 1])
    return tuple((n, steps[0]) for n, steps in found)


def gather_plan(
    op: str, mode: str, accesses: tuple[str, ...], space: GatherSpace, itemsize: int,
    aligned: bool, single: bool, policy: ElementwisePolicy,
) -> GatherPlan:  # fmt: skip
    """Choose the vectors and the width of positions.

    Parameters
    ----------
    aligned : bool
        Whether the result starts where a vector may.
    """
    rows = bool(space.after)
    vector = 1 if rows or "strided" in accesses else NEIGHBOURS
    axes = (*space.before, *space.chosen, *space.after)
    furthest = max(
        reach(tuple(n for n, _ in axes), tuple(s for _, s in axes)), space.size, space.listed,
        prod(n for n, _ in space.chosen),
    )  # fmt: skip
    whole = aligned and not policy.chunked and itemsize * vector <= 16 and (
        not space.before or space.listed % vector == 0
    )
    index = index_type(furthest, policy.chunked)
    return GatherPlan(
        op, mode, accesses, itemsize, len(space.before), len(space.chosen),
        max(0, len(space.after) - 1) if rows else -1, vector,
        rows and space.after[-1][1] == 1, whole, single, index, policy,
    )  # fmt: skip


def work(space: GatherSpace, plan: GatherPlan) -> int:
    """Units of work of a launch."""
    if plan.after_rank < 0:
        return prod(n for n, _ in space.before) * -(-space.listed // plan.vector)
    return space.size // space.after[-1][0] if plan.policy.chunked else space.size


def sizes(space: GatherSpace, plan: GatherPlan) -> list[int]:
    """Arguments after the data, in the order of `codegen.gather`."""
    found = [work(space, plan), space.listed]
    if plan.after_rank < 0:
        found.append(-(-space.listed // plan.vector))
        outer: tuple[tuple[int, int], ...] = ()
    else:
        found += space.after[-1]
        outer = tuple(reversed(space.after[:-1]))
    for group in (tuple(reversed(space.before)), tuple(reversed(space.chosen)), outer):
        for n, s in group:
            found += [n, s]
    return found
