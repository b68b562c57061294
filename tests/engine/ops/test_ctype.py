"""C types, and conversions written as text."""

import numpy as np
import pytest

from clarray._engine.ops.ctype import CType, Dialect, cast, compute_type, select
from clarray._engine.ops.dtypes import DTYPES, dtype_row
from clarray._engine.ops.helpers import helpers_in

f2, f4, f8, i4, u1, u4, b1, c8 = map(np.dtype, ("f2", "f4", "f8", "i4", "u1", "u4", "?", "c8"))
WIDE = Dialect(16, clang=True)


def test_names_and_kin():
    assert CType("float", 16).name == "float16"
    assert CType("double", 8).int_ == CType("long", 8)
    assert CType("float", 4).uint == CType("uint", 4)
    assert CType("ushort", 2).lane == CType("ushort")


@pytest.mark.parametrize(
    ("text", "ctype", "expected"),
    [
        (1, CType("float"), "(float)(1.0f)"),
        ("0.5", CType("float", 4), "(float4)(0.5f)"),
        (1, CType("double", 8), "(double8)(1.0)"),
        (1e-30, CType("float"), "(float)(1e-30f)"),
        (2**63, CType("ulong"), f"(ulong)({2**63}UL)"),
        (-1, CType("char", 16), "(char16)(-1)"),
    ],
)
def test_constants_have_their_type(text, ctype, expected):
    assert ctype.lit(text) == expected


def test_values_in_kernels():
    assert compute_type(f2, 16).name == "float16"
    assert compute_type(b1, 8).name == "char8"
    assert compute_type(c8, 1).name == "float2"
    with pytest.raises(ValueError, match="width 1"):
        compute_type(c8, 4)


def test_the_same_dtype_needs_no_cast():
    assert cast("x", f4, f4, WIDE) == "x"


def test_casts_use_what_the_dialect_has():
    assert cast("x", i4, f4, WIDE) == "__builtin_convertvector(x, float16)"
    assert cast("x", i4, f4, Dialect(16)) == "convert_float16(x)"
    assert cast("x", i4, f4, Dialect()) == "((float)(x))"


def test_a_mask_becomes_one_not_minus_one():
    assert cast("x", b1, f4, Dialect()) == "((float)((-x)))"


def test_floats_reach_small_integers_through_a_wider_one():
    assert cast("x", f4, u1, Dialect()) == "((uchar)(((int)(x))))"
    assert cast("x", f4, u4, Dialect()) == "((uint)(((long)(x))))"


def test_float16_is_rounded_from_float64_at_once():
    assert "ca_round_half_double(x)" in cast("x", f8, f2, Dialect())


def test_complex_drops_its_imaginary_part():
    assert cast("z", c8, f4, Dialect()) == "(z).x"
    assert cast("x", f4, c8, Dialect()) == "((float2)(x, 0))"


@pytest.mark.parametrize("dialect", [Dialect(), Dialect(4), WIDE], ids=str)
def test_every_pair_of_dtypes_has_a_cast(dialect):
    for src in DTYPES:
        for dst in DTYPES:
            if dialect.width == 1 or "c" not in src.kind + dst.kind:
                text = cast("x", src, dst, dialect)
                assert text.count("(") == text.count(")")
                helpers_in(text, dialect)


def test_select():
    assert select("m", "a", "b", f4, Dialect()) == "(m ? a : b)"
    assert select("m", "a", "b", f4, WIDE) == "(__builtin_convertvector(m, int16) ? a : b)"
    assert select("m", "a", "b", c8, Dialect()) == "(m ? a : b)"


def test_an_unsupported_dtype_is_named():
    with pytest.raises(TypeError, match=r"M8.*astype"):
        dtype_row(np.dtype("M8[s]"))
