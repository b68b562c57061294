"""Programs: OpenCL C that is compiled at the first launch, and cached in memory and on disk.

    source -> Program -> Kernel -> launch
                |
                +-- per queue: disk cache, else the other queue's binary, else the compiler (or `compiler_process`)

PoCL compiles the work-group function at the first launch, not at the build. So its binaries are saved when each kernel
has been launched: later processes then compile nothing. Binaries of other runtimes are saved after the build.
Incomplete binaries are not saved. A binary from disk is quarantined until its first launch is over.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import re
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pyopencl as cl

from clarray._engine.runtime import includes, preflight, profiling
from clarray._engine.runtime.argument_layout import ArgumentLayout
from clarray._engine.runtime.backends import find_backend
from clarray._engine.runtime.cache import cache_key
from clarray._engine.runtime.errors import compiler_hint
from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.launch import BoundKernel, Kernel
from clarray._engine.runtime.progress import compiling
from clarray._engine.runtime.quarantine import find_quarantine
from clarray._engine.runtime.set_args_codegen import keep_generated_code_in_memory
from clarray._engine.runtime.silence_build_output import silence_build_output
from clarray._engine.threads import import_whole, on_large_stack

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device, Queue

ArgType = str  # 'buffer', or the name of a NumPy scalar type, with the prefix TOGETHER if it is in the argument struct

_BUILD_WAIT_SECONDS = 2.0  # the longest wait for a build in another thread
_SECONDS_AT_EXIT = 0.5  # the longest time that saving may delay the end of the process


class _ActiveBuild:
    """A build that a thread is doing."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.ended = threading.Event()


