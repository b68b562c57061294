"""What users pass beside arrays: scalars, NumPy arrays, lists, made into expression nodes."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from operator import is_
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, is_number, wrap
from clarray._core.host_data import SMALL, data_dtype, share, small_copy, upload
from clarray._engine.expr.node import Node, constant
from clarray._engine.ops.dtypes import DTYPES, HostOnly
from clarray._engine.runtime import Device, current_device

LARGE = float(np.finfo(np.float32).max)  # what is below is finite in float32
_WHOLE = 2 ** (1 + min(row.mantissa for row in DTYPES.values() if row.kind == "f"))  # exact in every float dtype

RANGES = {d: (np.iinfo(d).min, np.iinfo(d).max) for d in DTYPES if d.kind in "iu"}

NO_MASKS = "clarray has no masked arrays: give it the elements, as filled() or compressed() does, or use numpy.ma"

NO_SUBCLASS = "clarray has no arrays of {}: give it a plain array, as numpy.asarray does"

PYTHON_SCALARS = frozenset((bool, int, float, complex))
STRONG = {dtype.type: row.dtype for dtype, row in DTYPES.items()}  # NumPy's scalars, which have a dtype that counts


def scalar_value(value: Any, dtype: np.dtype) -> Any:
    """A host scalar in the form kernels take for `dtype`: a plain Python number, rounded.

    Raises
    ------
    OverflowError
        A Python int that the integer dtype cannot hold, with NumPy's message.
    """
    kind = dtype.kind
    if kind == "f":
        size = dtype.itemsize
        given = type(value)
        if given is float and (size == 8 or (size == 4 and -LARGE < value < LARGE)):
            return value  # passing it to the kernel rounds it
        if given is int and -_WHOLE <= value <= _WHOLE:
            return float(value)
        with np.errstate(over="ignore"):
            return float(dtype.type(value))
    if kind in "iu":
        if type(value) is int:
            low, high = RANGES[dtype]
            if not low <= value <= high:
                raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")
            return value
        return int(dtype.type(value))
    if kind == "b":
        return 1 if value else 0
    if kind == "c":
        return complex(dtype.type(value))
    return float(dtype.type(value))  # a float that NumPy has no kind for


def scalar_node(value: Any, dtype: np.dtype) -> Node:
    """A host scalar as a constant of `dtype`."""
    return constant(scalar_value(value, dtype), dtype)


def refuse_subclass(value: Any) -> None:
    """Raise HostOnly for an ndarray of a subclass: NumPy's functions keep the class, and with it perhaps a mask."""
    kind = type(value)
    if kind is not np.ndarray and isinstance(value, np.ndarray) and manner_of(kind) is Manner.KEPT:
        raise HostOnly(NO_MASKS if isinstance(value, np.ma.MaskedArray) else NO_SUBCLASS.format(kind), value.dtype)


def has_pythons_bits(value: Any) -> bool:
    """Return whether a Python number holds a scalar with all its bits; a signalling NaN would become a quiet one."""
    return value == value or isinstance(value, float | complex)


def array_node(value: Any, device: Device) -> Node:
    """Anything NumPy understands, on the device: large ndarrays are shared where that is possible.

    NumPy scalars and 0-d arrays become constants: they cannot change. A small ndarray is copied, which takes less time.
    """
    refuse_subclass(value)
    array = host_array(value)
    if isinstance(array, DeviceArray):
        node: Node = array._node
        return node
    dtype = data_dtype(array.dtype, device)
    if array.ndim == 0:
        number = array[()]
        return scalar_node(number, dtype) if has_pythons_bits(number) else upload(array, dtype, device)
    shared = share(array, device) if isinstance(value, np.ndarray) and array.nbytes > SMALL else None
    return shared if shared is not None else upload(array, dtype, device)


def operand_from_host(value: Any, beside: DeviceArray | None) -> Any:
    """Return an ndarray or list of numbers as an operand on the device of another one; None for anything else.

    A small ndarray is copied: that is faster than sharing its memory. So the result may only be read. An array of no
    axes becomes a scalar: NumPy's scalars hand themselves over as such arrays when they compare, as in
    ``numpy.float64(2) > x``.
    """
    if type(value) is not np.ndarray:
        # an integer repeats a list
        if type(value) not in (list, tuple) or (beside is not None and is_number(beside)) or not _are_numbers(value):
            return None
        value = np.array(value)
    if value.dtype not in DTYPES:
        return None
    if not value.ndim:
        return value[()]
    device = current_device() if beside is None else beside.device
    copied = small_copy(value, DTYPES[value.dtype].dtype, device)
    return wrap(array_node(value, device)) if copied is None else copied


