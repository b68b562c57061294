"""Checks of the process before a driver is called, since drivers crash, abort or hang where they lack something.

    first query of OpenCL       memory and threads for the drivers
    a build, a first launch     memory for the compiler, open files, file sizes, the linker, a process, SIGCHLD

Each check raises a Python exception that names the limit and what to do. Streams 0 to 2 are opened on the null device
if they are closed: a driver's file in their place takes what other code prints.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import pyopencl as cl

from clarray._engine.runtime.accounts import host_pools
from clarray._engine.runtime.backends.pocl import cpu_name, scratch_folder
from clarray._engine.runtime.limits import DRIVERS, FIRST, LATER, LOADER, POCL_BINARY, Room, in_units, shortage
from clarray._engine.threads import collector_off

if sys.platform != "win32":
    import resource

_OPEN_FILES = 12  # free descriptors: with 8 the linker, which inherits the process's, has too few
_FILE_BYTES = 16 << 20  # the largest file of a program that PoCL may write
_STACK_BYTES = 8 << 20  # PoCL compiles in its threads, whose stacks are as `ulimit -s` says when it is too small
_ATTRIBUTE_BYTES = 128  # at least the size of pthread_attr_t


@contextlib.contextmanager
def starting_drivers() -> Iterator[None]:
    """Check memory and threads before the block, which loads the drivers; their threads get stacks of a known size.

    Raises
    ------
    MemoryError
        Too little memory is left for the drivers.
    OSError
        The drivers' threads cannot be started.
    """
    _open_standard_streams()
    require(DRIVERS, "OpenCL's drivers")
    _require_threads((os.cpu_count() or 1) + 2, "OpenCL's drivers")
    previous = _exchange_stack_size(_STACK_BYTES)
    try:
        yield
    finally:
        if previous:
            _exchange_stack_size(previous)


_warm: set[int] = set()  # devices that a kernel has been compiled for: PoCL loads a library for each of its two


@contextlib.contextmanager
def compiling(
    device: cl.Device, loads: bool = False, launches: bool = False, gives_binary: bool = False
) -> Iterator[None]:
    """Check what a device's compiler needs, for a block that may compile, and let it wait for its children.

    Parameters
    ----------
    loads : bool
        The machine code is on disk: nothing is compiled.
    launches : bool
        The block launches a kernel for the first time. PoCL makes the machine code then, not at the build.
    gives_binary : bool
        The block asks for a program's binary.

    Raises
    ------
    MemoryError
        Too little memory is left.
    OSError
        Too few descriptors, files too small, no linker, or no further process.
    """
    is_pocl = cpu_name.is_pocl(device)
    _open_standard_streams()
    room = LOADER if loads else LATER if device.int_ptr in _warm else FIRST
    require(POCL_BINARY if is_pocl and gives_binary else room, "OpenCL's compiler")
    if is_pocl:
        scratch_folder.require()
        _require_files()
        if not loads:
            _require_linker(device)
            _require_process()
    with _children_waited_for() if is_pocl else contextlib.nullcontext():
        yield
    if not loads and (launches or not is_pocl):
        _warm.add(device.int_ptr)


def require(room: Room, what: str) -> None:
    """Raise MemoryError if less memory is left than something needs, after free blocks have been given back."""
    short = shortage(room)
    if short is not None:
        for pool in host_pools():
            pool.release_unless_busy(0)
        short = shortage(room)
    if short is not None:
        raise MemoryError(
            f"{what} may need {in_units(short.needed)}, and {short.limit} leaves {in_units(max(short.left, 0))}: "
            "raise that limit, drop arrays, or run this once in a process with more memory, which keeps the compiled "
            "kernels on disk"
        )


def _open_standard_streams() -> None:
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != stream:
                os.dup2(null, stream)
                os.close(null)


def _require_files() -> None:
    taken: list[int] = []
    try:
        for _ in range(_OPEN_FILES):
            taken.append(os.dup(2))
    except OSError as error:
        raise OSError(
            error.errno,
            f"PoCL's compiler needs {_OPEN_FILES} free file descriptors: close files, or raise the limit (ulimit -n)",
        ) from None
    finally:
        for handle in taken:
            os.close(handle)
    if sys.platform != "win32":
        largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if largest != resource.RLIM_INFINITY and largest < _FILE_BYTES:
            raise OSError(
                errno.EFBIG,
                f"PoCL's compiler writes files of up to {in_units(_FILE_BYTES)}, and this process may write "
                f"{in_units(largest)}: raise the limit (ulimit -f)",
            )


def _require_linker(device: cl.Device) -> None:
    if cpu_name.is_mendable(device) and not os.access(_linker(os.environ.get("PATH", "")), os.X_OK):
        raise FileNotFoundError(
            errno.ENOENT,
            "PoCL links kernels with this program, and no folder of PATH has it: install binutils, or add its folder "
            "to PATH",
            "ld",
        )


@cache
def _linker(path: str) -> str:
    return shutil.which("ld", path=path) or os.devnull  # which cannot be executed


def _require_process() -> None:
    """See that one more process can be started: the linker. The superuser has no such limit of its own."""
    if sys.platform != "win32" and resource.getrlimit(resource.RLIMIT_NPROC)[0] != resource.RLIM_INFINITY:
        _require_threads(1, "PoCL's compiler")


def _require_threads(count: int, what: str) -> None:
    ended = threading.Event()
    threads: list[threading.Thread] = []
    with collector_off:  # code that it runs in a thread may need a lock that the caller holds
        try:
            for _ in range(count):
                thread = threading.Thread(target=ended.wait, daemon=True)
                thread.start()
                threads.append(thread)
        except RuntimeError:
            raise OSError(
                errno.EAGAIN,
                f"{what} may start {count} threads or processes, and only {len(threads)} can be started: raise the "
                "limit (ulimit -u, or pids.max of the container)",
            ) from None
        finally:
            ended.set()
            for thread in threads:
                thread.join()


# SIGCHLD ----------------------------------------------------------------------------------------------

_compilers: set[object] = set()  # blocks under way that need children to be waited for


@contextlib.contextmanager
def _children_waited_for() -> Iterator[None]:
    """Let PoCL wait for its linker where the process ignores SIGCHLD: the system then forgets children as they end."""
    if sys.platform == "win32" or signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN:
        yield
        return
    libc, block = _c_library(), object()
    try:  # an interrupt may come at each call
        _compilers.add(block)
        libc.signal(signal.SIGCHLD, signal.SIG_DFL)
        yield
    finally:
        _compilers.discard(block)
        if not _compilers and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            libc.signal(signal.SIGCHLD, signal.SIG_IGN)
            if _compilers:  # begun meanwhile by another thread
                libc.signal(signal.SIGCHLD, signal.SIG_DFL)
            else:
                _forget_ended_children()


def _c_library() -> Any:
    library = ctypes.CDLL(None)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    library.signal.restype = ctypes.c_void_p
    return library


def _forget_ended_children() -> None:
    """Collect the children that ended during the block, as the system does while SIGCHLD is ignored."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


# Stacks -----------------------------------------------------------------------------------------------


def _exchange_stack_size(nbytes: int) -> int:
    """Set the stack size of threads that C libraries start, and return the size before; 0 if it cannot be set."""
    try:
        library = ctypes.CDLL(None)
        get, set_ = library.pthread_getattr_default_np, library.pthread_setattr_default_np
    except (AttributeError, OSError, TypeError):  # not GNU's C library
        return 0
    attribute = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
    before = ctypes.c_size_t()
    if get(attribute) or library.pthread_attr_getstacksize(attribute, ctypes.byref(before)):
        return 0
    if library.pthread_attr_setstacksize(attribute, ctypes.c_size_t(nbytes)) or set_(attribute):
        return 0
    return before.value


__all__ = ["compiling", "require", "starting_drivers"]
