"""Small calls: functions that NumPy computes where the arrays lie, on a device that is the CPU.

    clarray.roll(x, 3)  --  has the core recorded such a call?  --yes-->  its launches, again
                                      |
                                      no
                                      v
                            small, in host memory, exact?  --yes-->  numpy.roll on the arrays' memory, into new memory;
                                      |                              after many such calls clarray's, to be recorded
                                      no
                                      v
                            clarray's own roll, by kernels

A plan and the keys of its kernels take longer than NumPy for thousands of elements, and a kernel 100 ms to compile. So
whatever gives the same bits whoever computes it, as it moves, orders, compares, counts or finds elements, or computes
with integers, is NumPy's own as long as it is small and has no recording. The core repeats recorded launches in less
time than NumPy takes: roll of 100 elements 2 us and 15, allclose 4 and 30, take 2 and 6.
`clarray._api.small_functions` says which functions there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature, unwrap
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clarray._core.device_array import DeviceArray, is_writeable
from clarray._core.sequences import holds_arrays
from clarray._core.small_operands import (
    ELSEWHERE,
    MOST,
    SEQUENCES,
    Taker,
    computed,
    device_of_node,
    is_kept,
    overwrite,
    serves,
)
from clarray._core.writes import one_hold
from clarray._engine.launch.first_calls import setting
from clarray._engine.ops.host_functions import is_cast_alike
from clarray._engine.runtime import Device, current_device
from clarray._engine.runtime.capture import is_for_kernels
from clarray._engine.speedups import around_recorded

__all__ = ["Rule", "small_call", "small_write"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Rule(NamedTuple):
    """The condition under which NumPy computes a call of a function.

    Parameters
    ----------
    numpys : callable
        What computes it: NumPy's function, or an ndarray's method.
    dtypes : {'any', 'one', 'joined', 'alike', 'integers'}
        Of the operands: whatever they are; one for all, or integers and bools, so that no float is converted (Python's
        numbers beside them are, as in kernels); the same, Python's numbers being float64 and so on; those that are
        computed alike; integers and bools.
    room : callable, optional
        How many elements the result, or what is computed on the way, has, from NumPy's operands: where that may be far
        more than they have.
    joined : int
        How many operands, the first ones, are joined; what else there is, axes and the like, has no say in the dtype.
    most, most_integers : int
        Elements up to which a call is NumPy's; where all are integers or bools, the smaller of both.
    refused : tuple of str
        Parameters that kernels see to, if one is given.
    """

    numpys: Callable[..., Any]
    dtypes: str
    room: Callable[..., int] | None = None
    joined: int = 1
    most: int = MOST
    most_integers: int = MOST
    refused: tuple[str, ...] = ("out", "dtype", "casting", "like", "device")


def small_call(ours: Function, rule: Rule) -> Function:
    """A function that leaves its small calls to NumPy, where the core does not repeat their launches."""
    return around_recorded(ours, lambda function: _small_call(function, rule))


def _small_call(ours: Function, rule: Rule) -> Function:
    code = unwrap(ours).__code__
    names = code.co_varnames[: code.co_argcount]
    by_position = min([names.index(name) for name in rule.refused if name in names], default=len(names))
    if code.co_flags & 4:  # *args
        by_position = MOST

    def call(*args: Any, **kwargs: Any) -> Any:
        if setting.on and len(args) <= by_position and not is_for_kernels():
            device = _served(args, rule.dtypes == "integers")
            given = args
            if device is None and args and type(args[0]) in SEQUENCES:
                device, given = _served_sequence(rule, args)
            if device is not None:
                found = _tried(rule, device, given, kwargs)
                if found is not ELSEWHERE:
                    return found
        return ours(*args, **kwargs)

    return update_wrapper(call, ours)  # type: ignore[return-value]


def small_write(ours: Function, numpys: Callable[..., Any], values: tuple[int, ...] = (), most: int = MOST) -> Function:
    """A function that writes to its first operand, and leaves that to NumPy where it is small.

    Parameters
    ----------
    ours : callable
    numpys : callable
        What does the same to an ndarray.
    values : tuple of int
        Which of the operands are written, so that they may have to be converted.
    most : int
        Elements up to which a call is NumPy's.
    """
    return around_recorded(ours, lambda function: _small_write(function, numpys, values, most))


def _small_write(ours: Function, numpys: Callable[..., Any], values: tuple[int, ...], most: int) -> Function:
    least = 2 if values else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        target = args[0] if setting.on and not kwargs and len(args) >= least else None
        if type(target) is DeviceArray and is_writeable(target) and not is_for_kernels():
            device = device_of_node(target._node)
            if serves(device):
                with device.lock:
                    if _written(target, numpys, args, values, most):
                        return None
        return ours(*args, **kwargs)

    return one_hold(next(iter(signature(ours).parameters)))(update_wrapper(call, ours))  # type: ignore[return-value]


def _written(
    target: DeviceArray, numpys: Callable[..., Any], args: tuple[Any, ...], values: tuple[int, ...], most: int
) -> bool:
    node = target._node
    taker = Taker(device_of_node(node), most)
    given = taker.each(args)
    if given is None or not all(is_kept(given[at], node.dtype) for at in values if at < len(given)):
        return False
    try:
        overwrite(node, numpys, *given)
    except Exception:
        return False
    return True


def _tried(rule: Rule, device: Device, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy computes; ELSEWHERE where it does not."""
    if kwargs and not kwargs.keys().isdisjoint(rule.refused):
        return ELSEWHERE
    taker = Taker(device, rule.most, rule.joined if rule.dtypes == "joined" else 0, rule.dtypes == "integers")
    with device.lock:
        given = taker.each((*args, *kwargs.values()) if kwargs else args)
        if given is None or not _fit(rule, taker):
            return ELSEWHERE
        named = {}
        if kwargs:
            named = dict(zip(kwargs, given[len(args) :], strict=True))
            del given[len(args) :]
        if device.pending:
            device.finish()
        try:
            if rule.room is not None and rule.room(*given, **named) > rule.most:
                return ELSEWHERE
            return computed(device, rule.numpys, given, named)
        except Exception:  # clarray's own function says what is wrong, or can do it
            return ELSEWHERE


