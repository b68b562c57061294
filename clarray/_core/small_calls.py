"""Small calls: functions that NumPy computes where the arrays lie, on a device that is the CPU.

    clarray.roll(x, 3)  --  small, in host memory, exact?  --yes-->  numpy.roll on the arrays' memory, into new memory
                                      |
                                      no
                                      v
                               clarray's own roll, by kernels

A launch costs PoCL more than NumPy takes for thousands of elements, and what comes before it, a plan and the keys of its
kernels, ten times as much. So whatever gives the same bits whoever computes it, as it moves, orders, compares, counts
or finds elements, or computes with integers, is NumPy's own as long as it is small. Which of the two computes follows
from the call, the shapes and the dtypes alone. `clarray._api.small_functions` says which functions there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clarray._core.device_array import DeviceArray, is_writeable, wrap
from clarray._core.host_data import upload
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.host_value import host_array
from clarray._engine.expr.node import CONST, MASKED, Node, known, result_leaf
from clarray._engine.launch.first_calls import setting
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.host_functions import is_cast_alike
from clarray._engine.runtime import Device, profiling
from clarray._engine.writing import flush_readers

__all__ = ["ELSEWHERE", "MOST", "Rule", "picked", "put", "serves", "small_call"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Elements, operands and result together, up to which NumPy computes. docs/tuning.rst has the measurements.
MOST = 1 << 14


class _Elsewhere:
    """What is given back for a call that kernels have to do; nothing has been done."""

    def __repr__(self) -> str:
        return "ELSEWHERE"


ELSEWHERE: Any = _Elsewhere()

_AS_THEY_ARE = frozenset((bool, int, float, complex, str, type(None), slice, type(Ellipsis)))
_SCALARS = frozenset(dtype.type for dtype in DTYPES)
_TYPES_OF = {bool: np.dtype(bool), int: np.dtype(int), float: np.dtype(float), complex: np.dtype(complex)}


class Rule(NamedTuple):
    """Which calls of a function are NumPy's.

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
    refused : tuple of str
        Parameters that kernels see to, if one is given.
    """

    numpys: Callable[..., Any]
    dtypes: str
    room: Callable[..., int] | None = None
    refused: tuple[str, ...] = ("out", "dtype", "casting", "like", "device")


def serves(device: Device) -> bool:
    """Whether there are small calls on a device: on one that is a CPU, of all of NumPy's dtypes, in host memory."""
    can = device.capabilities
    return can.kind == "cpu" and can.host_memory and can.fp64


def small_call(ours: Function, rule: Rule) -> Function:
    """A function that leaves its small calls to NumPy."""
    code = ours.__code__  # type: ignore[attr-defined]
    names = code.co_varnames[: code.co_argcount]
    by_position = min([names.index(name) for name in rule.refused if name in names], default=len(names))
    if code.co_flags & 4:  # *args
        by_position = MOST

    def call(*args: Any, **kwargs: Any) -> Any:
        if setting.on and args and len(args) <= by_position:
            found = _tried(rule, args, kwargs)
            if found is not ELSEWHERE:
                return found
        return ours(*args, **kwargs)

    return update_wrapper(call, ours)  # type: ignore[return-value]


