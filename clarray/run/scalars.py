"""Convert pending numbers to NumPy's scalars, because C code accepts no others.

In the user's code, a reduction to a number is evaluated at once and returns ``numpy.float64`` or another scalar type.
clarray's own modules get the pending number, which fuses with the kernel that uses it.
"""

from __future__ import annotations

from typing import Any

from clarray._core.conversion import asnumpy, numpy_scalar
from clarray._core.device_array import DeviceArray, is_scalar
from clarray._core.fallback import map_sequence
from clarray._engine.expr.node import MASKED

__all__ = ["as_host_number", "as_ndarrays", "as_program_result"]


def as_host_number(value: Any) -> Any:
    """Convert a pending number to NumPy's scalar, alone or in a tuple or list. Return other values unchanged."""
    if type(value) is DeviceArray:
        return numpy_scalar(value._node) if value.__class__ is not DeviceArray and is_scalar(value) else value
    return map_sequence(as_host_number, value)


def as_ndarrays(value: Any) -> Any:
    """Convert a device array to an ndarray, alone or in a tuple or list. Return other values unchanged."""
    return asnumpy(value) if isinstance(value, DeviceArray) else map_sequence(as_ndarrays, value)


def as_program_result(value: Any, operands: tuple[Any, ...]) -> Any:
    """Convert a function's result for the program: a number to NumPy's scalar, a new 0-d array to NumPy's 0-d array.

    Operations on NumPy's 0-d array return scalars. Views and the operands themselves stay on the device.
    """
    if type(value) is not DeviceArray or value.__class__ is not DeviceArray:
        return as_host_number(value)
    node = value._node
    if node.flags & MASKED or node.shape or value._base is not None or any(value is operand for operand in operands):
        return value
    return asnumpy(value)
