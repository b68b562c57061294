"""Read the memory of this process by address. A wrong address is an error and not a crash."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator

STRUCT_BYTES = 1024  # the distance between PoCL's structures: more bytes would include the next one
TEXT_BYTES = 8


@contextlib.contextmanager
def own_memory() -> Iterator[int]:
    """Open this process's memory for reading during a block, and yield the file descriptor."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        yield memory
    finally:
        os.close(memory)


def text_at(memory: int, pointer: int, nbytes: int = TEXT_BYTES) -> bytes:
    """Return the bytes at an address, or b'' if the address is not valid."""
    try:
        return os.pread(memory, nbytes, pointer) if 4096 <= pointer < 1 << 47 else b""
    except OSError:
        return b""


def word_at(memory: int, pointer: int) -> int:
    """Return the 64-bit word at an address, or 0 if the address is not valid."""
    try:
        return int.from_bytes(os.pread(memory, 8, pointer) if 4096 <= pointer < 1 << 47 else b"", "little")
    except OSError:
        return 0


def words_at(memory: int, address: int) -> tuple[int, ...]:
    """Return the 64-bit words of PoCL's structure at an address."""
    return struct.unpack("<128Q", os.pread(memory, STRUCT_BYTES, address))
