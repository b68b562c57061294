"""Calls that write to an argument: under the device's lock, and with ndarrays as targets.

clarray computes results that are written to an ndarray, in the ndarray's own memory:

np.add(a, x, out=a)  --  the ndarray is the host's  -->  the device's array on the same memory, or a copy of it
                                                              |
                  the ndarray, as NumPy returns it  <--  clarray's call writes there; a copy is copied back
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, hold_for, mark_0d_array, wrap
from clarray._core.host_data import data_dtype, share, upload
from clarray._core.operands import OperandProtocol, first_device_array, operand_protocol
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import MASKED
from clarray._engine.ops.dtypes import is_device_dtype
from clarray._engine.runtime import Device, current_device

__all__ = ["host_outputs", "with_device_lock", "write_to_host"]

Function = TypeVar("Function", bound=Callable[..., Any])


def with_device_lock(name: str, position: int | None = None) -> Callable[[Function], Function]:
    """Decorator: hold the device's lock from the first read to the last write of a call that writes to an argument.

    It also holds the lock if the first argument is a pending selection, because the call may read its source.

    Parameters
    ----------
    name : str
        Name of the argument that the call writes to. See `hold_for`.
    position : int, optional
        Index of this argument among positional ones. By default, the function's signature has the name.
    """

    def decorate(function: Function) -> Function:
        index = [*signature(function).parameters].index(name) if position is None else position

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            target = kwargs.get(name) if name in kwargs or len(args) <= index else args[index]
            if type(target) is tuple and len(target) == 1:
                (target,) = target
            if target is None and args and _is_selection(args[0]):
                target = args[0]
            if target is None:
                return function(*args, **kwargs)
            if isinstance(target, np.ndarray):
                targets = host_outputs(target)  # calls `call` again with device arrays, and then takes the lock
                return write_to_host(call, targets, args, kwargs) if targets else function(*args, **kwargs)
            with hold_for(target, *args, *kwargs.values()):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _is_selection(value: Any) -> bool:
    return isinstance(value, DeviceArray) and value._node.flags & MASKED != 0


def host_outputs(out: Any) -> tuple[np.ndarray, ...]:
    """Return the ndarrays among a call's outputs if clarray may write to all of them. NumPy computes other dtypes."""
    outputs = out if isinstance(out, tuple) else (out,)
    targets = tuple(
        x for x in outputs if isinstance(x, np.ndarray) and operand_protocol(type(x)) is OperandProtocol.CONVERT
    )
    return targets if all(is_device_dtype(x.dtype) for x in targets) else ()


def write_to_host(
    function: Callable[..., Any], targets: tuple[np.ndarray, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function of clarray that writes to ndarrays.

    Parameters
    ----------
    function : callable
    targets : tuple of ndarray
        The outputs. Each is an argument, or is in a tuple or list among the arguments.
    args, kwargs
        The arguments.

    Returns
    -------
    object
        The function's result, with the ndarrays in place of device arrays.

    Raises
    ------
    ValueError
        A target is read-only.
    """
    if not all(target.flags.writeable for target in targets):
        raise ValueError("output array is read-only")
    array = first_device_array((args, kwargs))
    device = current_device() if array is None else array.device
    stand_ins = [_StandIn(target, device) for target in targets]

    def substituted(argument: Any) -> Any:
        return _substitute(argument, stand_ins)

    returned = function(*map(substituted, args), **{name: substituted(argument) for name, argument in kwargs.items()})
    for stand_in in stand_ins:
        stand_in.finish()
    return _restore(returned, stand_ins)


class _StandIn:
    """A device array that replaces an ndarray as the output of a call."""

    def __init__(self, target: np.ndarray, device: Device) -> None:
        self.target = target
        node = share(target, device)
        self._is_copy = node is None
        if node is None:
            node = upload(target, data_dtype(target.dtype, device), device)
        self.array = mark_0d_array(wrap(node))

    def finish(self) -> None:
        """Wait until the elements are in the ndarray's memory."""
        if self._is_copy:
            np.copyto(self.target, asnumpy(self.array))
        else:
            evaluate(self.array._node)
            self.array.device.synchronize()


def _substitute(argument: Any, stand_ins: list[_StandIn]) -> Any:
    """Replace the output ndarrays in an argument by device arrays, and other views of their memory by copies."""
    if isinstance(argument, np.ndarray):
        for stand_in in stand_ins:
            if stand_in.target is argument:
                return stand_in.array
        return (
            argument.copy()
            if any(np.may_share_memory(argument, stand_in.target) for stand_in in stand_ins)
            else argument
        )
    if type(argument) in (tuple, list):
        return type(argument)(_substitute(x, stand_ins) for x in argument)
    return argument


def _restore(returned: Any, stand_ins: list[_StandIn]) -> Any:
    """Replace the device arrays in a result by the output ndarrays."""
    if type(returned) is tuple:
        return tuple(_restore(x, stand_ins) for x in returned)
    return next((stand_in.target for stand_in in stand_ins if stand_in.array is returned), returned)
