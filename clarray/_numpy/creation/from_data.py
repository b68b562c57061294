"""Arrays from functions of the coordinates, iterators, buffers and text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clarray._core.construction import from_buffer
from clarray._core.creation import asarray
from clarray._core.device_array import DeviceArray
from clarray._engine.ops.dtypes import DTYPES
from clarray._numpy.indexing.index_tables import indices

__all__ = ["frombuffer", "fromfunction", "fromiter", "fromstring"]


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """Call a function with the coordinates of all elements, and return its result.

    Parameters
    ----------
    function : callable
        Takes one array of coordinates per axis, each of the whole shape. It is called once.
    shape : tuple of int
    dtype : dtype, optional
        Type of the coordinates, float64 by default.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.
    **kwargs
        Passed to the function.

    Returns
    -------
    object
        The function's result.

    Examples
    --------
    >>> import clarray
    >>> clarray.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    return function(*indices(shape, dtype), **kwargs)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> DeviceArray:
    """Make an array of one axis from the items of an iterable.

    Parameters
    ----------
    iter : iterable
        Numbers. They are read on the host.
    dtype : dtype
        Type of the elements.
    count : int, optional
        Number of items to read. -1 reads all.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray
        An ndarray if no device holds the dtype.

    Raises
    ------
    ValueError
        There are fewer than `count` items.

    Examples
    --------
    >>> import clarray
    >>> clarray.fromiter((i * i for i in range(4)), int)
    array([0, 1, 4, 9])
    """
    host_array = np.fromiter(iter, dtype, count)
    return asarray(host_array) if host_array.dtype in DTYPES else host_array  # type: ignore[return-value]


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, like: Any = None) -> DeviceArray:
    """Make an array of one axis from the bytes of an object, sharing its memory if `asarray` would.

    Parameters
    ----------
    buffer : bytes-like
        The result is read-only if the buffer is.
    dtype : dtype, optional
        Type of the elements, float64 by default.
    count : int, optional
        Number of elements. -1 takes all.
    offset : int, optional
        Position of the first element in the buffer, in bytes.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The buffer is too small, or its length is no whole number of elements.

    Examples
    --------
    >>> import clarray
    >>> clarray.frombuffer(bytes(range(4)), clarray.uint8).tolist()
    [0, 1, 2, 3]
    """
    return from_buffer(np.frombuffer(buffer, dtype, count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str, like: Any = None) -> DeviceArray:
    """Make an array of one axis from the numbers in a text.

    Parameters
    ----------
    string : str
        The text. It is read on the host.
    dtype : dtype, optional
        Type of the elements, float64 by default.
    count : int, optional
        How many numbers to read. -1 reads all.
    sep : str
        Text between the numbers. White space in it matches any amount of white space.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `sep` is empty. Use `frombuffer` for bytes.

    Examples
    --------
    >>> import clarray
    >>> clarray.fromstring("1 2 3", int, sep=" ")
    array([1, 2, 3])
    """
    return asarray(np.fromstring(string, dtype, count, sep=sep), dtype)
