"""What the host keeps of memory that is a device's own, so that who reads element by element waits for the device once.

    an element is read -> in the mirror?  yes -> it is there
                              | no
                          since the last write, the first?  yes -> the element alone: often no other is read
                              | no
                          what lies around it becomes the mirror, more each time that this was too little

Whoever writes to the memory has the mirror go, as what is known of the values: see `Memory.forget`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.runtime import profiling

if TYPE_CHECKING:
    from clarray._engine.runtime.memory import Memory

Mirror = tuple[int, bytes]  # from which byte of the memory on, and what lies there

UPLOADED = 1 << 14  # bytes up to which what has come from the host is kept there too, as long as its array
_FIRST, _MORE, _MOST = 1 << 12, 16, 1 << 20  # bytes of the first mirror, how many times those of the next, and the most
_FEW = 16  # bytes of a memory that are not worth keeping: a result of one element


def mirrored(memory: Memory, at: int, dtype: np.dtype) -> Any:
    """The element at a byte of a memory, as a NumPy scalar; None where the host does not have it."""
    mirror = memory.mirror
    if mirror is None or memory.device.closed:  # whose every use raises, and not only those that wait for it
        return None
    start, data = mirror
    at -= start
    if at < 0 or at + dtype.itemsize > len(data):
        return None
    return np.frombuffer(data, dtype, 1, at)[0]


def read_element(memory: Memory, at: int, dtype: np.dtype) -> Any:
    """Read the element at a byte of a memory, as a NumPy scalar; it has been waited for.

    Raises
    ------
    DeviceLostError
        The device does nothing any more.
    """
    device = memory.device
    if device.capabilities.host_memory or memory.shared or memory.nbytes <= _FEW or profiling.state.capture is not None:
        return device.read_scalar(memory, at, dtype)
    with device.lock:
        found = mirrored(memory, at, dtype)
        if found is None and memory.mirror is not None:
            memory.mirror = _around(memory, at, memory.mirror)
            found = mirrored(memory, at, dtype)
        if found is None:
            found = device.read_scalar(memory, at, dtype)
            memory.mirror = at, b""
    return found


def _around(memory: Memory, at: int, before: Mirror) -> Mirror:
    """What lies around a byte, after an earlier mirror that it was not in."""
    start, data = before
    is_next = start + len(data) <= at < start + 2 * len(data)
    size = min(len(data) * _MORE, _MOST) if data and (is_next or memory.nbytes <= _MOST) else _FIRST
    start = at // size * size
    found = np.empty(min(size, memory.nbytes - start), np.uint8)
    memory.device.read(memory, start, found)
    return start, found.tobytes()
