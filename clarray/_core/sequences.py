"""Arrays of lists of device arrays, such as ``array([x[1], -x[0]])``, joined on the device.

Without this module, each device array would be copied to the host and back, which waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, new_leaf, upload
from clarray._core.operands import PYTHON_SCALARS, scalar_node
from clarray._core.views import view_at
from clarray._engine.algorithms import launchers
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.node import Node
from clarray._engine.expr.view import contiguous
from clarray._engine.runtime import Device
from clarray._engine.speedups import captured

__all__ = ["MAX_NDIM", "check_depth", "holds_arrays", "join_sequence"]

_SEQUENCES = (list, tuple)
_OURS = PYTHON_SCALARS | {DeviceArray}
_MAX_SEARCHED = 64  # length of sequences that are searched for device arrays
MAX_NDIM = 64  # NumPy's
_INT64 = range(-(1 << 63), 1 << 63)


def holds_arrays(values: Any) -> bool:
    """Return whether a sequence, or the first sequence in it, holds device arrays."""
    for _ in range(MAX_NDIM):
        if type(values) not in _SEQUENCES or not values:
            break
        if len(values) <= _MAX_SEARCHED and DeviceArray in map(type, values):
            return True
        values = values[0]
    return type(values) is DeviceArray


def join_sequence(values: Any, dtype: Any, device: Device) -> DeviceArray | None:
    """Make an array of nested sequences, or return None if NumPy must convert them.

    Parameters
    ----------
    values : list or tuple
        Nested sequences of arrays of one shape on `device`. 0-d arrays may be mixed with Python numbers.
    dtype : dtype, optional
        Dtype of the result. By default, NumPy's promotion of all members.
    """
    flattened = _flatten(values)
    if flattened is None:
        return None
    parts, outer_shape = flattened
    types = set(map(type, parts))
    arrays = [part for part in parts if type(part) is DeviceArray]
    if not types <= _OURS or len({part.shape for part in arrays}) != 1 or any(x.device is not device for x in arrays):
        return None
    shape = arrays[0].shape
    if len(types) > 1 and (shape or dtype is not None or any(type(x) is int and x not in _INT64 for x in parts)):
        return None
    scalar_dtypes = [np.dtype(kind) for kind in types if kind is not DeviceArray]
    source_dtype = np.result_type(*{x.dtype for x in arrays}, *scalar_dtypes)
    target_dtype = device_dtype(source_dtype if dtype is None else dtype, device)
    is_safe = np.can_cast(source_dtype, target_dtype, "same_kind")
    if is_safe and (shape or not device.capabilities.host_memory):
        return _join(tuple(parts), outer_shape + shape, target_dtype)
    if shape or (source_dtype.kind == "f" and target_dtype.kind == "i"):  # NumPy raises for numbers that are too large
        return None
    host = np.array([part.item() if type(part) is DeviceArray else part for part in parts], source_dtype)
    return wrap(upload(host.reshape(outer_shape).astype(target_dtype, copy=False), target_dtype, device))


def _flatten(values: Any) -> tuple[list[Any], tuple[int, ...]] | None:
    """Return the members of nested sequences in C order, and the lengths. None for sequences of unequal lengths."""
    lengths = [len(values)]
    while values and type(values[0]) in _SEQUENCES:
        length = len(values[0])
        if any(type(member) not in _SEQUENCES or len(member) != length for member in values):
            return None
        lengths.append(length)
        values = [member for inner in values for member in inner]
    return list(values), tuple(lengths)


@captured
def _join(parts: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
    """Write the parts to a new array, in one launch if that is faster."""
    device = ufunc_calls.device_of_operands(parts)
    joined = wrap(new_leaf(device, shape, dtype))
    nodes = [part._node if type(part) is DeviceArray else scalar_node(part, dtype) for part in parts]
    size = prod(shape) // len(parts)
    in_one_launch = launchers.join.is_worth_joining(device, 1, [size] * len(parts), dtype.itemsize) if size else False
    if in_one_launch and all(_is_joinable(node, dtype) for node in nodes):
        launchers.join.join(nodes, 1, joined._node)
    elif size:
        inner = shape[len(shape) - len(nodes[0].shape) :]
        for position, node in enumerate(nodes):
            ufunc_calls.assign(view_at(joined, inner, contiguous(inner), position * size), node)
    return joined


def _is_joinable(node: Node, dtype: np.dtype) -> bool:
    return node.memory is not None and node.contiguous and node.dtype == dtype


def check_depth(a: Any, ndim: int, ndmin: int, ndmax: Any) -> None:
    """Raise ValueError unless `ndmax` is in range and sequences that became an array are nested no deeper."""
    if not 0 <= c_integer(ndmax, 32) <= MAX_NDIM:
        raise ValueError(f"ndmax must be in the range [0, NPY_MAXDIMS ({MAX_NDIM})]")
    if ndmin > ndmax:
        raise ValueError(f"ndmin must be <= ndmax ({ndmax})")
    if ndim > ndmax and isinstance(a, Sequence):
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the maximum number of "
            f"dimension of {ndmax}."
        )
