"""The plan of an index map: an array read through a map of positions per axis, moved as plain bits.

The result is walked in the order of its memory. Along each axis a map says which element of the source stands at
a position of the result; see the template for the maps. Axes that lie together, and are mapped together, are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from clarray._engine.algorithms.index_map.policy import IndexMapPolicy
from clarray._engine.expr.layout import index_type
from clarray._engine.fast_dataclass import dataclass
from clarray._engine.tuning.policy import ElementwisePolicy

SAME = "same"
WRAP = "wrap"
EDGE = "edge"
REFLECT = "reflect"
SYMMETRIC = "symmetric"
CONSTANT = "constant"

_MERGED = (SAME, WRAP, CONSTANT)  # a run of these axes and what lies within them is mapped as one axis


class Axis(NamedTuple):
    """One axis of a result, and where it is read from.

    Parameters
    ----------
    map : str
        ``'same'``, ``'wrap'``, ``'edge'``, ``'reflect'``, ``'symmetric'`` or ``'constant'``.
    extent : int
        Of the result.
    stride : int
        Of the source, in elements; 0 where it is repeated.
    source : int
        Extent of the source; that of the result for ``'same'``.
    before : int
        Position in the result of the source's first element.
    values : tuple of scalars
        For ``'constant'``: what stands before and after the source, of its dtype.
    """

    map: str
    extent: int
    stride: int
    source: int = 0
    before: int = 0
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMapPlan:
    """What the source of an index map is specialised on.

    Parameters
    ----------
    maps : tuple of str
        Per axis, innermost first.
    itemsize : int
        Bytes of an element.
    vector : int
        Neighbouring elements that are loaded and stored at once.
    copies : bool
        Whether what is made is written several times, one after the other.
    stream : bool
        Whether the result bypasses the caches.
    index : str
        C type of positions.
    policy : ElementwisePolicy
        An index map has no other needs than an elementwise kernel.
    """

    maps: tuple[str, ...]
    itemsize: int
    vector: int
    copies: bool
    stream: bool
    index: str
    policy: ElementwisePolicy


def simplified(axes: Sequence[Axis]) -> list[Axis]:
    """The axes, outermost first, with the simplest maps and as few of them as possible."""
    found: list[Axis] = []
    for axis in map(_simple, axes):
        if axis.map == SAME and axis.extent == 1:
            continue
        outer = found[-1] if found else None
        if outer and axis.map == SAME and outer.map in _MERGED and outer.stride == axis.stride * axis.extent:
            n = axis.extent
            axis = Axis(outer.map, outer.extent * n, axis.stride, outer.source * n, outer.before * n, outer.values)
            found.pop()
        found.append(axis)
    return found or [Axis(SAME, 1, 0)]


def _simple(axis: Axis) -> Axis:
    """The same axis without a map where it needs none."""
    map, extent, stride, source, before, values = axis
    if map == WRAP and source:
        before %= source
    if map == SAME or (extent == source and not before):
        return Axis(SAME, extent, stride, extent)
    if source == 1 and map != CONSTANT:
        return Axis(SAME, extent, 0, extent)
    return Axis(map, extent, stride, source, before, values)


def copied(axes: Sequence[Axis], itemsize: int, policy: IndexMapPolicy) -> int:
    """How many copies of it a large source is read once for: the extent of the outermost axis, or 1."""
    first, rest = axes[0], axes[1:]
    if first.map != SAME or first.stride or not rest or any(a.map != SAME for a in rest):
        return 1
    nbytes = prod(a.extent for a in rest) * itemsize
    return first.extent if nbytes >= policy.copied_bytes and nbytes % 16 == 0 else 1


def index_map_plan(
    axes: Sequence[Axis], size: int, reach: int, copies: int, itemsize: int, policy: ElementwisePolicy
) -> IndexMapPlan:
    """Choose the vectors and the width of positions.

    Parameters
    ----------
    size : int
        Elements of the result.
    reach : int
        Largest distance between an element of the source and its first.
    copies : int
        From `copied`; the axes are without the one that it counts.
    """
    vector = max(1, min(policy.max_width, policy.vector_bytes // itemsize)) if itemsize <= 8 else 1
    furthest = max(size, reach, *(abs(a.before) + 2 * a.source for a in axes))
    return IndexMapPlan(
        maps=tuple(a.map for a in reversed(axes)),
        itemsize=itemsize,
        vector=vector,
        copies=copies > 1,
        stream=0 < policy.stream_bytes <= size * itemsize,
        index=index_type(furthest, policy.chunked),
        policy=policy,
    )
