r"""An opened device: its queues, its memory, its programs, and copies to and from host arrays.

    Device -+- main queue ------ of the device, all cores            launches return at once
            +- inline queue ---- of PoCL's `basic` device            launches run in the caller
            +- pool of memory
            +- programs by source
            +- lock

Both queues share one context and its memory. Work on the inline queue has finished when its call returns. The main
queue is finished before that work starts, so all work has one order.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
import weakref
from collections import deque
from collections.abc import Callable, KeysView, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import pyopencl as cl

from clarray._engine.runtime import memory as memories
from clarray._engine.runtime import profiling, transfer
from clarray._engine.runtime.backends import ProbeResult, find_backend
from clarray._engine.runtime.cache import cache_key, disk_cache
from clarray._engine.runtime.capabilities import Capabilities, describe, probe
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.runtime.environment import compiler_settings
from clarray._engine.runtime.errors import (
    ClosedLock,
    DeviceLostError,
    cannot_open_error,
    different_devices_error,
    is_out_of_memory,
    lost_message,
    reset_failed_message,
    reset_message,
)
from clarray._engine.runtime.fair_lock import device_lock
from clarray._engine.runtime.host_cpu import cpu_identity
from clarray._engine.runtime.launch import LaunchRecord
from clarray._engine.runtime.memory import Block, Memory
from clarray._engine.runtime.pool import Pool
from clarray._engine.runtime.programs import ArgType, Program
from clarray._engine.runtime.waiting import Waiting

_MAX_RECENT = 12  # launches
_LAZY_ATTRIBUTES = {"capabilities", "probed", "context", "inline", "main", "pool", "copier", "_probe_buffer"}


class Queue(NamedTuple):
    """An OpenCL device and a queue that runs kernels on it."""

    name: str
    device: cl.Device
    commands: cl.CommandQueue


class Device(Waiting):
    """Represent an OpenCL device. `clarray.devices` lists them, and ``x.device`` is the device of an array.

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
    capabilities : Capabilities
        The capabilities of the device.
    lock : reentrant lock
        Held while work is planned and launched, as the arguments of kernels are shared state.
    pending : bool or object
        Whether the main queue or the native implementation may have unfinished work. A mark while a thread waits.
    called : bool
        Whether the unfinished work is the native implementation's. Only one of the two has unfinished work.
    closed : bool
        Whether the device can no longer be used: it is lost, was reset, or was inherited through a fork.
    recent : deque
        The last launches, for the error about a lost device.
    successor : Device or None
        The device that a reset has put in its place.
    attached : dict
        Objects that other layers attach to the device, by name.

    Examples
    --------
    >>> import clarray
    >>> clarray.devices()[0].capabilities.kind in ("cpu", "gpu", "accelerator")
    True
    """

    # Set together at the first use of one of them, so that listing devices opens none.
    capabilities: Capabilities
    probed: ProbeResult
    context: cl.Context
    main: Queue
    inline: Queue | None
    pool: Pool
    copier: transfer.Copier
    _probe_buffer: cl.Buffer  # written to check whether the device still works

    # Attributes that every launch reads are slots, so that the native implementation can read them.
    __slots__ = (
        "lock",
        "pending",
        "called",
        "closed",
        "begun",
        "queued",
        "main_handle",
        "_dropped",
        "__dict__",
        "__weakref__",
    )

    alive: ClassVar[weakref.WeakSet[Device]] = weakref.WeakSet()
    several: ClassVar[bool] = (
        False  # whether this process has opened several devices, so that launches check the device of buffers
    )
    _opened: ClassVar[int] = 0

    def __init__(
        self,
        device: cl.Device,
        inline: cl.Device | None = None,
        context: cl.Context | None = None,
    ) -> None:
        self.lock: Any = device_lock()
        self.pending: Any = False
        self.called = False
        self.queued = 0  # bytes in the queue
        self.main_handle = 0  # the address of the main queue, once there is one
        self.begun = 0  # the number of launches and first calls, which an interrupted write compares
        self.inherited = self.lost = self.closed = False  # if inherited or lost, OpenCL is not called
        self.successor: Device | None = None
        self.recent: deque[LaunchRecord] = deque(maxlen=_MAX_RECENT)
        self.attached: dict[str, Any] = {}
        self.cl_device, self.backend = device, find_backend(device)
        # Set now, since a forked process must not ask OpenCL for the name of an inherited device.
        self._name = f"<{device.name.strip()} on {device.platform.name.strip()}>"
        self._cl_inline = inline
        self._given_context = context
        self._programs: dict[str, Program] = {}
        self._released: weakref.WeakSet[Program] = weakref.WeakSet()  # programs whose kernels are still referenced
        self._foreign: set[Block] = set()  # blocks of foreign memory that launches may still use
        self._dropped: list[tuple[Block, Any]] = []  # foreign blocks to release once the main queue has finished
        self.program_cache = disk_cache("programs")
        Device.alive.add(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _LAZY_ATTRIBUTES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self.lock:
            if name not in self.__dict__:
                self._set_up()
        return self.__dict__[name]

    def _set_up(self) -> None:
        """Create the context and all that needs it. PoCL is patched before anything is compiled.

        All attributes are set in one step, unless a re-entrant call has set them meanwhile.
        """
        devices = [d for d in (self.cl_device, self._cl_inline) if d is not None]
        context = self._given_context or self._new_context(devices)
        probed = self._probe(context, devices)
        capabilities = describe(self.cl_device, probed)
        if capabilities.calls_code:
            self.backend.use_threads(capabilities.compute_units)
        inline = None
        if self._cl_inline is not None:
            inline = Queue("inline", self._cl_inline, cl.CommandQueue(context, self._cl_inline))
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        attributes = {
            "context": context,
            "probed": probed,
            "main": Queue("main", self.cl_device, cl.CommandQueue(context, self.cl_device)),
            "inline": inline,
            "pool": Pool(self, capabilities.host_memory, capabilities.global_bytes, capabilities.max_alloc_bytes),
            "copier": transfer.copier(self, capabilities.host_memory),
            "_probe_buffer": cl.Buffer(context, flags, hostbuf=np.zeros(1, np.uint8)),
            "capabilities": capabilities,
        }
        if "context" not in self.__dict__:
            self.__dict__.update(attributes)
            self.main_handle = self.main.commands.int_ptr
            Device._opened += 1
            Device.several = Device._opened > 1

    def _new_context(self, devices: list[cl.Device]) -> cl.Context:
        try:
            return cl.Context(devices)
        except cl.Error as error:
            if any(device.lost for device in _kept_for_good):
                raise DeviceLostError(reset_failed_message(self, error)) from error
            raise cannot_open_error(self, error) from error

    def _probe(self, context: cl.Context, devices: list[cl.Device]) -> ProbeResult:
        key = cache_key("probe 8", self.identity, str(len(devices)))
        cache = disk_cache("devices")
        stored = ProbeResult.from_json(cache.load_json(key))
        probed = probe(context, devices, stored)
        if stored is None:
            cache.store_json(key, asdict(probed))
        return probed

    @cached_property
    def identity(self) -> str:
        """The cache key of the device: versions of platform and driver, device, CPU and settings of the compiler."""
        device = self.cl_device
        parts = (device.platform.version, device.driver_version, device.name, cpu_identity(), compiler_settings())
        return "|".join(part.strip() for part in parts if part)

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> NoReturn:
        raise TypeError("a device cannot be pickled; send its name and use find_device")

    def program(
        self, source: str, arg_types: Mapping[str, Sequence[ArgType]], options: tuple[str, ...] = ()
    ) -> Program:
        """Return the program for a source. It is compiled at its first launch and cached until `release_programs`.

        Parameters
        ----------
        source : str
            OpenCL C.
        arg_types : mapping of str to sequence of str
            For each kernel, in order: 'buffer', or a NumPy scalar type's name.
        options : tuple of str
            Options of the compiler, in addition to those of all programs.
        """
        key = " ".join((*options, source))
        try:
            return self._programs[key]
        except KeyError:
            return self._programs.setdefault(key, Program(self, source, arg_types, options))

    @property
    def sources(self) -> KeysView[str]:
        """The sources of the cached programs."""
        return self._programs.keys()

    def release_programs(self) -> None:
        """Drop all cached programs. A program lives on as long as other references to its kernels."""
        with self.lock:
            self.finish()
            for program in self._programs.values():
                program.release()
            self._released.update(self._programs.values())
            self._programs.clear()

    def allocate(self, nbytes: int) -> Memory:
        """Allocate uninitialized memory from the pool.

        Raises
        ------
        MemoryError
            The allocation failed, even after the pool has been emptied. The message has the sizes.
        """
        return self.pool.allocate(nbytes)

    def wrap(self, array: np.ndarray) -> Memory:
        """Wrap the memory of a host array, from its lowest to its highest element, without a copy.

        This works on devices that work in host memory. `Memory.address` is the address of the first byte.

        Raises
        ------
        MemoryError
            The runtime refuses the size.
        """
        if not self.capabilities.host_memory:
            raise RuntimeError(f"{self} cannot use host memory; upload the array instead")
        with self.lock:
            try:
                return memories.wrap(self, array)
            except cl.Error as error:
                self.check_alive(error)
                raise self.pool.allocation_error(array.nbytes, error) from error

    def adopt(self, buffer: cl.Buffer) -> Memory:
        """Wrap a foreign buffer of this device's context without a copy."""
        with self.lock:
            try:
                return memories.adopt(self, buffer)
            except cl.Error as error:
                self.check_alive(error)
                raise

    def upload(self, array: np.ndarray) -> Memory:
        """Copy a C-contiguous array to new memory."""
        memory = self.allocate(array.nbytes)
        self.write(memory, 0, array)
        return memory

    def write(self, memory: Memory, byte_offset: int, array: np.ndarray) -> None:
        """Copy a C-contiguous array to the bytes from `byte_offset` on.

        The caller may change the array as soon as this method returns.
        """
        self._copy("to device", self.copier.write, memory, byte_offset, array)

    def read(self, memory: Memory, byte_offset: int, out: np.ndarray) -> None:
        """Copy the bytes from `byte_offset` on to a C-contiguous array, and wait for the copy."""
        self._copy("to host", self.copier.read, memory, byte_offset, out)

    def _copy(self, name: str, copy: transfer.Copy, memory: Memory, byte_offset: int, array: np.ndarray) -> None:
        if memory.device is not self:
            raise different_devices_error(self, memory.device)
        abort_capture()
        data = transfer.raw_bytes(array)
        if byte_offset < 0 or byte_offset + data.size > memory.nbytes:
            raise ValueError(f"bytes {byte_offset} to {byte_offset + data.size} lie outside {memory!r}")
        if not data.size:
            return
        start = time.perf_counter()
        with self.lock:
            try:
                copy(memory, byte_offset, data)
            except cl.Error as error:
                self._copy_again(error, lambda: copy(memory, byte_offset, data), data.size)
        profiling.record("transfer", name, data.size, time.perf_counter() - start)

    def _copy_again(self, error: cl.Error, copy: Callable[[], None], nbytes: int) -> None:
        """Empty the pool and retry once if memory ran out: some drivers allocate a buffer at its first use."""
        self.check_alive(error)
        if not is_out_of_memory(error):
            raise error
        self.pool.empty()
        try:
            copy()
        except cl.Error as again:
            raise (self.pool.allocation_error(nbytes) if is_out_of_memory(again) else again) from error

    def receive(self, source: Memory, byte_offset: int, nbytes: int) -> Memory:
        """Copy bytes of another device's memory to new memory, and wait for the copy."""
        abort_capture()
        if byte_offset < 0 or byte_offset + nbytes > source.nbytes:
            raise ValueError(f"bytes {byte_offset} to {byte_offset + nbytes} lie outside {source!r}")
        memory = self.allocate(nbytes)
        start = time.perf_counter()

        def copy() -> None:
            transfer.copy_between(source, byte_offset, memory, 0, nbytes)

        # always in this order, so that two threads cannot deadlock
        first, second = sorted((self, source.device), key=id)
        with first.lock, second.lock:
            try:
                if nbytes:
                    copy()
            except cl.Error as error:
                source.device.check_alive(error)
                self._copy_again(error, copy, nbytes)
        profiling.record("transfer", "between devices", nbytes, time.perf_counter() - start)
        return memory

    def read_scalar(self, memory: Memory, byte_offset: int, dtype: np.dtype) -> Any:
        """Read one element as a NumPy scalar. This is the fast path to the result of a full reduction."""
        host = memory._block.host if not self.pending and profiling.state.recorder is None else None
        if host is not None:  # the device is idle, so no lock is needed
            value = np.ndarray((), dtype, host, byte_offset)[()]
        else:
            start = time.perf_counter()
            with self.lock:
                try:
                    value = self.copier.read_scalar(memory, byte_offset, dtype)
                except cl.Error as error:
                    self.check_alive(error)
                    raise
            if profiling.state.recorder is not None:
                profiling.record("transfer", "to host", dtype.itemsize, time.perf_counter() - start)
        capture = profiling.state.capture
        if capture is not None:
            capture.read(memory, byte_offset, dtype, value)
        return value

    def read_number(self, memory: Memory, byte_offset: int, dtype: np.dtype) -> Any:
        """Read one element as a Python number."""
        if not self.pending and profiling.state.recorder is None and profiling.state.capture is None:
            host = memory._block.host
            if host is not None:  # the device is idle, so no lock is needed
                return np.ndarray((), dtype, host, byte_offset).item()
        return self.read_scalar(memory, byte_offset, dtype).item()

    def fill_zero(self, memory: Memory) -> None:
        """Set every byte to zero."""
        if memory.nbytes:
            with self.lock:
                self.copier.fill_zero(memory)

    def synchronize(self) -> None:
        """Wait until everything launched has finished."""
        capture = profiling.state.capture
        if capture is not None:
            capture.waited()
        with self.lock:
            if not self.pending:
                return
            if profiling.state.recorder is None:
                self.finish()
                return
            start = time.perf_counter()
            self.finish()
            profiling.record("synchronize", "wait", 0, time.perf_counter() - start)

    # The end of a device ----------------------------------------------------------------------------

    def check_alive(self, error: Exception) -> None:
        """Raise `DeviceLostError` if the device is lost. Call this after an error, with the lock held.

        Error codes are not enough: a launch that is too large and a lost device may both cause OUT_OF_RESOURCES. So the
        check is a small write that cannot fail on a working device.
        """
        if not self.closed and not self._is_responsive():
            self.lost = True
            _keep_for_good(self)  # freeing it would call functions that fail, and print that to stderr
            self.pool.forget_reserved()
            self._close(DeviceLostError, lost_message(self, error, self.recent))
        self.check_open(error)

    def check_open(self, error: Exception | None = None) -> None:
        """Raise if the device is closed. Call this after a wait for its lock."""
        if self.closed:
            raise self.lock.error() from error

    def _is_responsive(self) -> bool:
        try:
            cl.enqueue_copy(self.main.commands, self._probe_buffer, np.zeros(1, np.uint8))
            self.main.commands.finish()
        except cl.Error as error:
            return is_out_of_memory(error)
        return True

    def reset(self) -> Device:
        """Close this device, so that every later use raises, and return a new device for the same hardware."""
        if self.successor is None:
            if not self.closed:
                with contextlib.suppress(DeviceLostError), self.lock:
                    if "context" in self.__dict__:
                        self.pool.empty()
                    self._close(DeviceLostError, reset_message(self))
            self.successor = Device(self.cl_device, self._cl_inline)
            if not self.lost:
                self.attached.clear()
        return self.successor

    def disown(self) -> None:
        """Close this device, which was inherited through a fork, so that every use raises."""
        self.inherited = True
        _keep_for_good(self)  # freeing it calls into OpenCL, and PoCL would remove the parent's files
        self._close(
            RuntimeError,
            f"{self} was opened before this process was forked and cannot be used in it: "
            "make new arrays here, pass NumPy arrays between processes, or start processes with "
            "multiprocessing's 'spawn' or 'forkserver'",
        )

    def _close(self, kind: type[RuntimeError], message: str) -> None:
        """Make every use raise. Threads that wait for the lock then find no bound kernel, and check again."""
        self.closed = self.pending = True
        for program in [*self._programs.values(), *self._released]:
            program.unbind()
        self.lock = ClosedLock(kind, message)


def _keep_for_good(device: Device) -> None:
    """Never free a device, not even at the end of the process."""
    with contextlib.suppress(AttributeError):  # another Python's ctypes
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(device))
    _kept_for_good.append(device)


_kept_for_good: list[Device] = []
