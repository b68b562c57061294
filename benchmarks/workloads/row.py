"""What one whole program is: a function in NumPy's dialect, what it is given, and how much of it.

`run(xp, *inputs)` uses `xp`, slicing, operators and methods, as one writes it who knows NumPy only.
`draw(random, *size)` gives the inputs, arrays and Python's numbers, for a size of the program's table.
The sizes are found by measurement: on two cores of a Zen 5 NumPy takes 1 to 10 ms for `small`, 50 to
200 ms for `medium` and 1 to 3 s for `large`. `tiny` is for tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = ("small", "medium", "large")
TINY = "tiny"
# Of the largest value of the answer. A program adds up rounding over its steps, and each library adds in its own order.
TOLERANCES = {"float16": 1e-2, "float32": 1e-3, "float64": 1e-9, "complex64": 1e-3, "complex128": 1e-9}


@dataclass(frozen=True)
class Program:
    """One program, with its table of sizes."""

    name: str
    run: Callable[..., Any]
    draw: Callable[..., tuple[Any, ...]]
    sizes: Mapping[str, tuple[int, ...]]
    # The part of an answer of whole numbers that may differ where a last bit decides, as at the edge of a fractal.
    differing: float = 0.0

    def inputs(self, size: str) -> tuple[Any, ...]:
        """Draw the inputs: the same ones in every process."""
        return self.draw(np.random.default_rng(sum(map(ord, self.name))), *self.sizes[size])


def program(
    draw: Callable[..., tuple[Any, ...]],
    *,
    tiny: tuple[int, ...],
    small: tuple[int, ...],
    medium: tuple[int, ...],
    large: tuple[int, ...],
    differing: float = 0.0,
) -> Callable[[Callable[..., Any]], Program]:
    """Make a row of the function below."""
    sizes = {TINY: tiny, "small": small, "medium": medium, "large": large}
    return lambda run: Program(run.__name__, run, draw, sizes, differing)


def answers(result: Any, host: Callable[[Any], np.ndarray]) -> list[np.ndarray]:
    """Give all that a program returned as NumPy arrays."""
    results = result if isinstance(result, tuple | list) else (result,)
    return [host(one) if hasattr(one, "dtype") else np.asarray(one) for one in results]


def difference(mine: list[np.ndarray], theirs: list[np.ndarray], differing: float = 0.0) -> str | None:
    """Say how answers differ from NumPy's by more than rounding; None where they agree."""
    if len(mine) != len(theirs):
        return f"{len(mine)} results instead of {len(theirs)}"
    for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"result {place} is {one.dtype}{one.shape} instead of {other.dtype}{other.shape}"
        tolerance = TOLERANCES.get(one.dtype.name)
        if tolerance is None:
            apart = float(np.mean(one != other)) if one.size else 0.0
            if apart > differing:
                return f"result {place} differs in {apart:.2g} of its values"
            continue
        largest = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
        if not np.allclose(one, other, rtol=tolerance, atol=tolerance * largest, equal_nan=True):
            return f"result {place} is off by {np.nanmax(np.abs(one - other)):.2g}, its largest value is {largest:.2g}"
    return None
