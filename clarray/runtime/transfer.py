"""Copies between host arrays and device memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clarray.runtime import profile

if TYPE_CHECKING:
    from clarray.runtime.device import Device
    from clarray.runtime.memory import Memory


def write(device: Device, memory: Memory, byte_offset: int, array: np.ndarray) -> None:
    """Copy a C-contiguous array over the bytes from `byte_offset` on."""
    data = _bytes_of(array)
    start = time.perf_counter()
    with device.lock:
        host = memory._block.host
        if host is None:
            cl.enqueue_copy(device.main.queue, memory.buffer, data, dst_offset=byte_offset)
        else:
            device.finish()
            host[byte_offset : byte_offset + data.size] = data
    profile.record("transfer", "to device", data.size, time.perf_counter() - start)


def read(device: Device, memory: Memory, byte_offset: int, out: np.ndarray) -> None:
    """Copy the bytes from `byte_offset` on into a C-contiguous array."""
    data = _bytes_of(out)
    start = time.perf_counter()
    with device.lock:
        host = memory._block.host
        if host is None:
            cl.enqueue_copy(device.main.queue, data, memory.buffer, src_offset=byte_offset)
            device.pending = False
        else:
            device.finish()
            data[...] = host[byte_offset : byte_offset + data.size]
    profile.record("transfer", "to host", data.size, time.perf_counter() - start)


def read_scalar(device: Device, memory: Memory, byte_offset: int, dtype: np.dtype) -> Any:
    """Read one element, as a NumPy scalar."""
    host = memory._block.host
    if host is None:
        out = np.empty((), dtype)
        read(device, memory, byte_offset, out)
        return out[()]
    device.synchronize()
    return np.ndarray((), dtype, host, byte_offset)[()]


def fill_zero(device: Device, memory: Memory) -> None:
    """Set every byte to zero."""
    if not memory.nbytes:
        return
    with device.lock:
        host = memory._block.host
        if host is None:
            cl.enqueue_fill_buffer(
                device.main.queue, memory.buffer, np.uint8(0), 0, -(-memory.nbytes // 4) * 4
            )
            device.pending = True
        else:
            device.finish()
            host[: memory.nbytes] = 0


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """Give a C-contiguous array's own bytes."""
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays are copied; use np.ascontiguousarray first")
    return array.reshape(-1).view(np.uint8)
