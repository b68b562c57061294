"""Copies between host arrays and device memory: by the processor, or through pinned memory.

    device works in host memory     wait, then copy bytes
    elsewhere, small                one call of the driver
    elsewhere, large                array -- threads --> pinned slots -- driver --> device
    from one such device to another device -- driver --> slots -- threads --> slots -- driver --> device

A driver copies from ordinary memory at a fifth of the bus's speed. From pinned memory it reaches
all of it, so large arrays go through a ring of pinned slots, several threads filling while the
driver empties. Each device has threads of its own, and waits for no other.
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
# (8 threads). The driver alone: 10 / 17; from pinned memory: 55. For small arrays it is ahead.
_SLOT_BYTES = 4 << 20
_THREADS = max(1, min(8, (os.cpu_count() or 1) // 2))
_SLOTS = 2 * _THREADS
_STAGED_WRITE = 14 << 20  # from these sizes on through pinned slots
_STAGED_READ = 36 << 20
_SMALL = 4096  # up to this size read into pinned memory: 1 us less
_SPLIT = 16 << 20  # copies by the processor from this size on are split over threads


# Not clEnqueueFillBuffer: with one driver it hung, or broke the queue, on a buffer larger than what
# the driver calls its largest allocation; kernels work there.
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
    """How bytes move on one device; the caller holds the device's lock."""

    def write(self, memory: Memory, at: int, data: np.ndarray) -> None: ...
    def read(self, memory: Memory, at: int, data: np.ndarray) -> None: ...
    def read_scalar(self, memory: Memory, at: int, dtype: np.dtype) -> Any: ...
    def fill_zero(self, memory: Memory) -> None: ...


def copier(device: Device, host_memory: bool) -> Copier:
    """Give the way to copy on a device."""
    return HostCopier(device) if host_memory else StagedCopier(device)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """Give a C-contiguous array's own bytes."""
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays are copied; use np.ascontiguousarray first")
    return array.reshape(-1).view(np.uint8)


