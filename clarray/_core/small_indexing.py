"""Small calls: reading and writing elements by masks and arrays of indices; see `clarray._core.small_calls`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clarray._core.device_array import DeviceArray, is_writeable
from clarray._core.small_operands import (
    MAX_ELEMENTS,
    MAX_MASKED,
    NOT_COMPUTED,
    HostOperands,
    compute_on_host,
    is_exact_write,
    node_device,
    overwrite,
    supports_small_calls,
    window,
)
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import build
from clarray._engine.expr.node import MASKED, Node
from clarray._engine.launch.host_tier import setting
from clarray._engine.runtime import Device
from clarray._engine.runtime.capture import must_use_kernels

__all__ = ["picked", "put"]

# Elements that one index array may name of an array that is not small itself. What is recorded is as quick for one
# shape, 2.1 us where NumPy takes 2.6, and needs 18 for each new one; beyond NumPy's second copy costs more: 4.4 us for
# 4,500 elements, 2.6 recorded (PoCL, two cores of an AMD EPYC, Zen 5). Keys of several arrays and lists are recorded
# never: 74 and 51 us by kernels, 8.6 and 4.6 by NumPy.
MOST_OF_MANY = 1 << 10


def picked(array: DeviceArray, key: Any) -> Any:
    """The elements that a key with arrays names; ELSEWHERE where kernels have to find them."""
    if not setting.on or type(array) is not DeviceArray or must_use_kernels():
        return NOT_COMPUTED
    device = node_device(array._node)
    if not supports_small_calls(device):
        return NOT_COMPUTED
    with device.lock:
        found = _windows(HostOperands(device), array._node, key)
        if found is None:
            return NOT_COMPUTED
        try:
            return compute_on_host(device, getitem, found, {})
        except Exception:
            return NOT_COMPUTED


def getitem(source: np.ndarray, key: Any) -> Any:
    """What NumPy gives, in C order as the kernels give it; NumPy's own order follows how it iterates over the key.

    A sum over it would have other bits beside the sum of a larger result, which kernels have gathered.
    """
    found = source[key]
    return found.copy() if type(found) is np.ndarray and not found.flags.c_contiguous else found


def put(array: DeviceArray, key: Any, value: Any) -> bool:
    """Write to the elements that a key with arrays names; False where kernels have to, and nothing has been done."""
    if not setting.on or type(array) is not DeviceArray or not is_writeable(array) or must_use_kernels():
        return False
    device = node_device(array._node)
    if not supports_small_calls(device):
        return False
    with device.lock:
        taker = HostOperands(device)
        given = _assigned(taker, value, array.dtype)
        found = None if given is None else _windows(taker, array._node, key)
        if found is None:
            return False
        try:
            overwrite(array._node, np.ndarray.__setitem__, *found, given)
        except Exception:
            return False
    return True


def _windows(taker: HostOperands, node: Node, key: Any) -> tuple[np.ndarray, Any] | None:
    """An array and a key as NumPy takes them, the device waited for; None where they are for kernels."""
    device = taker.device
    if type(key) is DeviceArray:
        index = key._node
        if not _are_few(node, index) or (Device.several and node_device(index) is not device):
            return None
        source, taken = window(node), window(index)
        if device.pending:
            device.finish()
        return None if source is None else (source, taken)
    taken = _key(taker, key)
    if taken is None:
        return None
    # where elements lie in memory, how many there are costs nothing: what counts is those that the key names
    source = taker.window(node) if node.memory is None else window(node)
    if source is None:
        return None
    if device.pending:
        device.finish()
    try:
        taken = _with_arrays(taken)
        return (source, taken) if _is_few(taker, source, taken) else None
    except ValueError:  # arrays that do not broadcast
        return None


def _is_known(node: Node) -> bool:
    """Whether a node's size is known: what a small mask selects is computed for that, as NumPy needs it in any case."""
    if node.memory is None and node.flags & MASKED:
        parts = build.selected(node)
        if parts is None or parts[1].flags & MASKED or parts[1].size > MAX_ELEMENTS:
            return False
        evaluate(node)
    return True


def _are_few(node: Node, index: Node) -> bool:
    """`_is_few` of one mask or index array."""
    if not (_is_known(node) and _is_known(index)) or not index.shape or not node.shape:
        return False
    size, whole = index.size, node.size
    if index.dtype.kind == "b":
        return whole + size <= MAX_MASKED
    named = size * (whole // (node.shape[0] or 1))
    return named <= MAX_ELEMENTS if whole + size <= MAX_ELEMENTS else named <= MOST_OF_MANY and node.memory is not None


def _key(taker: HostOperands, key: Any) -> Any:
    """A key as NumPy takes it; None where it is clarray's to understand."""
    items = taker.convert(key if type(key) is tuple else (key,))
    if items is None:
        return None
    return tuple(items) if type(key) is tuple else items[0]


def _with_arrays(key: Any) -> Any:
    """The same key with arrays for its lists."""
    if type(key) is tuple:
        return tuple([_with_arrays(item) for item in key])
    return key if type(key) is not list else np.array(key) if key else np.array(key, np.intp)


def _is_few(taker: HostOperands, source: np.ndarray, key: Any) -> bool:
    """Whether what a key names, and what has to be looked at for that, is few enough."""
    items = key if type(key) is tuple else (key,)
    arrays = [item for item in items if type(item) is np.ndarray]
    masks = [array for array in arrays if array.dtype.kind == "b"]
    named = _times_the_rest(source.shape, items)
    if masks or len(arrays) < 2:
        for array in arrays:
            named *= array.size
    else:
        named *= np.broadcast(*arrays).size
    return named <= (MAX_MASKED if masks else MAX_ELEMENTS) and (
        not masks or MAX_ELEMENTS - taker.remaining <= MAX_MASKED
    )


def _times_the_rest(shape: tuple[int, ...], items: tuple[Any, ...]) -> int:
    """How many elements a key names for each one that its arrays name: along the axes of slices and of no item."""
    rest, axis = list(shape), 0
    for item in items:
        count = len(shape) - sum(map(_axes, items)) if item is Ellipsis else _axes(item)
        if item is not Ellipsis and type(item) is not slice:
            rest[axis : axis + count] = [1] * count
        axis += count
    return math.prod(rest)


def _axes(item: Any) -> int:
    """How many axes an item of a key concerns, but for those that an Ellipsis stands for."""
    if item is None or item is Ellipsis or type(item) is bool or type(item) is np.bool_:
        return 0
    return item.ndim if type(item) is np.ndarray and item.dtype.kind == "b" else 1


def _assigned(taker: HostOperands, value: Any, dtype: np.dtype) -> Any:
    """What is assigned, as NumPy takes it; None where it may be converted to other bits than kernels would."""
    if type(value) is DeviceArray:
        value = taker.window(value._node)
    return value if is_exact_write(value, dtype) else None
