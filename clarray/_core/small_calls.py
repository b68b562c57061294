"""Small calls: functions that NumPy computes where the arrays lie, on a device that is the CPU.

    clarray.roll(x, 3)  --  small, in host memory, exact?  --yes-->  numpy.roll on the arrays' memory, into new memory
                                      |
                                      no
                                      v
                               clarray's own roll, by kernels

A launch costs PoCL more than NumPy takes for thousands of elements, and what comes before it, a plan and the keys of
its kernels, ten times as much. So whatever gives the same bits whoever computes it, as it moves, orders, compares,
counts or finds elements, or computes with integers, is NumPy's own as long as it is small. Which of the two computes
follows from the call, the shapes and the dtypes alone (and, where a result's size is data, from that).
`clarray._api.small_functions` says which functions there are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clarray._core.device_array import DeviceArray, is_writeable, wrap
from clarray._core.host_data import host_view, new_leaf
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.host_value import host_array
from clarray._engine.expr.node import MASKED, Node, contiguous_leaf, known
from clarray._engine.launch.first_calls import setting
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.host_functions import is_cast_alike
from clarray._engine.runtime import Device, profiling
from clarray._engine.runtime.recording import spoil
from clarray._engine.speedups import accelerated, core
from clarray._engine.writing import flush_readers

__all__ = ["ELSEWHERE", "MOST", "MOST_ORDERED", "Rule", "picked", "put", "serves", "small_call", "small_write"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Elements, operands and result together, up to which NumPy computes; docs/tuning.rst has the measurements. NumPy's time
# grows with them, a kernel's hardly: 16,384 float32 elements by NumPy and by PoCL's kernels, in us, concatenate 13 and
# 50, take 25 and 33, put 26 and 131, isin 57 and 321. Ordered they are even at 4,096 (sort 37 and 40, argsort 71 and
# 78), selected by a mask at 8,192 (44 and 41 at 16,384).
MOST = 1 << 15
MOST_MASKED = 1 << 14
MOST_ORDERED = 1 << 11

# Calls of a function that NumPy has first, where the launches of its calls are recorded: the compiled core makes them
# again in less time than NumPy takes (roll of 100 elements 4 us and 10, allclose 4 and 21), but only once its kernels
# are there, in 100 ms.
FIRST = 1000


class _Elsewhere:
    """What is given back for a call that kernels have to do; nothing has been done."""

    def __repr__(self) -> str:
        return "ELSEWHERE"


ELSEWHERE: Any = _Elsewhere()

_AS_THEY_ARE = frozenset((bool, int, float, complex, str, type(None), slice, type(Ellipsis)))
_SEQUENCES = (list, tuple)
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
    joined : int
        How many operands, the first ones, are joined; what else there is, axes and the like, has no say in the dtype.
    most : int
        Elements up to which a call is NumPy's.
    first : bool
        Whether only the first calls are, `FIRST` of them, as the compiled core is faster. Their bits are the same.
    refused : tuple of str
        Parameters that kernels see to, if one is given.
    """

    numpys: Callable[..., Any]
    dtypes: str
    room: Callable[..., int] | None = None
    joined: int = 1
    most: int = MOST
    first: bool = False
    refused: tuple[str, ...] = ("out", "dtype", "casting", "like", "device")


def serves(device: Device) -> bool:
    """Whether there are small calls on a device: on one that is a CPU, of all of NumPy's dtypes, in host memory."""
    found: bool | None = device.attached.get("small calls")
    if found is None:
        can = device.capabilities
        found = device.attached["small calls"] = can.kind == "cpu" and can.host_memory and can.fp64
    return found


