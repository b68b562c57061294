"""The machine code of kernels, which the native implementation calls as functions.

    first launches, by PoCL -> a file of machine code -> load it -> the native implementation runs later launches

A launch through PoCL's queue costs 0.5 us on the calling thread, and 20 to 100 us until PoCL's threads are awake. The
function for a work-group takes the arguments that PoCL 3.0 passes: the addresses of the kernel's arguments, and a
structure of the launch. Threads of the native implementation run such launches in order. A thread that waits for a
launch helps them.
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
from clarray._engine.runtime.host_memory import usable_processors
from clarray._engine.runtime.set_args_codegen import keep_generated_code_in_memory
from clarray._engine.speedups import native

_CLOSE = getattr(_ctypes, "dlclose", None)  # Windows has neither dlclose nor a wheel of PoCL
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
    """A kernel's function in a file of machine code, loaded while this object lives.

    Parameters
    ----------
    file : Path
        The shared library that PoCL has made.
    name : str
        The name of the kernel.
    codes, places : bytes
        The layout of the arguments, see `ArgumentLayout`.

    Raises
    ------
    OSError, AttributeError
        The file cannot be loaded, or does not contain the function.
    """

    __slots__ = ("_handle",)

    def __init__(self, file: Path, name: str, codes: bytes = b"", places: bytes = b"") -> None:
        library = ctypes.CDLL(str(file), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._handle = library._handle
        self.codes = codes
        self.places = places
        self.address = ctypes.cast(getattr(library, _FUNCTION.format(name)), ctypes.c_void_p).value or 0

    # The defaults are bound early, since names of the module are gone while Python shuts down.
    def __del__(self, native: Any = native, close: Callable[[int], None] | None = _CLOSE) -> None:
        if hasattr(self, "_handle"):
            if native is not None:
                native.wait()  # a launch may still run
            if close is not None:
                close(self._handle)


def load(file: Path | None, name: str, *layout: bytes) -> Code | None:
    """Load the machine code of a kernel from a file; return None if that fails."""
    if file is None:
        return None
    try:
        return Code(file, name, *layout)
    except (OSError, AttributeError):
        return None


class _Context(ctypes.Structure):
    """The structure of a launch for its work-groups, `pocl_context` of PoCL 3.0."""

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
    """Return whether machine code of a device's kernels can be called in this process.

    Parameters
    ----------
    context : pyopencl.Context
        A context of the device.
    device : pyopencl.Device
        A device for which `cpu_name.is_patchable` is true.
    probe : pyopencl.Program
        `PROBE`, compiled for the device. Its kernel writes the ids and numbers that it was called with.
    """
    keep_generated_code_in_memory()
    kernel = cl.Kernel(probe, "called")
    expected = np.zeros((*_GROUPS[::-1], 9), np.int64)
    buffer = cl.Buffer(context, cl.mem_flags.USE_HOST_PTR, hostbuf=expected)  # a launch holds no reference to it
    kernel.set_args(buffer, _NUMBERS)
    queue = cl.CommandQueue(context, device)
    cl.enqueue_nd_range_kernel(queue, kernel, _GROUPS, (1, 1))
    queue.finish()
    file = program_files.machine_code_file(program_files.program_folder(probe), "called", (1, 1))
    buffer.release()
    code = load(file, "called")
    return code is not None and bool(expected.any()) and np.array_equal(_call_probe(code), expected)


def _call_probe(code: Code) -> np.ndarray:
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
    """Set the number of threads of the native implementation to the device's, including the calling thread."""
    if native is not None:
        native.set_own_threads(usable_processors(compute_units) - 1)


__all__ = ["PROBE", "Code", "is_callable", "load", "set_threads"]
