"""Between which integers the values of an expression lie, as far as that is known without looking at them.

Indices are checked on the device, and who checks waits for the answer. So what has been seen of integers in memory is
remembered there, until the memory is written, and what is computed from integers is judged by the operations.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.node import CONST, INDEX, Node
from clarray._engine.ops.monoids import Reduction
from clarray._engine.ops.special import cast_loop, select_loop
from clarray._engine.ops.ufuncs import Loop, clip_ufunc

__all__ = [
    "Fact",
    "are_apart",
    "bounds_of",
    "count_of",
    "fact_of",
    "reaches_outside",
    "remember",
    "remember_count",
    "remember_outside",
    "remember_part",
]

Bounds = tuple[int, int]  # the least and the largest value that there may be

_MOST = 1024  # views of a memory of which something is remembered
_LIMITS: dict[str, Bounds] = {"?": (0, 1)}
for _char in np.typecodes["AllInteger"]:
    _LIMITS[_char] = (int(np.iinfo(_char).min), int(np.iinfo(_char).max))


class Fact(NamedTuple):
    """What is known of integers in memory.

    Parameters
    ----------
    low, high : int
        All lie between these.
    apart : int, optional
        Of an axis: no two of the numbers name the same one of so many elements, negative ones counted from the end.
        0 where some may; None where nobody has looked.
    """

    low: int
    high: int
    apart: int | None = None


# Facts --------------------------------------------------------------------------------------------


def fact_of(leaf: Node) -> Fact | None:
    """What is remembered of a leaf."""
    memory = leaf.memory
    if memory is None or memory.facts is None or memory.shared:
        return None
    char = leaf.dtype.char
    found: Fact | None = memory.facts.get((leaf.offset, leaf.shape, leaf.strides, char))
    return found or memory.facts.get(char)


def remember(leaf: Node, low: int, high: int, apart: int | None = None) -> None:
    """Remember of a leaf, until its memory is written, what has been seen, or follows from how it was made.

    The device's lock is held, or nobody else has the leaf yet.
    """
    memory = leaf.memory
    if memory is None or memory.shared or (leaf.dtype.kind == "u" and leaf.dtype.itemsize == 8):
        return  # the latter are checked as the signed numbers of the same bits
    if apart is None and (low, high) == _LIMITS[leaf.dtype.char]:
        return
    facts = memory.facts
    if facts is None or len(facts) >= _MOST:
        facts = memory.facts = {}
    key = (leaf.offset, leaf.shape, leaf.strides, leaf.dtype.char)
    known: Fact | None = facts.get(key)
    if known is not None:
        low, high = max(low, known.low), min(high, known.high)
        apart = known.apart if apart is None else apart
    facts[key] = Fact(low, high, apart)
    if leaf.contiguous and not leaf.offset and leaf.size * leaf.dtype.itemsize == memory.nbytes:
        facts[leaf.dtype.char] = Fact(low, high)  # of any view


def remember_outside(leaf: Node, extent: int) -> None:
    """Remember that a leaf is all of a memory, and not all of it in bounds of an axis."""
    memory = leaf.memory
    assert memory is not None
    if memory.facts is None:
        memory.facts = {}
    memory.facts["outside", leaf.dtype.char] = extent


def reaches_outside(leaf: Node, extent: int) -> bool:
    """Whether that is remembered of the axis, or a longer one."""
    memory = leaf.memory
    assert memory is not None
    return memory.facts is not None and extent <= memory.facts.get(("outside", leaf.dtype.char), 0)


def count_of(mask: Node) -> int | None:
    """How many elements of a mask, or of the opposite of one in memory, are set; None where nobody has counted."""
    of, inverted = _counted(mask)
    memory = of.memory
    if memory is None or memory.facts is None or memory.shared:
        return None
    found: int | None = memory.facts.get(("set", of.offset, of.shape, of.strides))
    return of.size - found if inverted and found is not None else found


def remember_count(mask: Node, count: int) -> None:
    """Remember how many are set, until the mask's memory is written; of a mask that is computed nothing."""
    of, inverted = _counted(mask)
    memory = of.memory
    if memory is None or memory.shared:
        return
    if memory.facts is None or len(memory.facts) >= _MOST:
        memory.facts = {}
    memory.facts["set", of.offset, of.shape, of.strides] = of.size - count if inverted else count


def _counted(mask: Node) -> tuple[Node, bool]:
    """The mask of which something is remembered, and whether this one is its opposite."""
    if mask.memory is None and isinstance(mask.op, Loop) and mask.op.ufunc in (np.invert, np.logical_not):
        of = mask.args[0]
        if of.dtype == bool:
            return of, True
    return mask, False


