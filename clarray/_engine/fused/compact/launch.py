"""Run compactions. Their launches are not returned, because the size of the result is read between them."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from clarray._engine.expr.bounds import record_count, recorded_count
from clarray._engine.expr.graph import graph_of, inputs_of
from clarray._engine.expr.layout import INT_LIMIT, aligned
from clarray._engine.expr.node import CONST, INDEX, Node, contiguous_leaf, replanned
from clarray._engine.expr.view import Shape, broadcast_shapes
from clarray._engine.fused.compact.plan import WORD, CompactOperands, CompactPlan, compact_plan, flat_step, parts
from clarray._engine.fused.compact.source import compact_source, flag_ranks
from clarray._engine.fused.elementwise.launch import flat_launch, strided_launch
from clarray._engine.launch.kernel_cache import KernelCache, TileState
from clarray._engine.launch.operands import append_flat_inputs, append_inputs, collect_operands, stride_arguments
from clarray._engine.ops.special import cast_loop
from clarray._engine.runtime import Kernel, Memory

_INT64 = np.dtype(np.int64)


def compacted(cache: KernelCache, value: Node, mask: Node, room: int = 0) -> Node:
    """Return the selected elements as a contiguous leaf of one axis, computed by `compact`."""
    memory, total = compact(cache, value, mask, room)
    return contiguous_leaf(memory, (total,), value.dtype)


@replanned
def compact(cache: KernelCache, value: Node, mask: Node, room: int = 0) -> tuple[Memory, int]:
    """Copy the elements of `value` for which `mask` is set, in C order, to new memory.

    Parameters
    ----------
    value, mask : Node
        May be pending expressions. The kernel computes them.
    room : int
        Number of elements for which the memory has space after the result.

    Returns
    -------
    tuple
        The memory and the number of selected elements. The number has been waited for. The elements may be pending.
    """
    if not (value.size and mask.size):
        return cache.device.allocate(room * value.dtype.itemsize), 0
    policy = cache.policies.compact
    shape, n = mask.shape, mask.size
    if value.shape != shape:
        shape = broadcast_shapes((value.shape, shape))
        n = prod(shape)
    small = policy.chunked and n * value.dtype.itemsize <= policy.small_bytes
    count = None if small or mask.shape != shape else recorded_count(mask)
    if count is not None and n * value.dtype.itemsize > _LARGE_BYTES:
        count = None
    graph = graph_of(value, mask)
    for single_pass in (True, False) if small or (count is None and _supports_lookback(cache)) else (False,):
        key: list[Any] = ["compact", graph.signature, single_pass]
        input_args: list[Any] = []
        unaligned = append_flat_inputs(graph.inputs, shape, key, input_args, not policy.chunked, True)
        if unaligned is None:
            key, input_args = [*key[:3], shape], []
            append_inputs(graph.inputs, key, input_args, not policy.chunked)
        else:
            key.append((n < INT_LIMIT, unaligned))
        kernels = cache.value_for(tuple(key), prepare_compact, cache, value, mask, shape, single_pass)
        if kernels is None:
            return compact(cache, flat(cache, value, shape), flat(cache, mask, shape), room)
        values = {"inputs": input_args, "steps": kernels.steps, "size": (n,)}
        nbytes = kernels.nbytes + n * kernels.element_bytes
        selected: tuple[Memory, int] | None
        if single_pass:
            selected = (_single_item if small else _single_pass)(cache, kernels, values, nbytes, value.dtype, room)
        else:
            selected = _two_passes(cache, kernels, values, nbytes, value.dtype, room, count)
        if selected is not None:
            break
    assert selected is not None
    if not small and count is None and mask.shape == shape:
        record_count(mask, selected[1])
    return selected


class CompactKernels(NamedTuple):
    """The kernels of a compaction, and the arguments that follow from shapes and strides."""

    plan: CompactPlan
    by_name: dict[str, Kernel]
    steps: tuple[int, ...]  # arguments between those of the inputs and the number of elements
    element_bytes: int  # per element, of the inputs that have all elements
    nbytes: int  # of the other inputs


def prepare_compact(
    cache: KernelCache, value: Node, mask: Node, shape: Shape, single_pass: bool
) -> CompactKernels | None:
    """Plan a compaction. None if an operand has no single stride in C order."""
    operands = collect_operands(value, mask)
    strides = [_flat_stride(x, shape) for x in operands.nodes if x.op is not CONST]
    steps = [s for s in strides if s is not None]
    if len(steps) < len(strides):
        return None
    n = prod(shape)
    accesses = operands.accesses(steps)
    compact_operands = CompactOperands(
        accesses=accesses,
        loaded=[x.dtype for x in operands.nodes if x.memory is not None],
        computed=[value.dtype, *operands.dtypes(value, mask)],
        largest_position=max([n, *(n * abs(s) for s in steps)]),
        aligned=operands.are_aligned,
    )
    plan = compact_plan(compact_operands, single_pass, value.op is INDEX, cache.policies.compact)
    key = ("compact", operands.signature, plan)
    kernels = cache.kernels_for(key, compact_source, plan, value, mask, operands.nodes, cache.capabilities)
    element_bytes = sum(x.dtype.itemsize for x in operands.nodes if x.memory is not None and x.size == n)
    step_args = tuple(stride_arguments(accesses, [(s,) for s in steps]))
    return CompactKernels(plan, kernels, step_args, element_bytes, operands.nbytes - element_bytes * n)


_LARGE_BYTES = 1 << 24  # for more bytes, reading the mask twice takes longer than waiting for the count
_LAST_EPOCH = (1 << 20) - 1  # the tag of a published word has 20 bits
_FAILED = "compact: looking back failed"
COUNT_BYTES = 8  # memory for the count of a single pass, which each call allocates


def _supports_lookback(cache: KernelCache) -> bool:
    policy = cache.policies.compact
    return bool(policy.look_back) and not policy.chunked and _FAILED not in cache.prepared


def _single_item(
    cache: KernelCache, kernels: CompactKernels, values: dict[str, Any], nbytes: int, dtype: np.dtype, room: int
) -> tuple[Memory, int]:
    """Compact in one work-item, to memory for all elements."""
    device, policy = cache.device, kernels.plan.policy
    (n,) = values["size"]
    memory = device.allocate((n + room) * dtype.itemsize)
    counts = device.allocate(COUNT_BYTES)
    kernel = kernels.by_name["compact_once"]
    args = kernel.arguments(counts=counts.buffer, yp=memory.buffer, **values)
    moved = nbytes + n * dtype.itemsize
    kernel.launch((1,), (1,), args, moved <= policy.inline_bytes, moved)
    return memory, device.read_number(counts, 0, _INT64)


def _single_pass(
    cache: KernelCache, kernels: CompactKernels, values: dict[str, Any], nbytes: int, dtype: np.dtype, room: int
) -> tuple[Memory, int] | None:
    """Compact in one pass to memory for all elements, and move a sparse result to smaller memory. None if it fails."""
    device, policy = cache.device, kernels.plan.policy
    (n,) = values["size"]
    try:
        memory = device.allocate((n + room) * dtype.itemsize)
    except MemoryError:
        return None
    tiles = -(-n // kernels.plan.tile)
    counts = device.allocate(COUNT_BYTES)
    state, epoch = cache.value_for("compact: tile state", TileState, _LAST_EPOCH).next(device, 1 + tiles)
    kernel = kernels.by_name["compact_once"]
    look_back = {"tiles": tiles, "tile_state": state.buffer, "epoch": epoch}
    args = kernel.arguments(counts=counts.buffer, yp=memory.buffer, **look_back, **values)
    moved = nbytes + memory.nbytes
    kernel.launch((tiles,), (policy.work_group,), args, moved <= policy.inline_bytes, moved)
    total = device.read_number(counts, 0, _INT64)
    if total < 0:
        cache.store_prepared(_FAILED, True)
        return None
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
    kernels: CompactKernels,
    values: dict[str, Any],
    nbytes: int,
    dtype: np.dtype,
    room: int,
    count: int | None,
) -> tuple[Memory, int]:
    """Count the selected elements, wait for their number unless `count` is given, and write them."""
    device, policy = cache.device, kernels.plan.policy
    (n,) = values["size"]
    groups = parts(n, nbytes + n, cache.units, kernels.plan)
    inline = nbytes + n <= policy.inline_bytes
    counts = device.allocate(8 * groups)
    flags = device.allocate(8 * -(-n // WORD)) if policy.chunked else None
    local = (policy.work_group,)
    values["counts"] = counts.buffer
    if flags is not None:
        values["flags"] = flags.buffer
    kernel = kernels.by_name["compact_count"]
    kernel.launch((groups,), local, kernel.arguments(**values), inline, nbytes)
    if count is not None:
        total = count
    elif groups == 1:
        total = device.read_number(counts, 0, _INT64)
    else:
        host = np.empty(groups, np.int64)
        device.read(counts, 0, host)
        total = int(host.sum())
    memory = device.allocate((total + room) * dtype.itemsize)
    if total:
        if policy.chunked:
            values["places"] = cache.value_for("compact: ranks of flags", _upload_flag_ranks, cache).buffer
        kernel = kernels.by_name["compact_write"]
        args = kernel.arguments(yp=memory.buffer, **values)
        kernel.launch((groups,), local, args, inline, nbytes + total * dtype.itemsize)
    return memory, total


def _upload_flag_ranks(cache: KernelCache) -> Memory:
    return cache.device.upload(flag_ranks())


def _flat_stride(node: Node, shape: Shape) -> int | None:
    if node.memory is not None and node.contiguous and node.shape == shape:
        return 1
    return flat_step(shape, aligned(node.shape, node.strides, len(shape)))


def flat(cache: KernelCache, root: Node, shape: Shape) -> Node:
    """Return `root`, or a copy of its value if an operand has no single stride in C order."""
    for node in inputs_of(root):
        if node.op is not CONST and _flat_stride(node, shape) is None:
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
    )
    strided_launch(cache, wide, memory, 0, packed.strides).run()
    return packed


__all__ = ["compact", "compacted", "flat"]
