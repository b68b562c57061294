"""Launches: the hot path. On a CPU a small launch costs about as much as one NumPy operation."""

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
from clarray._engine.runtime.argument_layout import Taken
from clarray._engine.runtime.errors import different_devices, is_out_of_memory
from clarray._engine.runtime.profiling import record, state
from clarray._engine.runtime.progress import compiling
from clarray._engine.speedups import core, lend_opencl
from clarray._engine.threads import on_large_stack, without_collector

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device, Queue
    from clarray._engine.runtime.programs import Program

_enqueue = cl.enqueue_nd_range_kernel
lend_opencl(cl._cl.__file__, state)
Launched = tuple["Kernel", tuple[int, ...], tuple[int, ...], int]  # groups, local, bytes


# Saving a binary makes PoCL compile the kernels of the program that have not been launched: it is done for what is used
# again; the rest waits for the end of the process.
_LAUNCHES_BEFORE_SAVING = 3

_COMPILING = 0.01  # seconds of work that tell a first launch that compiled from one that loaded what is on disk


_SCRATCH_BYTES = 4096  # for what kernels read that have nothing to do


def _enqueue_without_gil(
    commands: cl.CommandQueue, kernel: cl.Kernel, groups: tuple[int, ...], local: tuple[int, ...]
) -> None:
    """Launch while other threads run Python: a first launch takes PoCL as long as a build."""
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
    """The OpenCL library's function; None where the library is not to be found by way of pyopencl."""
    try:
        found = ctypes.CDLL(cl._cl.__file__).clEnqueueNDRangeKernel
    except (AttributeError, OSError):
        return None
    pointer, number = ctypes.c_void_p, ctypes.c_uint
    found.argtypes = (pointer, pointer, number, pointer, pointer, pointer, number, pointer, pointer)
    return found


class Invocation(NamedTuple):
    """A kernel object of OpenCL's, whose arguments belong to the launch that has taken it."""

    kernel: cl.Kernel
    set_args: Callable[..., None]


class Bound:
    """A kernel compiled for one queue, and the local sizes that need no more attention.

    A signal handler may launch the same kernel while its thread sets arguments. So each launch takes an `Invocation`
    of its own and gives it back. The compiled core, which sets arguments and launches in one step, uses `kernel`.

    Parameters
    ----------
    make : callable
        Makes a kernel object.
    """

    __slots__ = (
        "kernel",
        "_make",
        "_free",
        "_taken",
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
        self, make: Callable[[], cl.Kernel], queue: Queue, stored: bool, folder: str | None, taken: Taken
    ) -> None:
        kernel = make()
        self.kernel = kernel
        self._make = make
        self._taken = taken
        self._free = [] if core is not None else [Invocation(kernel, taken.setter(kernel))]
        self.commands = queue.commands
        self.queue = queue
        self.seen: set[tuple[int, ...]] = set()
        self.launches: dict[tuple[int, ...], int] = {}
        self.loaded: set[tuple[int, ...]] = set()  # for which there was machine code on disk
        self.stored = stored  # its program was made from what is kept on disk
        self.folder = folder  # the name of the folder of its program's files
        # for the compiled core, which sets arguments by their types
        self.handle = kernel.int_ptr
        self.queue_handle = queue.commands.int_ptr
        self.codes = taken.codes
        self.places = taken.places

    def take(self) -> Invocation:
        """Take a kernel object that no other launch uses."""
        try:
            return self._free.pop()
        except IndexError:
            kernel = self._make()
            return Invocation(kernel, self._taken.setter(kernel))

    def give_back(self, taken: Invocation) -> None:
        """Let the next launch have a kernel object."""
        self._free.append(taken)

    @property
    def local_bytes(self) -> int:
        """Local memory that a work-group needs."""
        return int(self.kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, self.queue.device))


MOST_QUEUED = 1 << 23  # bytes


def _limit_queue(device: Device, nbytes: int) -> None:
    """Wait for the queue once launches of many bytes are in it; the lock is held.

    A thread that wants a value waits for all of it. A device with memory of its own is not waited for.
    """
    device.queued += nbytes
    if device.queued >= MOST_QUEUED and device.capabilities.host_memory:
        device.finish()


