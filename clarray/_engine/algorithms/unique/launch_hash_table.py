"""Which values occur, while they are few: one launch, and a table that the host reads."""

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
    """The distinct values, in no order, if there are few of them.

    Parameters
    ----------
    value : Node
        Of any real dtype; computed while it is read.
    equal_nan : bool
        Whether all NaN are one value.

    Returns
    -------
    ndarray or None
        None where there are too many, or the attempt would not pay.
    """
    device = device_of(value.inputs or (value,))
    with device.lock:
        cache = kernel_cache_of(device)
        if not is_worth_trying(value.dtype, value.size, cache.policies):
            return None
        return _read(cache, flat_operands_of(value, ordered=False), equal_nan)


def _read(cache: KernelCache, line: FlatOperands, equal_nan: bool) -> np.ndarray | None:
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
    key = ("hash table", value.sig, line.operands.pattern, plan)
    kernel = cache.kernel_for(key, hash_table_source, plan, value, line.operands.nodes, cache.capabilities)
    groups = group_count(value.size, plan, cache.units)
    tables = groups if policy.chunked else 1
    itemsize = value.dtype.itemsize
    table_bytes = plan.slots * itemsize * tables
    notes = 4 * (groups if policy.chunked else 2)
    memory = cache.device.allocate(table_bytes + notes)
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
    host = np.empty(table_bytes + notes, np.uint8)
    cache.device.read(memory, 0, host)
    seen = np.bitwise_or.reduce(host[table_bytes:].view(np.int32)[: groups if policy.chunked else 1])
    if seen & 2:
        return None
    bits = host[:table_bytes].view(f"u{itemsize}")
    bits = bits[bits != 0]
    if seen & 1:
        bits = np.append(bits, bits.dtype.type(0))
    return bits.view(value.dtype)
