"""Bounds of the integers that an expression may have, as far as they follow without reading the values.

Indices are checked on the device, and the calling thread waits for the outcome. So the bounds of integers in memory
are recorded with the memory until it is written. The bounds of a pending expression follow from its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.graph import graph_of
from clarray._engine.expr.node import CONST, INDEX, Node
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.special import cast_loop, select_loop
from clarray._engine.ops.ufuncs import Loop, clip_ufunc

__all__ = [
    "ValueRange",
    "are_distinct",
    "value_bounds",
    "is_recorded_out_of_bounds",
    "record_count",
    "record_out_of_bounds",
    "record_range",
    "record_subset_range",
    "recorded_count",
    "recorded_range",
]

Bounds = tuple[int, int]  # the least and the largest possible value

_MOST_RECORDS = 1024  # per memory
_LIMITS: dict[str, Bounds] = {"?": (0, 1)}
for _char in np.typecodes["AllInteger"]:
    _LIMITS[_char] = (int(np.iinfo(_char).min), int(np.iinfo(_char).max))


class ValueRange(NamedTuple):
    """Bounds of the integers of a leaf, and whether they are distinct as indices.

    Parameters
    ----------
    low, high : int
        Inclusive bounds of all values.
    distinct : int, optional
        The extent of an axis of which the values are distinct indices, negative ones counted from the end.
        0 if some may be equal; None if they were never compared.
    """

    low: int
    high: int
    distinct: int | None = None


# Records ------------------------------------------------------------------------------------------


def recorded_range(leaf: Node) -> ValueRange | None:
    """Return the recorded bounds of a leaf's values."""
    memory = leaf.memory
    if memory is None or memory.facts is None or memory.shared:
        return None
    char = leaf.dtype.char
    value_range: ValueRange | None = memory.facts.get((leaf.offset, leaf.shape, leaf.strides, char))
    return value_range or memory.facts.get(char)


def record_range(leaf: Node, low: int, high: int, distinct: int | None = None) -> None:
    """Record the bounds of a leaf's values until its memory is written; `distinct` as in `ValueRange`.

    The caller holds the device's lock, or no other thread has the leaf yet.
    """
    memory = leaf.memory
    if memory is None or memory.shared or (leaf.dtype.kind == "u" and leaf.dtype.itemsize == 8):
        return  # uint64 indices are checked as the signed integers of the same bits
    if distinct is None and (low, high) == _LIMITS[leaf.dtype.char]:
        return
    records = memory.facts
    if records is None or len(records) >= _MOST_RECORDS:
        records = memory.facts = {}
    key = (leaf.offset, leaf.shape, leaf.strides, leaf.dtype.char)
    earlier: ValueRange | None = records.get(key)
    if earlier is not None:
        low, high = max(low, earlier.low), min(high, earlier.high)
        distinct = earlier.distinct if distinct is None else distinct
    records[key] = ValueRange(low, high, distinct)
    if leaf.contiguous and not leaf.offset and leaf.size * leaf.dtype.itemsize == memory.nbytes:
        records[leaf.dtype.char] = ValueRange(low, high)  # holds for every view


def record_out_of_bounds(leaf: Node, extent: int) -> None:
    """Record that a leaf, which covers its whole memory, has indices out of bounds of an axis of this extent."""
    memory = leaf.memory
    assert memory is not None
    if memory.facts is None:
        memory.facts = {}
    memory.facts["outside", leaf.dtype.char] = extent


def is_recorded_out_of_bounds(leaf: Node, extent: int) -> bool:
    """Return whether a leaf has indices out of bounds of an axis of this extent, according to the records."""
    memory = leaf.memory
    assert memory is not None
    return memory.facts is not None and extent <= memory.facts.get(("outside", leaf.dtype.char), 0)


def recorded_count(mask: Node) -> int | None:
    """Return the recorded number of True elements of a mask, or of the inverse of a mask in memory."""
    source, inverted = _source_mask(mask)
    memory = source.memory
    if memory is None or memory.facts is None or memory.shared:
        return None
    count: int | None = memory.facts.get(("set", source.offset, source.shape, source.strides))
    return source.size - count if inverted and count is not None else count


def record_count(mask: Node, count: int) -> None:
    """Record the number of True elements until the mask's memory is written. Does nothing for a pending mask."""
    source, inverted = _source_mask(mask)
    memory = source.memory
    if memory is None or memory.shared:
        return
    if memory.facts is None or len(memory.facts) >= _MOST_RECORDS:
        memory.facts = {}
    memory.facts["set", source.offset, source.shape, source.strides] = source.size - count if inverted else count


def _source_mask(mask: Node) -> tuple[Node, bool]:
    """Return the mask whose count is recorded, and whether `mask` is its inverse."""
    if mask.memory is None and isinstance(mask.op, Loop) and mask.op.ufunc in (np.invert, np.logical_not):
        source = mask.args[0]
        if source.dtype == bool:
            return source, True
    return mask, False


def record_subset_range(leaf: Node, source: Node, distinct: bool = False) -> None:
    """Record for `leaf` the bounds of `source`, of which it has some elements; with `distinct`, none of them twice."""
    if leaf.dtype.kind not in "iu":
        return
    bounds = value_bounds(source)
    if bounds is not None:
        value_range = recorded_range(source)
        record_range(leaf, *bounds, value_range.distinct if distinct and value_range is not None else None)


