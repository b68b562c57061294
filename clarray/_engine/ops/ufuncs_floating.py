"""Rows: parts, neighbours and classification of floating-point numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clarray._engine.ops.ctype import CType, compute_type, convert
from clarray._engine.ops.dtypes import dtype_row
from clarray._engine.ops.forms import Row, exact, lane_int, test

if TYPE_CHECKING:
    from clarray._engine.ops.ctype import Dialect
    from clarray._engine.ops.ufuncs import Loop

__all__ = ["ROWS"]


def _ldexp(loop: Loop, args: list[str], dialect: Dialect) -> str:
    """Return the text of ``ldexp``, whose exponents are int, whatever the width of the other operand's lanes."""
    number = compute_type(loop.in_dtypes[0], dialect.width)
    exponent_type = compute_type(loop.in_dtypes[1], dialect.width)
    int_type = CType("int", dialect.width)
    exponent = convert(f"ca_exponent_{exponent_type}({args[1]})", exponent_type, int_type, dialect)
    text = f"ldexp({args[0]}, {exponent})"
    return dtype_row(loop.out_dtype).rounded(text, number)


ROWS = (
    Row(
        "isnan",
        {
            "b": exact("({T})(0)"),
            "i": test("{0} != {0}"),
            "f": test("{0} != {0}"),
            "c": test("({0}.x != {0}.x) | ({0}.y != {0}.y)"),
        },
    ),
    Row(
        "isinf",
        {
            "b": exact("({T})(0)"),
            "i": test("{0} != {0}"),
            "f": test("fabs({0}) == ({T})(INFINITY)"),
            "c": test("(fabs({0}.x) == ({S})(INFINITY)) | (fabs({0}.y) == ({S})(INFINITY))"),
        },
    ),
    Row(
        "isfinite",
        {
            "b": exact("({T})(-1)"),
            "i": test("{0} == {0}"),
            "f": test("fabs({0}) < ({T})(INFINITY)"),
            "c": test("(fabs({0}.x) < ({S})(INFINITY)) & (fabs({0}.y) < ({S})(INFINITY))"),
        },
    ),
    Row("signbit", {"f": test("as_{I}({0}) < ({I})(0)")}, unlike="f"),  # of a NaN
    Row("copysign", {"f": exact("copysign({0}, {1})")}, unlike="f"),
    Row(
        "nextafter",
        {"e": exact("ca_nextafter_{F}_{T}({0}, {1})"), "f": exact("nextafter({0}, {1})")},
    ),
    Row("spacing", {"e": exact("ca_spacing_{F}_{T}({0})"), "f": exact("ca_spacing_{T}({0})")}),
    Row("ldexp", {"fi": exact(_ldexp)}),
    Row(
        "frexp",
        {"f": exact("ca_mantissa_{T}({0})")},
        {"f": lane_int("ca_frexp_exponent_{T}({0})")},
    ),
    Row("modf", {"f": exact("ca_fraction_{T}({0})")}, {"f": exact("trunc({0})")}),
)
