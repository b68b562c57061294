"""The files of PoCL's programs, and the machine code in them, found by PoCL's structure of a program."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import re
import struct
import sys
from pathlib import Path

import pyopencl as cl

from clarray._engine.runtime import private_files
from clarray._engine.runtime.backends.pocl import scratch_folder
from clarray._engine.runtime.backends.pocl.process_memory import own_memory, text_at, word_at, words_at

_KERNEL = r"^([0-9a-f]+)-([0-9a-f]+) r--p .* (/.*/pocl/.*\.so)$"
_FOLDER_BYTES = 41
_FOLDER = rb"(_UNCACHED_\w{6}|program-\d+-\d+)\0"  # PoCL's choice, or `scratch_folder.new_name`
_touched: set[str] = set()  # mappings whose constants have been read


def program_folder(program: cl.Program) -> str | None:
    """Return the name of the folder of a program's files, or None if PoCL's structure of it has another layout."""
    with contextlib.suppress(OSError), own_memory() as memory:
        for word in words_at(memory, program.int_ptr):
            name = re.match(_FOLDER, text_at(memory, word, _FOLDER_BYTES))
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
    with own_memory() as memory, contextlib.suppress(OSError):
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


def program_binary(program: cl.Program) -> bytes:
    """Give the binary of a program, from PoCL's own memory; none where it is not found there.

    Whoever asks for a binary asks for its size first, and then PoCL has made it: the program's structure points to
    the lengths and to the binaries. Asked for the binary itself, it would count a user of each of the program's
    kernels, who never leaves, and hold their machine code open for good.
    """
    if sys.platform != "linux":
        return b""
    lengths = program.get_info(cl.program_info.BINARY_SIZES)
    with contextlib.suppress(OSError, struct.error), own_memory() as memory:
        words = words_at(memory, program.int_ptr)
        for at_lengths, at_binaries in itertools.pairwise(words):
            for place, length in enumerate(lengths):
                if length and word_at(memory, at_lengths + 8 * place) == length:
                    start = word_at(memory, at_binaries + 8 * place)
                    found = os.pread(memory, length, start) if text_at(memory, start) == _BINARY else b""
                    if len(found) == length:
                        return found
    return b""
