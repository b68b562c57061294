"""Check the resources for PoCL's compiler: descriptors, large files, the linker, a process, SIGCHLD."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pyopencl as cl

from clarray._engine.runtime.backends.pocl import cpu_name
from clarray._engine.runtime.host_memory import format_bytes, require_threads

if sys.platform != "win32":
    import resource

_OPEN_FILES = 12  # free descriptors: with 8 the linker, which inherits the process's, has too few
_FILE_BYTES = 16 << 20  # the largest file that PoCL may write for a program


def require_processes(device: cl.Device) -> None:
    """Raise OSError if the compiler cannot start its linker."""
    _require_linker(device)
    _require_process()


def require_files() -> None:
    """Raise OSError if the compiler cannot open its files, or not write them to the end."""
    handles: list[int] = []
    try:
        for _ in range(_OPEN_FILES):
            handles.append(os.dup(2))
    except OSError as error:
        raise OSError(
            error.errno,
            f"PoCL's compiler needs {_OPEN_FILES} free file descriptors: close files, or raise the limit (ulimit -n)",
        ) from None
    finally:
        for handle in handles:
            os.close(handle)
    if sys.platform != "win32":
        largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if largest != resource.RLIM_INFINITY and largest < _FILE_BYTES:
            raise OSError(
                errno.EFBIG,
                f"PoCL's compiler writes files of up to {format_bytes(_FILE_BYTES)}, and this process may write "
                f"{format_bytes(largest)}: raise the limit (ulimit -f)",
            )


def _require_linker(device: cl.Device) -> None:
    if cpu_name.is_patchable(device) and not os.access(_linker(os.environ.get("PATH", "")), os.X_OK):
        raise FileNotFoundError(
            errno.ENOENT,
            "PoCL links kernels with this program, and no folder of PATH has it: install binutils, or add its folder "
            "to PATH",
            "ld",
        )


@cache
def _linker(path: str) -> str:
    return shutil.which("ld", path=path) or os.devnull  # not executable


def _require_process() -> None:
    """Raise OSError if no process can be started for the linker. The superuser has no such limit."""
    if sys.platform != "win32" and resource.getrlimit(resource.RLIMIT_NPROC)[0] != resource.RLIM_INFINITY:
        require_threads(1, "PoCL's compiler")


# SIGCHLD ----------------------------------------------------------------------------------------------

_compilers: set[object] = set()  # blocks under way in which the compiler waits for child processes


@contextlib.contextmanager
def wait_for_children() -> Iterator[None]:
    """Let PoCL wait for its linker during a block if the process ignores SIGCHLD, which discards ended children."""
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
            if _compilers:  # another thread has begun a block meanwhile
                libc.signal(signal.SIGCHLD, signal.SIG_DFL)
            else:
                _reap_ended_children()


def _c_library() -> Any:
    library = ctypes.CDLL(None)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    library.signal.restype = ctypes.c_void_p
    return library


def _reap_ended_children() -> None:
    """Reap the children that ended during the block, as the system does while SIGCHLD is ignored."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
