"""Launches of compactions, made and run at once: their result's size is read on the way."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.layout import INT_LIMIT, aligned
from clarray._engine.expr.node import CONST, INDEX, Node, contiguous_leaf
from clarray._engine.expr.view import Shape, broadcast_shapes
from clarray._engine.fused.compact.plan import WORD, CompactPlan, compact_plan, flat_step, parts
from clarray._engine.fused.compact.source import compact_source, places
from clarray._engine.fused.elementwise.launch import flat_launch, strided_launch
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, operands_of, stride_arguments
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Kernel, Memory

_INT64 = np.dtype(np.int64)


def compacted(cache: KernelCache, value: Node, mask: Node, room: int = 0) -> Node:
    """The elements of `value` where `mask` is set, in C order, as a leaf of one axis.

    Pending ones are computed while they are read. The result's memory has place for `room` elements
    after its own. Its size has been waited for, its elements have not.
    """
    shape = mask.shape
    if value.shape != shape:
        shape = broadcast_shapes((value.shape, shape))
    n = prod(shape)
    if n == 0:
        return contiguous_leaf(cache.device.allocate(room * value.dtype.itemsize), (0,), value.dtype)
    value, mask = (flat(cache, node, shape) for node in (value, mask))
    operands = operands_of(value, mask)
    steps = [_step(x, shape) or 0 for x in operands.nodes if x.op is not CONST]
    accesses = operands.accesses(steps)
    policy = cache.policies.compact
    nbytes = operands.nbytes
    args = [*operands.arguments(), *stride_arguments(accesses, [(s,) for s in steps]), n]
    furthest = max([n, *(n * abs(s) for s in steps)])
    whole = operands.are_aligned
    for once in (True, False) if _may_look_back(cache) else (False,):
        key = (
            "compact",
            value.sig,
            mask.sig,
            operands.pattern,
            accesses,
            furthest < INT_LIMIT,
            whole,
            once,
            policy,
        )
        plan, kernels = cache.value_for(key, _prepare, cache, value, mask, operands, accesses, furthest, whole, once)
        run = _one_pass if once else _two_passes
        found = run(cache, kernels, plan, list(args), nbytes, n, value.dtype, room)
        if found is not None:
            break
    assert found is not None
    return found


def _prepare(
    cache: KernelCache,
    value: Node,
    mask: Node,
    operands: Operands,
    accesses: tuple[str, ...],
    furthest: int,
    whole: bool,
    once: bool,
) -> tuple[CompactPlan, dict[str, Kernel]]:
    loaded = [x.dtype for x in operands.nodes if x.memory is not None]
    computed = [value.dtype, *operands.dtypes(value, mask)]
    positional = value.op is INDEX
    plan = compact_plan(accesses, loaded, computed, furthest, whole, once, positional, cache.policies.compact)
    key = ("compact", value.sig, mask.sig, operands.pattern, plan)
    return plan, cache.kernels_for(key, compact_source, plan, value, mask, operands.nodes, cache.capabilities)


_FAILED = "compact: looking back failed"


_PUBLISHED = "compact: published"
_EPOCHS = (1 << 20) - 2


class Published(NamedTuple):
    """The words in which tiles tell their counts, and what marks those of a launch."""

    memory: Memory
    epoch: int


def _published(cache: KernelCache, tiles: int) -> Published:
    """The words for a launch; they are cleared where tickets are taken, which count from 0."""
    nbytes = 8 * (4 + tiles)
    found: Published | None = cache.prepared.get(_PUBLISHED)
    ticket = cache.policies.compact.ticket
    if found is None or found.memory.nbytes < nbytes or found.epoch >= _EPOCHS or ticket:
        memory = cache.device.allocate(max(nbytes, 1 << 16))
        cache.device.fill_zero(memory)
        found = Published(memory, 0)
    found = Published(found.memory, found.epoch + 1)
    cache.keep(_PUBLISHED, found)
    return found


def _may_look_back(cache: KernelCache) -> bool:
    policy = cache.policies.compact
    return bool(policy.look_back) and not policy.chunked and _FAILED not in cache.prepared


def _one_pass(
    cache: KernelCache,
    kernels: Any,
    plan: CompactPlan,
    args: list[Any],
    nbytes: int,
    n: int,
    dtype: np.dtype,
    room: int,
) -> Node | None:
    """Write into memory for all elements, and give back what was too much; None where it failed."""
    device, policy = cache.device, plan.policy
    try:
        memory = device.allocate((n + room) * dtype.itemsize)
    except MemoryError:
        return None
    tiles = -(-n // plan.tile)
    published = _published(cache, tiles)
    args += [tiles, published.epoch, published.memory.buffer, memory.buffer]
    moved = nbytes + memory.nbytes
    Launch(
        kernels["compact_once"],
        (tiles,),
        (policy.work_group,),
        args,
        moved <= policy.inline_bytes,
        moved,
        (memory, published.memory),
    ).run()
    head = np.empty(3, np.uint64)
    device.read(published.memory, 0, head)
    if head[2]:
        cache.keep(_FAILED, True)
        cache.prepared.pop(_PUBLISHED, None)
        return None
    total = int(head[1])
    found = contiguous_leaf(memory, (total,), dtype)
    policy = cache.policies.compact
    if total * dtype.itemsize * policy.sparse >= memory.nbytes or memory.nbytes <= policy.small_bytes:
        return found
    packed = device.allocate((total + room) * dtype.itemsize)
    if total:
        launch = flat_launch(cache, found, packed, 0)
        assert launch is not None
        launch.run()
    return contiguous_leaf(packed, (total,), dtype)


def _two_passes(
    cache: KernelCache,
    kernels: Any,
    plan: CompactPlan,
    args: list[Any],
    nbytes: int,
    n: int,
    dtype: np.dtype,
    room: int,
) -> Node | None:
    """Count, wait for the number, write."""
    device, policy = cache.device, plan.policy
    groups = parts(n, nbytes + n, cache.units, plan)
    inline = nbytes + n <= policy.inline_bytes
    counts = device.allocate(8 * groups)
    flags = device.allocate(8 * -(-n // WORD)) if policy.chunked else None
    local = (policy.work_group,)
    if flags is not None:
        args.append(flags.buffer)
    args.append(counts.buffer)
    Launch(kernels["compact_count"], (groups,), local, args, inline, nbytes).run()
    if groups == 1:
        total: int = device.read_number(counts, 0, _INT64)
    else:
        host = np.empty(groups, np.int64)
        device.read(counts, 0, host)
        total = int(host.sum())
    out = contiguous_leaf(device.allocate((total + room) * dtype.itemsize), (total,), dtype)
    if total:
        assert out.memory is not None
        if policy.chunked:
            args.append(cache.value_for("compact places", _places, cache).buffer)
        args.append(out.memory.buffer)
        moved = nbytes + total * dtype.itemsize
        Launch(kernels["compact_write"], (groups,), local, args, inline, moved, (flags, counts)).run()
    return out


def _places(cache: KernelCache) -> Memory:
    return cache.device.upload(places())


def _step(node: Node, shape: Shape) -> int | None:
    if node.memory is not None and node.contiguous and node.shape == shape:
        return 1
    return flat_step(shape, aligned(node.shape, node.strides, len(shape)))


def flat(cache: KernelCache, root: Node, shape: Shape) -> Node:
    """`root`, or a copy of its value where its operands do not go through memory in even steps."""
    for node in root.inputs or (root,):
        if node.op is not CONST and _step(node, shape) is None:
            break
    else:
        return root
    memory = cache.device.allocate(prod(shape) * root.dtype.itemsize)
    packed = contiguous_leaf(memory, shape, root.dtype)
    wide = Node(
        cast_loop(root.dtype),
        (root,),
        shape,
        root.dtype,
        packed.size,
        0,
        0,
        root.sig,
        root.inputs or (root,),
    )
    strided_launch(cache, wide, memory, 0, packed.strides).run()
    return packed


__all__ = ["compacted", "flat"]
