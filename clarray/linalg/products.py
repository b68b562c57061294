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
from clarray._core.writes import one_hold
from clarray._engine.expr.axes import axis_number
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
    return [as_array(each, device) for each in operands]


def matmul(x1: Any, x2: Any, /) -> DeviceArray:
    """Product of matrices, or of stacks of them; `clarray.matmul` has NumPy's other keywords.

    Parameters
    ----------
    x1 : array_like
        Of shape (..., M, K) or (K,).
    x2 : array_like
        Of shape (..., K, N) or (K,).

    Returns
    -------
    DeviceArray
        Of shape (..., M, N), without the axis that a 1-d operand lacks.

    Raises
    ------
    ValueError
        The shapes do not fit.
    """
    left, right = _arrays(x1, x2)
    made: Any = np.matmul(left, right)
    return made


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> DeviceArray:
    """Sums of products along an axis, the elements of `x1` conjugated: one fused pass.

    Parameters
    ----------
    x1, x2 : array_like
        Broadcast against each other, but for the axis.
    axis : int

    Returns
    -------
    DeviceArray
        Without the axis.
    """
    left, right = _arrays(x1, x2)
    made: Any = np.vecdot(left, right, axis=axis_number(axis))  # type: ignore[call-overload]
    return made


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> DeviceArray:
    """Sum of products over several axes of each operand; see `numpy.linalg.tensordot`."""
    return chapter.tensordot(x1, x2, axes)


def outer(x1: Any, x2: Any, /) -> DeviceArray:
    """Every element of a vector times every element of another, as an expression.

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
        An operand is not 1-d; `clarray.outer` flattens it instead.
    """
    left, right = _arrays(x1, x2)
    if left.ndim != 1 or right.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={left.ndim} and x2.ndim={right.ndim}."
        )
    return chapter.outer(left, right)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> DeviceArray:
    """Cross product of vectors of three elements.

    Parameters
    ----------
    x1, x2 : array_like
        Broadcast against each other; of three elements along the axis.
    axis : int

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The axis has not three elements.
    """
    left, right = _arrays(x1, x2)
    if not NUMPY_2_5 and (left.shape[axis] != 3 or right.shape[axis] != 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{left.shape[axis]} and {right.shape[axis]} dimensional instead."
        )
    return chapter.cross(left, right, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> DeviceArray:
    """Diagonals of matrices, the last two axes, as a view.

    Parameters
    ----------
    x : (..., M, N) array_like
    offset : int
        How far above the main diagonal.

    Returns
    -------
    DeviceArray
        Read-only.
    """
    return shapes.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> DeviceArray:
    """Sums along the diagonals of matrices, the last two axes.

    Parameters
    ----------
    x : (..., M, N) array_like
    offset : int
        How far above the main diagonal.
    dtype : dtype, optional
        Of the sum; as `clarray.sum` chooses it when None.

    Returns
    -------
    DeviceArray
    """
    return reductions.sum(diagonal(x, offset=offset), -1, dtype)


def matrix_transpose(x: Any, /) -> DeviceArray:
    """The last two axes interchanged, as a view."""
    return shapes.matrix_transpose(x)


# Chains of products ---------------------------------------------------------------------------


@one_hold("out")
def multi_dot(arrays: Sequence[Any], *, out: DeviceArray | None = None) -> DeviceArray:
    """Product of several matrices, in the order that needs the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        At least two, each 2-d; the first may be a row and the last a column, given 1-d.
    out : DeviceArray, optional
        Of exactly the shape and dtype of the last product.

    Returns
    -------
    DeviceArray
        Without the axes of 1-d operands.

    Raises
    ------
    LinAlgError
        Another operand is not 2-d.
    ValueError
        There are fewer than two, or their extents do not fit.

    References
    ----------
    T. Cormen, C. Leiserson, R. Rivest, C. Stein, "Introduction to Algorithms", section "Matrix-chain multiplication".
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
    for each in chain:
        if each.ndim != 2:
            raise LinAlgError(f"{each.ndim}-dimensional array given. Array must be two-dimensional")
    splits = chain_order([each.shape[0] for each in chain] + [chain[-1].shape[1]])
    made = _chained(chain, splits, 0, len(chain) - 1, out)
    if row and column:
        return made[0, 0]
    return made.ravel() if row or column else made


def chain_order(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each part of a chain of matrices, the i-th of shape ``extents[i : i + 2]``.

    Returns
    -------
    dict
        Of (first, last): the last matrix of the left factor.
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


def _chained(
    chain: list[DeviceArray], splits: dict[tuple[int, int], int], first: int, last: int, out: DeviceArray | None = None
) -> DeviceArray:
    if first == last:
        return chain[first]
    at = splits[first, last]
    left, right = _chained(chain, splits, first, at), _chained(chain, splits, at + 1, last)
    return chapter.dot(left, right, out)


def matrix_power(a: Any, n: int) -> DeviceArray:
    """Matrices multiplied with themselves, by repeated squaring.

    Parameters
    ----------
    a : (..., M, M) array_like
    n : int
        If negative, the inverses are multiplied (`inv`); 0 gives unit matrices.

    Returns
    -------
    (..., M, M) DeviceArray

    Raises
    ------
    LinAlgError
        The matrices are not square, or there is no inverse.
    TypeError
        `n` is no integer.

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
    if n == 3:  # a product less in line: NumPy's order, and so its rounding
        return matmul(matmul(power, power), power)
    made = None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            made = power if made is None else matmul(made, power)
        if not n:
            assert made is not None
            return made
        power = matmul(power, power)
