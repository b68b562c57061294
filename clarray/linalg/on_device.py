"""Factorizations that the device does itself: of small matrices a stack in one launch, of large ones block by block.

Each function gives None where NumPy's on the host is to do it: a device that works in host memory takes stacks of small
matrices only, and some dtypes are for NumPy to refuse.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.ufunc_calls import cast, device_of_operands
from clarray._engine.algorithms import launchers
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.layout import aligned
from clarray._engine.expr.node import Node, view_leaf
from clarray._engine.launch.kernel_cache import device_of
from clarray._engine.runtime import Device
from clarray._numpy.creation.sequences import eye

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
    found = shapes_and_dtype(a, b)
    if found is None:
        return None
    (shape, right), dtype = found
    vector = len(right) == 1
    columns = (*right, 1) if vector else right
    if not is_square(shape) or len(columns) < 2 or columns[-2] != shape[-1]:
        return None
    try:
        stack = np.broadcast_shapes(shape[:-2], columns[:-2])
    except ValueError:
        return None
    device = device_of_operands((a, b))
    small = launchers.small_matrices.takes_stack(device, shape[-1], prod(stack))
    if not small and not launchers.factorization.takes_matrix(device):
        return None
    dtype = device_dtype(dtype, device)
    if not prod(stack) * shape[-1]:
        return wrap(new_leaf(device, (*stack, *shape[-1:]) if vector else (*stack, shape[-1], columns[-1]), dtype))
    left, sides = as_array(a, device), as_array(b, device)
    if vector:
        sides = sides.reshape(columns)
    one, two = leaf_of(left, dtype), leaf_of(sides, dtype)
    solved = wrap(
        launchers.small_matrices.factorize("solve", one, two)[0]
        if small
        else launchers.factorization.solve(_repeated(one, stack), _repeated(two, stack))
    )
    return solved.reshape(solved.shape[:-1]) if vector else solved


def _of_squares(operation: str, a: Any, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    """What an operation gives for each matrix of a stack."""
    found = shapes_and_dtype(a)
    if found is None:
        return None
    (shape,), dtype = found
    device = device_of_operands((a,))
    if not is_square(shape):
        return None
    small = launchers.small_matrices.takes_stack(device, shape[-1], prod(shape[:-2]))
    if not small and not launchers.factorization.takes_matrix(device):
        return None
    dtype = device_dtype(dtype, device)
    if not prod(shape):
        return tuple(map(wrap, _of_nothing(device, operation, shape, dtype)))
    matrices = leaf_of(as_array(a, device), dtype)
    return tuple(
        map(
            wrap,
            launchers.small_matrices.factorize(operation, matrices, upper=upper)
            if small
            else _of_large(operation, matrices, upper),
        )
    )


def _of_large(operation: str, a: Node, upper: bool) -> tuple[Node, ...]:
    """What an operation gives for each matrix of a stack, one after the other."""
    if operation == "cholesky":
        return (launchers.factorization.cholesky(a, upper),)
    if operation == "inv":
        unit = eye(a.shape[-1], dtype=a.dtype, device=device_of((a,)))
        return (launchers.factorization.solve(a, _repeated(evaluate(unit._node), a.shape[:-2])),)
    return launchers.factorization.determinant(operation, a)


def _repeated(matrices: Node, stack: tuple[int, ...]) -> Node:
    """A view of a leaf, broadcast to a stack."""
    strides = aligned(matrices.shape[:-2], matrices.strides[:-2], len(stack))
    return view_leaf(matrices, (*stack, *matrices.shape[-2:]), (*strides, *matrices.strides[-2:]), matrices.offset)


def _of_nothing(device: Device, operation: str, shape: tuple[int, ...], dtype: np.dtype) -> tuple[Node, ...]:
    """Results without an element to compute from: determinants of no rows are 1."""
    if operation not in ("det", "slogdet"):
        return (new_leaf(device, shape, dtype),)
    one = as_array(np.ones(shape[:-2], dtype), device)._node
    return (
        (one,) if operation == "det" else (one, new_leaf(device, shape[:-2], np.dtype(dtype.char.lower()), zero=True))
    )


def shapes_and_dtype(*operands: Any) -> tuple[list[tuple[int, ...]], np.dtype] | None:
    """The shapes of operands, and the dtype of NumPy's result; None for dtypes that it refuses."""
    arrays = [x if isinstance(x, DeviceArray) else np.asarray(x) for x in operands]
    dtypes = [x.dtype for x in arrays]
    if any(dtype.kind not in "biufc" or dtype.char in _REFUSED for dtype in dtypes):
        return None
    exact = [dtype.newbyteorder("=") if dtype.kind in "fc" else np.dtype(np.float64) for dtype in dtypes]
    return [x.shape for x in arrays], np.result_type(*exact)


def is_square(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 2 and shape[-1] == shape[-2]


def leaf_of(array: DeviceArray, dtype: np.dtype) -> Node:
    return evaluate(cast(array._node, dtype))
