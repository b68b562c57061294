"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, at_least, near_floor, normal, uniform, within


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
    "product_a": Input(lambda s: (s["product"],) * 2, uniform),
    "product_b": Input(lambda s: (s["product"],) * 2, uniform),
    "wide_a": Input(lambda s: (s["wide_product"],) * 2, normal(np.float64)),
    "wide_b": Input(lambda s: (s["wide_product"],) * 2, normal(np.float64)),
    "many64_a": Input(lambda s: (s["many64"], 64, 64), uniform),
    "many64_b": Input(lambda s: (s["many64"], 64, 64), uniform),
    "many8_a": Input(lambda s: (s["many"], 8, 8), uniform),
    "many8_b": Input(lambda s: (s["many"], 8, 8), uniform),
    "times": Input(lambda s: (s["vector"],) * 2, uniform),
    "vector": Input(lambda s: (s["vector"],), uniform),
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
    *(
        Operation(f"matmul.{name}", inputs, lambda xp, a, b: a @ b, says=NO_OTHERS, aims=aims, apart=True, **more)
        for name, inputs, aims, more in (
            ("float32", ("product_a", "product_b"), at_least(1.0) | within(gpu=22e-3), {}),
            ("float64", ("wide_a", "wide_b"), at_least(1.0) | within(gpu=2.6e-3), {"of_largest": 1e-13}),
            ("of 64 x 64", ("many64_a", "many64_b"), within(gpu=0.2e-3), {}),
            ("of 8 x 8", ("many8_a", "many8_b"), at_least(3.0) | within(gpu=0.2e-3), {}),
            ("vector", ("times", "vector"), at_least(1.0) | within(gpu=0.105e-3), {}),
        )
    ),
]
