"""NumPy's iterators over the elements, in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray
from clarray._core.fallback import mapped

__all__ = ["nditer", "nested_iters"]


def in_host_memory(value: Any) -> Any:
    """Return an array's elements as an ndarray: on the same memory if that is the host's, else a read-only copy."""
    if isinstance(value, DeviceArray):
        shared = value.device.capabilities.host_memory
        if shared and value.size:
            return value.__array__(copy=False)
        copied = asnumpy(value)
        copied.flags.writeable = shared  # what is written to a copy would be lost
        return copied
    return mapped(in_host_memory, value)


def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Step through the elements of one or several arrays by `numpy.nditer`.

    On a device that works in host memory the iterator steps through the array's own memory, and what it writes is in
    the array. On other devices it steps through a copy, and may not write.

    Parameters
    ----------
    op : array_like or sequence of array_like
    *args, **kwargs
        As for `numpy.nditer`.

    Returns
    -------
    numpy.nditer

    Raises
    ------
    ValueError
        The iterator writes, and the array is in memory of the device's own.

    Examples
    --------
    >>> import clarray
    >>> [int(value) for value in clarray.nditer(clarray.arange(4).reshape(2, 2), order="F")]
    [0, 2, 1, 3]
    """
    return np.nditer(in_host_memory(op), *args, **kwargs)


def nested_iters(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Make iterators over several groups of axes by `numpy.nested_iters`; memory and errors as in `nditer`."""
    return np.nested_iters(in_host_memory(op), *args, **kwargs)