def remember_part(leaf: Node, of: Node, distinct: bool = False) -> None:
    """Remember that the elements of a leaf are some of a value's; with `distinct`, none of them twice."""
    if leaf.dtype.kind not in "iu":
        return
    bounds = bounds_of(of)
    if bounds is not None:
        fact = fact_of(of)
        remember(leaf, *bounds, fact.apart if distinct and fact is not None else None)


def are_apart(leaf: Node, count: int) -> bool | None:
    """Whether no two of a leaf's numbers name the same of `count` elements, as far as is remembered."""
    fact = fact_of(leaf)
    if fact is None or not fact.apart:
        return None if fact is None or fact.apart is None else False
    return True if fact.low >= 0 or fact.apart == count else None


# Bounds -------------------------------------------------------------------------------------------


def bounds_of(node: Node) -> Bounds | None:
    """Between which integers all values of a node lie, as far as is known; None where they are no integers."""
    limits = _LIMITS.get(node.dtype.char)
    if limits is None:
        return None
    if node.memory is not None:
        fact = fact_of(node)
        return limits if fact is None else (fact.low, fact.high)
    found = _bounds_of_pending(node)
    # what leaves the dtype has wrapped around
    return found if found is not None and limits[0] <= found[0] and found[1] <= limits[1] else limits


def _bounds_of_pending(node: Node) -> Bounds | None:
    op = node.op
    if op is CONST:
        return int(node.value), int(node.value)
    if op is INDEX:
        reach = [(n - 1) * s for n, s in zip(node.shape, node.strides, strict=True) if n]
        return node.offset + sum(x for x in reach if x < 0), node.offset + sum(x for x in reach if x > 0)
    if isinstance(op, Reduction):
        # of axes without elements there is no such position, and no reduction
        return (0, max(prod(node.args[0].shape[a] for a in op.axes) - 1, 0)) if op.monoid.indexed else None
    if not isinstance(op, Loop):
        return None
    rule = _RULES.get(op.ufunc)
    if rule is not None:
        given = [_as_given(bounds_of(a), wanted) for a, wanted in zip(node.args, op.in_dtypes, strict=True)]
        return None if None in given else rule(*given)
    if op is cast_loop(node.dtype):
        return bounds_of(node.args[0])
    if op is select_loop(node.dtype):
        a, b = (_as_given(bounds_of(x), node.dtype) for x in node.args[1:])
        return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
    return None


def _as_given(bounds: Bounds | None, dtype: np.dtype) -> Bounds | None:
    """The bounds of an operand after its conversion; None where it is none to an integer that holds it."""
    limits = _LIMITS.get(dtype.char)
    if bounds is None or limits is None or bounds[0] < limits[0] or bounds[1] > limits[1]:
        return limits
    return bounds


def _of_corners(function: Callable[[int, int], int]) -> Callable[[Bounds, Bounds], Bounds]:
    """The rule of a function that is largest and least where its operands are."""

    def rule(a: Bounds, b: Bounds) -> Bounds:
        corners = [function(x, y) for x in a for y in b]
        return min(corners), max(corners)

    return rule


def _remainder(a: Bounds, b: Bounds) -> Bounds | None:
    if b[0] <= 0:
        return None
    return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)


def _floor_divide(a: Bounds, b: Bounds) -> Bounds | None:
    return _of_corners(int.__floordiv__)(a, b) if b[0] > 0 else None


def _bitwise_and(a: Bounds, b: Bounds) -> Bounds | None:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else None


def _bits_of_either(a: Bounds, b: Bounds) -> Bounds | None:
    return None if a[0] < 0 or b[0] < 0 else (0, (1 << max(a[1], b[1]).bit_length()) - 1)


def _left_shift(a: Bounds, b: Bounds) -> Bounds | None:
    return (a[0] << b[0], a[1] << b[1]) if a[0] >= 0 and b[0] >= 0 and b[1] < 64 else None


def _right_shift(a: Bounds, b: Bounds) -> Bounds | None:
    return (0, a[1] >> min(b[0], 64)) if a[0] >= 0 and b[0] >= 0 else None


# By ufunc: the bounds of the result from those of operands, before it is brought into the dtype.
_RULES: dict[Any, Callable[..., Bounds | None]] = {
    np.add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    np.subtract: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    np.multiply: _of_corners(int.__mul__),
    np.remainder: _remainder,
    np.floor_divide: _floor_divide,
    np.bitwise_and: _bitwise_and,
    np.bitwise_or: _bits_of_either,
    np.bitwise_xor: _bits_of_either,
    np.left_shift: _left_shift,
    np.right_shift: _right_shift,
    np.minimum: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    np.maximum: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    clip_ufunc: lambda x, a, b: (min(max(x[0], a[0]), b[0]), min(max(x[1], a[1]), b[1])),
}
