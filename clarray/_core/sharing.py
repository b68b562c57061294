"""Whether arrays have memory in common, asked of NumPy's solver, which compares addresses and reads nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.views import view_of
from clarray._engine.expr.overlap import SOMEWHERE, AddressRange

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
    return np.may_share_memory(*_side_by_side(a, b), max_work=max_work)  # type: ignore[arg-type]


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
    return np.shares_memory(*_side_by_side(a, b), max_work=max_work)  # type: ignore[arg-type]


_APART = (np.empty(0), np.empty(0))


def _side_by_side(a: Any, b: Any) -> tuple[Any, Any]:
    """Give both as ndarrays at the addresses of the arrays; two without elements if they cannot share memory."""
    first, second = (x._node.memory if isinstance(x, DeviceArray) else None for x in (a, b))
    if first is not None and first is second:
        return _placed(a, SOMEWHERE), _placed(b, SOMEWHERE)
    if isinstance(a, DeviceArray) and isinstance(b, DeviceArray) and a._node is b._node:
        a.evaluate()
        return _placed(a, SOMEWHERE), _placed(b, SOMEWHERE)
    found = []
    for one, memory in ((a, first), (b, second)):
        if not isinstance(one, DeviceArray):
            found.append(one)
        elif memory is not None and memory.device.capabilities.host_memory:
            found.append(_placed(one, memory.address))
        else:
            return _APART  # NumPy still judges `max_work`
    return found[0], found[1]


def _placed(array: DeviceArray, start: int) -> np.ndarray:
    """Give an ndarray of the array's layout in memory that is said to begin at an address."""
    return np.asarray(AddressRange(view_of(array), array.itemsize, start))
