"""Check the resources of the process before a driver is called: without them drivers crash, abort or hang.

    first query of OpenCL       memory and threads for the drivers
    a build, a first launch     memory for the compiler, open files, file sizes, the linker, a process, SIGCHLD

Each check raises a Python exception that names the limit and what to do. Closed standard streams are opened on the
null device: otherwise a file of the driver gets their descriptor, and receives what other code prints.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

import pyopencl as cl

from clarray._engine.runtime.backends import find_backend
from clarray._engine.runtime.host_memory import (
    BINARY_LOAD_NEED,
    DRIVERS_NEED,
    FIRST_KERNEL_NEED,
    LATER_KERNEL_NEED,
    MemoryNeed,
    format_bytes,
    require_threads,
    shortage,
)
from clarray._engine.runtime.memory_budget import host_pools

_STACK_BYTES = 8 << 20  # PoCL compiles in its threads, and `ulimit -s` may set too small a stack
_ATTRIBUTE_BYTES = 128  # at least the size of pthread_attr_t


@contextlib.contextmanager
def starting_drivers() -> Iterator[None]:
    """Check memory and threads before a block that loads the drivers. Their threads get stacks of a known size.

    Raises
    ------
    MemoryError
        Too little memory is available for the drivers.
    OSError
        The drivers' threads cannot be started.
    """
    _open_standard_streams()
    require(DRIVERS_NEED, "OpenCL's drivers")
    require_threads((os.cpu_count() or 1) + 2, "OpenCL's drivers")
    previous = _exchange_stack_size(_STACK_BYTES)
    try:
        yield
    finally:
        if previous:
            _exchange_stack_size(previous)


_warm: set[int] = set()  # devices with a compiled kernel: PoCL loads a library for each of its two devices


@contextlib.contextmanager
def compiling(
    device: cl.Device, loads: bool = False, launches: bool = False, gives_binary: bool = False
) -> Iterator[None]:
    """Check the resources for a device's compiler before a block that may compile, and let it wait for its processes.

    Parameters
    ----------
    loads : bool
        Whether the machine code is on disk, so that nothing is compiled.
    launches : bool
        Whether the block launches a kernel for the first time. PoCL makes the machine code then, not at the build.
    gives_binary : bool
        Whether the block requests a program's binary.

    Raises
    ------
    MemoryError
        Too little memory is available.
    OSError
        Too few descriptors, files too small, no linker, or no further process.
    """
    backend = find_backend(device)
    _open_standard_streams()
    need = BINARY_LOAD_NEED if loads else LATER_KERNEL_NEED if device.int_ptr in _warm else FIRST_KERNEL_NEED
    require((backend.binary_need() if gives_binary else None) or need, "OpenCL's compiler")
    backend.require(device, loads)
    with backend.wait_for_children():
        yield
    if not loads and (launches or not backend.compiles_at_launch):
        _warm.add(device.int_ptr)


def require(need: MemoryNeed, what: str) -> None:
    """Raise MemoryError if less memory is available than needed, even after free blocks have been released."""
    short = shortage(need)
    if short is not None:
        for pool in host_pools():
            pool.release_unless_busy(0)
        short = shortage(need)
    if short is not None:
        available = format_bytes(max(short.available, 0))
        raise MemoryError(
            f"{what} may need {format_bytes(short.needed)}, and {short.limit} leaves {available}: "
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


# Stacks -----------------------------------------------------------------------------------------------


def _exchange_stack_size(nbytes: int) -> int:
    """Set the stack size of threads that C libraries start. Return the previous size, or 0 if it cannot be set."""
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
