"""QR, eigenvalues of Hermitian matrices and singular values on the device, and what follows from them.

As in `on_device` each function gives None where NumPy's on the host is to do it.
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
from clarray.linalg.on_device import is_square, leaf_of, shapes_and_dtype

__all__ = ["cond", "eigh", "lstsq", "matrix_rank", "pinv", "qr", "svd"]

_NO: Any = np._NoValue
_TALL = 2  # times as many rows as columns, or the other way round: singular values by QR first


def qr(a: Any, mode: Any) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.qr`: (Q, R), (R,) or (h, tau)."""
    if mode not in ("reduced", "complete", "r", "raw"):
        return None
    return _decomposed("qr", a, mode) or _large("qr", a, mode)


def eigh(a: Any, uplo: Any, vectors: bool = True) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.eigh`: eigenvalues, and eigenvectors."""
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        return None
    mode, upper = "vectors" if vectors else "values", uplo.upper() == "U"
    return _decomposed("eigh", a, mode, upper) or _large("eigh", a, mode, upper)


def svd(a: Any, full: bool, vectors: bool = True, hermitian: bool = False) -> tuple[DeviceArray, ...] | None:
    """See `clarray.linalg.svd`: U, singular values and V^H, or these values."""
    if not hermitian:
        mode = "values" if not vectors else "full" if full else "reduced"
        return _decomposed("svd", a, mode) or _large("svd", a, mode)
    found = eigh(a, "L", vectors)
    if found is None:
        return None
    values: Any = np.abs(found[0])
    if not vectors:
        descending: Any = np.sort(values)[..., ::-1]
        return (descending,)
    order: Any = np.argsort(values)[..., ::-1]
    signs: Any = np.take_along_axis(np.copysign(found[0].dtype.type(1), found[0]), order, -1)
    basis: Any = found[1]
    left: Any = np.take_along_axis(basis, order[..., None, :], -1)
    right = (left * signs[..., None, :]).conj().swapaxes(-1, -2)
    ordered: Any = np.take_along_axis(values, order, -1)
    return left, ordered, right


def _decomposed(operation: str, a: Any, mode: str, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    found = shapes_and_dtype(a)
    if found is None:
        return None
    (shape,), dtype = found
    if len(shape) < 2 or (operation == "eigh" and not is_square(shape)):
        return None
    device = device_of_operands((a,))
    elements: int = prod(shape)
    small = launchers.small_matrices.takes_stack(device, max(shape[-2:]), prod(shape[:-2]))
    if not small and (elements or not launchers.factorization.takes_matrix(device)):
        return None
    dtype = device_dtype(dtype, device)
    if elements:
        return tuple(
            map(
                wrap,
                launchers.small_matrices_teams.decompose(operation, leaf_of(as_array(a, device), dtype), mode, upper),
            )
        )
    made = []  # of no elements: what results have some are bases of a whole space
    for place, part in enumerate(launchers.small_matrices_teams.shapes_of_results(operation, mode, *shape[-2:])):
        whole = (*shape[:-2], *part)
        real = operation != "qr" and place == {"eigh": 0, "svd": mode != "values"}[operation]
        kind = np.dtype(dtype.char.lower()) if real else dtype
        made.append(
            as_array(np.broadcast_to(np.eye(part[0], dtype=kind), whole), device)
            if prod(whole)
            else wrap(new_leaf(device, whole, kind))
        )
    return tuple(made)


def _large(operation: str, a: Any, mode: str, upper: bool = False) -> tuple[DeviceArray, ...] | None:
    """What an operation gives for each large matrix of a stack, one after the other."""
    found = shapes_and_dtype(a)
    if found is None:
        return None
    (shape,), dtype = found
    device = device_of_operands((a,))
    if not _takes_large(operation, device, shape, mode):
        return None
    array = wrap(leaf_of(as_array(a, device), device_dtype(dtype, device)))
    parts = []
    for place in np.ndindex(*shape[:-2]):
        part = _of_one(operation, array[place], mode, upper)
        if part is None:
            return None
        parts.append(part)
    return tuple(
        each[0].reshape(*shape[:-2], *each[0].shape)
        if len(each) == 1
        else stack(each).reshape(*shape[:-2], *each[0].shape)
        for each in zip(*parts, strict=True)
    )


def _takes_large(operation: str, device: Device, shape: tuple[int, ...], mode: str = "reduced") -> bool:
    if len(shape) < 2 or not prod(shape) or not launchers.factorization.takes_orthogonal(device, shape[-2] * shape[-1]):
        return False
    rows, columns = shape[-2:]
    if operation == "qr":
        return mode in ("reduced", "r") or (mode == "complete" and rows <= columns)
    return rows == columns or operation == "svd"


def _of_one(operation: str, matrix: DeviceArray, mode: str, upper: bool) -> tuple[DeviceArray, ...] | None:
    if operation == "qr":
        found = large_qr(matrix)
        return found[1:] if found and mode == "r" else found
    return large_eigh(matrix, upper, mode == "vectors") if operation == "eigh" else _svd_of_one(matrix, mode)


def _svd_of_one(matrix: DeviceArray, mode: str) -> tuple[DeviceArray, ...] | None:
    """Of far more rows than columns by QR: the singular values of R are the matrix's."""
    rows, columns = matrix.shape
    if rows < columns:
        turned = _svd_of_one(_adjoint(matrix), mode)
        return (_adjoint(turned[2]), turned[1], _adjoint(turned[0])) if turned and mode != "values" else turned
    found = large_qr(matrix) if rows >= _TALL * columns else None
    if found is None:
        made = large_svd(matrix, mode != "values")
    else:
        basis, factor = found
        made = _decomposed("svd", factor, "values" if mode == "values" else "reduced")
        made = made or large_svd(factor, mode != "values")
        if made and mode != "values":
            made = basis @ made[0], *made[1:]
    if made is None or mode != "full":
        return made
    left = whole_basis(made[0])
    return None if left is None else (left, *made[1:])


def pinv(a: Any, rcond: Any, hermitian: bool, rtol: Any) -> DeviceArray | None:
    """See `clarray.linalg.pinv`."""
    if rcond is not None and rtol is not _NO:
        return None  # NumPy refuses it
    array = _taken(a)
    if array is None or not array.size:
        return None
    found = svd(array, False, hermitian=hermitian)
    if found is None:
        return None
    left, values, right = found
    if rcond is None and rtol is _NO:
        eps = _precision(array)  # in float32 what is zero is not below NumPy's 1e-15
        rcond = 1e-15 if eps < 1e-15 else max(array.shape[-2:]) * eps
    elif rcond is None:
        rcond = max(array.shape[-2:]) * np.finfo(values.dtype).eps if rtol is None else rtol
    cutoff = np.max(values, axis=-1, keepdims=True) * _number(rcond, values)
    large = values > cutoff
    inverse = np.where(large, 1 / np.where(large, values, 1), 0)
    return _adjoint(right) @ (inverse[..., None] * _adjoint(left))


def matrix_rank(a: Any, tol: Any, hermitian: bool, rtol: Any) -> DeviceArray | None:
    """See `clarray.linalg.matrix_rank`."""
    if tol is not None and rtol is not None:
        return None
    array = _taken(a)
    found = None if array is None else svd(array, False, False, hermitian)
    if array is None or found is None:
        return None
    values = found[0]
    if tol is not None:
        bound = _number(tol, values)
    else:
        part = max(array.shape[-2:]) * np.finfo(values.dtype).eps if rtol is None else _number(rtol, values)
        bound = np.max(values, axis=-1, keepdims=True, initial=0) * part
    return np.count_nonzero(values > bound, axis=-1)


def cond(x: Any, p: Any) -> DeviceArray | None:
    """See `clarray.linalg.cond`: of norms by singular values."""
    if p is not None and p not in (2, -2):
        return None
    array = _taken(x)
    if array is None or not array.size:
        return None
    try:
        found = svd(array, False, False)
    except LinAlgError:
        if not NUMPY_2_5:
            raise
        return None  # NumPy 2.5 gives NaN for a matrix with NaN
    if found is None:
        return None
    first, last = found[0][..., 0], found[0][..., -1]
    with np.errstate(all="ignore"):
        ratio = last / first if p == -2 else first / last
    made: Any = np.where(np.isnan(ratio), np.inf, ratio)  # of NaN there are no singular values
    return wrap(cast(made._node, ratio.dtype))


def lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, ...] | None:
    """See `clarray.linalg.lstsq`."""
    found = shapes_and_dtype(a, b)
    if found is None:
        return None
    (shape, right), dtype = found
    if len(shape) != 2 or len(right) not in (1, 2) or shape[0] != right[0] or not prod(shape):
        return None
    device = device_of_operands((a, b))
    if not launchers.small_matrices.takes_stack(device, max(shape), 1) and not _takes_large("svd", device, shape):
        return None
    dtype = device_dtype(dtype, device)
    left, sides = (wrap(leaf_of(as_array(x, device), dtype)) for x in (a, b))
    columns = sides.reshape(shape[0], -1 if sides.size else right[-1]) if sides.ndim == 1 else sides
    try:
        made = svd(left, False)
    except LinAlgError:
        raise LinAlgError("SVD did not converge in Linear Least Squares") from None
    if made is None:
        return None
    basis, values, other = made
    eps = _precision(left)
    part = eps * max(shape) if rcond is None else rcond
    bound = values[0] * (eps if part <= 0 or part >= 1 else part)  # as LAPACK's gelsd
    large = ~(values <= bound)  # all of them if `rcond` is NaN
    rank = np.count_nonzero(large)
    inverse = np.where(large, 1 / np.where(large, values, 1), 0).astype(values.dtype)
    x = _adjoint(other) @ (inverse[:, None] * (_adjoint(basis) @ columns))
    if shape[0] > shape[1] and int(rank) == shape[1]:
        residual = columns - left @ x
        sums = np.sum(residual.real**2 + residual.imag**2 if dtype.kind == "c" else residual**2, axis=0)
    else:
        sums = wrap(new_leaf(device, (0,), values.dtype))
    return x.reshape(x.shape[:1]) if len(right) == 1 else x, sums, rank.astype(np.int32), values


def _taken(a: Any) -> DeviceArray | None:
    """An array of matrices that the device factorizes, in the dtype of the result."""
    found = shapes_and_dtype(a)
    if found is None:
        return None
    (shape,), dtype = found
    device = device_of_operands((a,))
    if len(shape) < 2:
        return None
    if not launchers.small_matrices.takes_stack(device, max(shape[-2:]), prod(shape[:-2])) and not _takes_large(
        "svd", device, shape
    ):
        return None
    return wrap(leaf_of(as_array(a, device), device_dtype(dtype, device)))


def _precision(array: DeviceArray) -> float:
    """The epsilon of what a factorization is computed in."""
    return float(np.finfo(launchers.small_matrices.dtype_of_work(array.device, array.dtype)).eps)


def _number(value: Any, values: DeviceArray) -> Any:
    """A bound of a stack, one for each matrix, against its singular values."""
    if np.ndim(value) == 0 and not isinstance(value, DeviceArray):
        return value
    return as_array(value, values.device)[..., None]


def _adjoint(matrices: DeviceArray) -> DeviceArray:
    return matrices.conj().swapaxes(-1, -2)
