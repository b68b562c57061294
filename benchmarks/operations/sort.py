"""Sorting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, Sizes, at_least, integers, uniform, within

LARGEST = 1 << 25  # of what a CPU is asked for: beyond, the device is a GPU


def _up_to(most: int) -> Callable[[Sizes], tuple[int, ...]]:
    """As much as everything else on a GPU, at most so many elements on a CPU."""

    def shape(sizes: Sizes) -> tuple[int, ...]:
        return (sizes["large"] if sizes["large"] > LARGEST else min(sizes["large"], most),)

    return shape


def _different(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that are all different where float32 has so many, so that there is one answer."""
    if shape[0] > 1 << 24:
        return uniform(random, shape)
    return random.permutation(shape[0]).astype(np.float32)


INPUTS: dict[str, Input] = {
    "unsorted": Input(_up_to(1 << 22), uniform),
    "shuffled": Input(_up_to(1 << 22), integers(-(2**31), 2**31 - 1)),
    "unordered": Input(_up_to(1 << 24), _different),
}

_ELSEWHERE = {"numexpr": None, **NO_OPENCL, "torch": lambda torch, x: torch.sort(x)[0]}

OPERATIONS: list[Operation] = [
    Operation(
        "sort, uniform float32",
        ("unsorted",),
        lambda xp, unsorted: xp.sort(unsorted),
        says=_ELSEWHERE,
        aims=at_least(1.5) | within(gpu=6.5e-3),
    ),
    Operation(
        "sort, full-range int32",
        ("shuffled",),
        lambda xp, shuffled: xp.sort(shuffled),
        says=_ELSEWHERE,
        aims=at_least(1.5) | within(gpu=6.5e-3),
    ),
    Operation(
        "argsort, float32",
        ("unordered",),
        lambda xp, unordered: xp.argsort(unordered),
        says={"numexpr": None, **NO_OPENCL},
        aims=at_least(6) | within(gpu=11e-3),
    ),
]
