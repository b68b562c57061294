"""Small calls that read and write elements by masks and index arrays. See `clarray._core.small_calls`."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray
from clarray._core.host_calls import NOT_COMPUTED, call_on_host, try_on_host
from clarray._core.keys import ARRAYS, Key
from clarray._core.small_operands import (
    MAX_ELEMENTS,
    MAX_MASKED,
    compute_on_host,
    is_allowed,
    is_exact_write,
    node_device,
    overwrite,
    supports_small_calls,
    window,
)
from clarray._engine.expr.node import MASKED, Node
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import must_use_kernels

__all__ = ["put_on_host", "take_on_host"]

# Elements that one index array may name of an array that is not small itself. What is captured is as quick for one
# shape, 2.1 us where NumPy takes 2.6, and needs 18 for each new one; beyond NumPy's second copy costs more: 4.4 us for
# 4,500 elements, 2.6 captured (PoCL, two cores of an AMD EPYC, Zen 5). Keys of several arrays and lists are captured
# never: 74 and 51 us by kernels, 8.6 and 4.6 by NumPy.
MOST_OF_MANY = 1 << 10


def take_on_host(array: DeviceArray, key: Key) -> Any:
    """Return the elements that a key with arrays selects, if NumPy may read them. Else return NOT_COMPUTED."""
    device = _host_device(array)
    if device is None:
        return NOT_COMPUTED
    with device.lock:
        take = partial(_take, array._node, key, device)
        return call_on_host(getitem, (array, tuple(key.items)), {}, take, is_allowed, until_frequent=True)


def _take(node: Node, key: Key, device: Device) -> Any:
    operands = _host_operands(node, key, device)
    return NOT_COMPUTED if operands is None else try_on_host(compute_on_host, device, "getitem", getitem, operands, {})


def getitem(source: np.ndarray, key: Any) -> Any:
    """Return the elements in C order, as kernels do. NumPy's own order follows its iteration over the key.

    Sums over another order would have other bits than sums of larger results, which kernels gather.
    """
    selected = source[key]
    return selected.copy() if type(selected) is np.ndarray and not selected.flags.c_contiguous else selected


def put_on_host(array: DeviceArray, key: Key, value: Any) -> bool:
    """Write to the elements that a key with arrays selects, if NumPy may. Else return False and write nothing."""
    device = _host_device(array)
    if device is None:
        return False
    with device.lock:
        put = partial(_put, array._node, key, value, device)
        args = array, tuple(key.items), value
        return call_on_host(np.ndarray.__setitem__, args, {}, put, is_allowed, until_frequent=True) is None


def _put(node: Node, key: Key, value: Any, device: Device) -> Any:
    """Write the values and return None, or return NOT_COMPUTED."""
    if type(value) is DeviceArray:
        value = _window(value._node, device)
    operands = _host_operands(node, key, device) if is_exact_write(value, node.dtype) else None
    return NOT_COMPUTED if operands is None else try_on_host(overwrite, node, np.ndarray.__setitem__, *operands, value)


def _host_device(array: DeviceArray) -> Device | None:
    """Return the array's device if NumPy may compute small calls for it."""
    if not setting.on or type(array) is not DeviceArray or must_use_kernels():
        return None
    device = node_device(array._node)
    return device if supports_small_calls(device) else None


def _host_operands(node: Node, key: Key, device: Device) -> tuple[np.ndarray, Any] | None:
    """Return the array and the key as NumPy takes them, after waiting for the device. None if kernels are quicker."""
    try:
        if not _is_small(node, key):
            return None
    except ValueError:  # the index arrays do not broadcast
        return None
    items: list[Any] = []
    for item in key.items:
        if isinstance(item, DeviceArray):
            item = _window(item._node, device)
            if item is None:
                return None
        items.append(item)
    source = window(node)
    if device.pending:
        device.finish()
    return None if source is None else (source, tuple(items))


def _window(node: Node, device: Device) -> np.ndarray | None:
    """Return an operand's elements in host memory. None if it is on another device, or pending and not small."""
    if node.memory is None and (node.flags & MASKED or node.size > MAX_ELEMENTS):
        return None
    if Device.several and node_device(node) is not device:
        return None
    return window(node)


def _is_small(node: Node, key: Key) -> bool:
    """Return whether a key selects few elements, and few have to be read for that."""
    items, whole = key.items, node.size
    if len(items) == 1:
        index = items[0]
        if not isinstance(index, DeviceArray):
            return _is_small_on_host(node, key, index)
        size = index._node.size
        if key.kind is not ARRAYS:
            return whole + size <= MAX_MASKED
        selected = size * (whole // (key.shape[0] or 1))
        if whole + size <= MAX_ELEMENTS:
            return selected <= MAX_ELEMENTS
        return selected <= MOST_OF_MANY and node.memory is not None
    read = whole if node.memory is None else 0
    max_elements = MAX_ELEMENTS
    for _, shape, is_mask in key.arrays:
        read += prod(shape)
        if is_mask:
            max_elements = MAX_MASKED
    return read <= max_elements and key.max_selected <= max_elements


def _is_small_on_host(node: Node, key: Key, index: np.ndarray) -> bool:
    """Return the same for a key of one index array or mask on the host."""
    size, whole = index.size, node.size
    read = size if node.memory is not None else size + whole
    if key.kind is ARRAYS:
        return read <= MAX_ELEMENTS and size * (whole // (key.shape[0] or 1)) <= MAX_ELEMENTS
    return read <= MAX_MASKED and int(np.count_nonzero(index)) * (whole // (size or 1)) <= MAX_MASKED
