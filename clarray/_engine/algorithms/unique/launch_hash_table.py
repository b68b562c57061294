"""Launch the search for few distinct values: one kernel fills a hash table, which the host reads."""

from __future__ import annotations

import numpy as np

from clarray._engine.algorithms.flat_operands import FlatOperands, flat_operands_of
from clarray._engine.algorithms.unique.plan_hash_table import HashTablePlan, is_worth_trying
from clarray._engine.algorithms.unique.plan_range_table import group_count
from clarray._engine.algorithms.unique.source_hash_table import hash_table_source
from clarray._engine.expr.node import Node, replanned
from clarray._engine.launch.kernel_cache import KernelCache, Launch, device_of, kernel_cache_of


@replanned
def distinct_by_hash_table(value: Node, equal_nan: bool) -> np.ndarray | None:
    """Return the distinct values, in no order, if there are few of them.

    Parameters
    ----------
    value : Node
        An expression of any real dtype, computed in the kernel's loads.
    equal_nan : bool
        Whether all NaN are equal.

    Returns
    -------
    ndarray or None
        None if there are too many distinct values, or a sort is faster.
    """
    device = device_of(value)
    with device.lock:
        cache = kernel_cache_of(device)
        if not is_worth_trying(value.dtype, value.size, cache.policies):
            return None
        return _distinct(cache, flat_operands_of(value, ordered=False), equal_nan)


def _distinct(cache: KernelCache, line: FlatOperands, equal_nan: bool) -> np.ndarray | None:
    value = line.value
    policy, unique = cache.policies.reduce, cache.policies.unique
    loads = line.loads(policy)
    plan = HashTablePlan(
        accesses=line.accesses,
        vector=loads.vector,
        explicit=loads.explicit,
        index=loads.index,
        aligned=loads.aligned,
        slots=unique.hash_slots,
        limit=unique.hash_limit,
        equal_nan=equal_nan,
        policy=policy,
    )
    key = ("hash table", line.operands.signature, plan)
    kernel = cache.kernel_for(key, hash_table_source, plan, value, line.operands.nodes, cache.capabilities)
    groups = group_count(value.size, plan, cache.units)
    tables = groups if policy.chunked else 1
    itemsize = value.dtype.itemsize
    table_bytes = plan.slots * itemsize * tables
    status_bytes = 4 * (groups if policy.chunked else 2)
    memory = cache.device.allocate(table_bytes + status_bytes)
    if not policy.chunked:
        cache.device.fill_zero(memory)
    args = kernel.arguments(
        inputs=line.operands.arguments(line.shifts),
        memory=memory.buffer,
        notes=memory.buffer,
        notes_at=table_bytes // 4,
        n=value.size,
        steps=line.steps,
    )
    nbytes = line.operands.nbytes
    inline = nbytes <= policy.inline_bytes
    Launch(kernel, (groups,), (policy.work_group,), args, inline, nbytes).run()
    host = np.empty(table_bytes + status_bytes, np.uint8)
    cache.device.read(memory, 0, host)
    status = np.bitwise_or.reduce(host[table_bytes:].view(np.int32)[: groups if policy.chunked else 1])
    if status & 2:  # too many values
        return None
    bits = host[:table_bytes].view(f"u{itemsize}")
    bits = bits[bits != 0]
    if status & 1:  # a value has no bits set, which marks a free slot
        bits = np.append(bits, bits.dtype.type(0))
    return bits.view(value.dtype)
