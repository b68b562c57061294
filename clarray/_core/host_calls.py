"""Calls of host functions on elements of device arrays, which programs repeat.

    NumPy computes roll(x, 3)  ->  is the call captured?  --no-->   the result
                                            |
                                            yes
                                            v
                               HostCall, a step of the program: numpy.roll on a view of x's memory, into new memory

`clarray._core.small_calls` and `clarray._core.fallback` decide which functions run on the host, and convert the
operands and results of calls that are not captured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from clarray._core.conversion import asnumpy
from clarray._core.device_array import DeviceArray, is_scalar, wrap
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.host_value import MemoryView
from clarray._engine.expr.node import MASKED, HostScalar, Node
from clarray._engine.runtime import Memory
from clarray._engine.runtime.capture import (
    Capture,
    abort_capture,
    current_capture,
    is_raised_by_library,
    suspended,
)

__all__ = ["MAX_ELEMENTS", "NOT_COMPUTED", "call_on_host", "try_on_host"]

_CONSTANTS = (type(None), bool, int, float, complex, str, type(Ellipsis), slice, np.dtype, type)


class _NotComputed:
    """Type of the value that tells that the host has done nothing and kernels must compute the call."""

    def __repr__(self) -> str:
        return "NOT_COMPUTED"


NOT_COMPUTED: Any = _NotComputed()
_HOST_VALUES = (np.ndarray, np.generic)
MAX_ELEMENTS = 1 << 15  # of the operands and the result of a small call, together: see small_operands.py


class _Uncapturable(Exception):
    """A program cannot repeat the call."""


class _Operand(NamedTuple):
    """A device array among the arguments or results of a call."""

    view: MemoryView
    scalar: bool  # whether the function gets, or has returned, NumPy's scalar


class HostCall:
    """A call of a host function as a step of a program. See `clarray._engine.runtime.steps.HostStep`.

    Parameters
    ----------
    function : callable
    args, kwargs : tuple, dict
        The arguments, with a `_Operand` for each device array.
    result : object
        The captured result, with a `_Operand` for each array, or None if the function writes to its first argument.
    is_allowed : callable
        Return whether the host may still compute such calls.
    """

    __slots__ = ("_function", "_args", "_kwargs", "_bound", "_result", "_is_allowed")

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        is_allowed: Callable[[], bool],
    ) -> None:
        self._function = function
        self._args = list(args)
        self._kwargs = kwargs
        self._bound = [(position, value) for position, value in enumerate(args) if _has_operand(value)]
        self._result = result
        self._is_allowed = is_allowed

    def __call__(self, *memories: Memory) -> bool:
        """Call the function, and write its results. Return False if Python has to do the call."""
        if not self._is_allowed():
            return False
        try:
            args, kwargs = self._args.copy(), self._kwargs
            for position, value in self._bound:
                args[position] = _bind(value, memories)
            if kwargs:
                kwargs = {name: _bind(value, memories) for name, value in kwargs.items()}
            returned = self._function(*args, **kwargs)
        except Exception as error:
            if not is_raised_by_library(error):
                raise
            return False  # the call in Python raises it where the user sees the call
        return _store(self._result, returned, memories)


def call_on_host(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    compute: Callable[[], Any],
    is_allowed: Callable[[], bool],
    until_frequent: bool = False,
) -> Any:
    """Return the result of a host function. If the call of clarray's function is captured, note a step that repeats it.

    Parameters
    ----------
    function : callable
        A function of NumPy or of another library, which keeps no reference to its arguments.
    args, kwargs : tuple, dict
        Its arguments: device arrays on one device, numbers, strings, sequences of these.
    compute : callable
        Call the function with ndarrays, and return its result on the device, or NOT_COMPUTED. Arrays of the result are
        new memory. None means that the function may have written to its first argument.
    is_allowed : callable
        Return whether the host may compute such calls: by the user's policy, or by the state of the host tier.
    until_frequent : bool
        Whether kernels replace the function in frequent calls.
    """
    capture = current_capture()
    if capture is None:
        return compute()
    _evaluate_small((args, tuple(kwargs.values())))
    with suspended(capture):
        result = compute()
    if result is NOT_COMPUTED:
        return result
    try:
        memories: list[Memory] = []
        call = _host_call(capture, memories, function, args, kwargs, result, is_allowed)
        capture.called_on_host(call, memories, until_frequent)
    except _Uncapturable:
        abort_capture()
    return result


def try_on_host(function: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a call, or NOT_COMPUTED if a library raises an error. Other errors belong to the user."""
    try:
        return function(*args)
    except Exception as error:
        if not is_raised_by_library(error):
            raise
        return NOT_COMPUTED


