"""Read the memory of this process by address, and replace pointers. A wrong address is an error and not a crash."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator

STRUCT_BYTES = 1024  # the distance between PoCL's structures: more bytes would include the next one
TEXT_BYTES = 8


@contextlib.contextmanager
def own_memory(flags: int = os.O_RDONLY) -> Iterator[int]:
    """Open this process's memory during a block, for reading by default, and yield the file descriptor."""
    memory = os.open("/proc/self/mem", flags)
    try:
        yield memory
    finally:
        os.close(memory)


def replace_pointer(structure: int, find_slot: Callable[[int, int], int | None], pointer: int) -> bool:
    """Replace a pointer in one of PoCL's structures, and return whether it was found.

    Parameters
    ----------
    structure, pointer : int
        The address of the structure, and the new pointer. What it points to must outlive the structure.
    find_slot : callable
        Return the address of the pointer to replace, or None, from a file descriptor of `own_memory` and `structure`.
    """
    try:
        with own_memory(os.O_RDWR) as memory:
            slot = find_slot(memory, structure)
            return slot is not None and os.pwrite(memory, struct.pack("<Q", pointer), slot) == 8
    except OSError:
        return False


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
