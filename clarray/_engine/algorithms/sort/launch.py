"""Run sorts along an axis eagerly.

A line has all elements along the sorted axis at one position of the other axes. Lines that are not contiguous are
copied first, and the result is copied back into NumPy's memory order.
"""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.sort.launch_chunks import sort_short_rows
from clarray._engine.algorithms.sort.launch_operands import KeyLines
from clarray._engine.algorithms.sort.launch_tiles import sort_by_groups
from clarray._engine.algorithms.sort.launch_words import (
    gather_lines,
    key_lines,
    order_by_words,
    sort_by_reference,
    sort_line,
)
from clarray._engine.algorithms.sort.plan import group_plan
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
    """Sort the elements along an axis, NaN last, complex numbers in NumPy's order.

    Parameters
    ----------
    value : Node
        A node of at least one axis.
    axis : int
        Not negative.

    Returns
    -------
    Node
        A new leaf of the same shape.
    """
    device = device_of(value)
    with device.lock:
        flags = value.flags
        packed = _packed(value, axis)
        cache = kernel_cache_of(device)
        strides = contiguous(value.shape)
        if value.memory is not None:
            strides = ordered_strides(value.shape, memory_order(view_of(value)))
        result = _restore_axes(_sort(cache, packed), axis, strides)
        if flags & EAGER:
            device.synchronize()
    return result


@replanned
def argsort_rows(value: Node, axis: int) -> Node:
    """Return the positions that sort the elements along an axis stably.

    Returns
    -------
    Node
        A new int64 leaf of the same shape.
    """
    device = device_of(value)
    with device.lock:
        flags = value.flags
        packed = _packed(value, axis)
        result = _restore_axes(_argsort(kernel_cache_of(device), packed), axis, contiguous(value.shape))
        length = value.shape[axis]
        record_range(result, 0, max(length - 1, 0), distinct=length if result.size == length else None)
        if flags & EAGER:
            device.synchronize()
    return result


@replanned
def sort_pairs(value: Node, payload: Node) -> tuple[Node, Node]:
    """Sort the elements of one axis stably, and a payload in the same order.

    Parameters
    ----------
    value, payload : Node
        Nodes of one axis and equal sizes.

    Returns
    -------
    tuple of Node
        New leaves.
    """
    device = device_of(value, payload)
    with device.lock:
        flags = value.flags | payload.flags
        keys, carried = _packed(value, 0), _packed(payload, 0)
        cache = kernel_cache_of(device)
        order = _argsort(cache, keys)
        result = gather_lines(cache, keys, order), gather_lines(cache, carried, order)
        if flags & EAGER:
            device.synchronize()
    return result


def _packed(value: Node, axis: int) -> Node:
    """Return a C-contiguous leaf whose last axis is `axis`."""
    last = len(value.shape) - 1
    if value.memory is None and (axis != last or value.args):
        evaluate(value)
    transposed = value
    if axis != last:
        view = moveaxis(view_of(value), axis, last)
        assert value.memory is not None
        transposed = leaf(value.memory, view.shape, view.strides, view.offset, value.dtype)
    if transposed.memory is not None and transposed.contiguous:
        return transposed
    memory = device_of(value).allocate(value.size * value.dtype.itemsize)
    copy = contiguous_leaf(memory, transposed.shape, value.dtype)
    write(copy, transposed)
    return copy


def _restore_axes(lines: Node, axis: int, strides: tuple[int, ...]) -> Node:
    """Move the last axis of sorted lines back to `axis`, with the strides of NumPy's result."""
    assert lines.memory is not None
    view = moveaxis(view_of(lines), len(lines.shape) - 1, axis)
    shape = view.shape
    result = leaf(lines.memory, shape, view.strides, view.offset, lines.dtype)
    steps = zip(result.strides, strides, shape, strict=True)
    if result.size <= 1 or all(a == b for a, b, extent in steps if extent > 1):
        return result
    memory = lines.memory.device.allocate(result.size * result.dtype.itemsize)
    target = leaf(memory, shape, strides, 0, lines.dtype)
    write(target, result)
    return target


def _sort(cache: KernelCache, packed: Node) -> Node:
    """Return a sorted copy of lines."""
    out = cache.device.allocate(packed.size * packed.dtype.itemsize)
    if not packed.size or _sort_lines(cache, packed, out, False):
        return contiguous_leaf(out, packed.shape, packed.dtype)
    return gather_lines(cache, packed, _argsort(cache, packed))


def _argsort(cache: KernelCache, packed: Node) -> Node:
    """Return the positions that sort lines."""
    out = cache.device.allocate(packed.size * 8)
    if not packed.size or _sort_lines(cache, packed, out, True):
        return contiguous_leaf(out, packed.shape, _INT64)
    if cache.policies.sort.chunked and packed.shape[-1] <= cache.policies.sort.line:
        return sort_by_reference(cache, packed)
    return order_by_words(cache, packed)


def _sort_lines(cache: KernelCache, packed: Node, out: Memory, argsort: bool) -> bool:
    """Sort each line of real numbers, or its positions, into `out`. Return False if sorts of single lines are slow."""
    source = key_lines(packed)
    kind, memory, offset, n, lines = source
    if kind.kind == "c":
        return False
    policy = cache.policies.sort
    if policy.chunked:
        if n <= policy.line // 16 or (lines > 1 and n <= policy.line):
            sort_short_rows(cache, source, out, argsort)
            return True
    else:
        plan = group_plan(kind, n, argsort, policy)
        if plan is not None:
            sort_by_groups(cache, plan, source, out)
            return True
        if lines > policy.most_lines:
            return False
    itemsize = 8 if argsort else packed.dtype.itemsize
    for number in range(lines):
        target = out if lines == 1 else cache.device.allocate(n * itemsize)
        sort_line(cache, KeyLines(kind, memory, offset + number * n, n), target, argsort)
        if target is not out:
            _copy_line(target, out, number, n, _INT64 if argsort else packed.dtype)
    return True


def _copy_line(line: Memory, out: Memory, number: int, n: int, dtype: np.dtype) -> None:
    """Copy a line to line `number` of `out`."""
    target = leaf(out, (n,), (1,), number * n, dtype)
    write(target, contiguous_leaf(line, (n,), dtype))
