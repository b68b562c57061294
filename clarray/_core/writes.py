"""Calls that write to an argument: one hold of the device's lock, and ndarrays as targets.

clarray computes what is written to an ndarray, and the result lies in the ndarray's own memory:

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
from clarray._core.device_array import DeviceArray, hold_for, no_number, wrap
from clarray._core.host_data import data_dtype, share, upload
from clarray._core.operands import Manner, first_device_array, manner_of
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import MASKED
from clarray._engine.ops.dtypes import is_device_dtype
from clarray._engine.runtime import Device, current_device

__all__ = ["host_outputs", "one_hold", "write_to_host"]

Function = TypeVar("Function", bound=Callable[..., Any])


def one_hold(name: str) -> Callable[[Function], Function]:
    """Decorator: hold the device's lock from the first read to the last write of a call that writes to an argument.

    It also holds the lock if the first argument is a pending selection, as the call may read what that selects from.

    Parameters
    ----------
    name : str
        The argument that is written; see `hold_for`.
    """

    def decorate(function: Function) -> Function:
        at = [*signature(function).parameters].index(name)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            target = kwargs.get(name) if name in kwargs or len(args) <= at else args[at]
            if type(target) is tuple and len(target) == 1:
                (target,) = target
            if target is None and args and _is_selection(args[0]):
                target = args[0]
            if target is None:
                return function(*args, **kwargs)
            if isinstance(target, np.ndarray):
                targets = host_outputs(target)  # through `call` again, which holds the lock for their stand-ins
                return write_to_host(call, targets, args, kwargs) if targets else function(*args, **kwargs)
            with hold_for(target, *args, *kwargs.values()):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _is_selection(value: Any) -> bool:
    return isinstance(value, DeviceArray) and value._node.flags & MASKED != 0


def host_outputs(out: Any) -> tuple[np.ndarray, ...]:
    """Return the ndarrays among a call's outputs, if clarray may write to all of them; NumPy computes other dtypes."""
    listed = out if isinstance(out, tuple) else (out,)
    targets = tuple(x for x in listed if isinstance(x, np.ndarray) and manner_of(type(x)) is Manner.PLAIN)
    return targets if all(is_device_dtype(x.dtype) for x in targets) else ()


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
    array = first_device_array((args, kwargs))
    device = current_device() if array is None else array.device
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
