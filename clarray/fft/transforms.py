"""Discrete Fourier transforms: axis by axis by an OpenCL library or clarray's kernels, or in a call of NumPy's."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, check_target
from clarray._core.fallback import through_library
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import assign, device_of_operands
from clarray._core.writes import with_device_lock
from clarray._engine.algorithms import launchers
from clarray._engine.runtime import Device
from clarray._engine.speedups import captured
from clarray.fft import by_kernels, by_vkfft, steps
from clarray.fft.plans import available

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]


_TO_REAL = ("irfft", "irfftn", "hfft")  # from half a spectrum to reals

# One axis -------------------------------------------------------------------------------------


@captured(operands=1)
@with_device_lock("out")
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the discrete Fourier transform along an axis.

    Parameters
    ----------
    a : array_like
        float16, float32 and complex64 are transformed in complex64, other dtypes in complex128.
    n : int, optional
        Number of values along the axis. The axis is cropped or zero-padded to this length. None takes its extent.
    axis : int
    norm : {None, 'backward', 'ortho', 'forward'}
        Divisor of the forward and of the inverse transform. 'backward' and None: 1 and `n`. 'forward': `n` and 1.
        'ortho': the square root of `n` for both.
    out : DeviceArray, optional
        Array that receives the result.

    Returns
    -------
    DeviceArray
        Complex, with `n` values along the axis.

    Raises
    ------
    ValueError
        `n` is less than 1, there is no such `norm`, or `out` has another shape.
    TypeError
        The device lacks float64 for a transform in complex128.

    Examples
    --------
    >>> import clarray
    >>> abs(clarray.fft.fft([1.0, 0.0, -1.0, 0.0])).round(6).tolist()
    [0.0, 2.0, 0.0, 2.0]
    """
    return _along_axis("fft", a, n, axis, norm, out)


@captured(operands=1)
@with_device_lock("out")
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `fft`. The parameters are as in `fft`.

    Returns
    -------
    DeviceArray
        Complex, with `n` values along the axis.

    Examples
    --------
    >>> import clarray
    >>> spectrum = clarray.fft.fft([1.0, 2.0, 3.0, 4.0])
    >>> clarray.fft.ifft(spectrum).real.round(6).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return _along_axis("ifft", a, n, axis, norm, out)


@captured(operands=1)
@with_device_lock("out")
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the discrete Fourier transform of real values. The parameters are as in `fft`.

    Returns
    -------
    DeviceArray
        Complex. The first ``n // 2 + 1`` values along the axis: the other values are their conjugates.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.rfft([1.0, 0.0, 0.0, 0.0]).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    return _along_axis("rfft", a, n, axis, norm, out)


@captured(operands=1)
@with_device_lock("out")
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `rfft`. Further parameters are as in `fft`.

    Parameters
    ----------
    n : int, optional
        Number of values of the result. The first ``n // 2 + 1`` values of the transform are read. None takes
        ``2 * (m - 1)``, which is even, for m values along the axis.

    Returns
    -------
    DeviceArray
        Real, with `n` values along the axis.

    Examples
    --------
    >>> import clarray
    >>> spectrum = clarray.fft.rfft([1.0, 2.0, 3.0, 4.0])
    >>> clarray.fft.irfft(spectrum).round(6).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return _along_axis("irfft", a, n, axis, norm, out)


