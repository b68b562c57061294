"""Launches of reductions: one, or two where the reduced axes are split between work-groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clarray._engine.expr.layout import ALIGNMENT, INT_LIMIT, Shape
from clarray._engine.expr.node import CONST, Node
from clarray._engine.fused.reduce.prepare import EXTENT, Prepared, prepare_reduction
from clarray._engine.fused.reduce.source import Epilogue
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, append_scalar, place
from clarray._engine.ops.monoids import Reduction, extremum_monoid
from clarray._engine.ops.transforms import Transform
from clarray._engine.runtime import Memory
from clarray._engine.tuning import ReducePolicy


def find_epilogue(root: Node) -> Epilogue | None:
    """The reduction that `root` is, or that it applies elementwise operations and constants to."""
    if isinstance(root.op, Reduction):
        return Epilogue(root, root, ())
    reduced: Node | None = None
    constants: dict[Node, None] = {}
    level = [root]
    while level:
        node = level.pop()
        if isinstance(node.op, Reduction):
            if (reduced is not None and reduced is not node) or node.shape != root.shape:
                return None
            reduced = node
        elif node.op is CONST:
            constants[node] = None
        elif node.memory is not None or not node.args or isinstance(node.op, Transform):
            return None
        else:
            level.extend(node.args)
    return Epilogue(root, reduced, tuple(constants)) if reduced is not None else None


def reduction_launches(
    cache: KernelCache, epilogue: Epilogue, memory: Memory, offset: int, strides: Shape
) -> list[Launch]:
    """The launches that compute an epilogue's root into memory, from the element `offset` on, in any order of its axes.

    The reduction's operands hold no other reductions: those have been evaluated.
    """
    reduced, constants = epilogue.reduced, epilogue.constants
    shape = reduced.args[0].shape
    if len(shape) == 1 and not strides and (found := _run_launch(cache, epilogue, memory, offset, shape)) is not None:
        return [found]
    prepared, nodes, args = prepared_for(cache, epilogue, strides)
    position = prepared.position
    if position is not None or prepared.shifts:
        operands = Operands(list(nodes))
        args = (operands if position is None else operands.followed_by(position)).arguments(prepared.shifts)
    return _launches(cache, prepared, args, constants, memory, offset)


def prepared_for(cache: KernelCache, epilogue: Epilogue, strides: Shape) -> tuple[Prepared, Iterable[Node], list[Any]]:
    """What has been prepared for a structure and how it lies, or is now; the inputs, and the arguments they make."""
    root, reduced, constants = epilogue
    key: list[Any] = [root.sig, reduced.args[0].shape]
    if len(strides) > 1:
        key.append(strides)
    args: list[Any] = []
    nodes = place(reduced.inputs, key, args, not cache.policies.reduce.explicit)
    if constants:  # one of them may come again
        key.append(Operands(root.inputs).pattern)
    return cache.value_for(tuple(key), prepare_reduction, cache, epilogue, strides), nodes, args


def _run_launch(cache: KernelCache, epilogue: Epilogue, memory: Memory, offset: int, shape: Shape) -> Launch | None:
    """The launch that reduces one axis to a number by a single work-group; None where it is not that simple.

    What is prepared for it holds for every length that is not split: the slices that a loop grows or shrinks are not
    prepared each for itself.
    """
    policy = cache.policies.reduce
    root, reduced, constants = epilogue
    (length,) = shape
    if not 1 < length < run_limit(policy) or extremum_monoid(reduced.op.monoid).indexed:
        return None
    key: list[Any] = [root.sig, None]
    args: list[Any] = []
    placed = _place_runs(reduced.inputs, shape, key, args, not policy.explicit)
    if placed is None:
        return None
    if constants:  # as in `reduction_launches`
        key.append(Operands(root.inputs).pattern)
    found = cache.value_for(tuple(key), prepare_reduction, cache, epilogue, ())
    for node in constants:
        append_scalar(args, node)
    args += (memory.buffer, offset)
    at = len(args)
    args += found.sizes
    args[at + EXTENT] = length
    nbytes = placed + found.out_bytes
    return Launch(found.first, (found.groups,), (found.work_group,), args, nbytes <= found.inline_bytes, nbytes)


_LONGEST = 1 << 20  # of what is reduced without being split, and enters one state of any monoid


def run_limit(policy: ReducePolicy) -> int:
    """The length from which on a single axis is not reduced by one launch for all lengths."""
    return min(2 * policy.min_split, _LONGEST)


def _place_runs(inputs: tuple[Node, ...], shape: Shape, key: list[Any], args: list[Any], alignment: bool) -> int | None:
    """As `place`, with the length of the one axis left out of the key; give the bytes of the inputs.

    None where a plan needs the length: to turn the axis round, or to count far in 64 bits.
    """
    seen: dict[Node, int] = {}
    nbytes = low = high = 0
    for node in inputs:
        if node in seen:
            key.append(seen[node])
            continue
        seen[node] = len(seen)
        memory = node.memory
        if memory is None and node.op is CONST:
            key.append(None)
            append_scalar(args, node)
            continue
        strides = node.strides
        if node.shape == shape:
            key.append(strides)
            (stride,) = strides
            if stride > high:
                high = stride
            elif stride < low:
                low = stride
        else:
            key.append((node.shape, strides))
        if memory is not None:
            nbytes += node.size * node.dtype.itemsize
            if alignment:
                key.append(node.offset * node.dtype.itemsize % ALIGNMENT == 0)
            args.append(memory.buffer)
        args.append(node.offset)
    if low < 0 and (high == 0 or -low * shape[0] >= INT_LIMIT):
        return None
    return nbytes if high * shape[0] < INT_LIMIT else None


def _launches(
    cache: KernelCache, found: Prepared, args: list[Any], constants: tuple[Node, ...], memory: Memory, offset: int
) -> list[Launch]:
    nbytes = found.nbytes
    inline = nbytes <= found.inline_bytes
    ends: list[Any] = []
    for node in constants:
        append_scalar(ends, node)
    where = [memory.buffer, offset]
    local = (found.work_group,)
    states: list[Memory] = []
    held = 0
    if found.parts > 1:
        states = [cache.device.allocate(found.outputs * found.parts * d.itemsize) for d in found.states]
        held = sum(m.nbytes for m in states)
    if found.second is None:
        args += ends
        if states:
            args += [m.buffer for m in states]
            args.append(cache.counters.buffer)
        args += where
        args += found.sizes
        return [Launch(found.first, (found.groups,), local, args, inline, nbytes, states)]
    buffers = [m.buffer for m in states]
    args += buffers
    args += found.sizes
    second = [*ends, *buffers, *where, found.outputs, found.parts, *found.second_sizes]
    return [
        Launch(found.first, (found.groups,), local, args, inline, nbytes + held, states),
        Launch(
            found.second,
            (found.second_groups,),
            local,
            second,
            inline,
            held + found.out_bytes,
            states,
        ),
    ]
