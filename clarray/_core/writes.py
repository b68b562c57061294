"""Calls that write to an ndarray: clarray computes them, and the result lies in the ndarray's own memory.

np.add(a, x, out=a)  --  the ndarray is the host's  -->  the device's array on the same memory, or a copy of it
                                                              |
                  the ndarray, as NumPy returns it  <--  clarray's call writes there; a copy is copied back
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core import device_array
from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import data_dtype, share, upload
from clarray._core.operands import Manner, manner_of
from clarray._engine.evaluate import evaluate
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import Device, current_device

__all__ = ["host_outputs", "write_to_host"]


def host_outputs(out: Any) -> tuple[np.ndarray, ...]:
    """Return the ndarrays among a call's outputs, if clarray may write to all of them; NumPy computes other dtypes."""
    listed = out if isinstance(out, tuple) else (out,)
    found = tuple(x for x in listed if isinstance(x, np.ndarray) and manner_of(type(x)) is Manner.PLAIN)
    return found if all(x.dtype.newbyteorder("=") in DTYPES for x in found) else ()


def write_to_host(
    function: Callable[..., Any], targets: tuple[np.ndarray, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function of clarray's that writes to ndarrays.

    Parameters
    ----------
    function : callable
    targets : tuple of ndarray
        What it writes to; each is among its arguments, or in a tuple or list there.
    args, kwargs
        Its arguments.

    Returns
    -------
    object
        What the function returns, with the ndarrays themselves.

    Raises
    ------
    ValueError
        A target is read-only.
    """
    if not all(target.flags.writeable for target in targets):
        raise ValueError("output array is read-only")
    device = _device_of((args, kwargs))
    stand_ins = [_StandIn(target, device) for target in targets]

    def given(value: Any) -> Any:
        return _replaced(value, stand_ins)

    result = function(*map(given, args), **{name: given(value) for name, value in kwargs.items()})
    for each in stand_ins:
        each.finish()
    return _restored(result, stand_ins)


class _StandIn:
    """A device array in place of an ndarray that is written to."""

    def __init__(self, target: np.ndarray, device: Device) -> None:
        self.target = target
        node = share(target, device)
        self._is_copy = node is None
        if node is None:
            node = upload(target, data_dtype(target.dtype, device), device)
        self.array = no_number(wrap(node))

    def finish(self) -> None:
        """Wait until the elements are in the ndarray's memory."""
        if self._is_copy:
            np.copyto(self.target, asnumpy(self.array))
        else:
            evaluate(self.array._node)
            self.array.device.synchronize()


def _device_of(value: Any) -> Device:
    """Return the device of the first device array among arguments, else the current one."""
    array = _first_array(value)
    return current_device() if array is None else array.device


def _first_array(value: Any) -> DeviceArray | None:
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if type(value) in (tuple, list):
        return next((found for found in map(_first_array, value) if found is not None), None)
    return None


def _replaced(value: Any, stand_ins: list[_StandIn]) -> Any:
    """Return an argument with the device arrays for the ndarrays, and copies of other views of their memory."""
    if isinstance(value, np.ndarray):
        for each in stand_ins:
            if each.target is value:
                return each.array
        return value.copy() if any(np.may_share_memory(value, each.target) for each in stand_ins) else value
    if type(value) in (tuple, list):
        return type(value)(_replaced(x, stand_ins) for x in value)
    return value


def _restored(result: Any, stand_ins: list[_StandIn]) -> Any:
    """Return a result with the ndarrays for the device arrays in their place."""
    if type(result) is tuple:
        return tuple(_restored(x, stand_ins) for x in result)
    return next((each.target for each in stand_ins if each.array is result), result)


def _call_with_ndarray(
    call: Callable[..., Any],
    function: Callable[..., Any],
    target: np.ndarray,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function that `one_hold` decorates; `call` is the decorated one, which holds the lock for the stand-in."""
    targets = host_outputs(target)
    return write_to_host(call, targets, args, kwargs) if targets else function(*args, **kwargs)


device_array.call_with_ndarray = _call_with_ndarray
