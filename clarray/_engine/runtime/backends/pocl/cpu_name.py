"""What is particular about PoCL 3.0, the one in the wheel.

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

import contextlib
import ctypes
import itertools
import mmap
import os
import platform
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pyopencl as cl

from clarray._engine.runtime import private_files
from clarray._engine.runtime.backends.pocl import scratch_folder
from clarray._engine.runtime.environment import cpu_flags

_STRUCT_BYTES = 1024  # PoCL's devices lie this far apart: looking further finds the next one's
_GENERIC = b"generic\0"
_TARGET = b"x86_64-"
_CPU = rb"[a-z0-9_-]+\0?"
_kept: list[ctypes.Array[ctypes.c_char]] = []  # the structure points into these for good
_named: set[int] = set()  # addresses of the devices mended in this process

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


def is_pocl(device: cl.Device) -> bool:
    """Whether a device is PoCL's."""
    return "pocl" in device.platform.version.lower()


def is_mendable(device: cl.Device) -> bool:
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


def is_named(device: cl.Device) -> bool:
    """Whether `name_cpu` has already mended a device, for another context of this process, say."""
    return device.int_ptr in _named


def name_cpu(device: cl.Device) -> bool:
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
        _kept.append(name)
        _named.add(device.int_ptr)
        return os.pwrite(memory, struct.pack("<Q", ctypes.addressof(name)), slot) == 8
    except OSError:
        return False
    finally:
        os.close(memory)


def _find_slot(memory: int, start: int) -> int | None:
    """Give the address of the pointer to the CPU's name: "generic", or what follows the target's name."""
    data = os.pread(memory, _STRUCT_BYTES, start)
    after_target = False
    for at in range(0, len(data) - 7, 8):
        text = _text(memory, *struct.unpack_from("<Q", data, at))
        if text == _GENERIC or (after_target and re.match(_CPU, text)):
            return start + at
        after_target = text.startswith(_TARGET)
    return None


@contextlib.contextmanager
def _own_memory() -> Iterator[int]:
    """Open this process's memory for reading, and give the file descriptor."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        yield memory
    finally:
        os.close(memory)


def _text(memory: int, pointer: int, nbytes: int = len(_GENERIC)) -> bytes:
    """Return the first bytes at an address, or none if it is no valid address."""
    try:
        return os.pread(memory, nbytes, pointer) if 4096 <= pointer < 1 << 47 else b""
    except OSError:
        return b""


_KERNEL = r"^([0-9a-f]+)-([0-9a-f]+) r--p .* (/.*/pocl/.*\.so)$"
_FOLDER_BYTES = 41
_FOLDER = rb"(_UNCACHED_\w{6}|program-\d+-\d+)\0"  # PoCL's choice, or `scratch_folder.new_name`
_touched: set[str] = set()  # mappings whose constants have been read


def program_folder(program: cl.Program) -> str | None:
    """Return the name of the folder of a program's files, or None if PoCL's structure of it has another layout."""
    with contextlib.suppress(OSError), _own_memory() as memory:
        for word in struct.unpack("<128Q", os.pread(memory, _STRUCT_BYTES, program.int_ptr)):
            name = re.match(_FOLDER, _text(memory, word, _FOLDER_BYTES))
            if name is not None:
                return name[1].decode()
    return None


def machine_code_file(folder: str | None, name: str, local: tuple[int, ...]) -> Path | None:
    """Return the file of a kernel's machine code, and read the constants of all kernels loaded lately.

    Parameters
    ----------
    folder : str, optional
        The result of `program_folder`.
    name : str
        The kernel's name.
    local : tuple of int
        The work-group size of its first launch, which has finished.
    """
    variant = "-".join(map(str, (*local, 1, 1)[:3])) + "-"
    files = {
        file
        for file in _touch_constants()
        if file.stem == name and file.parts[-4:-2] == (folder, name) and file.parts[-2].startswith(variant)
    }
    if len(files) != 1:
        return None
    (file,) = files
    if not (scratch_folder.holds(file) or private_files.is_private_file(file)):
        return None  # another library has had PoCL work where other users can write
    if "uncached" in file.parts:
        _spare_general_variant(file)
    return file


def is_unpacked(folder: str | None, kernel: str, local: tuple[int, ...]) -> bool:
    """Return whether machine code for launches of this local size came with a program's binary."""
    program = None if folder is None else scratch_folder.path_of(folder)
    if program is None:
        return False
    variant = "-".join(map(str, (*local, 1, 1)[:3])) + "-"
    with contextlib.suppress(OSError):
        return any(name.startswith(variant) for name in os.listdir(program / kernel))
    return False


def _touch_constants() -> set[Path]:
    """Read the constants of the kernels loaded since the last call, and return the files of all loaded kernels.

    With AVX-512 LLVM 14 turns ``mask ? constant : 0`` into a masked load from the kernel's constants. A
    load whose mask is all false does not bring in a page that is missing, but takes a slow path in the
    processor every time: 8 ns per element instead of 0.15, until something else reads the page.
    """
    files: set[Path] = set()
    try:
        with open("/proc/self/maps", "rb") as maps:  # names of files in any encoding
            lines = [os.fsdecode(line.rstrip()) for line in maps if b"/pocl/" in line]
    except OSError:
        return files
    for line in lines:
        mapping = re.match(_KERNEL, line)
        if mapping is None:
            continue
        files.add(Path(mapping[3]))
        if line not in _touched:
            _touched.add(line)
            first, last = (int(part, 16) for part in mapping.groups()[:2])
            _touch(range(first, last, mmap.PAGESIZE))
    return files


def _touch(pages: range) -> None:
    """Have pages brought in that another thread's launch may have made PoCL unload meanwhile: it keeps 128 kernels."""
    with _own_memory() as memory, contextlib.suppress(OSError):
        for page in pages:
            os.pread(memory, 1, page)


def _spare_general_variant(file: Path) -> None:
    """Let PoCL find what it would compile for a binary: a variant of the kernel for any launch.

    Nothing ever runs it, since a binary holds the program as well, and from that comes what a launch
    needs and the binary has not. So what was made for the first launch stands in for it.
    """
    general = file.parent.parent / "0-0-0" / file.name
    with contextlib.suppress(OSError):
        general.parent.mkdir()
        os.link(file, general)


_BINARY = b"poclbin\0"


def binary_of(program: cl.Program) -> bytes:
    """Give the binary of a program, from PoCL's own memory; none where it is not found there.

    Whoever asks for a binary asks for its size first, and then PoCL has made it: the program's structure points to
    the lengths and to the binaries. Asked for the binary itself, it would count a user of each of the program's
    kernels, who never leaves, and hold their machine code open for good.
    """
    if sys.platform != "linux":
        return b""
    lengths = program.get_info(cl.program_info.BINARY_SIZES)
    with contextlib.suppress(OSError, struct.error), _own_memory() as memory:
        words = struct.unpack("<128Q", os.pread(memory, _STRUCT_BYTES, program.int_ptr))
        for at_lengths, at_binaries in itertools.pairwise(words):
            for place, length in enumerate(lengths):
                if length and _word(memory, at_lengths + 8 * place) == length:
                    start = _word(memory, at_binaries + 8 * place)
                    found = os.pread(memory, length, start) if _text(memory, start) == _BINARY else b""
                    if len(found) == length:
                        return found
    return b""


def _word(memory: int, pointer: int) -> int:
    """Give the eight bytes that a pointer leads to, as a number; 0 where it is no pointer."""
    try:
        return int.from_bytes(os.pread(memory, 8, pointer) if 4096 <= pointer < 1 << 47 else b"", "little")
    except OSError:
        return 0
