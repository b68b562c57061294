r"""A usable device: its queues, its memory, its programs, and copies to and from host arrays.

    Device -+- main queue ------ of the device, all cores            launches return at once
            +- inline queue ---- of PoCL's `basic` device            launches run in the caller
            +- pool of memory
            +- programs by source
            +- lock

Both queues share one context, so memory belongs to both. Work on the inline queue has finished when
its call returns; before it starts, the main queue is finished. So there is only ever one order.
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
from clarray._engine.runtime.backends import Compiled, backend_of
from clarray._engine.runtime.cache import cache_of, key_of
from clarray._engine.runtime.capabilities import Capabilities, describe, probe
from clarray._engine.runtime.capture import abort_capture
from clarray._engine.runtime.environment import compiler_settings
from clarray._engine.runtime.errors import (
    Closed,
    DeviceLostError,
    beyond_reset_message,
    different_devices,
    is_out_of_memory,
    lost_message,
    reset_message,
    unopened,
)
from clarray._engine.runtime.fair_lock import device_lock
from clarray._engine.runtime.host_cpu import cpu_identity
from clarray._engine.runtime.launch import Launched
from clarray._engine.runtime.memory import Block, Memory
from clarray._engine.runtime.pool import Pool
from clarray._engine.runtime.programs import ArgType, Program
from clarray._engine.runtime.waiting import Waiting

_REMEMBERED = 12  # launches
_SET_UP_AT_FIRST_USE = {"capabilities", "compiled", "context", "inline", "main", "pool", "copier", "_sign"}


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
        What the device can do.
    lock : reentrant lock
        Held while work is planned and launched, as the arguments of kernels are shared state.
    pending : bool or object
        Whether the main queue or the native core may have unfinished work. A mark while a thread waits for it.
    called : bool
        Whether the unfinished work is the native core's. Never do both have some.
    closed : bool
        Whether the device can no longer be used: it is lost, was reset, or was inherited through a fork.
    recent : deque
        The last launches, for the error about a lost device.
    successor : Device or None
        The device that a reset has put in its place.
    attached : dict
        What other layers keep for the device.

    Examples
    --------
    >>> import clarray
    >>> clarray.devices()[0].capabilities.kind in ("cpu", "gpu", "accelerator")
    True
    """

    # Made together when one of them is first asked for, so that listing devices costs nothing.
    capabilities: Capabilities
    compiled: Compiled
    context: cl.Context
    main: Queue
    inline: Queue | None
    pool: Pool
    copier: transfer.Copier
    _sign: cl.Buffer  # written to see whether the device still works

    # What every launch looks at lies where the compiled core finds it.
    __slots__ = ("lock", "pending", "called", "closed", "begun", "_dropped", "__dict__", "__weakref__")

    alive: ClassVar[weakref.WeakSet[Device]] = weakref.WeakSet()
    several: ClassVar[bool] = False  # this process has opened more than one: whose memory a kernel gets is checked
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
        self.begun = 0  # launches and first calls: an interrupted write compares two counts
        self.inherited = self.lost = self.closed = False  # no call into OpenCL is made for the first two
        self.successor: Device | None = None
        self.recent: deque[Launched] = deque(maxlen=_REMEMBERED)
        self.attached: dict[str, Any] = {}
        self.cl_device, self.backend = device, backend_of(device)
        # Now, since a process forked later must not ask OpenCL to describe its error.
        self._name = f"<{device.name.strip()} on {device.platform.name.strip()}>"
        self._cl_inline = inline
        self._given_context = context
        self._programs: dict[str, Program] = {}
        self._released: weakref.WeakSet[Program] = weakref.WeakSet()  # whose kernels somebody still holds
        self._foreign: set[Block] = set()  # that are somebody else's memory, until nothing here may use it
        self._dropped: list[tuple[Block, Any]] = []  # of them, until the main queue has finished
        self.program_cache = cache_of("programs")
        Device.alive.add(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _SET_UP_AT_FIRST_USE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self.lock:
            if name not in self.__dict__:
                self._set_up()
        return self.__dict__[name]

    def _set_up(self) -> None:
        """Make the context and all that needs it; PoCL is mended before anything is compiled.

        All attributes are set in one step: a re-entrant call that has set them meanwhile goes first.
        """
        devices = [d for d in (self.cl_device, self._cl_inline) if d is not None]
        context = self._given_context or self._new_context(devices)
        compiled = self._probed(context, devices)
        what = describe(self.cl_device, compiled)
        if what.calls_code:
            self.backend.use_threads(what.compute_units)
        inline = None
        if self._cl_inline is not None:
            inline = Queue("inline", self._cl_inline, cl.CommandQueue(context, self._cl_inline))
        copied = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        made = {
            "context": context,
            "compiled": compiled,
            "main": Queue("main", self.cl_device, cl.CommandQueue(context, self.cl_device)),
            "inline": inline,
            "pool": Pool(self, what.host_memory, what.global_bytes, what.max_alloc_bytes),
            "copier": transfer.copier(self, what.host_memory),
            "_sign": cl.Buffer(context, copied, hostbuf=np.zeros(1, np.uint8)),
            "capabilities": what,
        }
        if "context" not in self.__dict__:
            self.__dict__.update(made)
            Device._opened += 1
            Device.several = Device._opened > 1

    def _new_context(self, devices: list[cl.Device]) -> cl.Context:
        try:
            return cl.Context(devices)
        except cl.Error as error:
            if any(device.lost for device in _kept_for_good):
                raise DeviceLostError(beyond_reset_message(self, error)) from error
            raise unopened(self, error) from error

    def _probed(self, context: cl.Context, devices: list[cl.Device]) -> Compiled:
        key = key_of("probe 6", self.identity, str(len(devices)))
        cache = cache_of("devices")
        known = Compiled.from_json(cache.load_json(key))
        found = probe(context, devices, known)
        if known is None:
            cache.store_json(key, asdict(found))
        return found

    @cached_property
    def identity(self) -> str:
        """The key of compiled programs: versions of platform and driver, device, CPU and the user's settings."""
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
        """Give the program of a source, compiled when first launched and kept until `release_programs`.

        Parameters
        ----------
        source : str
            OpenCL C.
        arg_types : mapping of str to sequence of str
            For each kernel, in order: 'buffer', or a NumPy scalar type's name.
        options : tuple of str
            Of the compiler, besides those of all programs.
        """
        key = " ".join((*options, source))
        try:
            return self._programs[key]
        except KeyError:
            return self._programs.setdefault(key, Program(self, source, arg_types, options))

    @property
    def sources(self) -> KeysView[str]:
        """Sources of the programs that are kept."""
        return self._programs.keys()

    def release_programs(self) -> None:
        """Keep no program any more; each goes with the last of its kernels that somebody holds."""
        with self.lock:
            self.finish()
            for program in self._programs.values():
                program.release()
            self._released.update(self._programs.values())
            self._programs.clear()

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

        Raises
        ------
        MemoryError
            The runtime will not have so much.
        """
        if not self.capabilities.host_memory:
            raise RuntimeError(f"{self} cannot use host memory; upload the array instead")
        with self.lock:
            try:
                return memories.wrap(self, array)
            except cl.Error as error:
                self.check_alive(error)
                raise self.pool.exhausted(array.nbytes, error) from error

    def adopt(self, buffer: cl.Buffer) -> Memory:
        """Use a buffer of this device's context, made by someone else, without a copy."""
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
        """Copy a C-contiguous array over the bytes from `byte_offset` on.

        The array may be changed as soon as this returns.
        """
        self._copy("to device", self.copier.write, memory, byte_offset, array)

    def read(self, memory: Memory, byte_offset: int, out: np.ndarray) -> None:
        """Copy the bytes from `byte_offset` on into a C-contiguous array, all before it returns."""
        self._copy("to host", self.copier.read, memory, byte_offset, out)

    def _copy(self, name: str, copy: transfer.Copy, memory: Memory, byte_offset: int, array: np.ndarray) -> None:
        if memory.device is not self:
            raise different_devices(self, memory.device)
        abort_capture()
        data = transfer.bytes_of(array)
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
        """Retry once with the pool emptied where memory ran out: some drivers make it only when it is first used."""
        self.check_alive(error)
        if not is_out_of_memory(error):
            raise error
        self.pool.empty()
        try:
            copy()
        except cl.Error as again:
            raise (self.pool.exhausted(nbytes) if is_out_of_memory(again) else again) from error

    def receive(self, source: Memory, byte_offset: int, nbytes: int) -> Memory:
        """Copy bytes of another device's memory to new memory, all before it returns."""
        abort_capture()
        if byte_offset < 0 or byte_offset + nbytes > source.nbytes:
            raise ValueError(f"bytes {byte_offset} to {byte_offset + nbytes} lie outside {source!r}")
        memory = self.allocate(nbytes)
        start = time.perf_counter()

        def copy() -> None:
            transfer.copy_between(source, byte_offset, memory, 0, nbytes)

        first, second = sorted((self, source.device), key=id)  # in one order, so that two threads never wait in a ring
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
        """Read one element, as a NumPy scalar; the fast way to a full reduction's result."""
        host = memory._block.host if not self.pending and profiling.state.recorder is None else None
        if host is not None:  # nothing to wait for, so nothing to lock
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
        """Read one element, as a Python number."""
        if not self.pending and profiling.state.recorder is None and profiling.state.capture is None:
            host = memory._block.host
            if host is not None:  # nothing to wait for, so nothing to lock
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
            if self.pending:
                start = time.perf_counter()
                self.finish()
                profiling.record("synchronize", "wait", 0, time.perf_counter() - start)

    # The end of a device ----------------------------------------------------------------------------

    def check_alive(self, error: Exception) -> None:
        """Raise `DeviceLostError` if the device does nothing any more, after a call has failed; the lock is held.

        Errors do not tell: a launch that is too large and a device that is lost may both be OUT_OF_RESOURCES. So it is
        given something to do that cannot fail.
        """
        if not self.closed and not self._answers():
            self.lost = True
            _keep_for_good(self)  # what freeing it would call fails, and says so on stderr
            self.pool.write_off()
            self._close(DeviceLostError, lost_message(self, error, self.recent))
        self.check_open(error)

    def check_open(self, error: Exception | None = None) -> None:
        """Raise if the device can no longer be used; for those who may have waited for its lock meanwhile."""
        if self.closed:
            raise self.lock.error() from error

    def _answers(self) -> bool:
        try:
            cl.enqueue_copy(self.main.commands, self._sign, np.zeros(1, np.uint8))
            self.main.commands.finish()
        except cl.Error as error:
            return is_out_of_memory(error)
        return True

    def reset(self) -> Device:
        """Give a device of the same hardware with nothing on it; every later use of this one raises."""
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
        """Make this device, inherited through a fork, raise wherever it is used."""
        self.inherited = True
        _keep_for_good(self)  # freeing it calls into OpenCL, and has PoCL remove the parent's files
        self._close(
            RuntimeError,
            f"{self} was opened before this process was forked and cannot be used in it: "
            "make new arrays here, pass NumPy arrays between processes, or start processes with "
            "multiprocessing's 'spawn' or 'forkserver'",
        )

    def _close(self, kind: type[RuntimeError], message: str) -> None:
        """Have every use raise; whoever waits for the lock finds no kernel bound, and looks again."""
        self.closed = self.pending = True
        for program in [*self._programs.values(), *self._released]:
            program.unbind()
        self.lock = Closed(kind, message)


def _keep_for_good(device: Device) -> None:
    """Let nothing free a device, not even the end of the process."""
    with contextlib.suppress(AttributeError):  # another Python's ctypes
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(device))
    _kept_for_good.append(device)


_kept_for_good: list[Device] = []