def small_call(ours: Function, rule: Rule) -> Function:
    """A function that leaves its small calls to NumPy."""
    code = ours.__code__
    names = code.co_varnames[: code.co_argcount]
    by_position = min([names.index(name) for name in rule.refused if name in names], default=len(names))
    if code.co_flags & 4:  # *args
        by_position = MOST
    left = FIRST
    always = not rule.first or core is None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if setting.on and len(args) <= by_position and (always or left > 0):
            device = _served(args)
            if device is not None:
                found = _tried(rule, device, args, kwargs)
                if found is not ELSEWHERE:
                    left -= 1
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

    def call(*args: Any, **kwargs: Any) -> Any:
        if setting.on and not kwargs and len(args) > 1 - (not values) and args[0].__class__ is DeviceArray:
            target = args[0]
            if is_writeable(target) and serves(device := _device_of(target._node)):
                with device.lock:
                    if _written(target, numpys, args, values, most):
                        return None
        return ours(*args, **kwargs)

    return update_wrapper(call, ours)  # type: ignore[return-value]


def _written(
    target: DeviceArray, numpys: Callable[..., Any], args: tuple[Any, ...], values: tuple[int, ...], most: int
) -> bool:
    node = target._node
    taker = Taker(_device_of(node), most)
    given = taker.each(args)
    if given is None or not all(_is_kept(given[at], node.dtype) for at in values if at < len(given)):
        return False
    try:
        overwrite(node, numpys, *given)
    except Exception:
        return False
    return True


def _is_kept(value: Any, dtype: np.dtype) -> bool:
    """Whether what is written, as NumPy takes it, becomes the same bits whoever converts it."""
    kind = value.__class__
    if kind in (bool, int):
        return True
    if kind is float:
        return dtype.kind in "fc"
    if kind is not np.ndarray and kind not in _SCALARS:
        return False
    given: np.dtype = value.dtype
    return given == dtype or (given.kind in "biu" and is_cast_alike(given, dtype))


