"""Selection of the policies of a device."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.reductions import CPU_WIDE_PRODUCTS
from clarray._engine.tuning.rows import DEVICE_ROWS, ROWS
from clarray._engine.tuning.tuned import Tuned

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


ASSUMED_WAKE_TIME = 8e-6  # seconds, assumed by `inline_bytes` of the rows
MOST_INLINE_FACTOR = 4  # by which `inline_bytes` grows at most
# bytes from which work is shared with the core's own threads
SHARED_FROM = {
    "elementwise": 1 << 16,
    "reduce": 1 << 16,
    "products": 1 << 16,
    "scan": 1 << 16,
    "stencil": 1 << 16,
    "compact": 1 << 17,
}
# their results are mostly numbers and sizes, which programs read at once
AWAITED_ALGORITHMS = ("reduce", "compact", "histogram")


def select(capabilities: Capabilities, tuned: Tuned | None = None) -> Policies:
    """Return the policies of a device: the result of its tuning, or else the row of its kind.

    ``CLARRAY_POLICY`` names another row (for tests and tuning) and has priority over both.
    """
    forced = os.environ.get("CLARRAY_POLICY")
    if forced:
        try:
            return replace(ROWS[forced], source="forced by CLARRAY_POLICY")
        except KeyError:
            raise ValueError(f"CLARRAY_POLICY={forced!r} names no row; there are {', '.join(ROWS)}") from None
    kind, vendor = capabilities.kind, capabilities.vendor.lower()
    row = next(row for row_kind, row_vendor, row in DEVICE_ROWS if row_kind in ("", kind) and row_vendor in vendor)
    if capabilities.wide_registers:
        row = replace(row, products=CPU_WIDE_PRODUCTS)
    row = _with_own_threads(row) if capabilities.calls_code else _with_slow_threads(row, capabilities.handover_seconds)
    return row if tuned is None else tuned.apply(row)


def _with_own_threads(row: Policies) -> Policies:
    """Return the row for launches on the core's own threads, which poll for work, and on the calling thread.

    Times in us on Zen 5, two cores, including the wait, on the calling thread and on both threads.
    A sum, a + b, and a matrix times a vector of 32 KiB: 1.3, 1.7, 2.0 and 2.4, 1.6, 2.1.
    The same of 128 KiB: 3.2, 3.8, 4.4 and 3.4, 3.9, 2.6. The same of 512 KiB: 9.6, 16.8, 8.2 and 6.6, 6.0, 5.8.
    ``x[mask]`` of 64 and 128 KiB: 6.7, 18.8 and 13.4, 16.5.
    A matrix of 1 and 2 MiB times a vector, with at least 2^18, 2^16 and 2^14 products in a group: 11.0 and 23.1, 11.2
    and 12.2, 6.9 and 12.5.
    """
    changed: dict[str, Any] = {"reduce": replace(row.reduce, number_bytes=MOST_INLINE_FACTOR * row.reduce.inline_bytes)}
    for name, shared_from in SHARED_FROM.items():
        policy = changed.get(name, getattr(row, name))
        changed[name] = replace(policy, inline_bytes=min(policy.inline_bytes, shared_from))
    changed["elementwise"] = replace(changed["elementwise"], chunk_bytes=1 << 14)
    changed["products"] = replace(changed["products"], least=1 << 14)
    return replace(row, **changed)


def _with_slow_threads(row: Policies, handover_seconds: float) -> Policies:
    """Return the row for a device whose threads start and finish a launch in `wake_time` seconds.

    If that is long, the calling thread runs larger launches whose results are awaited. A virtual machine took 30 to
    50 us to wake a thread, in which one core reads 4 MiB.
    """
    factor = min(int(handover_seconds / ASSUMED_WAKE_TIME), MOST_INLINE_FACTOR)
    if factor <= 1:
        return row
    policies = {name: getattr(row, name) for name in AWAITED_ALGORITHMS}
    changed = {name: replace(policy, inline_bytes=factor * policy.inline_bytes) for name, policy in policies.items()}
    return replace(row, **changed)
