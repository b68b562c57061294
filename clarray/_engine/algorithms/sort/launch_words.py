"""Launch orders that take several sorts: of complex numbers, and of many long lines. And the sequential reference."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from clarray._engine.algorithms.sort.launch_chunks import ChunkedSort
from clarray._engine.algorithms.sort.launch_operands import KeyLines
from clarray._engine.algorithms.sort.launch_tiles import sort_by_tiles
from clarray._engine.algorithms.sort.plan import KeyKind, key_kind
from clarray._engine.algorithms.sort.source import (
    gather_lines_source,
    line_numbers_source,
    part_source,
    reference_source,
)
from clarray._engine.expr.node import Node, contiguous_leaf, memory_of
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import COSTLY
from clarray._engine.runtime import Memory

_INT64 = np.dtype(np.int64)


def key_lines(packed: Node) -> KeyLines:
    """Return the lines of a C-contiguous leaf, along its last axis."""
    memory = memory_of(packed)
    return KeyLines(key_kind(packed.dtype), memory, packed.offset, packed.shape[-1], prod(packed.shape[:-1]))


def sort_line(cache: KernelCache, line: KeyLines, out: Memory, argsort: bool) -> None:
    """Sort one line of real numbers into `out`: the keys, or the positions as int64."""
    if not cache.policies.sort.chunked:
        sort_by_tiles(cache, line, out, argsort)
        return
    sort = ChunkedSort(cache, line)
    if argsort:
        sort.argsort(out)
    else:
        sort.sort(out)


def order_by_words(cache: KernelCache, packed: Node) -> Node:
    """Return the positions that sort all lines at once: sort by the words of a key, then by the numbers of lines."""
    kind, memory, offset, n, lines = key_lines(packed)
    total = packed.size
    order: Memory | None = None
    if kind.kind == "c":
        real = replace(kind, kind="f")
        for part in range(3):
            key = KeyKind("u", 8) if part == 2 else real
            word = _part(cache, KeyLines(kind, memory, offset, total), part, order)
            order = _refine(cache, KeyLines(key, word, 0, total), order)
    else:
        order = _refine(cache, KeyLines(kind, memory, offset, total), None)
    assert order is not None
    if lines > 1:
        numbers = _line_numbers(cache, "uint", order, total, n)
        bits = (lines - 1).bit_length()
        order = _refine(cache, KeyLines(KeyKind("u", 32), numbers, 0, total), order, bits)
        order = _line_numbers(cache, "long", order, total, n)
    return contiguous_leaf(order, packed.shape, _INT64)


def _refine(cache: KernelCache, keys: KeyLines, order: Memory | None, bits: int = 0) -> Memory:
    """Sort keys stably, and return the positions of `order` in the new order."""
    n = keys.n
    out = cache.device.allocate(n * 8)
    if not cache.policies.sort.chunked:
        sort_by_tiles(cache, keys, out, True, order, bits)
        return out
    ChunkedSort(cache, keys).argsort(out)
    if order is None:
        return out
    refined = gather_lines(cache, contiguous_leaf(order, (n,), _INT64), contiguous_leaf(out, (n,), _INT64))
    return memory_of(refined)


def _part(cache: KernelCache, values: KeyLines, part: int, order: Memory | None) -> Memory:
    """Return one word of the keys of complex numbers, in the order `order`."""
    policy, kind, n = cache.policies.elementwise, values.kind, values.n
    key = ("sort part", kind, part, policy)
    kernel = cache.kernel_for(key, part_source, kind, part, policy, cache.capabilities)
    out = cache.device.allocate(n * (1 if part == 2 else kind.bits // 8))
    positions = {} if order is None else {"at": order.buffer}
    args = kernel.arguments(x=values.memory.buffer, xo=values.offset, y=out.buffer, total=n, **positions)
    nbytes = n * (kind.element_bytes + 8)
    count = groups(n, nbytes, cache.units, policy)
    Launch(kernel, (count,), (policy.work_group,), args, False, nbytes).run()
    return out


def _line_numbers(cache: KernelCache, out_type: str, order: Memory, total: int, n: int) -> Memory:
    """Return the line of each position, as uint, or the position along the line, as long."""
    policy = cache.policies.elementwise
    key = ("sort line numbers", out_type, policy)
    kernel = cache.kernel_for(key, line_numbers_source, out_type, policy, cache.capabilities)
    out = cache.device.allocate(total * (4 if out_type == "uint" else 8))
    nbytes = total * 16
    count = groups(total, nbytes, cache.units, policy)
    args = kernel.arguments(at=order.buffer, y=out.buffer, total=total, n=n)
    Launch(kernel, (count,), (policy.work_group,), args, False, nbytes).run()
    return out


def sort_by_reference(cache: KernelCache, packed: Node) -> Node:
    """Return the positions that sort lines. One work-item sorts each line."""
    device = cache.device
    out = contiguous_leaf(device.allocate(packed.size * 8), packed.shape, _INT64)
    if not packed.size:
        return out
    kind, memory, offset, n, lines = key_lines(packed)
    key = ("sort reference", kind)
    kernel = cache.kernel_for(key, reference_source, kind, cache.capabilities)
    scratch = device.allocate(packed.size * 8)
    args = kernel.arguments(
        xp=memory.buffer, xo=offset, lines=lines, n=n, yp=memory_of(out).buffer, scratch=scratch.buffer
    )
    count = min(lines, 1 << 16)
    Launch(kernel, (count,), (1,), args, False, packed.size * (packed.dtype.itemsize + 16)).run()
    return out


def gather_lines(cache: KernelCache, packed: Node, order: Node) -> Node:
    """Return the elements of each line at the positions in `order`."""
    itemsize = packed.dtype.itemsize
    out = contiguous_leaf(cache.device.allocate(packed.size * itemsize), packed.shape, packed.dtype)
    if not packed.size:
        return out
    policy = cache.policies.elementwise
    key = ("sort pick", itemsize, policy)
    kernel = cache.kernel_for(key, gather_lines_source, itemsize, policy, cache.capabilities)
    args = kernel.arguments(
        x=memory_of(packed).buffer,
        xo=packed.offset,
        at=memory_of(order).buffer,
        y=memory_of(out).buffer,
        total=packed.size,
        n=packed.shape[-1],
    )
    nbytes = packed.size * (2 * itemsize + 8)
    Launch(
        kernel,
        (groups(packed.size, nbytes, cache.units, policy),),
        (policy.work_group,),
        args,
        COSTLY * nbytes <= policy.inline_bytes,
        nbytes,
    ).run()
    return out
