"""Discrete Fourier transforms: of a long line, of an image, and of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from operations.row import NO_OPENCL, Aim, Input, Operation, normal, within

INPUTS: dict[str, Input] = {
    "transformed_line": Input(lambda s: (s["line"],), normal(np.complex64)),
    "transformed_image": Input(lambda s: (s["image"],) * 2, normal(np.complex64)),
    "transformed_reals": Input(lambda s: (s["line"],), normal(np.float32)),
}
AS_LARGE = 1e-6  # of single precision's errors, as part of the largest element: pocketfft's are 2e-7


def row(name: str, given: str, axes: tuple[int, ...], cpu: float, gpu: float, real: bool = False) -> Operation:
    """A transform by NumPy's name, with the times NumPy's speed on a CPU and the seconds on a GPU that are asked."""
    says: dict[str, Any] = {
        "numexpr": None,
        **NO_OPENCL,
        "scipy": lambda scipy, x: getattr(scipy.fft, name)(x, workers=scipy.workers),
        "pyvkfft": axes,
    }
    if not real:
        says["reikna"] = axes
    aims = {"cpu": Aim("NumPy", cpu)} | within(gpu=gpu)
    return Operation(
        f"fft.{name}(x)",
        (given,),
        lambda xp, x: getattr(xp.fft, name)(x),
        says=says,
        aims=aims,
        apart=True,
        of_largest=AS_LARGE,
    )


OPERATIONS: list[Operation] = [
    row("fft", "transformed_line", (0,), 1.5, 0.33e-3),
    row("fft2", "transformed_image", (0, 1), 1.5, 0.28e-3),
    row("rfft", "transformed_reals", (0,), 1.0, 0.22e-3, real=True),
]
