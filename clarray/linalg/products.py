"""Products of arrays under the names of `numpy.linalg`, on the device."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from clarray._core.callers import NUMPY_2_5
from clarray._core.creation import as_array
from clarray._core.device_array import DeviceArray
from clarray._core.ufunc_calls import device_of_operands
from clarray._core.writes import with_device_lock
from clarray._engine.expr.axes import axis_number
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.creation import sequences
from clarray._numpy.manipulation import shapes
from clarray._numpy.products import products as chapter
from clarray._numpy.reduction import reductions
from clarray.linalg.factorizations import inv

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def _arrays(*operands: Any) -> list[DeviceArray]:
    device = device_of_operands(operands)
    return [as_array(operand, device) for operand in operands]


def matmul(x1: Any, x2: Any, /) -> DeviceArray:
    """Multiply matrices, or stacks of matrices; `clarray.matmul` has NumPy's other keywords.

    Parameters
    ----------
    x1 : (..., M, K) or (K,) array_like
    x2 : (..., K, N) or (K,) array_like

    Returns
    -------
    (..., M, N) DeviceArray
        Without the axis that a 1-d operand lacks.

    Raises
    ------
    ValueError
        The shapes are incompatible.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.matmul([[1, 2], [3, 4]], [10, 1]).tolist()
    [12, 34]
    """
    first, second = _arrays(x1, x2)
    products: Any = np.matmul(first, second)
    return products


@captured_growth(operands=2)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> DeviceArray:
    """Sum the products of two arrays along an axis, with the elements of `x1` conjugated.

    Parameters
    ----------
    x1, x2 : array_like
        Arrays that broadcast, apart from the axis.
    axis : int
        Axis of the vectors.

    Returns
    -------
    DeviceArray
        The broadcast shape without the axis.

    Raises
    ------
    ValueError
        The shapes are incompatible.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.vecdot([[1, 2], [3, 4]], [10, 1]).tolist()
    [12, 34]
    """
    first, second = _arrays(x1, x2)
    products: Any = np.vecdot(first, second, axis=axis_number(axis))  # type: ignore[call-overload]
    return products


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> DeviceArray:
    """Sum the products of two arrays over several axes of each; see `numpy.linalg.tensordot`.

    Parameters
    ----------
    x1, x2 : array_like
    axes : int or (sequence of int, sequence of int)
        A number n: the last n axes of `x1` and the first n axes of `x2`. Two sequences: these axes of each.

    Returns
    -------
    DeviceArray
        The other axes of `x1`, then the other axes of `x2`.

    Raises
    ------
    ValueError
        The extents of the summed axes differ.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]], axes=1).tolist()
    [[1, 2], [3, 4]]
    >>> int(clarray.linalg.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]]))
    5
    """
    return chapter.tensordot(x1, x2, axes)


def outer(x1: Any, x2: Any, /) -> DeviceArray:
    """Multiply every element of a vector by every element of another one.

    Parameters
    ----------
    x1 : (M,) array_like
    x2 : (N,) array_like

    Returns
    -------
    (M, N) DeviceArray

    Raises
    ------
    ValueError
        An operand is not 1-d. `clarray.outer` flattens such operands instead.

    Notes
    -----
    The product is an expression. It needs memory only when it is stored.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.outer([1, 2], [3, 4, 5]).tolist()
    [[3, 4, 5], [6, 8, 10]]
    """
    first, second = _arrays(x1, x2)
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={first.ndim} and x2.ndim={second.ndim}."
        )
    return chapter.outer(first, second)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> DeviceArray:
    """Compute cross products of vectors of three elements.

    Parameters
    ----------
    x1, x2 : array_like
        Arrays that broadcast, with three elements along the axis.
    axis : int
        Axis of the vectors.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The extent of the axis is not 3.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.cross([1, 0, 0], [0, 1, 0]).tolist()
    [0, 0, 1]
    """
    first, second = _arrays(x1, x2)
    if not NUMPY_2_5 and (first.shape[axis] != 3 or second.shape[axis] != 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{first.shape[axis]} and {second.shape[axis]} dimensional instead."
        )
    return chapter.cross(first, second, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> DeviceArray:
    """Return a view of the diagonals of matrices in the last two axes.

    Parameters
    ----------
    x : (..., M, N) array_like
    offset : int
        Distance from the main diagonal. A positive number is above it.

    Returns
    -------
    DeviceArray
        Read-only.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.diagonal([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    return shapes.diagonal(x, offset, -2, -1)


@captured_growth(operands=1)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> DeviceArray:
    """Sum the diagonals of matrices in the last two axes.

    Parameters
    ----------
    x : (..., M, N) array_like
    offset : int
        Distance from the main diagonal. A positive number is above it.
    dtype : dtype, optional
        Dtype of the sum. None chooses it as `clarray.sum` does.

    Returns
    -------
    (...) DeviceArray

    Examples
    --------
    >>> import clarray
    >>> int(clarray.linalg.trace([[1, 2], [3, 4]]))
    5
    """
    return reductions.sum(diagonal(x, offset=offset), -1, dtype)


def matrix_transpose(x: Any, /) -> DeviceArray:
    """Return a view of the array with its last two axes interchanged.

    Parameters
    ----------
    x : (..., M, N) array_like

    Returns
    -------
    (..., N, M) DeviceArray

    Raises
    ------
    ValueError
        `x` has fewer than two axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.matrix_transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    return shapes.matrix_transpose(x)


# Chains of products ---------------------------------------------------------------------------


@captured
@with_device_lock("out")
def multi_dot(arrays: Sequence[Any], *, out: DeviceArray | None = None) -> DeviceArray:
    """Multiply several matrices in the order that needs the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        At least two matrices. The first one may be a row and the last one a column, both 1-d.
    out : DeviceArray, optional
        Array that receives the result, of exactly its shape and dtype.

    Returns
    -------
    DeviceArray
        Without the axes of 1-d operands.

    Raises
    ------
    LinAlgError
        Another operand is not 2-d.
    ValueError
        There are fewer than two arrays, or their extents do not fit.

    References
    ----------
    T. Cormen, C. Leiserson, R. Rivest, C. Stein, "Introduction to Algorithms", section "Matrix-chain multiplication".

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.multi_dot([[[1, 2], [3, 4]], [[1, 1], [0, 1]], [1, 10]]).tolist()
    [31, 73]
    """
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return chapter.dot(arrays[0], arrays[1], out)
    chain = _arrays(*arrays)
    row, column = chain[0].ndim == 1, chain[-1].ndim == 1
    if row:
        chain[0] = chain[0].reshape(1, -1)
    if column:
        chain[-1] = chain[-1].reshape(-1, 1)
    for matrix in chain:
        if matrix.ndim != 2:
            raise LinAlgError(f"{matrix.ndim}-dimensional array given. Array must be two-dimensional")
    splits = chain_order([matrix.shape[0] for matrix in chain] + [chain[-1].shape[1]])
    product = _multiply_chain(chain, splits, 0, len(chain) - 1, out)
    if row and column:
        return product[0, 0]
    return product.ravel() if row or column else product


def chain_order(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the place to split each part of a chain of matrices, the i-th of shape ``extents[i : i + 2]``.

    Returns
    -------
    dict
        The last matrix of the left factor, by (first, last).
    """
    count = len(extents) - 1
    cost = dict.fromkeys(((i, i) for i in range(count)), 0)
    splits = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            cost[first, last], splits[first, last] = min(
                (
                    cost[first, k] + cost[k + 1, last] + extents[first] * extents[k + 1] * extents[last + 1],
                    k,
                )
                for k in range(first, last)
            )
    return splits


def _multiply_chain(
    chain: list[DeviceArray], splits: dict[tuple[int, int], int], first: int, last: int, out: DeviceArray | None = None
) -> DeviceArray:
    if first == last:
        return chain[first]
    split = splits[first, last]
    before, after = _multiply_chain(chain, splits, first, split), _multiply_chain(chain, splits, split + 1, last)
    return chapter.dot(before, after, out)


@captured
def matrix_power(a: Any, n: int) -> DeviceArray:
    """Raise square matrices to an integer power, by repeated squaring.

    Parameters
    ----------
    a : (..., M, M) array_like
    n : int
        Exponent. A negative number takes the power of the inverse (`inv`), and 0 gives unit matrices.

    Returns
    -------
    (..., M, M) DeviceArray

    Raises
    ------
    LinAlgError
        The matrices are not square, or have no inverse.
    TypeError
        `n` is not an integer.

    Examples
    --------
    >>> import clarray
    >>> clarray.linalg.matrix_power([[1, 1], [1, 0]], 5).tolist()
    [[8, 5], [5, 3]]
    """
    (power,) = _arrays(a)
    if power.ndim < 2:
        raise LinAlgError(f"{power.ndim}-dimensional array given. Array must be at least two-dimensional")
    if power.shape[-2] != power.shape[-1]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        unit = sequences.eye(power.shape[-1], dtype=power.dtype, device=power.device)
        return shapes.broadcast_to(unit, power.shape).copy()
    if n < 0:
        power, n = inv(power), -n
    if n == 3:  # the order of NumPy, and so its rounding
        return matmul(matmul(power, power), power)
    product = None
    while True:
        n, is_odd = divmod(n, 2)
        if is_odd:
            product = power if product is None else matmul(product, power)
        if not n:
            assert product is not None
            return product
        power = matmul(power, power)
