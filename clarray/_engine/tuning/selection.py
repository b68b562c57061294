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
    return row if kept is None else kept.apply(row)
