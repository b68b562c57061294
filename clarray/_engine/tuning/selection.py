"""Which row is in force for a device."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.reductions import CPU_WIDE_PRODUCTS
from clarray._engine.tuning.rows import ROWS, SERVED
from clarray._engine.tuning.tuned import Tuned

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


HAND_OVER = 8e-6  # seconds: what the rows' limits of the calling thread are for
MOST_LONGER = 4
# bytes from which on work is shared among threads that are there at once
SHARED_FROM = {
    "elementwise": 1 << 16,
    "reduce": 1 << 16,
    "products": 1 << 16,
    "scan": 1 << 16,
    "stencil": 1 << 16,
    "compact": 1 << 17,
}
WAITED_FOR = ("reduce", "compact", "histogram")  # mostly: numbers, and how many there are


def select(capabilities: Capabilities, kept: Tuned | None = None) -> Policies:
    """Give the policies for a device: what tuning found on it, or else the row of its kind.

    ``CLARRAY_POLICY`` names another row (for tests and tuning) and counts before both.
    """
    forced = os.environ.get("CLARRAY_POLICY")
    if forced:
        try:
            return replace(ROWS[forced], source="forced by CLARRAY_POLICY")
        except KeyError:
            raise ValueError(f"CLARRAY_POLICY={forced!r} names no row; there are {', '.join(ROWS)}") from None
    device, made_by = capabilities.kind, capabilities.vendor.lower()
    row = next(row for kind, vendor, row in SERVED if kind in ("", device) and vendor in made_by)
    if capabilities.wide_registers:
        row = replace(row, products=CPU_WIDE_PRODUCTS)
    row = _ready(row) if capabilities.calls_code else _patient(row, capabilities.hand_over)
    return row if kept is None else kept.apply(row)


def _ready(row: Policies) -> Policies:
    """The row where the work is done by the core's own threads, which look for it, and by the calling one.

    Zen 5, two cores, us of a sum, a + b and a matrix times a vector, with the wait, by the calling thread and by both:
    32 KiB 1.3, 1.7, 2.0 and 2.4, 1.6, 2.1; 128 KiB 3.2, 3.8, 4.4 and 3.4, 3.9, 2.6; 512 KiB 9.6, 16.8, 8.2 and 6.6,
    6.0, 5.8. x[mask] of 64 and 128 KiB 6.7, 18.8 and 13.4, 16.5. A matrix of 1 and 2 MiB times a vector, where groups
    have at least 2^18, 2^16 and 2^14 products: 11.0 and 23.1, 11.2 and 12.2, 6.9 and 12.5.
    """
    changed: dict[str, Any] = {"reduce": replace(row.reduce, number_bytes=MOST_LONGER * row.reduce.inline_bytes)}
    for name, most in SHARED_FROM.items():
        policy = changed.get(name, getattr(row, name))
        changed[name] = replace(policy, inline_bytes=min(policy.inline_bytes, most))
    changed["elementwise"] = replace(changed["elementwise"], chunk_bytes=1 << 14)
    changed["products"] = replace(changed["products"], least=1 << 14)
    return replace(row, **changed)


def _patient(row: Policies, hand_over: float) -> Policies:
    """The row for a device whose threads take work, and say that it is done, in so many seconds.

    Where that takes long the calling thread does more of what programs wait for by itself: a virtual machine took 30 to
    50 us to wake a thread, in which one core reads four mebibytes. What nobody waits for may as well be handed over.
    """
    longer = min(int(hand_over / HAND_OVER), MOST_LONGER)
    if longer <= 1:
        return row
    policies = {name: getattr(row, name) for name in WAITED_FOR}
    changed = {name: replace(each, inline_bytes=longer * each.inline_bytes) for name, each in policies.items()}
    return replace(row, **changed)
