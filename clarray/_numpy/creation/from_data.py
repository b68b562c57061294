"""Arrays from what is no array: functions of the position, iterators, buffers, text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clarray._core.construction import of_buffer
from clarray._core.creation import asarray
from clarray._core.device_array import DeviceArray
from clarray._engine.ops.dtypes import DTYPES
from clarray._numpy.indexing.index_tables import indices

__all__ = ["frombuffer", "fromfunction", "fromiter", "fromstring"]


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    """Call a function with the coordinates of every element.

    Parameters
    ----------
    function : callable
        Of one array for each axis, each of the whole shape; it is called once.
    shape : tuple of int
    dtype : dtype, optional
        Of the coordinates.
    like : object, optional
        Accepted for NumPy's sake.
    **kwargs
        Passed on.

    Returns
    -------
    object
        What the function returns. The coordinates are not stored: they are computed where they are used.

    Examples
    --------
    >>> import clarray
    >>> clarray.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    return function(*indices(shape, dtype), **kwargs)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> DeviceArray:
    """Make an array of one axis of what an iterator gives.

    Parameters
    ----------
    iter : iterable
        Read on the host.
    dtype : dtype
    count : int, optional
        How many items to read; all by default.
    like : object, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray
        Or ndarray, of a dtype that no device holds: the items can be read only once.

    Raises
    ------
    ValueError
        There are fewer items.
    """
    made = np.fromiter(iter, dtype, count)
    return asarray(made) if made.dtype in DTYPES else made  # type: ignore[return-value]


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, like: Any = None) -> DeviceArray:
    """Make an array of one axis of the bytes of an object, sharing its memory where `asarray` would.

    Parameters
    ----------
    buffer : bytes-like
        The result is read-only where it is.
    dtype : dtype, optional
    count : int, optional
        How many elements; all by default.
    offset : int, optional
        Where to begin, in bytes.
    like : object, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The buffer is too small, or holds no whole number of elements.

    Examples
    --------
    >>> import clarray
    >>> clarray.frombuffer(bytes(range(4)), clarray.uint8).tolist()
    [0, 1, 2, 3]
    """
    return of_buffer(np.frombuffer(buffer, dtype, count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str, like: Any = None) -> DeviceArray:
    """Make an array of one axis of numbers in a text.

    Parameters
    ----------
    string : str
        Read on the host.
    dtype : dtype, optional
    count : int, optional
        How many numbers to read; all by default.
    sep : str
        What separates them; white space in it stands for any.
    like : object, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The separator is empty: that read bytes, for which there is `frombuffer`.
    """
    return asarray(np.fromstring(string, dtype, count, sep=sep), dtype)
