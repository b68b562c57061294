"""From shapes and strides to the loops a kernel runs.

An iteration space is a list of axes with, per operand, a stride in elements. Axes of one element are
dropped, axes are put into the order of the memory, axes whose elements follow each other are merged:
most arrays, however many dimensions they have, become one or two loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]

# How the elements of one operand follow each other along the innermost loop.
UNIT = "unit"  # one after the other: vector loads
ZERO = "zero"  # always the same element
STRIDED = "strided"  # a run-time stride
PAIRS = "pairs"  # every second element: two vector loads, half of each kept (explicit vectors only)
INDEX = "index"  # no memory: the position itself
COUNT = "count"  # the position in a flat loop, whose multiples the compiler knows

STEPPED = (STRIDED, INDEX)  # classes with a run-time stride along the innermost loop

INT_LIMIT = 2**31 - 2**16  # 32-bit indices must not overflow within the last vector or grid stride
ALIGNMENT = 16  # bytes a GPU's widest load wants


class Space(NamedTuple):
    """Loop extents, outermost first, and the strides of each operand in the same order."""

    shape: Shape
    strides: tuple[Shape, ...]
    offsets: Shape  # added to each operand's offset, where an axis was turned round


def aligned(shape: Shape, strides: Shape, ndim: int) -> Shape:
    """Strides for an operand broadcast to `ndim` axes: 0 on the axes that it repeats over."""
    lead = ndim - len(shape)
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])


@lru_cache(maxsize=4096)
def collapse(shape: Shape, operands: tuple[Shape, ...], first: int = 0) -> Space:
    """Reorder, turn round and merge the axes of an elementwise loop.

    Parameters
    ----------
    shape : tuple of int
        Extents of the loop.
    operands : tuple of tuple of int
        Strides per operand, each as long as `shape`.
    first : int
        The operand whose memory order the loop follows (the output).
    """
    if not operands:  # constants have no order: one run of them all
        return Space((prod(shape),), (), ())
    offsets = [0] * len(operands)
    axes = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = [o[axis] for o in operands]
        if _all_backwards(steps):
            for k, step in enumerate(steps):
                offsets[k] += step * (extent - 1)
            steps = [-s for s in steps]
        axes.append((extent, tuple(steps)))
    # sort is stable: axes that compare equal stay in C order
    axes.sort(key=lambda a: -abs(a[1][first]) or -max(map(abs, a[1]), default=0))
    merged = merge(axes)
    return Space(
        tuple(a[0] for a in merged),
        tuple(tuple(a[1][k] for a in merged) for k in range(len(operands))),
        tuple(offsets),
    )


def _all_backwards(steps: Sequence[int]) -> bool:
    return any(s < 0 for s in steps) and all(s <= 0 for s in steps)


def in_c_order(shape: Shape, operands: tuple[Shape, ...]) -> Space:
    """Merge the axes of a loop that takes the elements in C order, whatever their memory layout is."""
    axes = [(n, tuple([o[axis] for o in operands])) for axis, n in enumerate(shape) if n != 1]
    merged = merge(axes)
    strides = tuple(tuple(steps[k] for _, steps in merged) for k in range(len(operands)))
    return Space(tuple(n for n, _ in merged), strides, (0,) * len(operands))


def merge(axes: Sequence[tuple[int, Shape]]) -> list[tuple[int, Shape]]:
    """Join neighbouring axes that are one run of evenly spaced elements for every operand."""
    merged: list[tuple[int, Shape]] = []
    for extent, steps in axes:
        if merged:
            outer_extent, outer_steps = merged[-1]
            if all(o == s * extent for o, s in zip(outer_steps, steps, strict=True)):
                merged[-1] = (outer_extent * extent, steps)
                continue
        merged.append((extent, steps))
    return merged


def reach(shape: Shape, strides: Shape) -> int:
    """The largest distance, in elements, between an operand's first element and another."""
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    return max(-low, high)


def access(stride: int, pairs: bool = False) -> str:
    """Class of an operand by its innermost stride; `pairs` if vector code reads it."""
    if stride == 1:
        return UNIT
    if stride == 2 and pairs:
        return PAIRS
    return ZERO if stride == 0 else STRIDED


def furthest(shape: Shape, strides: Iterable[Shape], least: int = 0) -> int:
    """The largest position in a kernel: `least`, or the farthest that an operand of such strides reaches."""
    return max([least, *(reach(shape, s) for s in strides)])


def starts_aligned(dtype: np.dtype, *places: int) -> bool:
    """Whether elements at places that are sums of multiples of these may be loaded by aligned vectors."""
    return all(place * dtype.itemsize % ALIGNMENT == 0 for place in places)


def vector_width(dtypes: Sequence[np.dtype], vector_bytes: int, max_width: int) -> int:
    """Elements per load: what the widest dtype fits into `vector_bytes`."""
    widest = max(d.itemsize for d in dtypes)
    return max(1, min(max_width, vector_bytes // widest))


def explicit_width(dtypes: Sequence[np.dtype], wanted: bool) -> bool:
    """Whether vector types can be used: complex values exist only as scalars."""
    return wanted and all(d.kind != "c" for d in dtypes)


def index_type(furthest: int, chunked: bool) -> str:
    """32-bit positions where they suffice; CPUs count in 64 bits at no cost, and need one kernel less."""
    return "long" if chunked or furthest >= INT_LIMIT else "int"
