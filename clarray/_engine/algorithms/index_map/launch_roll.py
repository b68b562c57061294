"""Rolling along axes, left pending: several rolls of one array that an expression reads are views of one larger copy.

A stencil on a torus is written with a roll for each neighbour. Each on its own is a pass that reads and writes all
elements, and what adds them reads all results. So they wait: where an expression reads two of the same array and more,
that is copied once, with as much of its other end on either side as they are shifted by, and each of them is a view of
that copy, which the expression reads as it reads any other.

    x         0 1 2 3 4 5                          by 1 and by -2: two elements more on either side
    copied    4 5 0 1 2 3 4 5 0 1
    by 1        5 0 1 2 3 4
    by -2           2 3 4 5 0 1

The node of a roll becomes a pending copy of its view: an array that somebody holds is nobody else's memory.
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
from clarray._engine.expr.build import COST_LIMIT, reduction, replace_with_copy
from clarray._engine.expr.node import Node, replanned, view_leaf
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.transform_epilogue import TransformEpilogue
from clarray._engine.expr.view import Shape
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.ops.transforms import Transform

__all__ = ["roll"]

MOST_LARGER = 1.5  # the copy, as a multiple of the array: two rolls on their own write twice its elements


@replanned
def roll(source: Node, shifts: Sequence[int]) -> Node | None:
    """Grow a roll of a leaf by a number of places along each axis, towards the end.

    Returns
    -------
    Node or None
        Pending; None where the roll is not worth that, and is to be computed at once.
    """
    memory = source.memory
    assert memory is not None
    policy = kernel_cache_of(memory.device).policies.index_map
    if not source.contiguous or memory.shared or source.size * source.dtype.itemsize < policy.rolled_bytes:
        return None
    # in the direction that takes fewer places
    nearest = tuple([(shift + n // 2) % n - n // 2 for shift, n in zip(shifts, source.shape, strict=True)])
    if not _is_larger_by_little(source.shape, [abs(shift) for shift in nearest]):
        return None
    found = reduction(_operation("roll", nearest, source.dtype), (source,), source.shape)
    return evaluate(found) if found.cost > COST_LIMIT else found


def _is_larger_by_little(shape: Shape, beside: Sequence[int]) -> bool:
    return prod(n + 2 * b for n, b in zip(shape, beside, strict=True)) <= MOST_LARGER * prod(shape)


@lru_cache(maxsize=4096)
def _operation(name: str, before: Shape, dtype: np.dtype) -> Transform:
    """An operation that goes round an array, beginning so many elements before it along each axis.

    A 'roll' has the array's shape, and is seen to together with others; a 'wrap' is the larger copy.
    """
    return Transform(
        name=name,
        axes=tuple(axis for axis, places in enumerate(before) if places),
        order=tuple(range(len(before))),
        epilogue_inputs=False,
        out_dtype=dtype,
        code=(name, before),
        launch=_launch,
        has_epilogue=False,
        simplify=_merge_rolls if name == "roll" else None,
    )


def _launch(cache: KernelCache, code: tuple[str, Shape], finish: TransformEpilogue, out: Node) -> Launch:
    (source,) = finish.transformed.args
    sizes = zip(out.shape, source.strides, source.shape, code[1], strict=True)
    axes = [Axis(WRAP, n, stride, extent, before) for n, stride, extent, before in sizes]
    return index_map_launch(cache, source, view_of(source), axes, out)


def _merge_rolls(nodes: list[Node], compute: Callable[[Node], Any]) -> None:
    """Make rolls of one array that one expression reads copies of views of one copy of it."""
    groups: dict[Node, list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.args[0], []).append(node)
    for source, rolls in groups.items():
        beside = tuple([max(map(abs, shifts)) for shifts in zip(*(node.op.code[1] for node in rolls), strict=True)])
        if len(rolls) == 1 or not _is_larger_by_little(source.shape, beside):
            continue
        shape = tuple([n + 2 * b for n, b in zip(source.shape, beside, strict=True)])
        larger = reduction(_operation("wrap", beside, source.dtype), (source,), shape)
        try:
            compute(larger)
        except MemoryError:
            continue  # one after the other they may find room
        for node in rolls:
            steps = zip(beside, node.op.code[1], larger.strides, strict=True)
            start = sum((before - shift) * stride for before, shift, stride in steps)
            replace_with_copy(node, view_leaf(larger, node.shape, larger.strides, start))
