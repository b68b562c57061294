r"""The binaries of PoCL's programs: which device one is for, what its files are called, and whether all are there.

    binary = b"poclbin\0" | device u64 | version u32 | number of kernels u32 | flags u64 | name of the folder, 41 bytes
             | file of the program | kernels
    file   = path | content                              each with its length, a u32, before it
    kernel = its size u64 | size of its files u64 | u32 | name | what its arguments are | files

The binaries of its two CPU devices differ in the number that says which device they are for, and in nothing else:
exchanging it saves compiling every program twice.

PoCL packs the files that it finds in the program's folder and does not mind if there are none; made a program again,
such a binary brings the process down at the first launch. Nor does it check what it reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC = b"poclbin\0"
_VERSION = 8  # the one whose layout this is; PoCL 3.0's
_ID = slice(8, 16)
_HEADER = struct.Struct("<8sQIIQ41s")
_KERNEL = struct.Struct("<QQI")
_ELF_SECTIONS = struct.Struct("<40xQ10xHH2x")  # of the header of 64 bytes: where they start, size of an entry, number
_ELF = b"\x7fELF\x02\x01"
_BITCODE = b"BC\xc0\xde"


def binary_id(binary: bytes) -> str:
    """Give the number that says which device a binary is for; '' where it is no such binary."""
    if not binary.startswith(_MAGIC) or len(binary) < _ID.stop:
        return ""
    return binary[_ID].hex()


def for_device(binary: bytes, wanted: str) -> bytes:
    """Give a binary with another device's number in it."""
    return binary[: _ID.start] + bytes.fromhex(wanted) + binary[_ID.stop :]


def is_known(binary: bytes) -> bool:
    """Whether a binary's layout is known, which names the folder that PoCL unpacks its files in."""
    if not binary.startswith(_MAGIC) or len(binary) < _HEADER.size:
        return False
    return bool(_HEADER.unpack_from(binary)[2] == _VERSION)


def renamed(binary: bytes, folder: str) -> bytes:
    """Give such a binary whose files PoCL unpacks in a folder of this name."""
    fields = _HEADER.unpack_from(binary)
    return _HEADER.pack(*fields[:-1], folder.encode()) + binary[_HEADER.size :]


def is_complete(binary: bytes) -> bool:
    """Whether a binary holds a program and machine code for each of its kernels; True for what is not PoCL's 3.0."""
    if not is_known(binary):
        return bool(binary)
    try:
        return _is_complete(binary)
    except (struct.error, ValueError):  # it ends where something should be
        return False


def _is_complete(binary: bytes) -> bool:
    kernels = _HEADER.unpack_from(binary)[3]
    (path, program), at = _file(binary, _HEADER.size)
    sound = path == b"/program.bc" and program.startswith(_BITCODE) and len(program) % 4 == 0
    for _ in range(kernels):
        size, of_files, _ = _KERNEL.unpack_from(binary, at)
        name, _ = _text(binary, at + _KERNEL.size)
        end = at + size
        if not (sound and of_files < size and end <= len(binary)):
            return False
        code = [content for path, content in _files(binary, end - of_files, end) if path.endswith(b"/%s.so" % name)]
        sound = bool(code) and all(map(_is_whole_elf, code))
        at = end
    return sound and kernels > 0 and at == len(binary)


def _files(binary: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while at < end:
        found, at = _file(binary, at)
        yield found
    if at != end:
        raise ValueError("a file reaches beyond its kernel")


def _file(binary: bytes, at: int) -> tuple[tuple[bytes, bytes], int]:
    path, at = _text(binary, at)
    content, at = _text(binary, at)
    return (path, content), at


def _text(binary: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<I", binary, at)
    end = at + 4 + length
    if end > len(binary):
        raise ValueError("a text reaches beyond the end")
    return binary[at + 4 : end], end


def _is_whole_elf(content: bytes) -> bool:
    """Whether a shared library reaches as far as it says: the linker writes the table of its sections last."""
    if not content.startswith(_ELF):
        return False
    start, size, number = _ELF_SECTIONS.unpack_from(content)
    return bool(start > 0 and start + size * number <= len(content))
