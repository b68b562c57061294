"""Methods of arrays as a program gets them: numbers are NumPy's scalars, and NumPy does what clarray cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray
from clarray._core.fallback import on_host
from clarray._core.host_policy import config
from clarray.run.functions import ASKED_AGAIN
from clarray.run.scalars import as_host_number

__all__ = ["changed_methods", "element_methods"]

# Methods that may give a number, or are asked for a dtype that clarray lacks.
_NAMES = (
    *("all", "any", "argmax", "argmin", "astype", "choose", "cumprod", "cumsum", "dot", "max", "mean", "min", "prod"),
    *("round", "searchsorted", "std", "sum", "take", "trace", "var", "view"),
    *("__array_function__", "__matmul__", "__rmatmul__"),
)


def _is_own(frame: FrameType) -> bool:
    """Return whether a frame runs clarray's own code, which computes with pending numbers and handles its errors."""
    name = frame.f_globals.get("__name__", "")
    return name.startswith("clarray.") and not name.startswith("clarray.run.")


def _changed(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    numpys = getattr(np.ndarray, name)

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = method(self, *args, **kwargs)
        except ASKED_AGAIN:
            if type(self) is not DeviceArray or config.host_fallback == "raise" or _is_own(sys._getframe(1)):
                raise
        else:
            if type(result) is not DeviceArray or not issubclass(result.__class__, np.generic):
                return result
            return result if _is_own(sys._getframe(1)) else as_host_number(result)
        return as_host_number(on_host(f"numpy.ndarray.{name}", numpys, (self, *args), kwargs))

    return call


def _writing_to_host(method: Callable[..., Any]) -> Callable[..., Any]:
    """Have ``ndarray += array`` write to the ndarray, by NumPy on the host."""

    @wraps(method)
    def call(self: Any, ufunc: np.ufunc, kind: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if type(out) is tuple and any(issubclass(type(one), np.ndarray) for one in out):
            given = [asnumpy(x) if isinstance(x, DeviceArray) else x for x in inputs]
            if not any(isinstance(x, DeviceArray) for x in (*out, kwargs.get("where"))):
                return getattr(ufunc, kind)(*given, **kwargs)
        return method(self, ufunc, kind, *inputs, **kwargs)

    return call


def _reduce(self: DeviceArray, protocol: Any) -> Any:
    """Pickle as NumPy's array or scalar, for any process to read."""
    return asnumpy(self).__reduce_ex__(protocol)


def _ctypes(self: DeviceArray) -> Any:
    """``ctypes`` of the same memory, where that is the host's."""
    return self.__array__(copy=False).ctypes


def _iterating(method: Callable[..., Any]) -> Callable[..., Any]:
    """Have a loop over the elements copy them to the host once."""

    @wraps(method)
    def call(self: Any) -> Any:
        return iter(asnumpy(self)) if type(self) is DeviceArray and self.ndim == 1 else method(self)

    return call


def element_methods() -> dict[str, Any]:
    """Return the methods that give NumPy's scalars for elements on a device with memory of its own, by name."""
    getitem, iterate = (vars(DeviceArray)[name] for name in ("__getitem__", "__iter__"))
    return {"__getitem__": _changed("__getitem__", getitem), "__iter__": _iterating(iterate)}


def changed_methods() -> dict[str, Any]:
    """Return the methods that arrays have while a program runs, by name."""
    others: dict[str, Any] = {"__reduce_ex__": _reduce, "ctypes": property(_ctypes)}
    others["__array_ufunc__"] = _writing_to_host(vars(DeviceArray)["__array_ufunc__"])
    return {name: _changed(name, vars(DeviceArray)[name]) for name in _NAMES} | others
