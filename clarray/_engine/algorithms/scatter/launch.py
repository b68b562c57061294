"""Launches of updates at positions, made and run at once."""

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
    """Apply ``element = loop(element, value)`` at each position, one after the other.

    Parameters
    ----------
    array : Node
        A leaf.
    targets : IndexSelection
        Its numbers are a contiguous int64 leaf in memory of its own, in bounds; they may repeat.
    value : Node or None
        Broadcast to the shape of the elements named; not a leaf in the array's memory.
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
    rest, place, listed = targets.rest, targets.place, targets.shape
    ndim = len(rest.shape) + len(listed)
    inner = slice(place, place + len(listed))
    strides = operands.strides(ndim)
    space = scatter_space(
        listed,
        [s[inner] for s in strides],
        rest.shape,
        [rest.strides, *(s[: inner.start] + s[inner.stop :] for s in strides)],
    )
    plan = ScatterPlan(operands.kinds("zero"), len(space.listed), len(targets.extents), len(space.rest), policy)
    key = ("scatter", loop.code, array.dtype, value.sig if value is not None else None, operands.pattern, plan)
    kernel = cache.kernel_for(key, scatter_source, plan, loop, array.dtype, value, operands.nodes, cache.capabilities)
    updates, named, columns = prod(listed), prod(targets.extents), prod(rest.shape)
    divided = split(updates, named, columns, cache.policies, cache.units)
    units = divided.parts * divided.blocks
    numbers = targets.numbers.memory
    assert array.memory is not None
    assert numbers is not None
    along = {f"{x}m": steps[::-1] for x, steps in zip(operands.names, space.list_strides, strict=True)}
    beside = zip(("y", *operands.names), space.rest_strides, strict=True)
    args = kernel.arguments(
        inputs=operands.arguments(space.offsets[1:]),
        numbers=numbers.buffer,
        yp=array.memory.buffer,
        yo=rest.offset + space.offsets[0],
        count=updates,
        targets=named,
        per_part=divided.per_part,
        columns=columns,
        per_block=divided.columns_per_block,
        blocks=divided.blocks,
        units=units,
        m=reversed(space.listed),
        e=reversed(targets.extents),
        r=reversed(space.rest),
        ye=reversed(targets.strides),
        **along,
        **{f"{name}r": steps[::-1] for name, steps in beside},
    )
    nbytes = operands.nbytes + updates * (8 + 2 * columns * array.dtype.itemsize)
    # units, not bytes, say how many work-groups: each has a part of its own
    count = min(units, cache.units)
    if not policy.chunked:
        count = groups(units, nbytes, cache.units, policy)
    return Launch(kernel, (count,), (policy.work_group,), args, COSTLY * nbytes <= policy.inline_bytes, nbytes)
