"""Launches of sorts along an axis: made and run at once.

A line is what is sorted: all elements along the axis. Lines that do not lie in memory one after
the other are moved there first, and their result back.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.sort.launch_chunks import sort_short_rows
from clarray._engine.algorithms.sort.launch_tiles import sort_by_groups
from clarray._engine.algorithms.sort.launch_words import lines_of, order_by_words, pick, sort_by_reference, sort_line
from clarray._engine.algorithms.sort.plan import group_plan, key_kind
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, leaf, replanned
from clarray._engine.expr.result_layout import view_of
from clarray._engine.expr.view import contiguous, memory_order, moveaxis, ordered_strides
from clarray._engine.launch.kernel_cache import KernelCache, device_of, kernel_cache_of
from clarray._engine.runtime import Memory
from clarray._engine.writing import write

__all__ = ["argsort_rows", "sort_rows", "sort_pairs"]

_INT64 = np.dtype(np.int64)


@replanned
def sort_rows(value: Node, axis: int) -> Node:
    """The elements sorted along an axis, NaN last, complex numbers in NumPy's order.

    Parameters
    ----------
    value : Node
        Of at least one axis.
    axis : int
        Not negative.

    Returns
    -------
    Node
        A new leaf of the same shape.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        flags = value.flags
        packed = _packed(value, axis)
        cache = kernel_cache_of(device)
        strides = contiguous(value.shape)
        if value.memory is not None:
            strides = ordered_strides(value.shape, memory_order(view_of(value)))
        found = _put_back(_sorted(cache, packed), axis, strides)
        if flags & EAGER:
            device.synchronize()
    return found


@replanned
def argsort_rows(value: Node, axis: int) -> Node:
    """The positions along an axis in the order of its elements, equal ones in the order they have.

    Returns
    -------
    Node
        A new int64 leaf of the same shape.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        flags = value.flags
        packed = _packed(value, axis)
        found = _put_back(_order(kernel_cache_of(device), packed), axis, contiguous(value.shape))
        length = value.shape[axis]
        record_range(found, 0, max(length - 1, 0), distinct=length if found.size == length else None)
        if flags & EAGER:
            device.synchronize()
    return found


@replanned
def sort_pairs(value: Node, payload: Node) -> tuple[Node, Node]:
    """Elements of one axis, sorted stably, and others moved along with them.

    Parameters
    ----------
    value, payload : Node
        Of one axis and one size.

    Returns
    -------
    tuple of Node
        New leaves.
    """
    device = device_of((*(value.inputs or (value,)), *(payload.inputs or (payload,))))
    with device.lock:
        flags = value.flags | payload.flags
        keys, carried = _packed(value, 0), _packed(payload, 0)
        cache = kernel_cache_of(device)
        order = _order(cache, keys)
        found = pick(cache, keys, order), pick(cache, carried, order)
        if flags & EAGER:
            device.synchronize()
    return found


def _packed(value: Node, axis: int) -> Node:
    """A C-contiguous leaf with the axis last."""
    last = len(value.shape) - 1
    if value.memory is None and (axis != last or value.inputs):
        evaluate(value)
    turned = value
    if axis != last:
        view = moveaxis(view_of(value), axis, last)
        assert value.memory is not None
        turned = leaf(value.memory, view.shape, view.strides, view.offset, value.dtype)
    if turned.memory is not None and turned.contiguous:
        return turned
    memory = device_of((value,)).allocate(value.size * value.dtype.itemsize)
    copy = contiguous_leaf(memory, turned.shape, value.dtype)
    write(copy, turned)
    return copy


def _put_back(lines: Node, axis: int, strides: tuple[int, ...]) -> Node:
    """Sorted lines in the memory order that NumPy gives them: values in the operand's, positions in C order."""
    assert lines.memory is not None
    turned = moveaxis(view_of(lines), len(lines.shape) - 1, axis)
    shape = turned.shape
    found = leaf(lines.memory, shape, turned.strides, turned.offset, lines.dtype)
    steps = zip(found.strides, strides, shape, strict=True)
    if found.size <= 1 or all(a == b for a, b, extent in steps if extent > 1):
        return found
    memory = lines.memory.device.allocate(found.size * found.dtype.itemsize)
    target = leaf(memory, shape, strides, 0, lines.dtype)
    write(target, found)
    return target


def _sorted(cache: KernelCache, packed: Node) -> Node:
    """Sorted lines."""
    out = cache.device.allocate(packed.size * packed.dtype.itemsize)
    if not packed.size or _run(cache, packed, out, False):
        return contiguous_leaf(out, packed.shape, packed.dtype)
    return pick(cache, packed, _order(cache, packed))


def _order(cache: KernelCache, packed: Node) -> Node:
    """The positions that sort lines."""
    out = cache.device.allocate(packed.size * 8)
    if not packed.size or _run(cache, packed, out, True):
        return contiguous_leaf(out, packed.shape, _INT64)
    if cache.policies.sort.chunked and packed.shape[-1] <= cache.policies.sort.line:
        return sort_by_reference(cache, packed)
    return order_by_words(cache, packed)


def _run(cache: KernelCache, packed: Node, out: Memory, argsort: bool) -> bool:
    """Sort real numbers, or their positions; False where that is not done line by line."""
    lines, n = lines_of(packed)
    kind = key_kind(packed.dtype)
    if kind.kind == "c":
        return False
    policy = cache.policies.sort
    source = packed.memory
    assert source is not None
    if policy.chunked:
        if n <= policy.line // 16 or (lines > 1 and n <= policy.line):
            sort_short_rows(cache, kind, source, packed.offset, lines, n, out, argsort)
            return True
    else:
        plan = group_plan(kind, n, argsort, policy)
        if plan is not None:
            sort_by_groups(cache, plan, source, packed.offset, lines, n, out)
            return True
        if lines > policy.most_lines:
            return False
    itemsize = 8 if argsort else packed.dtype.itemsize
    for number in range(lines):
        target = out if lines == 1 else cache.device.allocate(n * itemsize)
        sort_line(cache, kind, source, packed.offset + number * n, n, target, argsort)
        if target is not out:
            _place(target, out, number, n, _INT64 if argsort else packed.dtype)
    return True


def _place(line: Memory, out: Memory, number: int, n: int, dtype: np.dtype) -> None:
    """Copy a line to its place among the others."""
    target = leaf(out, (n,), (1,), number * n, dtype)
    write(target, contiguous_leaf(line, (n,), dtype))
