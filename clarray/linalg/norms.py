"""Norms of vectors and matrices: fused reductions, or reductions of singular values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from clarray._core.composing import apply_ufunc
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import cast
from clarray._engine.expr.axes import normalize_axes, normalize_axis, strict_axis
from clarray._engine.expr.node import Node
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.manipulation import shapes
from clarray._numpy.reduction import reductions
from clarray._numpy.reduction.moments import squared_magnitude
from clarray.linalg import on_device, orthogonal
from clarray.linalg.factorizations import svdvals
from clarray.linalg.host_lapack import on_host

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


@captured_growth(operands=1)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> DeviceArray:
    """Compute the norm of a vector or a matrix, or of all vectors or matrices along given axes.

    Parameters
    ----------
    x : array_like
        Integers are converted to float64. float16 is summed in float32.
    ord : {None, 'fro', 'nuc', inf, -inf} or number, optional
        None: the square root of the sum of squared magnitudes of all elements along the axes.
        A number n, for vectors: ``sum(abs(x)**n) ** (1 / n)``. inf and -inf: the largest and the smallest magnitude.
        0: the number of elements that are not zero.
        For matrices: 'fro' is the square root of the sum of squared magnitudes, 'nuc' the sum of the singular values.
        2 and -2: the largest and the smallest singular value. 1 and -1: the largest and the smallest column sum of
        magnitudes. inf and -inf: the largest and the smallest row sum of magnitudes.
    axis : int or tuple of two ints, optional
        One axis for vectors, two axes for matrices (rows, columns). None takes all axes, in any number if `ord` is
        None.
    keepdims : bool
        Whether these axes stay, with extent 1.

    Returns
    -------
    DeviceArray
        Real.

    Raises
    ------
    ValueError
        There is no such norm, or the axes do not fit.

    Notes
    -----
    A norm is an expression, which is computed when it is used. Norms of singular values are computed immediately, by
    `svdvals`.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.linalg.norm([3.0, 4.0]))
    5.0
    """
    array = _as_inexact(x)
    ndim = array.ndim
    if axis is None:
        plain = ord is None or (ord == 2 and ndim == 1) or (ord in ("f", "fro") and ndim == 2)
        axes = tuple(range(ndim))
        if plain:
            return _vector_norm(array, 2, axes, keepdims)
    elif isinstance(axis, tuple):
        axes = axis
    else:
        axes = (_single_axis(axis),)
    if len(axes) == 1:
        return _vector_norm(array, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(array, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _single_axis(axis: Any) -> int:
    """Convert the axis of a norm to an integer. As in NumPy, everything that `int` accepts is an axis."""
    try:
        return int(axis)
    except Exception as error:
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from error


@captured_growth(operands=1)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> DeviceArray:
    """Compute the norm of the elements along axes, as one vector; see `norm` for the orders of vectors.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        Any number of axes, whose elements make one vector. None takes all.
    keepdims : bool
        Whether these axes stay, with extent 1.
    ord : number, inf or -inf

    Returns
    -------
    DeviceArray
        Real.

    Raises
    ------
    ValueError
        `ord` is a string.
    numpy.exceptions.AxisError
        There is no such axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.vector_norm([[3.0, 4.0], [0.0, 2.0]], axis=1).tolist()
    [5.0, 2.0]
    """
    array = _as_inexact(x)
    axes = axis if axis is None or isinstance(axis, tuple) else _single_axis(axis)
    return _vector_norm(array, ord, normalize_axes(axes, array.ndim), keepdims)


@captured(operands=1)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> DeviceArray:
    """Compute the norm of matrices in the last two axes; see `norm` for the orders of matrices.

    Parameters
    ----------
    x : (..., M, N) array_like
    keepdims : bool
        Whether the two axes stay, with extent 1.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}

    Returns
    -------
    (...) DeviceArray
        Real.

    Raises
    ------
    ValueError
        There is no such norm.

    Examples
    --------
    >>> import clarray
    >>> float(clarray.linalg.matrix_norm([[1.0, -2.0], [3.0, 4.0]], ord=1))
    6.0
    """
    return norm(x, ord, (-2, -1), keepdims)


@captured(operands=1)
def cond(x: Any, p: Any = None) -> DeviceArray:
    """Compute condition numbers: the norm of a matrix times the norm of its inverse, or inf for a singular matrix.

    Parameters
    ----------
    x : (..., M, N) array_like
        Square matrices, unless the norm is one of singular values.
    p : {None, 1, -1, 2, -2, inf, -inf, 'fro', 'nuc'}
        The order of the norm, as in `norm`. None means 2.

    Returns
    -------
    (...) DeviceArray
        One number for each matrix.

    Raises
    ------
    LinAlgError
        A matrix has no elements, or the norm needs an inverse and a matrix is not square.

    Examples
    --------
    >>> import clarray
    >>> round(float(clarray.linalg.cond([[2.0, 0.0], [0.0, 4.0]])), 6)
    2.0
    """
    numbers = orthogonal.cond(x, p) if p in (None, 2, -2) else _cond_by_inverse(x, p)
    host_numbers: DeviceArray = on_host("cond", (x,), p) if numbers is None else numbers
    return host_numbers


def _cond_by_inverse(x: Any, p: Any) -> DeviceArray | None:
    """Compute condition numbers by inverses, or return None for NumPy to compute them.

    `inv` raises for a stack with a singular matrix, so NumPy computes such a stack, too.
    """
    if p not in (1, -1, np.inf, -np.inf, "fro", "nuc") or not np.size(x):
        return None
    try:
        inverse = on_device.inv(x)
    except LinAlgError:
        return None
    if inverse is None:
        return None
    array = as_array(x, inverse.device)
    numbers: Any = (matrix_norm(array, ord=p) * matrix_norm(inverse, ord=p)).astype(
        np.dtype(inverse.dtype.char.lower())
    )
    without_nan: Any = ~np.isnan(array).any((-2, -1))
    return np.where(np.isnan(numbers) & without_nan, numbers.dtype.type(np.inf), numbers)[()]


def _as_inexact(x: Any) -> DeviceArray:
    array = as_array(x)
    if array.dtype.kind in "fc":
        return array
    return wrap(cast(array._node, device_dtype(np.float64, array.device)))


def _vector_norm(array: DeviceArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> DeviceArray:
    node = array._node
    norms: Any
    if ord is None or ord == 2:
        norms = np.sqrt(_sum(squared_magnitude(_widened(node)), axes, keepdims))
    elif isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    elif ord == np.inf:
        norms = reductions.max(wrap(apply_ufunc(np.absolute, node)), axes, keepdims=keepdims, initial=0)
    elif ord == -np.inf:
        norms = reductions.min(wrap(apply_ufunc(np.absolute, node)), axes, keepdims=keepdims)
    elif ord == 0:
        norms = reductions.count_nonzero(array, axes, keepdims=keepdims)
    elif ord == 1:
        norms = _sum(apply_ufunc(np.absolute, _widened(node)), axes, keepdims)
    else:
        powers = apply_ufunc(np.power, apply_ufunc(np.absolute, _widened(node)), float(ord))
        norms = _sum(powers, axes, keepdims) ** (1 / float(ord))
    return _as_real(norms, array)


def _matrix_norm(array: DeviceArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> DeviceArray:
    row, column = (normalize_axis(axis, array.ndim) for axis in axes)
    for axis in axes:
        strict_axis(axis, array.ndim)
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return _vector_norm(array, 2, (row, column), keepdims)
    if ord in (2, -2, "nuc"):
        values = svdvals(shapes.moveaxis(array, (row, column), (-2, -1)))
        norms = _norm_from_singular_values(values, ord)
        return shapes.expand_dims(norms, (row, column)) if keepdims else norms
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    summed, other = (row, column) if abs(ord) == 1 else (column, row)
    sums = _sum(apply_ufunc(np.absolute, _widened(array._node)), (summed,), True)
    extrema = (
        reductions.max(sums, other, keepdims=True, initial=0)
        if ord > 0
        else (reductions.min(sums, other, keepdims=True))
    )
    norms = _as_real(extrema, array)
    return norms if keepdims else shapes.squeeze(norms, (row, column))[()]


def _norm_from_singular_values(values: DeviceArray, ord: Any) -> DeviceArray:
    if ord == "nuc":
        return reductions.sum(values, -1)
    return reductions.max(values, -1, initial=0) if ord == 2 else reductions.min(values, -1)


def _sum(values: Node, axes: tuple[int, ...], keepdims: bool) -> DeviceArray:
    return reductions.sum(wrap(values), axes, keepdims=keepdims)


def _widened(node: Node) -> Node:
    """Return the operand of a sum in a wider dtype: the squares of float16 numbers may overflow."""
    wide = wide_dtype(node.dtype)
    return cast(node, wide) if node.dtype != wide else node


def _as_real(norms: DeviceArray, array: DeviceArray) -> DeviceArray:
    """Convert norms to the dtype of the array's real parts."""
    return wrap(cast(norms._node, np.dtype(array.dtype.char.lower())))
