"""Keep a program's arrays usable in processes that are forked from it.

OpenCL does not survive a fork, but a forked process has a copy of the host's memory. The process opens its own device,
and wraps that memory for its arrays. So multiprocessing's workers can read the program's arrays, as with NumPy. Only
PoCL can be opened again. With other runtimes, each use of an array in a forked process raises an error about the fork.
"""

from __future__ import annotations

import gc
import os
from typing import Any

from clarray._core.device_array import DeviceArray
from clarray._engine.evaluate import evaluate
from clarray._engine.expr.node import Node, leaf
from clarray._engine.runtime import current_device
from clarray.run.installation import options

__all__ = ["keep_arrays_in_forks"]

_alive: list[tuple[DeviceArray, Node]] = []  # during a fork: arrays in host memory, and their evaluated nodes
_inherited: list[Node] = []  # in a forked process: nodes in memory of the parent's device, which is never freed
_registered = False


def keep_arrays_in_forks() -> None:
    """Keep this process's arrays usable in processes that are forked from now on."""
    global _registered
    if hasattr(os, "register_at_fork") and not _registered:
        _registered = True
        os.register_at_fork(before=_collect, after_in_parent=_alive.clear, after_in_child=_adopt)


def _collect() -> None:
    """Evaluate all arrays that are alive."""
    if not options:
        return
    for candidate in gc.get_objects():
        if issubclass(type(candidate), DeviceArray):
            node = evaluate(candidate._node)
            assert node.memory is not None
            node.memory.device.synchronize()
            if node.memory.host is not None:
                _alive.append((candidate, node))


def _adopt() -> None:
    """Move the arrays to a device of this process, in the same memory."""
    memories: dict[int, Any] = {}
    for array, node in _alive:
        old: Any = node.memory
        try:
            device = current_device()
        except (
            RuntimeError
        ):  # Python would print and ignore an exception of this hook. The next use of an array raises it.
            break
        if not device.capabilities.host_memory:
            continue
        _inherited.append(node)
        if id(old) not in memories:
            memories[id(old)] = device.wrap(old.host)
        array._node = leaf(memories[id(old)], node.shape, node.strides, node.offset, node.dtype)
    _alive.clear()
