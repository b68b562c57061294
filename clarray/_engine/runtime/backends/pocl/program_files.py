"""Find the files of PoCL's programs and their machine code by PoCL's structure of a program."""

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
_FOLDER = rb"(_UNCACHED_\w{6}|program-\d+-\d+)\0"  # PoCL's choice, or `scratch_folder.new_program_name`
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
    if not (scratch_folder.contains(file) or private_files.is_private_file(file)):
        return None  # another library has set a folder for PoCL that other users can write to
    if "uncached" in file.parts:
        _link_general_variant(file)
    return file


def is_unpacked(folder: str | None, kernel: str, local: tuple[int, ...]) -> bool:
    """Return whether machine code for launches of this local size came with a program's binary."""
    program = None if folder is None else scratch_folder.program_path(folder)
    if program is None:
        return False
    variant = "-".join(map(str, (*local, 1, 1)[:3])) + "-"
    with contextlib.suppress(OSError):
        return any(name.startswith(variant) for name in os.listdir(program / kernel))
    return False


def _touch_constants() -> set[Path]:
    """Read the constants of the kernels loaded since the last call, and return the files of all loaded kernels.

    With AVX-512 LLVM 14 compiles ``mask ? constant : 0`` to a masked load from the kernel's constants. If the mask is
    all false and the page is not resident, the load does not fault the page in, and takes a slow path of the processor
    each time: 8 ns per element instead of 0.15 ns, until another access reads the page.
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
    """Read a byte of each page. PoCL may have unloaded the pages meanwhile, since it keeps 128 kernels open."""
    with own_memory() as memory, contextlib.suppress(OSError):
        for page in pages:
            os.pread(memory, 1, page)


def _link_general_variant(file: Path) -> None:
    """Link the machine code of the first launch as the general variant, which PoCL would compile for a binary.

    The general variant never runs: a binary also contains the program, from which PoCL compiles the variants that a
    launch needs.
    """
    general = file.parent.parent / "0-0-0" / file.name
    with contextlib.suppress(OSError):
        general.parent.mkdir()
        os.link(file, general)


_BINARY = b"poclbin\0"


def program_binary(program: cl.Program) -> bytes:
    """Return the binary of a program from PoCL's memory, or b'' if it is not found there.

    A request for the size makes PoCL create the binary, and the program's structure then points to the lengths and the
    binaries. A request for the binary itself would add a reference to each of the program's kernels that PoCL never
    drops, so that their machine code would stay open.
    """
    if sys.platform != "linux":
        return b""
    lengths = program.get_info(cl.program_info.BINARY_SIZES)
    with contextlib.suppress(OSError, struct.error), own_memory() as memory:
        words = words_at(memory, program.int_ptr)
        for at_lengths, at_binaries in itertools.pairwise(words):
            for index, length in enumerate(lengths):
                if length and word_at(memory, at_lengths + 8 * index) == length:
                    start = word_at(memory, at_binaries + 8 * index)
                    binary = os.pread(memory, length, start) if text_at(memory, start) == _BINARY else b""
                    if len(binary) == length:
                        return binary
    return b""
