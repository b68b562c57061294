"""Which row is in force for a device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clarray.plan.tuning.policy import Policies
from clarray.plan.tuning.rows import CPU, GPU, NVIDIA, ROWS

if TYPE_CHECKING:
    from clarray.runtime import Capabilities


def select(capabilities: Capabilities) -> Policies:
    """Give the policies for a device; ``CLARRAY_POLICY`` names another row (for tests and tuning)."""
    forced = os.environ.get("CLARRAY_POLICY")
    if forced:
        try:
            return ROWS[forced]
        except KeyError:
            raise ValueError(
                f"CLARRAY_POLICY={forced!r} names no row; there are {', '.join(ROWS)}"
            ) from None
    if capabilities.kind == "cpu":
        return CPU
    return NVIDIA if "nvidia" in capabilities.vendor.lower() else GPU
