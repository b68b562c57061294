"""Build pending rolls. Several rolls of one array in one expression become views of one larger copy.

A stencil on a torus is written as a sum of rolls. An eager roll reads and writes all elements, and the sum reads all
results. So a roll stays pending. If an expression reads several rolls of an array, the array is copied once, extended
at both ends by wrapped elements. Each roll is a view of that copy.

    x         0 1 2 3 4 5                          by 1 and by -2: two more elements at each end
    copied    4 5 0 1 2 3 4 5 0 1
    by 1        5 0 1 2 3 4
    by -2           2 3 4 5 0 1

The node of a roll becomes a pending copy of its view, because an array of the user must own its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from clarray._engine.algorithms.index_map.launch import index_map_launch
from clarray._engine.algorithms.index_map.plan import WRAP, Axis
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.build import reduction, replace_with_copy
from clarray._engine.expr.epilogues import TransformEpilogue
from clarray._engine.expr.growth import is_costly
from clarray._engine.expr.node import Node, replanned, view_leaf
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.view import Shape
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.ops.transforms import Transform

__all__ = ["roll"]

MAX_GROWTH = 1.5  # of the copy relative to the array: two eager rolls write twice the elements of the array


@replanned
def roll(source: Node, shifts: Sequence[int]) -> Node | None:
    """Build a pending roll of a leaf by a number of positions along each axis, towards the end.

    Returns
    -------
    Node or None
        A pending node, or None if an eager roll is faster.
    """
    memory = source.memory
    assert memory is not None
    policy = kernel_cache_of(memory.device).policies.index_map
    if not source.contiguous or memory.shared or source.size * source.dtype.itemsize < policy.rolled_bytes:
        return None
    # shift in the direction of fewer positions
    nearest = tuple([(shift + n // 2) % n - n // 2 for shift, n in zip(shifts, source.shape, strict=True)])
    if not _is_small_growth(source.shape, [abs(shift) for shift in nearest]):
        return None
    result = reduction(_operation("roll", nearest, source.dtype), (source,), source.shape)
    return evaluate(result) if is_costly(result) else result


def _is_small_growth(shape: Shape, margins: Sequence[int]) -> bool:
    return prod(n + 2 * b for n, b in zip(shape, margins, strict=True)) <= MAX_GROWTH * prod(shape)


@lru_cache(maxsize=4096)
def _operation(name: str, before: Shape, dtype: np.dtype) -> Transform:
    """Return the operation that copies an array cyclically, starting `before` elements before it along each axis.

    A 'roll' has the shape of the array, and is merged with other rolls. A 'wrap' is the larger copy.
    """
    return Transform(
        name=name,
        axes=tuple(axis for axis, shift in enumerate(before) if shift),
        order=tuple(range(len(before))),
        epilogue_inputs=False,
        out_dtype=dtype,
        code=(name, before),
        launch=_launch,
        has_epilogue=False,
        simplify=_merge_rolls if name == "roll" else None,
    )


def _launch(cache: KernelCache, code: tuple[str, Shape], epilogue: TransformEpilogue, out: Node) -> Launch:
    (source,) = epilogue.transformed.args
    sizes = zip(out.shape, source.strides, source.shape, code[1], strict=True)
    axes = [Axis(WRAP, n, stride, extent, before) for n, stride, extent, before in sizes]
    return index_map_launch(cache, source, view_of(source), axes, out)


def _merge_rolls(nodes: list[Node], compute: Callable[[Node], Any]) -> None:
    """Replace rolls of the same array in one expression with pending copies of views of one larger copy."""
    groups: dict[Node, list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.args[0], []).append(node)
    for source, rolls in groups.items():
        margins = tuple([max(map(abs, shifts)) for shifts in zip(*(node.op.code[1] for node in rolls), strict=True)])
        if len(rolls) == 1 or not _is_small_growth(source.shape, margins):
            continue
        shape = tuple([n + 2 * b for n, b in zip(source.shape, margins, strict=True)])
        larger = reduction(_operation("wrap", margins, source.dtype), (source,), shape)
        try:
            compute(larger)
        except MemoryError:
            continue  # separate rolls need less memory at a time
        for node in rolls:
            steps = zip(margins, node.op.code[1], larger.strides, strict=True)
            start = sum((before - shift) * stride for before, shift, stride in steps)
            replace_with_copy(node, view_leaf(larger, node.shape, larger.strides, start))
