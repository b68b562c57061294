"""Immediate reads and writes of single elements in host memory.

A device that works in host memory needs no launch for one element if its queue has no unfinished work, as
`device.pending` tells. For a busy queue and for device memory, these functions do nothing, and the caller takes the
general path. NumPy converts values that are written, with its rules, errors and warnings.
"""

from __future__ import annotations

import os
import time
from typing import Any

from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.graph import inputs_of
from clarray._engine.expr.node import Node, host_scalar
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import profiling
from clarray._engine.runtime.capture import abort_capture, current_capture
from clarray._engine.runtime.host_read_cache import cached_element
from clarray._engine.speedups import accelerated, native
from clarray._engine.writing import flush_readers

# Dtypes whose elements a Python number holds with all bits. A conversion of other floats makes a signalling NaN quiet.
_HELD_EXACTLY = "dD"

# Types that NumPy writes as one number to any dtype, so that no check is needed.
NUMBERS: frozenset[type] = frozenset((bool, int, float, complex, *(dtype.type for dtype in DTYPES)))


class Setting:
    """The setting `clarray.config.elements` of the process: `at_hand` is true for scalars."""

    __slots__ = ("at_hand",)

    def set(self, at_hand: bool) -> None:
        self.at_hand = at_hand
        if native is not None:
            native.set_elements_at_hand(at_hand)


def are_scalars_default() -> bool:
    """Return whether the environment asks for scalars.

    SciPy's setting asks for the Array API standard, in which an element is an array.
    """
    requested = os.environ.get("CLARRAY_ELEMENTS", "")
    standard = os.environ.get("SCIPY_ARRAY_API", "").lower() not in ("", "0", "false")
    return requested == "scalars" or (requested != "arrays" and not standard)


setting = Setting()
setting.set(are_scalars_default())


def element(node: Node, offset: int) -> Any:
    """Return one element of a leaf's memory as a Python number, or None if it cannot be read at once.

    In a captured call, an integer or a bool becomes a guard of the program. A float is not read.
    """
    memory = node.memory
    assert memory is not None
    device = memory.device
    dtype = node.dtype
    if current_capture() is not None:
        return device.read_number(memory, offset * dtype.itemsize, dtype) if dtype.kind in "biu" else None
    elements = memory.elements(dtype)
    if elements is None:
        mirror = cached_element(memory, offset * dtype.itemsize, dtype)
        if mirror is None:
            return None
        abort_capture()
        return mirror.item()
    if device.pending:
        return None
    if profiling.state.recorder is not None:
        return device.read_number(memory, offset * dtype.itemsize, dtype)
    return elements.item(offset)


def host_element(leaf: Node, offset: int) -> Any:
    """Return an element of a leaf as NumPy's scalar, with all its bits, once the queue has computed it.

    Return None if the leaf is not in host memory, or if `clarray.config.elements` asks for arrays.
    """
    memory = leaf.memory
    assert memory is not None
    elements = memory.elements(leaf.dtype)
    if elements is None or not setting.at_hand:
        return None
    device = memory.device
    if profiling.state.recorder is not None:
        device.read_number(memory, offset * leaf.dtype.itemsize, leaf.dtype)  # records the read
    elif device.pending:
        device.synchronize()
    return elements[offset]


def constant_element(node: Node, offset: int) -> Node | None:
    """Return one element of a leaf's memory as a constant, which later writes do not change.

    Return None as `element` does, and for a NaN whose bits a Python number cannot hold.
    """
    value = element(node, offset)
    if value is None or (value != value and node.dtype.char not in _HELD_EXACTLY):
        return None
    memory = node.memory
    assert memory is not None
    return host_scalar(value, node.dtype, memory.device)


@accelerated
def computed_number(node: Node) -> Node:
    """Evaluate a pending reduction to one element in the calling thread, and return it as a constant.

    Expressions of a constant need no launch. A large reduction stays pending, as does one in device memory or on a
    device whose queue has unfinished work.
    """
    device = device_of(node)
    if device.pending or device.inline is None:
        return node
    nbytes = sum([n.size * n.dtype.itemsize for n in inputs_of(node)])
    if nbytes > kernel_cache_of(device).policies.reduce.at_once:
        return node
    return constant_element(evaluate(node), 0) or node


def put_element(node: Node, offset: int, number: Any) -> bool:
    """Write one element of a leaf's memory. Return False, without a write, if that is not possible at once.

    In a captured call a launch must write the element instead, because no step repeats a write by the host.
    The number's type is one of `NUMBERS`. NumPy raises for a number that the dtype cannot hold.
    """
    memory = node.memory
    assert memory is not None
    device = memory.device
    if current_capture() is not None:
        return False
    elements = memory.elements(node.dtype)
    if elements is None:
        return False
    with device.lock:  # a launch of another thread may read and rewrite the elements around this one
        if memory.readers or memory.facts is not None:
            flush_readers(memory)
        if device.pending:
            return False
        start = time.perf_counter() if profiling.state.recorder is not None else 0.0
        elements[offset] = number
    if profiling.state.recorder is not None:
        profiling.record("transfer", "to device", node.dtype.itemsize, time.perf_counter() - start)
    return True
