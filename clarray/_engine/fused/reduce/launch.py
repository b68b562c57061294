"""Launches of reductions: one, or two if the reduced axes are split between work-groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from clarray._engine.expr.epilogues import Epilogue
from clarray._engine.expr.graph import inputs_of, signature_of
from clarray._engine.expr.layout import ALIGNMENT, INT_LIMIT, Shape
from clarray._engine.expr.node import CONST, Node
from clarray._engine.fused.reduce.prepare import ReductionLaunch, prepare_reduction
from clarray._engine.fused.reduce.source import member_tag, output_name
from clarray._engine.launch.kernel_cache import KernelCache, Launch
from clarray._engine.launch.operands import Operands, append_inputs, append_scalar
from clarray._engine.ops.monoids import extremum_monoid
from clarray._engine.runtime import Memory
from clarray._engine.tuning import ReducePolicy


class ReductionResult(NamedTuple):
    """The destination of a reduction's result, and the constants of its epilogue."""

    constants: tuple[Node, ...]
    memory: Memory
    offset: int


def reduction_launches(
    cache: KernelCache, epilogue: Epilogue, memory: Memory, offset: int, strides: Shape
) -> list[Launch]:
    """Return the launches that write an epilogue's root to memory, from the element `offset` on.

    The axes of the root may be in any order in memory. Reductions in the operands have been evaluated.
    """
    reduced, constants = epilogue.reduced, epilogue.constants
    shape = reduced.args[0].shape
    if len(shape) == 1 and not strides:
        launch = _any_length_launch(cache, epilogue, memory, offset, shape)
        if launch is not None:
            return [launch]
    prepared, nodes, inputs = find_or_prepare(cache, epilogue, strides)
    position = prepared.position
    if position is not None or prepared.shifts:
        operands = Operands(nodes)
        inputs = (operands if position is None else operands.with_index(position)).arguments(prepared.shifts)
    return pass_launches(cache, prepared, inputs, [ReductionResult(constants, memory, offset)])


def find_or_prepare(
    cache: KernelCache, epilogue: Epilogue, strides: Shape
) -> tuple[ReductionLaunch, list[Node], list[Any]]:
    """Return the prepared reduction for the layouts of the inputs, the distinct inputs, and their arguments."""
    reduced = epilogue.reduced
    key: list[Any] = [signature_of(epilogue.root), reduced.args[0].shape]
    if len(strides) > 1:
        key.append(strides)
    inputs: list[Any] = []
    nodes = inputs_of(reduced)
    append_inputs(nodes, key, inputs, not cache.policies.reduce.explicit)
    return cache.value_for(tuple(key), prepare_reduction, cache, epilogue, strides), nodes, inputs


def _any_length_launch(
    cache: KernelCache, epilogue: Epilogue, memory: Memory, offset: int, shape: Shape
) -> Launch | None:
    """Return the launch that reduces one axis to a scalar in one work-group. None if a plan depends on the length.

    One prepared reduction is for every length that is not split, so a loop whose slices grow or shrink needs only one.
    """
    policy = cache.policies.reduce
    root, reduced, constants = epilogue
    (length,) = shape
    if not 1 < length < any_length_limit(policy) or extremum_monoid(reduced.op.monoid).indexed:
        return None
    key: list[Any] = [signature_of(root), None]
    inputs: list[Any] = []
    in_bytes = _append_any_length_inputs(inputs_of(reduced), shape, key, inputs, not policy.explicit)
    if in_bytes is None:
        return None
    prepared = cache.value_for(tuple(key), prepare_reduction, cache, epilogue, ())
    loops = list(prepared.loops)
    loops[prepared.extent_at] = length
    scalars = _scalars(constants) if constants else ()
    args = prepared.first.arguments(inputs=inputs, constants=scalars, yp=memory.buffer, yo=offset, loops=loops)
    nbytes = in_bytes + prepared.out_bytes
    inline = nbytes <= prepared.inline_bytes
    return Launch(prepared.first, (prepared.groups,), (prepared.work_group,), args, inline, nbytes)


