"""Running sums."""

from __future__ import annotations

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, at_least, integers, near_floor

INPUTS: dict[str, Input] = {
    "i": Input(lambda s: (s["large"],), integers(-1000, 1000)),
}

OPERATIONS: list[Operation] = [
    Operation(
        "cumsum",
        ("a",),
        lambda xp, a: xp.cumsum(a),
        says={"numexpr": None, "torch": lambda torch, a: torch.cumsum(a, 0), **NO_OPENCL},
        aims=at_least(12) | near_floor(1.25),
        exact=lambda a: np.cumsum(a, dtype=np.float64),
    ),
    Operation(
        "cumsum axis 0",
        ("rows",),
        lambda xp, rows: xp.cumsum(rows, axis=0),
        says={"numexpr": None, "torch": lambda torch, a: torch.cumsum(a, 0), **NO_OPENCL},
        aims=at_least(50) | near_floor(1.25),
    ),
    Operation(
        "cumsum axis 1",
        ("rows",),
        lambda xp, rows: xp.cumsum(rows, axis=1),
        says={"numexpr": None, "torch": lambda torch, a: torch.cumsum(a, 1), **NO_OPENCL},
        aims=at_least(15) | near_floor(1.25),
    ),
    Operation(
        "cumsum of int32 (to int64)",
        ("i",),
        lambda xp, i: xp.cumsum(i),
        says={
            "numexpr": None,
            "torch": lambda torch, i: torch.cumsum(i, 0),
            "jax": None,  # its integers stay 32 bits wide
            **NO_OPENCL,
        },
        aims=near_floor(1.25),
    ),
]
