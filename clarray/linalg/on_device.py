"""Factorizations on the device: a stack of small matrices in one launch, or large matrices block by block.

Each function returns None if NumPy has to compute the call on the host. A device that works in host memory supports
only stacks of small matrices, and NumPy raises the errors for dtypes that it refuses.

Some devices take subnormal numbers for zeros, an error of up to 1.2e-38. It is below the rounding errors of a matrix
whose largest element is at least `_LEAST_MAXIMUM`. NumPy computes matrices of smaller elements, and those in which such
a device has found a pivot of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.host_policy import config
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
_LEAST_MAXIMUM = 2.0**-102  # 2 tiny / eps of float32; float64 has subnormal numbers on all devices


def cholesky(a: Any, upper: bool) -> DeviceArray | None:
    """See `clarray.linalg.cholesky`."""
    factors = _factorize_squares("cholesky", a, upper)
    return None if factors is None else factors[0]


def inv(a: Any) -> DeviceArray | None:
    """See `clarray.linalg.inv`."""
    inverses = _factorize_squares("inv", a)
    return None if inverses is None else inverses[0]


def det(a: Any) -> DeviceArray | None:
    """See `clarray.linalg.det`."""
    determinants = _factorize_squares("det", a)
    return None if determinants is None else determinants[0]


def slogdet(a: Any) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.slogdet`."""
    return _factorize_squares("slogdet", a)


def solve(a: Any, b: Any) -> DeviceArray | None:
    """See `clarray.linalg.solve`."""
    operands = shapes_and_dtype(a, b)
    if operands is None:
        return None
    (shape, right_shape), dtype = operands
    is_vector = len(right_shape) == 1
    columns = (*right_shape, 1) if is_vector else right_shape
    if not is_square(shape) or len(columns) < 2 or columns[-2] != shape[-1]:
        return None
    try:
        stack = np.broadcast_shapes(shape[:-2], columns[:-2])
    except ValueError:
        return None
    device = device_of_operands((a, b))
    small = launchers.small_matrices.supports_stack(device, shape[-1], prod(stack))
    if not small and not launchers.factorization.supports_matrix(device):
        return None
    dtype = device_dtype(dtype, device)
    if not prod(stack) * shape[-1]:
        return wrap(new_leaf(device, (*stack, *shape[-1:]) if is_vector else (*stack, shape[-1], columns[-1]), dtype))
    matrices, right_sides = as_array(a, device), as_array(b, device)
    if is_vector:
        right_sides = right_sides.reshape(columns)
    matrix_leaf, side_leaf = evaluate_as(matrices, dtype), evaluate_as(right_sides, dtype)
    if is_flushed(device, matrix_leaf, side_leaf):
        return None
    results = _none_if_flushed(
        device,
        lambda: (
            launchers.small_matrices.factorize("solve", matrix_leaf, side_leaf)
            if small
            else (
                launchers.factorization.solve(
                    _broadcast_to_stack(matrix_leaf, stack), _broadcast_to_stack(side_leaf, stack)
                ),
            )
        ),
    )
    if results is None:
        return None
    (solved,) = map(wrap, results)
    return solved.reshape(solved.shape[:-1]) if is_vector else solved