def _served(args: tuple[Any, ...], integers: bool) -> Device | None:
    """The device of the first array among operands, if there are small calls on it, perhaps of `integers` alone."""
    for one in args:
        while type(one) in SEQUENCES and one:
            one = one[0]
        if type(one) is DeviceArray:
            if integers and one._node.dtype.kind not in "biu":
                return None
            device = device_of_node(one._node)
            return device if serves(device) else None
    return None


def _served_sequence(rule: Rule, args: tuple[Any, ...]) -> tuple[Device | None, tuple[Any, ...]]:
    """Return the device of a call whose first operand is a list of numbers, and the operands with an ndarray of it."""
    device = current_device()
    if not serves(device) or holds_arrays(args[0]):
        return None, args
    if rule.dtypes == "joined":  # a list of arrays
        return device, args
    try:
        return device, (np.asarray(args[0]), *args[1:])
    except Exception:  # clarray's own function says what is wrong
        return None, args


def _fit(rule: Rule, taker: Taker) -> bool:
    wanted = rule.dtypes
    if taker.integers and rule.most - taker.left > rule.most_integers:
        return False
    if wanted == "any":
        return True
    if wanted == "integers":
        return taker.integers
    if wanted == "alike":
        return all(is_cast_alike(dtype, dtype) for dtype in taker.dtypes)
    # of floats one dtype, and of integers no number that would lose its fraction among them
    return taker.integers or (len(taker.dtypes) == 1 and next(iter(taker.dtypes)).kind in "fc")
