"""The table of supported dtypes.

Memory and kernels represent a value differently, so each row has both representations:

- bool is a 0/1 byte in memory and a ``char`` mask (0 or -1) in a kernel, scalar and vector alike:
  and/or/xor/not are ``& | ^ ~``, and a vector comparison needs no conversion but a narrowing.
- float16 is a ``half`` in memory and a ``float`` in a kernel, which rounds every result to half:
  arithmetic in half is optional in OpenCL, and NumPy computes the same way.
- complex numbers are ``float2``/``double2`` (real, imaginary) on both sides, at width 1.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clarray._engine.fast_dataclass import dataclass

__all__ = ["DTYPES", "DTypeRow", "HostOnly", "Kind", "Packed", "dtype_row", "is_device_dtype", "is_exact", "wide_dtype"]

Kind = Literal["b", "i", "u", "f", "c"]

_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A floating-point format of memory only, with the C texts that convert it to and from kernels' values.

    Parameters
    ----------
    name : str
        Suffix of the helpers ``round_NAME``, ``nextafter_NAME`` and ``spacing_NAME`` of ``templates/lib``.
    word : str
        C type of the bits.
    load, store : str
        Access to one element; the fields are ``{p}``, ``{at}`` and, of a store, ``{v}``.
    load_aligned : str
        ``{n}`` elements from the aligned global address ``{p}``.
    unpack, pack : str
        ``{n}`` elements from or to the private variable ``{x}`` of words; of `pack`, the values are ``{v}``.
    """

    name: str
    word: str
    load: str
    store: str
    load_aligned: str
    unpack: str
    pack: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DTypeRow:
    """A supported dtype.

    Parameters
    ----------
    dtype : dtype
    kind : {'b', 'i', 'u', 'f', 'c'}
    storage, compute : str
        C type in memory, and of a lane in a kernel. For complex numbers `compute` is the type of a part.
    wide : dtype
        The dtype in which kernels compute and sum: another dtype if `packed`.
    mantissa : int
        Bits of a floating-point number (of each part of a complex one) below its leading one; else 0.
    packed : Packed or None
        Format in memory, if C's assignment does not convert it.
    """

    dtype: np.dtype
    kind: Kind
    storage: str
    compute: str
    wide: np.dtype
    mantissa: int = 0
    packed: Packed | None = None

    @property
    def letter(self) -> str:
        """The kind of operand in the ufunc table: ``'e'`` if results are rounded to a packed format."""
        return "e" if self.packed else self.kind

    def rounded(self, text: str, number: object) -> str:
        """Return the text that rounds `text`, a value of the C type `number`, to a value of the dtype."""
        return f"ca_round_{self.packed.name}_{number}({text})" if self.packed else text


def _row(
    name: str,
    kind: Kind,
    storage: str,
    compute: str | None = None,
    mantissa: int = 0,
    packed: Packed | None = None,
) -> DTypeRow:
    dtype = np.dtype(name)
    return DTypeRow(
        dtype=dtype,
        kind=kind,
        storage=storage,
        compute=compute or storage,
        wide=_FLOAT32 if packed else dtype,
        mantissa=mantissa,
        packed=packed,
    )


_HALF = Packed(
    name="half",
    word="ushort",
    load="vload_half({at}, {p})",
    store="vstore_half_rte({v}, {at}, {p});",
    load_aligned="vloada_half{n}(0, {p})",
    # PoCL assumes that the pointer of a vload_half is aligned, and would crash if the compiler does not convert as it
    # loads. So vectors are loaded from an aligned variable.
    unpack="vload_half{n}(0, (const half*)&{x})",
    pack="vstore_half{n}_rte({v}, 0, (half*)&{x});",
)

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
    _row("float16", "f", "half", "float", mantissa=10, packed=_HALF),
    _row("float32", "f", "float", mantissa=23),
    _row("float64", "f", "double", mantissa=52),
    _row("complex64", "c", "float2", "float", mantissa=23),
    _row("complex128", "c", "double2", "double", mantissa=52),
)

DTYPES: dict[np.dtype, DTypeRow] = {row.dtype: row for row in _ROWS}


def wide_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which kernels compute and sum values of `dtype`: float32 for float16, else `dtype`."""
    row = DTYPES.get(dtype)
    return dtype if row is None else row.wide


def is_exact(src: np.dtype, dst: np.dtype) -> bool:
    """Return whether a conversion changes no value. NumPy's `can_cast` allows int64 to float64, which rounds."""
    if src.kind in "iu" and dst.kind in "fc":
        return 8 * src.itemsize - (src.kind == "i") <= 1 + DTYPES[dst].mantissa
    return np.can_cast(src, dst)


def is_device_dtype(dtype: np.dtype) -> bool:
    """Return whether a device can hold elements of a dtype after conversion to the machine's byte order."""
    return dtype in DTYPES or dtype.newbyteorder("=") in DTYPES


class HostOnly(TypeError):
    """Raised for a dtype or an array that only the host can hold: text, dates, objects, records.

    Public functions handle it by NumPy's function of the same name, see `clarray._core.host_fallback`.
    """

    def __init__(self, message: str, dtype: np.dtype) -> None:
        super().__init__(message)
        self.dtype = dtype

    def __reduce__(self) -> tuple[type[TypeError], tuple[Any, ...]]:
        return TypeError, self.args


# Methods do not handle it, so users see it as NumPy's type of error.
HostOnly.__name__ = HostOnly.__qualname__ = "TypeError"
HostOnly.__module__ = "builtins"


def dtype_row(dtype: np.dtype) -> DTypeRow:
    """Return the row of ``dtype``, or raise HostOnly naming it and what is supported."""
    try:
        return DTYPES[dtype]
    except KeyError:
        native = dtype.newbyteorder("=")
        if native in DTYPES:
            raise HostOnly(
                f"clarray has no dtype {dtype!r}: elements on a device are in the machine's byte order; ask for "
                f"{native.name}, which is dtype.newbyteorder('='), and for other bytes use byteswap",
                dtype,
            ) from None
        names = ", ".join(row.dtype.name for row in _ROWS)
        raise HostOnly(f"clarray has no dtype {dtype!r}: convert with astype to one of {names}", dtype) from None