def _tried(rule: Rule, device: Device, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy computes; ELSEWHERE where it does not."""
    if kwargs and not kwargs.keys().isdisjoint(rule.refused):
        return ELSEWHERE
    taker = Taker(device, rule.most, rule.joined if rule.dtypes == "joined" else 0, rule.dtypes == "integers")
    with device.lock:
        given = taker.each((*args, *kwargs.values()) if kwargs else args)
        if given is None or not _fit(rule.dtypes, taker):
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
            return _computed(device, rule.numpys, given, named)
        except Exception:  # clarray's own function says what is wrong, or can do it
            return ELSEWHERE


def _served(args: tuple[Any, ...]) -> Device | None:
    """The device of the first array among operands, if there are small calls on it."""
    for one in args:
        while one.__class__ in _SEQUENCES and one:
            one = one[0]
        if one.__class__ is DeviceArray:
            memory = one._node.memory
            device: Device = _device_of(one._node) if memory is None else memory.device
            return device if serves(device) else None
    return None


def _device_of(node: Node) -> Device:
    memory = node.memory
    return device_of(node.inputs or (node,)) if memory is None else memory.device


def _fit(wanted: str, taker: Taker) -> bool:
    if wanted == "any":
        return True
    if wanted == "integers":
        return taker.integers
    if wanted == "alike":
        return all(is_cast_alike(dtype, dtype) for dtype in taker.dtypes)
    # of floats one dtype, and of integers no number that would lose its fraction among them
    return taker.integers or (len(taker.dtypes) == 1 and next(iter(taker.dtypes)).kind in "fc")


def _computed(device: Device, function: Callable[..., Any], given: Any, named: dict[str, Any]) -> Any:
    """Call a function of NumPy's on arrays that nothing writes to meanwhile; its result on the device."""
    spoil()
    if profiling.state.recorder is None:
        return made(function(*given, **named), device)
    start = time.perf_counter()
    value = function(*given, **named)
    profiling.record("small call", function.__name__, 0, time.perf_counter() - start)
    return made(value, device)


class Taker:
    """Takes a call's operands as NumPy takes them: arrays where they lie, as many as are small together."""

    __slots__ = ("device", "left", "dtypes", "integers", "strong", "whole")

    def __init__(self, device: Device, most: int = MOST, strong: int = 0, whole: bool = False) -> None:
        self.device = device
        self.left = most
        self.dtypes: set[np.dtype] = set()
        self.integers = True  # and bools
        self.strong = strong  # Python's numbers are arrays too, among so many operands
        self.whole = whole  # no floats are taken: pending ones are not even computed

    def each(self, values: Any, joined: bool = False) -> list[Any] | None:
        """Several operands; None where there is one that only clarray can take."""
        found: list[Any] = []
        for value in values:
            kind = value.__class__
            if kind is DeviceArray:
                value = self.window(value._node)
                if value is None:
                    return None
            elif kind in _AS_THEY_ARE:
                if kind in _TYPES_OF:
                    self._looks_at(kind, joined or len(found) < self.strong)
            elif kind in _SEQUENCES:
                self.left -= len(value)
                inner = self.each(value, joined or len(found) < self.strong) if self.left >= 0 else None
                if inner is None:
                    return None
                value = kind(inner)
            elif not self._counts_host(kind, value):
                return None
            found.append(value)
        return found

    def _looks_at(self, kind: type, strong: bool) -> None:
        """See what dtype a number of Python's is of."""
        if kind is float or kind is complex:
            self.integers = False
        if strong:
            self.dtypes.add(_TYPES_OF[kind])

    def _counts_host(self, kind: type, value: Any) -> bool:
        """Whether this is an ndarray, or a number of NumPy's, that may be taken as well."""
        if kind is not np.ndarray and kind not in _SCALARS:
            return False
        return value.dtype in DTYPES and self._counts(value.dtype, value.size)

    def window(self, node: Node) -> np.ndarray | None:
        """A node's elements where they are, evaluated; None where that is too much."""
        if (node.memory is None and node.flags & MASKED) or not self._counts(node.dtype, node.size):
            return None
        if Device.several and _device_of(node) is not self.device:
            return None
        return window(node)

    def _counts(self, dtype: np.dtype, size: int) -> bool:
        self.left -= size
        if dtype not in self.dtypes:
            self.dtypes.add(dtype)
            if dtype.kind not in "biu":
                self.integers = False
        return self.left >= 0 and (self.integers or not self.whole)


@accelerated
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
    if value.flags.c_contiguous:
        return host_copy(value, dtype, device)
    node = new_leaf(device, value.shape, dtype, "K", host_view(value))
    np.copyto(host_array(node), value)  # type: ignore[arg-type]
    return wrap(node)


@accelerated
def host_copy(value: np.ndarray, dtype: np.dtype, device: Device) -> DeviceArray:
    """A new array of the elements of a C-contiguous ndarray, whose dtype this is; the device has been waited for."""
    memory = device.pool.allocate(value.nbytes)
    elements = memory.elements(dtype)
    assert elements is not None
    elements[: value.size] = value.reshape(-1)
    return wrap(contiguous_leaf(memory, value.shape, dtype))


# Reading and writing by arrays ----------------------------------------------------------------------


def picked(array: DeviceArray, key: Any) -> Any:
    """The elements that a key with arrays names; ELSEWHERE where kernels have to find them."""
    if not setting.on or array.__class__ is not DeviceArray:
        return ELSEWHERE
    device = _device_of(array._node)
    if not serves(device):
        return ELSEWHERE
    with device.lock:
        found = _windows(Taker(device), array._node, key)
        if found is None:
            return ELSEWHERE
        try:
            return _computed(device, np.ndarray.__getitem__, found, {})
        except Exception:
            return ELSEWHERE


def put(array: DeviceArray, key: Any, value: Any) -> bool:
    """Write to the elements that a key with arrays names; False where kernels have to, and nothing has been done."""
    global _fills_left
    if not setting.on or array.__class__ is not DeviceArray or not is_writeable(array):
        return False
    device = _device_of(array._node)
    if not serves(device):
        return False
    fills = _fills(key, value)
    if fills and _fills_left <= 0:
        return False
    with device.lock:
        taker = Taker(device)
        given = _assigned(taker, value, array.dtype)
        found = None if given is None else _windows(taker, array._node, key)
        if found is None:
            return False
        try:
            overwrite(array._node, np.ndarray.__setitem__, *found, given)
        except Exception:
            return False
    _fills_left -= fills
    return True


_fills_left = FIRST


def _fills(key: Any, value: Any) -> bool:
    """Whether a number is written where a mask is set, which the compiled core does in one launch."""
    if core is None or key.__class__ is not DeviceArray or value.__class__ is DeviceArray:
        return False
    return bool(key._node.dtype.kind == "b")


def _windows(taker: Taker, node: Node, key: Any) -> tuple[np.ndarray, Any] | None:
    """An array and a key as NumPy takes them, the device waited for; None where they are for kernels."""
    device = taker.device
    if key.__class__ is DeviceArray:
        index = key._node
        if not _are_few(node, index) or (Device.several and _device_of(index) is not device):
            return None
        source, taken = window(node), window(index)
        if device.pending:
            device.finish()
        return None if source is None else (source, taken)
    taken = _key(taker, key)
    source = None if taken is None else taker.window(node)
    if source is None:
        return None
    if device.pending:
        device.finish()
    try:
        taken = _with_arrays(taken)
        return (source, taken) if _is_few(taker, source, taken) else None
    except ValueError:  # arrays that do not broadcast
        return None


def _are_few(node: Node, index: Node) -> bool:
    """`_is_few` of one mask or index array."""
    if (node.flags | index.flags) & MASKED or not index.shape or not node.shape:
        return False
    size, whole = index.size, node.size
    if index.dtype.kind == "b":
        return whole + size <= MOST_MASKED
    return whole + size <= MOST and size * (whole // (node.shape[0] or 1)) <= MOST


def overwrite(node: Node, function: Callable[..., Any], target: np.ndarray, *args: Any) -> None:
    """Let NumPy write to a leaf's memory; the device's lock is held."""
    memory = node.memory
    assert memory is not None
    spoil()
    flush_readers(memory)
    device = memory.device
    if device.pending:
        device.finish()
    start = time.perf_counter() if profiling.state.recorder is not None else 0.0
    function(target, *args)
    if profiling.state.recorder is not None:
        profiling.record("small call", function.__name__, 0, time.perf_counter() - start)


def _key(taker: Taker, key: Any) -> Any:
    """A key as NumPy takes it; None where it is clarray's to understand."""
    items = taker.each(key if key.__class__ is tuple else (key,))
    if items is None:
        return None
    return tuple(items) if key.__class__ is tuple else items[0]


def _with_arrays(key: Any) -> Any:
    """The same key with arrays for its lists."""
    if key.__class__ is tuple:
        return tuple([_with_arrays(item) for item in key])
    return key if key.__class__ is not list else np.array(key) if key else np.array(key, np.intp)


def _is_few(taker: Taker, source: np.ndarray, key: Any) -> bool:
    """Whether what a key names, and what has to be looked at for that, is few enough."""
    items = key if key.__class__ is tuple else (key,)
    named = 1
    arrays = [item for item in items if item.__class__ is np.ndarray]
    masks = [array for array in arrays if array.dtype.kind == "b"]
    if masks or len(arrays) < 2:
        for array in arrays:
            named *= array.size
    else:
        named = np.broadcast(*arrays).size
    if len(items) > len(arrays):
        named *= source.size
    else:  # arrays alone: what follows is there once for each
        for extent in source.shape[len(arrays) - len(masks) + sum([mask.ndim for mask in masks]) :]:
            named *= extent
    return named <= (MOST_MASKED if masks else MOST) and (not masks or MOST - taker.left <= MOST_MASKED)


def _assigned(taker: Taker, value: Any, dtype: np.dtype) -> Any:
    """What is assigned, as NumPy takes it; None where it may be converted to other bits than kernels would."""
    if value.__class__ is DeviceArray:
        value = taker.window(value._node)
    return value if _is_kept(value, dtype) else None
