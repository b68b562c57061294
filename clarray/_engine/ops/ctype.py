"""C types of values inside kernels, and the C text of conversions between them.

Expressions passed to these functions should be plain variable names (or calls), as some are
repeated.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from clarray._engine.fast_dataclass import dataclass
from clarray._engine.ops.dtypes import dtype_row

__all__ = ["CType", "Dialect", "cast", "compute_type", "convert", "mask", "select"]

_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64}
_INT_OF_BITS = {8: "char", 16: "short", 32: "int", 64: "long"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Dialect of OpenCL C of a kernel.

    Parameters
    ----------
    width : int
        Elements per variable: 1, 2, 4, 8 or 16. Complex values need width 1.
    clang : bool
        Whether ``__builtin_convertvector`` may be used (PoCL calls, rather than inlines,
        ``convert_T``).
    fp64, fp16 : bool
        Whether the device has double and half arithmetic.
    fma : bool
        Whether the device has an instruction for ``fma``.
    """

    width: int = 1
    clang: bool = False
    fp64: bool = True
    fp16: bool = False
    fma: bool = True

    @property
    def multiply_add(self) -> str:
        """OpenCL's function for ``a * b + c`` where one rounding more does not matter.

        Without an instruction `fma` is a function of integer arithmetic: on rusticl 25, llvmpipe, a matrix product took
        40 times as long as with `mad`.
        """
        return "fma" if self.fma else "mad"

    @property
    def own_math(self) -> bool:
        """Whether helpers for vectors replace built-in functions of PoCL that are slow or inexact for them.

        CPU runtimes compile with clang. A GPU has fast scalar built-ins and slow doubles.
        """
        return self.clang and self.fp64

    def call_width(self, scalar: CType) -> int:
        """Return how many elements a call of a function of floats takes.

        Functions of CPU runtimes have other bits for scalars and for vectors of fewer than 16 bytes (PoCL 3.0: exp,
        tanh, arctan). A pass that complex values keep from vectors calls them with so many copies of an element.
        """
        return max(self.width, 128 // scalar.bits) if self.clang else self.width

    def convert(self, expr: str, src: CType, dst: CType) -> str:
        """Return the text of the function `convert`, for templates."""
        return convert(expr, src, dst, self)


@dataclass(frozen=True, slots=True)
class CType:
    """A C type of ``width`` lanes of ``scalar``: ``CType("float", 16).name`` is ``float16``."""

    scalar: str
    width: int = 1

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.scalar if self.width == 1 else f"{self.scalar}{self.width}"

    @property
    def bits(self) -> int:
        """Bits per lane."""
        return _BITS[self.scalar.removeprefix("u")]

    @property
    def is_float(self) -> bool:
        return self.scalar in ("float", "double")

    @property
    def is_unsigned(self) -> bool:
        return self.scalar.startswith("u")

    @property
    def lane(self) -> CType:
        return CType(self.scalar, 1)

    @property
    def int_(self) -> CType:
        """The signed integer type of the same lane size and width."""
        return CType(_INT_OF_BITS[self.bits], self.width)

    @property
    def uint(self) -> CType:
        """The unsigned integer type of the same lane size and width."""
        return CType("u" + _INT_OF_BITS[self.bits], self.width)

    @property
    def inf(self) -> str:
        return f"({self.name})(INFINITY)"

    @property
    def nan(self) -> str:
        return f"({self.name})(NAN)"

    def lit(self, text: str | float | int) -> str:
        """Return the text of a constant of this type (every lane), such as ``(float16)(0.5f)``."""
        text = repr(text) if isinstance(text, float) else str(text)
        if self.scalar == "float" and "0x" not in text:
            text = text + "f" if any(c in text for c in ".e") else text + ".0f"
        elif self.scalar == "double" and not any(c in text for c in ".ex"):
            text += ".0"
        elif self.scalar == "uint":
            text += "U"
        elif self.scalar == "long":
            text += "L"
        elif self.scalar == "ulong":
            text += "UL"
        return f"({self.name})({text})"


@cache
def compute_type(dtype: np.dtype, width: int = 1) -> CType:
    """Return the C type of ``width`` elements of ``dtype`` inside a kernel."""
    row = dtype_row(dtype)
    if row.kind != "c":
        return CType(row.compute, width)
    if width != 1:
        raise ValueError("complex values are compiled at width 1")
    return CType(row.compute, 2)


def convert(expr: str, src: CType, dst: CType, dialect: Dialect) -> str:
    """Return C's conversion of every lane, without NumPy's rules for bool, half and overflow."""
    if src == dst:
        return expr
    if dst.width == 1:
        return f"(({dst})({expr}))"
    if dialect.clang:
        return f"__builtin_convertvector({expr}, {dst})"
    return f"convert_{dst}({expr})"


def mask(comparison: str, lanes: CType, dialect: Dialect) -> str:
    """Return the conversion of a native comparison of values of type ``lanes`` to a bool value, 0 or -1."""
    if lanes.width == 1:
        return f"((char)(-({comparison})))"
    return convert(f"({comparison})", lanes.int_, CType("char", lanes.width), dialect)


def _to_bool(expr: str, src: np.dtype, dialect: Dialect) -> str:
    ctype = compute_type(src, dialect.width)
    if dtype_row(src).kind == "c":
        return f"((char)(-((({expr}).x != 0) | (({expr}).y != 0))))"
    return mask(f"{expr} != {ctype.lit(0)}", ctype, dialect)


def _float_to_int(expr: str, src: CType, dst: CType, dialect: Dialect) -> str:
    # Out of range C leaves the result undefined. NumPy on x86 converts to the next wider signed
    # type and truncates that, so that -1.0 becomes 255 as uint8. The same steps give the same bits.
    if dst.scalar == "ulong":
        return f"ca_to_ulong_{src}({expr})"
    through = CType("long" if dst.scalar == "uint" else "int", dst.width)
    if dst.bits >= 32 and not dst.is_unsigned:
        return convert(expr, src, dst, dialect)
    return convert(convert(expr, src, through, dialect), through, dst, dialect)


def _real_cast(expr: str, src: np.dtype, dst: np.dtype, dialect: Dialect) -> str:
    a, b = compute_type(src, dialect.width), compute_type(dst, dialect.width)
    source, target = dtype_row(src), dtype_row(dst)
    if target.kind == "b":
        return _to_bool(expr, src, dialect)
    if source.kind == "b":
        return convert(f"(-{expr})", CType("int") if a.width == 1 else a, b, dialect)
    if target.packed:
        if source.compute == "double":
            return convert(target.rounded(expr, a), a, b, dialect)
        if src.itemsize == 1:
            return convert(expr, a, b, dialect)
        return target.rounded(convert(expr, a, b, dialect), b)
    if a.is_float and not b.is_float:
        return _float_to_int(expr, a, b, dialect)
    return convert(expr, a, b, dialect)


def cast(expr: str, src: np.dtype, dst: np.dtype, dialect: Dialect) -> str:
    """Return the text that converts ``expr`` of dtype ``src`` to dtype ``dst`` as ``ndarray.astype`` does.

    It may call helpers: pass the finished source to `clarray._engine.ops.helpers.helpers_in`.
    """
    if src == dst:
        return expr
    source, target = dtype_row(src), dtype_row(dst)
    if source.kind == "c" and target.kind == "c":
        return convert(expr, compute_type(src), compute_type(dst), dialect)
    if target.kind == "c":
        part = np.dtype(np.float32 if target.compute == "float" else np.float64)
        real = _real_cast(expr, src, part, dialect)
        return f"(({compute_type(dst)})({real}, 0))"
    if source.kind == "c":
        if target.kind == "b":
            return _to_bool(expr, src, dialect)
        part = np.dtype(np.float32 if source.compute == "float" else np.float64)
        return cast(f"({expr}).x", part, dst, dialect)
    return _real_cast(expr, src, dst, dialect)


def select(mask_expr: str, a: str, b: str, dtype: np.dtype, dialect: Dialect) -> str:
    """Return the text that selects ``a`` or ``b``, of ``dtype``, in every lane by a bool value (0 or -1)."""
    ctype = compute_type(dtype, dialect.width)
    if ctype.width == 1 or dtype_row(dtype).kind == "c":  # a scalar mask chooses between whole vectors
        return f"({mask_expr} ? {a} : {b})"
    lanes = convert(mask_expr, CType("char", ctype.width), ctype.int_, dialect)
    return f"({lanes} ? {a} : {b})"
