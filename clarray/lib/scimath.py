"""Functions whose result is complex where a real one does not exist: ``numpy.emath``.

Whether one does depends on the values, so each call waits for its operand.
"""

from __future__ import annotations

import sys as _sys
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.creation import operand_array
from clarray._core.device_array import DeviceArray
from clarray._core.host_fallback import serve_host_dtypes as _serve_host_dtypes

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]

_SINGLE = {np.dtype(character) for character in "bBhHf"}  # what NumPy makes complex64


def _in_domain(x: Any, low: float, high: float | None = None) -> DeviceArray:
    """An array, made complex where it has values outside of the real function's domain."""
    array = operand_array(x)
    if array.dtype.kind == "c":
        return array
    outside = array < low if high is None else (array < low) | (array > high)
    if not bool(outside.any()):
        return array
    return array.astype(np.complex64 if array.dtype in _SINGLE else np.complex128)


def _call(ufunc: np.ufunc, *operands: Any) -> DeviceArray:
    return ufunc_calls.call(ufunc, operands)


def sqrt(x: Any) -> DeviceArray:
    """Square root, complex where a value is negative.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.emath.sqrt(-4.0).imag)
    2.0
    """
    return _call(np.sqrt, _in_domain(x, 0))


def log(x: Any) -> DeviceArray:
    """Natural logarithm, complex where a value is negative."""
    return _call(np.log, _in_domain(x, 0))


def log10(x: Any) -> DeviceArray:
    """Logarithm to base 10, complex where a value is negative."""
    return _call(np.log10, _in_domain(x, 0))


def log2(x: Any) -> DeviceArray:
    """Logarithm to base 2, complex where a value is negative."""
    return _call(np.log2, _in_domain(x, 0))


def logn(n: Any, x: Any) -> DeviceArray:
    """Logarithm of `x` to base `n`, complex where one of them is negative; see `numpy.lib.scimath.logn`."""
    return log(x) / log(n)


def power(x: Any, p: Any) -> DeviceArray:
    """Powers, complex where `x` is negative; see `numpy.lib.scimath.power`.

    Integers to negative powers are floats.
    """
    base = _in_domain(x, 0)
    exponent = operand_array(p)
    if exponent.dtype.kind in "iu" and bool((exponent < 0).any()):
        exponent = exponent * 1.0
    return _call(np.power, base, exponent)


def arccos(x: Any) -> DeviceArray:
    """Inverse cosine, complex where a value's magnitude exceeds one."""
    return _call(np.arccos, _in_domain(x, -1, 1))


def arcsin(x: Any) -> DeviceArray:
    """Inverse sine, complex where a value's magnitude exceeds one."""
    return _call(np.arcsin, _in_domain(x, -1, 1))


def arctanh(x: Any) -> DeviceArray:
    """Inverse hyperbolic tangent, complex where a value's magnitude exceeds one."""
    return _call(np.arctanh, _in_domain(x, -1, 1))


_serve_host_dtypes(_sys.modules[__name__], np.lib.scimath, __all__)
