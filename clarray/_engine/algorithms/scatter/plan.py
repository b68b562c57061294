"""Plan updates at indices (``ufunc.at``): in order, without a sort and without atomics.

Every work-item owns a range of target indices and a block of the other axes. It reads the whole list of indices and
applies the updates of its own range. So duplicates are applied in their order, an element has only one writer, and the
result is reproducible.

                   indices   7  2  7  0  5  2 ...
    item 0 owns  0 .. 3         2     0     2         each item reads all indices
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
    """The specialization of the source of an update.

    Parameters
    ----------
    accesses : tuple of str
        Per distinct input: ``'const'``, ``'index'`` or ``'zero'``.
    list_rank, chosen_rank, rest_rank : int
        Axes of the list of indices, of the indexed axes, and of the rest.
    policy : ElementwisePolicy
    """

    accesses: tuple[str, ...]
    list_rank: int
    chosen_rank: int
    rest_rank: int
    policy: ElementwisePolicy


class ScatterSpace(NamedTuple):
    """The loops of an update: extents outermost first, and the strides of the inputs.

    The target is the first operand of the rest.
    """

    indices: Shape
    list_strides: tuple[Shape, ...]
    rest: Shape
    rest_strides: tuple[Shape, ...]
    offsets: Shape


class ScatterSplit(NamedTuple):
    """The division of the work: parts of the targets times blocks of columns.

    A column is an element of the rest.
    """

    parts: int
    per_part: int
    blocks: int
    columns_per_block: int


def scatter_space(
    indices: Shape, list_strides: Sequence[Shape], rest: Shape, rest_strides: Sequence[Shape]
) -> ScatterSpace:
    """Merge the axes of the list of indices, in their order, and the axes of the rest, in any order."""
    axes = [(n, tuple(s[a] for s in list_strides)) for a, n in enumerate(indices) if n != 1]
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
        items = min(units, 1 + updates * columns // policy.worth)
        parts = min(items, targets)
        per_block = -(-columns // max(1, items // parts))
    else:
        parts = min(targets, max(1, policy.items // columns))
        per_block = 1
    per_part = -(-targets // parts)
    return ScatterSplit(-(-targets // per_part), per_part, -(-columns // per_block), per_block)
