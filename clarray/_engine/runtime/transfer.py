"""Copies between host arrays and device memory: by the processor, or through pinned memory.

    device works in host memory     wait, then copy bytes
    other device, small array       one call of the driver
    other device, large array       array -- threads --> pinned slots -- driver --> device
    between two such devices        device -- driver --> slots -- threads --> slots -- driver --> device

From pageable memory a driver copies at a fifth of the bus's speed, from pinned memory at full speed. So large arrays go
through a ring of pinned slots, which several threads fill while the driver empties them. Each copy has threads of its
own, and no copy waits for another device.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyopencl as cl

from clarray._engine.runtime.profiling import state
from clarray._engine.threads import collector_off, start

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device
    from clarray._engine.runtime.memory import Memory

Copy = Callable[["Memory", int, np.ndarray], None]
Ring = list[np.ndarray]  # pinned slots

# On an H200 with 16 cores, GB/s up / down for 1 GiB: slots of 1 MiB 22 / 20 (4 threads), of 4 MiB
# 18, 35, 51, 51, 50, 44 / 15, 24, 28, 34, 27, 26 (2, 4, 6, 8, 12, 16 threads), of 16 MiB 37 / 34
# (8 threads). The driver alone: 10 / 17, from pinned memory 55. For small arrays the driver alone is faster.
_SLOT_BYTES = 4 << 20
_THREADS = max(1, min(8, (os.cpu_count() or 1) // 2))
_SLOTS = 2 * _THREADS
_STAGED_WRITE = 14 << 20  # from these sizes on copies use pinned slots
_STAGED_READ = 36 << 20
_SMALL = 4096  # reads up to this size use pinned memory, which saves 1 us
_SPLIT = 16 << 20  # from this size on copies by the processor use several threads


# Not clEnqueueFillBuffer: with one driver it hung, or broke the queue, for a buffer above the driver's largest
# allocation. Kernels work for such buffers.
_ZERO_SOURCE = """
kernel void zero(global uint4 *x, const ulong nbytes)
{
    const ulong n = nbytes / sizeof(uint4);
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
        x[i] = (uint4)(0);
    if (get_global_id(0) < nbytes % sizeof(uint4))
        ((global uchar *)(x + n))[get_global_id(0)] = 0;
}
"""
_ZERO_GROUP_BYTES = 64 * 16


class Copier(Protocol):
    """The copies between host arrays and the memory of one device. The caller holds the device's lock."""

    def write(self, memory: Memory, offset: int, data: np.ndarray) -> None: ...
    def read(self, memory: Memory, offset: int, data: np.ndarray) -> None: ...
    def read_scalar(self, memory: Memory, offset: int, dtype: np.dtype) -> Any: ...
    def fill_zero(self, memory: Memory) -> None: ...


def copier(device: Device, host_memory: bool) -> Copier:
    """Return the copier for a device."""
    return HostCopier(device) if host_memory else StagedCopier(device)


def raw_bytes(array: np.ndarray) -> np.ndarray:
    """Return a view of a C-contiguous array's bytes."""
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays are copied; use np.ascontiguousarray first")
    return array.reshape(-1).view(np.uint8)


