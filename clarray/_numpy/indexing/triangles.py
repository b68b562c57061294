"""Make the indices of triangles and diagonals of matrices."""

from __future__ import annotations

import operator
from typing import Any

from clarray._core.callers import NUMPY_2_5
from clarray._core.creation import ones
from clarray._core.device_array import DeviceArray
from clarray._numpy.creation.sequences import arange
from clarray._numpy.indexing import masking
from clarray._numpy.indexing.diagonals import lower_triangle_mask, warn_unsafe_integer

__all__ = [
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "mask_indices",
    "diag_indices",
    "diag_indices_from",
]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[DeviceArray, ...]:
    """Find the indices at and below a diagonal of a matrix, in C order.

    Parameters
    ----------
    n : int
        Number of rows.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.
    m : int, optional
        Number of columns. `n` by default.

    Returns
    -------
    tuple of DeviceArray
        The row indices and the column indices.

    Examples
    --------
    >>> import clarray
    >>> [i.tolist() for i in clarray.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return masking.nonzero(lower_triangle_mask((n, n if m is None else m), k))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[DeviceArray, ...]:
    """Find the indices at and above a diagonal of a matrix, in C order. Parameters as in `tril_indices`.

    Returns
    -------
    tuple of DeviceArray
        The row indices and the column indices.

    Examples
    --------
    >>> import clarray
    >>> [i.tolist() for i in clarray.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    if NUMPY_2_5:  # accepts unsigned integers, and warns for a bool
        try:
            k = operator.index(k)
        except TypeError:
            if not isinstance(k, type(k - 1)):
                warn_unsafe_integer(k)
    return masking.nonzero(~lower_triangle_mask((n, n if m is None else m), k - 1))


def _matrix(arr: Any) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr


def tril_indices_from(arr: DeviceArray, k: int = 0) -> tuple[DeviceArray, ...]:
    """Find the indices at and below a diagonal of a given matrix, in C order.

    Parameters
    ----------
    arr : DeviceArray
        A matrix. Only its shape is used.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.

    Returns
    -------
    tuple of DeviceArray
        The row indices and the column indices.

    Raises
    ------
    ValueError
        `arr` does not have exactly two axes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> x[clarray.tril_indices_from(x)]
    array([1, 3, 4])
    """
    return tril_indices(_matrix(arr).shape[-2], k, arr.shape[-1])


def triu_indices_from(arr: DeviceArray, k: int = 0) -> tuple[DeviceArray, ...]:
    """Find the indices at and above a diagonal of a given matrix, in C order. Parameters as in `tril_indices_from`.

    Returns
    -------
    tuple of DeviceArray
        The row indices and the column indices.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> x[clarray.triu_indices_from(x)]
    array([1, 2, 4])
    """
    return triu_indices(_matrix(arr).shape[-2], k, arr.shape[-1])


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[DeviceArray, ...]:
    """Find the indices at which a masking function, such as `triu`, keeps elements of a square matrix.

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    mask_func : callable
        Called as ``mask_func(a, k)`` with an n x n matrix of ones. The indices of the result's nonzero elements are
        found.
    k : object, optional
        Passed to `mask_func`.

    Returns
    -------
    tuple of DeviceArray
        The row indices and the column indices.

    Examples
    --------
    >>> import clarray
    >>> [i.tolist() for i in clarray.mask_indices(2, clarray.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return masking.nonzero(mask_func(ones((n, n), int), k) != 0)


def diag_indices(n: int, ndim: int = 2) -> tuple[DeviceArray, ...]:
    """Make the indices of the main diagonal of an array whose axes have the same length.

    Parameters
    ----------
    n : int
        Length of the axes.
    ndim : int, optional
        Number of axes.

    Returns
    -------
    tuple of DeviceArray
        The same array for each axis.

    Examples
    --------
    >>> import clarray
    >>> [i.tolist() for i in clarray.diag_indices(3)]
    [[0, 1, 2], [0, 1, 2]]
    """
    return (arange(n),) * ndim


def diag_indices_from(arr: DeviceArray) -> tuple[DeviceArray, ...]:
    """Make the indices of the main diagonal of a given array.

    Parameters
    ----------
    arr : DeviceArray
        An array of at least two axes, all of the same length.

    Returns
    -------
    tuple of DeviceArray
        The same array for each axis.

    Raises
    ------
    ValueError
        `arr` has fewer than two axes, or axes of different lengths.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> x[clarray.diag_indices_from(x)]
    array([1, 4])
    """
    if not arr.ndim >= 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)
