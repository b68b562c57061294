"""Launches of compactions, made and run at once: their result's size is read on the way."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.bounds import record_count, recorded_count
from clarray._engine.expr.layout import INT_LIMIT, aligned
from clarray._engine.expr.node import CONST, INDEX, Node, contiguous_leaf, replanned
from clarray._engine.expr.view import Shape, broadcast_shapes
from clarray._engine.fused.compact.plan import WORD, CompactPlan, compact_plan, flat_step, parts
from clarray._engine.fused.compact.source import compact_source, places
from clarray._engine.fused.elementwise.launch import flat_launch, strided_launch
from clarray._engine.launch.kernel_cache import KernelCache
from clarray._engine.launch.operands import operands_of, place, place_flat, stride_arguments
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Kernel, Memory

_INT64 = np.dtype(np.int64)


def compacted(cache: KernelCache, value: Node, mask: Node, room: int = 0) -> Node:
    """The elements of `value` where `mask` is set, in C order, as a leaf of one axis; see `compact`."""
    memory, total = compact(cache, value, mask, room)
    return contiguous_leaf(memory, (total,), value.dtype)


@replanned
def compact(cache: KernelCache, value: Node, mask: Node, room: int = 0) -> tuple[Memory, int]:
    """The elements of `value` where `mask` is set, in C order, in new memory, and their number.

    Pending ones are computed while they are read. The memory has place for `room` elements
    after them. The number has been waited for, the elements have not.
    """
    if not (value.size and mask.size):
        return cache.device.allocate(room * value.dtype.itemsize), 0
    policy = cache.policies.compact
    shape, n = mask.shape, mask.size
    if value.shape != shape:
        shape = broadcast_shapes((value.shape, shape))
        n = prod(shape)
    few = policy.chunked and n * value.dtype.itemsize <= policy.small_bytes
    known = None if few or mask.shape != shape else recorded_count(mask)
    if known is not None and n * value.dtype.itemsize > _WAITED:
        known = None
    for once in (True, False) if few or (known is None and _may_look_back(cache)) else (False,):
        key: list[Any] = ["compact", value.sig, mask.sig, once]
        placed: list[Any] = []
        inputs = (value.inputs or (value,)) + (mask.inputs or (mask,))
        loose = place_flat(inputs, shape, key, placed, not policy.chunked, True)
        if loose is None:
            key, placed = [*key[:4], shape], []
            place(inputs, key, placed, not policy.chunked)
        else:
            key.append((n < INT_LIMIT, loose))
        found = cache.value_for(tuple(key), prepare_compact, cache, value, mask, shape, once)
        if found is None:
            return compact(cache, flat(cache, value, shape), flat(cache, mask, shape), room)
        values = {"inputs": placed, "steps": found.steps, "size": (n,)}
        nbytes = found.nbytes + n * found.element_bytes
        if once:
            made = (_few if few else _one_pass)(cache, found, values, nbytes, value.dtype, room)
        else:
            made = _two_passes(cache, found, values, nbytes, value.dtype, room, known)
        if made is not None:
            break
    assert made is not None
    if not few and known is None and mask.shape == shape:
        record_count(mask, made[1])
    return made


class _Prepared(NamedTuple):
    """The kernels of a compaction; `steps` are the arguments between the inputs and the number of elements."""

    plan: CompactPlan
    kernels: dict[str, Kernel]
    steps: tuple[int, ...]
    element_bytes: int  # that are read of each element, of what has as many
    nbytes: int  # and of the rest


def prepare_compact(cache: KernelCache, value: Node, mask: Node, shape: Shape, once: bool) -> _Prepared | None:
    """Plan a compaction; None where an operand does not go through memory in even steps."""
    operands = operands_of(value, mask)
    known = [_step(x, shape) for x in operands.nodes if x.op is not CONST]
    steps = [s for s in known if s is not None]
    if len(steps) < len(known):
        return None
    n = prod(shape)
    accesses = operands.accesses(steps)
    furthest = max([n, *(n * abs(s) for s in steps)])
    loaded = [x.dtype for x in operands.nodes if x.memory is not None]
    computed = [value.dtype, *operands.dtypes(value, mask)]
    positional = value.op is INDEX
    whole = operands.are_aligned
    plan = compact_plan(accesses, loaded, computed, furthest, whole, once, positional, cache.policies.compact)
    key = ("compact", value.sig, mask.sig, operands.pattern, plan)
    kernels = cache.kernels_for(key, compact_source, plan, value, mask, operands.nodes, cache.capabilities)
    each = sum(x.dtype.itemsize for x in operands.nodes if x.memory is not None and x.size == n)
    rest = operands.nbytes - each * n
    return _Prepared(plan, kernels, tuple(stride_arguments(accesses, [(s,) for s in steps])), each, rest)


_WAITED = 1 << 24  # bytes: of more than these a second look at the mask takes longer than waiting
_FAILED = "compact: looking back failed"
COUNT_BYTES = 8  # where one work-item that does all leaves how many it has found: memory of each call's own


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


def _few(
    cache: KernelCache, found: _Prepared, values: dict[str, Any], nbytes: int, dtype: np.dtype, room: int
) -> tuple[Memory, int]:
    """Let one work-item do all, into memory for all elements."""
    device, policy = cache.device, found.plan.policy
    (n,) = values["size"]
    memory = device.allocate((n + room) * dtype.itemsize)
    counts = device.allocate(COUNT_BYTES)
    kernel = found.kernels["compact_once"]
    args = kernel.arguments(counts=counts.buffer, yp=memory.buffer, **values)
    moved = nbytes + n * dtype.itemsize
    kernel.launch((1,), (1,), args, moved <= policy.inline_bytes, moved)
    return memory, device.read_number(counts, 0, _INT64)


def _one_pass(
    cache: KernelCache, found: _Prepared, values: dict[str, Any], nbytes: int, dtype: np.dtype, room: int
) -> tuple[Memory, int] | None:
    """Write into memory for all elements, and give back what was too much; None where it failed."""
    device, policy = cache.device, found.plan.policy
    (n,) = values["size"]
    try:
        memory = device.allocate((n + room) * dtype.itemsize)
    except MemoryError:
        return None
    tiles = -(-n // found.plan.tile)
    moved = nbytes + memory.nbytes
    kernel = found.kernels["compact_once"]
    head = np.empty(3, np.uint64)
    while True:
        published = _published(cache, tiles)
        published_counts = {"tiles": tiles, "epoch": published.epoch, "published": published.memory.buffer}
        args = kernel.arguments(yp=memory.buffer, **published_counts, **values)
        kernel.launch((tiles,), (policy.work_group,), args, moved <= policy.inline_bytes, moved)
        device.read(published.memory, 0, head)
        if cache.prepared.get(_PUBLISHED) is published:
            break  # otherwise a re-entrant call has published its own number there
    if head[2]:
        cache.keep(_FAILED, True)
        cache.prepared.pop(_PUBLISHED, None)
        return None
    total = int(head[1])
    policy = cache.policies.compact
    if total * dtype.itemsize * policy.sparse >= memory.nbytes or memory.nbytes <= policy.small_bytes:
        return memory, total
    packed = device.allocate((total + room) * dtype.itemsize)
    if total:
        launch = flat_launch(cache, contiguous_leaf(memory, (total,), dtype), packed, 0)
        assert launch is not None
        launch.run()
    return packed, total


def _two_passes(
    cache: KernelCache,
    found: _Prepared,
    values: dict[str, Any],
    nbytes: int,
    dtype: np.dtype,
    room: int,
    known: int | None,
) -> tuple[Memory, int]:
    """Count, wait for the number where it is not `known`, write."""
    device, policy = cache.device, found.plan.policy
    (n,) = values["size"]
    groups = parts(n, nbytes + n, cache.units, found.plan)
    inline = nbytes + n <= policy.inline_bytes
    counts = device.allocate(8 * groups)
    flags = device.allocate(8 * -(-n // WORD)) if policy.chunked else None
    local = (policy.work_group,)
    values["counts"] = counts.buffer
    if flags is not None:
        values["flags"] = flags.buffer
    kernel = found.kernels["compact_count"]
    kernel.launch((groups,), local, kernel.arguments(**values), inline, nbytes)
    if known is not None:
        total = known
    elif groups == 1:
        total = device.read_number(counts, 0, _INT64)
    else:
        host = np.empty(groups, np.int64)
        device.read(counts, 0, host)
        total = int(host.sum())
    memory = device.allocate((total + room) * dtype.itemsize)
    if total:
        if policy.chunked:
            values["places"] = cache.value_for("compact places", _places, cache).buffer
        kernel = found.kernels["compact_write"]
        args = kernel.arguments(yp=memory.buffer, **values)
        kernel.launch((groups,), local, args, inline, nbytes + total * dtype.itemsize)
    return memory, total


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


__all__ = ["compact", "compacted", "flat"]
