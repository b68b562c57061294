"""Find the call that computes a NaN or an infinity: `clarray.config.check_finite`.

    config.check_finite  ->  while it is on, methods and functions are wrapped in a check
                                    |
      one call of the user's: masks of finite operands -> the call, evaluated at once -> masks of finite results
                                    |
                  FloatingPointError if an element is not finite, and all elements that it was computed from are

Floating-point flags exist on the host only, so NumPy's warnings cannot report a device's errors. The masks can. Values
that clarray computes internally are not checked, and elements that depend on a NaN or an infinity raise no error.
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
from clarray._api.finite_calls import INPUT_FUNCTIONS, Call, parse_call
from clarray._api.functions import UFunc
from clarray._api.late_names import load_all
from clarray._api.operator_table import operator_names
from clarray._api.protocols import forget_counterparts
from clarray._api.subclasses import SubclassMixin
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_policy import Config, config
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import CONST, Node
from clarray._engine.runtime.profiling import NOWHERE, caller
from clarray._engine.threads import import_whole
from clarray._numpy.kernels.base import Kernel

__all__ = ["attach"]

_MODULES = ("fft", "lib.scimath", "lib.stride_tricks", "linalg", "ndimage", "special")
_UNCHECKED = (
    *("__new__", "__class_getitem__", "__array_namespace__", "__dlpack_device__", "__iter__", "explain", "setflags"),
    *("device", "set_device", "profile", "synchronize", "reset", "devices"),
)

_calls = threading.local()  # `inside` during a check of the user's call: nested calls are not checked


# Switching on and off ---------------------------------------------------------------------------------


def attach(namespace: ModuleType) -> None:
    """Make `clarray.config.check_finite` check calls of methods and of the functions of `namespace`, clarray."""
    config.watch(_Switch(namespace))


class _Switch:
    """Wrap methods and functions in checks, and unwrap them.

    A signal handler may switch while its thread does. So functions are replaced one by one, and a wrapped function is
    not wrapped again.
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
                    setattr(owner, name, _with_check(function, name))
        else:
            with suppress(IndexError):
                while True:
                    setattr(*self._replaced.pop())
        forget_counterparts()  # NumPy's protocols call the replaced functions


def _methods() -> Iterator[tuple[type, str]]:
    names = [name for name in (*attached(), "evaluate", "__array_function__") if name not in _UNCHECKED]
    for kind in (DeviceArray, SubclassMixin):
        for name in names:
            attribute = vars(kind).get(name)
            if callable(attribute) and not isinstance(attribute, staticmethod | classmethod):
                yield kind, name
    for name in ("__call__", "reduce", "accumulate", "reduceat", "outer", "at"):
        yield UFunc, name
    for kernel in Kernel.__subclasses__():
        yield kernel, "__call__"


def _functions(namespace: ModuleType) -> Iterator[tuple[ModuleType, str]]:
    for module in (namespace, *(import_whole(f"{namespace.__name__}.{name}") for name in _MODULES)):
        for name in vars(namespace) if module is namespace else module.__all__:
            attribute = getattr(module, name)
            ours = not name.startswith("_") and name not in _UNCHECKED and attribute is not getattr(np, name, None)
            if ours and callable(attribute) and not isinstance(attribute, type | UFunc | Config | np.ufunc):
                yield module, name


# One call ---------------------------------------------------------------------------------------------


