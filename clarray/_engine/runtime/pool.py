"""The pool of a device's memory: blocks reused by size.

    nbytes -> size class -> a free block of that class, or a new one -> Memory
                                   ^                                      |
                                   +-------------- __del__ ---------------+

On devices that work in host memory a block is a piece of host memory wrapped once by a buffer;
large ones start at a huge page, since fresh 4 KiB pages cost more than the arithmetic done in them.

Free blocks are given back
    before a block of another size    in host memory, beyond twice what arrays have held at once
    where a large one is dropped      beyond a quarter of the host's memory that is left, or half of a device's own
    where nothing has moved for long  all but a few, by the thread of `runtime.pool_trimmer`
    where the host's memory is short  all, by the same thread
    where a new block cannot be had   all, before it is tried again
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from clarray._engine.runtime import pool_trimmer, profiling
from clarray._engine.runtime.host_memory import (
    available_host_bytes,
    container_bytes_for_arrays,
    in_units,
    is_short,
    recently_available_host_bytes,
)
from clarray._engine.runtime.interrupts import take_at_once
from clarray._engine.runtime.memory import CHECKED, FLAGS, SMALLEST, Block, Memory, over, own, size_class
from clarray._engine.runtime.memory_budget import account_of, memory_limit
from clarray._engine.values import dataclass

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device

_HUGE_PAGE = 2 << 20
_MUCH_FREED = 16 << 20  # bytes of small blocks from which on the C library is asked for them: it takes up to 0.1 s
_PATIENCE_SECONDS = 2.0  # for other processes to give memory back; their threads look once a second
_STEP_SECONDS = 0.02
_REFUSALS = (cl.Error, MemoryError, OSError, OverflowError, ValueError)


@dataclass(frozen=True)
class MemoryInfo:
    """Describe how much of a device's memory this process uses, in bytes. The result of `clarray.memory_info`.

    Attributes
    ----------
    used : int
        Memory of arrays.
    pooled : int
        Unused memory that is kept for new arrays. `clarray.free_memory` returns it to the system.
    peak : int
        The largest sum of both so far.
    limit : int
        The most that may be used: `clarray.config.memory_limit`, else all memory. Devices that work in host memory
        share it.
    left : int
        How much more can be used, by the limit, and in host memory by the system's account too.
    total : int
        All memory of the device.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(1000, clarray.int8)
    >>> info = clarray.memory_info()
    >>> 1000 <= info.used <= info.peak
    True
    """

    used: int
    pooled: int
    peak: int
    limit: int
    left: int
    total: int


class Pool:
    """The blocks of one device.

    Parameters
    ----------
    device : Device
        Whose memory.
    host_memory : bool
        Whether blocks are host memory wrapped by buffers.
    global_bytes : int
        The device's memory.
    largest : int
        What it calls its largest allocation. That is no limit: the runtimes tried make and use larger ones, and where
        one will not there is a MemoryError.

    Attributes
    ----------
    in_host_memory : bool
        Whether the system knows how much of the memory is left, as processes that do not know of each other take it.
    reserved : int
        Bytes of all blocks, in use or free.
    peak : int
        The most that has been.
    """

    def __init__(self, device: Device, host_memory: bool, global_bytes: int, largest: int) -> None:
        self._device = device
        self.in_host_memory = host_memory
        self._global_bytes = global_bytes
        self.largest = largest
        self._bins: dict[int, list[Block]] = {}
        self._blocks: set[Block] = set()  # all of them: where an interrupt lets one go, what is queued may still use it
        self._made: dict[int, int] = {}  # by size: how many blocks there had been when the last one was made
        self._blocks_made = 0
        self._most_used = 0  # bytes that arrays have held at once, as far as new blocks were made for them
        self._unseen = 0  # bytes of new blocks since the system was asked for what it has
        self.reserved = self.peak = 0
        self._account = account_of(device.cl_device, host_memory, global_bytes)
        self._account.open(self)

    def cost(self, nbytes: int) -> int:
        """Give the weight of keeping so many bytes alive."""
        return 1 + (nbytes << 6) // self._global_bytes

    def allocate(self, nbytes: int) -> Memory:
        """Take a free block or make one.

        Raises
        ------
        MemoryError
            With the sizes, after the free blocks have been given back, garbage has been collected, and it was tried
            again.
        """
        size = size_class(nbytes)
        try:
            block = self._bins[size].pop()
        except (KeyError, IndexError):
            block = self._create(size, nbytes)
        if profiling.state.recorder is not None:
            profiling.record("allocate", "memory", nbytes, 0.0)
        memory = Memory(self._device, block, nbytes, 1 + (nbytes << 6) // self._global_bytes)
        capture = profiling.state.capture
        if capture is not None:
            capture.allocated(memory)
        return memory

    def info(self) -> MemoryInfo:
        """Give what is taken and what is left."""
        pooled, account = self.free_bytes(), self._account
        left = max(account.most - account.taken, 0)
        if self.in_host_memory:
            left = min(left, self._host_bytes_left())
        return MemoryInfo(self.reserved - pooled, pooled, self.peak, account.most, left, account.total)

    # Giving back --------------------------------------------------------------------------------

    def free_bytes(self) -> int:
        """Bytes of the blocks that wait for reuse."""
        return sum(size * len(bin_) for size, bin_ in list(self._bins.items()))

    def state(self) -> tuple[tuple[int, int], ...]:
        """What tells with little work whether blocks have been taken or returned: how many, and the next one."""
        return tuple((len(bin_), sum(map(id, bin_[-1:]))) for bin_ in list(self._bins.values()))

    def empty(self) -> int:
        """Give all free blocks back to the system, once nothing queued uses them; the bytes."""
        return self.release(0)

    def release(self, keep: int) -> int:
        """Give free blocks back until no more than so many bytes are kept; the bytes."""
        device = self._device
        if device.closed:  # nothing is queued; after a fork, and with a device that is lost, nothing may be freed
            return 0 if device.inherited or device.lost else self._release(0)
        with device.lock:
            device.drain()  # a queued kernel may still use the host memory under a free block
            return self._release(keep)

    def release_unless_busy(self, keep: int) -> int:
        """The same, but nothing where the device is at work: for who must wait for nobody."""
        device = self._device
        if device.closed or self.free_bytes() <= keep:
            return 0
        taken: list[bool] = []
        try:
            return self.release(keep) if take_at_once(device.lock, taken) else 0
        finally:
            if True in taken:
                device.lock.release()

    def trim(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Give free blocks back beyond what is kept for reuse.

        It is called where memory is dropped, in whatever thread and with whatever locks held, so it
        waits for nobody: if the device is busy, a later call will do. While Python shuts down, names are gone.
        """
        device = self._device
        if ends():
            return
        if device.closed:
            if not (device.inherited or device.lost):
                self._release(0)
            return
        free = self.free_bytes()
        if free > CHECKED:
            self.release_unless_busy(self._kept(free))

    def write_off(self) -> None:
        """Take nothing any more: the driver has dropped the memory with the device."""
        self._account.give(self, self.reserved)

    def _kept(self, free: int) -> int:
        """How many bytes of free blocks are kept for reuse.

        Of host memory a share of what is left, so that processes side by side leave each other room: of n that each
        keep as much as they may, all together keep n / (n + 3) of what none of them uses.
        """
        if not self.in_host_memory:
            return self._account.most // 2
        left = recently_available_host_bytes()
        return 0 if is_short(left, self._account.total) else min(left + free, self._account.most) // 4

    def _release(self, keep: int) -> int:
        if not keep:
            for block in _held_once(self._blocks):
                self._bins[block.size].append(block)
        before = free = self.free_bytes()
        small = 0
        for size in sorted(self._bins, key=self._worth):
            bin_ = self._bins[size]
            first = -1 if free - size * len(bin_) >= keep else 0  # of many, one after the other from the front is slow
            while free > keep:
                try:
                    block = bin_.pop(first)
                except IndexError:
                    break
                free -= size
                small += size if size < _HUGE_PAGE else 0
                self._blocks.discard(block)
                self._account.give(self, size)
                block.buffer.release()
        if self.in_host_memory and small >= _MUCH_FREED:
            _return_freed()
        return before - free

    def _worth(self, size: int) -> tuple[bool, int]:
        """Sort sizes: large ones are given back first, and of them those of which no block was made for longest."""
        return (False, self._made.get(size, 0)) if size >= _HUGE_PAGE else (True, -size)

    # Taking -------------------------------------------------------------------------------------

    def _create(self, size: int, nbytes: int) -> Block:
        failure: Exception | None = None
        if nbytes > sys.maxsize:
            raise ValueError(
                "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
            )
        if self.in_host_memory and self.reserved + size > pool_trimmer.FEW:
            self._make_way(size)
        for make_room in (None, self._reclaim, self._collect, self._wait):
            if make_room is not None and not make_room(size):
                continue
            try:
                block = self._new(size)
            except _REFUSALS as error:
                failure = error
                continue
            if block is not None:
                if self.reserved > pool_trimmer.FEW:
                    pool_trimmer.watch(self)
                return block
        if isinstance(failure, cl.Error):
            with self._device.lock:
                self._device.check_alive(failure)
        raise self.exhausted(nbytes, failure) from failure

    def _make_way(self, size: int) -> None:
        """Take no more than twice what arrays have held at once: blocks of many sizes, all kept, would be far more.

        Twice, so that two phases of a loop, of different sizes each, still find their blocks.
        """
        free = self.free_bytes()
        self._most_used = max(self._most_used, self.reserved - free + size)
        beyond = self.reserved + size - 2 * self._most_used - pool_trimmer.FEW
        if beyond > 0:
            self.release_unless_busy(max(free - beyond, 0))

    def _reclaim(self, size: int) -> bool:
        """Give back what waits for reuse, that of other devices in the same memory too."""
        given = self.empty()
        others = [pool for pool in self._account.pools() if pool is not self]
        return given + sum(pool.release_unless_busy(0) for pool in others) > 0

    def _collect(self, size: int) -> bool:
        """Drop arrays that only garbage holds; that may take long where there are many objects, and is rare."""
        if size > self._account.most:
            return False
        gc.collect()
        self._reclaim(size)
        return True

    def _wait(self, size: int) -> bool:
        """Ask other processes for what they only keep, where memory is short and this process may take it."""
        if self._account.taken + size > self._account.most:
            return False
        pool_trimmer.ask_others(self)
        end = time.monotonic() + _PATIENCE_SECONDS
        # nobody tells what is left of a device's own memory
        while not self.in_host_memory or size > available_host_bytes():
            if time.monotonic() > end:
                return not self.in_host_memory
            time.sleep(_STEP_SECONDS)
        return True

    def _new(self, size: int) -> Block | None:
        """Make a block; None where it may not be had, an error where the runtime or the system refuses it."""
        with self._device.lock:
            # Linux promises memory it has not got and kills the process that touches it, so look first.
            self._unseen += size
            if self.in_host_memory and self._unseen >= CHECKED:
                if size > self._host_bytes_left():
                    return None
                self._unseen = 0
            # Some drivers hand out more than there is and fail at the launch that uses it.
            if not self._account.take(self, size):
                return None
            try:
                block = self._new_block(size, self._bins.setdefault(size, []))
                self._blocks.add(block)
                self._made[size] = self._blocks_made = self._blocks_made + 1
                return block
            except _REFUSALS:
                self._account.give(self, size)
                raise

    def _host_bytes_left(self) -> int:
        return max(min(available_host_bytes(), container_bytes_for_arrays() - self._account.taken), 0)

    def exhausted(self, nbytes: int = 0, failure: Exception | None = None) -> MemoryError:
        """Make the error for an allocation that cannot be had, or for a launch (no size)."""
        what = in_units(nbytes) if nbytes else "what a launch needs"
        account, limit = self._account, memory_limit()
        used = in_units(self.reserved - self.free_bytes())
        left = f", {in_units(self._host_bytes_left())} are left" if self.in_host_memory else ""
        refused = isinstance(failure, cl.Error) and failure.code == cl.status_code.INVALID_BUFFER_SIZE
        least = f", and the largest allocation is {in_units(self.largest)}" if refused else ""
        bounds = f"; clarray.config.memory_limit is {in_units(account.most)}: raise it" if limit is not None else ""
        return MemoryError(
            f"cannot allocate {what} on {self._device}: {used} of {in_units(self._global_bytes)} "
            f"are in use by clarray{left}{least}{bounds}; drop arrays that are no longer needed, or work in pieces"
        )

    def _new_block(self, size: int, home: list[Block]) -> Block:
        context = self._device.context
        if not self.in_host_memory:
            return Block(own(self._device, cl.Buffer(context, FLAGS, size=size)), size, None, home)
        host = _host_bytes(size)
        return Block(over(self._device, host), size, host, home)


def _held_once(blocks: set[Block]) -> list[Block]:
    """Those that only the set holds: they have been taken, and never came back."""
    least = object()  # which this list holds too, and its name as the set does a block
    found: list[Any] = [least, *blocks]
    counts = [sys.getrefcount(each) for each in found]
    return [block for block, count in zip(found, counts, strict=True) if count == counts[0] and block is not least]


def _return_freed() -> None:
    """Have the C library return to the system what has been freed: it keeps what has not come by `mmap`."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # not GNU's
            ctypes.CDLL(None).malloc_trim(0)


def _host_bytes(size: int) -> np.ndarray:
    """Allocate aligned host memory, in huge pages where it is large and the system has them."""
    if size >= _HUGE_PAGE and os.name == "posix":
        mapped = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            mapped.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(mapped, np.uint8)
        return _aligned(raw, size, _HUGE_PAGE)
    return _aligned(np.empty(size + SMALLEST, np.uint8), size, SMALLEST)


def _aligned(raw: np.ndarray, size: int, alignment: int) -> np.ndarray:
    start = -raw.ctypes.data % alignment
    return raw[start : start + size]
