"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, at_least, near_floor, uniform


def whole(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers: of others NumPy's float32 sums are off by more than can be told from a mistake."""
    return random.integers(0, 4, shape).astype(np.float32)


INPUTS: dict[str, Input] = {
    "factors": Input(lambda s: (s["large"],), whole),
    "others": Input(lambda s: (s["large"],), whole),
    "m1024": Input(lambda s: (1024, 1024), uniform),
    "n1024": Input(lambda s: (1024, 1024), uniform),
    "large_matrix": Input(lambda s: (s["square"][0] // 4,) * 2, uniform),
    "along": Input(lambda s: (s["square"][1],), uniform),
    "many8": Input(lambda s: (s["large"] // 1024, 8, 8), uniform),
}

NO_OTHERS: dict[str, Any] = {"numexpr": None, **NO_OPENCL}

OPERATIONS: list[Operation] = [
    Operation(
        "dot(a, b)",
        ("factors", "others"),
        lambda xp, a, b: xp.dot(a, b),
        says={"numexpr": "sum(few * fewer)", "torch": lambda torch, a, b: a @ b},
        aims=at_least(1.5) | near_floor(1.05),
        apart=True,
    ),
    Operation("A @ x", ("square", "along"), lambda xp, square, along: square @ along, says=NO_OTHERS, apart=True),
    Operation("x @ A", ("square", "along"), lambda xp, square, along: along @ square, says=NO_OTHERS, apart=True),
    Operation(
        "A @ B, 1024 x 1024",
        ("m1024", "n1024"),
        lambda xp, a, b: a @ b,
        says=NO_OTHERS,
        aims=at_least(0.85),
        apart=True,
    ),
    Operation("A @ A.T, large", ("large_matrix",), lambda xp, a: a @ a.T, says=NO_OTHERS, apart=True),
    Operation("many 8 x 8 @ 8 x 8", ("many8",), lambda xp, a: a @ a, says=NO_OTHERS, apart=True),
]
