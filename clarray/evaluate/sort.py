"""Launches of sorts along an axis: made and run at once.

A line is what is sorted: all elements along the axis. Lines that do not lie in memory one after
the other are moved there first, and their result back.
"""

from __future__ import annotations

from math import prod

import numpy as np

from clarray.codegen.sort import pick_source, twin_source
from clarray.evaluate import evaluate, view_of, write
from clarray.evaluate.sort_chunks import Line, sort_by_lines
from clarray.evaluate.state import DeviceState, Launch, device_of, state_of
from clarray.expr.node import EAGER, Node, contiguous_leaf, leaf
from clarray.expr.overlap import k_order_strides
from clarray.expr.view import moveaxis
from clarray.plan.elementwise import groups
from clarray.plan.sort import KeyKind, key_kind
from clarray.runtime import Memory

__all__ = ["argsort_lines", "sort_lines", "sort_pairs"]

_INT64 = np.dtype(np.int64)


def sort_lines(value: Node, axis: int, descending: bool = False) -> Node:
    """The elements sorted along an axis, NaN last, complex numbers in NumPy's order.

    Parameters
    ----------
    value : Node
        Of at least one axis.
    axis : int
        Not negative.
    descending : bool
        The reverse order, equal elements still in the order they have.

    Returns
    -------
    Node
        A new leaf of the same shape.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        flags = value.flags
        packed = _packed(value, axis)
        state = state_of(device)
        found = _put_back(value, _sorted(state, packed, descending), axis)
        if flags & EAGER:
            device.synchronize()
    return found


def argsort_lines(value: Node, axis: int, descending: bool = False) -> Node:
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
        found = _put_back(value, _order(state_of(device), packed, descending), axis)
        if flags & EAGER:
            device.synchronize()
    return found


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
        state = state_of(device)
        order = _order(state, keys, False)
        found = _pick(state, keys, order), _pick(state, carried, order)
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


def _put_back(value: Node, lines: Node, axis: int) -> Node:
    """Sorted lines in the memory order that NumPy gives them: that of the operand."""
    last = len(value.shape) - 1
    shape = value.shape
    views = [view_of(value)] if value.memory is not None else []
    strides = k_order_strides(views, shape)
    assert lines.memory is not None
    turned = moveaxis(view_of(lines), last, axis)
    found = leaf(lines.memory, shape, turned.strides, turned.offset, lines.dtype)
    if found.strides == strides or found.size <= 1 or all(a == b for a, b, n in zip(found.strides, strides, shape, strict=True) if n > 1):
        return found
    memory = lines.memory.device.allocate(found.size * found.dtype.itemsize)
    target = leaf(memory, shape, strides, 0, lines.dtype)
    write(target, found)
    return target


def _lines(packed: Node) -> tuple[int, int]:
    """Number and length of the lines."""
    return prod(packed.shape[:-1]), packed.shape[-1]


def _sorted(state: DeviceState, packed: Node, descending: bool) -> Node:
    """Sorted lines."""
    kind = key_kind(packed.dtype)
    if kind.kind == "c" or not state.policies.sort.chunked:
        return _pick(state, packed, _order(state, packed, descending))
    out = state.device.allocate(packed.size * packed.dtype.itemsize)
    _run(state, kind, packed, out, False, descending)
    return contiguous_leaf(out, packed.shape, packed.dtype)


def _order(state: DeviceState, packed: Node, descending: bool) -> Node:
    """The positions that sort lines."""
    kind = key_kind(packed.dtype)
    if kind.kind == "c" or not state.policies.sort.chunked:
        return _twin(state, packed, descending)
    out = state.device.allocate(packed.size * 8)
    _run(state, kind, packed, out, True, descending)
    return contiguous_leaf(out, packed.shape, _INT64)


def _run(
    state: DeviceState, kind: KeyKind, packed: Node, out: Memory, argsort: bool, descending: bool
) -> None:
    """Sort real numbers, or their positions, in chunks."""
    lines, n = _lines(packed)
    if not lines * n:
        return
    policy = state.policies.sort
    source = packed.memory
    assert source is not None
    if n <= policy.line // 16 or (lines > 1 and n <= policy.line):
        sort_by_lines(state, kind, source, packed.offset, lines, n, out, argsort, descending)
        return
    itemsize = 8 if argsort else packed.dtype.itemsize
    for number in range(lines):
        line = Line(state, kind, source, packed.offset + number * n, n, descending)
        target = out if lines == 1 else state.device.allocate(n * itemsize)
        if argsort:
            line.argsort(target)
        else:
            line.sort(target)
        if target is not out:
            _place(target, out, number, n, _INT64 if argsort else packed.dtype)


def _place(line: Memory, out: Memory, number: int, n: int, dtype: np.dtype) -> None:
    """Copy a line to its place among the others."""
    target = leaf(out, (n,), (1,), number * n, dtype)
    write(target, contiguous_leaf(line, (n,), dtype))


def _twin(state: DeviceState, packed: Node, descending: bool) -> Node:
    lines, n = _lines(packed)
    device = state.device
    out = contiguous_leaf(device.allocate(packed.size * 8), packed.shape, _INT64)
    if not packed.size:
        return out
    kind = key_kind(packed.dtype)
    key = ("sort twin", kind, descending)
    kernel = state.prepared.get(key)
    if kernel is None:
        kernel = state.keep(key, state.kernel(twin_source(kind, descending, state.capabilities)))
    scratch = device.allocate(packed.size * 8)
    assert packed.memory is not None
    assert out.memory is not None
    args = [packed.memory.buffer, packed.offset, lines, n, out.memory.buffer, scratch.buffer]
    count = min(lines, 1 << 16)
    Launch(kernel, (count,), (1,), args, False, packed.size * (packed.dtype.itemsize + 16)).run()
    return out


def _pick(state: DeviceState, packed: Node, order: Node) -> Node:
    """The elements of each line in the order of positions."""
    itemsize = packed.dtype.itemsize
    out = contiguous_leaf(state.device.allocate(packed.size * itemsize), packed.shape, packed.dtype)
    if not packed.size:
        return out
    policy = state.policies.elementwise
    key = ("sort pick", itemsize, policy)
    kernel = state.prepared.get(key)
    if kernel is None:
        kernel = state.keep(key, state.kernel(pick_source(itemsize, policy, state.capabilities)))
    assert packed.memory is not None
    assert order.memory is not None
    assert out.memory is not None
    args = [packed.memory.buffer, packed.offset, order.memory.buffer, out.memory.buffer]
    args += [packed.size, packed.shape[-1]]
    nbytes = packed.size * (2 * itemsize + 8)
    Launch(
        kernel, (groups(packed.size, nbytes, state.units, policy),), (policy.work_group,), args,
        nbytes <= policy.inline_bytes, nbytes,
    ).run()  # fmt: skip
    return out