class HostCopier:
    """Copies for a device that works in host memory: wait for its kernels, then copy."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def write(self, memory: Memory, offset: int, data: np.ndarray) -> None:
        self._copy(memory.bytes[offset : offset + data.size], data)

    def read(self, memory: Memory, offset: int, data: np.ndarray) -> None:
        self._copy(data, memory.bytes[offset : offset + data.size])

    def _copy(self, target: np.ndarray, source: np.ndarray) -> None:
        if target.size < _SPLIT or _THREADS == 1:
            self._device.call_when_idle(np.copyto, target, source)
        else:
            self._device.finish()
            _copy_in_threads(target, source)

    def read_scalar(self, memory: Memory, offset: int, dtype: np.dtype) -> Any:
        host = memory._block.host  # `bytes` would abort a capture, in which the device notes the value
        assert host is not None
        return self._device.call_when_idle(np.ndarray((), dtype, host, offset).__getitem__, ())

    def fill_zero(self, memory: Memory) -> None:
        host = memory._block.host
        assert host is not None
        capture = state.capture
        if capture is not None:
            capture.filled(memory)
        self._device.call_when_idle(host[: memory.nbytes].fill, 0)


class StagedCopier:
    """Copies for a device with memory of its own."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rings: list[Ring] = []  # rings that no copy uses
        self._scratch: list[np.ndarray] = []  # pinned memory that no small copy uses
        self._pinned: list[cl.Buffer] = []

    def write(self, memory: Memory, offset: int, data: np.ndarray) -> None:
        device = self._device
        device.pending = True
        queue = device.main.commands
        if data.size < _STAGED_WRITE:
            cl.enqueue_copy(queue, memory.buffer, data, dst_offset=offset)
            return

        ring, turn = self._acquire_ring(), threading.Lock()

        def work(slot: int, start: int, stop: int) -> cl.Event:
            part = ring[slot][: stop - start]
            np.copyto(part, data[start:stop])
            return _enqueue_write(turn, queue, memory, offset + start, part)

        _in_pieces(data.size, work)
        self._rings.append(ring)

    def read(self, memory: Memory, offset: int, data: np.ndarray) -> None:
        device = self._device
        queue = device.main.commands
        wait = device.begin_wait()
        if data.size <= _SMALL:
            small = self._acquire_small()
            part = small[: data.size]
            cl.enqueue_copy(queue, part, memory.buffer, src_offset=offset)
            data[...] = part
            self._scratch.append(small)
        elif data.size < _STAGED_READ:
            cl.enqueue_copy(queue, data, memory.buffer, src_offset=offset)
        else:
            ring = self._acquire_ring()

            def work(slot: int, start: int, stop: int) -> None:
                part = ring[slot][: stop - start]
                cl.enqueue_copy(queue, part, memory.buffer, src_offset=offset + start)
                np.copyto(data[start:stop], part)

            _in_pieces(data.size, work)
            self._rings.append(ring)
        device.end_wait(wait)

    def read_scalar(self, memory: Memory, offset: int, dtype: np.dtype) -> Any:
        wait = self._device.begin_wait()
        small = self._acquire_small()
        part = small[: dtype.itemsize]
        cl.enqueue_copy(self._device.main.commands, part, memory.buffer, src_offset=offset)
        self._device.end_wait(wait)
        value = part.view(dtype)[0]
        self._scratch.append(small)
        return value

    def fill_zero(self, memory: Memory) -> None:
        kernel = self._device.program(_ZERO_SOURCE, {"zero": ("buffer", "uint64")}).kernel("zero")
        groups = min(-(-memory.nbytes // _ZERO_GROUP_BYTES), 8192)
        kernel.launch((groups,), (64,), (memory.buffer, memory.nbytes), nbytes=memory.nbytes)

    def relay(
        self, sender: StagedCopier, source: Memory, offset: int, target: Memory, target_offset: int, nbytes: int
    ) -> None:
        """Copy from another device with memory of its own to this device.

        Each thread reads a piece while the previous piece is written. The piece is copied from a slot of the sender's
        driver to a slot of the receiver's, since a driver need not know the pinned memory of another driver.
        """
        origin, destination = sender._device, self._device
        read_ring, write_ring = sender._acquire_ring(), self._acquire_ring()
        read_queue, write_queue = origin.main.commands, destination.main.commands
        read_wait, write_wait = origin.begin_wait(), destination.begin_wait()
        turn = threading.Lock()

        def work(slot: int, start: int, stop: int) -> cl.Event:
            part, copied = read_ring[slot][: stop - start], write_ring[slot][: stop - start]
            cl.enqueue_copy(read_queue, part, source.buffer, src_offset=offset + start)
            np.copyto(copied, part)
            return _enqueue_write(turn, write_queue, target, target_offset + start, copied)

        _in_pieces(nbytes, work)
        sender._rings.append(read_ring)
        self._rings.append(write_ring)
        origin.end_wait(read_wait)
        destination.end_wait(write_wait)

    def _acquire_ring(self) -> Ring:
        """Return pinned slots for a large copy. A re-entrant call gets other slots."""
        try:
            return self._rings.pop()
        except IndexError:
            return list(self._pin(_SLOT_BYTES * _SLOTS).reshape(-1, _SLOT_BYTES))

    def _acquire_small(self) -> np.ndarray:
        """Return pinned memory for a small copy. A re-entrant call gets other memory."""
        try:
            return self._scratch.pop()
        except IndexError:
            return self._pin(_SMALL)

    def _pin(self, nbytes: int) -> np.ndarray:
        """Allocate pinned host memory that is never freed."""
        device = self._device
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        buffer = cl.Buffer(device.context, flags, nbytes)
        both = cl.map_flags.READ | cl.map_flags.WRITE
        array, _ = cl.enqueue_map_buffer(device.main.commands, buffer, both, 0, (nbytes,), np.dtype(np.uint8))
        self._pinned.append(buffer)
        return array


def _enqueue_write(
    turn: threading.Lock, queue: cl.CommandQueue, memory: Memory, offset: int, part: np.ndarray
) -> cl.Event:
    """Enqueue the write of pinned bytes. The lock admits one thread of a copy at a time.

    Without the lock, one in a hundred processes that copied between NVIDIA's runtime and PoCL 3.0 ended by SIGSEGV.
    """
    with turn:
        return cl.enqueue_copy(queue, memory.buffer, part, dst_offset=offset, is_blocking=False)


def _in_pieces(nbytes: int, work: Callable[[int, int, int], cl.Event | None]) -> None:
    """Call `work(slot, start, stop)` for every piece in several threads, each with its own numbers of slots."""
    starts = range(0, nbytes, _SLOT_BYTES)

    def run(thread: int) -> None:
        own_slots = range(_SLOTS)[thread::_THREADS]
        events: list[cl.Event | None] = [None] * len(own_slots)
        try:
            for turn, start in enumerate(starts[thread::_THREADS]):
                number = turn % len(own_slots)
                event = events[number]
                if event is not None:
                    event.wait()
                events[number] = work(own_slots[number], start, min(start + _SLOT_BYTES, nbytes))
        finally:  # also after a failure: the slots are in use until the events are complete
            for event in events:
                if event is not None:
                    event.wait()

    _in_threads(run)


def _in_threads(work: Callable[[int], None]) -> None:
    """Call ``work(thread)`` in each of several threads, and wait until all have ended.

    The threads are new for each copy, which takes 0.1 ms of 5 ms. An executor has locks that a re-entrant call would
    wait for.
    """
    failures: list[BaseException] = []

    def run(thread: int) -> None:
        try:
            work(thread)
        except BaseException as failure:
            failures.append(failure)

    threads: list[threading.Thread] = []
    with collector_off:  # a finalizer in a new thread may need a lock that the caller holds
        try:
            for number in range(1, _THREADS):
                thread = threading.Thread(target=run, args=(number,), name="clarray copy")
                try:
                    start(thread)
                except RuntimeError:  # the process ends, or has too many threads
                    run(number)
                else:
                    threads.append(thread)
            run(0)
        finally:
            for thread in threads:
                thread.join()
    if failures:
        raise failures[0]


def _copy_in_threads(target: np.ndarray, source: np.ndarray) -> None:
    """Copy bytes in several threads, since page faults of new memory cost more than the copy."""
    step = -(-target.size // _THREADS)

    def work(thread: int) -> None:
        piece = slice(thread * step, (thread + 1) * step)
        np.copyto(target[piece], source[piece])

    _in_threads(work)


def copy_between(source: Memory, offset: int, target: Memory, target_offset: int, nbytes: int) -> None:
    """Copy bytes from one device's memory to another's. The caller holds the locks of both.

    Large copies have no intermediate array. A device that works in host memory is the source or the target of one copy.
    Between two other devices the bytes go through pinned slots of both.
    """
    sender, receiver = source.device.copier, target.device.copier
    if isinstance(sender, HostCopier):
        source.device.finish()
        receiver.write(target, target_offset, source.bytes[offset : offset + nbytes])
    elif isinstance(receiver, HostCopier):
        target.device.finish()
        sender.read(source, offset, target.bytes[target_offset : target_offset + nbytes])
    elif isinstance(sender, StagedCopier) and isinstance(receiver, StagedCopier) and nbytes >= _STAGED_WRITE:
        receiver.relay(sender, source, offset, target, target_offset, nbytes)
    else:
        data = np.empty(nbytes, np.uint8)
        sender.read(source, offset, data)
        receiver.write(target, target_offset, data)
