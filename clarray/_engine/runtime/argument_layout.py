"""The layout of a kernel's arguments: one OpenCL argument for each, or all numbers in a structure, the last argument.

types     buffer   .int32   buffer   .int64
arguments 0                 1                 2: the structure
places    0        8        1        0        and 12, the size of the structure in bytes
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from clarray._engine.argument_struct import IN_STRUCT, struct_dtype

# The native implementation's letters for the types of arguments. It leaves arguments with '?' to pyopencl.
_CODES = {
    "buffer": "*",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}


class ArgumentLayout:
    """The layout that follows from the types of a kernel's arguments.

    Parameters
    ----------
    types : sequence of str
        'buffer', or the name of a NumPy scalar type, with the prefix `IN_STRUCT` if the number is in the structure.
        Either all numbers are in the structure, or none.

    Attributes
    ----------
    dtypes : list of numpy.dtype or None
        The types of the kernel's OpenCL arguments, None for a buffer.
    codes : bytes
        The letters of the types, for the native implementation.
    places : bytes
        16-bit numbers for the native implementation: the index of the OpenCL argument for each buffer, the offset in
        the structure for each number, and at the end the size of the structure. Empty if there is no structure.
    """

    def __init__(self, types: Sequence[str]) -> None:
        kinds = [kind.removeprefix(IN_STRUCT) for kind in types]
        self._in_structure = [k for k, kind in enumerate(types) if kind.startswith(IN_STRUCT)]
        self._separate = [k for k, kind in enumerate(types) if not kind.startswith(IN_STRUCT)]
        self.codes = "".join([_CODES.get(kind, "?") for kind in kinds]).encode()
        self.dtypes: list[np.dtype | None] = [
            None if kinds[k] == "buffer" else np.dtype(kinds[k]) for k in self._separate
        ]
        self.places = b""
        if self._in_structure:
            if any(self.dtypes):
                raise TypeError(f"some numbers are in a structure and some are not: {', '.join(types)}")
            self._structure = struct_dtype([kinds[k] for k in self._in_structure])
            self.dtypes.append(self._structure)
            self.places = self._pack_positions(len(types))

    def _pack_positions(self, count: int) -> bytes:
        positions = [0] * count
        for argument, k in enumerate(self._separate):
            positions[k] = argument
        for number, k in enumerate(self._in_structure):
            positions[k] = _offset(self._structure, str(number))
        return array("H", [*positions, self._structure.itemsize]).tobytes()

    def setter(self, kernel: cl.Kernel) -> Callable[..., None]:
        """Return the function that sets the arguments of a kernel with this layout."""
        setter: Callable[..., None] = kernel.set_args
        if not self._in_structure:
            return setter
        separate = self._separate
        # in the order of their offsets
        in_structure = [self._in_structure[int(name)] for name in self._structure.names or ()]
        codes = self.codes.decode()
        letters = "".join(codes[k] for k in in_structure)
        pack = struct.Struct(f"={letters}{self._structure.itemsize - struct.calcsize('=' + letters)}x").pack

        def set_args(*args: Any) -> None:
            setter(*[args[k] for k in separate], pack(*[args[k] for k in in_structure]))

        return set_args


def _offset(structure: np.dtype, name: str) -> int:
    fields = structure.fields
    assert fields is not None
    return int(fields[name][1])
