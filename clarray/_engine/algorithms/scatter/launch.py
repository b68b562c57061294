"""Launch updates at indices."""

from __future__ import annotations

from math import prod

from clarray._engine.algorithms.gather.selection import IndexSelection
from clarray._engine.algorithms.scatter.plan import ScatterPlan, scatter_space, split
from clarray._engine.algorithms.scatter.source import scatter_source
from clarray._engine.evaluate import materialize_shared
from clarray._engine.expr.node import EAGER, Node, replanned
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of
from clarray._engine.launch.operands import COSTLY, collect_operands
from clarray._engine.ops.ufuncs import Loop
from clarray._engine.writing import flush_readers


@replanned
def scatter_update(array: Node, targets: IndexSelection, loop: Loop, value: Node | None) -> None:
    """Apply ``element = loop(element, value)`` at each index, one after the other.

    Parameters
    ----------
    array : Node
        A leaf.
    targets : IndexSelection
        Its indices are a contiguous int64 leaf, in bounds, without memory in common with other operands. They may
        repeat.
    value : Node or None
        Broadcast to the shape of the selected elements. It does not alias the array.
    """
    memory = array.memory
    assert memory is not None
    device = memory.device
    with device.lock:
        flush_readers(memory)
        if value is not None:
            materialize_shared(value)
        cache = kernel_cache_of(device)
        _launch(cache, array, targets, loop, value).run()
        if memory.shared or (value is not None and value.flags & EAGER):
            device.synchronize()


def _launch(cache: KernelCache, array: Node, targets: IndexSelection, loop: Loop, value: Node | None) -> Launch:
    policy = cache.policies.elementwise
    operands = collect_operands(*([value] if value is not None else []))
    rest, axis, indices = targets.rest, targets.place, targets.shape
    ndim = len(rest.shape) + len(indices)
    inner = slice(axis, axis + len(indices))
    strides = operands.strides(ndim)
    space = scatter_space(
        indices,
        [s[inner] for s in strides],
        rest.shape,
        [rest.strides, *(s[: inner.start] + s[inner.stop :] for s in strides)],
    )
    plan = ScatterPlan(operands.kinds("zero"), len(space.indices), len(targets.extents), len(space.rest), policy)
    key = ("scatter", loop.code, array.dtype, operands.signature, plan)
    kernel = cache.kernel_for(key, scatter_source, plan, loop, array.dtype, value, operands.nodes, cache.capabilities)
    updates, elements, columns = prod(indices), prod(targets.extents), prod(rest.shape)
    work = split(updates, elements, columns, cache.policies, cache.units)
    units = work.parts * work.blocks
    numbers = targets.numbers.memory
    assert array.memory is not None
    assert numbers is not None
    list_steps = {f"{x}m": steps[::-1] for x, steps in zip(operands.names, space.list_strides, strict=True)}
    rest_steps = zip(("y", *operands.names), space.rest_strides, strict=True)
    args = kernel.arguments(
        inputs=operands.arguments(space.offsets[1:]),
        numbers=numbers.buffer,
        yp=array.memory.buffer,
        yo=rest.offset + space.offsets[0],
        count=updates,
        targets=elements,
        per_part=work.per_part,
        columns=columns,
        per_block=work.columns_per_block,
        blocks=work.blocks,
        units=units,
        m=space.indices[::-1],
        e=targets.extents[::-1],
        r=space.rest[::-1],
        ye=targets.strides[::-1],
        **list_steps,
        **{f"{name}r": steps[::-1] for name, steps in rest_steps},
    )
    nbytes = operands.nbytes + updates * (8 + 2 * columns * array.dtype.itemsize)
    # on a CPU the number of work-groups follows the parts, not the bytes
    count = min(units, cache.units)
    if not policy.chunked:
        count = groups(units, nbytes, cache.units, policy)
    return Launch(kernel, (count,), (policy.work_group,), args, COSTLY * nbytes <= policy.inline_bytes, nbytes)