def _tried(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy computes; ELSEWHERE where it does not."""
    for one in args:
        while one.__class__ in (list, tuple) and one:
            one = one[0]
        if one.__class__ is DeviceArray:
            break
    else:
        return ELSEWHERE
    device = _device_of(one._node)
    if not serves(device):
        return ELSEWHERE
    if kwargs:
        for name in kwargs:
            if name in rule.refused:
                return ELSEWHERE
    taker = Taker(device, rule.dtypes == "joined")
    with device.lock:
        given = taker.each(args)
        if given is None or not _fit(rule.dtypes, taker):
            return ELSEWHERE
        named = kwargs
        if kwargs:
            values = taker.each(kwargs.values())
            if values is None:
                return ELSEWHERE
            named = dict(zip(kwargs, values, strict=True))
        try:
            if rule.room is not None and rule.room(*given, **named) > MOST:
                return ELSEWHERE
            return _computed(device, rule.numpys, given, named)
        except Exception:  # clarray's own function says what is wrong, or can do it
            return ELSEWHERE


def _device_of(node: Node) -> Device:
    """The device of a node."""
    while node.memory is None:
        if node.op is CONST:
            return node.device  # type: ignore[attr-defined,no-any-return]
        node = node.inputs[0] if node.inputs else node.args[0]
    return node.memory.device


def _fit(wanted: str, taker: Taker) -> bool:
    if wanted == "any":
        return True
    if wanted == "integers":
        return taker.integers
    if wanted == "alike":
        return all(is_cast_alike(dtype, dtype) for dtype in taker.dtypes)
    return len(taker.dtypes) < 2 or taker.integers


def _computed(device: Device, function: Callable[..., Any], given: Any, named: dict[str, Any]) -> Any:
    """Call a function of NumPy's on arrays that nothing writes to meanwhile; its result on the device."""
    if device.pending:
        device.finish()
    if profiling.state.recorder is None:
        return made(function(*given, **named), device)
    start = time.perf_counter()
    value = function(*given, **named)
    profiling.record("small call", function.__name__, 0, time.perf_counter() - start)
    return made(value, device)


class Taker:
    """Takes a call's operands as NumPy takes them: arrays where they lie, as many as are small together."""

    __slots__ = ("device", "left", "dtypes", "integers", "strong")

    def __init__(self, device: Device, strong: bool = False) -> None:
        self.device = device
        self.left = MOST
        self.dtypes: set[np.dtype] = set()
        self.integers = True  # and bools
        self.strong = strong  # Python's numbers are arrays too

    def each(self, values: Any) -> list[Any] | None:
        """Several operands; None where there is one that only clarray can take."""
        found = []
        for value in values:
            kind = value.__class__
            if kind is DeviceArray:
                value = self.window(value._node)
                if value is None:
                    return None
            elif kind in _AS_THEY_ARE:
                if kind is float or kind is complex:
                    self.integers = False
                if self.strong and kind in _TYPES_OF:
                    self.dtypes.add(_TYPES_OF[kind])
            elif kind is list or kind is tuple:
                self.left -= len(value)
                if self.left < 0:
                    return None
                value = self.each(value)
                if value is None:
                    return None
                if kind is tuple:
                    value = tuple(value)
            elif (kind is np.ndarray or kind in _SCALARS) and value.dtype in DTYPES:
                if not self._counts(value.dtype, value.size):
                    return None
            else:
                return None
            found.append(value)
        return found

    def window(self, node: Node) -> np.ndarray | None:
        """A node's elements where they are, evaluated; None where that is too much."""
        if node.memory is None and node.flags & MASKED:
            return None
        if not self._counts(node.dtype, node.size):
            return None
        if Device.several and _device_of(node) is not self.device:
            return None
        return window(node)

    def _counts(self, dtype: np.dtype, size: int) -> bool:
        self.left -= size
        self.dtypes.add(dtype)
        if dtype.kind not in "biu":
            self.integers = False
        return self.left >= 0


def window(node: Node) -> np.ndarray | None:
    """A node's elements where they are, evaluated; None if that is not host memory. The device has to be waited for."""
    memory = node.memory
    if memory is None:
        memory = evaluate(node).memory
        assert memory is not None
    if node.contiguous and len(node.shape) == 1:
        whole = memory.elements(node.dtype)
        return None if whole is None else whole[node.offset : node.offset + node.size]
    return host_array(node)


# Results --------------------------------------------------------------------------------------------


def made(value: Any, device: Device) -> Any:
    """What NumPy has computed, on a device: its arrays in new memory, numbers as arrays of no axis."""
    kind = value.__class__
    if kind is np.ndarray:
        return _array(value, device)
    if kind in _SCALARS:
        dtype = DTYPES[value.dtype].dtype
        number = value.item()
        if number == number:
            return wrap(known(number, dtype, device))
        return _array(np.asarray(value), device)
    if kind is tuple or kind is list:
        return kind([made(one, device) for one in value])
    if hasattr(value, "_fields"):
        return kind(*[made(one, device) for one in value])
    return value


def _array(value: np.ndarray, device: Device) -> DeviceArray:
    dtype = DTYPES[value.dtype].dtype
    if not value.flags.c_contiguous:
        return wrap(upload(value, dtype, device))
    memory = device.pool.allocate(value.nbytes)
    elements = memory.elements(dtype)
    assert elements is not None
    size = value.size
    elements[:size] = value if value.ndim == 1 else value.reshape(-1)
    node = result_leaf(memory, value)
    node.dtype = dtype
    return wrap(node)


# Reading and writing by arrays ----------------------------------------------------------------------


def picked(array: DeviceArray, key: Any) -> Any:
    """The elements that a key with arrays names; ELSEWHERE where kernels have to find them."""
    if not setting.on or array.__class__ is not DeviceArray:
        return ELSEWHERE
    device = _device_of(array._node)
    if not serves(device):
        return ELSEWHERE
    with device.lock:
        taker = Taker(device)
        taken = _key(taker, key)
        if taken is None:
            return ELSEWHERE
        source = taker.window(array._node)
        if source is None:
            return ELSEWHERE
        try:
            if _named(source, taken) > MOST:
                return ELSEWHERE
            return _computed(device, np.ndarray.__getitem__, (source, taken), {})
        except Exception:
            return ELSEWHERE


def put(array: DeviceArray, key: Any, value: Any) -> bool:
    """Write to the elements that a key with arrays names; False where kernels have to, and nothing has been done."""
    if not setting.on or array.__class__ is not DeviceArray or not is_writeable(array):
        return False
    device = _device_of(array._node)
    if not serves(device):
        return False
    with device.lock:
        taker = Taker(device)
        taken = _key(taker, key)
        if taken is None:
            return False
        given = _assigned(taker, value, array.dtype)
        if given is None:
            return False
        target = taker.window(array._node)
        if target is None:
            return False
        try:
            if _named(target, taken) > MOST:
                return False
            overwrite(array._node, np.ndarray.__setitem__, target, taken, given)
        except Exception:
            return False
    return True


def overwrite(node: Node, function: Callable[..., Any], target: np.ndarray, *args: Any) -> None:
    """Let NumPy write to a leaf's memory; the device's lock is held."""
    memory = node.memory
    assert memory is not None
    if memory.readers:
        flush_readers(memory)
    device = memory.device
    if device.pending:
        device.finish()
    start = time.perf_counter() if profiling.state.recorder is not None else 0.0
    function(target, *args)
    if profiling.state.recorder is not None:
        profiling.record("small call", function.__name__, 0, time.perf_counter() - start)


def _key(taker: Taker, key: Any) -> Any:
    """A key as NumPy takes it, with arrays for lists; None where it is clarray's to understand."""
    items = taker.each(key if key.__class__ is tuple else (key,))
    if items is None:
        return None
    for at, item in enumerate(items):
        if item.__class__ is list:
            numbers = np.array(item) if item else np.array(item, np.intp)
            if numbers.dtype.kind not in "biu":
                return None
            items[at] = numbers
    return tuple(items) if key.__class__ is tuple else items[0]


def _named(source: np.ndarray, key: Any) -> int:
    """How many elements a key may name, at most."""
    items = key if key.__class__ is tuple else (key,)
    named = 1
    arrays = [item for item in items if item.__class__ is np.ndarray]
    masks = [array for array in arrays if array.dtype.kind == "b"]
    if masks or len(arrays) < 2:
        for array in arrays:
            named *= array.size
    else:
        named = np.broadcast(*arrays).size
    found = len(items) - len(arrays)
    axes = sum([mask.ndim for mask in masks]) + len(arrays) - len(masks)
    if not found:  # arrays alone: what follows is there once for each
        for extent in source.shape[axes:]:
            named *= extent
        return named
    return named * (source.size if axes else 1)


def _assigned(taker: Taker, value: Any, dtype: np.dtype) -> Any:
    """What is assigned, as NumPy takes it; None where it may be converted to other bits than kernels would."""
    kind = value.__class__
    if kind in (bool, int):
        return value
    if kind is float:
        return value if dtype.kind in "fc" else None
    if kind is DeviceArray:
        node = value._node
        if node.dtype != dtype and not (node.dtype.kind in "biu" and is_cast_alike(node.dtype, dtype)):
            return None
        return taker.window(node)
    return None
