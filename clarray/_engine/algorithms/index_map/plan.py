"""Plan index maps, which copy an array through a map of positions per axis, as plain bits.

The loops follow the memory order of the result. The map of an axis gives the position in the source for each position
in the result. The template defines the maps. Neighbouring axes are merged if their maps and strides allow it.
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

_MERGED = (SAME, WRAP, CONSTANT)  # an axis with one of these maps can be merged with an inner axis without a map


class Axis(NamedTuple):
    """An axis of a result, with its map to the source.

    Parameters
    ----------
    map : str
        ``'same'``, ``'wrap'``, ``'edge'``, ``'reflect'``, ``'symmetric'`` or ``'constant'``.
    extent : int
        Extent of the result.
    stride : int
        Stride of the source, in elements. 0 if the source is repeated.
    source : int
        Extent of the source. For ``'same'``, the extent of the result.
    before : int
        Position of the first element of the source in the result.
    values : tuple of scalars
        For ``'constant'``: the elements before and after the source, of its dtype.
    """

    map: str
    extent: int
    stride: int
    source: int = 0
    before: int = 0
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMapPlan:
    """The specialization of the kernel of an index map.

    Parameters
    ----------
    maps : tuple of str
        The maps of the axes, innermost first.
    itemsize : int
        Bytes of an element.
    vector : int
        Elements per load and store.
    copies : bool
        Whether the result is several copies, one after the other.
    stream : bool
        Whether the result bypasses the caches.
    index : str
        C type of positions.
    policy : ElementwisePolicy
        The tuning of elementwise kernels, which suits index maps too.
    """

    maps: tuple[str, ...]
    itemsize: int
    vector: int
    copies: bool
    stream: bool
    index: str
    policy: ElementwisePolicy


def simplify(axes: Sequence[Axis]) -> list[Axis]:
    """Merge axes, given outermost first, and replace their maps with the simplest equivalent maps."""
    merged: list[Axis] = []
    for axis in map(_simple, axes):
        if axis.map == SAME and axis.extent == 1:
            continue
        outer = merged[-1] if merged else None
        if outer and axis.map == SAME and outer.map in _MERGED and outer.stride == axis.stride * axis.extent:
            n = axis.extent
            axis = Axis(outer.map, outer.extent * n, axis.stride, outer.source * n, outer.before * n, outer.values)
            merged.pop()
        merged.append(axis)
    return merged or [Axis(SAME, 1, 0)]


def _simple(axis: Axis) -> Axis:
    """Replace the map of an axis with ``'same'`` if that is equivalent."""
    map, extent, stride, source, before, values = axis
    if map == WRAP and source:
        before %= source
    if map == SAME or (extent == source and not before):
        return Axis(SAME, extent, stride, extent)
    if source == 1 and map != CONSTANT:
        return Axis(SAME, extent, 0, extent)
    return Axis(map, extent, stride, source, before, values)


def copy_count(axes: Sequence[Axis], itemsize: int, policy: IndexMapPolicy) -> int:
    """Return the number of copies per load of a large source: the extent of the outermost axis, or 1."""
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
        Largest distance of an element of the source from its first element.
    copies : int
        The result of `copy_count`. If it is above 1, `axes` excludes the outermost axis.
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
