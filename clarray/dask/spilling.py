"""Spill the results of a worker's tasks from the device to host memory, and from there to disk.

    device  ->  host  ->  disk     the least recently used first
    the device's limit   a part of the worker's memory limit, as Dask's settings say

On a device that works in host memory, device and host are the same.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import dask.config
import zict
from dask.sizeof import sizeof
from distributed.spill import SpillBuffer

import clarray
from clarray._engine.runtime import current_device
from clarray._engine.runtime.private_files import NotPrivateError, remove_at_exit, temporary_folder
from clarray.dask.results import arrays_within

__all__ = ["DeviceSpillBuffer", "HostSpillBuffer", "make_storage"]

logger = logging.getLogger("distributed.spill")  # Dask's logger for results that could not be written to disk


class HostSpillBuffer(SpillBuffer):  # type: ignore[misc] # Dask has no annotations here
    """Dask's buffer, which also releases the freed memory: Dask measures the memory of the process."""

    def evict(self) -> int:
        """Write the least recently used result to disk. Return its size, or -1 if it could not be written."""
        weight = int(super().evict())
        clarray.free_memory()
        return weight


class SpilledResult:
    """A result spilled to host memory: its pickle, and the elements of its arrays."""

    __slots__ = ("head", "buffers", "__weakref__")

    def __init__(self, value: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.head = pickle.dumps(value, 5, buffer_callback=buffers.append)
        self.buffers: list[Any] = buffers

    def value(self) -> Any:
        """Load the result to the device."""
        return pickle.loads(self.head, buffers=self.buffers)

    def __reduce__(self) -> Any:
        return _restore_spilled, (self.head, self.buffers)

    def __sizeof__(self) -> int:
        return len(self.head) + sum(memoryview(buffer).nbytes for buffer in self.buffers)


def _restore_spilled(head: bytes, buffers: list[Any]) -> SpilledResult:
    spilled = object.__new__(SpilledResult)
    spilled.head, spilled.buffers = head, buffers
    return spilled


class DeviceSpillBuffer(HostSpillBuffer):
    """Hold results on the device up to a limit. Further results are spilled to the host, and from there to disk.

    Parameters
    ----------
    directory : str
        Folder of the files.
    target : int
        Bytes of results in host memory. Further results are spilled to disk.
    device_limit : int
        Bytes of results on the device. Further results are spilled to the host.
    """

    def __init__(self, directory: str, target: int, device_limit: int) -> None:
        super().__init__(directory, target)
        self.device: zict.LRU[Any, Any] = zict.LRU(
            device_limit, {}, on_evict=self._to_host, weight=lambda key, value: device_bytes(value)
        )

    def _to_host(self, key: Any, value: Any) -> None:
        try:
            held = SpilledResult(value)
        except Exception:  # pickling may raise any error
            logger.error("Cannot pickle %r: it stays on the device", key, exc_info=True)
            held = value
        else:
            self._count_transfer("device-write", held)
        super().__setitem__(key, held)

    def _count_transfer(self, label: str, held: SpilledResult) -> None:
        """Count a transfer between device and host in Dask's metrics, as Dask counts transfers to and from disk."""
        self.cumulative_metrics[label, "count"] += 1
        self.cumulative_metrics[label, "bytes"] += sys.getsizeof(held)

    def __setitem__(self, key: Any, value: Any) -> None:
        if key in self:
            del self[key]
        if device_bytes(value):
            self.device[key] = value
        else:
            super().__setitem__(key, value)

    def __getitem__(self, key: Any) -> Any:
        if key in self.device:
            return self.device[key]
        value = super().__getitem__(key)
        if isinstance(value, SpilledResult):
            self._count_transfer("device-read", value)
            value = value.value()
            super().__delitem__(key)
            self.device[key] = value
        return value

    def __delitem__(self, key: Any) -> None:
        if key in self.device:
            del self.device[key]
        else:
            super().__delitem__(key)

    def __contains__(self, key: object) -> bool:
        return key in self.device or super().__contains__(key)

    def __iter__(self) -> Iterator[Any]:
        return chain(self.device, super().__iter__())

    def __len__(self) -> int:
        return len(self.device) + super().__len__()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield keys and results. Spilled results stay spilled: copies of them are loaded."""
        for key, value in chain(list(self.device.items()), super().items()):
            yield key, value.value() if isinstance(value, SpilledResult) else value

    def values(self) -> Iterator[Any]:
        """Yield the results as in `items`."""
        return (value for _, value in self.items())


def device_bytes(value: Any) -> int:
    """Return the bytes of devices' own memory that the arrays of a result hold."""
    return sum(int(sizeof(x)) for x in arrays_within(value) if not x.device.capabilities.host_memory)


def make_storage(worker_local_directory: str, memory_limit: int | None, device_limit: int | float) -> Any:
    """Make a worker's mapping of results for the device that it uses.

    Parameters
    ----------
    worker_local_directory : str
        The worker's local folder.
    memory_limit : int or None
        Limit of the worker's host memory, in bytes.
    device_limit : int or float
        Limit of results in the device's own memory: in bytes, or up to 1 as a fraction of the memory.
    """
    settings = dask.config.get("distributed.worker.memory")
    fraction = settings["target"] or settings["spill"]
    target = int(memory_limit * fraction) if memory_limit and fraction else sys.maxsize
    if current_device().capabilities.host_memory:
        if not (memory_limit and fraction):
            return {}
        return HostSpillBuffer(_spill_folder(Path(worker_local_directory)), target)
    limit = clarray.memory_info().limit * device_limit if device_limit <= 1 else device_limit
    return DeviceSpillBuffer(_spill_folder(Path(worker_local_directory)), target, int(limit))


def _spill_folder(local: Path) -> str:
    """Make a new private folder for pickles. Dask would load all files of an existing folder.

    Raises
    ------
    OSError
        Other users can change the contents of all candidate folders.
    """
    try:
        return str(temporary_folder("storage-", local))
    except NotPrivateError as error:
        folder = remove_at_exit(temporary_folder("clarray-storage-"))
        logger.warning("Results are spilled to %s, since %s; --local-directory names another folder", folder, error)
        return str(folder)
