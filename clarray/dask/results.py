"""Evaluate a task's result before the task ends. A pending result would keep the chunks of its operands alive.

A worker of `distributed` requests the size of each result in the task's own thread, as the task ends. So `nbytes`
evaluates the array. Dask samples only a few elements of a container and no fields of an object. So the threads of
workers that `OpenCLPlugin` has prepared evaluate all arrays that a result holds. The schedulers of a single process
request no sizes, but they call back after each task.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Callable, Iterator
from math import prod
from time import time
from typing import Any

import numpy as np
from dask.callbacks import Callback

from clarray import DeviceArray, broadcast_to
from clarray._core.device_array import is_scalar

__all__ = ["arrays_within", "compact", "compute", "nbytes", "watch_executor", "watch_tasks"]

MAX_OBJECTS = (
    10_000  # to search for arrays, other than lists, tuples, dicts and sets: an object may refer to the whole program
)
MIN_COMPACTED_BYTES = 1 << 16  # of memory: a view of smaller memory is not copied
SCALARS = {
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
}  # containers of scalars only are skipped, for lists of a million numbers
CONTAINERS = (list, tuple, dict, set, frozenset)
# Types that refer from a result to the program that computed it.
NOT_FOLLOWED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.FrameType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)


def nbytes(array: DeviceArray) -> int:
    """Evaluate an array and return its bytes. Elements repeated along an axis (stride 0) count once."""
    strides = array.strides
    return prod(extent if stride else 1 for extent, stride in zip(array.shape, strides, strict=True)) * array.itemsize


def arrays_within(value: Any) -> Iterator[DeviceArray]:
    """Yield each array that a value holds, once: in containers, in fields of objects, and recursively.

    Python's garbage collector lists the referents of an object, also of dataclasses, classes with slots, named tuples,
    deques and classes written in C.
    """
    if isinstance(value, DeviceArray):
        yield value
        return
    visited: set[int] = set()
    remaining_objects, queue = MAX_OBJECTS, deque([value])  # breadth first
    while queue:
        candidate = queue.popleft()
        if isinstance(candidate, np.ndarray):
            queue += object_array_elements(candidate)
            continue
        if not gc.is_tracked(candidate) or id(candidate) in visited:
            continue  # a number or string, or a container of numbers and strings only
        visited.add(id(candidate))
        if isinstance(candidate, DeviceArray):
            yield candidate
            continue
        if not isinstance(candidate, CONTAINERS):
            if not remaining_objects or isinstance(candidate, NOT_FOLLOWED):
                continue
            remaining_objects -= 1
        referents = gc.get_referents(candidate)
        if not SCALARS.issuperset(map(type, referents)):
            queue += referents


def object_array_elements(array: np.ndarray) -> list[Any]:
    """Return the objects that an ndarray holds, which the garbage collector does not list, or its fields."""
    if not array.dtype.hasobject:
        return []
    if array.dtype.names:
        return [array[name] for name in array.dtype.names]
    return list(array.flat)


def compute(result: Any) -> None:
    """Evaluate the arrays that a result holds."""
    for array in arrays_within(result):
        array.evaluate()


def compact(result: Any) -> Any:
    """Return the result, or a copy if the result is a view of memory at least twice as large.

    Dask has the same rule for its slices, but does not apply it to overlapping chunks. The views of borders would keep
    whole chunks alive, which could then not be spilled.
    """
    if type(result) is not DeviceArray:
        return result
    own_bytes, memory = nbytes(result), result.evaluate()._node.memory
    if memory is None or memory.nbytes < max(2 * own_bytes, MIN_COMPACTED_BYTES):
        return result
    if is_scalar(result):
        return result.reshape(1).copy()[0]
    unrepeated = (
        result[tuple(slice(None) if stride else slice(1) for stride in result.strides)] if own_bytes else result
    )
    compacted = unrepeated.copy().evaluate()
    return compacted if compacted.shape == result.shape else broadcast_to(compacted, result.shape)


def _after_task(key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
    compute(result)


_CALLBACK = Callback(posttask=_after_task)


def watch_tasks() -> None:
    """Register the callback that evaluates each task's result in schedulers of a single process. Idempotent."""
    _CALLBACK.register()


def watch_executor(executor: Any) -> None:
    """Make a worker's pool of threads or processes evaluate each task's result within the task.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        One of a worker's `executors`. Further calls have no effect.
    """
    submit = executor.submit
    if getattr(submit, "computes", False):
        return

    def computing(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return submit(_call_and_compute, function, *args, **kwargs)

    computing.computes = True  # type: ignore[attr-defined]
    executor.submit = computing


def _call_and_compute(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a worker's function in the task's thread, and evaluate the result that its message holds."""
    message = function(*args, **kwargs)
    if isinstance(message, dict) and message.get("op") == "task-finished":
        start = time()
        compute(message["result"])
        message["result"] = compact(message["result"])
        message["stop"] += time() - start
    return message
