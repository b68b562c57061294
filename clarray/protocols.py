"""How NumPy finds clarray: ufuncs, functions, pickling."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray import creation, folds, gufuncs, reduce_calls, ufunc_calls
from clarray.array import DeviceArray
from clarray.fallback import on_host
from clarray.inspection import VERSIONS
from clarray.ops.ufuncs import supported_ufuncs


def array_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``__array_ufunc__``: every method of a ufunc."""
    if ufunc in gufuncs.generalized and method == "__call__":
        return gufuncs.call(ufunc, inputs, **kwargs)
    if ufunc not in supported_ufuncs:
        tail = "" if method == "__call__" else f".{method}"
        name = f"numpy.{ufunc.__name__}{tail}"
        return on_host(name, getattr(ufunc, method), inputs, kwargs)
    if method == "__call__":
        return ufunc_calls.call(ufunc, inputs, **kwargs)
    if method == "outer":
        return ufunc_calls.outer(ufunc, *inputs, **kwargs)
    out = kwargs.get("out")
    if isinstance(out, tuple):
        kwargs = {**kwargs, "out": out[0]}
    if method == "reduce":
        return reduce_calls.ufunc_reduce(ufunc, *inputs, **kwargs)
    return getattr(folds, method)(ufunc, *inputs, **kwargs)


def array_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``__array_function__``: clarray's function of the same name, else the host's if allowed."""
    import clarray

    if not all(issubclass(kind, DeviceArray | np.ndarray) for kind in types):
        return NotImplemented
    module = func.__module__.removeprefix("numpy").lstrip(".")
    scope: Any = clarray
    if module and not module.startswith("lib"):
        scope = getattr(clarray, module, None)
    ours = getattr(scope, func.__name__, None)
    if ours is None:
        name = ".".join(part for part in ("numpy", module, func.__name__) if part)
        return on_host(name, func, args, kwargs)
    return ours(*args, **kwargs)


def array_namespace(api_version: str | None) -> Any:
    """``__array_namespace__``: clarray, for every version of the standard up to its own."""
    import clarray

    if api_version is not None and api_version not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise ValueError(f"clarray has no version {api_version!r} of the array API standard; it has {known}")
    return clarray


def rebuild(array: np.ndarray) -> DeviceArray:
    """Unpickle: an array on the current device."""
    return creation.array(array)
