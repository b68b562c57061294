"""Patch the CPU that PoCL 3.0, the version of the wheel, compiles for.

If LLVM 14 does not support the CPU, PoCL requests the CPU 'generic', which x86-64 does not have, and every build fails
with "unknown target CPU 'generic'". The name is a C string that the device's structure points to (the structure's
address is the device's id). `patch_cpu_name` replaces this pointer by a pointer to the name of the CPU that PoCL's
kernel library was compiled for. PoCL chooses the library by the CPU's features. Memory is read and written through
/proc/self/mem, where a wrong address is an error and not a crash.

If LLVM 14 supports the CPU, the program and the kernel library are compiled for different CPUs, and no built-in
function is inlined (3 to 20 times slower). An attribute on every function fixes that. If LLVM's name of the CPU is one
without AVX-512 (a virtual Zen 4 is 'znver3') and the library has AVX-512, long vectors are passed in different ways,
and no build succeeds with the attribute. In this case the name is patched too.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import sys

import pyopencl as cl

from clarray._engine.runtime.backends.pocl.process_memory import STRUCT_BYTES, replace_pointer, text_at
from clarray._engine.runtime.host_cpu import cpu_flags

_GENERIC = b"generic\0"
_TARGET = b"x86_64-"
_CPU = rb"[a-z0-9_-]+\0?"
_NAMES: list[ctypes.Array[ctypes.c_char]] = []  # patched structures point to these, so they are never freed
_patched: set[int] = set()  # addresses of the devices patched in this process

# (feature, CPU of the kernel library for it), in PoCL's order of preference
_LIBRARIES = (
    ("avx512f", "skylake-avx512"),
    ("avx2", "haswell"),
    ("fma4", "bdver1"),
    ("f16c", "ivybridge"),
    ("avx", "sandybridge"),
    ("sse4_1", "penryn"),
    ("ssse3", "core2"),
)


def is_patchable(device: cl.Device) -> bool:
    """Return whether this module supports a device: PoCL 3.0 on x86-64 Linux."""
    return (
        sys.platform == "linux"
        and platform.machine() == "x86_64"
        and re.search(r"PoCL 3\.0", device.platform.version) is not None
        and "POCL_KERNELLIB_NAME" not in os.environ
    )


def library_cpu() -> str:
    """Return the CPU that PoCL's kernel library for this machine was compiled for."""
    flags = cpu_flags()
    return next((cpu for feature, cpu in _LIBRARIES if feature in flags), "x86-64")


def function_attribute() -> str:
    """Return the attribute with which built-in functions are inlined."""
    return f'__attribute__((target("arch={library_cpu()}")))'


def is_patched(device: cl.Device) -> bool:
    """Return whether `patch_cpu_name` has patched a device, for example for another context of this process."""
    return device.int_ptr in _patched


def patch_cpu_name(device: cl.Device) -> bool:
    """Replace a device's CPU by the kernel library's, and return whether the pointer was found.

    A name that does not fit the library crashes the process, so use this only for a device whose build has failed.
    """
    name = ctypes.create_string_buffer(library_cpu().encode())
    _NAMES.append(name)
    is_replaced = replace_pointer(device.int_ptr, _find_slot, ctypes.addressof(name))
    if is_replaced:
        _patched.add(device.int_ptr)
    return is_replaced


def _find_slot(memory: int, start: int) -> int | None:
    """Return the address of the pointer to the CPU's name, which is "generic" or follows the target's name."""
    data = os.pread(memory, STRUCT_BYTES, start)
    after_target = False
    for offset in range(0, len(data) - 7, 8):
        text = text_at(memory, *struct.unpack_from("<Q", data, offset))
        if text == _GENERIC or (after_target and re.match(_CPU, text)):
            return start + offset
        after_target = text.startswith(_TARGET)
    return None
