"""The memory pool of a device: blocks that are reused by size.

    nbytes -> size class -> a free block of that class, or a new one -> Memory
                                   ^                                      |
                                   +-------------- __del__ ---------------+

On devices that work in host memory a block is host memory that is wrapped once by a buffer. Large blocks start at a
huge page, since fresh 4 KiB pages cost more than the arithmetic done in them.

Free blocks are released
    before a block of a new size is made   in host memory, beyond twice the peak of the bytes that arrays have held
    when a large block is dropped          beyond a quarter of the available host memory, or half of a device's own
    when the pool has been idle for long   all but 64 MiB, by the thread of `runtime.pool_trimmer`
    when host memory is short              all, by the same thread
    when an allocation fails               all, before the next attempt
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

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.runtime import pool_trimmer, profiling
from clarray._engine.runtime.host_memory import (
    available_host_bytes,
    container_bytes_for_arrays,
    format_bytes,
    is_host_memory_short,
    recently_available_host_bytes,
)
from clarray._engine.runtime.interrupts import try_acquire
from clarray._engine.runtime.memory import (
    CHECKED_BYTES,
    FLAGS,
    SMALLEST_BLOCK,
    Block,
    Memory,
    buffer_over,
    size_class,
    tag_with_device,
)
from clarray._engine.runtime.memory_budget import find_budget, memory_limit
from clarray._engine.weights import LEAST_OF_MEMORY, WEIGHT_OF_ALL

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device

_HUGE_PAGE = 2 << 20
_TRIM_HEAP_BYTES = 16 << 20  # of small blocks, from which on `malloc_trim` is called: it takes up to 0.1 s
_MAX_WAIT_SECONDS = 2.0  # for other processes to release memory: their threads check once a second
_POLL_SECONDS = 0.02
_ALLOCATION_ERRORS = (cl.Error, MemoryError, OSError, OverflowError, ValueError)


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
        How much more can be used, by the limit, and in host memory by the system's budget too.
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
        The device that owns the memory.
    host_memory : bool
        Whether blocks are host memory that buffers wrap.
    global_bytes : int
        The size of the device's memory.
    max_alloc_bytes : int
        The largest allocation that the device promises. This is no limit: the tested runtimes make and use larger
        buffers. A runtime that refuses one causes a MemoryError.

    Attributes
    ----------
    in_host_memory : bool
        Whether the memory is host memory. The system then reports the available bytes, which all processes share.
    reserved : int
        Bytes of all blocks, in use or free.
    peak : int
        The largest value of `reserved` so far.
    """

    def __init__(self, device: Device, host_memory: bool, global_bytes: int, max_alloc_bytes: int) -> None:
        self._device = device
        self.in_host_memory = host_memory
        self._global_bytes = global_bytes
        self.max_alloc_bytes = max_alloc_bytes
        self._bins: dict[int, list[Block]] = {}
        self._blocks: set[Block] = set()  # all blocks: a block lost by an interrupt may still be used by queued work
        self._last_created: dict[int, int] = {}  # by size: the number of blocks created up to the last one of the size
        self._blocks_created = 0
        self._peak_used = 0  # the peak of the bytes that arrays held, at the creation of blocks
        self._unchecked_bytes = 0  # of new blocks since the last check of the available memory
        self.reserved = self.peak = 0
        self._budget = find_budget(device.cl_device, host_memory, global_bytes)
        self._budget.add_pool(self)

    def cost(self, nbytes: int) -> int:
        """Return the weight of keeping `nbytes` alive: see `clarray._engine.weights`."""
        return max(LEAST_OF_MEMORY, nbytes * WEIGHT_OF_ALL // self._global_bytes)

    def allocate(self, nbytes: int) -> Memory:
        """Allocate memory from a free block or a new one.

        Raises
        ------
        MemoryError
            The allocation failed, even after free blocks were released and garbage was collected. The message has
            the sizes.
        """
        size = size_class(nbytes)
        try:
            block = self._bins[size].pop()
        except (KeyError, IndexError):
            block = self._create(size, nbytes)
        if profiling.state.recorder is not None:
            profiling.record("allocate", "memory", nbytes, 0.0)
        memory = Memory(self._device, block, nbytes, self.cost(nbytes))
        capture = profiling.state.capture
        if capture is not None:
            capture.allocated(memory)
        return memory

    def info(self) -> MemoryInfo:
        """Return the used and the available bytes."""
        pooled, budget = self.free_bytes(), self._budget
        available = max(budget.max_bytes - budget.reserved, 0)
        if self.in_host_memory:
            available = min(available, self._available_bytes())
        return MemoryInfo(self.reserved - pooled, pooled, self.peak, budget.max_bytes, available, budget.total)

    # Releasing ----------------------------------------------------------------------------------

    def free_bytes(self) -> int:
        """Return the bytes of the free blocks."""
        return sum(size * len(bin_) for size, bin_ in list(self._bins.items()))

    def fingerprint(self) -> tuple[tuple[int, int], ...]:
        """Return numbers that change when blocks are taken or returned: length and last block of each free list."""
        return tuple((len(bin_), sum(map(id, bin_[-1:]))) for bin_ in list(self._bins.values()))

    def empty(self) -> int:
        """Release all free blocks once no queued work uses them, and return their bytes."""
        return self.release(0)

    def release(self, keep: int) -> int:
        """Release free blocks until at most `keep` bytes of them remain, and return the released bytes."""
        device = self._device
        if device.closed:  # no work is queued; after a fork, or if the device is lost, nothing may be freed
            return 0 if device.inherited or device.lost else self._release(0)
        with device.lock:
            device.drain()  # a queued kernel may still use the host memory under a free block
            return self._release(keep)

    def release_unless_busy(self, keep: int) -> int:
        """Release free blocks as `release` does, but only if that needs no wait for a lock of the device."""
        device = self._device
        if device.closed or self.free_bytes() <= keep:
            return 0
        acquired: list[bool] = []
        try:
            return self.release(keep) if try_acquire(device.lock, acquired) else 0
        finally:
            if True in acquired:
                device.lock.release()

    def trim(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        """Release the free blocks that exceed what is retained for reuse.

        The function is called where memory is dropped, in any thread and with any locks held, so it waits for no lock.
        If the device is busy, a later call releases the blocks. `is_finalizing` is bound early: names of modules are
        gone while Python shuts down.
        """
        device = self._device
        if is_finalizing():
            return
        if device.closed:
            if not (device.inherited or device.lost):
                self._release(0)
            return
        free = self.free_bytes()
        if free > CHECKED_BYTES:
            self.release_unless_busy(self._retained_bytes(free))

    def forget_reserved(self) -> None:
        """Count no bytes as reserved any more: the driver has dropped the memory with the device."""
        self._budget.release(self, self.reserved)

    def _retained_bytes(self, free: int) -> int:
        """Return how many bytes of free blocks are retained for reuse.

        In host memory this is a share of the available bytes, so that several processes leave each other memory: n
        processes that each retain the maximum together retain n / (n + 3) of the unused memory.
        """
        if not self.in_host_memory:
            return self._budget.max_bytes // 2
        available = recently_available_host_bytes()
        if is_host_memory_short(available, self._budget.total):
            return 0
        return min(available + free, self._budget.max_bytes) // 4

    def _release(self, keep: int) -> int:
        if not keep:
            for block in _lost_blocks(self._blocks):
                self._bins[block.size].append(block)
        before = free = self.free_bytes()
        small = 0
        for size in sorted(self._bins, key=self._release_order):
            bin_ = self._bins[size]
            first = -1 if free - size * len(bin_) >= keep else 0  # repeated pops from the front of a long list are slow
            while free > keep:
                try:
                    block = bin_.pop(first)
                except IndexError:
                    break
                free -= size
                small += size if size < _HUGE_PAGE else 0
                self._blocks.discard(block)
                self._budget.release(self, size)
                block.buffer.release()
        if self.in_host_memory and small >= _TRIM_HEAP_BYTES:
            _trim_c_heap()
        return before - free

    def _release_order(self, size: int) -> tuple[bool, int]:
        """Return the sort key of a size: large blocks go first, among them the sizes with the oldest last creation."""
        return (False, self._last_created.get(size, 0)) if size >= _HUGE_PAGE else (True, -size)

    # Allocating ---------------------------------------------------------------------------------

    def _create(self, size: int, nbytes: int) -> Block:
        failure: Exception | None = None
        if nbytes > sys.maxsize:
            raise ValueError(
                "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
            )
        if self.in_host_memory and self.reserved + size > pool_trimmer.NEGLIGIBLE_BYTES:
            self._trim_before_growth(size)
        for free_memory in (None, self._release_free_blocks, self._collect_garbage, self._wait_for_other_processes):
            if free_memory is not None and not free_memory(size):
                continue
            try:
                block = self._try_create(size)
            except _ALLOCATION_ERRORS as error:
                failure = error
                continue
            if block is not None:
                if self.reserved > pool_trimmer.NEGLIGIBLE_BYTES:
                    pool_trimmer.watch(self)
                return block
        if isinstance(failure, cl.Error):
            with self._device.lock:
                self._device.check_alive(failure)
        raise self.allocation_error(nbytes, failure) from failure

    def _trim_before_growth(self, size: int) -> None:
        """Release free blocks so that the pool reserves at most twice the peak of the bytes that arrays have held.

        Without the limit, free blocks of many sizes would add up. The factor is two so that two phases of a loop with
        different sizes can each reuse their blocks.
        """
        free = self.free_bytes()
        self._peak_used = max(self._peak_used, self.reserved - free + size)
        excess = self.reserved + size - 2 * self._peak_used - pool_trimmer.NEGLIGIBLE_BYTES
        if excess > 0:
            self.release_unless_busy(max(free - excess, 0))

    def _release_free_blocks(self, size: int) -> bool:
        """Release the free blocks of all pools in this memory, and return whether there were any."""
        released = self.empty()
        others = [pool for pool in self._budget.pools() if pool is not self]
        return released + sum(pool.release_unless_busy(0) for pool in others) > 0

    def _collect_garbage(self, size: int) -> bool:
        """Collect garbage that may hold arrays. This is slow if there are many objects, but rarely needed."""
        if size > self._budget.max_bytes:
            return False
        gc.collect()
        self._release_free_blocks(size)
        return True

    def _wait_for_other_processes(self, size: int) -> bool:
        """Request memory of other processes and wait for it, if the limit of this process allows the allocation."""
        if self._budget.reserved + size > self._budget.max_bytes:
            return False
        pool_trimmer.request_memory(self)
        end = time.monotonic() + _MAX_WAIT_SECONDS
        # the available bytes of a device's own memory are not known
        while not self.in_host_memory or size > available_host_bytes():
            if time.monotonic() > end:
                return not self.in_host_memory
            time.sleep(_POLL_SECONDS)
        return True

    def _try_create(self, size: int) -> Block | None:
        """Create a block. Return None if a limit forbids it. Errors of the runtime and the system are raised."""
        with self._device.lock:
            # Linux overcommits and kills the process that touches the memory, so check first.
            self._unchecked_bytes += size
            if self.in_host_memory and self._unchecked_bytes >= CHECKED_BYTES:
                if size > self._available_bytes():
                    return None
                self._unchecked_bytes = 0
            # Some drivers overcommit and fail at the launch that uses the memory.
            if not self._budget.reserve(self, size):
                return None
            try:
                block = self._new_block(size, self._bins.setdefault(size, []))
                self._blocks.add(block)
                self._last_created[size] = self._blocks_created = self._blocks_created + 1
                return block
            except _ALLOCATION_ERRORS:
                self._budget.release(self, size)
                raise

    def _available_bytes(self) -> int:
        return max(min(available_host_bytes(), container_bytes_for_arrays() - self._budget.reserved), 0)

    def allocation_error(self, nbytes: int = 0, failure: Exception | None = None) -> MemoryError:
        """Return the error for a failed allocation, or for a launch without memory (`nbytes` is 0)."""
        what = format_bytes(nbytes) if nbytes else "what a launch needs"
        budget, limit = self._budget, memory_limit()
        used = format_bytes(self.reserved - self.free_bytes())
        available = f", {format_bytes(self._available_bytes())} are left" if self.in_host_memory else ""
        refused = isinstance(failure, cl.Error) and failure.code == cl.status_code.INVALID_BUFFER_SIZE
        least = f", and the largest allocation is {format_bytes(self.max_alloc_bytes)}" if refused else ""
        bounds = (
            f"; clarray.config.memory_limit is {format_bytes(budget.max_bytes)}: raise it" if limit is not None else ""
        )
        return MemoryError(
            f"cannot allocate {what} on {self._device}: {used} of {format_bytes(self._global_bytes)} "
            f"are in use by clarray{available}{least}{bounds}; drop arrays that are no longer needed, or work in pieces"
        )

    def _new_block(self, size: int, home: list[Block]) -> Block:
        context = self._device.context
        if not self.in_host_memory:
            return Block(tag_with_device(self._device, cl.Buffer(context, FLAGS, size=size)), size, None, home)
        host = _allocate_host_bytes(size)
        return Block(buffer_over(self._device, host), size, host, home)


def _lost_blocks(blocks: set[Block]) -> list[Block]:
    """Return the blocks that only the set references: an interrupt has lost the memory that held them."""
    # the name and the list reference the baseline, the set and the list a lost block: the same number
    baseline = object()
    candidates: list[Any] = [baseline, *blocks]
    counts = [sys.getrefcount(candidate) for candidate in candidates]
    return [
        block for block, count in zip(candidates, counts, strict=True) if count == counts[0] and block is not baseline
    ]


def _trim_c_heap() -> None:
    """Make the C library return freed memory to the system. It does so by itself only for allocations by `mmap`."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # not GNU's
            ctypes.CDLL(None).malloc_trim(0)


def _allocate_host_bytes(size: int) -> np.ndarray:
    """Allocate aligned host memory, in huge pages if it is large and the system has them."""
    if size >= _HUGE_PAGE and os.name == "posix":
        mapped = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            mapped.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(mapped, np.uint8)
        return _aligned(raw, size, _HUGE_PAGE)
    return _aligned(np.empty(size + SMALLEST_BLOCK, np.uint8), size, SMALLEST_BLOCK)


def _aligned(raw: np.ndarray, size: int, alignment: int) -> np.ndarray:
    start = -raw.ctypes.data % alignment
    return raw[start : start + size]
