"""Protocols through which NumPy calls clarray: ufuncs, functions, pickling."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from clarray import special
from clarray._api.array_api import VERSIONS
from clarray._core import callers, creation, pickling, ufunc_calls
from clarray._core.device_array import DeviceArray, hold_for
from clarray._core.fallback import by_numpy, run_on_host
from clarray._core.host_data import SMALL
from clarray._core.host_fallback import ERRORS_FOR_NUMPY, without_host_fallback
from clarray._core.operands import OperandProtocol, first_device_array, on_device, operand_protocol, refuse_subclass
from clarray._core.small_operands import window
from clarray._core.ufunc_keywords import check_keywords
from clarray._core.writes import host_outputs, write_to_host
from clarray._engine.ops.dtypes import HostOnly
from clarray._engine.ops.ufuncs import supported_ufuncs
from clarray._engine.runtime import current_device, use_device
from clarray._numpy.products import gufuncs
from clarray._numpy.reduction import accumulations, reduce_calls

_WARNS_OF_UNSET = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
_UNSET = (
    "'where' used without 'out', expect unitialized memory in output. If this is intentional, use out=None of "
    "clarray's function: NumPy's does not pass it on"
)
_OWN = {DeviceArray, int, float, bool, complex}


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Implement ``__array_ufunc__`` for all methods of a ufunc. NumPy computes what no device can."""
    try:
        return device_ufunc(ufunc, method, inputs, kwargs)
    except ERRORS_FOR_NUMPY:
        pass
    name = _public_name(ufunc)
    return by_numpy(getattr(ufunc, method), inputs, kwargs, name if method == "__call__" else f"{name}.{method}")


def device_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of a ufunc on device arrays. Raise HostOnly for an operand whose dtype no device supports."""
    if kwargs and method == "__call__" and (target := _sole_output(ufunc, inputs, kwargs)) is not None:
        return ufunc_calls.ufunc_writer(ufunc)(target, kwargs.get("where", True), *inputs)
    outs = _as_tuple(kwargs.get("out"))
    for x in (*inputs, *outs):
        manner = operand_protocol(type(x))
        if manner in (OperandProtocol.OVERRIDES, OperandProtocol.OPTS_OUT):
            return NotImplemented
        if manner is OperandProtocol.SUBCLASS:
            refuse_subclass(x)
    targets = host_outputs(outs if "out" in kwargs else inputs[0] if method == "at" else None)
    if targets:
        if len(targets) == 1 and method == "__call__" and kwargs.keys() == {"out"}:
            written = _compute_into_ndarray(targets[0], ufunc, inputs)
            if written is not None:
                return written
        return write_to_host(partial(_protocol, ufunc, method), targets, inputs, kwargs)
    _check_keywords(ufunc, method, kwargs)
    if outs and all(out is Ellipsis for out in outs):  # NumPy's request for an array, which device results are anyway
        kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    if ufunc in gufuncs.generalized and method == "__call__":
        return gufuncs.call(ufunc, inputs, **kwargs)
    if ufunc not in supported_ufuncs:
        return _unsupported(ufunc, method, inputs, kwargs)
    if method == "__call__":
        return ufunc_calls.call(ufunc, inputs, **kwargs)
    return _call_method(ufunc, method, inputs, kwargs)


def _compute_into_ndarray(target: np.ndarray, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> np.ndarray | None:
    """Compute a ufunc, and copy its result into a small ndarray; None if it has another shape or dtype.

    For such an ndarray this is faster than sharing its memory. The device is held from the copy of the first operand to
    the write, so that no update of the ndarray by another thread is lost.
    """
    array = first_device_array(inputs)
    if array is None or target.nbytes > SMALL or not target.flags.writeable:
        return None
    with hold_for(array, *inputs):
        converted = [on_device(x, array) for x in inputs]
        result = array.__array_ufunc__(ufunc, "__call__", *converted)
        if not isinstance(result, DeviceArray) or result.dtype != target.dtype or result.shape != target.shape:
            return None
        with result.device.lock:
            values = window(result._node)
            result.device.finish()
            np.copyto(target, result.get() if values is None else values)
    return target


def _call_method(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if method == "outer":
        return accumulations.outer(ufunc, *inputs, **kwargs)
    out = kwargs.get("out")
    if isinstance(out, tuple):
        kwargs = {**kwargs, "out": out[0]}
    if method == "reduce":
        return reduce_calls.ufunc_reduce(ufunc, *inputs, **kwargs)
    return getattr(accumulations, method)(ufunc, *inputs, **kwargs)


def _protocol(ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    return array_ufunc(ufunc, method, inputs, kwargs)


def _check_keywords(ufunc: np.ufunc, method: str, kwargs: dict[str, Any]) -> None:
    """Raise TypeError for an unknown keyword. Warn about ``where=`` without ``out=``, as NumPy does since 2.4."""
    if not kwargs or method != "__call__":
        return
    check_keywords(ufunc, kwargs)
    if _WARNS_OF_UNSET and "out" not in kwargs and kwargs.get("where", True) is not True:
        callers.warn_user(_UNSET, UserWarning)


def _unsupported(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a ufunc without a loop: by a function of `clarray.special`, or on the host if allowed."""
    scipys = special.function_for_ufunc(ufunc)
    if scipys is not None and method == "__call__" and not kwargs:
        return scipys(*inputs)
    if set("".join(ufunc.types)) == {"O", "-", ">"}:  # made from a Python function by frompyfunc
        raise HostOnly(f"{ufunc.__name__} gives objects, which no device holds", np.dtype(object))
    tail = "" if method == "__call__" else f".{method}"
    return run_on_host(f"{_public_name(ufunc)}{tail}", getattr(ufunc, method), inputs, kwargs)


