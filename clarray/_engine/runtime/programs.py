"""Programs: source compiled when first launched, kept in memory and on disk.

    source -> Program -> Kernel -> launch
                |
                +-- per queue: disk cache, else the other queue's binary, else the compiler

PoCL compiles the work-group function at the first launch, not at the build, so its binaries are
saved when each kernel has been launched: a new process, and others that run now, then compile nothing
at all. Other runtimes' are saved at once.
Nothing is saved that is not whole, and what comes from disk is on trial until its first launch is over.
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
from typing import TYPE_CHECKING

import pyopencl as cl

from clarray._engine.runtime import includes, preflight, profiling
from clarray._engine.runtime.argument_layout import Taken
from clarray._engine.runtime.backends import backend_of
from clarray._engine.runtime.cache import key_of
from clarray._engine.runtime.forking import after_fork_in_child
from clarray._engine.runtime.launch import Bound, Kernel
from clarray._engine.runtime.progress import compiling
from clarray._engine.runtime.quarantine import trials_of
from clarray._engine.runtime.set_args_codegen import keep_in_memory
from clarray._engine.runtime.silence_build_output import quiet_build
from clarray._engine.threads import on_large_stack

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device, Queue

ArgType = str  # 'buffer', or the name of a NumPy scalar type; IN_STRUCT before it where it is in the last argument

_PATIENCE_SECONDS = 2.0  # for another thread that makes a program
_SECONDS_AT_EXIT = 0.5  # the longest that saving may hold up the end of a process


class _Making:
    """A program that is being made, and by which thread."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.ended = threading.Event()


