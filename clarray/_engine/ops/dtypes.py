"""The element types: one row per dtype.

Memory and kernels hold a value differently, so each row names both sides:

- bool is a 0/1 byte in memory and a ``char`` mask (0 or -1) in a kernel, scalar and vector alike:
  and/or/xor/not are ``& | ^ ~``, and a vector comparison needs no conversion but a narrowing.
- float16 is a ``half`` in memory and a ``float`` in a kernel, every result rounded back to half:
  arithmetic in half is optional in OpenCL, and NumPy computes the same way.
- complex numbers are ``float2``/``double2`` (real, imaginary) on both sides, at width 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["DTYPES", "DTypeRow", "Kind", "dtype_row"]

Kind = Literal["b", "i", "u", "f", "c"]


@dataclass(frozen=True, slots=True)
class DTypeRow:
    """One supported dtype: its C type in memory and that of a lane in a kernel."""

    dtype: np.dtype
    kind: Kind
    storage: str
    compute: str


def _row(name: str, kind: Kind, storage: str, compute: str | None = None) -> DTypeRow:
    return DTypeRow(np.dtype(name), kind, storage, compute or storage)


_ROWS = (
    _row("bool", "b", "uchar", "char"),
    _row("int8", "i", "char"),
    _row("int16", "i", "short"),
    _row("int32", "i", "int"),
    _row("int64", "i", "long"),
    _row("uint8", "u", "uchar"),
    _row("uint16", "u", "ushort"),
    _row("uint32", "u", "uint"),
    _row("uint64", "u", "ulong"),
    _row("float16", "f", "half", "float"),
    _row("float32", "f", "float"),
    _row("float64", "f", "double"),
    _row("complex64", "c", "float2", "float"),
    _row("complex128", "c", "double2", "double"),
)

DTYPES: dict[np.dtype, DTypeRow] = {row.dtype: row for row in _ROWS}


def dtype_row(dtype: np.dtype) -> DTypeRow:
    """Return the row of ``dtype``, or raise TypeError naming it and what is supported."""
    try:
        return DTYPES[dtype]
    except KeyError:
        native = dtype.newbyteorder("=")
        if native in DTYPES:
            raise TypeError(
                f"clarray has no dtype {dtype!r}: elements on a device are in the machine's byte order; ask for "
                f"{native.name}, which is dtype.newbyteorder('='), and for other bytes use byteswap"
            ) from None
        names = ", ".join(row.dtype.name for row in _ROWS)
        raise TypeError(f"clarray has no dtype {dtype!r}: convert with astype to one of {names}") from None
