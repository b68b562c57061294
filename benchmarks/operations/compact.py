"""Choosing elements by a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, at_least, near_floor, uniform


def _half(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return uniform(random, shape) > 0.5


INPUTS: dict[str, Input] = {
    "kept": Input(lambda s: (s["large"],), _half),
}

# Under jit a shape may not depend on values, and numexpr has no such operations.
_ELSEWHERE: dict[str, Any] = {"numexpr": None, "jax": None, **NO_OPENCL}


def _torch_nonzero(torch: Any, kept: Any) -> Any:
    return torch.nonzero(kept, as_tuple=True)[0]


def _torch_compress(torch: Any, kept: Any, a: Any) -> Any:
    return a[kept]


OPERATIONS: list[Operation] = [
    Operation(
        "a[a > 0.5]",
        ("a",),
        lambda xp, a: a[a > 0.5],
        says=_ELSEWHERE,
        aims=at_least(12) | near_floor(1.4),
    ),
    Operation(
        "compress(mask, a)",
        ("kept", "a"),
        lambda xp, kept, a: xp.compress(kept, a),
        says={**_ELSEWHERE, "torch": _torch_compress},
        aims=at_least(3.5) | near_floor(1.4),
    ),
    Operation(
        "nonzero(mask)",
        ("kept",),
        lambda xp, kept: xp.nonzero(kept)[0],
        says={**_ELSEWHERE, "torch": _torch_nonzero},
        aims=near_floor(1.4),
    ),
]