class Program:
    """OpenCL C source and the kernels in it.

    Parameters
    ----------
    device : Device
        Where it runs.
    source : str
        OpenCL C.
    arg_types : mapping of str to sequence of str
        For each kernel, in the order of its arguments: 'buffer', or a NumPy scalar type's name.
    options : tuple of str
        Of the compiler, besides those of all programs.
    """

    __slots__ = (
        "source",
        "_arg_types",
        "_asked",
        "_built",
        "_device",
        "_folder",
        "_under_way",
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
        self._saved_bytes = 0  # a binary on disk that is as long holds all that this one does
        self._stored: set[str] = set()  # queues whose program was made from the binary on disk
        self._asked: set[str] = set()  # queues whose program PoCL has made a binary of, which stays as it is
        self._launched: set[tuple[str, str]] = set()  # kernels and queues, where that says when PoCL's are saved
        self._folder: str | None = None
        self._under_way: dict[str, _Making] = {}  # by queue: who makes the program, so that no other thread does

    def __repr__(self) -> str:
        return f"<program of {', '.join(self._arg_types)} for {self._device}>"

    def kernel(self, name: str) -> Kernel:
        """Give a kernel by its name; nothing is compiled before its first launch."""
        try:
            return self._kernels[name]
        except KeyError:
            if name not in self._arg_types:
                raise KeyError(f"no kernel {name!r} among {sorted(self._arg_types)}") from None
            return self._kernels.setdefault(name, Kernel(self._device, self, name))

    def unbind(self) -> None:
        """Have the next launches look whether there still is a device."""
        for kernel in list(self._kernels.values()):
            kernel.unbind()

    def release(self) -> None:
        """Hold no kernel any more: the program goes with the last one that somebody else holds."""
        self._kernels = weakref.WeakValueDictionary(self._kernels)
        for queue in list(self._built):
            _unsaved.pop((self, queue), None)

    def bind(self, name: str, queue: Queue, apart: bool = False) -> Bound:
        """Compile, if need be, and give a kernel of one queue, ready for arguments.

        Parameters
        ----------
        apart : bool
            The thread is one beside the program's: stderr and the warnings' filters are not its own.
        """
        keep_in_memory()
        taken = Taken(self._arg_types[name])
        program = self._checked_program(name, len(taken.dtypes), queue, apart)

        def make() -> cl.Kernel:
            kernel = cl.Kernel(program, name)
            kernel.set_scalar_arg_dtypes(taken.dtypes)
            return kernel

        folder = self._device.backend.program_folder(program)
        return Bound(make, queue, queue.name in self._stored, folder, taken)

    def _checked_program(self, name: str, arguments: int, queue: Queue, apart: bool) -> cl.Program:
        """Give the program; one from disk that does not have the kernel is another's, and this one is compiled."""
        program = self._program(queue, apart)
        if self._stored:
            with contextlib.suppress(cl.Error):
                if cl.Kernel(program, name).num_args == arguments:
                    return program
            self._device.program_cache.discard(self._key(queue))
            self._stored.clear()
            self._saved_bytes = 0
            program = self._built[queue.name] = self._compile(queue, apart)
        found = cl.Kernel(program, name).num_args
        if found != arguments:
            raise TypeError(f"kernel {name} has {found} arguments, not {arguments}")
        return program

    @contextlib.contextmanager
    def on_trial(self, queue: Queue) -> Iterator[None]:
        """For a block that uses what is stored for a queue and has not been seen to work."""
        trials, key = trials_of(self._device.program_cache), self._key(queue)
        try:
            trials.begin(key)
            yield
        finally:
            trials.end(key)

    def save_after(self, name: str, queue: Queue) -> None:
        """Save once each kernel has been launched on a queue; until then PoCL would compile the others to save one."""
        self._launched.add((name, queue.name))
        if all((each, queue.name) in self._launched for each in self._arg_types):
            self.save(queue)
        else:
            _unsaved[self, queue.name] = queue

    def save(self, queue: Queue) -> None:
        """Write one queue's binary to the disk cache, unless what is there holds as much."""
        _unsaved.pop((self, queue.name), None)
        if not includes.may_be_kept(self.source):
            return
        with contextlib.suppress(OSError, MemoryError):  # there is no room to make it
            backend = self._device.backend
            if backend.compiles_at_launch and queue.name in self._asked:
                return
            # PoCL compiles variants of the kernels once more.
            with preflight.compiling(queue.device, gives_binary=True):
                self._asked.add(queue.name)
                binary = backend.program_binary(self._built[queue.name], len(self._arg_types))
            if len(binary) > self._saved_bytes and backend.is_complete(binary):
                self._device.program_cache.store(self._key(queue), binary)
                self._saved_bytes = len(binary)

    def is_stored(self, queue: Queue) -> bool:
        """Whether it has been made for a queue, or lies on disk."""
        return queue.name in self._built or self._device.program_cache.has(self._key(queue))

    def _key(self, queue: Queue) -> str:
        shared = bool(self._device.compiled.binary_ids)
        options = " ".join((*build_options(queue.device), *self._options))
        return key_of(self._device.identity, "" if shared else queue.name, options, self.source)

    def _program(self, queue: Queue, apart: bool) -> cl.Program:
        """Give the program of a queue, made now if nobody has.

        While another thread makes it, wait for that, but not for ever: the garbage collector may run Python code in
        that thread which needs what this one holds. A re-entrant call makes a program of its own.
        """
        program = self._built.get(queue.name)
        if program is not None:
            return program
        mine = _Making()
        making = self._under_way.setdefault(queue.name, mine)
        if making.thread != mine.thread and making.ended.wait(_PATIENCE_SECONDS):
            return self._program(queue, apart)
        try:
            made = self._load(queue, apart) or self._from_other_queue(queue, apart) or self._compile(queue, apart)
            program = self._built.setdefault(queue.name, made)
        finally:
            if queue.name in self._under_way and self._under_way[queue.name] is mine:
                del self._under_way[queue.name]
            mine.ended.set()
        if program is made and not self._device.backend.compiles_at_launch and queue.name not in self._stored:
            self.save(queue)
        return program

    def _load(self, queue: Queue, apart: bool) -> cl.Program | None:
        """Make the program from the binary on disk; None where there is none that works."""
        cache = self._device.program_cache
        trials_of(cache)  # what has crashed a process is dropped by this
        start = time.perf_counter()
        binary = cache.load(self._key(queue))
        if binary is None:
            return None
        with self.on_trial(queue):
            program = self._from_binary(binary, queue, apart)
        if program is None:  # sound bytes, and yet the runtime will not have them: it has changed
            cache.discard(self._key(queue))
        else:
            self._saved_bytes = len(binary)
            self._stored.add(queue.name)
            profiling.record("load", ", ".join(self._arg_types), 0, time.perf_counter() - start)
        return program

    def _from_other_queue(self, queue: Queue, apart: bool) -> cl.Program | None:
        """Make the program from what was compiled for the other queue, where that is possible."""
        if not (self._built and self._device.compiled.binary_ids):
            return None
        built = next(iter(self._built.values()))
        with preflight.compiling(queue.device, gives_binary=True):
            binary = self._device.backend.program_binary(built, len(self._arg_types))
        return self._from_binary(binary, queue, apart)

    def _from_binary(self, binary: bytes, queue: Queue, apart: bool) -> cl.Program | None:
        device, backend = self._device, self._device.backend
        if not backend.is_complete(binary):
            return None
        if device.compiled.binary_ids:
            binary = backend.retarget(binary, device.compiled.binary_ids[queue is not device.main])
        backend.require_files()
        binary, self._folder = backend.placed(binary, self._folder)  # one for both queues, which have the same files
        try:
            program = cl.Program(device.context, [queue.device], [binary])
            return build(program, [], queue.device, apart, loads=True)
        except cl.Error:
            return None

    def _compile(self, queue: Queue, apart: bool) -> cl.Program:
        start = time.perf_counter()
        device = self._device
        attribute = device.compiled.function_attribute
        try:
            with contextlib.nullcontext() if apart else compiling(", ".join(self._arg_types)):
                program = compile_source(device.context, queue.device, self.source, attribute, apart, self._options)
        except RuntimeError as error:
            if not apart:  # whoever holds the device's lock finds it out
                device.check_alive(error)
            raise
        profiling.record("build", ", ".join(self._arg_types), 0, time.perf_counter() - start)
        return program


def compile_source(
    context: cl.Context,
    device: cl.Device,
    source: str,
    attribute: str = "",
    apart: bool = False,
    more_options: Sequence[str] = (),
) -> cl.Program:
    """Compile for one device of a context, without a word.

    Parameters
    ----------
    attribute : str
        What the device's compiler needs before every function.
    apart : bool
        As of `Program.bind`.
    more_options : sequence of str
        Besides those of all programs.

    Raises
    ------
    RuntimeError
        With the compiler's log and the numbered source.
    """
    options = [*build_options(device), *more_options]
    shorter = backend_of(device).shortened(device, source, attribute)
    if shorter is not None:
        with contextlib.suppress(cl.Error):
            return build(created(context, shorter[0]), [*options, *shorter[1]], device, apart)
    program = created(context, source)
    try:
        return build(program, options, device, apart)
    except cl.Error as error:
        log, numbered = _numbered(build_log(program, device) or str(error), source)
        raise RuntimeError(f"{device.name.strip()} cannot compile this program:\n{log}\n{numbered}") from None


def _numbered(log: str, source: str) -> tuple[str, str]:
    """A compiler's message and the source it is about, lines counted from ``#line 1`` on, where that stands."""
    before, directive, after = source.rpartition("#line 1\n")
    ahead = len((before + directive).splitlines())
    # NVIDIA's compiler, whose name for the text this is, heeds no #line, and counts all
    told = re.sub(r"(?<=<kernel>:)\d+", lambda found: str(max(int(found[0]) - ahead, 0)), log)
    return told, "\n".join(f"{number:4} {line}" for number, line in enumerate(after.splitlines(), 1))


def created(context: cl.Context, source: str) -> cl.Program:
    """Return a program that is not built yet, without pyopencl's own cache on disk beside ours."""
    return cl.Program(cl._cl._Program(context, source))


def build(
    program: cl.Program, options: list[str], device: cl.Device, apart: bool = False, loads: bool = False
) -> cl.Program:
    """Build a program on a stack of known size, after checking what the compiler needs.

    Parameters
    ----------
    apart : bool
        As of `Program.bind`.
    loads : bool
        The program was made from a binary: nothing is compiled.

    Raises
    ------
    pyopencl.Error
        The compiler refuses it: see `build_log`.
    MemoryError, OSError
        The compiler lacks something.
    """
    with preflight.compiling(device, loads):
        if not apart:
            with quiet_build():
                return on_large_stack(program.build)(options, [device])
        # what pyopencl itself calls, without the warnings that it makes of the compiler's log
        on_large_stack(program._get_prg()._build)(options=" ".join([*options, "-w"]).encode(), devices=[device])
        return program


def build_log(program: cl.Program, device: cl.Device) -> str:
    """Return what the compiler wrote; '' if nothing. Bytes that are not UTF-8, as in names of files, are escaped.

    pyopencl's own function fails with such bytes.
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
    """Give the compiler's options: division and square root rounded as IEEE 754 says, where it is a choice."""
    rounded = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if device.type & cl.device_type.CPU or not device.single_fp_config & rounded:
        return []
    return ["-cl-fp32-correctly-rounded-divide-sqrt"]


_unsaved: dict[tuple[Program, str], Queue] = {}


@atexit.register
def _save_the_rest() -> None:
    """Save programs of which not every kernel was launched, the newest first."""
    end = time.perf_counter() + _SECONDS_AT_EXIT
    while _unsaved and time.perf_counter() < end:
        (program, _), queue = _unsaved.popitem()
        if not program._device.lost:
            program.save(queue)


after_fork_in_child(_unsaved.clear)  # the parent's: it saves them itself
