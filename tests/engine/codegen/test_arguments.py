"""A kernel's arguments are declared once and filled by name."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clarray._engine.codegen.arguments import Fields, axes, numbers
from clarray._engine.codegen.expression import scalar_parameters
from clarray._engine.launch.program import argument_sources
from clarray._engine.ops.dtypes import DTYPES, wide_dtype


@pytest.fixture
def fields() -> Fields:
    inputs = ("inputs", ["__global const float *x0p", "const long x0o"])
    return Fields(inputs, "__global float *restrict yp", axes("int", "k", 2), "const R scale", types={"R": "double"})


def test_declarations_are_rendered_in_order(fields: Fields) -> None:
    assert fields.names == ("x0p", "x0o", "yp", "k0", "k1", "scale")
    assert fields.kinds == ("buffer", "int64", "buffer", "int32", "int32", "float64")
    assert fields.declared[2:4] == ("__global float *restrict yp", "const int k0")
    assert fields.keys == ("inputs", "yp", "k", "scale")


def test_values_are_filled_by_name_in_the_order_of_declarations(fields: Fields) -> None:
    assert fields.fill(scale=0.5, k=(2, 3), yp="y", inputs=["x", 7]) == ["x", 7, "y", 2, 3, 0.5]
    assert Fields().fill() == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"k": (2, 3), "yp": 0, "inputs": [0, 0]}, "missing 1 required keyword-only argument: 'scale'"),
        ({"k": (2, 3), "yp": 0, "inputs": [0, 0], "scales": 1}, "unexpected keyword argument 'scales'"),
        ({"k": (2, 3), "yp": 0, "inputs": [0, 0], "scale": 1, "k0": 1}, "unexpected keyword argument 'k0'"),
        ({"k": (2,), "yp": 0, "inputs": [0, 0], "scale": 1}, "k has 2 fields, not 1"),
        ({"k": (2, 3), "yp": 0, "inputs": [0, 0, 0], "scale": 1}, "inputs has 2 fields, not 3"),
    ],
)
def test_names_and_lengths_must_agree(fields: Fields, values: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        fields.fill(**values)


@pytest.mark.parametrize(
    "parts",
    [
        ("const long n", "const int n"),
        ("const long k0", axes("long", "k", 1)),
        (("k", []), ("k", ["const int n"])),
        (("n", ["const int k0"]), "const int n"),
    ],
)
def test_nothing_is_declared_twice(parts: Any) -> None:
    with pytest.raises(ValueError, match="declared twice"):
        Fields(*parts)


@pytest.mark.parametrize("declared", ["const size_t n", "n", "const float4 x"])
def test_a_number_of_an_unknown_type_is_an_error(declared: str) -> None:
    with pytest.raises(ValueError, match="unknown type"):
        Fields(declared)


@pytest.mark.parametrize("declared", ["__global uint4 *map", "volatile __global int *done", "__constant half *w"])
def test_pointers_are_buffers(declared: str) -> None:
    assert Fields(declared).kinds == ("buffer",)
    assert Fields(declared).names == (declared.rpartition("*")[2],)


@pytest.mark.parametrize(
    "ctype", ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"]
)
def test_numbers_have_the_width_of_their_c_types(ctype: str) -> None:
    widths = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8}
    (kind,) = Fields(*numbers(ctype, ["n"])).kinds
    unsigned = ctype.removeprefix("u") in widths and ctype[0] == "u"
    assert np.dtype(kind).itemsize == widths[ctype.removeprefix("u") if unsigned else ctype]
    assert np.dtype(kind).kind == ("f" if ctype in ("float", "double") else "u" if unsigned else "i")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constants_are_passed_in_the_type_that_kernels_compute_in(dtype: np.dtype) -> None:
    declared, _ = scalar_parameters("x0", dtype)
    part = np.dtype({"c8": "f4", "c16": "f8", "b1": "u1"}.get(dtype.str[1:], wide_dtype(dtype).str))
    assert Fields(("inputs", declared)).kinds == (part.name,) * (2 if dtype.kind == "c" else 1)


def test_equal_declarations_are_equal() -> None:
    fields = [Fields("const int n", ("k", numbers("int", names))) for names in (["k0"], ["k0"], ["k0", "k1"])]
    assert fields[0] == fields[1]
    assert hash(fields[0]) == hash(fields[1])
    assert fields[0] != fields[2]
    assert fields[0] != Fields("const int n", "const int k0")
    assert fields[0] != fields[0].declared


def test_a_group_starts_at_its_first_field(fields: Fields) -> None:
    assert [fields.start(key) for key in fields.keys] == [0, 2, 3, 5]


def test_names_may_be_keywords_of_python() -> None:
    assert Fields("const int from", ("is", ["const int n"])).fill(**{"is": [2], "from": 1}) == [1, 2]


def test_a_program_has_a_source_for_each_field_or_group(fields: Fields) -> None:
    kernel: Any = SimpleNamespace(fields=fields)
    sources = {"scale": ("n", (0.5,)), "k": ("nl", (2, None)), "yp": ("y", (None,)), "inputs": ("x", ((),))}
    assert argument_sources(kernel, **sources) == ("xynln", ((), None, 2, None, 0.5))
    with pytest.raises(TypeError, match="declares"):
        argument_sources(kernel, **sources, n=("n", (1,)))
