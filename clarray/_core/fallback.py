"""Computation on the host, if the policies allow it.

- `run_on_host`: NumPy functions that clarray lacks. The policy is ``config.host_fallback``.
- `by_numpy`: calls of clarray's functions with dtypes that no device supports. The policy is ``config.host_library``.
- `through_library`: parts of clarray's functions that a host library computes. The policy is ``config.host_library``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.callers import warn_user
from clarray._core.creation import array
from clarray._core.device_array import DeviceArray, is_scalar, wrap
from clarray._core.host_calls import call_on_host
from clarray._core.host_data import host_view
from clarray._core.host_policy import HostFallbackWarning, config
from clarray._core.operands import OperandProtocol, first_device_array, operand_protocol
from clarray._engine.evaluate import evaluate
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import profiling


def run_on_host(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function that clarray lacks on host copies of its device arrays.

    An output (``out=``, or the first argument of a function that returns nothing) is written back.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_fallback`, is 'raise', and there is a device array among the arguments.
    """
    if first_device_array((args, kwargs)) is not None:
        _apply_policy(
            config.host_fallback,
            f"{name} has no device implementation in clarray, and clarray.config.host_fallback is "
            "'raise': set it to 'warn' or 'allow' to run such functions on the host, or convert the "
            "arrays with clarray.asnumpy",
            f"{name} has no device implementation in clarray: its arrays are copied to the host, and its result back",
        )
    copies = _Copies(DeviceArray.get)
    computed = copies.run("fallback", name, function, args, kwargs)
    return copies.to_device(computed)


def by_numpy(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None
) -> Any:
    """Call NumPy's function in place of clarray's, for an operand, result or output that no device supports.

    Parameters
    ----------
    function : callable
        NumPy's function.
    args, kwargs
        The call's arguments. Device arrays are copied to the host. Outputs are written back.
    name : str, optional
        Name of the function, for messages and profiles.

    Returns
    -------
    object
        The result of NumPy's function. Arrays of numbers are on the device if an argument is a device array.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_library`, is 'raise', and there is a device array among the arguments.
    """
    if name is None:
        name = f"{getattr(function, '__module__', None) or 'numpy'}.{function.__name__}"
    host_kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "like")}
    if first_device_array((args, host_kwargs)) is not None:
        _apply_policy(
            config.host_library,
            f"NumPy computes {name} here, on copies of the device arrays, and clarray.config.host_library is 'raise': "
            "set it to 'warn' or 'allow', or convert the arrays with clarray.asnumpy",
            f"NumPy computes {name} here, on copies of the device arrays",
        )
    copies = _Copies(DeviceArray.get)
    computed = copies.run("host", name, function, args, host_kwargs)
    return copies.to_device(computed) if copies.pairs else computed


def through_library(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function of a host library, as documented for one of clarray's own functions.

    Unlike `run_on_host`, this is the documented implementation, and it is allowed by default. On devices that work in
    host memory, the library reads the arrays in place.

    Parameters
    ----------
    name : str
        Name of the library's function, for messages and profiles.
    function : callable
        The library's function. It neither writes to its arguments nor keeps references to them.
    *args, **kwargs
        The function's arguments. Device arrays are passed as ndarrays.

    Returns
    -------
    object
        The function's result, with arrays on the device of the arguments.

    Raises
    ------
    TypeError
        The policy, `clarray.config.host_library`, is 'raise'.
    """
    _apply_policy(
        config.host_library,
        f"clarray calls {name}, on the host, for this, and clarray.config.host_library is 'raise': set it to "
        "'warn' or 'allow', or convert the arrays with clarray.asnumpy",
        f"clarray calls {name}, on the host, for this",
    )

    map_sequence(_evaluate_array, (args, tuple(kwargs.values())))  # captured, unlike what `compute` does

    def compute() -> Any:
        copies = _Copies(_readable)
        host_args, host_kwargs = copies.to_host(args), copies.to_host(kwargs)
        start = time.perf_counter()
        computed = function(*host_args, **host_kwargs)
        profiling.record("host", name, 0, time.perf_counter() - start)
        return copies.to_device(computed)

    return call_on_host(function, args, kwargs, compute, _is_library_allowed)


def _evaluate_array(operand: Any) -> Any:
    """Evaluate the device arrays in an argument."""
    return evaluate(operand._node) if isinstance(operand, DeviceArray) else map_sequence(_evaluate_array, operand)


def _is_library_allowed() -> bool:
    """Return whether functions of a host library run without a warning."""
    return config.host_library == "allow"


def _apply_policy(policy: str, refusal: str, warning: str) -> None:
    """Apply the user's policy before a function runs on the host: raise TypeError, warn, or do nothing."""
    if policy == "raise":
        raise TypeError(refusal)
    if policy == "warn":
        warn_user(warning, HostFallbackWarning)


def _readable(array: DeviceArray) -> np.ndarray:
    """Return an array's elements as a read-only ndarray: on the array's memory if it is host memory, else a copy."""
    node = evaluate(array._node)
    if not node.size or not array.device.capabilities.host_memory:
        return array.get()
    array.device.synchronize()
    view = host_view(node)
    assert view is not None
    view.flags.writeable = False
    return view


class _Copies:
    """Host copies of a call's device arrays, one ndarray each. Results are copied back to the arrays' device."""

    def __init__(self, copy: Callable[[DeviceArray], np.ndarray]) -> None:
        self._copy = copy
        self._host_inputs: set[int] = set()  # identities of the ndarrays among the arguments
        self.pairs: dict[int, tuple[DeviceArray, Any]] = {}  # by id(array). The values keep the arrays alive

    def to_host(self, operand: Any) -> Any:
        if isinstance(operand, DeviceArray):
            pair = self.pairs.get(id(operand))
            if pair is None:
                host_copy = self._copy(operand)
                pair = self.pairs[id(operand)] = operand, host_copy[()] if is_scalar(operand) else host_copy
            return pair[1]
        if isinstance(operand, dict):
            return {key: self.to_host(member) for key, member in operand.items()}
        if isinstance(operand, np.ndarray):
            self._host_inputs.add(id(operand))
        return map_sequence(self.to_host, operand)

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
        host_args = self.to_host(args)
        returned = function(*host_args, **self.to_host(kwargs))
        profiling.record(kind, name, 0, time.perf_counter() - start)
        output = kwargs.get("out")
        if output is None and returned is None and args:
            output = args[0]
        for target in output if isinstance(output, tuple) else (output,):
            if isinstance(target, DeviceArray):
                target[...] = self.to_host(target)
        return returned

    def to_device(self, result: Any) -> Any:
        kind: Any = type(result)
        if id(result) in self._host_inputs:  # an output of the call
            return result
        if issubclass(kind, np.ndarray | np.generic) and operand_protocol(kind) is OperandProtocol.CONVERT:
            for device_array, host in self.pairs.values():
                if host is result:
                    return device_array
            if result.dtype not in DTYPES or not result.dtype.isnative:
                return result
            first_pair = next(iter(self.pairs.values()), None)
            uploaded = array(result, device=None if first_pair is None else first_pair[0].device)
            return uploaded if kind is np.ndarray else wrap(uploaded._node)  # a scalar stays a scalar
        return map_sequence(self.to_device, result)


def map_sequence(function: Callable[[Any], Any], container: Any) -> Any:
    """Apply a function to the members of a tuple or a list. Return other objects unchanged."""
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return type(container)(*map(function, container))
    if type(container) in (tuple, list):
        return type(container)(map(function, container))
    return container
