"""How NumPy finds clarray: ufuncs, functions, pickling."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray import creation, folds, reductions, ufunc_calls
from clarray.array import DeviceArray


def array_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``__array_ufunc__``: every method of a ufunc."""
    if method == "__call__":
        return ufunc_calls.call(ufunc, inputs, **kwargs)
    if method == "outer":
        return ufunc_calls.outer(ufunc, *inputs, **kwargs)
    out = kwargs.get("out")
    if isinstance(out, tuple):
        kwargs = {**kwargs, "out": out[0]}
    if method == "reduce":
        return reductions.ufunc_reduce(ufunc, *inputs, **kwargs)
    return getattr(folds, method)(ufunc, *inputs, **kwargs)


def array_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``__array_function__``: clarray's function of the same name, or an error that names it."""
    import clarray

    module = func.__module__.removeprefix("numpy").lstrip(".")
    scope: Any = clarray
    if module and not module.startswith("lib"):
        scope = getattr(clarray, module, None)
    ours = getattr(scope, func.__name__, None)
    if ours is None or isinstance(ours, np.ufunc):
        raise TypeError(
            f"numpy.{func.__name__} has no device implementation in clarray yet: "
            "convert the arrays with clarray.asnumpy to use NumPy on the host"
        )
    return ours(*args, **kwargs)


def rebuild(array: np.ndarray) -> DeviceArray:
    """Unpickle: an array on the current device."""
    return creation.array(array)
