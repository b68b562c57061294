"""Which row is in force for a device."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from clarray._engine.tuning.policy import Policies
from clarray._engine.tuning.reductions import CPU_WIDE_PRODUCTS
from clarray._engine.tuning.rows import ROWS, SERVED
from clarray._engine.tuning.tuned import Tuned

if TYPE_CHECKING:
    from clarray._engine.runtime import Capabilities


HAND_OVER = 8e-6  # seconds: what the rows' limits of the calling thread are for
MOST_LONGER = 4
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
    row = _patient(row, capabilities.hand_over)
    return row if kept is None else kept.apply(row)


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
