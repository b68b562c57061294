"""How a kernel takes what a launch gives it: one argument for each, or numbers in a structure, which is the last.

types     buffer   .int32   buffer   .int64
arguments 0                 1                 2: the structure
places    0        8        1        0        and 12, its bytes
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from clarray._engine.argument_struct import IN_STRUCT, struct_dtype

# How the compiled core is told the type of an argument; it leaves those marked '?' to pyopencl.
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


class Taken:
    """What follows from the types of a kernel's arguments.

    Parameters
    ----------
    types : sequence of str
        'buffer', or the name of a NumPy scalar type, and `IN_STRUCT` before it where it is in the structure: all
        numbers are, or none.

    Attributes
    ----------
    dtypes : list of numpy.dtype or None
        Of the kernel's own arguments; None for a buffer.
    codes : bytes
        The types, for the compiled core.
    places : bytes
        For the compiled core: 16-bit numbers, of each argument which of the kernel's it is, or where in the structure
        it begins, and the structure's bytes. Empty where there is none.
    """

    def __init__(self, types: Sequence[str]) -> None:
        kinds = [kind.removeprefix(IN_STRUCT) for kind in types]
        self._inside = [k for k, kind in enumerate(types) if kind.startswith(IN_STRUCT)]
        self._alone = [k for k, kind in enumerate(types) if not kind.startswith(IN_STRUCT)]
        self.codes = "".join([_CODES.get(kind, "?") for kind in kinds]).encode()
        self.dtypes: list[np.dtype | None] = [None if kinds[k] == "buffer" else np.dtype(kinds[k]) for k in self._alone]
        self.places = b""
        if self._inside:
            if any(self.dtypes):
                raise TypeError(f"some numbers are in a structure and some are not: {', '.join(types)}")
            self._structure = struct_dtype([kinds[k] for k in self._inside])
            self.dtypes.append(self._structure)
            self.places = self._places(len(types))

    def _places(self, count: int) -> bytes:
        places = [0] * count
        for argument, k in enumerate(self._alone):
            places[k] = argument
        for number, k in enumerate(self._inside):
            places[k] = _offset(self._structure, str(number))
        return array("H", [*places, self._structure.itemsize]).tobytes()

    def setter(self, kernel: cl.Kernel) -> Callable[..., None]:
        """Give what sets the arguments of such a kernel."""
        setter: Callable[..., None] = kernel.set_args
        if not self._inside:
            return setter
        alone = self._alone
        inside = [self._inside[int(name)] for name in self._structure.names or ()]  # as they follow each other
        codes = self.codes.decode()
        letters = "".join(codes[k] for k in inside)
        pack = struct.Struct(f"={letters}{self._structure.itemsize - struct.calcsize('=' + letters)}x").pack

        def set_args(*args: Any) -> None:
            setter(*[args[k] for k in alone], pack(*[args[k] for k in inside]))

        return set_args


def _offset(structure: np.dtype, name: str) -> int:
    fields = structure.fields
    assert fields is not None
    return int(fields[name][1])
