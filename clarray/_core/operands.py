"""Conversion of other operands to nodes: scalars, NumPy arrays and lists."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from operator import is_
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, is_scalar, wrap
from clarray._core.host_data import SMALL, data_dtype, share, small_copy, upload
from clarray._engine.expr.node import Node, constant
from clarray._engine.ops.dtypes import DTYPES, HostOnly
from clarray._engine.runtime import Device, current_device

LARGE = float(np.finfo(np.float32).max)  # smaller numbers are finite in float32
_EXACT_INTEGERS = 2 ** (
    1 + min(row.mantissa for row in DTYPES.values() if row.kind == "f")
)  # exact in every float dtype

RANGES = {d: (np.iinfo(d).min, np.iinfo(d).max) for d in DTYPES if d.kind in "iu"}

NO_MASKED_ARRAYS = (
    "clarray has no masked arrays: give it the elements, as filled() or compressed() does, or use numpy.ma"
)

NO_SUBCLASS = "clarray has no arrays of {}: give it a plain array, as numpy.asarray does"

PYTHON_SCALARS = frozenset((bool, int, float, complex))
# NumPy's scalar types, whose dtype takes part in promotion.
STRONG = {dtype.type: row.dtype for dtype, row in DTYPES.items()}


def scalar_value(number: Any, dtype: np.dtype) -> Any:
    """Return a host scalar as the Python number that kernels expect for `dtype`, rounded to it.

    Raises
    ------
    OverflowError
        The integer dtype cannot hold a Python int. The message is NumPy's.
    """
    kind = dtype.kind
    if kind == "f":
        size = dtype.itemsize
        number_type = type(number)
        if number_type is float and (size == 8 or (size == 4 and -LARGE < number < LARGE)):
            return number  # passing it to the kernel rounds it
        if number_type is int and -_EXACT_INTEGERS <= number <= _EXACT_INTEGERS:
            return float(number)
        with np.errstate(over="ignore"):
            return float(dtype.type(number))
    if kind in "iu":
        if type(number) is int:
            low, high = RANGES[dtype]
            if not low <= number <= high:
                raise OverflowError(f"Python integer {number} out of bounds for {dtype.name}")
            return number
        return int(dtype.type(number))
    if kind == "b":
        return 1 if number else 0
    if kind == "c":
        return complex(dtype.type(number))
    return float(dtype.type(number))  # a float without a kind in NumPy


def scalar_node(number: Any, dtype: np.dtype) -> Node:
    """Return a host scalar as a constant node of `dtype`."""
    return constant(scalar_value(number, dtype), dtype)


def refuse_subclass(operand: Any) -> None:
    """Raise HostOnly for an ndarray of a subclass: NumPy's functions preserve the class, and perhaps a mask."""
    operand_type = type(operand)
    if (
        operand_type is not np.ndarray
        and isinstance(operand, np.ndarray)
        and operand_protocol(operand_type) is OperandProtocol.SUBCLASS
    ):
        raise HostOnly(
            NO_MASKED_ARRAYS if isinstance(operand, np.ma.MaskedArray) else NO_SUBCLASS.format(operand_type),
            operand.dtype,
        )


def is_exact_in_python(scalar: Any) -> bool:
    """Return whether a Python number holds all bits of a scalar. A signalling NaN would become quiet."""
    return scalar == scalar or isinstance(scalar, float | complex)


def array_node(operand: Any, device: Device) -> Node:
    """Convert an array-like to a node on the device. Large ndarrays are shared if possible.

    NumPy scalars and 0-d arrays become constants, since they cannot change. A small ndarray is copied, which is faster.
    """
    refuse_subclass(operand)
    array = host_array(operand)
    if isinstance(array, DeviceArray):
        node: Node = array._node
        return node
    dtype = data_dtype(array.dtype, device)
    if array.ndim == 0:
        scalar = array[()]
        return scalar_node(scalar, dtype) if is_exact_in_python(scalar) else upload(array, dtype, device)
    shared_leaf = share(array, device) if isinstance(operand, np.ndarray) and array.nbytes > SMALL else None
    return shared_leaf if shared_leaf is not None else upload(array, dtype, device)


def operand_from_host(value: Any, other: DeviceArray | None) -> Any:
    """Convert an ndarray or a list of numbers to an operand on the other operand's device. None for other objects.

    A small ndarray is copied, which is faster than sharing its memory, so callers may only read the result. A 0-d
    array becomes a scalar: NumPy's scalars pass themselves as 0-d arrays in comparisons, as in ``np.float64(2) > x``.
    """
    if type(value) is not np.ndarray:
        # a scalar of integers repeats a list
        if (
            type(value) not in (list, tuple)
            or (other is not None and is_scalar(other))
            or not _are_python_numbers(value)
        ):
            return None
        value = np.array(value)
    if value.dtype not in DTYPES:
        return None
    if not value.ndim:
        return value[()]
    device = current_device() if other is None else other.device
    direct_copy = small_copy(value, DTYPES[value.dtype].dtype, device)
    return wrap(array_node(value, device)) if direct_copy is None else direct_copy