def _factorize_squares(operation: str, a: Any, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    """Run an operation on each matrix of a stack of square matrices."""
    operands = shapes_and_dtype(a)
    if operands is None:
        return None
    (shape,), dtype = operands
    device = device_of_operands((a,))
    if not is_square(shape):
        return None
    small = launchers.small_matrices.supports_stack(device, shape[-1], prod(shape[:-2]))
    if not small and not launchers.factorization.supports_matrix(device):
        return None
    dtype = device_dtype(dtype, device)
    if not prod(shape):
        return tuple(map(wrap, _results_without_elements(device, operation, shape, dtype)))
    matrices = evaluate_as(as_array(a, device), dtype)
    if is_flushed(device, matrices):
        return None
    results = _none_if_flushed(
        device,
        lambda: (
            launchers.small_matrices.factorize(operation, matrices, upper=upper)
            if small
            else _factorize_large(operation, matrices, upper)
        ),
    )
    if results is None:
        return None
    wrapped = tuple(map(wrap, results))
    if operation in ("det", "slogdet") and _may_be_flushed(device) and (wrapped[0] == 0).any():
        return None
    return wrapped


def _none_if_flushed(device: Device, factorize: Callable[[], tuple[Node, ...]]) -> tuple[Node, ...] | None:
    """Return the results, or None if a pivot that is 0 on the device may be a subnormal number."""
    try:
        return factorize()
    except LinAlgError:
        if _may_be_flushed(device):
            return None
        raise


def is_flushed(device: Device, *stacks: Node) -> bool:
    """Return whether a device cannot factorize a stack as exactly as NumPy, since it lacks subnormal numbers."""
    if not _may_be_flushed(device):
        return False
    for leaf in stacks:
        matrices = wrap(leaf)
        if matrices.size and np.finfo(leaf.dtype).bits == 32:
            largest: Any = np.abs(matrices).max(axis=(-2, -1)).min()
            if largest < _LEAST_MAXIMUM:
                return True
    return False


def _may_be_flushed(device: Device) -> bool:
    """Return whether zeros of a device may be subnormal numbers for NumPy, and NumPy may compute on the host."""
    return not device.capabilities.subnormals and config.host_library != "raise"


def _factorize_large(operation: str, a: Node, upper: bool) -> tuple[Node, ...]:
    """Run an operation on each large matrix of a stack, one after the other."""
    if operation == "cholesky":
        return (launchers.factorization.cholesky(a, upper),)
    if operation == "inv":
        unit = eye(a.shape[-1], dtype=a.dtype, device=device_of(a))
        return (launchers.factorization.solve(a, _broadcast_to_stack(evaluate(unit._node), a.shape[:-2])),)
    return launchers.factorization.determinant(operation, a)


def _broadcast_to_stack(matrices: Node, stack: tuple[int, ...]) -> Node:
    """Return a view of a leaf of matrices, broadcast to a stack of matrices."""
    strides = aligned(matrices.shape[:-2], matrices.strides[:-2], len(stack))
    return view_leaf(matrices, (*stack, *matrices.shape[-2:]), (*strides, *matrices.strides[-2:]), matrices.offset)


def _results_without_elements(
    device: Device, operation: str, shape: tuple[int, ...], dtype: np.dtype
) -> tuple[Node, ...]:
    """Return the results of an operation on matrices without elements: the determinant of no rows is 1."""
    if operation not in ("det", "slogdet"):
        return (new_leaf(device, shape, dtype),)
    ones = as_array(np.ones(shape[:-2], dtype), device)._node
    return (
        (ones,) if operation == "det" else (ones, new_leaf(device, shape[:-2], np.dtype(dtype.char.lower()), zero=True))
    )


def shapes_and_dtype(*operands: Any) -> tuple[list[tuple[int, ...]], np.dtype] | None:
    """Return the shapes of operands and the dtype of NumPy's result, or None if NumPy refuses the dtypes."""
    arrays = [x if isinstance(x, DeviceArray) else np.asarray(x) for x in operands]
    dtypes = [x.dtype for x in arrays]
    if any(dtype.kind not in "biufc" or dtype.char in _REFUSED for dtype in dtypes):
        return None
    exact = [dtype.newbyteorder("=") if dtype.kind in "fc" else np.dtype(np.float64) for dtype in dtypes]
    return [x.shape for x in arrays], np.result_type(*exact)


def is_square(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 2 and shape[-1] == shape[-2]


def evaluate_as(array: DeviceArray, dtype: np.dtype) -> Node:
    return evaluate(cast(array._node, dtype))
