"""Orders made of several sorts: complex numbers, and many long lines at once. And the sequential reference."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from clarray._engine.algorithms.sort.launch_chunks import Line
from clarray._engine.algorithms.sort.launch_tiles import sort_by_tiles
from clarray._engine.algorithms.sort.plan import KeyKind, key_kind
from clarray._engine.algorithms.sort.source import line_numbers_source, part_source, pick_source, reference_source
from clarray._engine.expr.node import Node, contiguous_leaf, memory_of
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import COSTLY
from clarray._engine.runtime import Memory

_INT64 = np.dtype(np.int64)


def lines_of(packed: Node) -> tuple[int, int]:
    """Number and length of the lines."""
    return prod(packed.shape[:-1]), packed.shape[-1]


def sort_line(
    cache: KernelCache,
    kind: KeyKind,
    source: Memory,
    offset: int,
    n: int,
    out: Memory,
    argsort: bool,
) -> None:
    """Sort one line of real numbers into `out`, or their positions."""
    if not cache.policies.sort.chunked:
        sort_by_tiles(cache, kind, source, offset, n, out, argsort)
        return
    line = Line(cache, kind, source, offset, n)
    if argsort:
        line.argsort(out)
    else:
        line.sort(out)


def order_by_words(cache: KernelCache, packed: Node) -> Node:
    """The positions that sort lines, all lines at once: by the words of a key, and then by lines."""
    lines, n = lines_of(packed)
    kind = key_kind(packed.dtype)
    total = packed.size
    source = packed.memory
    assert source is not None
    order: Memory | None = None
    if kind.kind == "c":
        real = replace(kind, kind="f")
        for part in range(3):
            key = KeyKind("u", 8) if part == 2 else real
            word = _part(cache, kind, part, source, packed.offset, total, order)
            order = _refine(cache, key, word, 0, total, order)
    else:
        order = _refine(cache, kind, source, packed.offset, total, None)
    assert order is not None
    if lines > 1:
        numbers = _line_numbers(cache, "uint", order, total, n)
        bits = (lines - 1).bit_length()
        order = _refine(cache, KeyKind("u", 32), numbers, 0, total, order, bits)
        order = _line_numbers(cache, "long", order, total, n)
    return contiguous_leaf(order, packed.shape, _INT64)


def _refine(
    cache: KernelCache,
    kind: KeyKind,
    keys: Memory,
    offset: int,
    n: int,
    order: Memory | None,
    bits: int = 0,
) -> Memory:
    """The order of keys which stand in `order` already, equal ones as they stand."""
    out = cache.device.allocate(n * 8)
    if not cache.policies.sort.chunked:
        sort_by_tiles(cache, kind, keys, offset, n, out, True, order, bits)
        return out
    Line(cache, kind, keys, offset, n).argsort(out)
    if order is None:
        return out
    moved = pick(cache, contiguous_leaf(order, (n,), _INT64), contiguous_leaf(out, (n,), _INT64))
    assert moved.memory is not None
    return moved.memory


def _part(
    cache: KernelCache, kind: KeyKind, part: int, source: Memory, offset: int, n: int, order: Memory | None
) -> Memory:
    """A word of the order of complex numbers, as they stand in `order`."""
    policy = cache.policies.elementwise
    key = ("sort part", kind, part, policy)
    kernel = cache.kernel_for(key, part_source, kind, part, policy, cache.capabilities)
    out = cache.device.allocate(n * (1 if part == 2 else kind.bits // 8))
    place = {} if order is None else {"at": order.buffer}
    args = kernel.arguments(x=source.buffer, xo=offset, y=out.buffer, total=n, **place)
    nbytes = n * (kind.element_bytes + 8)
    count = groups(n, nbytes, cache.units, policy)
    Launch(kernel, (count,), (policy.work_group,), args, False, nbytes).run()
    return out


def _line_numbers(cache: KernelCache, out_type: str, order: Memory, total: int, n: int) -> Memory:
    """The line of each position, as uint, or the position along it, as long."""
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
    """The positions that sort lines, found line by line by one work-item each."""
    lines, n = lines_of(packed)
    device = cache.device
    out = contiguous_leaf(device.allocate(packed.size * 8), packed.shape, _INT64)
    if not packed.size:
        return out
    kind = key_kind(packed.dtype)
    key = ("sort reference", kind)
    kernel = cache.kernel_for(key, reference_source, kind, cache.capabilities)
    scratch = device.allocate(packed.size * 8)
    place = {"xp": memory_of(packed).buffer, "xo": packed.offset}
    args = kernel.arguments(lines=lines, n=n, yp=memory_of(out).buffer, scratch=scratch.buffer, **place)
    count = min(lines, 1 << 16)
    Launch(kernel, (count,), (1,), args, False, packed.size * (packed.dtype.itemsize + 16)).run()
    return out


def pick(cache: KernelCache, packed: Node, order: Node) -> Node:
    """The elements of each line in the order of positions."""
    itemsize = packed.dtype.itemsize
    out = contiguous_leaf(cache.device.allocate(packed.size * itemsize), packed.shape, packed.dtype)
    if not packed.size:
        return out
    policy = cache.policies.elementwise
    key = ("sort pick", itemsize, policy)
    kernel = cache.kernel_for(key, pick_source, itemsize, policy, cache.capabilities)
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
