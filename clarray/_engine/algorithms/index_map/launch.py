"""Run index maps eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._engine.algorithms.index_map.plan import SAME, Axis, copy_count, index_map_plan, simplify
from clarray._engine.algorithms.index_map.source import index_map_source
from clarray._engine.expr.layout import reach
from clarray._engine.expr.node import Node, replanned
from clarray._engine.expr.view import View
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, kernel_cache_of


@replanned
def index_map(source: Node, view: View, axes: Sequence[Axis], target: Node) -> None:
    """Write a new array whose elements are those of a leaf at mapped positions.

    Parameters
    ----------
    source : Node
        A leaf.
    view : View
        The view of the source's memory.
    axes : sequence of Axis
        The axes of the result in memory order, outermost first.
    target : Node
        A leaf of the source's dtype that fills new memory.
    """
    memory = source.memory
    assert memory is not None
    if not target.size:
        return
    device = memory.device
    with device.lock:
        index_map_launch(kernel_cache_of(device), source, view, axes, target).run()
        if memory.shared:
            device.synchronize()


def index_map_launch(cache: KernelCache, source: Node, view: View, axes: Sequence[Axis], target: Node) -> Launch:
    """Return the launch of an index map. The target must not be empty."""
    memory, target_memory = source.memory, target.memory
    assert memory is not None
    assert target_memory is not None
    policy = cache.policies.elementwise
    loops = simplify(axes)
    itemsize = source.dtype.itemsize
    copies = copy_count(loops, itemsize, cache.policies.index_map)
    if copies > 1:
        del loops[0]
    plan = index_map_plan(loops, target.size, reach(view.shape, view.strides), copies, itemsize, policy)
    kernel = cache.kernel_for(plan, index_map_source, plan, cache.capabilities)
    size = target.size // copies
    values: dict[str, Any] = {"yp": target_memory.buffer, "zp": memory.buffer, "zo": view.offset, "size": size}
    if copies > 1:
        values["copies"] = copies
    for a, axis in enumerate(reversed(loops)):
        values |= {f"n{a}": axis.extent, f"zs{a}": axis.stride}
        if axis.map != SAME:
            values |= {f"m{a}": axis.source, f"b{a}": axis.before}
        values |= {f"{side}{a}": _words(value, source.dtype) for side, value in zip("lr", axis.values, strict=False)}
    args = kernel.arguments(**values)
    nbytes = (source.size + target.size) * itemsize
    units = size if policy.chunked else -(-size // plan.vector)
    count = groups(units, nbytes, cache.units, policy)
    return Launch(kernel, (count,), (policy.work_group,), args, nbytes <= policy.inline_bytes, nbytes)


def _words(value: Any, dtype: np.dtype) -> list[int]:
    """Return the bits of a scalar as unsigned integers of eight bytes."""
    bits = np.asarray(value, dtype).tobytes()
    return [int.from_bytes(bits[k : k + 8], "little") for k in range(0, len(bits), 8)]
