"""NumPy functions that have no device implementation, on the host where the policy allows it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray.array import DeviceArray
from clarray.config import HostFallbackWarning, config
from clarray.creation import array
from clarray.ops.dtypes import DTYPES

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def on_host(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function on host copies of its device arrays; the result comes back to the device.

    What the function writes to (``out=``, or the first argument of one that returns nothing) is
    written back.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_fallback`, is 'raise'.
    """
    policy = config.host_fallback
    if policy == "raise":
        raise TypeError(
            f"{name} has no device implementation in clarray, and clarray.config.host_fallback is "
            "'raise': set it to 'warn' or 'allow' to run such functions on the host, or convert the "
            "arrays with clarray.asnumpy"
        )
    if policy == "warn":
        warnings.warn(
            f"{name} has no device implementation in clarray: its arrays are copied to the host, and its result back",
            HostFallbackWarning,
            stacklevel=_callers_level(),
        )
    copies = _Copies()
    given = copies.to_host(args)
    result = function(*given, **copies.to_host(kwargs))
    written = kwargs.get("out")
    if written is None and result is None and args:
        written = args[0]
    for target in written if isinstance(written, tuple) else (written,):
        if isinstance(target, DeviceArray):
            target[...] = copies.to_host(target)
    return copies.to_device(result)


def _callers_level() -> int:
    """The stacklevel, for a warning given by the caller, of the nearest frame outside clarray."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


class _Copies:
    """The host copies of a call's arrays, one of each, on whose device the result goes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[DeviceArray, np.ndarray]] = {}

    def to_host(self, value: Any) -> Any:
        if isinstance(value, DeviceArray):
            known = self._known.get(id(value))
            if known is None:
                known = self._known[id(value)] = value, value.get()
            return known[1]
        if isinstance(value, dict):
            return {key: self.to_host(one) for key, one in value.items()}
        return _mapped(self.to_host, value)

    def to_device(self, value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            for ours, host in self._known.values():
                if host is value:
                    return ours
            if value.dtype.newbyteorder("=") not in DTYPES:
                return value
            first = next(iter(self._known.values()), None)
            return array(value, device=None if first is None else first[0].device)
        return _mapped(self.to_device, value)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to what a tuple or a list holds; give anything else as it is."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if type(value) in (tuple, list):
        return type(value)(map(function, value))
    return value
