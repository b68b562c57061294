"""Tests for shared memory, by NumPy's solver, which compares addresses and reads no memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.views import view_of
from clarray._engine.expr.overlap import FAKE_ADDRESS, AddressRange

__all__ = ["may_share_memory", "shares_memory"]


def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Return whether two arrays might share memory, by comparing the ranges of bytes that they span.

    Parameters
    ----------
    a, b : array_like
        Arrays on a device or on the host.
    max_work : int, optional
        How many candidates for a common byte to try. 0 (the default) compares the ranges only, -1 finds the exact
        answer.

    Returns
    -------
    bool

    See Also
    --------
    shares_memory : Find the exact answer.

    Notes
    -----
    A pending array shares memory with itself only. An array that `clarray.asarray` made from an ndarray on a CPU device
    shares memory with the ndarray.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4)
    >>> clarray.may_share_memory(x[:2], x[2:]), clarray.may_share_memory(x[::2], x[1::2])
    (False, True)
    """
    # NumPy's stubs know only the two extreme values of max_work
    return np.may_share_memory(*_as_host_pair(a, b), max_work=max_work)  # type: ignore[arg-type]


def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Return whether an element of one array shares memory with an element of the other.

    Parameters
    ----------
    a, b : array_like
        Arrays on a device or on the host.
    max_work : int, optional
        How many candidates for a common byte to try. -1 (the default) tries all, which may take very long.

    Returns
    -------
    bool

    Raises
    ------
    numpy.exceptions.TooHardError
        No answer was found with `max_work` candidates.

    See Also
    --------
    may_share_memory : Compare the ranges of bytes only, which is fast.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4)
    >>> clarray.shares_memory(x[:2], x[1:]), clarray.shares_memory(x[::2], x[1::2])
    (True, False)
    """
    return np.shares_memory(*_as_host_pair(a, b), max_work=max_work)  # type: ignore[arg-type]


_DISJOINT = (np.empty(0), np.empty(0))


def _as_host_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Return ndarrays with the addresses of both arrays, or two empty ndarrays if they cannot share memory."""
    first, second = (x._node.memory if isinstance(x, DeviceArray) else None for x in (a, b))
    if first is not None and first is second:
        return _at_address(a, FAKE_ADDRESS), _at_address(b, FAKE_ADDRESS)
    if isinstance(a, DeviceArray) and isinstance(b, DeviceArray) and a._node is b._node:
        a.evaluate()
        return _at_address(a, FAKE_ADDRESS), _at_address(b, FAKE_ADDRESS)
    pair = []
    for operand, memory in ((a, first), (b, second)):
        if not isinstance(operand, DeviceArray):
            pair.append(operand)
        elif memory is not None and memory.device.capabilities.host_memory:
            pair.append(_at_address(operand, memory.address))
        else:
            return _DISJOINT  # NumPy still checks `max_work`
    return pair[0], pair[1]


def _at_address(array: DeviceArray, start: int) -> np.ndarray:
    """Return an ndarray with the array's layout, at an address as the start of its memory."""
    return np.asarray(AddressRange(view_of(array), array.itemsize, start))
