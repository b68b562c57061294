"""Small calls: functions that NumPy computes in place on a device that is the CPU.

    clarray.roll(x, 3)  --  has the core captured such a call?  --yes-->  replay its launches
                                      |
                                      no
                                      v
                            small, in host memory, exact?  --yes-->  numpy.roll on the arrays' memory, into new memory;
                                      |                              after many such calls clarray's, to be captured
                                      no
                                      v
                            clarray's own roll, by kernels

Planning a call and building its kernels' cache keys takes longer than NumPy for thousands of elements, and compiling a
kernel takes 100 ms. So NumPy computes a call if it is small, if it is not captured, and if NumPy's result has the bits
of the kernels': functions that move, order, compare, count or find elements, or compute with integers. A replay is
faster than NumPy (roll of 100 elements: 2 us and 15 us, allclose: 4 us and 30 us, take: 2 us and 6 us).
`clarray._api.small_functions` lists the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from inspect import signature, unwrap
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clarray._core.device_array import DeviceArray, is_writeable
from clarray._core.host_calls import NOT_COMPUTED, call_on_host, try_on_host
from clarray._core.sequences import holds_arrays
from clarray._core.small_operands import (
    MAX_ELEMENTS,
    SEQUENCES,
    HostOperands,
    compute_on_host,
    is_allowed,
    is_exact_write,
    node_device,
    overwrite,
    supports_small_calls,
)
from clarray._core.writes import with_device_lock
from clarray._engine.launch.host_tier import setting
from clarray._engine.ops.host_functions import is_host_exact_cast
from clarray._engine.runtime import Device, current_device
from clarray._engine.runtime.capture import must_use_kernels
from clarray._engine.speedups import around_captured

__all__ = ["Rule", "small_call", "small_write"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Rule(NamedTuple):
    """The condition under which NumPy computes a call of a function.

    Parameters
    ----------
    numpys : callable
        NumPy's function, or an ndarray's method, that computes the call.
    dtypes : {'any', 'one', 'joined', 'alike', 'integers'}
        Condition on the operands' dtypes. 'any': none. 'one': a single dtype, or integers and bools, so that NumPy
        converts no float (it converts Python numbers, as kernels do). 'joined': like 'one', with Python numbers as
        arrays of float64 and so on. 'alike': dtypes that NumPy and kernels compute alike. 'integers': integers, bools.
    room : callable, optional
        Return the number of elements of the result or of intermediate arrays from NumPy's operands. It is needed if
        this can be far more than the operands have.
    joined : int
        Number of leading operands that are joined. Other arguments, such as axes, do not affect the dtype.
    most, most_integers : int
        Maximum number of elements for NumPy. The second limit holds if all operands are integers or bools.
    refused : tuple of str
        Parameters that only kernels support.
    """

    numpys: Callable[..., Any]
    dtypes: str
    room: Callable[..., int] | None = None
    joined: int = 1
    most: int = MAX_ELEMENTS
    most_integers: int = MAX_ELEMENTS
    refused: tuple[str, ...] = ("out", "dtype", "casting", "like", "device")

    def compute(self, *operands: Any, **keywords: Any) -> Any:
        """Call NumPy's function. Raise ValueError if the result or intermediate arrays are too large."""
        if self.room is not None and self.room(*operands, **keywords) > self.most:
            raise ValueError("a result for kernels")
        return self.numpys(*operands, **keywords)


def small_call(ours: Function, rule: Rule) -> Function:
    """Wrap a function: NumPy computes its small calls unless the core replays them."""
    return around_captured(ours, lambda function: _small_call(function, rule))


def _small_call(ours: Function, rule: Rule) -> Function:
    code = unwrap(ours).__code__
    names = code.co_varnames[: code.co_argcount]
    max_positional = min([names.index(name) for name in rule.refused if name in names], default=len(names))
    if code.co_flags & 4:  # *args
        max_positional = MAX_ELEMENTS

    def call(*args: Any, **kwargs: Any) -> Any:
        if setting.on and len(args) <= max_positional and not must_use_kernels():
            device = _first_device(args, rule.dtypes == "integers")
            operands = args
            if device is None and args and type(args[0]) in SEQUENCES:
                device, operands = _sequence_operands(rule, args)
            if device is not None and (not kwargs or kwargs.keys().isdisjoint(rule.refused)):
                with device.lock:
                    compute = partial(_try_on_host, rule, device, operands, kwargs)
                    computed = call_on_host(rule.compute, operands, kwargs, compute, is_allowed, until_frequent=True)
                if computed is not NOT_COMPUTED:
                    return computed
        return ours(*args, **kwargs)

    return update_wrapper(call, ours)  # type: ignore[return-value]


