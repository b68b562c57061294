r"""The format of PoCL's binaries: their device id, the names of their files, and whether they are complete.

    binary = b"poclbin\0" | device u64 | version u32 | number of kernels u32 | flags u64 | name of the folder, 41 bytes
             | file of the program | kernels
    file   = path | content                              each with its length, a u32, before it
    kernel = its size u64 | size of its files u64 | u32 | name | types of its arguments | files

The binaries for PoCL's two CPU devices differ only in the device id. Replacing the id saves a second compilation.

PoCL packs the files that it finds in the program's folder, and reports no error if there are none. A program made from
such a binary crashes the process at the first launch. PoCL does not check the binaries that it reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC = b"poclbin\0"
_VERSION = 8  # of PoCL 3.0, whose layout this is
_ID = slice(8, 16)
_HEADER = struct.Struct("<8sQIIQ41s")
_KERNEL = struct.Struct("<QQI")
_ELF_SECTIONS = struct.Struct("<40xQ10xHH2x")  # in the header of 64 bytes: offset, size of an entry, number of entries
_ELF = b"\x7fELF\x02\x01"
_BITCODE = b"BC\xc0\xde"


def binary_id(binary: bytes) -> str:
    """Return the device id of a binary as hexadecimal digits, or '' if it is not PoCL's."""
    if not binary.startswith(_MAGIC) or len(binary) < _ID.stop:
        return ""
    return binary[_ID].hex()


def with_device_id(binary: bytes, device_id: str) -> bytes:
    """Return a binary with another device id."""
    return binary[: _ID.start] + bytes.fromhex(device_id) + binary[_ID.stop :]


def has_supported_layout(binary: bytes) -> bool:
    """Return whether a binary has the layout of PoCL 3.0, with the name of the folder for its files."""
    if not binary.startswith(_MAGIC) or len(binary) < _HEADER.size:
        return False
    return bool(_HEADER.unpack_from(binary)[2] == _VERSION)


def with_folder_name(binary: bytes, folder: str) -> bytes:
    """Return a binary with known layout whose files PoCL unpacks in the folder of the given name."""
    fields = _HEADER.unpack_from(binary)
    return _HEADER.pack(*fields[:-1], folder.encode()) + binary[_HEADER.size :]


def is_complete(binary: bytes) -> bool:
    """Return whether a binary has a program and machine code for each kernel. Other layouts count as complete."""
    if not has_supported_layout(binary):
        return bool(binary)
    try:
        return _is_complete(binary)
    except (struct.error, ValueError):  # the binary ends too early
        return False


def _is_complete(binary: bytes) -> bool:
    kernels = _HEADER.unpack_from(binary)[3]
    (path, program), offset = _file(binary, _HEADER.size)
    is_valid = path == b"/program.bc" and program.startswith(_BITCODE) and len(program) % 4 == 0
    for _ in range(kernels):
        size, files_size, _ = _KERNEL.unpack_from(binary, offset)
        name, _ = _text(binary, offset + _KERNEL.size)
        end = offset + size
        if not (is_valid and files_size < size and end <= len(binary)):
            return False
        code = [content for path, content in _files(binary, end - files_size, end) if path.endswith(b"/%s.so" % name)]
        is_valid = bool(code) and all(map(_is_whole_elf, code))
        offset = end
    return is_valid and kernels > 0 and offset == len(binary)


def _files(binary: bytes, offset: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while offset < end:
        file, offset = _file(binary, offset)
        yield file
    if offset != end:
        raise ValueError("a file reaches beyond its kernel")


def _file(binary: bytes, offset: int) -> tuple[tuple[bytes, bytes], int]:
    path, offset = _text(binary, offset)
    content, offset = _text(binary, offset)
    return (path, content), offset


def _text(binary: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<I", binary, offset)
    end = offset + 4 + length
    if end > len(binary):
        raise ValueError("a text reaches beyond the end")
    return binary[offset + 4 : end], end


def _is_whole_elf(content: bytes) -> bool:
    """Return whether a shared library is complete: the linker writes its table of sections last."""
    if not content.startswith(_ELF):
        return False
    start, size, number = _ELF_SECTIONS.unpack_from(content)
    return bool(start > 0 and start + size * number <= len(content))
