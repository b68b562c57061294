"""Frequencies of transforms, and shifts of the zero frequency to the middle of spectra, on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import as_array, device_for
from clarray._core.device_array import DeviceArray
from clarray._core.host_data import device_dtype
from clarray._engine.expr.view import as_count
from clarray._numpy.creation.sequences import arange
from clarray._numpy.indexing.selecting import where
from clarray._numpy.manipulation.repeating import roll

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> DeviceArray:
    """Return the frequencies of the `n` values of a transform: first those from 0 up, then the negative ones.

    Parameters
    ----------
    n : int
        Number of values.
    d : float
        Distance between two samples. The frequencies are in cycles per unit of it.
    device : Device, str or int, optional
        None takes the current device.
    dtype : dtype, optional
        None means float64.

    Returns
    -------
    (n,) DeviceArray

    Raises
    ------
    ValueError
        `n` is negative or not an integer.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    if _count(n) < 0:
        raise ValueError(f"negative dimensions are not allowed, as in n={n}")
    index = arange(n, device=device)
    return _frequencies(where(index < (n + 1) // 2, index, index - n), n, d, device, dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> DeviceArray:
    """Return the frequencies of the ``n // 2 + 1`` values of a real transform; see `fftfreq` for the parameters.

    Returns
    -------
    (n // 2 + 1,) DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies(arange(_count(n) // 2 + 1, device=device), n, d, device, dtype)


def _count(n: Any) -> int:
    if not isinstance(n, int | np.integer):
        raise ValueError("n should be an integer")
    if n >= 2**63:
        raise ValueError("Maximum allowed dimension exceeded")
    return as_count(n)


def _frequencies(index: DeviceArray, n: int, d: Any, device: Any, dtype: Any) -> DeviceArray:
    frequency_dtype = device_dtype(np.float64 if dtype is None else dtype, device_for(device))
    return index.astype(frequency_dtype) * (1.0 / (n * d))


def fftshift(x: Any, axes: Any = None) -> DeviceArray:
    """Move the zero frequency from the front of axes to their middle.

    Parameters
    ----------
    x : array_like
    axes : int or sequence of int, optional
        None takes all axes.

    Returns
    -------
    DeviceArray
        A new array, of the shape and dtype of `x`.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.fftshift([0, 1, 2, -2, -1]).tolist()
    [-2, -1, 0, 1, 2]
    """
    return _shift(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> DeviceArray:
    """Undo `fftshift`. The two differ for axes of odd extent. The parameters are as in `fftshift`.

    Returns
    -------
    DeviceArray
        A new array, of the shape and dtype of `x`.

    Examples
    --------
    >>> import clarray
    >>> clarray.fft.ifftshift([-2, -1, 0, 1, 2]).tolist()
    [0, 1, 2, -2, -1]
    """
    return _shift(x, axes, -1)


def _shift(x: Any, axes: Any, sign: int) -> DeviceArray:
    array = as_array(x)
    if axes is None:
        axes = range(array.ndim)
    shifted_axes = (axes,) if isinstance(axes, int | np.integer) else tuple(axes)
    return roll(array, tuple(sign * (array.shape[axis] // 2) for axis in shifted_axes), shifted_axes)