def _with_check(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a function in a check of its operands and results."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if getattr(_calls, "inside", False) or not config.check_finite:
            return function(*args, **kwargs)
        _calls.inside = True
        try:
            return _call_with_check(function, parse_call(name, _OPERATORS, args, kwargs), args, kwargs)
        finally:
            _calls.inside = False

    setattr(checked, _CHECKS, True)
    return checked


_CHECKS = "checks_finite"  # attribute of the functions that check
_OPERATORS = operator_names()


def _call_with_check(function: Callable[..., Any], call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for array in _arrays((*call.operands, *call.written)):
        _compute(array, call.name)
    written = _arrays(call.written)
    masks = [_evaluated(_finite(value)) for value in call.operands] if written else None  # they may overlap
    result = function(*args, **kwargs)
    if call.name in INPUT_FUNCTIONS:
        return result
    results = [array for array in _arrays(result) if all(array is not value for value in (*call.operands, *written))]
    for array in (*results, *written):
        if array.dtype.kind in "fc" and not _all_true(_finite(array)):
            _raise_if_new_nonfinite(array, call, list(map(_finite, call.operands)) if masks is None else masks)
    return result


def _compute(array: DeviceArray, name: str) -> None:
    """Evaluate and check an operand that is pending: it may come from an unchecked call."""
    node = array._node
    if node.memory is not None or node.op is CONST:
        return
    inputs, operation = inputs_of(node), getattr(node.op, "name", str(node.op))
    array.evaluate()
    if array.dtype.kind in "fc" and not _all_true(_finite(array)):
        call = Call(name=f"{operation} (begun before, computed for {name})", operands=())
        _raise_if_new_nonfinite(array, call, [_finite_node(node) for node in inputs])


def _arrays(result: Any) -> list[DeviceArray]:
    if isinstance(result, DeviceArray):
        return [result]
    if isinstance(result, dict):
        result = tuple(result.values())
    return [array for element in result for array in _arrays(element)] if isinstance(result, tuple | list) else []


# Finite elements ----------------------------------------------------------------------------------------


def _finite(value: Any) -> Any:
    """Return which elements are finite: a mask, one bool for all of them, or None if it is unknown."""
    if isinstance(value, DeviceArray):
        return _finite_node(value.evaluate()._node if value._node.op is not CONST else value._node)
    if value is None or isinstance(value, int | slice | type | np.dtype | np.integer | np.bool_):
        return True
    if isinstance(value, str):
        return value.strip().lower().lstrip("+-") not in ("nan", "inf", "infinity")  # NumPy parses strings as numbers
    if isinstance(value, float | complex | np.inexact):
        return bool(np.isfinite(value))
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list) and any(isinstance(element, DeviceArray | tuple | list) for element in value):
        finite = [_finite(element) for element in value]
        return None if any(element is None for element in finite) else all(map(_all_true, finite))
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


def _all_true(mask: Any) -> bool:
    return bool(mask) if isinstance(mask, bool) or mask is None else bool(mask.all())


def _evaluated(mask: Any) -> Any:
    """Evaluate a mask, so that writes to the array do not change it."""
    return mask.evaluate() if isinstance(mask, DeviceArray) else mask


def _raise_if_new_nonfinite(array: DeviceArray, call: Call, masks: list[Any]) -> None:
    """Raise FloatingPointError if an element of an array is not finite, although its operands' elements are."""
    values = wrap(array._node)
    nonfinite = ~np.isfinite(values)
    operand_masks = None if any(mask is None for mask in masks) else call.broadcast_masks(masks, values.shape)
    if operand_masks is None:  # the operands of an element are unknown: any element may be the cause
        if not all(map(_all_true, masks)):
            return
        operand_masks = []
    for mask in operand_masks:
        nonfinite = nonfinite & mask
    if call.dependence == "each":
        nonfinite = nonfinite & call.where  # other elements keep their old values
    count = int(nonfinite.sum())
    if not count:
        return
    position = tuple(map(int, np.unravel_index(int(nonfinite.ravel().argmax()), values.shape)))
    line = caller()
    location = "" if line == NOWHERE else f"; at {line}"
    extent = f"{count:,} of {values.size:,} elements" if values.size > 1 else "its one element"
    raise FloatingPointError(
        f"{call.name}: the result, {values.dtype.name} of shape {values.shape}, is {values[position].item()} "
        f"at {position} ({extent}), where what it is computed of is finite{location} (clarray.config.check_finite)"
    )
