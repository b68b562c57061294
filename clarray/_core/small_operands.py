"""Operands and results of small calls: device arrays as ndarrays on their memory, and back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_calls import MAX_ELEMENTS
from clarray._core.host_data import host_copy, ndarray_layout, new_leaf
from clarray._core.operands import STRONG
from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.host_value import host_array
from clarray._engine.expr.node import MASKED, Node, host_scalar
from clarray._engine.launch.host_tier import setting
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.ops.host_functions import is_host_exact_cast
from clarray._engine.runtime import Device, profiling
from clarray._engine.speedups import accelerated
from clarray._engine.writing import flush_readers

__all__ = [
    "MAX_ELEMENTS",
    "MAX_MASKED",
    "MAX_ORDERED",
    "SEQUENCES",
    "HostOperands",
    "compute_on_host",
    "is_allowed",
    "node_device",
    "is_exact_write",
    "to_device",
    "overwrite",
    "supports_small_calls",
    "window",
]

# Maximum numbers of elements, operands and result together, that NumPy computes (docs/engineering/tuning.md).
# MAX_ELEMENTS is for most functions. NumPy's time grows with the elements, a kernel's hardly. 16,384 float32 elements
# by NumPy and by PoCL's kernels:
# concatenate 13 us and 50 us, take 25 us and 33 us, put 26 us and 131 us, isin 57 us and 321 us.
# Sorts break even at 4,096 elements (sort 37 us and 40 us, argsort 71 us and 78 us), masks at 8,192 (44 us and 41 us
# at 16,384).
MAX_MASKED = 1 << 14
MAX_ORDERED = 1 << 11


_PASSED_THROUGH = frozenset((bool, int, float, complex, str, type(None), slice, type(Ellipsis)))
SEQUENCES = (list, tuple)
_PYTHON_DTYPES = {bool: np.dtype(bool), int: np.dtype(int), float: np.dtype(float), complex: np.dtype(complex)}


def supports_small_calls(device: Device) -> bool:
    """Return whether NumPy may compute small calls for this device: a CPU with fp64 whose buffers are host memory."""
    supported: bool | None = device.attached.get("small calls")
    if supported is None:
        capabilities = device.capabilities
        supported = device.attached["small calls"] = (
            capabilities.kind == "cpu" and capabilities.host_memory and capabilities.fp64
        )
    return supported


def node_device(node: Node) -> Device:
    memory = node.memory
    return device_of(node) if memory is None else memory.device


def is_exact_write(value: Any, dtype: np.dtype) -> bool:
    """Return whether NumPy and kernels convert a value that is written to the same bits."""
    kind = type(value)
    if kind in (bool, int):
        return True
    if kind is float:
        return dtype.kind in "fc"
    if kind is not np.ndarray and kind not in STRONG:
        return False
    own_dtype: np.dtype = value.dtype
    return own_dtype == dtype or (own_dtype.kind in "biu" and is_host_exact_cast(own_dtype, dtype))


def compute_on_host(device: Device, name: str, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call NumPy's function and return its result on the device. No other thread writes to the operands meanwhile."""
    if profiling.state.recorder is None:
        return to_device(function(*args, **kwargs), device)
    start = time.perf_counter()
    host_result = function(*args, **kwargs)
    profiling.record("small call", name, 0, time.perf_counter() - start)
    return to_device(host_result, device)


def is_allowed() -> bool:
    """Return whether NumPy may compute small calls at present."""
    return setting.on


def overwrite(node: Node, function: Callable[..., Any], target: np.ndarray, *args: Any) -> None:
    """Let NumPy write to a leaf's memory. The caller holds the device's lock."""
    memory = node.memory
    assert memory is not None
    flush_readers(memory)
    device = memory.device
    if device.pending:
        device.finish()
    start = time.perf_counter() if profiling.state.recorder is not None else 0.0
    function(target, *args)
    if profiling.state.recorder is not None:
        profiling.record("small call", function.__name__, 0, time.perf_counter() - start)