def on_device(value: Any, beside: DeviceArray | None) -> Any:
    """Return an operand as a device array if `operand_from_host` makes one of it, and unchanged otherwise."""
    converted = value if isinstance(value, DeviceArray) else operand_from_host(value, beside)
    return converted if isinstance(converted, DeviceArray) else value


def _are_numbers(values: Any, depth: int = 0) -> bool:
    """Return whether nested lists of one length at each depth hold nothing but numbers of Python's."""
    if not values or depth > _DEEPEST:
        return False
    if type(values[0]) in (list, tuple):
        extent = len(values[0])
        return all(
            type(each) in (list, tuple) and len(each) == extent and _are_numbers(each, depth + 1) for each in values
        )
    return PYTHON_SCALARS.issuperset(map(type, values))


_DEEPEST = 64  # NumPy's limit of dimensions: a list may hold itself


def host_array(value: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray | DeviceArray:
    """What `numpy.asarray` makes of a value, or the array of clarray's that its ``__array__`` gives.

    NumPy takes no other library's arrays there; a class that makes all its arrays with clarray gives them.
    """
    try:
        return np.asarray(value, dtype, copy=copy)
    except ValueError:
        given = value.__array__() if hasattr(value, "__array__") else None
        if isinstance(given, DeviceArray):
            return given
        values = _with_host_values(value)  # NumPy takes no device array beside a text in a list
        if values is value:
            raise
        return np.asarray(values, dtype, copy=copy)


def _with_host_values(value: Any, depth: int = 0) -> Any:
    """Replace the device arrays in nested lists by ndarrays and NumPy's scalars; return what holds none as it is."""
    if isinstance(value, DeviceArray):
        return value.get()[()]
    if type(value) not in (list, tuple) or depth > _DEEPEST:
        return value
    values = [_with_host_values(each, depth + 1) for each in value]
    return value if all(map(is_, values, value)) else values


_ABSENT = object()


def weak_type(value: Any) -> type | None:
    """The Python type of a weak scalar (NEP 50), or None."""
    kind = type(value)
    return kind if kind in PYTHON_SCALARS else None


def first_device_array(value: Any) -> DeviceArray | None:
    """Return a value that is a device array, or the first one in tuples, lists and dicts; None if there is none."""
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if not isinstance(value, tuple | list):
        return None
    return next((array for array in map(first_device_array, value) if array is not None), None)


# Operands of other libraries -----------------------------------------------------------------------


class Manner(Enum):
    """What an operand's type asks of NumPy: who computes an operation in which it takes part (NEP 13)."""

    PLAIN = "it is converted, as whatever NumPy understands"
    ASKED = "it has an __array_ufunc__ of its own"
    REFUSES = "its __array_ufunc__ is None: operators are its own, ufuncs are not for it"
    OUTRANKS = "its __array_priority__ is higher: operators are its own"
    KEPT = "a subclass of NumPy's array, which would lose its class, and with it perhaps a mask or a unit"


def _manner_of(kind: type) -> Manner:
    """Tell what NumPy's arrays would do with an operand of a type, were one in the place of a DeviceArray."""
    method = getattr(kind, "__array_ufunc__", _ABSENT)
    if method is None:
        return Manner.REFUSES
    if issubclass(kind, DeviceArray):
        return Manner.PLAIN if method is DeviceArray.__array_ufunc__ else Manner.ASKED
    if issubclass(kind, np.ndarray) and method is np.ndarray.__array_ufunc__:
        return Manner.PLAIN if kind in (np.ndarray, np.memmap) else Manner.KEPT
    if method is not _ABSENT:
        return Manner.ASKED
    rank = getattr(kind, "__array_priority__", 0)
    if not isinstance(rank, int | float):
        return Manner.PLAIN
    # what NumPy cannot convert has to compute it itself, wherever it ranks above NumPy's arrays
    known = any(hasattr(kind, name) for name in ("__array__", "__array_interface__", "__array_struct__"))
    return Manner.OUTRANKS if rank > (DeviceArray.__array_priority__ if known else 0) else Manner.PLAIN


# By assignment, since mypy takes no class for hashable where the cache is a decorator.
manner_of: Callable[[Any], Manner] = lru_cache(maxsize=1024)(_manner_of)

__all__ = [
    "NO_MASKS",
    "DeviceArray",
    "Manner",
    "array_node",
    "host_array",
    "manner_of",
    "on_device",
    "operand_from_host",
    "scalar_node",
    "scalar_value",
    "weak_type",
]
