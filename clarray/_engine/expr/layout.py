"""Loops of a kernel from shapes and strides.

An iteration space is a list of axes with, per operand, a stride in elements. Axes of one element are
dropped, axes are sorted into memory order, and contiguous neighbours are merged. So most arrays,
however many dimensions they have, become one or two loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]

# Access class of an operand: its stride along the innermost loop.
UNIT = "unit"  # stride 1: vector loads
ZERO = "zero"  # stride 0: always the same element
STRIDED = "strided"  # a run-time stride
PAIRS = "pairs"  # every second element: two vector loads, half of each used (explicit vectors only)
INDEX = "index"  # no memory: the position itself
COUNT = "count"  # the position in a flat loop, with constant strides

STEPPED = (STRIDED, INDEX)  # classes with a run-time stride along the innermost loop

INT_LIMIT = 2**31 - 2**16  # 32-bit indices must not overflow within the last vector or grid stride
ALIGNMENT = 16  # bytes, for a GPU's widest load


class Space(NamedTuple):
    """Loop extents, outermost first, and the strides of each operand in the same order."""

    shape: Shape
    strides: tuple[Shape, ...]
    offsets: Shape  # added to each operand's offset, for reversed axes


def aligned(shape: Shape, strides: Shape, ndim: int) -> Shape:
    """Return the strides of an operand broadcast to `ndim` axes: 0 on axes that it is repeated along."""
    lead = ndim - len(shape)
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])


@lru_cache(maxsize=4096)
def collapse(shape: Shape, operands: tuple[Shape, ...], first: int = 0) -> Space:
    """Sort, reverse and merge the axes of an elementwise loop.

    Parameters
    ----------
    shape : tuple of int
        Extents of the loop.
    operands : tuple of tuple of int
        Strides per operand, each as long as `shape`.
    first : int
        The operand whose memory order the loop follows (the output).
    """
    if not operands:  # constants alone: one loop
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


def collapse_in_c_order(shape: Shape, operands: tuple[Shape, ...]) -> Space:
    """Merge the axes of a loop over the elements in C order, whatever their memory layout is."""
    axes = [(n, tuple([o[axis] for o in operands])) for axis, n in enumerate(shape) if n != 1]
    merged = merge(axes)
    strides = tuple(tuple(steps[k] for _, steps in merged) for k in range(len(operands)))
    return Space(tuple(n for n, _ in merged), strides, (0,) * len(operands))


def merge(axes: Sequence[tuple[int, Shape]]) -> list[tuple[int, Shape]]:
    """Merge neighbouring axes along which the elements of every operand are evenly spaced."""
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
    """Return the largest distance, in elements, between an operand's first element and another."""
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    return max(-low, high)


def access(stride: int, pairs: bool = False) -> str:
    """Return an operand's access class from its innermost stride; `pairs` if vector code reads it."""
    if stride == 1:
        return UNIT
    if stride == 2 and pairs:
        return PAIRS
    return ZERO if stride == 0 else STRIDED


def furthest(shape: Shape, strides: Iterable[Shape], least: int = 0) -> int:
    """Return the largest position in a kernel: the farthest of any operand, at least `least`."""
    return max([least, *(reach(shape, s) for s in strides)])


def starts_aligned(dtype: np.dtype, *offsets: int) -> bool:
    """Return whether aligned vectors may load elements at sums of multiples of these offsets."""
    return all(offset * dtype.itemsize % ALIGNMENT == 0 for offset in offsets)


def vector_width(dtypes: Sequence[np.dtype], vector_bytes: int, max_width: int) -> int:
    """Return the number of elements per load: as many of the widest dtype as `vector_bytes` hold."""
    widest = max(d.itemsize for d in dtypes)
    return max(1, min(max_width, vector_bytes // widest))


def explicit_width(dtypes: Sequence[np.dtype], explicit: bool) -> bool:
    """Return whether a kernel uses vector types: if its policy is explicit, except for complex values."""
    return explicit and all(d.kind != "c" for d in dtypes)


def index_type(furthest: int, chunked: bool) -> str:
    """Return the C type of positions: 32 bits if they suffice. CPUs take 64 bits at no cost, for one kernel less."""
    return "long" if chunked or furthest >= INT_LIMIT else "int"
