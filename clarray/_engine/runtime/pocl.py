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
import threading
from pathlib import Path

import pyopencl as cl

from clarray._engine.runtime import pocl_folder
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


def _text(memory: int, pointer: int) -> bytes:
    """Give the first bytes that a pointer leads to; none where it is no pointer."""
    try:
        return os.pread(memory, len(_GENERIC), pointer) if 4096 <= pointer < 1 << 47 else b""
    except OSError:
        return b""


_KERNEL = r"^([0-9a-f]+)-([0-9a-f]+) r--p .* (/.*/pocl/.*\.so)$"
_known: set[str] = set()  # what has been looked at, lines of the system
_under_way: set[FirstLaunch] = set()
looking = threading.RLock()  # held for these two; what the garbage collector runs meanwhile may launch as well


class FirstLaunch:
    """For the block in which a kernel is launched for the first time and ends: then PoCL has its machine code.

    Parameters
    ----------
    name : str
        The kernel's.
    local : tuple of int
        Work-items of a group along each dimension.
    folder : str, optional
        Where the program's files are, if PoCL has been told. Where not, what is new is taken for the kernel's, unless
        another thread has launched one of the same name meanwhile: then it is left to PoCL.
    """

    def __init__(self, name: str, local: tuple[int, ...], folder: str | None = None) -> None:
        self.alone = True  # no other thread has PoCL choose a folder, of its own, for what is called the same
        self._name = name
        self._variant = "-".join(map(str, (*local, 1, 1)[:3])) + "-"
        self._folder = folder
        self._process = os.getpid()

    def __enter__(self) -> FirstLaunch:
        with looking:
            others = [each for each in tuple(_under_way) if self._may_be(each)]
            for each in (self, *others):
                each.alone = not others
            _under_way.add(self)
        return self

    def __exit__(self, *exc: object) -> None:
        with looking:
            _under_way.discard(self)

    def _may_be(self, other: FirstLaunch) -> bool:
        """Whether the file of one may be taken for the other's."""
        if self._folder is not None or other._folder is not None:
            return False
        return (self._name, self._variant, self._process) == (other._name, other._variant, other._process)

    def file(self) -> Path | None:
        """Take care of the machine code that PoCL has made; give its file, if that is known for certain."""
        with looking:
            mapped, new = _touch_constants()
        files = {file for file in (new if self._folder is None else mapped) if self._is_mine(file)}
        if len(files) != 1 or not self.alone:
            return None
        (file,) = files
        if "uncached" in file.parts:
            _spare_general_variant(file)
        return file

    def _is_mine(self, file: Path) -> bool:
        """Whether a file may be the kernel's: it lies in folders of the program, the kernel and the variant."""
        variant, kernel, folder = (parent.name for parent in file.parents[:3])
        if (file.stem, kernel) != (self._name, self._name) or not variant.startswith(self._variant):
            return False
        return folder == self._folder if self._folder is not None else not pocl_folder.is_told(folder)


def _touch_constants() -> tuple[set[Path], set[Path]]:
    """Read the constants of the kernels loaded since the last call, so that their pages are there.

    With AVX-512 LLVM 14 turns ``mask ? constant : 0`` into a masked load from the kernel's constants. A
    load whose mask is all false does not bring in a page that is missing, but takes a slow path in the
    processor every time: 8 ns per element instead of 0.15, until something else reads the page.

    Returns
    -------
    files, new : set of Path
        Of all kernels in memory, and of those; none where the system is not Linux.
    """
    files: set[Path] = set()
    new: set[Path] = set()
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.rstrip() for line in maps if "/pocl/" in line]
    except OSError:
        return files, new
    for line in lines:
        found = re.match(_KERNEL, line)
        if found is None:
            continue
        files.add(Path(found[3]))
        if line not in _known:
            _known.add(line)
            first, last = (int(part, 16) for part in found.groups()[:2])
            _touch(range(first, last, mmap.PAGESIZE))
            new.add(Path(found[3]))
    return files, new


def _touch(pages: range) -> None:
    """Have pages brought in that another thread's launch may have made PoCL unload meanwhile: it keeps 128 kernels."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            for page in pages:
                os.pread(memory, 1, page)
    finally:
        os.close(memory)


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
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return b""
    try:
        words = struct.unpack("<128Q", os.pread(memory, _STRUCT_BYTES, program.int_ptr))
        for at_lengths, at_binaries in itertools.pairwise(words):
            for place, length in enumerate(lengths):
                if length and _word(memory, at_lengths + 8 * place) == length:
                    start = _word(memory, at_binaries + 8 * place)
                    found = os.pread(memory, length, start) if _text(memory, start) == _BINARY else b""
                    if len(found) == length:
                        return found
        return b""
    except (OSError, struct.error):
        return b""
    finally:
        os.close(memory)


def _word(memory: int, pointer: int) -> int:
    """Give the eight bytes that a pointer leads to, as a number; 0 where it is no pointer."""
    try:
        return int.from_bytes(os.pread(memory, 8, pointer) if 4096 <= pointer < 1 << 47 else b"", "little")
    except OSError:
        return 0
