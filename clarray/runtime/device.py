"""A usable device: its queues, its memory, its programs, and copies to and from host arrays.

    Device -- main lane ----- queue of the device, all cores       launches return at once
        |  \\- inline lane --- queue of PoCL's `basic` device       launches run in the caller
        +-- pool of memory       +-- programs by source            +-- lock

Both lanes share one context, so memory belongs to both. Work on the inline lane has finished when
its call returns; before it starts, the main lane is finished. So there is only ever one order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from clarray.runtime import memory as memories
from clarray.runtime import pocl, profile, transfer
from clarray.runtime.cache import DiskCache, cache_folder, key_of
from clarray.runtime.capabilities import Capabilities, Compiled, describe, probe
from clarray.runtime.environment import cpu_identity
from clarray.runtime.memory import Memory, Pool
from clarray.runtime.programs import ArgType, Program


class Lane(NamedTuple):
    """One way to run kernels: an OpenCL device and its queue."""

    name: str
    device: cl.Device
    queue: cl.CommandQueue


class Device:
    """One usable device; get it from `current_device`, `devices` or `find_device`.

    Nothing is set up before its first use.

    Parameters
    ----------
    device : pyopencl.Device
        The device that does the work.
    inline : pyopencl.Device, optional
        A device of the same memory that runs kernels in the calling thread.
    context : pyopencl.Context, optional
        A context to use instead of an own one.

    Attributes
    ----------
    lock : threading.RLock
        Held around planning and launching: kernels' arguments are shared state.
    pending : bool
        The main lane may have unfinished work.
    """

    def __init__(
        self,
        device: cl.Device,
        inline: cl.Device | None = None,
        context: cl.Context | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.pending = False
        self.noisy = self.compiles_at_launch = pocl.is_pocl(device)
        self.cl_device = device
        self._cl_inline = inline
        self._given_context = context
        self._programs: dict[str, Program] = {}

    def __repr__(self) -> str:
        return f"<{self.cl_device.name.strip()} on {self.cl_device.platform.name.strip()}>"

    @cached_property
    def identity(self) -> str:
        """What compiled programs depend on: versions of platform and driver, device and CPU."""
        device = self.cl_device
        parts = (device.platform.version, device.driver_version, device.name, cpu_identity())
        return "|".join(part.strip() for part in parts)

    @cached_property
    def context(self) -> cl.Context:
        """The OpenCL context, with PoCL mended where it needs it: the first use of the device."""
        return self._given_context or cl.Context(self._cl_devices)

    @cached_property
    def _cl_devices(self) -> list[cl.Device]:
        return [d for d in (self.cl_device, self._cl_inline) if d is not None]

    @cached_property
    def capabilities(self) -> Capabilities:
        """What the device can do."""
        with self.lock:
            return describe(self.cl_device, self._compiled)

    @cached_property
    def _compiled(self) -> Compiled:
        key = key_of("probe", self.identity)
        cache = DiskCache(cache_folder() / "devices")
        try:
            known = Compiled(**(cache.load_json(key) or {}))  # type: ignore[arg-type]
        except TypeError:
            known = None
        found = probe(self.context, self._cl_devices, known)
        if known is None:
            cache.store_json(key, asdict(found))
        return found

    @cached_property
    def main(self) -> Lane:
        """The lane that uses the whole device."""
        return Lane("main", self.cl_device, cl.CommandQueue(self.context, self.cl_device))

    @cached_property
    def inline(self) -> Lane | None:
        """The lane that runs in the calling thread, where there is one."""
        if self._cl_inline is None:
            return None
        return Lane("inline", self._cl_inline, cl.CommandQueue(self.context, self._cl_inline))

    @cached_property
    def program_cache(self) -> DiskCache:
        """Where compiled programs are kept."""
        return DiskCache(cache_folder() / "programs")

    @cached_property
    def pool(self) -> Pool:
        """The device's memory."""
        what = self.capabilities
        return Pool(self, what.host_memory, what.global_bytes, what.max_alloc_bytes)

    def program(self, source: str, arg_types: Mapping[str, Sequence[ArgType]]) -> Program:
        """Give the program of a source, compiled when first launched and kept from then on.

        Parameters
        ----------
        source : str
            OpenCL C.
        arg_types : mapping of str to sequence of str
            For each kernel, in order: 'buffer', or a NumPy scalar type's name.
        """
        try:
            return self._programs[source]
        except KeyError:
            self.capabilities  # noqa: B018 - mends PoCL before anything is compiled
            return self._programs.setdefault(source, Program(self, source, arg_types))

    def allocate(self, nbytes: int) -> Memory:
        """Take memory from the pool; what it holds is undefined.

        Raises
        ------
        MemoryError
            With the sizes, after the pool has been emptied and it was tried again.
        """
        return self.pool.allocate(nbytes)

    def wrap(self, array: np.ndarray) -> Memory:
        """Use a host array's memory, from its lowest to its highest element, without a copy.

        Only on devices that work in host memory. `Memory.address` says where it starts.
        """
        if not self.capabilities.host_memory:
            raise RuntimeError(f"{self} cannot use host memory; upload the array instead")
        with self.lock:
            return memories.wrap(self, array, self.context)

    def upload(self, array: np.ndarray) -> Memory:
        """Copy a C-contiguous array to new memory."""
        memory = self.allocate(array.nbytes)
        self.write(memory, 0, array)
        return memory

    def write(self, memory: Memory, byte_offset: int, array: np.ndarray) -> None:
        """Copy a C-contiguous array over the bytes from `byte_offset` on; done when it returns."""
        transfer.write(self, memory, byte_offset, array)

    def read(self, memory: Memory, byte_offset: int, out: np.ndarray) -> None:
        """Copy the bytes from `byte_offset` on into a C-contiguous array."""
        transfer.read(self, memory, byte_offset, out)

    def read_scalar(self, memory: Memory, byte_offset: int, dtype: np.dtype) -> Any:
        """Read one element, as a NumPy scalar."""
        return transfer.read_scalar(self, memory, byte_offset, dtype)

    def fill_zero(self, memory: Memory) -> None:
        """Set every byte to zero."""
        transfer.fill_zero(self, memory)

    def synchronize(self) -> None:
        """Wait until everything launched has finished."""
        with self.lock:
            if self.pending:
                start = time.perf_counter()
                self.finish()
                profile.record("synchronize", "wait", 0, time.perf_counter() - start)

    def finish(self) -> None:
        """Wait for the main lane; not counted by a profile. The lock is held."""
        if self.pending:
            self.main.queue.finish()
            self.pending = False

    def let_go(self, memory: Memory) -> None:
        """Wait for whatever may still use memory that is not the pool's, which is being dropped."""
        if self.pending:
            with self.lock:
                self.finish()

    def __reduce__(self) -> str:
        raise TypeError("a device cannot be pickled; pickle its name and use find_device")
