"""Factorizations that the device does itself: of small matrices, a stack of them in one launch.

Each function gives None where NumPy's on the host is to do it: matrices that are too large, a device that works in host
memory and has few of them, and dtypes that NumPy refuses.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.ufunc_calls import cast, device_of_operands
from clarray._engine.algorithms.small_matrices.launch import factorize, takes_stack
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node
from clarray._engine.runtime import Device

__all__ = ["cholesky", "det", "inv", "slogdet", "solve"]

_REFUSED = ("e", "g", "G")  # by NumPy


def cholesky(a: Any, upper: bool) -> DeviceArray | None:
    """See `clarray.linalg.cholesky`."""
    found = _of_squares("cholesky", a, upper)
    return None if found is None else found[0]


def inv(a: Any) -> DeviceArray | None:
    """See `clarray.linalg.inv`."""
    found = _of_squares("inv", a)
    return None if found is None else found[0]


def det(a: Any) -> DeviceArray | None:
    """See `clarray.linalg.det`."""
    found = _of_squares("det", a)
    return None if found is None else found[0]


def slogdet(a: Any) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.slogdet`."""
    return _of_squares("slogdet", a)


def solve(a: Any, b: Any) -> DeviceArray | None:
    """See `clarray.linalg.solve`."""
    found = _shapes_and_dtype(a, b)
    if found is None:
        return None
    (shape, right), dtype = found
    vector = len(right) == 1
    columns = (*right, 1) if vector else right
    if not _is_square(shape) or len(columns) < 2 or columns[-2] != shape[-1]:
        return None
    try:
        stack = np.broadcast_shapes(shape[:-2], columns[:-2])
    except ValueError:
        return None
    device = device_of_operands((a, b))
    if not takes_stack(device, shape[-1], prod(stack)):
        return None
    dtype = device_dtype(dtype, device)
    if not prod(stack) * shape[-1]:
        return wrap(new_leaf(device, (*stack, *shape[-1:]) if vector else (*stack, shape[-1], columns[-1]), dtype))
    left, sides = as_array(a, device), as_array(b, device)
    if vector:
        sides = sides.reshape(columns)
    solved = wrap(factorize("solve", _leaf(left, dtype), _leaf(sides, dtype))[0])
    return solved.reshape(solved.shape[:-1]) if vector else solved


def _of_squares(operation: str, a: Any, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    """What an operation gives for each matrix of a stack."""
    found = _shapes_and_dtype(a)
    if found is None:
        return None
    (shape,), dtype = found
    device = device_of_operands((a,))
    if not _is_square(shape) or not takes_stack(device, shape[-1], prod(shape[:-2])):
        return None
    dtype = device_dtype(dtype, device)
    if not prod(shape):
        return tuple(map(wrap, _of_nothing(device, operation, shape, dtype)))
    return tuple(map(wrap, factorize(operation, _leaf(as_array(a, device), dtype), upper=upper)))


def _of_nothing(device: Device, operation: str, shape: tuple[int, ...], dtype: np.dtype) -> tuple[Node, ...]:
    """Results without an element to compute from: determinants of no rows are 1."""
    if operation not in ("det", "slogdet"):
        return (new_leaf(device, shape, dtype),)
    one = as_array(np.ones(shape[:-2], dtype), device)._node
    return (
        (one,) if operation == "det" else (one, new_leaf(device, shape[:-2], np.dtype(dtype.char.lower()), zero=True))
    )


def _shapes_and_dtype(*operands: Any) -> tuple[list[tuple[int, ...]], np.dtype] | None:
    """The shapes of operands, and the dtype of NumPy's result; None for dtypes that it refuses."""
    arrays = [x if isinstance(x, DeviceArray) else np.asarray(x) for x in operands]
    dtypes = [x.dtype for x in arrays]
    if any(dtype.kind not in "biufc" or dtype.char in _REFUSED for dtype in dtypes):
        return None
    exact = [dtype.newbyteorder("=") if dtype.kind in "fc" else np.dtype(np.float64) for dtype in dtypes]
    return [x.shape for x in arrays], np.result_type(*exact)


def _is_square(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 2 and shape[-1] == shape[-2]


def _leaf(array: DeviceArray, dtype: np.dtype) -> Node:
    return evaluate(cast(array._node, dtype))
