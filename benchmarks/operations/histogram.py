"""Counting values."""

from __future__ import annotations

from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, at_least, integers, uniform, within

INPUTS = {
    "small_ints": Input(lambda s: (s["large"] if s["large"] > 1 << 26 else s["large"] >> 3,), integers(0, 1000)),
    "long_ints": Input(lambda s: (s["large"] >> 3,), integers(0, 1000, np.int64)),
    "shares": Input(lambda s: (s["large"] if s["large"] > 1 << 26 else s["large"] >> 1,), uniform),
    "weights": Input(lambda s: (s["large"] >> 3,), uniform),
}

_ONLY_NUMPYS = {"numexpr": None, "torch": None, "jax": None, **NO_OPENCL}


def _histogram(bins: int) -> Any:
    return lambda xp, a: xp.histogram(a, bins, (0, 1))[0]


def _torch_histogram(bins: int) -> Any:
    return lambda torch, a: torch.histc(a, bins, 0, 1)


OPERATIONS = [
    Operation(
        "bincount, 1000 bins",
        ("small_ints",),
        lambda xp, a: xp.bincount(a),
        says={"numexpr": None, "torch": lambda torch, a: torch.bincount(a), **NO_OPENCL},
        aims=at_least(4) | within(gpu=0.30e-3),
    ),
    Operation(
        "bincount of int64, 1000 bins",
        ("long_ints",),
        lambda xp, a: xp.bincount(a),
        says={"numexpr": None, "torch": lambda torch, a: torch.bincount(a), **NO_OPENCL},
    ),
    Operation(
        "bincount with weights",
        ("long_ints", "weights"),
        lambda xp, a, w: xp.bincount(a, w),
        says=_ONLY_NUMPYS,
    ),
    Operation(
        "histogram, 100 bins",
        ("shares",),
        lambda xp, a: xp.histogram(a, 100)[0],
        says=_ONLY_NUMPYS,
        aims=at_least(3),
    ),
    Operation(
        "histogram in a range, 256 bins",
        ("shares",),
        _histogram(256),
        says={"numexpr": None, "torch": _torch_histogram(256), "jax": None, **NO_OPENCL},
        aims=at_least(3) | within(gpu=0.30e-3),
    ),
]