def _sole_output(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> DeviceArray | None:
    """Return the output of a call whose only keywords are ``out=`` and ``where=``, or None for any other call."""
    out = kwargs.get("out")
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    if type(out) is not DeviceArray or len(kwargs) > 1 + ("where" in kwargs) or len(inputs) != ufunc.nin:
        return None
    ours = ufunc in supported_ufuncs and ufunc.nout == 1 and _OWN.issuperset([type(x) for x in inputs])
    return out if ours else None


def _public_name(ufunc: np.ufunc) -> str:
    """Return the dotted public name of a ufunc, or only its name if it belongs to neither NumPy nor SciPy."""
    name = ufunc.__name__
    for module in ("numpy", "scipy.special"):
        attribute = getattr(sys.modules.get(module), name, None)
        if getattr(attribute, "__wrapped__", attribute) is ufunc:
            return f"{module}.{name}"
    return name


def _as_tuple(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def get_array_module(*args: Any) -> ModuleType:
    """Return the module `clarray` if any argument is a device array, else `numpy`, as CuPy's function does.

    Parameters
    ----------
    *args : object

    Returns
    -------
    module

    Examples
    --------
    >>> import clarray
    >>> clarray.get_array_module(clarray.ones(3), 2).__name__
    'clarray'
    >>> clarray.get_array_module([1, 2]).__name__
    'numpy'
    """
    namespace: ModuleType = next((a.__array_namespace__() for a in args if isinstance(a, DeviceArray)), np)
    return namespace


def array_function(array: DeviceArray, func: Any, types: Any, args: Any, kwargs: Any, namespace: ModuleType) -> Any:
    """Implement ``__array_function__``: call clarray's function of the same name, or NumPy's on the host if allowed.

    New arrays are created on the device of `array`, which may be the argument ``like`` of a creation function.
    """
    if len(types) == 1 and type(array) is DeviceArray:  # the most frequent calls
        cached, memory = _counterparts.get(func), array._node.memory
        if cached is not None and memory is not None and memory.device is current_device():
            return cached(*args, **kwargs)
    for kind in types:
        if issubclass(kind, np.ndarray) and kind.__array_function__ is np.ndarray.__array_function__:
            if kind not in (np.ndarray, np.memmap):
                return by_numpy(func, args, kwargs)
        elif not issubclass(kind, DeviceArray):
            return NotImplemented
    ours = counterpart(func, namespace)
    if ours is None:
        return run_on_host(f"{func.__module__}.{func.__name__}", func, args, kwargs)
    device = array.device
    if device is current_device():
        return ours(*args, **kwargs)
    with use_device(device):
        return ours(*args, **kwargs)


def counterpart(func: Any, namespace: ModuleType) -> Any:
    """Return the function of `namespace`, clarray, that corresponds to NumPy's `func`, or None."""
    function = _counterparts.get(func)
    if function is None:
        package, *parts = func.__module__.split(".")
        module_: Any = namespace if package == "numpy" else None
        for part in parts:
            module_ = getattr(module_, part, None)
        function = getattr(module_, func.__name__, None)
        if function is func or module_ is None:
            return None
        # Libraries that call NumPy's functions, as Dask does, expect TypeError for a dtype that the device lacks.
        function = without_host_fallback(function)
        _counterparts[func] = function
    return function


_counterparts: dict[Any, Any] = {}


def forget_counterparts() -> None:
    """Clear the cache of clarray's functions after they have been replaced."""
    _counterparts.clear()


def check_version(api_version: str | None) -> None:
    """Raise ValueError for a version of the Array API standard that clarray's arrays do not implement."""
    if api_version is not None and api_version not in VERSIONS:
        versions = ", ".join(VERSIONS)
        raise ValueError(f"clarray has no version {api_version!r} of the array API standard; it has {versions}")


def _rebuild(array: np.ndarray) -> DeviceArray:
    """Unpickle an array on the current device."""
    return creation.array(array)


def _adopt(buffer: Any, layout: pickling.Layout) -> DeviceArray:
    """Unpickle an array by protocol 5, on the current device, in the buffer's own memory if possible."""
    return pickling.incoming(buffer, layout)


_rebuild.__module__ = _adopt.__module__ = "clarray"  # a stable path: pickles outlive the layout of folders
