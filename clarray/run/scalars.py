"""Give NumPy's scalars for numbers that clarray would leave pending, as C code takes no others.

A reduction to one number is computed when it is called, and the user's code gets ``numpy.float64`` and the like.
clarray's own modules still get the pending number, which becomes part of the kernel that uses it.
"""

from __future__ import annotations

from typing import Any

from clarray._core.conversion import asnumpy, numpy_scalar
from clarray._core.device_array import DeviceArray, is_number
from clarray._core.fallback import mapped
from clarray._engine.expr.node import MASKED

__all__ = ["as_host_number", "as_ndarrays", "finished"]


def as_host_number(value: Any) -> Any:
    """Return NumPy's scalar for a pending number, alone or in a tuple or list; anything else as it is."""
    if type(value) is DeviceArray:
        return numpy_scalar(value._node) if value.__class__ is not DeviceArray and is_number(value) else value
    return mapped(as_host_number, value)


def as_ndarrays(value: Any) -> Any:
    """Return an ndarray for an array, alone or in a tuple or list; anything else as it is."""
    return asnumpy(value) if isinstance(value, DeviceArray) else mapped(as_ndarrays, value)


def finished(value: Any, given: tuple[Any, ...]) -> Any:
    """Return a function's result as the program gets it: numbers as NumPy's scalars, a new 0-d array as NumPy's own.

    NumPy's 0-d array gives scalars at once. A view, and what the function was given itself, stay on the device.
    """
    if type(value) is not DeviceArray or value.__class__ is not DeviceArray:
        return as_host_number(value)
    node = value._node
    if node.flags & MASKED or node.shape or value._base is not None or any(value is one for one in given):
        return value
    return asnumpy(value)