def small_write(
    ours: Function, numpys: Callable[..., Any], values: tuple[int, ...] = (), most: int = MAX_ELEMENTS
) -> Function:
    """Wrap a function that writes to its first operand: NumPy does small writes.

    Parameters
    ----------
    ours : callable
    numpys : callable
        NumPy's function that does the same to an ndarray.
    values : tuple of int
        Positions of the operands whose values are written, and converted if needed.
    most : int
        Maximum number of elements for NumPy.
    """
    return around_captured(ours, lambda function: _small_write(function, numpys, values, most))


def _small_write(ours: Function, numpys: Callable[..., Any], values: tuple[int, ...], most: int) -> Function:
    min_operands = 2 if values else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        target = args[0] if setting.on and not kwargs and len(args) >= min_operands else None
        if type(target) is DeviceArray and is_writeable(target) and not must_use_kernels():
            device = node_device(target._node)
            if supports_small_calls(device):
                with device.lock:
                    write = partial(_try_write, target, numpys, args, values, most)
                    if call_on_host(numpys, args, {}, write, is_allowed, until_frequent=True) is None:
                        return None
        return ours(*args, **kwargs)

    return with_device_lock(next(iter(signature(ours).parameters)))(update_wrapper(call, ours))  # type: ignore[return-value]


def _try_write(
    target: DeviceArray, numpys: Callable[..., Any], args: tuple[Any, ...], values: tuple[int, ...], most: int
) -> Any:
    """Let NumPy write to the target and return None, or return NOT_COMPUTED."""
    node = target._node
    operands = HostOperands(node_device(node), most).convert(args)
    if operands is None or not all(
        is_exact_write(operands[position], node.dtype) for position in values if position < len(operands)
    ):
        return NOT_COMPUTED
    return try_on_host(overwrite, node, numpys, *operands)


def _try_on_host(rule: Rule, device: Device, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return NumPy's result on the device, or NOT_COMPUTED."""
    converter = HostOperands(
        device, rule.most, rule.joined if rule.dtypes == "joined" else 0, rule.dtypes == "integers"
    )
    operands = converter.convert((*args, *kwargs.values()) if kwargs else args)
    if operands is None or not _has_exact_dtypes(rule, converter):
        return NOT_COMPUTED
    keywords = {}
    if kwargs:
        keywords = dict(zip(kwargs, operands[len(args) :], strict=True))
        del operands[len(args) :]
    if device.pending:
        device.finish()
    # after an error clarray's function computes the call or raises the error
    return try_on_host(compute_on_host, device, rule.numpys.__name__, rule.compute, operands, keywords)


def _first_device(args: tuple[Any, ...], integers: bool) -> Device | None:
    """Return the device of the first array among the operands if it supports small calls.

    With `integers`, return None for an array of another dtype.
    """
    for operand in args:
        while type(operand) in SEQUENCES and operand:
            operand = operand[0]
        if type(operand) is DeviceArray:
            if integers and operand._node.dtype.kind not in "biu":
                return None
            device = node_device(operand._node)
            return device if supports_small_calls(device) else None
    return None


def _sequence_operands(rule: Rule, args: tuple[Any, ...]) -> tuple[Device | None, tuple[Any, ...]]:
    """Return the device of a call whose first operand is a list of numbers, and the operands with an ndarray for it."""
    device = current_device()
    if not supports_small_calls(device) or holds_arrays(args[0]):
        return None, args
    if rule.dtypes == "joined":  # a list of arrays
        return device, args
    try:
        return device, (np.asarray(args[0]), *args[1:])
    except Exception:  # clarray's function raises the error
        return None, args


def _has_exact_dtypes(rule: Rule, operands: HostOperands) -> bool:
    condition = rule.dtypes
    if operands.integers and rule.most - operands.remaining > rule.most_integers:
        return False
    if condition == "any":
        return True
    if condition == "integers":
        return operands.integers
    if condition == "alike":
        return all(is_host_exact_cast(dtype, dtype) for dtype in operands.dtypes)
    # a single dtype of floats, because a float among integers would lose its fraction
    return operands.integers or (len(operands.dtypes) == 1 and next(iter(operands.dtypes)).kind in "fc")
