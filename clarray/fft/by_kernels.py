"""Transforms by clarray's own kernels: whatever an array's expression is, the first pass computes it."""

from __future__ import annotations

import math

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.ufunc_calls import cast
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import Node


def complex_transform(
    array: DeviceArray, n: int, axis: int, work: np.dtype, inverse: bool, divisor: float
) -> DeviceArray:
    """Transform `n` values along an axis, in the complex dtype `work`."""
    dtype = work if array.dtype.kind == "c" else np.dtype(work.char.lower())
    return _transformed(array, n, axis, dtype, "complex", inverse, divisor, (n, work))


def from_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray:
    """Transform `n` reals of the dtype `work` to the first half of their spectrum."""
    made = n // 2 + 1, np.result_type(work, np.complex64)
    return _transformed(array, n, axis, work, "rfft", False, divisor, made)


def to_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray:
    """Transform half a spectrum to `n` reals of the dtype `work`."""
    dtype = np.result_type(work, np.complex64) if array.dtype.kind == "c" else work
    return _transformed(array, n, axis, dtype, "irfft", True, divisor, (n, work))


def _transformed(
    array: DeviceArray,
    n: int,
    axis: int,
    dtype: np.dtype,
    kind: str,
    inverse: bool,
    divisor: float,
    made: tuple[int, np.dtype],
) -> DeviceArray:
    shape = (*array.shape[:axis], made[0], *array.shape[axis + 1 :])
    if not array.size or not math.prod(shape):
        return creation.zeros(shape, made[1], device=array.device)
    node: Node = array._node if array.dtype == dtype else cast(array._node, dtype)
    return wrap(launchers.fft.transform(node, axis, n, kind, inverse=inverse, scale=1 / divisor))
