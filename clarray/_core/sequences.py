"""Arrays of lists that hold device arrays, as ``array([x[1], -x[0]])``: put together where they are.

By way of the host each of them would be waited for, copied there and back.
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
from clarray._engine.speedups import recorded

__all__ = ["MAX_NDIM", "check_depth", "holds_arrays", "put_together"]

_SEQUENCES = (list, tuple)
_OURS = PYTHON_SCALARS | {DeviceArray}
_FEW = 64  # values of a sequence that are looked at, where the first is no array
MAX_NDIM = 64  # NumPy's
_INT64 = range(-(1 << 63), 1 << 63)


def holds_arrays(values: Any) -> bool:
    """Whether there are device arrays among the first values of a sequence, or of the first sequence in it."""
    for _ in range(MAX_NDIM):
        if type(values) not in _SEQUENCES or not values:
            break
        if len(values) <= _FEW and DeviceArray in map(type, values):
            return True
        values = values[0]
    return type(values) is DeviceArray


def put_together(values: Any, dtype: Any, device: Device) -> DeviceArray | None:
    """Make an array of nested sequences; None where NumPy has to look at them.

    Parameters
    ----------
    values : list or tuple
        Of arrays of one shape on `device`; of arrays without axes also beside Python's numbers.
    dtype : dtype, optional
        The result's, else NumPy's promotion of all.
    """
    found = _flat(values)
    if found is None:
        return None
    parts, outer = found
    kinds = set(map(type, parts))
    arrays = [part for part in parts if type(part) is DeviceArray]
    if not kinds <= _OURS or len({part.shape for part in arrays}) != 1 or any(x.device is not device for x in arrays):
        return None
    shape = arrays[0].shape
    if len(kinds) > 1 and (shape or dtype is not None or any(type(x) is int and x not in _INT64 for x in parts)):
        return None
    numbers = [np.dtype(kind) for kind in kinds if kind is not DeviceArray]
    given = np.result_type(*{x.dtype for x in arrays}, *numbers)
    wanted = device_dtype(given if dtype is None else dtype, device)
    alike = np.can_cast(given, wanted, "same_kind")
    if alike and (shape or not device.capabilities.host_memory):
        return _joined(tuple(parts), outer + shape, wanted)
    if shape or (given.kind == "f" and wanted.kind == "i"):  # of numbers NumPy refuses those that are too large
        return None
    host = np.array([part.item() if type(part) is DeviceArray else part for part in parts], given)
    return wrap(upload(host.reshape(outer).astype(wanted, copy=False), wanted, device))


def _flat(values: Any) -> tuple[list[Any], tuple[int, ...]] | None:
    """What nested sequences of equal lengths hold, in C order, and the lengths; None of any others."""
    lengths = [len(values)]
    while values and type(values[0]) in _SEQUENCES:
        length = len(values[0])
        if any(type(one) not in _SEQUENCES or len(one) != length for one in values):
            return None
        lengths.append(length)
        values = [one for inner in values for one in inner]
    return list(values), tuple(lengths)


@recorded
def _joined(parts: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
    """Write each part to its place in a new array, all in one launch where that is worth it."""
    device = ufunc_calls.device_of_operands(parts)
    made = wrap(new_leaf(device, shape, dtype))
    nodes = [part._node if type(part) is DeviceArray else scalar_node(part, dtype) for part in parts]
    size = prod(shape) // len(parts)
    worth = launchers.join.is_worth_joining(device, 1, [size] * len(parts), dtype.itemsize) if size else False
    if worth and all(_is_plain(node, dtype) for node in nodes):
        launchers.join.join(nodes, 1, made._node)
    elif size:
        inner = shape[len(shape) - len(nodes[0].shape) :]
        for number, node in enumerate(nodes):
            ufunc_calls.assign(view_at(made, inner, contiguous(inner), number * size), node)
    return made


def _is_plain(node: Node, dtype: np.dtype) -> bool:
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
