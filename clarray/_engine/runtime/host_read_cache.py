"""Cache bytes of device memory on the host, so that a loop over single elements waits for the device once.

    an element is read -> is it in the cache?  yes -> return it
                              | no
                          first read since the last write?  yes -> read the element alone: often no other is read
                              | no
                          read the bytes around it into the cache, more each time that the cache missed

A write to the memory drops the cache, as it drops recorded facts about the values: see `Memory.forget`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.runtime import profiling

if TYPE_CHECKING:
    from clarray._engine.runtime.memory import Memory

CachedBytes = tuple[int, bytes]  # the offset of the first byte in the memory, and the bytes

CACHED_UPLOAD_BYTES = 1 << 14  # uploads up to this size are cached, for as long as their memory lives
_FIRST_BYTES, _GROWTH, _MAX_BYTES = 1 << 12, 16, 1 << 20  # of the first cache, from one to the next, and at most
_UNCACHED_BYTES = 16  # memory up to this size is not cached: a result of one element


def cached_element(memory: Memory, offset: int, dtype: np.dtype) -> Any:
    """Return the element at a byte offset as a NumPy scalar, or None if it is not cached."""
    cached = memory.mirror
    if cached is None or memory.device.closed:  # a closed device raises at every use, also at this one
        return None
    start, data = cached
    offset -= start
    if offset < 0 or offset + dtype.itemsize > len(data):
        return None
    return np.frombuffer(data, dtype, 1, offset)[0]


def read_element(memory: Memory, offset: int, dtype: np.dtype) -> Any:
    """Read the element at a byte offset as a NumPy scalar, and wait for the device if it is not cached.

    Raises
    ------
    DeviceLostError
        The device is lost.
    """
    device = memory.device
    if (
        device.capabilities.host_memory
        or memory.shared
        or memory.nbytes <= _UNCACHED_BYTES
        or profiling.state.capture is not None
    ):
        return device.read_scalar(memory, offset, dtype)
    with device.lock:
        element = cached_element(memory, offset, dtype)
        if element is None and memory.mirror is not None:
            memory.mirror = _read_around(memory, offset, memory.mirror)
            element = cached_element(memory, offset, dtype)
        if element is None:
            element = device.read_scalar(memory, offset, dtype)
            memory.mirror = offset, b""
    return element


def _read_around(memory: Memory, offset: int, previous: CachedBytes) -> CachedBytes:
    """Read the block of bytes around an offset that the previous cache does not contain."""
    start, data = previous
    is_next = start + len(data) <= offset < start + 2 * len(data)
    size = min(len(data) * _GROWTH, _MAX_BYTES) if data and (is_next or memory.nbytes <= _MAX_BYTES) else _FIRST_BYTES
    start = offset // size * size
    block = np.empty(min(size, memory.nbytes - start), np.uint8)
    memory.device.read(memory, start, block)
    return start, block.tobytes()