@captured(operands=1)
@with_device_lock("out")
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the transform of a signal with Hermitian symmetry, which is real. The parameters are as in `irfft`.

    The function reads only the first half of the signal: the other half is the conjugate of the first.

    Returns
    -------
    DeviceArray
        Real, with `n` values along the axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.hfft([1.0, 1.0, 1.0]).round(6).tolist()
    [4.0, 0.0, 0.0, 0.0]
    """
    return _along_axis("hfft", a, n, axis, norm, out)


@captured(operands=1)
@with_device_lock("out")
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `hfft`. The parameters are as in `rfft`.

    Returns
    -------
    DeviceArray
        Complex. The first ``n // 2 + 1`` values along the axis.

    Examples
    --------
    >>> import clarray
    >>> abs(clarray.fft.ihfft([4.0, 0.0, 0.0, 0.0])).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    return _along_axis("ihfft", a, n, axis, norm, out)


# Several axes ---------------------------------------------------------------------------------


@captured(operands=1)
@with_device_lock("out")
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the discrete Fourier transform along several axes.

    Parameters
    ----------
    a : array_like
    s : sequence of int, optional
        Number of values along each axis. The axis is cropped or zero-padded to this length. -1 keeps the extent of an
        axis, and None, in place of the sequence, the extents of all.
    axes : sequence of int, optional
        Axes of the transform. None takes all. If `s` is given, `axes` must be given: NumPy deprecates otherwise.
    norm, out
        As in `fft`.

    Returns
    -------
    DeviceArray
        Complex.

    Raises
    ------
    ValueError
        `s` and `axes` have different lengths, or an error as in `fft`.

    Examples
    --------
    >>> import clarray
    >>> abs(clarray.fft.fftn([[1.0, 1.0], [1.0, 1.0]])).round(6).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    return _along_axes("fftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `fftn`. The parameters are as in `fftn`.

    Returns
    -------
    DeviceArray
        Complex.

    Examples
    --------
    >>> import clarray
    >>> spectrum = clarray.fft.fftn([[1.0, 2.0], [3.0, 4.0]])
    >>> clarray.fft.ifftn(spectrum).real.round(6).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_axes("ifftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Transform real values along several axes: `rfft` along the last, then `fft` along the others; see `fftn`.

    Returns
    -------
    DeviceArray
        Complex, with ``n // 2 + 1`` values along the last axis of the transform.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.rfftn(clarray.ones((2, 4))).shape
    (2, 3)
    """
    return _along_axes("rfftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `rfftn`; see `fftn` for the parameters.

    If `s` is not given, the extent of the last axis is even: ``2 * (m - 1)`` for m values.

    Returns
    -------
    DeviceArray
        Real.

    Examples
    --------
    >>> import clarray
    >>> spectrum = clarray.fft.rfftn([[1.0, 2.0], [3.0, 4.0]])
    >>> clarray.fft.irfftn(spectrum).round(6).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_axes("irfftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the discrete Fourier transform along the last two axes. The parameters are as in `fftn`.

    Returns
    -------
    DeviceArray
        Complex.

    Examples
    --------
    >>> import clarray
    >>> images = clarray.ones((5, 2, 4))
    >>> spectra = clarray.fft.fft2(images)
    >>> spectra.shape, float(abs(spectra[0, 0, 0]).round(6))
    ((5, 2, 4), 8.0)
    """
    return _along_axes("fftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `fft2`: `ifftn` along the last two axes. The parameters are as in `fftn`.

    Returns
    -------
    DeviceArray
        Complex.

    Examples
    --------
    >>> import clarray
    >>> spectrum = clarray.fft.fft2([[1.0, 2.0], [3.0, 4.0]])
    >>> clarray.fft.ifft2(spectrum).real.round(6).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_axes("ifftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the transform of real values along the last two axes: `rfftn`. The parameters are as in `fftn`.

    Returns
    -------
    DeviceArray
        Complex, with ``n // 2 + 1`` values along the last axis of the transform.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.rfft2(clarray.ones((5, 2, 4))).shape
    (5, 2, 3)
    """
    return _along_axes("rfftn", a, s, axes, norm, out)


@captured(operands=1)
@with_device_lock("out")
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> DeviceArray:
    """Compute the inverse of `rfft2`: `irfftn` along the last two axes. The parameters are as in `fftn`.

    Returns
    -------
    DeviceArray
        Real.

    Examples
    --------
    >>> import clarray
    >>> spectrum = clarray.fft.rfft2([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]])
    >>> clarray.fft.irfft2(spectrum, s=(2, 3)).round(6).tolist()
    [[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]]
    """
    return _along_axes("irfftn", a, s, axes, norm, out)


# Choice of the implementation -----------------------------------------------------------------


def _along_axis(name: str, a: Any, n: Any, axis: int, norm: Any, out: Any) -> DeviceArray:
    return _transform(steps.transform_axis, name, a, n, axis, norm, out)


def _along_axes(name: str, a: Any, s: Any, axes: Any, norm: Any, out: Any) -> DeviceArray:
    s, axes = _extents_and_axes(np.shape(a), s, axes, name == "irfftn")
    return _transform(steps.transform_axes, name, a, s, axes, norm, out)


def _transform(transform_function: Any, name: str, a: Any, extents: Any, axes: Any, norm: Any, out: Any) -> DeviceArray:
    """Transform with the first implementation that applies: a plan of VkFFT, clarray's kernels if faster, NumPy."""
    device = device_of_operands((a, out))
    transform = None
    if available(device):
        transform = transform_function(by_vkfft, name, as_array(a, device), extents, axes, norm)
    if transform is None and _kernels_pay(device, name, a, extents, axes):
        transform = transform_function(by_kernels, name, as_array(a, device), extents, axes, norm)
    if transform is None:
        transform = _on_host(name, a, out, extents, axes, norm)
    return _store_in_out(out, transform)


def _kernels_pay(device: Device, name: str, a: Any, extents: Any, axes: Any) -> bool:
    """Return whether the kernels are faster than NumPy. They always are if NumPy would need copies to the host."""
    if not device.capabilities.host_memory:
        return True
    shape = np.shape(a)
    kind = "complex" if name.rstrip("n")[-4:] not in ("rfft", "hfft") else "back" if name in _TO_REAL else "forward"
    wide = getattr(a, "dtype", np.dtype(float)).char not in "efF"
    try:
        if isinstance(axes, list):
            lengths = extents
        elif extents is not None:
            lengths = [operator.index(extents)]
        else:
            lengths = [2 * shape[axes] - 2 if kind == "back" else shape[axes]]
        return launchers.fft.is_profitable(device, kind, lengths, math.prod(shape), wide)
    except (IndexError, TypeError):
        return False  # NumPy raises its error


def _on_host(name: str, a: Any, out: Any, *args: Any) -> DeviceArray:
    """Transform with NumPy on the host. Raise TypeError if the device lacks the dtype of the result."""
    device = device_of_operands((a, out))
    dtype = a.dtype if isinstance(a, DeviceArray) else np.asarray(a).dtype
    if dtype.kind in "biufc":  # NumPy raises the errors for other dtypes
        device_dtype(np.result_type(dtype, 1j), device)
    transform: DeviceArray = through_library(f"numpy.fft.{name}", getattr(np.fft, name), a, *args)
    return transform


def _extents_and_axes(
    shape: tuple[int, ...], s: Sequence[int | None] | None, axes: Sequence[int] | None, inverse_real: bool
) -> tuple[list[int], list[int]]:
    """Return the number of values along each axis, and the axes, of a transform along several axes."""
    requested = s
    if s is None:
        s = shape if axes is None else np.take(shape, axes).tolist()
    s = list(s)
    if axes is None:
        if requested is not None:
            callers.warn_user(
                "`axes` should not be `None` if `s` is given: pass the axes that `s` is for", DeprecationWarning
            )
        axes = range(-len(s), 0)
    axes = list(axes)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if None in s:
        callers.warn_user("None in `s` is deprecated: pass the extent, or -1", DeprecationWarning)
    if inverse_real and (requested is None or s[-1] is None):
        s[-1] = (shape[axes[-1]] - 1) * 2
    return [shape[axis] if n is None or n == -1 else n for n, axis in zip(s, axes, strict=True)], axes


def _store_in_out(out: Any, transform: DeviceArray) -> DeviceArray:
    """Store a transform in `out` with a ufunc's checks, or return the transform if `out` is None."""
    if out is None:
        return transform
    check_target(out, "return arrays must be of DeviceArray type, not {}")
    if out.shape != transform.shape:
        raise ValueError("output array has wrong shape.")
    if not np.can_cast(transform.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast the transform from {transform.dtype!r} to {out.dtype!r} with casting rule 'same_kind'"
        )
    out.check_writeable("output array is read-only")
    assign(out, transform._node)
    return out
