"""The machine code of kernels, which the compiled core calls as functions.

    first launches, by PoCL -> a file of machine code -> loaded here too -> the core runs the groups of later launches

A launch through PoCL's queue costs half a microsecond on the calling thread, and 20 to 100 until its own threads are
awake. The function that it calls for each work-group takes what PoCL 3.0 hands it: where the arguments lie, and what
the launch is. Threads of the core's work off such launches in order, and whoever waits for one helps them.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from clarray._engine.runtime.backends.backend import MachineCode
from clarray._engine.runtime.backends.pocl import program_files
from clarray._engine.runtime.host_memory import processors
from clarray._engine.runtime.set_args_codegen import keep_in_memory
from clarray._engine.speedups import core

_CLOSE = getattr(_ctypes, "dlclose", None)  # Windows has none, nor a wheel of PoCL
_FUNCTION = "_pocl_kernel_{}_workgroup"

PROBE = """
typedef struct { long first; int second; } both;
kernel void called(global long *out, both numbers) {
    const long told[] = {
        get_group_id(0), get_group_id(1), get_num_groups(0), get_num_groups(1), get_local_size(0), get_global_id(1),
        get_work_dim(), numbers.first, numbers.second
    };
    for (int i = 0; i < 9; i++) out[9 * (get_group_id(1) * get_num_groups(0) + get_group_id(0)) + i] = told[i];
}
"""
_GROUPS = (3, 2)
_NUMBERS = np.array((-(2**40), 7), np.dtype([("first", np.int64), ("second", np.int32)], align=True))


class Code(MachineCode):
    """A kernel's function in a file of machine code, loaded as long as this lives.

    Parameters
    ----------
    file : Path
        As PoCL has made it.
    name : str
        Of the kernel.
    codes, places : bytes
        How the kernel takes its arguments, see `Taken`.

    Raises
    ------
    OSError, AttributeError
        It cannot be loaded, or has no such function.
    """

    __slots__ = ("_handle",)

    def __init__(self, file: Path, name: str, codes: bytes = b"", places: bytes = b"") -> None:
        library = ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._handle = library._handle
        self.codes = codes
        self.places = places
        self.address = ctypes.cast(getattr(library, _FUNCTION.format(name)), ctypes.c_void_p).value or 0

    # Bound early: while Python shuts down, names of the module are gone.
    def __del__(self, core: Any = core, close: Callable[[int], None] | None = _CLOSE) -> None:
        if hasattr(self, "_handle"):
            if core is not None:
                core.wait()  # it may be running
            if close is not None:
                close(self._handle)


def load(file: Path | None, name: str, *taken: bytes) -> Code | None:
    """Load the machine code of a kernel from a file; return None if that fails."""
    if file is None:
        return None
    try:
        return Code(file, name, *taken)
    except (OSError, AttributeError):
        return None


class _Context(ctypes.Structure):
    """The launch as a work-group sees it: `pocl_context` of PoCL 3.0."""

    _fields_ = [
        ("groups", ctypes.c_size_t * 3),
        ("offset", ctypes.c_size_t * 3),
        ("items", ctypes.c_size_t * 3),
        ("printed", ctypes.c_void_p),
        ("printed_so_far", ctypes.c_void_p),
        ("printable", ctypes.c_uint32),
        ("dimensions", ctypes.c_uint32),
    ]


def is_callable(context: cl.Context, device: cl.Device, probe: cl.Program) -> bool:
    """Whether machine code of a device's kernels can be called here.

    Parameters
    ----------
    context : pyopencl.Context
        Of the device.
    device : pyopencl.Device
        One that `cpu_name.is_patchable` knows.
    probe : pyopencl.Program
        `PROBE`, compiled for it, whose kernel writes what it has been told.
    """
    keep_in_memory()
    kernel = cl.Kernel(probe, "called")
    expected = np.zeros((*_GROUPS[::-1], 9), np.int64)
    buffer = cl.Buffer(context, cl.mem_flags.USE_HOST_PTR, hostbuf=expected)  # which a launch does not keep
    kernel.set_args(buffer, _NUMBERS)
    queue = cl.CommandQueue(context, device)
    cl.enqueue_nd_range_kernel(queue, kernel, _GROUPS, (1, 1))
    queue.finish()
    file = program_files.machine_code_file(program_files.program_folder(probe), "called", (1, 1))
    buffer.release()
    code = load(file, "called")
    return code is not None and bool(expected.any()) and np.array_equal(_called(code), expected)


def _called(code: Code) -> np.ndarray:
    """Call the probe for each of its groups and return its outputs."""
    outputs = np.zeros((*_GROUPS[::-1], 9), np.int64)
    sizes = ctypes.c_size_t * 3
    launch = _Context(sizes(*_GROUPS, 1), sizes(), sizes(1, 1, 1), None, None, 0, len(_GROUPS))
    start = ctypes.c_void_p(outputs.ctypes.data)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(start), _NUMBERS.ctypes.data)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_size_t] * 3)(code.address)
    for row in range(_GROUPS[1]):
        for column in range(_GROUPS[0]):
            function(ctypes.addressof(arguments), ctypes.addressof(launch), column, row, 0)
    return outputs


def set_threads(compute_units: int) -> None:
    """Have the core share work among as many threads as the device has, the calling thread included."""
    if core is not None:
        core.set_own_threads(processors(compute_units) - 1)


__all__ = ["PROBE", "Code", "is_callable", "load", "set_threads"]
