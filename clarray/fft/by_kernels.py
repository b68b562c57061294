"""Transforms by clarray's own kernels. The first pass computes the expression of a pending array, too."""

from __future__ import annotations

import math

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.ufunc_calls import cast
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import Node
from clarray._engine.fast_dataclass import dataclass


def complex_transform(
    array: DeviceArray, n: int, axis: int, work: np.dtype, inverse: bool, divisor: float
) -> DeviceArray:
    """Transform `n` values along an axis, in the complex dtype `work`."""
    dtype = work if array.dtype.kind == "c" else np.dtype(work.char.lower())
    return _transform(array, axis, dtype, _Line("complex", n, inverse, 1 / divisor), (n, work))


def from_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray:
    """Transform `n` reals of the dtype `work` to the first half of their spectrum."""
    output = n // 2 + 1, np.result_type(work, np.complex64)
    return _transform(array, axis, work, _Line("rfft", n, False, 1 / divisor), output)


def to_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray:
    """Transform half a spectrum to `n` reals of the dtype `work`."""
    dtype = np.result_type(work, np.complex64) if array.dtype.kind == "c" else work
    return _transform(array, axis, dtype, _Line("irfft", n, True, 1 / divisor), (n, work))


@dataclass
class _Line:
    """The transform of one line along the axis."""

    kind: str
    n: int
    inverse: bool
    scale: float


def _transform(
    array: DeviceArray, axis: int, dtype: np.dtype, line: _Line, output: tuple[int, np.dtype]
) -> DeviceArray:
    shape = (*array.shape[:axis], output[0], *array.shape[axis + 1 :])
    if not array.size or not math.prod(shape):
        return creation.zeros(shape, output[1], device=array.device)
    source: Node = array._node if array.dtype == dtype else cast(array._node, dtype)
    return wrap(launchers.fft.transform(source, axis, line.n, line.kind, inverse=line.inverse, scale=line.scale))
