"""The plan of updates at positions (``ufunc.at``): in order, without sorting and without atomics.

Every work-item owns a range of target positions and a block of the other axes, goes through the
whole list of positions and applies those updates that are its own. So duplicates are applied in
their order, no two work-items write one element, and the result is the same each time.

                 positions   7  2  7  0  5  2 ...
    item 0 owns  0 .. 3         2     0     2         each item reads all of them
    item 1 owns  4 .. 7      7     7     5
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clarray._engine.expr.layout import Shape, collapse, merge
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy, Policies


@dataclass(frozen=True, slots=True)
class ScatterPlan:
    """What the source of an update is specialised on.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'`` or ``'zero'``.
    list_rank, chosen_rank, rest_rank : int
        Axes of the list of positions, of the positions themselves and of the rest.
    policy : ElementwisePolicy
    """

    accesses: tuple[str, ...]
    list_rank: int
    chosen_rank: int
    rest_rank: int
    policy: ElementwisePolicy


class ScatterSpace(NamedTuple):
    """The loops of an update: extents outermost first, and the strides of the inputs.

    The target comes first among the operands of the rest.
    """

    listed: Shape
    list_strides: tuple[Shape, ...]
    rest: Shape
    rest_strides: tuple[Shape, ...]
    offsets: Shape


class ScatterSplit(NamedTuple):
    """How the work is divided: parts of the targets times blocks of columns.

    A column is an element of the rest.
    """

    parts: int
    per_part: int
    blocks: int
    columns_per_block: int


def scatter_space(
    listed: Shape, list_strides: Sequence[Shape], rest: Shape, rest_strides: Sequence[Shape]
) -> ScatterSpace:
    """Merge the axes of the list of positions, in their order, and of the rest, in any."""
    axes = [(n, tuple(s[a] for s in list_strides)) for a, n in enumerate(listed) if n != 1]
    merged = merge(axes)
    space = collapse(rest, tuple(rest_strides))
    return ScatterSpace(
        tuple(a[0] for a in merged),
        tuple(tuple(a[1][k] for a in merged) for k in range(len(list_strides))),
        space.shape,
        space.strides,
        space.offsets,
    )


def split(updates: int, targets: int, columns: int, policies: Policies, units: int) -> ScatterSplit:
    """Divide the targets and the columns between work-items."""
    policy = policies.scatter
    if policies.elementwise.chunked:
        wanted = min(units, 1 + updates * columns // policy.worth)
        parts = min(wanted, targets)
        per_block = -(-columns // max(1, wanted // parts))
    else:
        parts = min(targets, max(1, policy.items // columns))
        per_block = 1
    per_part = -(-targets // parts)
    return ScatterSplit(-(-targets // per_part), per_part, -(-columns // per_block), per_block)
