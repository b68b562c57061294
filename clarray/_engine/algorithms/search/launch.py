"""Launches of binary searches: made and run at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._engine.algorithms.flat_operands import flat_operands_of
from clarray._engine.algorithms.search.plan import SearchPlan
from clarray._engine.algorithms.search.source import search_source
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.layout import index_type
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, replanned
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import Launch, device_of, kernel_cache_of
from clarray._engine.launch.operands import COSTLY

_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(bool)


@replanned
def search(
    line: Node,
    value: Node,
    side: str = "left",
    sorter: Node | None = None,
    dtype: np.dtype | None = None,
    found: bool | None = None,
) -> Node:
    """Search each element of `value` in a sorted line.

    Parameters
    ----------
    line : Node
        One axis, sorted in NumPy's order; any other order gives places that mean nothing.
    value : Node
        Any shape; computed while it is read.
    side : str
        ``'left'``: the first place that keeps the order; ``'right'``: the last.
    sorter : Node, optional
        int64, of one axis: positions in `line`, all of them in bounds, in sorted order.
    dtype : dtype, optional
        Of the comparison; by default what both promote to.
    found : bool, optional
        Give whether an element of the line is equal (True), or none is (False).

    Returns
    -------
    Node
        A new leaf of the value's shape: int64, or bool with `found`.
    """
    device = device_of((line, *(value.inputs or (value,))))
    evaluate(line)
    with device.lock:
        cache = kernel_cache_of(device)
        out_dtype = _INT64 if found is None else _BOOL
        memory = device.allocate(value.size * out_dtype.itemsize)
        target = contiguous_leaf(memory, value.shape, out_dtype)
        if not value.size:
            return target
        run = flat_operands_of(value, ordered=True)
        value = run.value
        policy = cache.policies.elementwise
        dtype = np.promote_types(line.dtype, value.dtype) if dtype is None else dtype
        plan = SearchPlan(
            accesses=run.accesses,
            vector=cache.policies.search.needles,
            index=index_type(run.furthest, policy.chunked),
            sorted_dtype=line.dtype,
            dtype=dtype,
            side=side,
            sorter=sorter is not None,
            found=found,
            policy=policy,
        )
        key = ("search", value.sig, run.operands.pattern, plan)
        kernel = cache.kernel_for(key, search_source, plan, value, run.operands.nodes, cache.capabilities)
        assert line.memory is not None
        values: dict[str, Any] = {"sortedp": line.memory.buffer, "sortedo": line.offset, "sorteds0": line.strides[0]}
        length = line.size
        if sorter is not None:
            evaluate(sorter)
            assert sorter.memory is not None
            length = sorter.size
            values |= {"sorter": sorter.memory.buffer, "sortero": sorter.offset, "sorters": sorter.strides[0]}
        values |= {"yp": memory.buffer, "yo": 0, "n": value.size, "m": length}
        args = kernel.arguments(inputs=run.operands.arguments(run.shifts), steps=run.steps, **values)
        steps = length.bit_length()
        nbytes = run.operands.nbytes + value.size * out_dtype.itemsize
        units = -(-value.size // plan.vector)
        count = groups(units, nbytes * steps, cache.units, policy)
        inline = COSTLY * nbytes * steps <= policy.inline_bytes
        Launch(kernel, (count,), (policy.work_group,), args, inline, nbytes).run()
        if found is None:
            record_range(target, 0, length)
        if value.flags & EAGER or (line.memory.shared or (sorter is not None and sorter.flags & EAGER)):
            device.synchronize()
    return target
