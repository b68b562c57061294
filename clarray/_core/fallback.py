"""What runs on the host, if the policies allow it.

- `on_host`: NumPy functions that clarray does not have. ``config.host_fallback`` decides.
- `by_numpy`: calls of clarray's functions with arrays that no device holds. ``config.host_library`` decides.
- `through_library`: parts of clarray's functions that a host library computes. ``config.host_library`` decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.callers import warn
from clarray._core.creation import array
from clarray._core.device_array import DeviceArray, is_number, wrap
from clarray._core.host_data import host_window
from clarray._core.host_policy import HostFallbackWarning, config
from clarray._core.operands import Manner, first_device_array, manner_of
from clarray._engine.evaluate import evaluate
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import profiling


def on_host(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function that clarray does not have on host copies of its device arrays.

    What the function writes to (``out=``, or the first argument of one that returns nothing) is
    written back.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_fallback`, is 'raise', and there is a device array among the arguments.
    """
    if first_device_array((args, kwargs)) is not None:
        _ask(
            config.host_fallback,
            f"{name} has no device implementation in clarray, and clarray.config.host_fallback is "
            "'raise': set it to 'warn' or 'allow' to run such functions on the host, or convert the "
            "arrays with clarray.asnumpy",
            f"{name} has no device implementation in clarray: its arrays are copied to the host, and its result back",
        )
    copies = _Copies(DeviceArray.get)
    result = copies.run("fallback", name, function, args, kwargs)
    return copies.to_device(result)


def by_numpy(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None
) -> Any:
    """Call NumPy's function in place of clarray's: an operand, a result or an output is one that no device holds.

    Parameters
    ----------
    function : callable
        NumPy's.
    args, kwargs
        The call's. Device arrays are copied to the host, and what the function writes to them is written back.
    name : str, optional
        Of the function, for messages and profiles.

    Returns
    -------
    object
        What NumPy's function returns. Arrays of numbers go to the device if a device array took part.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_library`, is 'raise', and there is a device array among the arguments.
    """
    if name is None:
        name = f"{getattr(function, '__module__', None) or 'numpy'}.{function.__name__}"
    named = {key: value for key, value in kwargs.items() if key not in ("device", "like")}
    if first_device_array((args, named)) is not None:
        _ask(
            config.host_library,
            f"NumPy computes {name} here, on copies of the device arrays, and clarray.config.host_library is 'raise': "
            "set it to 'warn' or 'allow', or convert the arrays with clarray.asnumpy",
            f"NumPy computes {name} here, on copies of the device arrays",
        )
    copies = _Copies(DeviceArray.get)
    result = copies.run("host", name, function, args, named)
    return copies.to_device(result) if copies.known else result


def through_library(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function of a host library, as documented for one of clarray's own functions.

    Unlike `on_host` this is how clarray's function is meant to work, and it is allowed unless the user says
    otherwise. On devices that work in host memory the library reads the arrays where they are.

    Parameters
    ----------
    name : str
        Of the library's function, for messages and profiles.
    function : callable
        It neither writes to its arguments nor keeps them.
    *args, **kwargs
        Its arguments; arrays are given to it as ndarrays.

    Returns
    -------
    object
        What the function returns, arrays on the device of the arguments.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_library`, is 'raise'.
    """
    _ask(
        config.host_library,
        f"clarray calls {name}, on the host, for this, and clarray.config.host_library is 'raise': set it to "
        "'warn' or 'allow', or convert the arrays with clarray.asnumpy",
        f"clarray calls {name}, on the host, for this",
    )
    arrays = _Copies(_readable)
    given, named = arrays.to_host(args), arrays.to_host(kwargs)
    start = time.perf_counter()
    result = function(*given, **named)
    profiling.record("host", name, 0, time.perf_counter() - start)
    return arrays.to_device(result)


def _ask(policy: str, refusal: str, warning: str) -> None:
    """Do as a policy of the user's says before a function runs on the host: raise TypeError, warn, or nothing."""
    if policy == "raise":
        raise TypeError(refusal)
    if policy == "warn":
        warn(warning, HostFallbackWarning)


def _readable(array: DeviceArray) -> np.ndarray:
    """An array's elements, to be read only: where they are if that is host memory, else a copy."""
    node = evaluate(array._node)
    if not node.size or not array.device.capabilities.host_memory:
        return array.get()
    array.device.synchronize()
    window = host_window(node)
    assert window is not None
    window.flags.writeable = False
    return window


class _Copies:
    """Copy a call's arrays to the host, one ndarray for each, and results back to their device."""

    def __init__(self, copy: Callable[[DeviceArray], np.ndarray]) -> None:
        self._copy = copy
        self._given: set[int] = set()  # identities of the call's own ndarrays
        self.known: dict[int, tuple[DeviceArray, Any]] = {}  # by the identities of the arrays, which it keeps alive

    def to_host(self, value: Any) -> Any:
        if isinstance(value, DeviceArray):
            known = self.known.get(id(value))
            if known is None:
                copied = self._copy(value)
                known = self.known[id(value)] = value, copied[()] if is_number(value) else copied
            return known[1]
        if isinstance(value, dict):
            return {key: self.to_host(one) for key, one in value.items()}
        if isinstance(value, np.ndarray):
            self._given.add(id(value))
        return mapped(self.to_host, value)

    def run(
        self,
        kind: profiling.Kind,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call a function. Write back to ``out=``, or to the first argument if it returns nothing."""
        start = time.perf_counter()
        given = self.to_host(args)
        result = function(*given, **self.to_host(kwargs))
        profiling.record(kind, name, 0, time.perf_counter() - start)
        written = kwargs.get("out")
        if written is None and result is None and args:
            written = args[0]
        for target in written if isinstance(written, tuple) else (written,):
            if isinstance(target, DeviceArray):
                target[...] = self.to_host(target)
        return result

    def to_device(self, value: Any) -> Any:
        kind: Any = type(value)
        if id(value) in self._given:  # written to by the call
            return value
        if issubclass(kind, np.ndarray | np.generic) and manner_of(kind) is Manner.PLAIN:
            for ours, host in self.known.values():
                if host is value:
                    return ours
            if value.dtype not in DTYPES or not value.dtype.isnative:
                return value
            first = next(iter(self.known.values()), None)
            made = array(value, device=None if first is None else first[0].device)
            return made if kind is np.ndarray else wrap(made._node)  # of a number one
        return mapped(self.to_device, value)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to what a tuple or a list holds; give anything else as it is."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if type(value) in (tuple, list):
        return type(value)(map(function, value))
    return value
