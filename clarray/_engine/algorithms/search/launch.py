"""Launch binary searches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clarray._engine.algorithms.flat_operands import FlatOperands, flat_operands_of
from clarray._engine.algorithms.search.plan import SearchPlan
from clarray._engine.algorithms.search.source import search_source
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.layout import index_type
from clarray._engine.expr.node import EAGER, Node, contiguous_leaf, memory_of, replanned
from clarray._engine.fused.elementwise.plan import groups
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of
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
    membership: bool | None = None,
) -> Node:
    """Search each element of `value` in a sorted line.

    Parameters
    ----------
    line : Node
        A one-dimensional array, sorted in NumPy's order. Otherwise the result has no meaning.
    value : Node
        The needles, of any shape. A pending expression is computed in the kernel's loads.
    side : str
        ``'left'``: the first insertion index that preserves the order. ``'right'``: the last one.
    sorter : Node, optional
        int64, one-dimensional: indices into `line`, all in bounds, in sorted order.
    dtype : dtype, optional
        Of the comparison. By default both dtypes are promoted.
    membership : bool, optional
        Return whether an element of the line is equal (True), or none is (False).

    Returns
    -------
    Node
        A new leaf of the value's shape: int64, or bool with `membership`.
    """
    device = device_of(line, value)
    evaluate(line)
    with device.lock:
        out_dtype = _INT64 if membership is None else _BOOL
        memory = device.allocate(value.size * out_dtype.itemsize)
        target = contiguous_leaf(memory, value.shape, out_dtype)
        if not value.size:
            return target
        needles = flat_operands_of(value, ordered=True)
        value = needles.value
        dtype = np.promote_types(line.dtype, value.dtype) if dtype is None else dtype
        length = _launch(kernel_cache_of(device), SortedLine(line, sorter, dtype, side), needles, target, membership)
        if membership is None:
            record_range(target, 0, length)
        if value.flags & EAGER or (memory_of(line).shared or (sorter is not None and sorter.flags & EAGER)):
            device.synchronize()
    return target


class SortedLine(NamedTuple):
    """A sorted line, its order if it is indirect, the dtype of comparisons, and the side of equal elements."""

    values: Node
    sorter: Node | None
    dtype: np.dtype
    side: str


def _launch(cache: KernelCache, line: SortedLine, needles: FlatOperands, target: Node, membership: bool | None) -> int:
    """Launch the kernel and return the length of the line."""
    value, operands, policy = needles.value, needles.operands, cache.policies.elementwise
    plan = SearchPlan(
        accesses=needles.accesses,
        vector=cache.policies.search.needles,
        index=index_type(needles.furthest, policy.chunked),
        sorted_dtype=line.values.dtype,
        dtype=line.dtype,
        side=line.side,
        sorter=line.sorter is not None,
        membership=membership,
        policy=policy,
    )
    key = ("search", operands.signature, plan)
    kernel = cache.kernel_for(key, search_source, plan, value, operands.nodes, cache.capabilities)
    arguments, length = _line_arguments(line)
    arguments |= {"yp": memory_of(target).buffer, "yo": 0, "n": value.size, "m": length}
    args = kernel.arguments(inputs=operands.arguments(needles.shifts), steps=needles.steps, **arguments)
    steps = length.bit_length()
    nbytes = operands.nbytes + value.size * target.dtype.itemsize
    units = -(-value.size // plan.vector)
    count = groups(units, nbytes * steps, cache.units, policy)
    inline = COSTLY * nbytes * steps <= policy.inline_bytes
    Launch(kernel, (count,), (policy.work_group,), args, inline, nbytes).run()
    return length


def _line_arguments(line: SortedLine) -> tuple[dict[str, Any], int]:
    """Return the kernel's arguments of the line by name, and its length."""
    values, sorter = line.values, line.sorter
    buffer = memory_of(values).buffer
    arguments: dict[str, Any] = {"sortedp": buffer, "sortedo": values.offset, "sorteds0": values.strides[0]}
    if sorter is None:
        return arguments, values.size
    evaluate(sorter)
    arguments |= {"sorter": memory_of(sorter).buffer, "sortero": sorter.offset, "sorters": sorter.strides[0]}
    return arguments, sorter.size
