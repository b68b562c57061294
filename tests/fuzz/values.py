"""The numbers that programs begin with: `values` stands in the printed programs as it stands here."""

from __future__ import annotations

from typing import Any

import numpy as np

PROFILES = ("tame", "positive", "few", "sorted", "wide", "extreme")  # and "edge": finite, at the edge of the range


def values(seed: int, shape: Any, dtype: Any, profile: str) -> Any:
    """Draw an array: most numbers are small and exact in every dtype, so that sums of them are, too."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    size = int(np.prod(shape))
    if dtype.kind == "b":
        drawn = rng.random(size) < (0.9 if profile == "positive" else 0.5)
    elif dtype.kind == "c":
        part = "f4" if dtype.itemsize == 8 else "f8"
        pairs = [values(seed + 1 + k, (size,), part, profile) for k in range(2)]
        drawn = np.stack(pairs, -1).ravel().view(dtype)
    else:
        low, high = {"positive": (1, 9), "few": (0, 3)}.get(profile, (0 if dtype.kind == "u" else -9, 10))
        drawn = rng.integers(low, high, size)
        if dtype.kind == "f":
            drawn = (drawn / (4 if profile in ("tame", "extreme", "edge") else 1)).astype(dtype)
        if profile == "wide" and dtype.kind == "f":
            drawn = rng.standard_normal(size) * 10.0 ** rng.integers(-3, 3, size)
        elif profile == "wide":
            drawn = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size, dtype, endpoint=True)
        if profile == "extreme" and dtype.kind == "f":
            info = np.finfo(dtype)
            odd = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, info.min, info.tiny, info.smallest_subnormal, info.eps]
            drawn = np.where(rng.random(size) < 0.3, np.array(odd, dtype)[rng.integers(0, len(odd), size)], drawn)
        elif profile == "edge" and dtype.kind == "f":
            info = np.finfo(dtype)
            odd = [info.max, info.max / 2, 2.0 ** (info.maxexp // 2), info.tiny, info.smallest_subnormal, 0.0]
            odd = [sign * x for x in odd for sign in (1, -1)]
            drawn = np.where(rng.random(size) < 0.5, np.array(odd, dtype)[rng.integers(0, len(odd), size)], drawn)
        elif profile in ("extreme", "edge"):
            limits = np.iinfo(dtype)
            odd = [limits.min, limits.max, limits.max - 1, limits.max // 2 + 1, 0]
            drawn = drawn.astype(dtype)
            drawn = np.where(rng.random(size) < 0.3, np.array(odd, dtype)[rng.integers(0, len(odd), size)], drawn)
    drawn = drawn.astype(dtype)
    return (np.sort(drawn) if profile == "sorted" else drawn).reshape(shape)
