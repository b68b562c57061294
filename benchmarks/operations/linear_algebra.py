"""numpy.linalg: factorizations of one large matrix, of a tall one, and of many small ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Input, Operation, normal, within

NO_OTHERS: dict[str, Any] = {"numexpr": None, **NO_OPENCL}


def regular(dtype: type) -> Callable[..., np.ndarray]:
    """Matrices of a small condition number and a determinant near one, whose pivots lie anywhere."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        n = shape[-1]
        noise = random.standard_normal(shape, dtype) * dtype(0.3 / n**0.5)
        order = np.argsort(random.random(shape[:-1]), axis=-1)[..., None]
        np.put_along_axis(noise, order, np.take_along_axis(noise, order, -1) + dtype(1), -1)
        return noise

    return draw


def symmetric(dtype: type) -> Callable[..., np.ndarray]:
    """A symmetric matrix with eigenvalues between -2 and 2, nearly."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        noise = random.standard_normal(shape, dtype) / dtype((2 * shape[-1]) ** 0.5)
        return noise + noise.T

    return draw


def definite(dtype: type) -> Callable[..., np.ndarray]:
    """The same and 3 times the unit matrix."""
    return lambda random, shape: symmetric(dtype)(random, shape) + 3 * np.eye(shape[-1], dtype=dtype)


def _square(s: Any) -> tuple[int, int]:
    return s["factor"], s["factor"]


def _many(s: Any) -> tuple[int, int, int]:
    return s["many"], 8, 8


INPUTS: dict[str, Input] = {
    "regular32": Input(_square, regular(np.float32)),
    "regular64": Input(_square, regular(np.float64)),
    "definite32": Input(_square, definite(np.float32)),
    "definite64": Input(_square, definite(np.float64)),
    "symmetric32": Input(_square, symmetric(np.float32)),
    "symmetric64": Input(_square, symmetric(np.float64)),
    "right32": Input(lambda s: (s["factor"], 16), normal(np.float32)),
    "right64": Input(lambda s: (s["factor"], 16), normal(np.float64)),
    "tall32": Input(lambda s: s["tall"], normal(np.float32)),
    "tall64": Input(lambda s: s["tall"], normal(np.float64)),
    "small32": Input(_many, regular(np.float32)),
    "small64": Input(_many, regular(np.float64)),
    "small_right32": Input(lambda s: (s["many"], 8, 1), normal(np.float32)),
    "small_right64": Input(lambda s: (s["many"], 8, 1), normal(np.float64)),
}


# What is compared with NumPy's comes first, and is what does not depend on the signs of vectors.
def qr(xp: Any, a: Any) -> Any:
    q, r = xp.linalg.qr(a)
    return abs(r), q


def svd(xp: Any, a: Any) -> Any:
    u, s, v = xp.linalg.svd(a, full_matrices=False)
    return s, u, v


def eigh(xp: Any, a: Any) -> Any:
    values, vectors = xp.linalg.eigh(a)
    return values, vectors


def plainly(name: str) -> Callable[..., Any]:
    return lambda xp, *arrays: getattr(xp.linalg, name)(*arrays)


# Name, function, inputs, seconds asked of a GPU in float32 and float64.
ROWS: tuple[tuple[str, Callable[..., Any], tuple[str, ...], float | None, float | None], ...] = (
    ("cholesky", plainly("cholesky"), ("definite",), 3e-3, 4e-3),
    ("solve", plainly("solve"), ("regular", "right"), 6e-3, 9e-3),
    ("inv", plainly("inv"), ("regular",), 8e-3, None),
    ("det", plainly("det"), ("regular",), 5e-3, None),
    ("qr", qr, ("regular",), 12e-3, None),
    ("svd", svd, ("regular",), 0.25, None),
    ("eigh", eigh, ("symmetric",), 60e-3, None),
    ("pinv", plainly("pinv"), ("regular",), 0.26, None),
    ("qr, tall", qr, ("tall",), 4e-3, None),
    ("svd, tall", svd, ("tall",), 6e-3, None),
    ("solve, many 8 x 8", plainly("solve"), ("small", "small_right"), 0.3e-3, None),
    ("inv, many 8 x 8", plainly("inv"), ("small",), 0.19e-3, None),
    ("det, many 8 x 8", plainly("det"), ("small",), 0.13e-3, None),
)
AS_LARGE = {"32": 1e-3, "64": 1e-11}


def row(bits: str, name: str, run: Callable[..., Any], inputs: tuple[str, ...], gpu: float | None) -> Operation:
    return Operation(
        f"linalg.{name} float{bits}",
        tuple(f"{given}{bits}" for given in inputs),
        run,
        says=NO_OTHERS,
        aims=within(gpu=gpu),
        apart=True,
        of_largest=AS_LARGE[bits],
    )


OPERATIONS: list[Operation] = [
    row(bits, name, run, inputs, asked[number])
    for name, run, inputs, *asked in ROWS
    for number, bits in enumerate(("32", "64"))
]
