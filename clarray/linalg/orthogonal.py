"""QR, eigenvalues of Hermitian matrices and singular values on the device, and functions that use these decompositions.

As in `on_device`, each function returns None if NumPy has to compute the call on the host.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from clarray._core.callers import NUMPY_2_5
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.ufunc_calls import cast, device_of_operands
from clarray._engine.algorithms import launchers
from clarray._engine.runtime import Device
from clarray._numpy.manipulation.joining import stack
from clarray.linalg.large_qr import large_qr
from clarray.linalg.large_spectral import large_eigh, large_svd, whole_basis
from clarray.linalg.on_device import evaluate_as, is_flushed, is_square, shapes_and_dtype

__all__ = ["cond", "eigh", "lstsq", "matrix_rank", "pinv", "qr", "svd"]

_NO: Any = np._NoValue
_TALL = 2  # ratio of rows to columns, or of columns to rows, from which QR comes before the singular values


def qr(a: Any, mode: Any) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.qr`: (Q, R), (R,) or (h, tau)."""
    if mode not in ("reduced", "complete", "r", "raw"):
        return None
    return _decompose_small("qr", a, mode) or _decompose_large("qr", a, mode)


def eigh(a: Any, uplo: Any, vectors: bool = True) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.eigh`: eigenvalues, and eigenvectors."""
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        return None
    mode, upper = "vectors" if vectors else "values", uplo.upper() == "U"
    return _decompose_small("eigh", a, mode, upper) or _decompose_large("eigh", a, mode, upper)


def svd(a: Any, full: bool, vectors: bool = True, hermitian: bool = False) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.svd`: U, singular values and V^H, or the singular values alone."""
    if not hermitian:
        mode = "values" if not vectors else "full" if full else "reduced"
        return _decompose_small("svd", a, mode) or _decompose_large("svd", a, mode)
    decomposition = eigh(a, "L", vectors)
    if decomposition is None:
        return None
    magnitudes: Any = np.abs(decomposition[0])
    if not vectors:
        descending: Any = np.sort(magnitudes)[..., ::-1]
        return (descending,)
    order: Any = np.argsort(magnitudes)[..., ::-1]
    signs: Any = np.take_along_axis(np.copysign(decomposition[0].dtype.type(1), decomposition[0]), order, -1)
    basis: Any = decomposition[1]
    u: Any = np.take_along_axis(basis, order[..., None, :], -1)
    vh = (u * signs[..., None, :]).conj().swapaxes(-1, -2)
    ordered: Any = np.take_along_axis(magnitudes, order, -1)
    return u, ordered, vh


def _decompose_small(operation: str, a: Any, mode: str, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    operands = shapes_and_dtype(a)
    if operands is None:
        return None
    (shape,), dtype = operands
    if len(shape) < 2 or (operation == "eigh" and not is_square(shape)):
        return None
    device = device_of_operands((a,))
    if operation != "eigh" and not device.capabilities.reflections:
        return None
    elements: int = prod(shape)
    small = launchers.small_matrices.supports_stack(device, max(shape[-2:]), prod(shape[:-2]))
    if not small and (elements or not launchers.factorization.supports_matrix(device)):
        return None
    dtype = device_dtype(dtype, device)
    if elements:
        matrices = evaluate_as(as_array(a, device), dtype)
        if is_flushed(device, matrices):
            return None
        return tuple(map(wrap, launchers.small_matrices_teams.decompose(operation, matrices, mode, upper)))
    results = []  # of operands without elements: a result with elements is the basis of a whole space
    for position, extents in enumerate(launchers.small_matrices_teams.result_shapes(operation, mode, *shape[-2:])):
        shape_of_result = (*shape[:-2], *extents)
        real = operation != "qr" and position == {"eigh": 0, "svd": mode != "values"}[operation]
        result_dtype = np.dtype(dtype.char.lower()) if real else dtype
        results.append(
            as_array(np.broadcast_to(np.eye(extents[0], dtype=result_dtype), shape_of_result), device)
            if prod(shape_of_result)
            else wrap(new_leaf(device, shape_of_result, result_dtype))
        )
    return tuple(results)


def _decompose_large(operation: str, a: Any, mode: str, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    """Decompose each large matrix of a stack, one after the other."""
    operands = shapes_and_dtype(a)
    if operands is None:
        return None
    (shape,), dtype = operands
    device = device_of_operands((a,))
    if not _supports_large(operation, device, shape, mode):
        return None
    leaf = evaluate_as(as_array(a, device), device_dtype(dtype, device))
    if is_flushed(device, leaf):
        return None
    array = wrap(leaf)
    decompositions = []
    for index in np.ndindex(*shape[:-2]):
        factors = _decompose_matrix(operation, array[index], mode, upper)
        if factors is None:
            return None
        decompositions.append(factors)
    return tuple(
        factor[0].reshape(*shape[:-2], *factor[0].shape)
        if len(factor) == 1
        else stack(factor).reshape(*shape[:-2], *factor[0].shape)
        for factor in zip(*decompositions, strict=True)
    )


def _supports_large(operation: str, device: Device, shape: tuple[int, ...], mode: str = "reduced") -> bool:
    if (
        len(shape) < 2
        or not prod(shape)
        or not launchers.factorization.supports_orthogonal(device, shape[-2] * shape[-1])
    ):
        return False
    rows, columns = shape[-2:]
    if operation == "qr":
        return mode in ("reduced", "r") or (mode == "complete" and rows <= columns)
    return rows == columns or operation == "svd"


def _decompose_matrix(operation: str, matrix: DeviceArray, mode: str, upper: bool) -> tuple[DeviceArray, ...] | None:
    if operation == "qr":
        factors = large_qr(matrix)
        return factors[1:] if factors and mode == "r" else factors
    return large_eigh(matrix, upper, mode == "vectors") if operation == "eigh" else _decompose_by_svd(matrix, mode)


def _decompose_by_svd(matrix: DeviceArray, mode: str) -> tuple[DeviceArray, ...] | None:
    """Decompose a large matrix, by QR first if it has far more rows than columns: R has the same singular values."""
    rows, columns = matrix.shape
    if rows < columns:
        transposed = _decompose_by_svd(_adjoint(matrix), mode)
        return (
            (_adjoint(transposed[2]), transposed[1], _adjoint(transposed[0]))
            if transposed and mode != "values"
            else transposed
        )
    qr_factors = large_qr(matrix) if rows >= _TALL * columns else None
    if qr_factors is None:
        factors = large_svd(matrix, mode != "values")
    else:
        basis, factor = qr_factors
        factors = _decompose_small("svd", factor, "values" if mode == "values" else "reduced")
        factors = factors or large_svd(factor, mode != "values")
        if factors and mode != "values":
            factors = basis @ factors[0], *factors[1:]
    if factors is None or mode != "full":
        return factors
    whole_u = whole_basis(factors[0])
    return None if whole_u is None else (whole_u, *factors[1:])


def pinv(a: Any, rcond: Any, hermitian: bool, rtol: Any) -> DeviceArray | None:
    """See `clarray.linalg.pinv`."""
    if rcond is not None and rtol is not _NO:
        return None  # NumPy refuses it
    array = _device_matrices(a)
    if array is None or not array.size:
        return None
    decomposition = svd(array, False, hermitian=hermitian)
    if decomposition is None:
        return None
    u, singular_values, vh = decomposition
    if rcond is None and rtol is _NO:
        eps = _working_epsilon(array)  # in float32 rounding exceeds NumPy's 1e-15
        rcond = 1e-15 if eps < 1e-15 else max(array.shape[-2:]) * eps
    elif rcond is None:
        rcond = max(array.shape[-2:]) * np.finfo(singular_values.dtype).eps if rtol is None else rtol
    cutoff = np.max(singular_values, axis=-1, keepdims=True) * _per_matrix(rcond, singular_values)
    large = singular_values > cutoff
    inverse = np.where(large, 1 / np.where(large, singular_values, 1), 0)
    return _adjoint(vh) @ (inverse[..., None] * _adjoint(u))


def matrix_rank(a: Any, tol: Any, hermitian: bool, rtol: Any) -> DeviceArray | None:
    """See `clarray.linalg.matrix_rank`."""
    if tol is not None and rtol is not None:
        return None
    array = _device_matrices(a)
    decomposition = None if array is None else svd(array, False, False, hermitian)
    if array is None or decomposition is None:
        return None
    singular_values = decomposition[0]
    if tol is not None:
        bound = _per_matrix(tol, singular_values)
    else:
        relative = (
            max(array.shape[-2:]) * np.finfo(singular_values.dtype).eps
            if rtol is None
            else _per_matrix(rtol, singular_values)
        )
        bound = np.max(singular_values, axis=-1, keepdims=True, initial=0) * relative
    return np.count_nonzero(singular_values > bound, axis=-1)


def cond(x: Any, p: Any) -> DeviceArray | None:
    """See `clarray.linalg.cond`: the norms that singular values give."""
    if p is not None and p not in (2, -2):
        return None
    array = _device_matrices(x)
    if array is None or not array.size:
        return None
    try:
        decomposition = svd(array, False, False)
    except LinAlgError:
        if not NUMPY_2_5:
            raise
        return None  # NumPy 2.5 gives NaN for a matrix with NaN
    if decomposition is None:
        return None
    first, last = decomposition[0][..., 0], decomposition[0][..., -1]
    with np.errstate(all="ignore"):
        ratio = last / first if p == -2 else first / last
    numbers: Any = np.where(np.isnan(ratio), np.inf, ratio)  # 0 / 0: matrices with NaN raise above
    return wrap(cast(numbers._node, ratio.dtype))


def lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, ...] | None:
    """See `clarray.linalg.lstsq`."""
    operands = shapes_and_dtype(a, b)
    if operands is None:
        return None
    (shape, right_shape), dtype = operands
    if len(shape) != 2 or len(right_shape) not in (1, 2) or shape[0] != right_shape[0] or not prod(shape):
        return None
    device = device_of_operands((a, b))
    if not launchers.small_matrices.supports_stack(device, max(shape), 1) and not _supports_large("svd", device, shape):
        return None
    dtype = device_dtype(dtype, device)
    matrix, right_sides = (wrap(evaluate_as(as_array(x, device), dtype)) for x in (a, b))
    columns = (
        right_sides.reshape(shape[0], -1 if right_sides.size else right_shape[-1])
        if right_sides.ndim == 1
        else right_sides
    )
    if is_flushed(device, matrix._node, columns._node):
        return None
    try:
        decomposition = svd(matrix, False)
    except LinAlgError:
        raise LinAlgError("SVD did not converge in Linear Least Squares") from None
    if decomposition is None:
        return None
    u, singular_values, vh = decomposition
    eps = _working_epsilon(matrix)
    relative = eps * max(shape) if rcond is None else rcond
    bound = singular_values[0] * (eps if relative <= 0 or relative >= 1 else relative)  # as LAPACK's gelsd
    large = ~(singular_values <= bound)  # all of them if `rcond` is NaN
    rank = np.count_nonzero(large)
    inverse = np.where(large, 1 / np.where(large, singular_values, 1), 0).astype(singular_values.dtype)
    x = _adjoint(vh) @ (inverse[:, None] * (_adjoint(u) @ columns))
    if shape[0] > shape[1] and int(rank) == shape[1]:
        residual = columns - matrix @ x
        sums = np.sum(residual.real**2 + residual.imag**2 if dtype.kind == "c" else residual**2, axis=0)
    else:
        sums = wrap(new_leaf(device, (0,), singular_values.dtype))
    return x.reshape(x.shape[:1]) if len(right_shape) == 1 else x, sums, rank.astype(np.int32), singular_values


def _device_matrices(a: Any) -> DeviceArray | None:
    """Convert `a` to a device array in the dtype of the result, or return None if the device does not support it."""
    operands = shapes_and_dtype(a)
    if operands is None:
        return None
    (shape,), dtype = operands
    device = device_of_operands((a,))
    if len(shape) < 2:
        return None
    if not launchers.small_matrices.supports_stack(device, max(shape[-2:]), prod(shape[:-2])) and not _supports_large(
        "svd", device, shape
    ):
        return None
    leaf = evaluate_as(as_array(a, device), device_dtype(dtype, device))
    return None if leaf.size and is_flushed(device, leaf) else wrap(leaf)


def _working_epsilon(array: DeviceArray) -> float:
    """Return the machine epsilon of the dtype in which the device factorizes `array`."""
    return float(np.finfo(launchers.small_matrices.arithmetic_dtype(array.device, array.dtype)).eps)


def _per_matrix(bound: Any, singular_values: DeviceArray) -> Any:
    """Give bounds, one for each matrix of a stack, an axis to broadcast against the singular values."""
    if np.ndim(bound) == 0 and not isinstance(bound, DeviceArray):
        return bound
    return as_array(bound, singular_values.device)[..., None]


def _adjoint(matrices: DeviceArray) -> DeviceArray:
    return matrices.conj().swapaxes(-1, -2)