class Kernel:
    """One kernel of a program; made by `Program.kernel`.

    Attributes
    ----------
    arguments : callable
        Takes the arguments by name and returns them in the kernel's order. Set by whoever declared them.
    """

    __slots__ = (
        "name",
        "arguments",
        "code",
        "_device",
        "_program",
        "_main",
        "_inline",
        "_note",
        "_made",
        "__weakref__",
    )
    arguments: Callable[..., list[Any]]

    def __init__(self, device: Device, program: Program, name: str) -> None:
        self.name = name
        self.code: dict[tuple[int, ...], Any] = {}  # by local size, where it may be called
        self._made: dict[tuple[int, ...], Path] = {}  # files of what will be, when it is launched again
        self._device = device
        self._program = program
        self._main: Bound | None = None
        self._inline: Bound | None = None
        self._note = device.recent.append

    def unbind(self) -> None:
        """Have the next launch look whether there still is a device."""
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
            Run on the calling thread where the device can; the kernel has then finished when this
            returns. Right for small work only.
        nbytes : int
            Bytes the kernel reads and writes, for the profile's GB/s.

        Raises
        ------
        MemoryError
            Where the device has no memory for it, after the pool has been emptied.
        ValueError
            A buffer is another device's.
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
                if code is not None and core.run(code, groups, local, args, device, inline, nbytes):
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
        bound: Bound,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool,
        enqueue: Callable[..., Any] | None = None,
    ) -> None:
        """Set the arguments and queue the launch, once more with the pool emptied where memory runs out.

        From the last look at the device to the launch no Python code runs, so no re-entrant call comes between. The
        garbage collector would run some as pyopencl reads its arguments.
        """
        device = self._device
        enqueue = enqueue or _enqueue
        taken = bound.take()
        kernel, commands = taken.kernel, bound.commands
        taken.set_args(*args)
        retries = False
        while True:
            if inline or device.called:
                device.finish()
            try:
                if without_collector(self._attempt, inline, enqueue, commands, kernel, groups, local):
                    break
                continue
            except cl.Error as error:
                failure = error
            self._make_room(groups, local, failure, retries)
            retries = True
        bound.give_back(taken)

    def _attempt(self, inline: bool, enqueue: Any, *what: Any) -> bool:
        """Launch, unless there is still something to wait for."""
        device = self._device
        if device.pending if inline else device.called:
            return False
        if not inline:
            device.pending = True
        device.begun += 1  # before: an interrupt that comes after the launch finds it counted
        enqueue(*what, None, None, True)
        return True

    def _check_owner(self, args: Sequence[Any]) -> None:
        """See that all buffers are this device's: a runtime given another's computes anything, or crashes."""
        device = self._device
        for arg in args:
            if type(arg) is cl.Buffer and arg.device is not device:
                raise different_devices(device, arg.device)

    def _launch_observed(
        self,
        groups: tuple[int, ...],
        local: tuple[int, ...],
        args: Sequence[Any],
        inline: bool,
        nbytes: int,
    ) -> None:
        """Launch for the first time, or under a profile."""
        device = self._device
        bound = self._bind(inline)
        recorded = state.recorder is not None
        if recorded:
            device.finish()
        start = time.perf_counter()
        first = local not in bound.launches
        if first:
            device.backend.require_files()
        untried = first and bound.stored
        compiles = first and device.backend.compiles_at_launch and not bound.stored
        worked = time.process_time() if untried else 0.0
        around = self._program.on_trial(bound.queue) if untried else compiling(self.name) if compiles else nullcontext()
        with self._first_launch(bound, local, bound.commands) if first else nullcontext(), around:
            enqueue = on_large_stack(_enqueue) if first else _enqueue  # PoCL compiles at the first launch
            self._enqueue(bound, groups, local, args, bound.queue is device.inline, enqueue)
            if untried and device.capabilities.host_memory:
                bound.commands.finish()  # a crash of the process is this launch's
        if recorded:
            bound.commands.finish()
            record("launch", self.name, nbytes, time.perf_counter() - start, compiles)
        if first and device.backend.compiles_at_launch:
            self._note_code(bound, local, bound.commands)
        if local not in bound.seen:
            self._count(bound, local, untried and time.process_time() - worked < _COMPILING)

    def _count(self, bound: Bound, local: tuple[int, ...], was_there: bool) -> None:
        """See to it that what this launch compiled is kept on disk; not what `was_there`."""
        launches = bound.launches[local] = bound.launches.get(local, 0) + 1
        if not self._device.backend.compiles_at_launch:
            bound.seen.add(local)
        elif launches == 1:
            if was_there:
                bound.loaded.add(local)
            else:
                self._program.save_after(self.name, bound.queue)
        elif local in bound.loaded:
            self._see(bound, local)
        elif launches == _LAUNCHES_BEFORE_SAVING:
            self._see(bound, local)
            bound.commands.finish()
            self._program.save(bound.queue)

    @contextmanager
    def _first_launch(self, bound: Bound, local: tuple[int, ...], commands: cl.CommandQueue) -> Iterator[None]:
        """Check what PoCL's compiler needs for a block that launches, and wait until it has compiled."""
        if not self._device.backend.compiles_at_launch:
            yield
            return
        loads = bound.stored and self._device.backend.is_compiled(bound.folder, self.name, local)
        with preflight.compiling(bound.queue.device, loads, launches=True):
            yield
            commands.finish()

    def _note_code(self, bound: Bound, local: tuple[int, ...], commands: cl.CommandQueue) -> None:
        """Wait for a first launch by PoCL, and note the file of the machine code that PoCL has made for it."""
        commands.finish()
        file = self._device.backend.code_file(bound.folder, self.name, local)
        if file is not None and self._device.capabilities.calls_code:
            self._made.setdefault(local, file)

    def _see(self, bound: Bound, local: tuple[int, ...]) -> None:
        """Note that such launches need no more attention: they are the core's, if it can call their machine code.

        A kernel that is launched once is not loaded for that: PoCL closes what it has not launched for a while.
        """
        bound.seen.add(local)
        file = self._made.pop(local, None)
        if file is not None and local not in self.code and not bound.local_bytes:  # PoCL gives kernels local memory
            found = self._device.backend.load(file, self.name, bound.codes, bound.places)
            if found is not None:
                self.code[local] = found

    def _bind(self, inline: bool) -> Bound:
        """Give the kernel of one queue, compiled now if this is its first use."""
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
        """The queue that such launches go to."""
        device = self._device
        return device.inline if inline and device.inline is not None else device.main

    def compile_apart(
        self, groups: tuple[int, ...], local: tuple[int, ...], args: Sequence[Any], inline: bool
    ) -> Bound:
        """Compile for one queue, in a thread that holds no lock, by a launch with nothing to do: `compile_beside`."""
        device = self._device
        queue = self._queue(inline)
        bound = self._program.bind(self.name, queue, apart=True)
        nothing = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, _SCRATCH_BYTES)
        commands = cl.CommandQueue(device.context, queue.device)
        device.backend.require_files()
        taken = bound.take()
        taken.set_args(*[nothing if arg is None else arg for arg in args])
        with (
            self._first_launch(bound, local, commands),
            self._program.on_trial(queue) if bound.stored else nullcontext(),
        ):
            _enqueue_without_gil(commands, taken.kernel, groups, local)
            commands.finish()
        if device.backend.compiles_at_launch:
            self._note_code(bound, local, commands)
            if not bound.stored:
                self._program.save(queue)
        bound.launches[local] = _LAUNCHES_BEFORE_SAVING
        self._see(bound, local)
        return bound

    def is_stored(self, inline: bool) -> bool:
        """Whether it is on disk for one queue, or there already, so that its first launch does not compile it."""
        return self._program.is_stored(self._queue(inline))

    def use(self, bound: Bound) -> None:
        """Use what has been compiled apart, unless it has been compiled here meanwhile."""
        device = self._device
        with device.lock:
            if bound.queue is device.inline:
                self._inline = self._inline or bound
            else:
                self._main = self._main or bound

    def _make_room(self, groups: tuple[int, ...], local: tuple[int, ...], error: cl.Error, has_been_made: bool) -> None:
        """Empty the pool after a launch has found no memory, so that it can be tried again; raise anything else."""
        device = self._device
        device.check_alive(error)
        if not is_out_of_memory(error):
            raise RuntimeError(
                f"{device} refused to launch {self.name} with {groups} groups of {local}: {error}"
            ) from error
        if has_been_made:
            raise device.pool.exhausted() from error
        device.pool.empty()