class Program:
    """OpenCL C source and its kernels.

    Parameters
    ----------
    device : Device
        The device that runs the kernels.
    source : str
        OpenCL C.
    arg_types : mapping of str to sequence of str
        For each kernel, in the order of its arguments: 'buffer', or a NumPy scalar type's name.
    options : tuple of str
        Options of the compiler, in addition to those of all programs.
    """

    __slots__ = (
        "source",
        "_arg_types",
        "_binary_requested",
        "_built",
        "_device",
        "_folder",
        "_active_builds",
        "_kernels",
        "_launched",
        "_options",
        "_saved_bytes",
        "_stored",
        "__weakref__",
    )

    def __init__(
        self,
        device: Device,
        source: str,
        arg_types: Mapping[str, Sequence[ArgType]],
        options: tuple[str, ...] = (),
    ) -> None:
        self.source = source
        self._device = device
        self._options = options
        self._arg_types = {name: tuple(types) for name, types in arg_types.items()}
        self._built: dict[str, cl.Program] = {}
        self._kernels: MutableMapping[str, Kernel] = {}
        self._saved_bytes = 0  # a binary on disk of the same length has the same kernels
        self._stored: set[str] = set()  # queues whose program was loaded from disk
        self._binary_requested: set[str] = set()  # queues with a binary that PoCL has made and does not extend
        self._launched: set[tuple[str, str]] = set()  # kernels and queues with a first launch, for saving
        self._folder: str | None = None
        self._active_builds: dict[str, _ActiveBuild] = {}  # by queue, so that only one thread builds a program

    def __repr__(self) -> str:
        return f"<program of {self.names} for {self._device}>"

    @property
    def names(self) -> str:
        """The names of the kernels, for messages and profiles."""
        return ", ".join(self._arg_types)

    def kernel(self, name: str) -> Kernel:
        """Return a kernel by its name. Its first launch compiles it."""
        try:
            return self._kernels[name]
        except KeyError:
            if name not in self._arg_types:
                raise KeyError(f"no kernel {name!r} among {sorted(self._arg_types)}") from None
            return self._kernels.setdefault(name, Kernel(self._device, self, name))

    def unbind(self) -> None:
        """Make the next launches check whether the device is still open."""
        for kernel in list(self._kernels.values()):
            kernel.unbind()

    def release(self) -> None:
        """Hold the kernels by weak references only: the program lives as long as other references to its kernels."""
        self._kernels = weakref.WeakValueDictionary(self._kernels)
        for queue in list(self._built):
            _unsaved.pop((self, queue), None)

    def bind(self, name: str, queue: Queue, in_background: bool = False) -> BoundKernel:
        """Return a kernel for one queue, and compile the program if necessary.

        Parameters
        ----------
        in_background : bool
            Whether the calling thread is a background thread, which must not change stderr and the filters of warnings.
        """
        keep_generated_code_in_memory()
        layout = ArgumentLayout(self._arg_types[name])
        program = self._checked_program(name, len(layout.dtypes), queue, in_background)

        def make() -> cl.Kernel:
            kernel = cl.Kernel(program, name)
            kernel.set_scalar_arg_dtypes(layout.dtypes)
            return kernel

        folder = self._device.backend.program_folder(program)
        return BoundKernel(make, queue, queue.name in self._stored, folder, layout)

    def _checked_program(self, name: str, arguments: int, queue: Queue, in_background: bool) -> cl.Program:
        """Return the program. If a program from disk lacks the kernel, discard it and compile the source."""
        program = self._program(queue, in_background)
        if self._stored:
            with contextlib.suppress(cl.Error):
                if cl.Kernel(program, name).num_args == arguments:
                    return program
            self._device.program_cache.discard(self._key(queue))
            self._stored.clear()
            self._saved_bytes = 0
            program = self._built[queue.name] = self._compile(queue, in_background)
        count = cl.Kernel(program, name).num_args
        if count != arguments:
            raise TypeError(f"kernel {name} has {count} arguments, not {arguments}")
        return program

    @contextlib.contextmanager
    def quarantined(self, queue: Queue) -> Iterator[None]:
        """Quarantine the stored binary for one queue during a block that uses it for the first time."""
        quarantine, key = find_quarantine(self._device.program_cache), self._key(queue)
        try:
            quarantine.add(key)
            yield
        finally:
            quarantine.remove(key)

    def save_when_all_launched(self, name: str, queue: Queue) -> None:
        """Save the binary if all kernels have been launched on a queue: PoCL compiles the others to make a binary."""
        self._launched.add((name, queue.name))
        if all((kernel, queue.name) in self._launched for kernel in self._arg_types):
            self.save(queue)
        else:
            _unsaved[self, queue.name] = queue

    def save(self, queue: Queue) -> None:
        """Write the binary for one queue to the disk cache, unless the stored one has as many kernels."""
        _unsaved.pop((self, queue.name), None)
        if not includes.is_cacheable(self.source):
            return
        with contextlib.suppress(OSError, MemoryError):  # too little memory or disk space
            backend = self._device.backend
            if backend.compiles_at_launch and queue.name in self._binary_requested:
                return
            # PoCL compiles variants of the kernels for a binary.
            with preflight.compiling(queue.device, gives_binary=True):
                self._binary_requested.add(queue.name)
                binary = backend.program_binary(self._built[queue.name], len(self._arg_types))
            if len(binary) > self._saved_bytes and backend.is_complete(binary):
                self._device.program_cache.store(self._key(queue), binary)
                self._saved_bytes = len(binary)

    def is_stored(self, queue: Queue) -> bool:
        """Return whether the program for one queue is in memory or on disk."""
        return queue.name in self._built or self._device.program_cache.has(self._key(queue))

    def _key(self, queue: Queue) -> str:
        shared = bool(self._device.probed.binary_ids)
        options = " ".join((*build_options(queue.device), *self._options))
        return cache_key(self._device.identity, "" if shared else queue.name, options, self.source)

    def _program(self, queue: Queue, in_background: bool) -> cl.Program:
        """Return the program for one queue, and load or compile it at the first use.

        While another thread builds the program, wait for it, but not for ever: the garbage collector may run Python
        code in that thread which needs a lock that this thread holds. A re-entrant call builds a program of its own.
        """
        program = self._built.get(queue.name)
        if program is not None:
            return program
        own_build = _ActiveBuild()
        active_build = self._active_builds.setdefault(queue.name, own_build)
        if active_build.thread != own_build.thread and active_build.ended.wait(_BUILD_WAIT_SECONDS):
            return self._program(queue, in_background)
        try:
            built = (
                self._load(queue, in_background)
                or self._from_other_queue(queue, in_background)
                or self._from_child(queue, in_background)
                or self._compile(queue, in_background)
            )
            program = self._built.setdefault(queue.name, built)
        finally:
            if queue.name in self._active_builds and self._active_builds[queue.name] is own_build:
                del self._active_builds[queue.name]
            own_build.ended.set()
        if program is built and not self._device.backend.compiles_at_launch and queue.name not in self._stored:
            self.save(queue)
        return program

    def _load(self, queue: Queue, in_background: bool) -> cl.Program | None:
        """Load the program from the binary on disk, or return None if there is none that works."""
        cache = self._device.program_cache
        find_quarantine(cache)  # removes binaries that have crashed a process
        start = time.perf_counter()
        binary = cache.load(self._key(queue))
        if binary is None:
            return None
        with self.quarantined(queue):
            program = self._from_binary(binary, queue, in_background)
        if program is None:  # an intact binary that the runtime refuses: the runtime has changed
            cache.discard(self._key(queue))
        else:
            self._saved_bytes = len(binary)
            self._stored.add(queue.name)
            profiling.record("load", self.names, 0, time.perf_counter() - start)
        return program

    def _from_other_queue(self, queue: Queue, in_background: bool) -> cl.Program | None:
        """Make the program from the binary for the other queue, or return None if that is not possible."""
        if not (self._built and self._device.probed.binary_ids):
            return None
        built = next(iter(self._built.values()))
        with preflight.compiling(queue.device, gives_binary=True):
            binary = self._device.backend.program_binary(built, len(self._arg_types))
        return self._from_binary(binary, queue, in_background)

    def _from_child(self, queue: Queue, in_background: bool) -> cl.Program | None:
        """Load the program from the binary that a child process makes, if the compiler is not trusted."""
        device, key = self._device, self._key(queue)
        if not device.backend.compiles_in_child(queue.device):
            return None
        process = import_whole("clarray._engine.runtime.compiler_process")  # which most backends do not need
        request = {
            "device": device.identity,
            "queue": queue.name,
            "source": self.source,
            "arg_types": self._arg_types,
            "options": self._options,
        }
        start = time.perf_counter()
        with self._shown(in_background):
            process.compile_in_child(request, device.program_cache, key)
        profiling.record("build", self.names, 0, time.perf_counter() - start)
        return self._load(queue, in_background) if device.program_cache.has(key) else None

    def _from_binary(self, binary: bytes, queue: Queue, in_background: bool) -> cl.Program | None:
        device, backend = self._device, self._device.backend
        if not backend.is_complete(binary):
            return None
        if device.probed.binary_ids:
            binary = backend.retarget(binary, device.probed.binary_ids[queue is not device.main])
        backend.require_files()
        # one folder for both queues, since their binaries have the same files
        binary, self._folder = backend.assign_folder(binary, self._folder)
        try:
            program = cl.Program(device.context, [queue.device], [binary])
            return build(program, [], queue.device, in_background, loads=True)
        except cl.Error:
            return None

    def _shown(self, in_background: bool) -> AbstractContextManager[None]:
        """Return the context that shows the user that the program is compiled. A background thread shows nothing."""
        return contextlib.nullcontext() if in_background else compiling(self.names)

    def _compile(self, queue: Queue, in_background: bool) -> cl.Program:
        start = time.perf_counter()
        device = self._device
        attribute = device.probed.function_attribute
        try:
            with self._shown(in_background):
                program = compile_source(
                    device.context, queue.device, self.source, attribute, in_background, self._options
                )
        except RuntimeError as error:
            if not in_background:  # only callers that hold the device's lock may check it
                device.check_alive(error)
            raise
        profiling.record("build", self.names, 0, time.perf_counter() - start)
        return program