def _evaluate_small(operand: Any) -> None:
    """Evaluate the small arrays among the arguments. `compute` would do so as well, but outside of the capture."""
    if isinstance(operand, DeviceArray):
        if operand._node.memory is None and not operand._node.flags & MASKED and operand.size <= MAX_ELEMENTS:
            evaluate(operand._node)
    elif type(operand) in (tuple, list):
        for member in operand:
            _evaluate_small(member)


def _host_call(
    capture: Capture,
    memories: list[Memory],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    is_allowed: Callable[[], bool],
) -> HostCall:
    """Return the step of a call, and append its memories, those of the operands first."""
    args = tuple(_template(value, memories) for value in args)
    kwargs = {name: _template(value, memories) for name, value in kwargs.items()}
    if result is None and memories:
        capture.overwritten(memories[0])
    result = _result_template(result, memories, len(memories), capture)
    return HostCall(function, args, kwargs, result, is_allowed)


def _add_view(leaf: Node, memories: list[Memory]) -> MemoryView:
    """Return the view of a leaf, and add its memory to the list."""
    memory = leaf.memory
    assert memory is not None
    number = next((k for k, other in enumerate(memories) if other is memory), len(memories))
    if number == len(memories):
        memories.append(memory)
    return MemoryView.from_leaf(leaf, number)


def _template(value: Any, memories: list[Memory]) -> Any:
    """Return an argument with views in place of device arrays."""
    kind = type(value)
    if kind is DeviceArray:
        return _Operand(_add_view(value._node, memories), is_scalar(value))
    if kind in (tuple, list):
        return kind(_template(member, memories) for member in value)
    if kind in _CONSTANTS or isinstance(value, np.generic):
        return value
    raise _Uncapturable


def _has_operand(template: Any) -> bool:
    """Return whether an argument is a device array, or a sequence with one."""
    return type(template) is _Operand or (type(template) in (tuple, list) and any(map(_has_operand, template)))


def _bind(template: Any, memories: Sequence[Memory]) -> Any:
    """Return an argument with ndarrays in place of views."""
    kind = type(template)
    if kind is _Operand:
        view, scalar = template
        array = view.on(memories)
        if array is None:  # a copy of these elements only, because the host does not see the memory
            array = asnumpy(wrap(view.leaf(memories)))
        return array[()] if scalar else array
    return kind([_bind(member, memories) for member in template]) if kind in (tuple, list) else template


def _result_template(result: Any, memories: list[Memory], operands: int, capture: Capture) -> Any:
    """Return a result with views of new memory in place of device arrays, and note that memory in the capture.

    The first memories are those of the operands, which no result may share.
    """
    kind = type(result)
    if kind is DeviceArray:
        node, scalar = result._node, is_scalar(result)
        if isinstance(node, HostScalar) and node.memory is None:
            memory = node.device.allocate(node.dtype.itemsize)
            capture.scalars[id(node)] = node, capture.temporary_number(memory)
            memories.append(memory)
            return _Operand(MemoryView(len(memories) - 1, (), node.dtype, 0, ()), True)
        count = len(memories)
        view = _add_view(node, memories)
        if view.number < operands:
            raise _Uncapturable
        if view.number == count:  # a view of new memory
            capture.allocated(memories[view.number])
        return _Operand(view, scalar)
    if kind in (tuple, list) or hasattr(result, "_fields"):
        return tuple([_result_template(member, memories, operands, capture) for member in result])
    if kind in (type(None), bool, int):
        return result
    raise _Uncapturable


def _store(template: Any, returned: Any, memories: Sequence[Memory]) -> bool:
    """Write a result to new memory. Return False if its structure is not that of the captured result."""
    kind = type(template)
    if kind is _Operand:
        return _store_array(template.view, returned, memories)
    if kind is tuple:
        if not isinstance(returned, tuple | list) or len(returned) != len(template):
            return False
        return all(_store(*pair, memories) for pair in zip(template, returned, strict=True))
    return type(returned) is kind and bool(returned == template)


def _store_array(view: MemoryView, returned: Any, memories: Sequence[Memory]) -> bool:
    if not isinstance(returned, _HOST_VALUES) or returned.shape != view.shape or returned.dtype != view.dtype:
        return False
    elements = view.on(memories)
    if elements is not None:
        elements[...] = returned
    else:
        memory = memories[view.number]
        buffer = np.zeros(memory.nbytes, np.uint8)
        np.ndarray(view.shape, view.dtype, buffer, view.offset, view.strides)[...] = returned
        memory.device.write(memory, 0, buffer)
    return True
