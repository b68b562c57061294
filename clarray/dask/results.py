"""A task's result is computed before the task ends: what is pending keeps the chunks alive that it is made of.

Dask asks for the size of each result: a worker of `distributed` in the task's own thread, as the task ends. So who asks
for an array's size has it computed. Of what a container holds Dask asks a few only, and of an object's fields none: so
the threads of workers that `OpenCLPlugin` has prepared compute whatever a result holds. The schedulers of a single
process ask nobody, but call back after each task.
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
from clarray._core.device_array import is_number

__all__ = ["arrays_within", "compact", "compute", "nbytes", "watch_executor", "watch_tasks"]

OBJECTS = 10_000  # that are looked into, lists, tuples, dicts and sets aside: one may lead to all that a program has
WORTHWHILE = 1 << 16  # bytes that a part keeps, below which it is not copied
PLAIN = {bool, int, float, complex, str, bytes, type(None)}  # lists of a million of them take no time
CONTAINERS = (list, tuple, dict, set, frozenset)
# What leads from a result to the program that made it.
ELSEWHERE = (
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
    """Give the bytes that an array holds, and compute it; what is repeated along an axis counts once."""
    strides = array.strides
    return prod(extent if stride else 1 for extent, stride in zip(array.shape, strides, strict=True)) * array.itemsize


def arrays_within(value: Any) -> Iterator[DeviceArray]:
    """Give the arrays that a value holds, each once: in containers of any kind, in objects' fields, in these of these.

    Python's collector of garbage says what an object holds, as its type tells it: dataclasses and classes with slots,
    named tuples, deques, arrays of objects of NumPy's, what libraries write in C.
    """
    if isinstance(value, DeviceArray):
        yield value
        return
    seen: set[int] = set()
    left, todo = OBJECTS, deque([value])  # the nearest first
    while todo:
        each = todo.popleft()
        if isinstance(each, np.ndarray):
            todo += objects_of(each)
            continue
        if not gc.is_tracked(each) or id(each) in seen:
            continue  # a number or a text, or a container of these only
        seen.add(id(each))
        if isinstance(each, DeviceArray):
            yield each
            continue
        if not isinstance(each, CONTAINERS):
            if not left or isinstance(each, ELSEWHERE):
                continue
            left -= 1
        held = gc.get_referents(each)
        if not PLAIN.issuperset(map(type, held)):
            todo += held


def objects_of(array: np.ndarray) -> list[Any]:
    """Give what an array of objects holds, of which the collector does not know; of one with fields, these."""
    if not array.dtype.hasobject:
        return []
    if array.dtype.names:
        return [array[name] for name in array.dtype.names]
    return list(array.flat)


def compute(result: Any) -> None:
    """Compute the arrays that a result holds."""
    for array in arrays_within(result):
        array.evaluate()


def compact(result: Any) -> Any:
    """Give the result itself, or where it is a small part of much larger memory, a copy that does not keep all of it.

    The rule is Dask's own for what it slices, which its layers of overlapping chunks pass by: borders would keep all of
    the chunks that are spilled for want of memory.
    """
    if type(result) is not DeviceArray:
        return result
    own, memory = nbytes(result), result.evaluate()._node.memory
    if memory is None or memory.nbytes < max(2 * own, WORTHWHILE):
        return result
    if is_number(result):
        return result.reshape(1).copy()[0]
    once = result[tuple(slice(None) if stride else slice(1) for stride in result.strides)] if own else result
    made = once.copy().evaluate()
    return made if made.shape == result.shape else broadcast_to(made, result.shape)


def _after_task(key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
    compute(result)


_CALLBACK = Callback(posttask=_after_task)


def watch_tasks() -> None:
    """Have Dask's schedulers of a single process compute each task's result; again and again makes no difference."""
    _CALLBACK.register()


def watch_executor(executor: Any) -> None:
    """Have a worker's pool of threads or processes compute each task's result within the task.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        One of a worker's `executors`; again and again makes no difference.
    """
    submit = executor.submit
    if getattr(submit, "computes", False):
        return

    def computing(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return submit(_computed, function, *args, **kwargs)

    computing.computes = True  # type: ignore[attr-defined]
    executor.submit = computing


def _computed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what a worker has to be called, and compute the result that its message holds; runs in the task's thread."""
    message = function(*args, **kwargs)
    if isinstance(message, dict) and message.get("op") == "task-finished":
        began = time()
        compute(message["result"])
        message["result"] = compact(message["result"])
        message["stop"] += time() - began
    return message