def compile_source(
    context: cl.Context,
    device: cl.Device,
    source: str,
    attribute: str = "",
    in_background: bool = False,
    more_options: Sequence[str] = (),
) -> cl.Program:
    """Compile a source for one device of a context, without messages.

    Parameters
    ----------
    attribute : str
        The text that the device's compiler needs before every function.
    in_background : bool
        The parameter of `Program.bind`.
    more_options : sequence of str
        Options in addition to those of all programs.

    Raises
    ------
    RuntimeError
        With the compiler's log and the numbered source.
    """
    options = [*build_options(device), *more_options]
    shortened = find_backend(device).shorten_source(device, source, attribute)
    if shortened is not None:
        with contextlib.suppress(cl.Error):
            return build(create_program(context, shortened[0]), [*options, *shortened[1]], device, in_background)
    program = create_program(context, source)
    try:
        return build(program, options, device, in_background)
    except cl.Error as error:
        log, numbered = _number_lines(build_log(program, device) or str(error), source)
        name = device.name.strip()
        raise RuntimeError(f"{name} cannot compile this program:\n{log}{compiler_hint(log)}\n{numbered}") from None


def _number_lines(log: str, source: str) -> tuple[str, str]:
    """Return the compiler's message and the source with numbered lines, both counted from ``#line 1`` on."""
    before, directive, after = source.rpartition("#line 1\n")
    skipped = len((before + directive).splitlines())
    # NVIDIA's compiler calls the source <kernel>, and counts all lines
    message = re.sub(r"(?<=<kernel>:)\d+", lambda match: str(max(int(match[0]) - skipped, 0)), log)
    return message, "\n".join(f"{number:4} {line}" for number, line in enumerate(after.splitlines(), 1))


