"""Single elements of host memory: read and written at once, where nothing that is queued stands in between.

A device that works in host memory needs no launch for one number: `device.pending` tells whether its queue may have
unfinished work. Where it has, or where the memory is the device's own, nothing is done here, and the caller goes the
way of any other expression. NumPy converts what is written, so that its rules, errors and warnings are NumPy's.
"""

from __future__ import annotations

import os
import time
from typing import Any

from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.node import Node, known
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.ops.dtypes import DTYPES
from clarray._engine.runtime import profiling
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.runtime.mirrors import mirrored
from clarray._engine.speedups import accelerated, core
from clarray._engine.writing import flush_readers

# Whose elements a Python number holds with every bit. Converted from any other a signalling NaN becomes a quiet one.
_HELD_EXACTLY = "dD"

# What may be written without being looked at: NumPy takes it as one number, whatever the dtype.
NUMBERS: frozenset[type] = frozenset((bool, int, float, complex, *(dtype.type for dtype in DTYPES)))


class Setting:
    """The setting `clarray.config.elements` of the process: `at_hand` is true for scalars."""

    __slots__ = ("at_hand",)

    def set(self, at_hand: bool) -> None:
        self.at_hand = at_hand
        if core is not None:
            core.set_elements_at_hand(at_hand)


def scalars_asked() -> bool:
    """Return whether the environment asks for scalars.

    SciPy's setting asks for the Array API standard, in which an element is an array.
    """
    asked = os.environ.get("CLARRAY_ELEMENTS", "")
    standard = os.environ.get("SCIPY_ARRAY_API", "").lower() not in ("", "0", "false")
    return asked == "scalars" or (asked != "arrays" and not standard)


setting = Setting()
setting.set(scalars_asked())


def element(node: Node, offset: int) -> Any:
    """One element of a leaf's memory as a Python number; None where it cannot be read at once."""
    memory = node.memory
    assert memory is not None
    device = memory.device
    dtype = node.dtype
    elements = memory.elements(dtype)
    if elements is None:
        kept = mirrored(memory, offset * dtype.itemsize, dtype)
        if kept is None:
            return None
        abort_capture()
        return kept.item()
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
        device.read_number(memory, offset * leaf.dtype.itemsize, leaf.dtype)  # notes the read
    elif device.pending:
        device.synchronize()
    return elements[offset]


def known_element(node: Node, offset: int) -> Node | None:
    """Return one element of a leaf's memory as a constant, which later writes do not change.

    None as in `element`, and for a NaN whose bits a Python number would not hold.
    """
    value = element(node, offset)
    if value is None or (value != value and node.dtype.char not in _HELD_EXACTLY):
        return None
    memory = node.memory
    assert memory is not None
    return known(value, node.dtype, memory.device)


@accelerated
def computed_number(node: Node) -> Node:
    """A pending reduction to one element, as the number that it is where the calling thread computes that at once.

    So that what is computed of it needs no launch. Anything else stays pending: what is large, or would have to wait
    for the queue, and what is in memory of the device's own.
    """
    device = device_of(node.inputs)
    if device.pending or device.inline is None:
        return node
    nbytes = sum([n.size * n.dtype.itemsize for n in node.inputs])
    if nbytes > kernel_cache_of(device).policies.reduce.at_once:
        return node
    return known_element(evaluate(node), 0) or node


def put_element(node: Node, offset: int, value: Any) -> bool:
    """Write one element of a leaf's memory; False where it cannot be written at once, and has not been.

    `value` is one of `NUMBERS`. It raises what NumPy raises for a value that the dtype cannot hold.
    """
    memory = node.memory
    assert memory is not None
    device = memory.device
    elements = memory.elements(node.dtype)
    if elements is None:
        return False
    with device.lock:  # a launch of another thread's may read its neighbours, and write them back
        if memory.readers or memory.facts is not None:
            flush_readers(memory)
        if device.pending:
            return False
        start = time.perf_counter() if profiling.state.recorder is not None else 0.0
        elements[offset] = value
    if profiling.state.recorder is not None:
        profiling.record("transfer", "to device", node.dtype.itemsize, time.perf_counter() - start)
    return True