class HostCopier:
    """Copies where kernels work in host memory: wait for them, then copy."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def write(self, memory: Memory, at: int, data: np.ndarray) -> None:
        self._copy(memory.bytes[at : at + data.size], data)

    def read(self, memory: Memory, at: int, data: np.ndarray) -> None:
        self._copy(data, memory.bytes[at : at + data.size])

    def _copy(self, target: np.ndarray, source: np.ndarray) -> None:
        if target.size < _SPLIT or _THREADS == 1:
            self._device.at_rest(np.copyto, target, source)
        else:
            self._device.finish()
            _copy_in_threads(target, source)

    def read_scalar(self, memory: Memory, at: int, dtype: np.dtype) -> Any:
        host = memory._block.host  # `bytes` would abort a capture, in which the device notes the value
        assert host is not None
        return self._device.at_rest(np.ndarray((), dtype, host, at).__getitem__, ())

    def fill_zero(self, memory: Memory) -> None:
        host = memory._block.host
        assert host is not None
        capture = state.capture
        if capture is not None:
            capture.filled(memory)
        self._device.at_rest(host[: memory.nbytes].fill, 0)


class StagedCopier:
    """Copies to a device with memory of its own."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rings: list[Ring] = []  # that no copy uses
        self._scratch: list[np.ndarray] = []  # pinned memory that no small copy uses
        self._pinned: list[cl.Buffer] = []

    def write(self, memory: Memory, at: int, data: np.ndarray) -> None:
        device = self._device
        device.pending = True
        queue = device.main.commands
        if data.size < _STAGED_WRITE:
            cl.enqueue_copy(queue, memory.buffer, data, dst_offset=at)
            return

        ring, turn = self._take_ring(), threading.Lock()

        def work(slot: int, start: int, stop: int) -> cl.Event:
            part = ring[slot][: stop - start]
            np.copyto(part, data[start:stop])
            return _enqueue_write(turn, queue, memory, at + start, part)

        _in_pieces(data.size, work)
        self._rings.append(ring)

    def read(self, memory: Memory, at: int, data: np.ndarray) -> None:
        device = self._device
        queue = device.main.commands
        wait = device.begin_wait()
        if data.size <= _SMALL:
            small = self._take_small()
            part = small[: data.size]
            cl.enqueue_copy(queue, part, memory.buffer, src_offset=at)
            data[...] = part
            self._scratch.append(small)
        elif data.size < _STAGED_READ:
            cl.enqueue_copy(queue, data, memory.buffer, src_offset=at)
        else:
            ring = self._take_ring()

            def work(slot: int, start: int, stop: int) -> None:
                part = ring[slot][: stop - start]
                cl.enqueue_copy(queue, part, memory.buffer, src_offset=at + start)
                np.copyto(data[start:stop], part)

            _in_pieces(data.size, work)
            self._rings.append(ring)
        device.end_wait(wait)

    def read_scalar(self, memory: Memory, at: int, dtype: np.dtype) -> Any:
        wait = self._device.begin_wait()
        small = self._take_small()
        part = small[: dtype.itemsize]
        cl.enqueue_copy(self._device.main.commands, part, memory.buffer, src_offset=at)
        self._device.end_wait(wait)
        value = part.view(dtype)[0]
        self._scratch.append(small)
        return value

    def fill_zero(self, memory: Memory) -> None:
        kernel = self._device.program(_ZERO_SOURCE, {"zero": ("buffer", "uint64")}).kernel("zero")
        groups = min(-(-memory.nbytes // _ZERO_GROUP_BYTES), 8192)
        kernel.launch((groups,), (64,), (memory.buffer, memory.nbytes), nbytes=memory.nbytes)

    def relay(self, sender: StagedCopier, source: Memory, at: int, target: Memory, to: int, nbytes: int) -> None:
        """Copy from the memory of another device that is its own to this one's.

        Each thread has a piece read while the one before it is written. The piece is copied from a slot that the one
        driver has pinned to one that the other has, as neither need know the other's.
        """
        here, there = sender._device, self._device
        theirs, ours = sender._take_ring(), self._take_ring()
        out, into = here.main.commands, there.main.commands
        read, written = here.begin_wait(), there.begin_wait()
        turn = threading.Lock()

        def work(slot: int, start: int, stop: int) -> cl.Event:
            part, onward = theirs[slot][: stop - start], ours[slot][: stop - start]
            cl.enqueue_copy(out, part, source.buffer, src_offset=at + start)
            np.copyto(onward, part)
            return _enqueue_write(turn, into, target, to + start, onward)

        _in_pieces(nbytes, work)
        sender._rings.append(theirs)
        self._rings.append(ours)
        here.end_wait(read)
        there.end_wait(written)

    def _take_ring(self) -> Ring:
        """Take pinned slots for a large copy; a re-entrant call takes others."""
        try:
            return self._rings.pop()
        except IndexError:
            return list(self._pin(_SLOT_BYTES * _SLOTS).reshape(-1, _SLOT_BYTES))

    def _take_small(self) -> np.ndarray:
        """Take pinned memory for a small copy; a re-entrant call takes other memory."""
        try:
            return self._scratch.pop()
        except IndexError:
            return self._pin(_SMALL)

    def _pin(self, nbytes: int) -> np.ndarray:
        """Allocate pinned host memory, for good."""
        device = self._device
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        buffer = cl.Buffer(device.context, flags, nbytes)
        both = cl.map_flags.READ | cl.map_flags.WRITE
        array, _ = cl.enqueue_map_buffer(device.main.commands, buffer, both, 0, (nbytes,), np.dtype(np.uint8))
        self._pinned.append(buffer)
        return array


def _enqueue_write(turn: threading.Lock, queue: cl.CommandQueue, memory: Memory, at: int, part: np.ndarray) -> cl.Event:
    """Enqueue the write of pinned bytes, one thread of a copy at a time.

    Without that, one in a hundred processes that copied between NVIDIA's runtime and PoCL 3.0 ended by SIGSEGV.
    """
    with turn:
        return cl.enqueue_copy(queue, memory.buffer, part, dst_offset=at, is_blocking=False)


def _in_pieces(nbytes: int, work: Callable[[int, int, int], cl.Event | None]) -> None:
    """Run `work(slot, start, stop)` for every piece, each thread with slots of its own, given by number."""
    starts = range(0, nbytes, _SLOT_BYTES)

    def run(thread: int) -> None:
        mine = range(_SLOTS)[thread::_THREADS]
        events: list[cl.Event | None] = [None] * len(mine)
        try:
            for turn, start in enumerate(starts[thread::_THREADS]):
                which = turn % len(mine)
                event = events[which]
                if event is not None:
                    event.wait()
                events[which] = work(mine[which], start, min(start + _SLOT_BYTES, nbytes))
        finally:  # after a failure too, the slots are in use until then
            for event in events:
                if event is not None:
                    event.wait()

    _in_threads(run)


def _in_threads(work: Callable[[int], None]) -> None:
    """Call ``work(thread)`` in each of several threads; all have ended when this returns or raises.

    New ones each time, which take 0.1 ms of a copy's 5: an executor holds locks that a re-entrant call would wait for.
    """
    failures: list[BaseException] = []

    def run(thread: int) -> None:
        try:
            work(thread)
        except BaseException as failure:
            failures.append(failure)

    threads: list[threading.Thread] = []
    with collector_off:  # what it runs in a thread may need the lock that the caller holds
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
    """Copy bytes by several threads: new pages cost more than the bytes."""
    step = -(-target.size // _THREADS)

    def work(thread: int) -> None:
        piece = slice(thread * step, (thread + 1) * step)
        np.copyto(target[piece], source[piece])

    _in_threads(work)


def copy_between(source: Memory, at: int, target: Memory, to: int, nbytes: int) -> None:
    """Copy bytes from one device's memory to another's; the caller holds the locks of both.

    Nowhere do all the bytes lie in between: devices that work in host memory are given, or give, the bytes where they
    are, and between two others they go through pinned slots of both.
    """
    sender, receiver = source.device.copier, target.device.copier
    if isinstance(sender, HostCopier):
        source.device.finish()
        receiver.write(target, to, source.bytes[at : at + nbytes])
    elif isinstance(receiver, HostCopier):
        target.device.finish()
        sender.read(source, at, target.bytes[to : to + nbytes])
    elif isinstance(sender, StagedCopier) and isinstance(receiver, StagedCopier) and nbytes >= _STAGED_WRITE:
        receiver.relay(sender, source, at, target, to, nbytes)
    else:
        data = np.empty(nbytes, np.uint8)
        sender.read(source, at, data)
        receiver.write(target, to, data)
