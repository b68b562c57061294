"""The plan of gathers and scatters: elements named by numbers, moved as plain bits.

The result's axes are those of the list of numbers between the other axes of the array, which are
merged where they can be. Of the axes after the list the innermost is a loop of its own, so that what
lies together is copied together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from clarray._engine.expr.layout import INDEX, STEPPED, STRIDED, ZERO, Shape, access, index_type, merge, reach
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy, Policies

MOST = 2**31 - 1  # positions in a list that 32 bits hold
WORD = 16  # bytes of the widest word that elements are moved in

Axis = tuple[int, int]


class GatherSpace(NamedTuple):
    """The loops of a gather, outermost first: extents with strides of the array, or of the list's inputs."""

    before: tuple[Axis, ...]
    lists: tuple[tuple[int, Shape], ...]
    chosen: tuple[Axis, ...]
    after: tuple[Axis, ...]

    @property
    def listed(self) -> int:
        """How many numbers the list has."""
        return prod(n for n, _ in self.lists)

    @property
    def size(self) -> int:
        """Elements of the result."""
        return self.listed * prod(n for n, _ in (*self.before, *self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherPlan:
    """What the source of a gather is specialised on.

    Parameters
    ----------
    op : str
        ``'gather'``, ``'scatter'``, ``'resolve'``, ``'check'``; on a CPU also ``'own'``, on a GPU ``'rise'``,
        ``'mark'``, ``'claim'`` and ``'settle'``, ``'offer'`` and ``'collect'``; see the templates.
    mode : str
        What is done with a number out of bounds: ``'raise'`` notes it, ``'wrap'``, ``'clip'``;
        ``'reversed'`` where negative ones count from the end and ``'known'`` where none is.
    accesses : tuple of str
        Per distinct input of the numbers: ``'const'``, ``'index'`` or its access class.
    itemsize : int
        Bytes of an element.
    before_rank, list_rank, chosen_rank, after_rank : int
        Loops; `list_rank` is 0 for a list in even steps, `after_rank` counts all but the innermost, and is -1 for none.
    vector : int
        On a CPU: numbers that a work-item takes at once, where no axes come after the list. On a GPU:
        elements that it takes at once.
    close : bool
        Whether elements of the innermost axis after the list follow each other.
    single : bool
        Whether one element is scattered everywhere.
    wide : bool
        Whether positions in the list are noted in 64 bits.
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
    list_rank: int
    chosen_rank: int
    after_rank: int
    vector: int
    close: bool
    single: bool
    wide: bool
    index: str
    policy: ElementwisePolicy

    @property
    def divides(self) -> bool:
        """Whether positions are divided by means of factors: see `divisor`."""
        return self.index == "int"


def gather_space(
    before: Sequence[Axis],
    lists: Sequence[tuple[int, Shape]],
    chosen: Sequence[Axis],
    after: Sequence[Axis],
) -> GatherSpace:
    """Merge neighbouring axes, given as extents and strides."""
    listed = merge([axis for axis in lists if axis[0] != 1])
    return GatherSpace(_merged(before), tuple(listed), _merged(chosen), _merged(after))


def _merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    found = merge([(n, (s,)) for n, s in axes if n != 1])
    return tuple((n, steps[0]) for n, steps in found)


def widening(space: GatherSpace, itemsize: int, starts: Sequence[int]) -> int:
    """How many neighbouring elements can be moved as one word.

    Parameters
    ----------
    starts : sequence of int
        Offsets of the two arrays, in elements.
    """
    if not space.after or space.after[-1][1] != 1:
        return 1
    steps = [s for _, s in (*space.before, *space.chosen, *space.after[:-1])]
    words = max(1, WORD // itemsize)
    while any(x % words for x in (space.after[-1][0], *starts, *steps)):
        words //= 2
    return words


def widened(space: GatherSpace, words: int) -> GatherSpace:
    """The loops over words of so many elements."""
    if words == 1:
        return space
    *outer, (n, _) = space.after
    shrunk = [[(m, s // words) for m, s in axes] for axes in (space.before, space.chosen, outer)]
    return gather_space(shrunk[0], space.lists, shrunk[1], [*shrunk[2], (n // words, 1)])


def gather_plan(
    op: str,
    mode: str,
    kinds: Sequence[str],
    space: GatherSpace,
    itemsize: int,
    single: bool,
    policies: Policies,
) -> GatherPlan:
    """Choose how many elements are taken at once, and the width of positions.

    Parameters
    ----------
    kinds : sequence of str
        Per distinct input of the numbers: ``'const'``, ``'index'`` or ``'memory'``.
    """
    rows, even = bool(space.after), len(space.lists) <= 1
    accesses = _accesses(kinds, space)
    policy, gather = policies.elementwise, policies.gather
    if policy.chunked:
        vector = 1 if rows or not even or STRIDED in accesses else gather.neighbours
    else:
        vector = gather.words if itemsize < 8 else gather.wide_words
    axes = (*space.before, *space.chosen, *space.after)
    extents = tuple(n for n, _ in space.lists)
    furthest = max(
        reach(tuple(n for n, _ in axes), tuple(s for _, s in axes)),
        space.size,
        space.listed,
        prod(n for n, _ in space.chosen),
        *(reach(extents, s) for s in _steps(space)),
    )
    return GatherPlan(
        op=op,
        mode=mode,
        accesses=accesses,
        itemsize=itemsize,
        before_rank=len(space.before),
        list_rank=0 if even else len(space.lists),
        chosen_rank=len(space.chosen),
        after_rank=max(0, len(space.after) - 1) if rows else -1,
        vector=vector,
        close=rows and space.after[-1][1] == 1,
        single=single,
        wide=space.listed > MOST,
        index=index_type(furthest, policy.chunked),
        policy=policy,
    )


def _steps(space: GatherSpace) -> list[Shape]:
    """The strides of each input of the list that is not constant."""
    return list(zip(*(steps for _, steps in space.lists), strict=True))


def _accesses(kinds: Sequence[str], space: GatherSpace) -> tuple[str, ...]:
    """Access classes: a list in several loops is read element by element."""
    steps = iter(_steps(space)) if space.lists else None
    found = []
    for kind in kinds:
        if kind == "const":
            found.append(kind)
            continue
        step = next(steps) if steps is not None else (0,)
        even = access(step[0]) if len(step) == 1 else ZERO
        found.append(kind if kind == INDEX else even)
    return tuple(found)


def work(space: GatherSpace, plan: GatherPlan) -> int:
    """Units of work of a launch: on a GPU elements, on a CPU rows, or neighbours in the list."""
    if not plan.policy.chunked:
        return space.size
    if plan.after_rank < 0:
        return prod(n for n, _ in space.before) * -(-space.listed // plan.vector)
    return space.size // space.after[-1][0]


def divisor(n: int) -> tuple[int, int]:
    """The factor and the shift with which numbers below 2**31 are divided by n.

    ``x / n`` is the upper half of ``x * factor``, plus x, shifted (Granlund and Montgomery 1994).
    """
    shift = (n - 1).bit_length()
    factor = ((1 << 32) * ((1 << shift) - n)) // n + 1
    return factor, shift


def sizes(space: GatherSpace, plan: GatherPlan) -> dict[str, Any]:
    """Return the extents and strides that the kernel takes, by the names in `gather.source`."""
    extents = [space.listed]
    found: dict[str, Any] = {"units": work(space, plan), "count": space.listed}
    outer: tuple[Axis, ...] = ()
    if plan.after_rank >= 0:
        found["n0"], found["zs0"] = space.after[-1]
        extents.append(space.after[-1][0])
        outer = space.after[:-1]
    elif plan.policy.chunked:
        found["blocks"] = -(-space.listed // plan.vector)
    for name, group in (("before", space.before), ("chosen", space.chosen), ("after", outer)):
        found[name] = [x for axis in reversed(group) for x in axis]
        extents += [n for n, _ in reversed(group)]
    placed = [(f"x{k}", access) for k, access in enumerate(plan.accesses) if access != "const"]
    steps = _steps(space) or [(0,)] * len(placed)
    if plan.list_rank:
        found["l"] = [n for n, _ in reversed(space.lists)]
        extents += found["l"]
        found |= {f"{name}l": one[::-1] for (name, _), one in zip(placed, steps, strict=True)}
    else:
        found |= {f"{x}s": s for (x, access), (s,) in zip(placed, steps, strict=True) if access in STEPPED}
    if plan.divides:  # nothing is divided by an extent of 0: every number is out of its bounds
        found["divisors"] = [x for n in extents for x in divisor(max(n, 1))]
    return found
