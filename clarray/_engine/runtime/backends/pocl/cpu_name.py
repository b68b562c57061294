"""The CPU that PoCL 3.0, the one in the wheel, compiles for.

On a CPU that LLVM 14 does not know, PoCL asks its own compiler for the CPU 'generic', which x86-64
has not, so every build fails with "unknown target CPU 'generic'". The name is a C string that the
device's structure points to (the structure's address is the device's id). Here that one pointer is
turned to the name of the CPU that PoCL's kernel library was compiled for, which PoCL has chosen by
the CPU's features. Memory is read and written through /proc/self/mem, where a wrong address is an
error and not a crash.

On a CPU that LLVM 14 knows, the program and the kernel library are compiled for different CPUs and
no built-in is inlined (3 to 20 times slower); an attribute on every function mends that. Where LLVM
knows the CPU by a name without AVX-512 (a virtual Zen 4 is its 'znver3') and the library is one with
AVX-512, the two disagree on how long vectors are passed and no build succeeds with the attribute:
there the name is turned too.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import sys

import pyopencl as cl

from clarray._engine.runtime.backends.pocl.process_memory import STRUCT_BYTES, text_at
from clarray._engine.runtime.host_cpu import cpu_flags

_GENERIC = b"generic\0"
_TARGET = b"x86_64-"
_CPU = rb"[a-z0-9_-]+\0?"
_NAMES: list[ctypes.Array[ctypes.c_char]] = []  # the structure points into these for good
_patched: set[int] = set()  # addresses of the devices patched in this process

# (feature, CPU the kernel library with it was compiled for), the library PoCL prefers first
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
    """Whether a device is one that this module knows: PoCL 3.0 on x86-64 Linux."""
    return (
        sys.platform == "linux"
        and platform.machine() == "x86_64"
        and re.search(r"PoCL 3\.0", device.platform.version) is not None
        and "POCL_KERNELLIB_NAME" not in os.environ
    )


def library_cpu() -> str:
    """Give the CPU that PoCL's kernel library for this machine was compiled for."""
    flags = cpu_flags()
    return next((cpu for feature, cpu in _LIBRARIES if feature in flags), "x86-64")


def function_attribute() -> str:
    """Give what lets built-ins inline where program and library are for different CPUs."""
    return f'__attribute__((target("arch={library_cpu()}")))'


def is_patched(device: cl.Device) -> bool:
    """Return whether `patch_cpu_name` has patched a device, for example for another context of this process."""
    return device.int_ptr in _patched


def patch_cpu_name(device: cl.Device) -> bool:
    """Turn a device's 'generic' CPU into the kernel library's; say whether it was found.

    A name that does not fit the library crashes the process, so this is only for a device whose
    build has failed.
    """
    name = ctypes.create_string_buffer(library_cpu().encode())
    try:
        memory = os.open("/proc/self/mem", os.O_RDWR)
    except OSError:
        return False
    try:
        slot = _find_slot(memory, device.int_ptr)
        if slot is None:
            return False
        _NAMES.append(name)
        _patched.add(device.int_ptr)
        return os.pwrite(memory, struct.pack("<Q", ctypes.addressof(name)), slot) == 8
    except OSError:
        return False
    finally:
        os.close(memory)


def _find_slot(memory: int, start: int) -> int | None:
    """Give the address of the pointer to the CPU's name: "generic", or what follows the target's name."""
    data = os.pread(memory, STRUCT_BYTES, start)
    after_target = False
    for at in range(0, len(data) - 7, 8):
        text = text_at(memory, *struct.unpack_from("<Q", data, at))
        if text == _GENERIC or (after_target and re.match(_CPU, text)):
            return start + at
        after_target = text.startswith(_TARGET)
    return None
