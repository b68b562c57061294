"""Diagonals and triangles of matrices."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarray._core import callers, ufunc_calls
from clarray._core.creation import operand_array, zeros
from clarray._core.device_array import DeviceArray, check_target, wrap
from clarray._engine.expr import node as nodes
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.view import contiguous
from clarray._engine.speedups import captured, captured_growth, captured_writes
from clarray._numpy.indexing import gathering
from clarray._numpy.indexing.selecting import where
from clarray._numpy.manipulation.shapes import broadcast_to, diagonal, ravel

__all__ = ["diag", "diagflat", "fill_diagonal", "tri", "tril", "triu"]

_INT64 = np.dtype(np.int64)


# Diagonals ----------------------------------------------------------------------------------------


def diag(v: Any, k: int = 0) -> DeviceArray:
    """Return a diagonal of a matrix, or make a matrix with a given diagonal.

    Parameters
    ----------
    v : array_like
        A matrix (two axes): the result is its `k`-th diagonal, as a read-only view. A vector (one axis): the result is
        a new square matrix of zeros with `v` on the `k`-th diagonal.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `v` has no axis, or more than two.

    Examples
    --------
    >>> import clarray
    >>> clarray.diag([1, 2]).tolist()
    [[1, 0], [0, 2]]
    >>> clarray.diag([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    array = operand_array(v)
    if array.ndim == 2:
        return diagonal(array, k)
    if array.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return _diagonal_matrix(array, operator.index(k))


@captured(operands=1)
def _diagonal_matrix(array: DeviceArray, k: int) -> DeviceArray:
    n = array.size + abs(k)
    matrix = zeros((n, n), array.dtype, device=array.device)
    if array.size:
        start = k if k >= 0 else -k * n
        matrix.reshape(-1)[start : start + array.size * (n + 1) : n + 1] = array
    return matrix


@captured(operands=1)
def diagflat(v: Any, k: int = 0) -> DeviceArray:
    """Make a square matrix of zeros with all elements of an array, in C order, on a diagonal.

    Parameters
    ----------
    v : array_like
        An array of any shape.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.diagflat([[1], [2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ravel(v), k + 0)  # NumPy adds `k` to a number, so its bools pass


@captured_writes
def fill_diagonal(a: DeviceArray, val: Any, wrap: bool = False) -> None:
    """Write values to the main diagonal of an array, in place.

    Parameters
    ----------
    a : DeviceArray
        An array of two axes, or of more axes of the same length.
    val : array_like
        The values, in C order. They are repeated or cut off as needed.
    wrap : bool, optional
        For a matrix with more rows than columns: begin the diagonal again after one free row.

    Raises
    ------
    ValueError
        `a` has fewer than two axes, or more than two of different lengths.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros((2, 2), int)
    >>> clarray.fill_diagonal(x, 5)
    >>> x.tolist()
    [[5, 0], [0, 5]]
    """
    check_target(a, "argument 1 of fill_diagonal must be a clarray array, not {}")
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    a.check_writeable()
    step = sum(contiguous(a.shape))
    end = a.size if wrap or a.ndim > 2 else min(a.size, a.shape[1] ** 2)
    values = gathering.flat_values(a, val)
    if end and values.size:
        gathering.put_range(a, 0, step, -(-end // step), values)


# Triangles ----------------------------------------------------------------------------------------


def tri(
    N: int,  # noqa: N803 - NumPy's names
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = float,
    *,
    like: Any = None,
) -> DeviceArray:
    """Make a matrix with ones at and below a diagonal, and zeros above it.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns. `N` by default.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.
    dtype : dtype, optional
        Type of the elements, float64 by default.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.tri(2, 3, dtype=int).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    return lower_triangle_mask((N, N if M is None else M), k).astype(dtype)


def lower_triangle_mask(shape: Sequence[Any], k: Any) -> DeviceArray:
    """Return the pending mask ``column - row <= k`` of a matrix.

    Extents and `k` are rounded to integers as in NumPy, which passes them to `arange`.
    """
    *shape, k = values = [operator.index(n) if callers.NUMPY_2_5 and _is_integer(n) else n for n in (*shape, k)]
    shape = tuple(max(0, math.ceil(_require_scalar(extent))) for extent in shape)
    k = -c_integer(-k) if type(k) is int else -int(np.trunc(_require_scalar(-k)))
    offsets = nodes.index(shape, (-1, 1), _INT64)
    warn_unsafe_integer(*values)
    return ufunc_calls.call(np.less_equal, (wrap(offsets), k))


def warn_unsafe_integer(*values: Any) -> None:
    """Warn if an extent or a diagonal is no integer, as NumPy does from 2.5 on. The warning names the first type."""
    kind = (
        next((type(value).__name__ for value in values if not _is_integer(value)), None) if callers.NUMPY_2_5 else None
    )
    if kind is not None:
        callers.warn_user(
            f"Cannot convert {kind} safely to an integer. "
            "This will raise an error in future versions (Deprecated NumPy 2.5)",
            DeprecationWarning,
        )


def _is_integer(value: Any) -> bool:
    """Return whether `operator.index` accepts a value."""
    if type(value) is int:
        return True
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _require_scalar(number: Any) -> Any:
    """Return the number, or raise NumPy's ValueError for an array of several elements."""
    bool(number <= 0)  # raises for several elements
    return number


@captured_growth(operands=1)
def tril(m: Any, k: int = 0) -> DeviceArray:
    """Return the lower triangle of a matrix: a copy with zeros above the `k`-th diagonal.

    Parameters
    ----------
    m : array_like
        An array of one axis or more. The last two axes are the matrix. An array of one axis is repeated as the rows of
        a square matrix.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        `m` has no axis.

    Examples
    --------
    >>> import clarray
    >>> clarray.tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    array = _matrix(operand_array(m))
    return where(lower_triangle_mask(array.shape[-2:], k), array, array.dtype.type(0))


@captured_growth(operands=1)
def triu(m: Any, k: int = 0) -> DeviceArray:
    """Return the upper triangle of a matrix: a copy with zeros below the `k`-th diagonal. Parameters as in `tril`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    array = _matrix(operand_array(m))
    return where(lower_triangle_mask(array.shape[-2:], k - 1), array.dtype.type(0), array)


def _matrix(array: DeviceArray) -> DeviceArray:
    if array.ndim == 1:  # NumPy repeats a row for each of its elements
        return broadcast_to(array, (len(array), len(array)))
    if array.ndim == 0:
        raise TypeError("a triangle needs an array of at least one axis")
    return array