_LONGEST = 1 << 20  # elements that enter one state of any monoid without a split


def any_length_limit(policy: ReducePolicy) -> int:
    """Return the exclusive limit of the lengths that share one launch if a single axis is reduced."""
    return min(2 * policy.min_split, _LONGEST)


def _append_any_length_inputs(
    inputs: Sequence[Node], shape: Shape, key: list[Any], arguments: list[Any], alignment: bool
) -> int | None:
    """Append inputs to a key and to `arguments`, as `append_inputs` does, without the length of their axis in the key.

    Returns
    -------
    int or None
        Bytes of the inputs. None if a plan depends on the length: to reverse the axis, or to use 64-bit positions.
    """
    nbytes = low = high = 0
    for node in inputs:
        memory = node.memory
        if memory is None and node.op is CONST:
            key.append(None)
            append_scalar(arguments, node)
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
            arguments.append(memory.buffer)
        arguments.append(node.offset)
    if low < 0 and (high == 0 or -low * shape[0] >= INT_LIMIT):
        return None
    return nbytes if high * shape[0] < INT_LIMIT else None


def is_reduced_at_once(cache: KernelCache, value: Node, outputs: int) -> bool:
    """Return whether a value is so small that the calling thread, or NumPy, reduces it to `outputs` numbers."""
    policy = cache.policies.reduce
    at_once = policy.at_once if outputs == 1 else policy.inline_bytes
    return cache.device.inline is not None and value.size * value.dtype.itemsize <= at_once


def pass_launches(
    cache: KernelCache, prepared: ReductionLaunch, inputs: list[Any], results: Sequence[ReductionResult]
) -> list[Launch]:
    """Return the launch of a pass of reductions, and the one that combines the states of its parts, if there is one.

    Parameters
    ----------
    inputs : list
        The arguments of the distinct inputs.
    results : sequence of ReductionResult
        Of each reduction.
    """
    nbytes = prepared.nbytes
    inline = nbytes <= prepared.inline_bytes
    groups, local = (prepared.groups,), (prepared.work_group,)
    first, second = prepared.first, prepared.second
    outputs: dict[str, Any] = {}
    for number, (constants, memory, offset) in enumerate(results):
        name = output_name(number)
        scalars = _scalars(constants) if constants else ()
        outputs |= {f"constants{member_tag(number)}": scalars, f"{name}p": memory.buffer, f"{name}o": offset}
    given: dict[str, Any] = {"inputs": inputs, "loops": prepared.loops}
    if prepared.parts == 1:
        return [Launch(first, groups, local, first.arguments(**given, **outputs), inline, nbytes)]
    length = prepared.outputs * prepared.parts
    states = [[cache.device.allocate(length * dtype.itemsize) for dtype in dtypes] for dtypes in prepared.states]
    buffers = {f"states{member_tag(n)}": [memory.buffer for memory in own] for n, own in enumerate(states)}
    everything = [memory for own in states for memory in own]
    if second is None:
        args = first.arguments(**given, **buffers, **outputs, counters=cache.counters.buffer)
        return [Launch(first, groups, local, args, inline, nbytes, everything)]
    state_bytes = sum([memory.nbytes for memory in everything])
    args = first.arguments(**given, **buffers)
    second_args = second.arguments(**buffers, **outputs, **prepared.second_numbers)
    second_bytes = state_bytes + prepared.out_bytes
    return [
        Launch(first, groups, local, args, inline, nbytes + state_bytes, everything),
        Launch(second, (prepared.second_groups,), local, second_args, inline, second_bytes, everything),
    ]


def _scalars(constants: tuple[Node, ...]) -> list[Any]:
    """Return the arguments of an epilogue's constants."""
    scalars: list[Any] = []
    for node in constants:
        append_scalar(scalars, node)
    return scalars
