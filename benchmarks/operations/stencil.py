"""Convolution and filters: SciPy's stand beside NumPy, CuPy's beside clarray's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from operations.row import Input, Operation, at_least, uniform

INPUTS = {
    "image": Input(lambda s: (4096, 4096), uniform),
    "bytes": Input(lambda s: (4096, 4096), lambda r, n: r.integers(0, 256, n, dtype=np.uint8)),
    "signal": Input(lambda s: (1 << 20,), uniform),
    "taps": Input(lambda s: (101,), uniform),
}


def filters(name: str, *args: Any) -> dict[str, Any]:
    """The same filter as each library has it; None where it has none."""

    def of(module: str) -> Callable[..., Any]:
        return lambda xp, image: getattr(import_module(module), name)(image, *args)

    return {
        "numpy": of("scipy.ndimage"),
        "cupy": of("cupyx.scipy.ndimage"),
        "numexpr": None,
        "torch": None,
        "jax": None,
        "pyopencl": None,
    }


def row(name: str, call: str, *args: Any, data: str = "image", aim: float | None = None) -> Operation:
    return Operation(
        name,
        (data,),
        lambda xp, image: getattr(xp.ndimage, call)(image, *args),
        says=filters(call, *args),
        aims=at_least(aim) if aim else {},
    )


OPERATIONS = [
    row("gaussian_filter, sigma 2", "gaussian_filter", 2, aim=3),
    row("gaussian_filter, sigma 5", "gaussian_filter", 5, aim=3),
    row("gaussian_filter of bytes", "gaussian_filter", 2, data="bytes"),
    row("uniform_filter 9 x 9", "uniform_filter", 9),
    row("sobel", "sobel"),
    row("median_filter 3 x 3", "median_filter", 3),
    row("median_filter 5 x 5 of bytes", "median_filter", 5, data="bytes"),
    Operation(
        "convolve 2^20 with 101",
        ("signal", "taps"),
        lambda xp, signal, taps: xp.convolve(signal, taps),
        says={"numexpr": None, "torch": None, "pyopencl": None},
    ),
]