def create_program(context: cl.Context, source: str) -> cl.Program:
    """Return a program that is not built yet and does not use pyopencl's own cache on disk."""
    return cl.Program(cl._cl._Program(context, source))


def build(
    program: cl.Program, options: list[str], device: cl.Device, in_background: bool = False, loads: bool = False
) -> cl.Program:
    """Build a program on a stack of known size, after a check of the compiler's resources.

    Parameters
    ----------
    in_background : bool
        The parameter of `Program.bind`.
    loads : bool
        Whether the program was made from a binary, so that nothing is compiled.

    Raises
    ------
    pyopencl.Error
        The compiler reports errors, see `build_log`.
    MemoryError, OSError
        The compiler lacks memory, files or processes.
    """
    with preflight.compiling(device, loads):
        if not in_background:
            with silence_build_output():
                return on_large_stack(program.build)(options, [device])
        # as pyopencl does it, but without its warnings about the compiler's log
        on_large_stack(program._get_prg()._build)(options=" ".join([*options, "-w"]).encode(), devices=[device])
        return program


def build_log(program: cl.Program, device: cl.Device) -> str:
    """Return the compiler's log, or ''. Bytes that are not UTF-8, for example in names of files, are escaped.

    pyopencl's own function fails for such bytes.
    """
    with contextlib.suppress(AttributeError, OSError):
        call = ctypes.CDLL(cl._cl.__file__).clGetProgramBuildInfo
        request = (ctypes.c_void_p(program.int_ptr), ctypes.c_void_p(device.int_ptr), cl.program_build_info.LOG)
        nbytes = ctypes.c_size_t()
        if call(*request, ctypes.c_size_t(0), None, ctypes.byref(nbytes)) == 0:
            log = ctypes.create_string_buffer(nbytes.value + 1)
            if call(*request, nbytes, log, None) == 0:
                return log.value.decode(errors="backslashreplace").strip()
    with contextlib.suppress(cl.Error, UnicodeDecodeError):
        return str(program.get_build_info(device, cl.program_build_info.LOG)).replace("\0", "").strip()
    return ""


def build_options(device: cl.Device) -> list[str]:
    """Return the options for division and square root rounded as in IEEE 754, if the device leaves a choice."""
    rounded = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if device.type & cl.device_type.CPU or not device.single_fp_config & rounded:
        return []
    return ["-cl-fp32-correctly-rounded-divide-sqrt"]


_unsaved: dict[tuple[Program, str], Queue] = {}


@atexit.register
def _save_remaining() -> None:
    """Save programs whose kernels were not all launched, the newest first."""
    end = time.perf_counter() + _SECONDS_AT_EXIT
    while _unsaved and time.perf_counter() < end:
        (program, _), queue = _unsaved.popitem()
        if not program._device.lost:
            program.save(queue)


after_fork_in_child(_unsaved.clear)  # the parent saves its programs itself
