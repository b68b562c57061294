"""Launch kernels: the hot path. On a CPU a small launch costs about as much as one NumPy operation."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyopencl as cl

from clarray._engine.runtime import preflight
from clarray._engine.runtime.argument_layout import ArgumentLayout
from clarray._engine.runtime.errors import different_devices_error, is_out_of_memory
from clarray._engine.runtime.profiling import record, state
from clarray._engine.runtime.progress import compiling
from clarray._engine.speedups import lend_opencl, native
from clarray._engine.threads import on_large_stack, without_collector

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device, Queue
    from clarray._engine.runtime.programs import Program

_enqueue = cl.enqueue_nd_range_kernel
lend_opencl(cl._cl.__file__, state)
LaunchRecord = tuple["Kernel", tuple[int, ...], tuple[int, ...], int]  # groups, local, bytes


# Saving a binary makes PoCL compile the kernels of the program that have not been launched. So a program is saved early
# only if a kernel is launched this often. Other programs are saved at the end of the process.
_LAUNCHES_BEFORE_SAVING = 3

_COMPILE_SECONDS = 0.01  # of processor time: a first launch that takes longer has compiled, and not loaded from disk


_SCRATCH_BYTES = 4096  # of the buffer for all arguments of a launch that compiles and does nothing


def _enqueue_without_gil(
    commands: cl.CommandQueue, kernel: cl.Kernel, groups: tuple[int, ...], local: tuple[int, ...]
) -> None:
    """Launch without holding the GIL: with PoCL a first launch takes as long as a build."""
    enqueue = _opencl_enqueue()
    if enqueue is None:
        _enqueue(commands, kernel, groups, local, None, None, True)
        return
    sizes = ctypes.c_size_t * len(groups)
    items = sizes(*[count * items for count, items in zip(groups, local, strict=True)])
    failed = enqueue(commands.int_ptr, kernel.int_ptr, len(groups), None, items, sizes(*local), 0, None, None)
    if failed:
        raise RuntimeError(f"clEnqueueNDRangeKernel failed: {failed}")


@cache
def _opencl_enqueue() -> Any:
    """Return the OpenCL library's function, or None if pyopencl's module does not lead to the library."""
    try:
        function = ctypes.CDLL(cl._cl.__file__).clEnqueueNDRangeKernel
    except (AttributeError, OSError):
        return None
    pointer, number = ctypes.c_void_p, ctypes.c_uint
    function.argtypes = (pointer, pointer, number, pointer, pointer, pointer, number, pointer, pointer)
    return function


class Invocation(NamedTuple):
    """An OpenCL kernel object for one launch at a time, whose arguments only this launch sets."""

    kernel: cl.Kernel
    set_args: Callable[..., None]


class BoundKernel:
    """A kernel compiled for one queue, and the local sizes whose first launches are over.

    A signal handler may launch the same kernel while its thread sets arguments. So each launch acquires an `Invocation`
    and releases it. The native implementation sets arguments and launches in one step, and uses `kernel`.

    Parameters
    ----------
    make : callable
        Return a new kernel object.
    """

    __slots__ = (
        "kernel",
        "_make",
        "_free",
        "_layout",
        "commands",
        "queue",
        "seen",
        "launches",
        "loaded",
        "stored",
        "folder",
        "handle",
        "queue_handle",
        "codes",
        "places",
    )

    def __init__(
        self, make: Callable[[], cl.Kernel], queue: Queue, stored: bool, folder: str | None, layout: ArgumentLayout
    ) -> None:
        kernel = make()
        self.kernel = kernel
        self._make = make
        self._layout = layout
        self._free = [] if native is not None else [Invocation(kernel, layout.setter(kernel))]
        self.commands = queue.commands
        self.queue = queue
        self.seen: set[tuple[int, ...]] = set()
        self.launches: dict[tuple[int, ...], int] = {}
        self.loaded: set[tuple[int, ...]] = set()  # local sizes whose machine code was on disk
        self.stored = stored  # whether its program was loaded from the disk cache
        self.folder = folder  # the name of the folder of its program's files
        # for the native implementation, which sets arguments by their types
        self.handle = kernel.int_ptr
        self.queue_handle = queue.commands.int_ptr
        self.codes = layout.codes
        self.places = layout.places

    def acquire(self) -> Invocation:
        """Return a kernel object that no other launch uses."""
        try:
            return self._free.pop()
        except IndexError:
            kernel = self._make()
            return Invocation(kernel, self._layout.setter(kernel))

    def release(self, invocation: Invocation) -> None:
        """Return a kernel object for later launches."""
        self._free.append(invocation)

    @property
    def local_bytes(self) -> int:
        """The local memory that a work-group needs, in bytes."""
        return int(self.kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, self.queue.device))


MAX_QUEUED_BYTES = 1 << 23  # bytes


def _limit_queue(device: Device, nbytes: int) -> None:
    """Wait for the queue once launches of `MAX_QUEUED_BYTES` are in it. The caller holds the lock.

    A thread that reads a value waits for the whole queue. On devices with memory of their own the queue has no limit.
    """
    device.queued += nbytes
    if device.queued >= MAX_QUEUED_BYTES and device.capabilities.host_memory:
        device.finish()


class Kernel:
    """A kernel of a program. `Program.kernel` creates it.

    Attributes
    ----------
    fields : Fields
        The declaration of its arguments. Set by the cache that rendered the kernel.
    arguments : callable
        Takes the arguments by name and returns them in the kernel's order: ``fields.fill``.
    """

    __slots__ = (
        "name",
        "fields",
        "arguments",
        "code",
        "_device",
        "_program",
        "_main",
        "_inline",
        "_note",
        "_code_files",
        "__weakref__",
    )
    fields: Any
    arguments: Callable[..., list[Any]]

    def __init__(self, device: Device, program: Program, name: str) -> None:
        self.name = name
        # by local size: machine code that the native implementation may call, and files that later launches load
        self.code: dict[tuple[int, ...], Any] = {}
        self._code_files: dict[tuple[int, ...], Path] = {}
        self._device = device
        self._program = program
        self._main: BoundKernel | None = None
        self._inline: BoundKernel | None = None
        self._note = device.recent.append

    def unbind(self) -> None:
        """Make the next launch check whether the device is still open."""
        self._main = self._inline = None
        self.code = {}

    @property
    def source(self) -> str:
        """The OpenCL C of the kernel's program."""
        return self._program.source

    def launch(
        self,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool = False,
        nbytes: int = 0,
    ) -> None:
        """Queue one run of the kernel.

        Parameters
        ----------
        groups : tuple of int
            Work-groups along each dimension, each at least 1.
        local : tuple of int
            Work-items of a group along each dimension.
        args : sequence
            `Memory.buffer` objects and plain Python numbers, in the kernel's order.
        inline : bool
            Run on the calling thread if the device can. The kernel has then finished when this method returns. Use this
            for small work only.
        nbytes : int
            Bytes the kernel reads and writes, for the profile's GB/s.

        Raises
        ------
        MemoryError
            The device has no memory for the launch, even after the pool has been emptied.
        ValueError
            A buffer belongs to another device.
        """
        device = self._device
        with device.lock:
            if device.several:
                self._check_owner(args)
            capture = state.capture
            if capture is not None:
                capture.launched(self, groups, local, args, inline, nbytes)
            self._note((self, groups, local, nbytes))
            try:
                inline = inline and device.inline is not None
                code = self.code.get(local) if state.recorder is None else None
                if code is not None and native.run(code, groups, local, args, device, inline, nbytes):
                    return
                bound = self._inline if inline else self._main
                if bound is None or local not in bound.seen or state.recorder is not None:
                    self._launch_observed(groups, local, args, inline, nbytes)
                    return
                self._enqueue(bound, groups, local, args, inline)
                if not inline:
                    _limit_queue(device, nbytes)
            except cl.Error as error:
                device.check_alive(error)
                raise

    def _enqueue(
        self,
        bound: BoundKernel,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool,
        enqueue: Callable[..., Any] | None = None,
    ) -> None:
        """Set the arguments and queue the launch. If memory runs out, empty the pool and try once more.

        No Python code runs between the last check of the device and the launch, so no re-entrant call comes between.
        The garbage collector is off, since it would run Python code while pyopencl reads its arguments.
        """
        device = self._device
        enqueue = enqueue or _enqueue
        invocation = bound.acquire()
        kernel, commands = invocation.kernel, bound.commands
        invocation.set_args(*args)
        is_retry = False
        while True:
            if inline or device.called:
                device.finish()
            try:
                if without_collector(self._attempt, inline, enqueue, commands, kernel, groups, local):
                    break
                continue
            except cl.Error as error:
                failure = error
            self._empty_pool(groups, local, failure, is_retry)
            is_retry = True
        bound.release(invocation)

    def _attempt(self, inline: bool, enqueue: Any, *launch: Any) -> bool:
        """Launch and return True, or return False if other work has to finish first."""
        device = self._device
        if device.pending if inline else device.called:
            return False
        if not inline:
            device.pending = True
        device.begun += 1  # first, so that an interrupt after the launch finds it counted
        enqueue(*launch, None, None, True)
        return True

    def _check_owner(self, args: Sequence[Any]) -> None:
        """Raise if a buffer belongs to another device. Runtimes compute garbage with such buffers, or crash."""
        device = self._device
        for arg in args:
            if type(arg) is cl.Buffer and arg.device is not device:
                raise different_devices_error(device, arg.device)

    def _launch_observed(
        self,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool,
        nbytes: int,
    ) -> None:
        """Launch for one of the first times, or under a profile."""
        device = self._device
        bound = self._bind(inline)
        recorded = state.recorder is not None
        if recorded:
            device.finish()
        start = time.perf_counter()
        first = local not in bound.launches
        if first:
            device.backend.require_files()
        is_untested = first and bound.stored
        compiles = first and device.backend.compiles_at_launch and not bound.stored
        processor_start = time.process_time() if is_untested else 0.0
        guard = self._program.quarantined(bound.queue) if is_untested else nullcontext()
        shown = compiling(self.name) if compiles else nullcontext()
        with self._first_launch(bound, local, bound.commands) if first else nullcontext(), guard, shown:
            enqueue = on_large_stack(_enqueue) if first else _enqueue  # PoCL compiles at the first launch
            self._enqueue(bound, groups, local, args, bound.queue is device.inline, enqueue)
            if is_untested and device.capabilities.host_memory:
                bound.commands.finish()  # while the binary is quarantined, in case the kernel crashes the process
        if recorded:
            bound.commands.finish()
            record("launch", self.name, nbytes, time.perf_counter() - start, compiles)
        if first and device.backend.compiles_at_launch:
            self._record_code_file(bound, local, bound.commands)
        if local not in bound.seen:
            self._count_launch(bound, local, is_untested and time.process_time() - processor_start < _COMPILE_SECONDS)

    def _count_launch(self, bound: BoundKernel, local: tuple[int, ...], was_on_disk: bool) -> None:
        """Count a launch, and save the program once its kernels are compiled, unless the machine code `was_on_disk`."""
        launches = bound.launches[local] = bound.launches.get(local, 0) + 1
        if not self._device.backend.compiles_at_launch:
            bound.seen.add(local)
        elif launches == 1:
            if was_on_disk:
                bound.loaded.add(local)
            else:
                self._program.save_when_all_launched(self.name, bound.queue)
        elif local in bound.loaded:
            self._finish_warmup(bound, local)
        elif launches == _LAUNCHES_BEFORE_SAVING:
            self._finish_warmup(bound, local)
            bound.commands.finish()
            self._program.save(bound.queue)

    @contextmanager
    def _first_launch(self, bound: BoundKernel, local: tuple[int, ...], commands: cl.CommandQueue) -> Iterator[None]:
        """Check the resources for PoCL's compiler before a block that launches, and wait until it has compiled."""
        if not self._device.backend.compiles_at_launch:
            yield
            return
        loads = bound.stored and self._device.backend.is_compiled(bound.folder, self.name, local)
        with preflight.compiling(bound.queue.device, loads, launches=True):
            yield
            commands.finish()

    def _record_code_file(self, bound: BoundKernel, local: tuple[int, ...], commands: cl.CommandQueue) -> None:
        """Wait for a first launch by PoCL, and record the file of the machine code that PoCL has made for it."""
        commands.finish()
        file = self._device.backend.code_file(bound.folder, self.name, local)
        if file is not None and self._device.capabilities.calls_code:
            self._code_files.setdefault(local, file)

    def _finish_warmup(self, bound: BoundKernel, local: tuple[int, ...]) -> None:
        """Note that the first launches are over, and load the machine code if the native implementation can call it.

        A kernel that is launched once is not loaded, since PoCL closes files that have not been launched for a while.
        """
        bound.seen.add(local)
        file = self._code_files.pop(local, None)
        if file is not None and local not in self.code and not bound.local_bytes:  # only PoCL can allocate local memory
            code = self._device.backend.load(file, self.name, bound.codes, bound.places)
            if code is not None:
                self.code[local] = code

    def _bind(self, inline: bool) -> BoundKernel:
        """Return the kernel for one queue, and compile it at the first use."""
        bound = self._inline if inline else self._main
        if bound is None:
            self._device.check_open()
            bound = self._program.bind(self.name, self._queue(inline))
            if inline:
                self._inline = bound
            else:
                self._main = bound
        return bound

    def _queue(self, inline: bool) -> Queue:
        """Return the queue of inline or other launches."""
        device = self._device
        return device.inline if inline and device.inline is not None else device.main

    def compile_without_lock(
        self, groups: tuple[int, ...], local: tuple[int, ...], args: Sequence[Any], inline: bool
    ) -> BoundKernel:
        """Compile for one queue by a launch that does nothing, in a thread that holds no lock of the device."""
        device = self._device
        queue = self._queue(inline)
        bound = self._program.bind(self.name, queue, in_background=True)
        scratch = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, _SCRATCH_BYTES)
        commands = cl.CommandQueue(device.context, queue.device)
        device.backend.require_files()
        invocation = bound.acquire()
        invocation.set_args(*[scratch if arg is None else arg for arg in args])
        with (
            self._first_launch(bound, local, commands),
            self._program.quarantined(queue) if bound.stored else nullcontext(),
        ):
            _enqueue_without_gil(commands, invocation.kernel, groups, local)
            commands.finish()
        if device.backend.compiles_at_launch:
            self._record_code_file(bound, local, commands)
            if not bound.stored:
                self._program.save(queue)
        bound.launches[local] = _LAUNCHES_BEFORE_SAVING
        self._finish_warmup(bound, local)
        return bound

    def is_stored(self, inline: bool) -> bool:
        """Return whether the program for one queue is in memory or on disk, so that a first launch compiles nothing."""
        return self._program.is_stored(self._queue(inline))

    def adopt(self, bound: BoundKernel) -> None:
        """Use a kernel that was compiled in the background, unless another thread has compiled it meanwhile."""
        device = self._device
        with device.lock:
            if bound.queue is device.inline:
                self._inline = self._inline or bound
            else:
                self._main = self._main or bound

    def _empty_pool(self, groups: tuple[int, ...], local: tuple[int, ...], error: cl.Error, is_retry: bool) -> None:
        """Empty the pool if a launch has failed for lack of memory. Raise if it was a retry, or for other errors."""
        device = self._device
        device.check_alive(error)
        if not is_out_of_memory(error):
            raise RuntimeError(
                f"{device} refused to launch {self.name} with {groups} groups of {local}: {error}"
            ) from error
        if is_retry:
            raise device.pool.allocation_error() from error
        device.pool.empty()
