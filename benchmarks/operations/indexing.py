"""Reading and writing by index arrays, and choosing between arrays by a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, at_least, near_floor, uniform, within


def _sorted(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Rising positions with repetitions and gaps."""
    return np.sort(random.integers(0, shape[0], shape))


def _near(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Positions in an order of their own, those of a block of 4096 near each other."""
    block = min(4096, shape[0])
    order = random.permutation(block).astype(np.int64)
    return (np.arange(0, shape[0], block)[:, None] + order).reshape(-1)[: shape[0]]


def _anywhere(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return random.integers(0, shape[0], shape)


def _permutation(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return random.permutation(shape[0])


def _below_and_above(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Positions of one row in each row, half of them counted from its end."""
    return random.integers(-shape[1], shape[1], shape)


INPUTS: dict[str, Input] = {
    "rising": Input(lambda s: (s["large"],), _sorted),
    "near": Input(lambda s: (s["large"],), _near),
    "anywhere": Input(lambda s: (s["large"],), _anywhere),
    "target": Input(lambda s: (s["large"],), uniform),
    "row_order": Input(lambda s: s["rows"][:1], _permutation),
    "column_order": Input(lambda s: s["rows"][1:], _permutation),
    "per_row": Input(lambda s: s["rows"], _below_and_above),
}

# numexpr has no such operations.
_ELSEWHERE: dict[str, Any] = {"numexpr": None, **NO_OPENCL}
_AIMS = at_least(1) | near_floor(1.2)


def _taken(xp: Any, a: Any, i: Any) -> Any:
    return a[i]


def _put(xp: Any, target: Any, i: Any, a: Any) -> Any:
    target[i] = a
    return target


def _jax_put(jnp: Any, target: Any, i: Any, a: Any) -> Any:
    return target.at[i].set(a)


OPERATIONS: list[Operation] = [
    *(
        Operation(f"a[i], {where}", ("a", name), _taken, says=_ELSEWHERE, aims=aims)
        for where, name, aims in (
            ("rising", "rising", _AIMS),
            ("near each other", "near", at_least(1) | within(gpu=1.1e-3)),
            ("anywhere", "anywhere", at_least(1)),
        )
    ),
    Operation(
        "take(a, i), near each other",
        ("a", "near"),
        lambda xp, a, near: xp.take(a, near),
        says=_ELSEWHERE,
        aims=_AIMS,
    ),
    *(
        Operation(
            f"a[i] = v, {where}",
            ("target", name, "a"),
            _put,
            says={**_ELSEWHERE, "jax": _jax_put},
            aims=aims,
            extra_reads=-1,  # the target is written only
        )
        for where, name, aims in (("near each other", "near", _AIMS), ("anywhere", "anywhere", at_least(1)))
    ),
    Operation("A[i], whole rows", ("rows", "row_order"), _taken, says=_ELSEWHERE, aims=_AIMS),
    Operation(
        "A[:, i], whole columns", ("rows", "column_order"), lambda xp, rows, i: rows[:, i], says=_ELSEWHERE, aims=_AIMS
    ),
    Operation(
        "take_along_axis, axis 1",
        ("rows", "per_row"),
        lambda xp, rows, per_row: xp.take_along_axis(rows, per_row, axis=1),
        says={**_ELSEWHERE, "torch": None},  # which knows no negative positions
        aims=at_least(1),
    ),
    Operation(
        "where(mask, a, b)",
        ("kept", "a", "b"),
        lambda xp, kept, a, b: xp.where(kept, a, b),
        says={"numexpr": "where(kept, a, b)", **NO_OPENCL},
        aims=_AIMS,
    ),
]