class HostOperands:
    """Converter of a call's operands to NumPy's: device arrays to ndarrays on their memory. It counts their elements.

    Parameters
    ----------
    most : int
        Maximum number of elements of all operands.
    strong : int
        Number of leading operands in which Python numbers count as arrays.
    integers_only : bool
        Whether floats are refused. Pending floats are then not evaluated.
    """

    __slots__ = ("device", "dtypes", "integers", "integers_only", "remaining", "strong")

    def __init__(self, device: Device, most: int = MAX_ELEMENTS, strong: int = 0, integers_only: bool = False) -> None:
        self.device = device
        self.remaining = most
        self.dtypes: set[np.dtype] = set()
        self.integers = True  # and bools
        self.strong = strong
        self.integers_only = integers_only

    def convert(self, values: Any, joined: bool = False) -> list[Any] | None:
        """Convert several operands. None if NumPy cannot compute with one of them."""
        operands: list[Any] = []
        for value in values:
            kind = type(value)
            if kind is DeviceArray:
                value = self.window(value._node)
                if value is None:
                    return None
            elif kind in _PASSED_THROUGH:
                if kind in _PYTHON_DTYPES:
                    self._add_number(kind, joined or len(operands) < self.strong)
            elif kind in SEQUENCES:
                self.remaining -= len(value)
                inner = self.convert(value, joined or len(operands) < self.strong) if self.remaining >= 0 else None
                if inner is None:
                    return None
                value = kind(inner)
            elif not self._add_host_array(kind, value):
                return None
            operands.append(value)
        return operands

    def _add_number(self, kind: type, strong: bool) -> None:
        """Record the dtype of a Python number."""
        if kind is float or kind is complex:
            self.integers = False
        if strong or kind is complex:  # kernels warn if they discard imaginary parts
            self.dtypes.add(_PYTHON_DTYPES[kind])

    def _add_host_array(self, kind: type, value: Any) -> bool:
        """Return whether the value is an ndarray or a NumPy scalar that NumPy may compute with, and count it."""
        if kind is not np.ndarray and kind not in STRONG:
            return False
        return value.dtype in DTYPES and self._add(value.dtype, value.size)

    def window(self, node: Node) -> np.ndarray | None:
        """Evaluate a node and return an ndarray on its memory, or None if it has too many elements."""
        if (node.memory is None and node.flags & MASKED) or not self._add(node.dtype, node.size):
            return None
        if Device.several and node_device(node) is not self.device:
            return None
        return window(node)

    def _add(self, dtype: np.dtype, size: int) -> bool:
        self.remaining -= size
        if dtype not in self.dtypes:
            self.dtypes.add(dtype)
            if dtype.kind not in "biu":
                self.integers = False
        return self.remaining >= 0 and (self.integers or not self.integers_only)


@accelerated
def window(node: Node) -> np.ndarray | None:
    """Evaluate a node and return an ndarray on its host memory, or None for other memory. Does not wait."""
    memory = node.memory
    if memory is None:
        memory = evaluate(node).memory
        assert memory is not None
    if node.contiguous and len(node.shape) == 1:
        elements = memory.elements(node.dtype)
        return None if elements is None else elements[node.offset : node.offset + node.size]
    return host_array(node)


# Results --------------------------------------------------------------------------------------------


def to_device(value: Any, device: Device) -> Any:
    """Copy NumPy's results to a device: arrays to new memory, scalars to 0-d arrays."""
    kind = type(value)
    if kind is np.ndarray:
        return _upload_array(value, device)
    if kind in STRONG:
        dtype = DTYPES[value.dtype].dtype
        number = value.item()
        if number == number:
            return wrap(host_scalar(number, dtype, device))
        return wrap(_upload_array(np.asarray(value), device)._node)
    if kind is tuple or kind is list:
        return kind([to_device(member, device) for member in value])
    if hasattr(value, "_fields"):
        return kind(*[to_device(member, device) for member in value])
    return value


def _upload_array(value: np.ndarray, device: Device) -> DeviceArray:
    dtype = DTYPES[value.dtype].dtype
    if value.flags.c_contiguous:
        return host_copy(value, dtype, device)
    node = new_leaf(device, value.shape, dtype, "K", ndarray_layout(value))
    np.copyto(host_array(node), value)  # type: ignore[arg-type]
    return wrap(node)
