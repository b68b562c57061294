"""Plan gathers and scatters, which move elements as plain bits.

The result has the axes of the list of indices between the other axes of the array. Neighbouring axes are merged if
their strides allow it. The innermost axis after the list is a loop of its own, so that contiguous elements are copied
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from clarray._engine.expr.layout import INDEX, STEPPED, STRIDED, ZERO, Shape, access, index_type, merge, reach
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy, Policies

MAX_UINT_POSITION = 2**31 - 1  # the longest list whose positions are noted in 32 bits
WORD = 16  # bytes of the widest word that kernels move

Axis = tuple[int, int]


class GatherSpace(NamedTuple):
    """The loops of a gather, outermost first: extents, and strides of the array or of the inputs of the indices."""

    before: tuple[Axis, ...]
    lists: tuple[tuple[int, Shape], ...]
    chosen: tuple[Axis, ...]
    after: tuple[Axis, ...]

    @property
    def listed(self) -> int:
        """The number of indices."""
        return prod(n for n, _ in self.lists)

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        return self.listed * prod(n for n, _ in (*self.before, *self.after))


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherPlan:
    """The specialization of the kernel of a gather.

    Parameters
    ----------
    op : str
        ``'gather'``, ``'scatter'``, ``'resolve'``, ``'check'``; on a CPU also ``'own'``, on a GPU ``'rise'``,
        ``'mark'``, ``'claim'`` and ``'settle'``, ``'offer'`` and ``'collect'``; see the templates.
    mode : str
        The treatment of indices out of bounds: ``'raise'`` sets a flag, ``'wrap'`` or ``'clip'``. ``'reversed'``: all
        are in bounds, and negative indices count from the end. ``'known'``: all are in bounds and none is negative.
    accesses : tuple of str
        The access class of each distinct input of the indices, ``'const'`` or ``'index'``.
    itemsize : int
        Bytes of an element.
    before_rank, list_rank, chosen_rank, after_rank : int
        Numbers of loops. `list_rank` is 0 for indices with a constant stride. `after_rank` excludes the innermost
        loop, and is -1 if there are no axes after the list.
    vector : int
        On a CPU: indices per work-item at a time, if there are no axes after the list. On a GPU: elements per work-item
        at a time.
    close : bool
        Whether the innermost axis after the list is contiguous.
    single : bool
        Whether one element is scattered to all positions.
    wide : bool
        Whether positions in the list are noted in 64 bits.
    index : str
        C type of positions.
    policy : ElementwisePolicy
        The tuning of elementwise kernels, which suits gathers too.
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
        """Whether kernels divide positions by multiplication with precomputed factors, see `divisor`."""
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
    merged = merge([(n, (s,)) for n, s in axes if n != 1])
    return tuple((n, strides[0]) for n, strides in merged)


def word_elements(space: GatherSpace, itemsize: int, starts: Sequence[int]) -> int:
    """Return the number of neighbouring elements that a kernel can move as one word.

    Parameters
    ----------
    starts : sequence of int
        The offsets of the two arrays, in elements.
    """
    if not space.after or space.after[-1][1] != 1:
        return 1
    steps = [s for _, s in (*space.before, *space.chosen, *space.after[:-1])]
    words = max(1, WORD // itemsize)
    while any(x % words for x in (space.after[-1][0], *starts, *steps)):
        words //= 2
    return words


def in_words(space: GatherSpace, words: int) -> GatherSpace:
    """Return the loops over words of `words` elements."""
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
    """Choose the elements per work-item and the width of positions.

    Parameters
    ----------
    kinds : sequence of str
        The kind of each distinct input of the indices: ``'const'``, ``'index'`` or ``'memory'``.
    """
    rows, constant_stride = bool(space.after), len(space.lists) <= 1
    accesses = _accesses(kinds, space)
    policy, gather = policies.elementwise, policies.gather
    if policy.chunked:
        vector = 1 if rows or not constant_stride or STRIDED in accesses else gather.neighbours
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
        list_rank=0 if constant_stride else len(space.lists),
        chosen_rank=len(space.chosen),
        after_rank=max(0, len(space.after) - 1) if rows else -1,
        vector=vector,
        close=rows and space.after[-1][1] == 1,
        single=single,
        wide=space.listed > MAX_UINT_POSITION,
        index=index_type(furthest, policy.chunked),
        policy=policy,
    )


def _steps(space: GatherSpace) -> list[Shape]:
    """Return the strides of each input of the indices that is not constant."""
    return list(zip(*(steps for _, steps in space.lists), strict=True))


def _accesses(kinds: Sequence[str], space: GatherSpace) -> tuple[str, ...]:
    """Return the access classes of the inputs. Indices in several loops are loaded one at a time."""
    steps = iter(_steps(space)) if space.lists else None
    classes = []
    for kind in kinds:
        if kind == "const":
            classes.append(kind)
            continue
        step = next(steps) if steps is not None else (0,)
        along_list = access(step[0]) if len(step) == 1 else ZERO
        classes.append(kind if kind == INDEX else along_list)
    return tuple(classes)


def work_units(space: GatherSpace, plan: GatherPlan) -> int:
    """Return the units of work of a launch: elements on a GPU, and rows or groups of indices on a CPU."""
    if not plan.policy.chunked:
        return space.size
    if plan.after_rank < 0:
        return prod(n for n, _ in space.before) * -(-space.listed // plan.vector)
    return space.size // space.after[-1][0]


def divisor(n: int) -> tuple[int, int]:
    """Return a factor and a shift for the division of integers below 2**31 by n (Granlund and Montgomery 1994).

    ``x // n`` is ``((x * factor >> 32) + x) >> shift``.
    """
    shift = (n - 1).bit_length()
    factor = ((1 << 32) * ((1 << shift) - n)) // n + 1
    return factor, shift


def loop_arguments(space: GatherSpace, plan: GatherPlan) -> dict[str, Any]:
    """Return the arguments for extents and strides, by the names in `gather.source`."""
    extents = [space.listed]
    arguments: dict[str, Any] = {"units": work_units(space, plan), "count": space.listed}
    outer: tuple[Axis, ...] = ()
    if plan.after_rank >= 0:
        arguments["n0"], arguments["zs0"] = space.after[-1]
        extents.append(space.after[-1][0])
        outer = space.after[:-1]
    elif plan.policy.chunked:
        arguments["blocks"] = -(-space.listed // plan.vector)
    for name, group in (("before", space.before), ("chosen", space.chosen), ("after", outer)):
        arguments[name] = [x for axis in reversed(group) for x in axis]
        extents += [n for n, _ in reversed(group)]
    inputs = [(f"x{k}", access) for k, access in enumerate(plan.accesses) if access != "const"]
    steps = _steps(space) or [(0,)] * len(inputs)
    if plan.list_rank:
        arguments["l"] = [n for n, _ in reversed(space.lists)]
        extents += arguments["l"]
        arguments |= {f"{name}l": strides[::-1] for (name, _), strides in zip(inputs, steps, strict=True)}
    else:
        arguments |= {f"{x}s": s for (x, access), (s,) in zip(inputs, steps, strict=True) if access in STEPPED}
    if plan.divides:  # an extent of 0 is never a divisor, because all indices are out of bounds
        arguments["divisors"] = [x for n in extents for x in divisor(max(n, 1))]
    return arguments
