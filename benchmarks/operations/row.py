"""What one row of the benchmark is: an operation, written once in NumPy's dialect.

`run(xp, *inputs)` gets the peer's functions and its arrays. Where a peer says it otherwise, `says`
holds its own form: an expression for numexpr, a function for the rest, None where the peer cannot.
`aims` are the figures to reach: on a CPU as times NumPy's speed, on a GPU as a multiple of the
floor, or absolute in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Aim:
    """A figure to reach: at least `times` NumPy's speed, or at most so many floors or seconds."""

    measure: Literal["NumPy", "floor", "seconds"]
    value: float

    def __str__(self) -> str:
        if self.measure == "seconds":
            return f"<= {self.value * 1e3:g} ms" if self.value > 1e-3 else f"<= {self.value * 1e6:g} us"
        return f">= {self.value:g} x NumPy" if self.measure == "NumPy" else f"<= {self.value:g} x floor"


@dataclass(frozen=True)
class Operation:
    """One row: its inputs by name, how to run it, and what is asked of it."""

    name: str
    inputs: tuple[str, ...]
    run: Callable[..., Any]
    says: Mapping[str, Any] = field(default_factory=dict)
    aims: Mapping[str, Aim] = field(default_factory=dict)
    # Arrays read or written that the sizes of inputs and result do not tell: A.T + A reads A twice.
    extra_reads: int = 0
    from_host: bool = False  # inputs are NumPy arrays for every peer: the upload is measured too
    lazy: bool = False  # the result is left pending: what is measured is growing the expression
    # Every peer's samples together, after a rest: the threads of NumPy's BLAS spin for a while after each call.
    apart: bool = False
    scalar: bool = False  # the result is a Python number, so the wait for it is part of `run`
    # How far clarray's answer may be from NumPy's, as part of the largest element: of results whose elements are
    # differences of much larger ones. By default each element counts for itself.
    of_largest: float | None = None
    # The result in a wider dtype, where NumPy's own rounding grows past telling who is right.
    exact: Callable[..., np.ndarray] | None = None


def at_least(times: float) -> dict[str, Aim]:
    return {"cpu": Aim("NumPy", times)}


def near_floor(floors: float) -> dict[str, Aim]:
    return {"gpu": Aim("floor", floors)}


def within(cpu: float | None = None, gpu: float | None = None) -> dict[str, Aim]:
    return {k: Aim("seconds", v) for k, v in (("cpu", cpu), ("gpu", gpu)) if v is not None}


# Shapes by the names that rows use, from the sizes in force (`run.SIZES`).
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """A named input: its shape, from the sizes in force, and how its values are drawn."""

    shape: Callable[[Sizes], tuple[int, ...]]
    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def uniform(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform float32 in [0, 1)."""
    return random.random(shape, dtype=np.float32)


def integers(low: int, high: int, dtype: type = np.int32) -> Callable[..., np.ndarray]:
    """Uniform integers from `low` to before `high`."""
    return lambda random, shape: random.integers(low, high, shape, dtype=dtype)


def normal(dtype: type) -> Callable[..., np.ndarray]:
    """Standard normal numbers of a dtype, complex ones with two each."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        real = np.zeros((), dtype).real.dtype
        if np.dtype(dtype).kind == "c":
            return random.standard_normal((*shape, 2), real).view(dtype)[..., 0]
        return random.standard_normal(shape, real)

    return draw


NO_OPENCL = {"pyopencl": None}
