"""Transforms along one axis or several on the device, with NumPy's checks.

The parameter `implementation` is a module with the functions `complex_transform`, `from_real` and `to_real`. They
return None if the module does not support a transform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import cast
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.ops.dtypes import wide_dtype
from clarray._numpy.products.contraction import conjugate

_INVERSE_NORMS = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_NORMS = (*_INVERSE_NORMS,)
_UNUSUAL = 2**48  # values along an axis: no array has as many


def transform_axes(
    implementation: Any, name: str, array: DeviceArray, s: Sequence[int], axes: Sequence[int], norm: Any
) -> DeviceArray | None:
    """Transform along several axes, one after the other in NumPy's order."""
    pairs = list(zip(s, axes, strict=True))
    if name in ("fftn", "ifftn"):
        steps = [(name[:-1], *pair) for pair in reversed(pairs)]
    elif name == "rfftn":
        steps = [("rfft", *pairs[-1]), *(("fft", *pair) for pair in reversed(pairs[:-1]))]
    else:
        steps = [*(("ifft", *pair) for pair in pairs[:-1]), ("irfft", *pairs[-1])]
    partial: DeviceArray | None = array
    for step, n, axis in steps:
        if partial is not None:
            partial = transform_axis(implementation, step, partial, n, axis, norm)
    return partial


def transform_axis(
    implementation: Any, name: str, array: DeviceArray, n: int | None, axis: int, norm: Any
) -> DeviceArray | None:
    """Transform along an axis, with the checks of NumPy's function `name`, in its order."""
    if n is None:
        try:
            extent = array.shape[axis]
        except IndexError:
            raise IndexError("tuple index out of range") from None
        n = (extent - 1) * 2 if name in ("irfft", "hfft") else extent
    if name == "hfft":
        return transform_axis(implementation, "irfft", conjugate(array), n, axis, _inverse_norm(norm))
    if name == "ihfft":
        spectrum = transform_axis(implementation, "rfft", array, n, axis, _inverse_norm(norm))
        return None if spectrum is None else conjugate(spectrum)
    transform: DeviceArray | None
    if type(n) is not int or not 0 < n < _UNUSUAL or norm not in _NORMS:
        _check_by_numpy(name, n, axis, norm, array)
        n = int(n)
    inverse = name[0] == "i"
    divisor = _divisor(_inverse_norm(norm) if inverse else norm, n)
    axis = normalize_axis(axis, array.ndim)
    if name == "rfft" and array.dtype.kind == "c":
        raise TypeError(f"rfft takes real values, not {array.dtype.name}")
    work = device_dtype(np.result_type(array.dtype, 1j), array.device)
    if name[-4:] == "rfft":
        work = np.dtype(work.char.lower())
        transform = (implementation.to_real if inverse else implementation.from_real)(array, n, axis, work, divisor)
        if transform is None:
            return None
        narrow = (
            inverse and wide_dtype(array.dtype) != array.dtype
        )  # NumPy's dtype, although the transform is computed in a wider dtype
        return wrap(cast(transform._node, array.dtype)) if narrow else transform
    transform = implementation.complex_transform(array, n, axis, work, inverse, divisor)
    return transform


def _check_by_numpy(name: str, n: Any, axis: Any, norm: Any, array: DeviceArray) -> None:
    """Raise NumPy's error if its function refuses the arguments of a transform. No line is transformed."""
    shape: tuple[int, ...] = (0,) * array.ndim
    try:
        normalize_axis(axis, array.ndim)
        shape, axis = (0, 1), -1  # no lines, because the result of a single line would take memory
    except (TypeError, ValueError):
        pass  # NumPy raises its error, after the errors for the number of values and the norm
    getattr(np.fft, name)(np.empty(shape, array.dtype), n, axis, norm)


def _inverse_norm(norm: Any) -> str:
    try:
        return _INVERSE_NORMS[norm]
    except KeyError:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".') from None


def _divisor(norm: Any, n: int) -> float:
    """Return the divisor of a transform of `n` values under one of NumPy's norms."""
    return n if norm == "forward" else math.sqrt(n) if norm == "ortho" else 1
