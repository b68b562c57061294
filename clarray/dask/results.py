"""A task's result is computed before the task ends: what is pending keeps the chunks alive that it is made of.

Dask asks for the size of each result: a worker of `distributed` in the task's own thread, as the task ends. So who asks
for an array's size has it computed. The schedulers of a single process ask nobody, but call back after each task.
"""

from __future__ import annotations

from math import prod
from typing import Any

from dask.callbacks import Callback

from clarray import DeviceArray

__all__ = ["compute", "nbytes", "watch_tasks"]


def nbytes(array: DeviceArray) -> int:
    """Give the bytes that an array holds, and compute it; what is repeated along an axis counts once."""
    strides = array.strides
    return prod(extent if stride else 1 for extent, stride in zip(array.shape, strides, strict=True)) * array.itemsize


def compute(result: Any) -> None:
    """Compute the arrays of a result, those in lists, tuples and dictionaries as well."""
    if isinstance(result, DeviceArray):
        result.evaluate()
    elif isinstance(result, list | tuple):
        for each in result:
            compute(each)
    elif isinstance(result, dict):
        for each in result.values():
            compute(each)


def _after_task(key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
    compute(result)


_CALLBACK = Callback(posttask=_after_task)


def watch_tasks() -> None:
    """Have Dask's schedulers of a single process compute each task's result; again and again makes no difference."""
    _CALLBACK.register()
