"""Small calls: operands as NumPy takes them, where they lie, and its results on the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import host_copy, host_view, new_leaf
from clarray._core.operands import STRONG
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.host_value import host_array
from clarray._engine.expr.node import MASKED, Node, known
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.host_functions import is_cast_alike
from clarray._engine.runtime import Device, profiling
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.speedups import accelerated
from clarray._engine.writing import flush_readers

__all__ = [
    "ELSEWHERE",
    "MOST",
    "MOST_MASKED",
    "MOST_ORDERED",
    "SEQUENCES",
    "Taker",
    "computed",
    "device_of_node",
    "is_kept",
    "made",
    "overwrite",
    "serves",
    "window",
]

# Elements, operands and result together, up to which NumPy computes (docs/engineering/tuning.md). NumPy's time
# grows with them, a kernel's hardly: 16,384 float32 elements by NumPy and by PoCL's kernels, in us, concatenate 13 and
# 50, take 25 and 33, put 26 and 131, isin 57 and 321. Ordered they are even at 4,096 (sort 37 and 40, argsort 71 and
# 78), selected by a mask at 8,192 (44 and 41 at 16,384).
MOST = 1 << 15
MOST_MASKED = 1 << 14
MOST_ORDERED = 1 << 11


class _Elsewhere:
    """What is given back for a call that kernels have to do; nothing has been done."""

    def __repr__(self) -> str:
        return "ELSEWHERE"


ELSEWHERE: Any = _Elsewhere()

_AS_THEY_ARE = frozenset((bool, int, float, complex, str, type(None), slice, type(Ellipsis)))
SEQUENCES = (list, tuple)
_TYPES_OF = {bool: np.dtype(bool), int: np.dtype(int), float: np.dtype(float), complex: np.dtype(complex)}


def serves(device: Device) -> bool:
    """Whether there are small calls on a device: on one that is a CPU, of all of NumPy's dtypes, in host memory."""
    found: bool | None = device.attached.get("small calls")
    if found is None:
        can = device.capabilities
        found = device.attached["small calls"] = can.kind == "cpu" and can.host_memory and can.fp64
    return found


def device_of_node(node: Node) -> Device:
    memory = node.memory
    return device_of(node.inputs or (node,)) if memory is None else memory.device


def is_kept(value: Any, dtype: np.dtype) -> bool:
    """Whether what is written, as NumPy takes it, becomes the same bits whoever converts it."""
    kind = type(value)
    if kind in (bool, int):
        return True
    if kind is float:
        return dtype.kind in "fc"
    if kind is not np.ndarray and kind not in STRONG:
        return False
    given: np.dtype = value.dtype
    return given == dtype or (given.kind in "biu" and is_cast_alike(given, dtype))


def computed(device: Device, function: Callable[..., Any], given: Any, named: dict[str, Any]) -> Any:
    """Call a function of NumPy's on arrays that nothing writes to meanwhile; its result on the device."""
    abort_capture()
    if profiling.state.recorder is None:
        return made(function(*given, **named), device)
    start = time.perf_counter()
    value = function(*given, **named)
    profiling.record("small call", function.__name__, 0, time.perf_counter() - start)
    return made(value, device)


def overwrite(node: Node, function: Callable[..., Any], target: np.ndarray, *args: Any) -> None:
    """Let NumPy write to a leaf's memory; the device's lock is held."""
    memory = node.memory
    assert memory is not None
    abort_capture()
    flush_readers(memory)
    device = memory.device
    if device.pending:
        device.finish()
    start = time.perf_counter() if profiling.state.recorder is not None else 0.0
    function(target, *args)
    if profiling.state.recorder is not None:
        profiling.record("small call", function.__name__, 0, time.perf_counter() - start)


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
            kind = type(value)
            if kind is DeviceArray:
                value = self.window(value._node)
                if value is None:
                    return None
            elif kind in _AS_THEY_ARE:
                if kind in _TYPES_OF:
                    self._looks_at(kind, joined or len(found) < self.strong)
            elif kind in SEQUENCES:
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
        if strong or kind is complex:  # parts of a complex number may be lost: kernels warn of that
            self.dtypes.add(_TYPES_OF[kind])

    def _counts_host(self, kind: type, value: Any) -> bool:
        """Whether this is an ndarray, or a number of NumPy's, that may be taken as well."""
        if kind is not np.ndarray and kind not in STRONG:
            return False
        return value.dtype in DTYPES and self._counts(value.dtype, value.size)

    def window(self, node: Node) -> np.ndarray | None:
        """A node's elements where they are, evaluated; None where that is too much."""
        if (node.memory is None and node.flags & MASKED) or not self._counts(node.dtype, node.size):
            return None
        if Device.several and device_of_node(node) is not self.device:
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
    kind = type(value)
    if kind is np.ndarray:
        return _array(value, device)
    if kind in STRONG:
        dtype = DTYPES[value.dtype].dtype
        number = value.item()
        if number == number:
            return wrap(known(number, dtype, device))
        return wrap(_array(np.asarray(value), device)._node)
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
