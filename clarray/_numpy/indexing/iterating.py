"""Iterate over elements in host memory by NumPy's iterators."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray
from clarray._core.fallback import map_sequence

__all__ = ["nditer", "nested_iters"]


def in_host_memory(value: Any) -> Any:
    """Return an array's elements as an ndarray: on the same memory if that is the host's, else a read-only copy."""
    if isinstance(value, DeviceArray):
        shared = value.device.capabilities.host_memory
        if shared and value.size:
            return value.__array__(copy=False)
        copied = asnumpy(value)
        copied.flags.writeable = shared  # a write to a copy would not reach the array
        return copied
    return map_sequence(in_host_memory, value)


def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Iterate over the elements of one or several arrays on the host, by `numpy.nditer`.

    On a device that works in host memory the iterator reads and writes the array's own memory. On any other device it
    reads a copy, and cannot write.

    Parameters
    ----------
    op : array_like or sequence of array_like
    *args, **kwargs
        Further arguments of `numpy.nditer`.

    Returns
    -------
    numpy.nditer

    Raises
    ------
    ValueError
        The iterator shall write, but the device does not work in host memory.

    Examples
    --------
    >>> import clarray
    >>> [int(value) for value in clarray.nditer(clarray.arange(4).reshape(2, 2), order="F")]
    [0, 2, 1, 3]
    """
    return np.nditer(in_host_memory(op), *args, **kwargs)


def nested_iters(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Make nested iterators over groups of axes on the host, by `numpy.nested_iters`. Memory and errors as in `nditer`.

    Parameters
    ----------
    op : array_like or sequence of array_like
    *args, **kwargs
        Further arguments of `numpy.nested_iters`, the groups of axes first.

    Returns
    -------
    tuple of numpy.nditer

    Examples
    --------
    >>> import clarray
    >>> rows, columns = clarray.nested_iters(clarray.arange(4).reshape(2, 2), [[0], [1]])
    >>> [[int(value) for value in columns] for _ in rows]
    [[0, 1], [2, 3]]
    """
    return np.nested_iters(in_host_memory(op), *args, **kwargs)
