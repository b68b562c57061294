"""Patch the flags with which PoCL 3.0 links kernels, so that its linker does not read the C library.

PoCL links the machine code of each kernel to a shared library with ``-nostartfiles -shared``. The compiler driver then
adds the C library and ``libgcc_s``, and the linker spends four fifths of its time on them. Few kernels call a function
of the C library (``memcpy``). The process has loaded the C library, so the dynamic loader resolves such a call without
a reference from the kernel's library. The static ``libgcc`` stays: it has arithmetic that no other library exports. The
machine code is the same.

The device's structure points to an array of flags. `patch_linker_flags` replaces this pointer by a pointer to an array
with more flags.
"""

from __future__ import annotations

import ctypes
import os
import struct

import pyopencl as cl

from clarray._engine.runtime.backends.pocl.process_memory import STRUCT_BYTES, replace_pointer, text_at, word_at

_FLAGS = (b"-nostartfiles\0", b"-shared\0")
_MORE_FLAGS = (b"-nodefaultlibs\0", b"-lgcc\0")
_arrays: list[ctypes.Array[ctypes.c_char_p]] = []  # patched structures point to these, so they are never freed


def patch_linker_flags(device: cl.Device) -> bool:
    """Extend the linker flags of a device, and return whether the pointer to PoCL's flags was found."""
    flags = (*_FLAGS, *_MORE_FLAGS, None)
    array = (ctypes.c_char_p * len(flags))(*flags)
    _arrays.append(array)
    return replace_pointer(device.int_ptr, _find_slot, ctypes.addressof(array))


def _find_slot(memory: int, start: int) -> int | None:
    """Return the address of the pointer to an array of exactly PoCL's flags, or None."""
    data = os.pread(memory, STRUCT_BYTES, start)
    for offset, (array,) in enumerate(struct.iter_unpack("<Q", data)):
        texts = [text_at(memory, word_at(memory, array + 8 * i), len(flag)) for i, flag in enumerate(_FLAGS)]
        if tuple(texts) == _FLAGS and word_at(memory, array + 8 * len(_FLAGS)) == 0:
            return start + 8 * offset
    return None
