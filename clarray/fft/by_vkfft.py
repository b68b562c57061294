"""Transforms by plans of VkFFT's: an axis cropped or padded, the plan run, what it has not divided by.

Functions give None where there is no plan that is right.
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
    source = _fitted(array, n, axis, work)
    shape = source.shape
    if n == 1:
        return source.copy()
    scaled = not inverse or divisor == n
    key = Key(math.prod(shape[:axis]), n, math.prod(shape[axis + 1 :]), work, scaled)
    return _run(key, source, shape, work, inverse, n if inverse and scaled else 1, divisor)


def from_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    """Transform `n` reals of the dtype `work` to the first half of their spectrum."""
    found = _from_last_axis(shapes.moveaxis(array, axis, -1), n, work, divisor)
    return None if found is None else shapes.moveaxis(found, -1, axis)


def to_real(array: DeviceArray, n: int, axis: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    """Transform half a spectrum to `n` reals of the dtype `work`."""
    found = _to_last_axis(shapes.moveaxis(array, axis, -1), n, work, divisor)
    return None if found is None else shapes.moveaxis(found, -1, axis)


def _from_last_axis(array: DeviceArray, n: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    source = _fitted(array, n, array.ndim - 1, work)
    wide = np.result_type(work, np.complex64)
    shape = (*source.shape[:-1], n // 2 + 1)
    if n == 1:
        return source.astype(wide)
    return _run(Key(source.size // n, n, 1, work, True), source, shape, wide, False, 1, divisor)


def _to_last_axis(array: DeviceArray, n: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    wide = np.result_type(work, np.complex64)
    source = _fitted(array, n // 2 + 1, array.ndim - 1, wide)
    shape = (*source.shape[:-1], n)
    if n == 1:
        return source.real.copy()
    if source is array or source.base is not None:
        source = source.copy()
    source.imag[..., 0] = 0  # what no real values have VkFFT takes into account, and NumPy does not
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
    divided: float,
    divisor: float,
) -> DeviceArray | None:
    """Run the plan for a key into a new array; divide by what is left of the divisor."""
    made = empty(shape, dtype, source.device)
    if not made.size:
        return made
    plan = find_plan(source.device, key)
    if plan is None:
        return None
    given, memory = _leaf(source).memory, made._node.memory
    assert given is not None
    assert memory is not None
    plan.run(given, memory, inverse)
    return made if divided == divisor else made * (divided / divisor)


def _fitted(array: DeviceArray, n: int, axis: int, dtype: np.dtype) -> DeviceArray:
    """The array with `n` elements along an axis, the first ones or zeros after them, converted."""
    have = array.shape[axis]
    if have > n:
        array = array[(slice(None),) * axis + (slice(n),)]
    if have >= n:
        return array if array.dtype == dtype else wrap(cast(array._node, dtype))
    shape = (*array.shape[:axis], n, *array.shape[axis + 1 :])
    padded = creation.zeros(shape, dtype, device=array.device)
    padded[(slice(None),) * axis + (slice(have),)] = array
    return padded


def _leaf(array: DeviceArray) -> Node:
    """The array in memory, C-contiguous from its start, as plans want it."""
    node = evaluate(array._node)
    if node.contiguous and not node.offset:
        return node
    return array.copy()._node
