"""Compute roots, logarithms, powers and inverse trigonometric functions, as in ``numpy.emath``.

The result is complex if a real result does not exist, as for the square root of -1.
The dtype of the result depends on the values of the operand, so each call waits until these values are computed.
"""

from __future__ import annotations

import sys as _sys
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import operand_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_fallback import add_host_fallbacks as _add_host_fallbacks
from clarray._engine.speedups import captured_growth

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]

_SINGLE = {np.dtype(character) for character in "bBhHf"}  # NumPy converts these to complex64


def _in_domain(x: Any, low: float, high: float | None = None) -> DeviceArray:
    """Convert an operand to a complex array if it has values outside of the real function's domain."""
    array = operand_array(x)
    if array.dtype.kind == "c":
        return array
    outside = array < low if high is None else (array < low) | (array > high)
    if not bool(outside.any()):
        return array
    return array.astype(np.complex64 if array.dtype in _SINGLE else np.complex128)


def _call(ufunc: np.ufunc, *operands: Any) -> DeviceArray:
    return ufunc_calls.call(ufunc, operands)


@captured_growth(operands=1)
def sqrt(x: Any) -> DeviceArray:
    """Return the square root, complex if a value is negative.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.sqrt([4.0, -4.0]).tolist()
    [(2+0j), 2j]
    """
    return _call(np.sqrt, _in_domain(x, 0))


@captured_growth(operands=1)
def log(x: Any) -> DeviceArray:
    """Return the natural logarithm, complex if a value is negative.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.log([1.0, -1.0]).imag.round(6).tolist()
    [0.0, 3.141593]
    """
    return _call(np.log, _in_domain(x, 0))


@captured_growth(operands=1)
def log10(x: Any) -> DeviceArray:
    """Return the logarithm to base 10, complex if a value is negative.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.log10([100.0, -100.0]).real.round(6).tolist()
    [2.0, 2.0]
    """
    return _call(np.log10, _in_domain(x, 0))


@captured_growth(operands=1)
def log2(x: Any) -> DeviceArray:
    """Return the logarithm to base 2, complex if a value is negative.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.log2([8.0, -8.0]).real.round(6).tolist()
    [3.0, 3.0]
    """
    return _call(np.log2, _in_domain(x, 0))


@captured_growth(operands=2)
def logn(n: Any, x: Any) -> DeviceArray:
    """Return the logarithm of `x` to base `n`, complex if a value of either is negative.

    Parameters
    ----------
    n : array_like
        The base, broadcast against `x`.
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for both operands, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.logn(3.0, [9.0, 27.0]).round(6).tolist()
    [2.0, 3.0]
    """
    return log(x) / log(n)


@captured_growth(operands=2)
def power(x: Any, p: Any) -> DeviceArray:
    """Return `x` to the power `p`, complex if a value of `x` is negative.

    Integers to negative powers give floats.

    Parameters
    ----------
    x : array_like
    p : array_like
        The exponent, broadcast against `x`.

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real `x` and for integers `p` the call waits for the operand, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.power([2, 4], -1).tolist()
    [0.5, 0.25]
    """
    base = _in_domain(x, 0)
    exponent = operand_array(p)
    if exponent.dtype.kind in "iu" and bool((exponent < 0).any()):
        exponent = exponent * 1.0
    return _call(np.power, base, exponent)


@captured_growth(operands=1)
def arccos(x: Any) -> DeviceArray:
    """Return the inverse cosine, complex if the magnitude of a value exceeds one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.arccos([-1.0, 0.0]).round(6).tolist()
    [3.141593, 1.570796]
    >>> clarray.emath.arccos([2.0]).dtype
    dtype('complex128')
    """
    return _call(np.arccos, _in_domain(x, -1, 1))


@captured_growth(operands=1)
def arcsin(x: Any) -> DeviceArray:
    """Return the inverse sine, complex if the magnitude of a value exceeds one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.arcsin([0.0, 1.0]).round(6).tolist()
    [0.0, 1.570796]
    >>> clarray.emath.arcsin([2.0]).dtype
    dtype('complex128')
    """
    return _call(np.arcsin, _in_domain(x, -1, 1))


@captured_growth(operands=1)
def arctanh(x: Any) -> DeviceArray:
    """Return the inverse hyperbolic tangent, complex if the magnitude of a value exceeds one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    DeviceArray

    Notes
    -----
    For real numbers the call waits for `x`, whose values decide the dtype of the result.

    Examples
    --------
    >>> import clarray
    >>> clarray.emath.arctanh([0.0, 0.5]).round(6).tolist()
    [0.0, 0.549306]
    >>> clarray.emath.arctanh([2.0]).dtype
    dtype('complex128')
    """
    return _call(np.arctanh, _in_domain(x, -1, 1))


_add_host_fallbacks(_sys.modules[__name__], np.lib.scimath, __all__)
