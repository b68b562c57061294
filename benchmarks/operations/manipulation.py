"""Joining, repeating, shifting and padding: copies in another arrangement."""

from __future__ import annotations

from typing import Any

from operations.row import NO_OPENCL, Input, Operation, at_least, near_floor, uniform

INPUTS: dict[str, Input] = {"more_rows": Input(lambda s: s["rows"], uniform)}

_ELSEWHERE: dict[str, Any] = {"numexpr": None, **NO_OPENCL}
_AIMS = at_least(1) | near_floor(1.2)
_EDGE = 5  # elements that a pad adds at each end of each axis
_TORCH_PADS = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


def _torch_pad(mode: str) -> Any:
    def pad(torch: Any, rows: Any) -> Any:
        padded = torch.nn.functional.pad(rows[None, None], (_EDGE,) * 4, mode=_TORCH_PADS[mode])
        return padded[0, 0]

    return pad


def _pad(mode: str) -> Any:
    return lambda xp, rows: xp.pad(rows, _EDGE, mode=mode)


OPERATIONS: list[Operation] = [
    Operation(
        "concatenate((a, b))",
        ("a", "b"),
        lambda xp, a, b: xp.concatenate((a, b)),
        says=_ELSEWHERE,
        aims=_AIMS,
    ),
    Operation(
        "concatenate((A, B), axis=1)",
        ("rows", "more_rows"),
        lambda xp, rows, more: xp.concatenate((rows, more), axis=1),
        says=_ELSEWHERE,
        aims=_AIMS,
    ),
    Operation("stack((a, b))", ("a", "b"), lambda xp, a, b: xp.stack((a, b)), says=_ELSEWHERE, aims=_AIMS),
    Operation(
        "stack((a, b), axis=1)",
        ("a", "b"),
        lambda xp, a, b: xp.stack((a, b), 1),
        says=_ELSEWHERE,
        aims=_AIMS,
    ),
    Operation("roll(a, 1001)", ("a",), lambda xp, a: xp.roll(a, 1001), says=_ELSEWHERE, aims=_AIMS),
    Operation(
        "roll(A, (3, -5), (0, 1))",
        ("rows",),
        lambda xp, rows: xp.roll(rows, (3, -5), (0, 1)),
        says=_ELSEWHERE,
        aims=_AIMS,
    ),
    *(
        Operation(
            f"pad(A, {_EDGE}, {mode})",
            ("rows",),
            _pad(mode),
            says={**_ELSEWHERE, "torch": _torch_pad(mode)},
            aims=_AIMS,
        )
        for mode in _TORCH_PADS
    ),
    Operation(
        "tile(a, 2)",
        ("a",),
        lambda xp, a: xp.tile(a, (2,)),
        says=_ELSEWHERE,
        aims=_AIMS,
    ),
    Operation(
        "repeat(a, 2)",
        ("a",),
        lambda xp, a: xp.repeat(a, 2),
        says={**_ELSEWHERE, "torch": lambda torch, a: torch.repeat_interleave(a, 2)},
        aims=_AIMS,
    ),
    Operation(
        "flip(A).copy()",
        ("rows",),
        lambda xp, rows: xp.flip(rows).copy(),
        says={**_ELSEWHERE, "torch": lambda torch, rows: torch.flip(rows, (0, 1))},  # which copies itself
        aims=_AIMS,
    ),
]
