"""Windows that taper a signal towards its ends, and `sinc` and `i0`, which signal processing uses with them.

A window is a pending expression of the positions, which fuses into the kernel that reads it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clarray._core.composing import apply_ufunc, where
from clarray._core.creation import as_array, empty, ones
from clarray._core.device_array import DeviceArray, mark_0d_array
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import cast, evaluate_if_eager
from clarray._engine.expr import build
from clarray._engine.ops.special import i0_loop
from clarray._engine.speedups import captured_growth
from clarray._numpy.creation.sequences import arange

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser", "sinc"]

_FLOAT64 = np.dtype(np.float64)


def _as_floats(*values: Any) -> list[float]:
    """Convert parameters to floats, with NumPy's errors."""
    numbers = np.array([0.0, *values])
    if numbers.dtype.kind not in "fO":  # an integer beyond 64 bits makes an array of objects
        raise TypeError("a real number is required for each parameter of a window")
    numbers < 1  # noqa: B015 - NumPy's error for an object that is no number
    return numbers[1:].astype(float).tolist()


def _angles(M: float) -> DeviceArray:  # noqa: N803
    """Return `M` angles from -pi to pi."""
    angles: DeviceArray = arange(1 - M, M, 2) * math.pi / (M - 1)
    return angles


def _cosine_sum(M: Any, *weights: float) -> DeviceArray:  # noqa: N803
    """Return the sum of ``weights[k] * cos(k * angle)``."""
    (M,) = _as_floats(M)  # noqa: N806
    if M <= 1:
        return ones(1) if M == 1 else empty(0)
    angles = _angles(M)
    total: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        total = total + weight * np.cos(k * angles if k > 1 else angles)
    window: DeviceArray = total
    return window


def hanning(M: int) -> DeviceArray:  # noqa: N803 - NumPy's name
    """Return the Hann window: one period of a raised cosine, zero at both ends.

    Parameters
    ----------
    M : int
        Number of points. Below one the window is empty.

    Returns
    -------
    (M,) DeviceArray of float64

    Examples
    --------
    >>> import clarray
    >>> clarray.hanning(5).round(6).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _cosine_sum(M, 0.5, 0.5)


def hamming(M: int) -> DeviceArray:  # noqa: N803
    """Return the Hamming window: a raised cosine with the value 0.08 at both ends.

    Parameters
    ----------
    M : int
        Number of points. Below one the window is empty.

    Returns
    -------
    (M,) DeviceArray of float64

    Examples
    --------
    >>> import clarray
    >>> clarray.hamming(5).round(6).tolist()
    [0.08, 0.54, 1.0, 0.54, 0.08]
    """
    return _cosine_sum(M, 0.54, 0.46)


def blackman(M: int) -> DeviceArray:  # noqa: N803
    """Return the Blackman window: a sum of two cosines, close to zero at both ends.

    Parameters
    ----------
    M : int
        Number of points. Below one the window is empty.

    Returns
    -------
    (M,) DeviceArray of float64

    Examples
    --------
    >>> import clarray
    >>> clarray.blackman(5)[1:4].round(6).tolist()
    [0.34, 1.0, 0.34]
    """
    return _cosine_sum(M, 0.42, 0.5, 0.08)


def bartlett(M: float) -> DeviceArray:  # noqa: N803
    """Return the Bartlett window: a triangle, zero at both ends.

    Parameters
    ----------
    M : int
        Number of points. Below one the window is empty.

    Returns
    -------
    (M,) DeviceArray of float64

    Examples
    --------
    >>> import clarray
    >>> clarray.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    (M,) = _as_floats(M)  # noqa: N806
    if M <= 1:
        return ones(1) if M == 1 else empty(0)
    window: DeviceArray = 1 - abs(arange(1 - M, M, 2)) / (M - 1)
    return window


def kaiser(M: float, beta: float) -> DeviceArray:  # noqa: N803
    """Return the Kaiser window: ``i0(beta * sqrt(1 - r**2)) / i0(beta)`` for `r` from -1 to 1.

    Parameters
    ----------
    M : int
        Number of points. Below one the window is empty.
    beta : float
        Shape of the window: 0 gives a rectangle, and larger values give a narrower peak.

    Returns
    -------
    (M,) DeviceArray of float64

    Raises
    ------
    TypeError
        A parameter is a string or a complex number.

    Examples
    --------
    >>> import clarray
    >>> clarray.kaiser(5, 2.0).round(4).tolist()
    [0.4387, 0.8348, 1.0, 0.8348, 0.4387]
    """
    M, beta = _as_floats(M, beta)  # noqa: N806
    if M <= 1:
        return ones(1) if M == 1 else empty(0)
    middle = (M - 1) / 2
    offset = (arange(0, M) - middle) / middle
    window: DeviceArray = i0(beta * np.sqrt(1 - offset * offset)) / float(np.i0(beta))
    return window


@captured_growth(operands=1)
def i0(x: Any) -> DeviceArray:
    """Return the modified Bessel function of the first kind and order zero.

    Parameters
    ----------
    x : array_like
        Real numbers. Integers are computed in float64.

    Returns
    -------
    DeviceArray of float
        Has the same shape as `x`.

    Raises
    ------
    TypeError
        `x` is complex.

    Notes
    -----
    Float32 and float64 results are within 8 units in the last place. They overflow only if the exact value does.
    NumPy's results overflow as soon as ``exp(x)`` does.

    Examples
    --------
    >>> import clarray
    >>> clarray.i0([0.0, 1.0]).round(6).tolist()
    [1.0, 1.266066]
    """
    array = as_array(x)
    if array.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    dtype = array.dtype if array.dtype.kind == "f" else device_dtype(_FLOAT64, array.device)
    return mark_0d_array(evaluate_if_eager(build.nary(i0_loop(dtype), (cast(array._node, dtype),))))


@captured_growth(operands=1)
def sinc(x: Any) -> DeviceArray:
    """Return ``sin(pi * x) / (pi * x)`` for each element, and 1 at zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray
        Has the same shape as `x`. Float64 for integers.

    Examples
    --------
    >>> import clarray
    >>> clarray.sinc([0.0, 0.5]).round(6).tolist()
    [1.0, 0.63662]
    """
    node = as_array(x)._node
    angle = apply_ufunc(np.multiply, node, math.pi)
    tiny = float(np.finfo(angle.dtype).eps) if angle.dtype.kind == "f" else 1e-20
    angle = where(apply_ufunc(np.not_equal, angle, 0), angle, tiny)
    ratio: DeviceArray = evaluate_if_eager(apply_ufunc(np.true_divide, apply_ufunc(np.sin, angle), angle))
    return ratio
