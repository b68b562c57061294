"""Views of pending values, which are computed again where that costs less than memory.

    t = x * y
    t[1:] - t[:-1]      one pass: x[1:] * y[1:] - x[:-1] * y[:-1]

Such a view is a pending node, and its operation a transform. When a region is planned, each of its views becomes either
the same operations on views of their inputs, or, if its operand has become memory, a view of that. A view that an array
holds may be written through, so it always is a view of memory: its operand is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np

from clarray._engine.expr.build import reduction, replace_with_copy, replace_with_operation, view_memory
from clarray._engine.expr.indexing import index
from clarray._engine.expr.memory_views import is_view, pending_views, viewed_value
from clarray._engine.expr.node import EAGER, MASKED, REDUCES, Node, Shape
from clarray._engine.expr.region import pending_below
from clarray._engine.expr.slicing import composed, restores_axes, slice_expression
from clarray._engine.expr.view import View, added_axes, contiguous, memory_order, strides_descend, transpose
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.transforms import Transform
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.weights import MOST_VIEWS, VIEW_READS, VIEW_WEIGHT

__all__ = ["index_operation", "resolve", "transposed", "viewed"]

_TAKES: dict[str, Callable[..., View]] = {"index": index, "transpose": transpose}


def viewed(source: Node, key: Any) -> Node | None:
    """Return a pending view of a pending value by integers, slices, Ellipsis and None; None if memory is better.

    Raises
    ------
    IndexError
        As for a view of memory.
    """
    return _pending_view(source, *index_operation(source, key))


def index_operation(source: Node, key: Any) -> tuple[Transform, Shape, int]:
    """Return the operation of a view by a key, with the shape and the size of the view."""
    items = key if type(key) is tuple else (key,)
    code = tuple([(item.start, item.stop, item.step) if type(item) is slice else item for item in items])
    return _operation("index", code, source.shape, source.dtype)


def transposed(source: Node, axes: Sequence[int]) -> Node | None:
    """Return a pending view of a pending value with its axes permuted, or None if memory is better."""
    return _pending_view(source, *_operation("transpose", tuple(axes), source.shape, source.dtype))


def _pending_view(source: Node, op: Transform, shape: Shape, size: int) -> Node | None:
    if source.flags & (EAGER | MASKED):
        return None
    if not shape or not (_restores_axes(source, op) or _is_cheap(source, size)):
        return None
    return reduction(op, (source,), shape)


@lru_cache(maxsize=4096)
def _operation(name: str, code: tuple[Any, ...], shape: Shape, dtype: np.dtype) -> tuple[Transform, Shape, int]:
    """Return the operation of a view of values of a shape, with the shape and the size of the view."""
    argument: Any = code
    if name == "index":
        argument = tuple([slice(*item) if type(item) is tuple else item for item in code])
    take_view = partial(_take, _TAKES[name], argument)
    view = take_view(View(shape, contiguous(shape)))
    op = Transform(
        name=name,
        axes=tuple(range(len(view.shape))),
        order=tuple(memory_order(view)),
        epilogue_inputs=False,
        out_dtype=dtype,
        code=("view", name, code, shape),
        launch=_cannot_launch,
        has_epilogue=False,
        take_view=take_view,
        key=argument if name == "index" else None,
        added_axes=added_axes(take_view, shape),
    )
    return op, view.shape, view.size


def _restores_axes(source: Node, op: Transform) -> bool:
    """Return whether a view only puts back the axes which the reductions of a value have removed."""
    waiting, count, reductions = [source], 0, 0
    while waiting and op.added_axes is not None:
        node = waiting.pop()
        if node.memory is not None or not node.args:
            continue
        count += 1
        if isinstance(node.op, Reduction):
            reductions += 1
            if node.shape != source.shape or not restores_axes(node, op.added_axes):
                return False
        elif type(node.op) is not Loop or count > VIEW_WEIGHT:
            return False
        else:
            waiting.extend(node.args)
    return reductions > 0


def _take(function: Callable[..., View], argument: Any, view: View) -> View:
    return function(view, argument)


def _cannot_launch(*_: Any) -> Any:
    raise AssertionError("a view of a pending value is resolved before its region is planned")


def _is_cheap(source: Node, size: int) -> bool:
    """Return whether one more view of a pending value, of this size, is sooner computed than read from memory."""
    source = viewed_value(source)
    if source.memory is not None or not source.args:
        return False
    weight = 0
    memories: set[int] = set()
    waiting = [source]
    while waiting:  # a node that is read twice counts twice
        node = waiting.pop()
        # the layout of a view follows from that of the value, and the value has C order
        if node.memory is not None:
            if 2 * node.size > source.size:
                memories.add(id(node.memory))
            if len(node.strides) > 1 and not strides_descend(node.strides):
                return False
        elif is_view(node) and node.op.key is not None:
            waiting.extend(node.args)
        elif node.args:
            weight += 1
            if weight > VIEW_WEIGHT or type(node.op) is not Loop or node.op.weight > 1:
                return False
            waiting.extend(node.args)
    views = _views_below(source)
    total = size + sum([view.size for view in views])
    # none are read by a value of constants and positions alone, whose slices do not follow from those of its operands
    is_small = len(views) < MOST_VIEWS and weight * total <= VIEW_WEIGHT * source.size
    return is_small and 0 < len(memories) <= VIEW_READS


def _views_below(source: Node) -> list[Node]:
    """Return the pending views of a pending value, and the views of these."""
    views = pending_views(source)
    for view in views:  # which grows meanwhile
        views.extend(pending_views(view))
    return views


def resolve(
    views: Sequence[Node], held: Set[Node], compute: Callable[[Node], Any], compute_region: Callable[[Node], Any]
) -> None:
    """Turn the pending views of a region into views of memory, or into the operations of what they look at.

    Parameters
    ----------
    held : set of Node
        What an array may hold, also of what the views look at.
    compute : callable
        Evaluates a node.
    compute_region : callable
        Evaluates a node and what is computed with it. Reductions that an array holds are computed once.
    """
    computed: dict[tuple[Node, tuple[Any, ...]], Node] = {}
    of_memory = {each for node in views if node in held for each in _chain(node)}
    for node in views:
        if not is_view(node):  # another thread, or a signal handler, has evaluated it
            continue
        chain = _chain(node)
        source = chain[-1].args[0]
        if source.flags & REDUCES and source.memory is None and not held.isdisjoint(pending_below(source)):
            compute_region(source)
        if source.memory is not None or node in of_memory:
            compute(node.args[0])
            if is_view(node):
                view_memory(node)
            continue
        first = computed.setdefault((source, tuple([view.op.code for view in chain])), node)
        if first is node:
            take_view = reduce(composed, [view.op.take_view for view in chain])
            replace_with_operation(node, slice_expression(source, take_view, compute))
        else:
            replace_with_copy(node, first)


def _chain(view: Node) -> list[Node]:
    """Return a pending view, the one that it looks at, and so on."""
    chain = [view]
    while is_view(chain[-1].args[0]):
        chain.append(chain[-1].args[0])
    return chain
