"""Transforms by plans of VkFFT: crop or pad the axis, run the plan, divide by the rest of the divisor.

The functions return None if VkFFT has no plan for the transform that passes its self-test.
"""

from __future__ import annotations

import math

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, empty, wrap
from clarray._core.ufunc_calls import cast
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node
from clarray._numpy.manipulation import shapes
from clarray.fft.plans import Key, find_plan


def complex_transform(
    array: DeviceArray, n: int, axis: int, work: np.dtype, inverse: bool, divisor: float
) -> DeviceArray | None:
    """Transform `n` values along an axis, in the complex dtype `work`."""
    source = _crop_or_pad(array, n, axis, work)
    shape = source.shape
    if n == 1:
        return source.copy()
    scaled = not inverse or divisor == n
    key = Key(math.prod(shape[:axis]), n, math.prod(shape[axis + 1 :]), work, scaled)
    return _run(key, source, shape, work, inverse, n if inverse and scaled else 1, divisor)


def from_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    """Transform `n` reals of the dtype `work` to the first half of their spectrum."""
    spectrum = _from_last_axis(shapes.moveaxis(array, axis, -1), n, work, divisor)
    return None if spectrum is None else shapes.moveaxis(spectrum, -1, axis)


def to_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    """Transform half a spectrum to `n` reals of the dtype `work`."""
    reals = _to_last_axis(shapes.moveaxis(array, axis, -1), n, work, divisor)
    return None if reals is None else shapes.moveaxis(reals, -1, axis)


def _from_last_axis(array: DeviceArray, n: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    source = _crop_or_pad(array, n, array.ndim - 1, work)
    wide = np.result_type(work, np.complex64)
    shape = (*source.shape[:-1], n // 2 + 1)
    if n == 1:
        return source.astype(wide)
    return _run(Key(source.size // n, n, 1, work, True), source, shape, wide, False, 1, divisor)


def _to_last_axis(array: DeviceArray, n: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    wide = np.result_type(work, np.complex64)
    source = _crop_or_pad(array, n // 2 + 1, array.ndim - 1, wide)
    shape = (*source.shape[:-1], n)
    if n == 1:
        return source.real.copy()
    if source is array or source.base is not None:
        source = source.copy()
    source.imag[..., 0] = 0  # NumPy ignores these imaginary parts, VkFFT does not
    if n % 2 == 0:
        source.imag[..., -1] = 0
    scaled = divisor == n
    return _run(Key(math.prod(shape) // n, n, 1, work, scaled), source, shape, work, True, n if scaled else 1, divisor)


def _run(
    key: Key,
    source: DeviceArray,
    shape: tuple[int, ...],
    dtype: np.dtype,
    inverse: bool,
    applied_divisor: float,
    divisor: float,
) -> DeviceArray | None:
    """Run the plan for a key into a new array, and divide by the part of the divisor that the plan has not applied."""
    transform = empty(shape, dtype, source.device)
    if not transform.size:
        return transform
    plan = find_plan(source.device, key)
    if plan is None:
        return None
    source_memory, transform_memory = _contiguous_leaf(source).memory, transform._node.memory
    assert source_memory is not None
    assert transform_memory is not None
    plan.run(source_memory, transform_memory, inverse)
    return transform if applied_divisor == divisor else transform * (applied_divisor / divisor)


def _crop_or_pad(array: DeviceArray, n: int, axis: int, dtype: np.dtype) -> DeviceArray:
    """Crop an axis to `n` elements or pad it with zeros, and convert the array to a dtype."""
    extent = array.shape[axis]
    if extent > n:
        array = array[(slice(None),) * axis + (slice(n),)]
    if extent >= n:
        return array if array.dtype == dtype else wrap(cast(array._node, dtype))
    shape = (*array.shape[:axis], n, *array.shape[axis + 1 :])
    padded = creation.zeros(shape, dtype, device=array.device)
    padded[(slice(None),) * axis + (slice(extent),)] = array
    return padded


def _contiguous_leaf(array: DeviceArray) -> Node:
    """Evaluate an array to a C-contiguous leaf without offset, the layout that plans read."""
    node = evaluate(array._node)
    if node.contiguous and not node.offset:
        return node
    return array.copy()._node