def are_distinct(leaf: Node, extent: int) -> bool | None:
    """Return whether a leaf's values are distinct indices of an axis of this extent; None if it is not recorded."""
    value_range = recorded_range(leaf)
    if value_range is None or not value_range.distinct:
        return None if value_range is None or value_range.distinct is None else False
    return True if value_range.low >= 0 or value_range.distinct == extent else None


# Bounds -------------------------------------------------------------------------------------------


def value_bounds(node: Node) -> Bounds | None:
    """Return inclusive bounds of a node's integers; None if its dtype is not an integer or a bool."""
    known: dict[Node, Bounds | None] = {}
    if node.dtype.char in _LIMITS:
        for each in graph_of(node).pending:
            known[each] = _node_bounds(each, known)
    return _node_bounds(node, known)


def _node_bounds(node: Node, known: dict[Node, Bounds | None]) -> Bounds | None:
    """Return the bounds of a node from the known ones of its pending operands."""
    if node in known:
        return known[node]
    limits = _LIMITS.get(node.dtype.char)
    if limits is None:
        return None
    if node.memory is not None:
        value_range = recorded_range(node)
        return limits if value_range is None else (value_range.low, value_range.high)
    bounds = _pending_bounds(node, known)
    # a value beyond the dtype's limits has wrapped around
    return bounds if bounds is not None and limits[0] <= bounds[0] and bounds[1] <= limits[1] else limits


def _pending_bounds(node: Node, known: dict[Node, Bounds | None]) -> Bounds | None:
    op = node.op
    if op is CONST:
        return int(node.value), int(node.value)
    if op is INDEX:
        reach = [(n - 1) * s for n, s in zip(node.shape, node.strides, strict=True) if n]
        return node.offset + sum(x for x in reach if x < 0), node.offset + sum(x for x in reach if x > 0)
    if isinstance(op, Reduction):
        # axes without elements have no positions, and NumPy refuses their argmin
        return (0, max(prod(node.args[0].shape[a] for a in op.axes) - 1, 0)) if op.monoid.indexed else None
    if not isinstance(op, Loop):
        return None
    rule = _RULES.get(op.ufunc)
    if rule is not None:
        operands = [
            _converted_bounds(_node_bounds(a, known), dtype) for a, dtype in zip(node.args, op.in_dtypes, strict=True)
        ]
        return None if None in operands else rule(*operands)
    if op is cast_loop(node.dtype):
        return _node_bounds(node.args[0], known)
    if op is select_loop(node.dtype):
        a, b = (_converted_bounds(_node_bounds(x, known), node.dtype) for x in node.args[1:])
        return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
    return None


def _converted_bounds(bounds: Bounds | None, dtype: np.dtype) -> Bounds | None:
    """Return an operand's bounds after its conversion to `dtype`; None if that is not an integer or a bool."""
    limits = _LIMITS.get(dtype.char)
    if bounds is None or limits is None or bounds[0] < limits[0] or bounds[1] > limits[1]:
        return limits
    return bounds


def _corner_rule(function: Callable[[int, int], int]) -> Callable[[Bounds, Bounds], Bounds]:
    """Return the rule of a function whose extremes lie at the extremes of its operands."""

    def rule(a: Bounds, b: Bounds) -> Bounds:
        corners = [function(x, y) for x in a for y in b]
        return min(corners), max(corners)

    return rule


def _remainder(a: Bounds, b: Bounds) -> Bounds | None:
    if b[0] <= 0:
        return None
    return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)


def _floor_divide(a: Bounds, b: Bounds) -> Bounds | None:
    return _corner_rule(int.__floordiv__)(a, b) if b[0] > 0 else None


def _bitwise_and(a: Bounds, b: Bounds) -> Bounds | None:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else None


def _or_bounds(a: Bounds, b: Bounds) -> Bounds | None:
    return None if a[0] < 0 or b[0] < 0 else (0, (1 << max(a[1], b[1]).bit_length()) - 1)


def _shift_left(a: Bounds, b: Bounds) -> Bounds | None:
    return (a[0] << b[0], a[1] << b[1]) if a[0] >= 0 and b[0] >= 0 and b[1] < 64 else None


def _shift_right(a: Bounds, b: Bounds) -> Bounds | None:
    return (0, a[1] >> min(b[0], 64)) if a[0] >= 0 and b[0] >= 0 else None


# By ufunc: the bounds of the mathematical result from the bounds of the operands, before the result wraps around.
_RULES: dict[Any, Callable[..., Bounds | None]] = {
    np.add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    np.subtract: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    np.multiply: _corner_rule(int.__mul__),
    np.remainder: _remainder,
    np.floor_divide: _floor_divide,
    np.bitwise_and: _bitwise_and,
    np.bitwise_or: _or_bounds,
    np.bitwise_xor: _or_bounds,
    np.left_shift: _shift_left,
    np.right_shift: _shift_right,
    np.minimum: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    np.maximum: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    clip_ufunc: lambda x, a, b: (min(max(x[0], a[0]), b[0]), min(max(x[1], a[1]), b[1])),
}
