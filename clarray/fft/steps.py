"""Transforms on the device: an axis cropped or padded, a plan of VkFFT's run, what it has not divided by.

Functions give None where there is no plan that is right, which leaves the transform to the host.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core import creation
from clarray._core.device_array import DeviceArray, empty, wrap
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import cast
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.expr.node import Node
from clarray._engine.ops.dtypes import wide_dtype
from clarray._numpy.manipulation import shapes
from clarray._numpy.products.contraction import conjugate
from clarray.fft.plans import Key, find_plan

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def several_axes(name: str, array: DeviceArray, s: Sequence[int], axes: Sequence[int], norm: Any) -> DeviceArray | None:
    """Transform along axes, one after the other in NumPy's order."""
    pairs = list(zip(s, axes, strict=True))
    if name in ("fftn", "ifftn"):
        steps = [(name[:-1], *each) for each in reversed(pairs)]
    elif name == "rfftn":
        steps = [("rfft", *pairs[-1]), *(("fft", *each) for each in reversed(pairs[:-1]))]
    else:
        steps = [*(("ifft", *each) for each in pairs[:-1]), ("irfft", *pairs[-1])]
    found: DeviceArray | None = array
    for step, n, axis in steps:
        if found is not None:
            found = one_axis(step, found, n, axis, norm)
    return found


def one_axis(name: str, array: DeviceArray, n: int | None, axis: int, norm: Any) -> DeviceArray | None:
    """Transform along an axis, with the checks of NumPy's function `name`."""
    if name == "hfft":
        return one_axis("irfft", conjugate(array), n, axis, _swapped(norm))
    if name == "ihfft":
        found = one_axis("rfft", array, n, axis, _swapped(norm))
        return None if found is None else conjugate(found)
    if n is None:
        n = (array.shape[axis] - 1) * 2 if name == "irfft" else array.shape[axis]
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    inverse = name[0] == "i"
    divisor = _divisor(_swapped(norm) if inverse else norm, n)
    axis = normalize_axis(axis, array.ndim)
    if name == "rfft" and array.dtype.kind == "c":
        raise TypeError(f"rfft takes real values, not {array.dtype.name}")
    work = device_dtype(np.result_type(array.dtype, 1j), array.device)
    if name[-4:] == "rfft":
        work = np.dtype(work.char.lower())
        moved = shapes.moveaxis(array, axis, -1)
        found = (_to_real if inverse else _from_real)(moved, n, work, divisor)
        if found is None:
            return None
        narrow = inverse and wide_dtype(array.dtype) != array.dtype  # NumPy's dtype, though it computes in a wider one
        return shapes.moveaxis(wrap(cast(found._node, array.dtype)) if narrow else found, -1, axis)
    return _complex(array, n, axis, work, inverse, divisor)


def _swapped(norm: Any) -> str:
    try:
        return _SWAPPED[norm]
    except KeyError:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".') from None


def _divisor(norm: Any, n: int) -> float:
    """What a transform is divided by."""
    if norm is None or norm == "backward":
        return 1
    if norm == "ortho":
        return math.sqrt(n)
    if norm == "forward":
        return n
    raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def _complex(
    array: DeviceArray, n: int, axis: int, work: np.dtype, inverse: bool, divisor: float
) -> DeviceArray | None:
    source = _fitted(array, n, axis, work)
    shape = source.shape
    if n == 1:
        return source.copy()
    scaled = not inverse or divisor == n
    key = Key(math.prod(shape[:axis]), n, math.prod(shape[axis + 1 :]), work, scaled)
    return _run(key, source, shape, work, inverse, n if inverse and scaled else 1, divisor)


def _from_real(array: DeviceArray, n: int, work: np.dtype, divisor: float) -> DeviceArray | None:
    source = _fitted(array, n, array.ndim - 1, work)
    wide = np.result_type(work, np.complex64)
    shape = (*source.shape[:-1], n // 2 + 1)
    if n == 1:
        return source.astype(wide)
    return _run(Key(source.size // n, n, 1, work, True), source, shape, wide, False, 1, divisor)


def _to_real(array: DeviceArray, n: int, work: np.dtype, divisor: float) -> DeviceArray | None:
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
