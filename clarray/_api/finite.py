"""Finding what made a NaN or an infinity: `clarray.config.check_finite`.

    config.check_finite  ->  methods and functions stand behind a check while it is on, and have none while it is off
                                    |
      one call of the user's: operands, finite where? -> the call, computed at once -> results, finite where?
                                    |
                  FloatingPointError, where what is not finite was made of what is

Floating-point flags are the host's, so NumPy's warnings cannot follow a device. The values can: a result that is not
finite where all that it was computed of is has just been made. What clarray itself computes on the way is not looked
at, nor what is not finite in the operands.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from clarray._api.attaching import attached
from clarray._api.finite_calls import GIVES_INPUTS, Call, understood
from clarray._api.functions import UFunc
from clarray._api.late_names import load_all
from clarray._api.operator_table import operator_names
from clarray._api.protocols import forget_counterparts
from clarray._api.subclasses import KeepsClass
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_policy import Config, config
from clarray._engine.expr.node import CONST, Node
from clarray._engine.runtime.profiling import NOWHERE, caller
from clarray._engine.threads import import_whole
from clarray._numpy.kernels.base import Kernel

__all__ = ["attach"]

_MODULES = ("fft", "lib.scimath", "lib.stride_tricks", "linalg", "ndimage", "special")
_NO_CALCULATION = (
    *("__new__", "__class_getitem__", "__array_namespace__", "__dlpack_device__", "__iter__", "explain", "setflags"),
    *("device", "set_device", "profile", "synchronize", "reset", "devices"),
)

_calls = threading.local()  # `inside` while a call of the user's is checked: what it calls is not


# Switching on and off ---------------------------------------------------------------------------------


def attach(namespace: ModuleType) -> None:
    """Let `clarray.config.check_finite` check calls of methods, and of functions of clarray: `namespace`."""
    config.watch(_Switch(namespace))


class _Switch:
    """Puts checks before methods and functions, and takes them away again.

    A signal handler may switch while its thread does. So each function is replaced by itself, and one that a call has
    replaced already is left alone.
    """

    def __init__(self, namespace: ModuleType) -> None:
        self._namespace = namespace
        self._replaced: deque[tuple[Any, str, Any]] = deque()

    def __call__(self, on: bool) -> None:
        if on:
            load_all(self._namespace)
            for owner, name in [*_methods(), *_functions(self._namespace)]:
                function = vars(owner)[name]
                if not hasattr(function, _CHECKS):
                    self._replaced.append((owner, name, function))
                    setattr(owner, name, _checking(function, name))
        else:
            with suppress(IndexError):
                while True:
                    setattr(*self._replaced.pop())
        forget_counterparts()  # NumPy's calls go to what stands there now


def _methods() -> Iterator[tuple[type, str]]:
    names = [name for name in (*attached(), "evaluate", "__array_function__") if name not in _NO_CALCULATION]
    for kind in (DeviceArray, KeepsClass):
        for name in names:
            found = vars(kind).get(name)
            if callable(found) and not isinstance(found, staticmethod | classmethod):
                yield kind, name
    for name in ("__call__", "reduce", "accumulate", "reduceat", "outer", "at"):
        yield UFunc, name
    for kernel in Kernel.__subclasses__():
        yield kernel, "__call__"


def _functions(namespace: ModuleType) -> Iterator[tuple[ModuleType, str]]:
    for module in (namespace, *(import_whole(f"{namespace.__name__}.{name}") for name in _MODULES)):
        for name in vars(namespace) if module is namespace else module.__all__:
            found = getattr(module, name)
            ours = not name.startswith("_") and name not in _NO_CALCULATION and found is not getattr(np, name, None)
            if ours and callable(found) and not isinstance(found, type | UFunc | Config | np.ufunc):
                yield module, name


# One call ---------------------------------------------------------------------------------------------


def _checking(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that looks at its operands before, and at its results after."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if getattr(_calls, "inside", False) or not config.check_finite:
            return function(*args, **kwargs)
        _calls.inside = True
        try:
            return _checked(function, understood(name, _OPERATORS, args, kwargs), args, kwargs)
        finally:
            _calls.inside = False

    setattr(checked, _CHECKS, True)
    return checked


_CHECKS = "checks_finite"  # attribute of the functions that check
_OPERATORS = operator_names()


def _checked(function: Callable[..., Any], call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for array in _arrays((*call.operands, *call.written)):
        _compute(array, call.name)
    written = _arrays(call.written)
    masks = [_copied(_finite(value)) for value in call.operands] if written else None  # they may overlap
    result = function(*args, **kwargs)
    if call.name in GIVES_INPUTS:
        return result
    made = [array for array in _arrays(result) if all(array is not value for value in (*call.operands, *written))]
    for array in (*made, *written):
        if array.dtype.kind in "fc" and not _holds(_finite(array)):
            _raise_if_made(array, call, list(map(_finite, call.operands)) if masks is None else masks)
    return result


def _compute(array: DeviceArray, name: str) -> None:
    """Compute an operand that was pending already: it has been begun where nothing was checked."""
    node = array._node
    if node.memory is not None or node.op is CONST:
        return
    inputs, begun = node.inputs, getattr(node.op, "name", str(node.op))
    array.evaluate()
    if array.dtype.kind in "fc" and not _holds(_finite(array)):
        call = Call(name=f"{begun} (begun before, computed for {name})", operands=())
        _raise_if_made(array, call, [_finite_node(node) for node in inputs])


def _arrays(result: Any) -> list[DeviceArray]:
    if isinstance(result, DeviceArray):
        return [result]
    if isinstance(result, dict):
        result = tuple(result.values())
    return [array for one in result for array in _arrays(one)] if isinstance(result, tuple | list) else []


# What is finite -----------------------------------------------------------------------------------------


def _finite(value: Any) -> Any:
    """Return which elements are finite: a mask, one bool for all of them, or None if that is not known."""
    if isinstance(value, DeviceArray):
        return _finite_node(value.evaluate()._node if value._node.op is not CONST else value._node)
    if value is None or isinstance(value, int | slice | type | np.dtype | np.integer | np.bool_):
        return True
    if isinstance(value, str):
        return value.strip().lower().lstrip("+-") not in ("nan", "inf", "infinity")  # NumPy reads texts as numbers
    if isinstance(value, float | complex | np.inexact):
        return bool(np.isfinite(value))
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list) and any(isinstance(one, DeviceArray | tuple | list) for one in value):
        found = [_finite(one) for one in value]
        return None if any(one is None for one in found) else all(map(_holds, found))
    try:
        host = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if host.dtype.kind in "biu":
        return True
    return np.isfinite(host) if host.dtype.kind in "fc" else None


def _finite_node(node: Node) -> Any:
    if node.dtype.kind not in "fc":
        return True
    return bool(np.isfinite(node.value)) if node.op is CONST else np.isfinite(wrap(node))


def _holds(mask: Any) -> bool:
    return bool(mask) if isinstance(mask, bool) or mask is None else bool(mask.all())


def _copied(mask: Any) -> Any:
    """A mask that stays what it is when the array is written."""
    return mask.evaluate() if isinstance(mask, DeviceArray) else mask


def _raise_if_made(array: DeviceArray, call: Call, masks: list[Any]) -> None:
    """Raise FloatingPointError if something of an array is not finite where all that it was computed of is."""
    found = wrap(array._node)
    made = ~np.isfinite(found)
    fitting = None if any(mask is None for mask in masks) else call.fitted(masks, found.shape)
    if fitting is None:  # nothing tells which operands an element is of: any of them may be to blame
        if not all(map(_holds, masks)):
            return
        fitting = []
    for mask in fitting:
        made = made & mask
    if call.manner == "each":
        made = made & call.where  # elsewhere is what was there
    count = int(made.sum())
    if not count:
        return
    place = tuple(map(int, np.unravel_index(int(made.ravel().argmax()), found.shape)))
    line = caller()
    at = "" if line == NOWHERE else f"; at {line}"
    many = f"{count:,} of {found.size:,} elements" if found.size > 1 else "its one element"
    raise FloatingPointError(
        f"{call.name}: the result, {found.dtype.name} of shape {found.shape}, is {found[place].item()} at {place} "
        f"({many}), where what it is computed of is finite{at} (clarray.config.check_finite)"
    )
