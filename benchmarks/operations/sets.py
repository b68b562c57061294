"""Distinct values."""

from __future__ import annotations

from operations.row import NO_OPENCL, Input, Operation, Sizes, at_least, integers, uniform, within

LARGEST = 1 << 25  # of what a CPU is asked for: beyond, the device is a GPU


def _sorted(sizes: Sizes) -> tuple[int, ...]:
    """What must be sorted: 2^22 on a CPU, as much as everything else on a GPU."""
    return (sizes["large"] if sizes["large"] > LARGEST else min(sizes["large"], 1 << 22),)


INPUTS: dict[str, Input] = {
    "few": Input(lambda s: (s["large"],), integers(0, 1000)),
    "wide": Input(_sorted, integers(-(2**31), 2**31 - 1)),
    "parts": Input(_sorted, uniform),
}

# Under jit a shape may not depend on values, and numexpr has no such operation.
_ELSEWHERE = {"numexpr": None, "jax": None, **NO_OPENCL}

OPERATIONS: list[Operation] = [
    Operation(
        "unique, int32 in 0..999",
        ("few",),
        lambda xp, few: xp.unique(few),
        says=_ELSEWHERE,
        aims=at_least(30) | within(gpu=0.6e-3),
    ),
    Operation(
        "unique, full-range int32",
        ("wide",),
        lambda xp, wide: xp.unique(wide),
        says=_ELSEWHERE,
        aims=at_least(1.5) | within(gpu=6e-3),
    ),
    Operation(
        "unique, uniform float32",
        ("parts",),
        lambda xp, parts: xp.unique(parts),
        says=_ELSEWHERE,
        aims=at_least(1.5),
    ),
]
