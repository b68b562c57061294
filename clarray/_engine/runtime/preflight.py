"""Checks of the process before a driver is called, since drivers crash, abort or hang where they lack something.

    first query of OpenCL       memory and threads for the drivers
    a build, a first launch     memory for the compiler, open files, file sizes, the linker, a process, SIGCHLD

Each check raises a Python exception that names the limit and what to do. Streams 0 to 2 are opened on the null device
if they are closed: a driver's file in their place takes what other code prints.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

import pyopencl as cl

from clarray._engine.runtime.backends import backend_of
from clarray._engine.runtime.host_memory import DRIVERS, FIRST, LATER, LOADER, Room, in_units, require_threads, shortage
from clarray._engine.runtime.memory_budget import host_pools

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
    require_threads((os.cpu_count() or 1) + 2, "OpenCL's drivers")
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
    backend = backend_of(device)
    _open_standard_streams()
    room = LOADER if loads else LATER if device.int_ptr in _warm else FIRST
    require((backend.binary_room() if gives_binary else None) or room, "OpenCL's compiler")
    backend.require(device, loads)
    with backend.children_waited_for():
        yield
    if not loads and (launches or not backend.compiles_at_launch):
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
