"""Snippets as text: what becomes vectors, what names are kept apart, which lines are the user's."""

from __future__ import annotations

import numpy as np
import pytest

from clarray._engine.codegen.render import source
from clarray._engine.ops.ctype import Dialect
from clarray._engine.ops.snippet_vectors import vector_lines
from clarray._engine.ops.snippets import Snippet, functions_in, mentions, snippet_loop

WIDE = Dialect(16, clang=True)


def snippet(text: str, dtype: str = "float32", preamble: str = "", expression: bool = False) -> Snippet:
    found = np.dtype(dtype)
    inputs = (("x", found, False), ("y", found, False))
    outputs = () if expression else (("z", found, False),)
    return Snippet(
        name="some",
        text=text,
        inputs=inputs,
        outputs=outputs,
        types=(("T", found),),
        preamble=preamble,
        result=found if expression else None,
    )


@pytest.mark.parametrize(
    "text",
    [
        "z = x * y",
        "z = (x - y) * (x - y);",
        "z = exp(-x * x) / 2 + 0.5f",
        "T d = x - y; z = d * d",
        "const float d = x; z = d + 1; z *= y;",
        "z = fmax(x,\n  min(y, 1.f))",
        "z = pow(x, 3)",
    ],
)
def test_arithmetic_becomes_vectors(text: str) -> None:
    assert vector_lines(snippet(text), WIDE) is not None


@pytest.mark.parametrize(
    "text",
    [
        "z = x > y ? x : y",
        "if (x > 0) z = x",
        "z = x * 2.0",  # a double
        "z = 1 / 2 * x",  # 0
        "z = -1 / (2) * x",
        "z = (int)x",
        "z = x % y",
        "z = x // y\n* 2",
        "z = x /* y */",
        "z = x * 010",
        "z = x * 0x10",
        "z = x == y",
        "z = x, y",
        "z = w",
        "z = fma(x, y, x)",
        "z = x.y",
        "z += x",
        "x = y; z = x",
        "T z = x",
        "int d = x; z = d",
        "z = x ** y",
        "z = +x",
        "z = x++",
        "z = exp(x, y)",
        "z = f(x)",
        "",
    ],
)
def test_all_else_stays_c(text: str) -> None:
    assert vector_lines(snippet(text), WIDE) is None


def test_only_one_type_becomes_vectors() -> None:
    for dtype in ("float16", "float64", "int32", "uint64"):
        assert vector_lines(snippet("z = x * y + x", dtype), WIDE) is not None
    for dtype in ("int8", "uint16", "bool", "complex64"):  # narrower ones are promoted in C
        assert vector_lines(snippet("z = x * y + x", dtype), WIDE) is None
    assert vector_lines(snippet("z = x / y", "int32"), WIDE) is None
    assert vector_lines(snippet("z = exp(x)", "int32"), WIDE) is None
    assert vector_lines(snippet("z = x * 2.0", "float64"), WIDE) is not None
    assert vector_lines(snippet("z = x * 2.0f", "float64"), WIDE) is None
    assert vector_lines(snippet("z = x * y", preamble="#define x y"), WIDE) is None
    assert vector_lines(snippet("x * y", expression=True), WIDE) is not None


def test_names_follow_from_what_is_said() -> None:
    one, other = snippet("z = x"), snippet("z = x")
    assert one.function == other.function
    assert snippet_loop(one) is snippet_loop(other)
    assert len({snippet("z = x", d).function for d in ("int32", "float32")} | {snippet("z = y").function}) == 3


def test_definitions_are_given_once_and_undone() -> None:
    made = snippet("z = f(x) + K", preamble="#define K 3\nT f(T q) { T inside = q; return inside; }")
    name = made.function
    text = functions_in(f"{name}_w1(a, b) + {name}_w1(b, a) + {name}_w4(c, d)", WIDE)
    assert text.count(f"HELPER float {name}(") == 1
    assert f"{name}_w4(const float4 x0, const float4 x1)" in text
    assert f"#define f f_{name[-12:]}" in text
    assert "#define inside" not in text
    for macro in ("T", "f", "K"):
        assert f"#undef {macro}\n" in text
    assert functions_in("nothing of the user's", WIDE) == ""


def test_the_users_lines_are_told_from_the_others() -> None:
    made = snippet("z = x;\nz += y;")
    lines = source(f"{made.function}_w1(a, b)", Dialect(), "").split("\n")
    first = lines.index("z = x;")
    assert lines[first - 1] == '#line 1 "some"'
    assert lines[first + 2] == f'#line {first + 4} "clarray"'
    assert "#line" not in source("int x;", Dialect(), "")


def test_mentions() -> None:
    assert mentions("x[i + 1]", "i")
    assert not mentions("int index = xi", "i")
