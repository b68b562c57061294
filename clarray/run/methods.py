"""The program's methods of arrays: they return NumPy's scalars for numbers, and fall back to NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray
from clarray._core.fallback import run_on_host
from clarray._core.host_policy import config
from clarray.run.functions import FALLBACK_ERRORS
from clarray.run.scalars import as_host_number

__all__ = ["changed_methods", "element_methods"]

# Methods that may return a number, or have a dtype as argument that clarray may lack.
_CHANGED_METHODS = (
    *("all", "any", "argmax", "argmin", "astype", "choose", "cumprod", "cumsum", "dot", "max", "mean", "min", "prod"),
    *("round", "searchsorted", "std", "sum", "take", "trace", "var", "view"),
    *("__array_function__", "__matmul__", "__rmatmul__"),
)


def _is_own(frame: FrameType) -> bool:
    """Return whether a frame runs clarray's own code, which computes with pending numbers and handles its errors."""
    name = frame.f_globals.get("__name__", "")
    return name.startswith("clarray.") and not name.startswith("clarray.run.")


def _with_fallback(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    numpys = getattr(np.ndarray, name)

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = method(self, *args, **kwargs)
        except FALLBACK_ERRORS:
            if type(self) is not DeviceArray or config.host_fallback == "raise" or _is_own(sys._getframe(1)):
                raise
        else:
            if type(result) is not DeviceArray or not issubclass(result.__class__, np.generic):
                return result
            return result if _is_own(sys._getframe(1)) else as_host_number(result)
        return as_host_number(run_on_host(f"numpy.ndarray.{name}", numpys, (self, *args), kwargs))

    return call


def _write_ndarrays_on_host(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``__array_ufunc__``: NumPy computes calls with an ndarray as output, as in ``ndarray += array``."""

    @wraps(method)
    def call(self: Any, ufunc: np.ufunc, kind: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if type(out) is tuple and any(issubclass(type(output), np.ndarray) for output in out):
            host_inputs = [asnumpy(x) if isinstance(x, DeviceArray) else x for x in inputs]
            if not any(isinstance(x, DeviceArray) for x in (*out, kwargs.get("where"))):
                return getattr(ufunc, kind)(*host_inputs, **kwargs)
        return method(self, ufunc, kind, *inputs, **kwargs)

    return call


def _reduce(self: DeviceArray, protocol: Any) -> Any:
    """Pickle as NumPy's array or scalar, which any process can load."""
    return asnumpy(self).__reduce_ex__(protocol)


def _ctypes(self: DeviceArray) -> Any:
    """Return ``ctypes`` of the array's own memory, which must be host memory."""
    return self.__array__(copy=False).ctypes


def _iterate_on_host(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``__iter__``: a loop over elements copies them to the host once."""

    @wraps(method)
    def call(self: Any) -> Any:
        return iter(asnumpy(self)) if type(self) is DeviceArray and self.ndim == 1 else method(self)

    return call


def element_methods() -> dict[str, Any]:
    """Return the methods, by name, that make elements NumPy's scalars on a device with its own memory."""
    getitem, iterate = (vars(DeviceArray)[name] for name in ("__getitem__", "__iter__"))
    return {"__getitem__": _with_fallback("__getitem__", getitem), "__iter__": _iterate_on_host(iterate)}


def changed_methods() -> dict[str, Any]:
    """Return the methods that arrays have while a program runs, by name."""
    others: dict[str, Any] = {"__reduce_ex__": _reduce, "ctypes": property(_ctypes)}
    others["__array_ufunc__"] = _write_ndarrays_on_host(vars(DeviceArray)["__array_ufunc__"])
    return {name: _with_fallback(name, vars(DeviceArray)[name]) for name in _CHANGED_METHODS} | others