def on_device(value: Any, other: DeviceArray | None) -> Any:
    """Return an operand as a device array if `operand_from_host` converts it to one, else unchanged."""
    converted = value if isinstance(value, DeviceArray) else operand_from_host(value, other)
    return converted if isinstance(converted, DeviceArray) else value


def _are_python_numbers(values: Any, depth: int = 0) -> bool:
    """Return whether nested lists hold only Python numbers and have one length at each depth."""
    if not values or depth > _MAX_DEPTH:
        return False
    if type(values[0]) in (list, tuple):
        extent = len(values[0])
        return all(
            type(member) in (list, tuple) and len(member) == extent and _are_python_numbers(member, depth + 1)
            for member in values
        )
    return PYTHON_SCALARS.issuperset(map(type, values))


_MAX_DEPTH = 64  # NumPy's limit of dimensions, which also ends a list that holds itself


def host_array(value: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray | DeviceArray:
    """Return `numpy.asarray` of a value, or the device array that its ``__array__`` returns.

    NumPy raises ValueError if ``__array__`` returns an array of another library. A class that uses clarray for all its
    arrays does so.
    """
    try:
        return np.asarray(value, dtype, copy=copy)
    except ValueError:
        own_array = value.__array__() if hasattr(value, "__array__") else None
        if isinstance(own_array, DeviceArray):
            return own_array
        with_host_values = _fetch_device_arrays(value)  # NumPy refuses a device array and a text in one list
        if with_host_values is value:
            raise
        return np.asarray(with_host_values, dtype, copy=copy)


def _fetch_device_arrays(value: Any, depth: int = 0) -> Any:
    """Replace device arrays in nested lists by ndarrays and NumPy scalars. Return the same object if it has none."""
    if isinstance(value, DeviceArray):
        return value.get()[()]
    if type(value) not in (list, tuple) or depth > _MAX_DEPTH:
        return value
    fetched = [_fetch_device_arrays(member, depth + 1) for member in value]
    return value if all(map(is_, fetched, value)) else fetched


_ABSENT = object()


def weak_type(operand: Any) -> type | None:
    """Return the Python type of a weak scalar (NEP 50), or None for other operands."""
    kind = type(operand)
    return kind if kind in PYTHON_SCALARS else None


def first_device_array(value: Any) -> DeviceArray | None:
    """Return the first device array in nested tuples, lists and dicts, or None."""
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if not isinstance(value, tuple | list):
        return None
    return next((array for array in map(first_device_array, value) if array is not None), None)


# Operands of other libraries -----------------------------------------------------------------------


class OperandProtocol(Enum):
    """The protocol by which an operand of another library's type takes part in an operation (NEP 13)."""

    CONVERT = "it is converted by numpy.asarray"
    OVERRIDES = "its __array_ufunc__ computes operators and ufuncs"
    OPTS_OUT = "its __array_ufunc__ is None: it computes operators, and ufuncs raise TypeError"
    HIGHER_PRIORITY = "its __array_priority__ is higher: it computes operators"
    SUBCLASS = "it is a subclass of numpy.ndarray: a conversion would lose its class, and perhaps a mask or a unit"


def _find_protocol(kind: type) -> OperandProtocol:
    """Return the protocol that NumPy's arrays follow for an operand of a type, with DeviceArray in place of ndarray."""
    method = getattr(kind, "__array_ufunc__", _ABSENT)
    if method is None:
        return OperandProtocol.OPTS_OUT
    if issubclass(kind, DeviceArray):
        return OperandProtocol.CONVERT if method is DeviceArray.__array_ufunc__ else OperandProtocol.OVERRIDES
    if issubclass(kind, np.ndarray) and method is np.ndarray.__array_ufunc__:
        return OperandProtocol.CONVERT if kind in (np.ndarray, np.memmap) else OperandProtocol.SUBCLASS
    if method is not _ABSENT:
        return OperandProtocol.OVERRIDES
    priority = getattr(kind, "__array_priority__", 0)
    if not isinstance(priority, int | float):
        return OperandProtocol.CONVERT
    # an object that NumPy cannot convert computes the operation itself if its priority is above ndarray's
    is_convertible = any(hasattr(kind, name) for name in ("__array__", "__array_interface__", "__array_struct__"))
    return (
        OperandProtocol.HIGHER_PRIORITY
        if priority > (DeviceArray.__array_priority__ if is_convertible else 0)
        else OperandProtocol.CONVERT
    )


# An assignment, because mypy does not accept a class as hashable for a cache that is a decorator.
operand_protocol: Callable[[Any], OperandProtocol] = lru_cache(maxsize=1024)(_find_protocol)

__all__ = [
    "NO_MASKED_ARRAYS",
    "DeviceArray",
    "OperandProtocol",
    "array_node",
    "host_array",
    "operand_protocol",
    "on_device",
    "operand_from_host",
    "scalar_node",
    "scalar_value",
    "weak_type",
]
