"""What is said where a kernel of the user's, or what it is called with, is wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import ElementwiseKernel, ReductionKernel, ScanKernel
from clarray._engine.ops.snippets import Snippet, parse_parameters
from clarray._engine.runtime import current_device
from clarray._numpy.kernels.arguments import _format_diagnostics

F = np.dtype(np.float32)


@pytest.fixture
def x() -> Any:
    return clarray.ones(5, np.float32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T", "written 'float32 x', 'T x' or 'raw T x'"),
        ("T x y", "cannot read 'T x y'"),
        ("T x,", "cannot read ''"),
        ("float33 x", "'float33' is no dtype; use one of bool, int8"),
        ("datetime64 x", "is no dtype"),
        ("T 2x", "cannot be the name of a variable"),
        ("T float", "cannot be the name of a variable"),
        ("T _x", "cannot be the name of a variable"),
        ("T i", "'i' is the position already"),
        ("T n", "'n' is the number of elements already"),
        ("T x, U x", "used twice"),
        ("T x, X T", "used twice"),
        ("t x", "must be a capital"),
    ],
)
def test_parameters_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="in_params") as error:
        ElementwiseKernel(text, "T z", "z = 0")
    assert message in str(error.value)


def test_parameters_that_can() -> None:
    assert list(map(str, parse_parameters(" raw T x,  float y,uint8 z ", ""))) == ["raw T x", "float64 y", "uint8 z"]
    assert parse_parameters("", "") == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ElementwiseKernel(None, "T z", "z = 0"),
        lambda: ElementwiseKernel("T x", "T z", None),
        lambda: ElementwiseKernel("T x", "T z", "z = x", preamble=3),
        lambda: ReductionKernel("T x", "T z", "x", b"a + b"),
    ],
)
def test_what_is_no_text(make: Any) -> None:
    with pytest.raises(TypeError, match="must be a string"):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ElementwiseKernel("T x", "", ""), "has no output"),
        (lambda: ElementwiseKernel("T x", "T x", ""), "both as an input and as an output"),
        (lambda: ElementwiseKernel("T x", "T z", "z = x", "no name"), "must be an identifier"),
        (lambda: ElementwiseKernel("T x", "T z", "z = x; }"), "closes a '}'"),
        (lambda: ElementwiseKernel("T x", "T z", "z = (x"), "lacks a ')'"),
        (lambda: ElementwiseKernel("T x", "T z", "z = x\0"), "null character"),
        (lambda: ReductionKernel("T a", "T z", "a", "a + b"), "'a' is what its expressions call"),
        (lambda: ReductionKernel("T x", "T y, T z", "x", "a + b"), "one output, not raw"),
        (lambda: ReductionKernel("T x", "raw T y", "x", "a + b"), "one output, not raw"),
        (lambda: ScanKernel("T x", "T y", "x", "a + b", exclusive=True), "starts with its identity"),
    ],
)
def test_kernels_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        make()
    assert message in str(error.value)


SUM = ElementwiseKernel("T x, T y, int32 count", "T z", "z = x + y + count", "total")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: SUM(x), "takes 3 arguments, or 4 with its outputs: 1 were given"),
        (lambda x: SUM(x, x, 1, x, x), "5 were given"),
        (lambda x: SUM(x, x, 1, out=(x, x)), "has 1 outputs: out= names 2"),
        (lambda x: SUM(x, x.astype("int32"), 1), "y must be float32, for T is float32 already, and is int32; convert"),
        (lambda x: SUM(x, x, x), "count must be int32, and is float32; convert it with astype('int32')"),
        (lambda x: SUM(x, x, 1.5), "count is int32, which cannot hold 1.5"),
        (lambda x: SUM(x, 1j, 1), "y is float32, which cannot hold 1j"),
        (lambda x: SUM(x, "text", 1), "y"),
        (lambda x: SUM(x, x, 1, out=np.ones(5, np.float32)), "output z must be a clarray array"),
        (lambda x: SUM(x, x, 1, out=x.astype("int32")), "z must be float32"),
        (lambda x: ElementwiseKernel("", "T z", "z = 0")(size=3), "which no argument has"),
    ],
)
def test_wrong_arguments(x: Any, call: Any, message: str) -> None:
    with pytest.raises(TypeError) as error:
        call(x)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: SUM(x, x[:2], 1), "broadcast"),
        (lambda x: SUM(x, x, 1, out=clarray.zeros(4, np.float32)), ""),
        (lambda x: SUM(x, x, 1, out=clarray.zeros((), np.float32)), "the output has shape ()"),
        (lambda x: SUM(x, x, 1, size=5), "size= is for kernels whose arrays are all raw"),
        (lambda x: ElementwiseKernel("raw T x", "T z", "z = x[0]")(x), "give size="),
        (lambda x: ElementwiseKernel("raw T x", "T z", "z = x[0]")(x, size=-1), "must not be negative"),
        (lambda x: ReductionKernel("T x", "T y", "x", "max(a, b)")(x[:0]), "which has no identity"),
        (lambda x: ReductionKernel("T x", "T y", "x", "max(a, b)")(clarray.zeros((0, 0)), axis=1), "has no identity"),
        (lambda x: ReductionKernel("T x", "T y", "x", "a + b", identity=0)(x, out=x), "the output has shape"),
        (lambda x: ReductionKernel("T x", "int32 y", "x", "a + b", identity=0.5)(x), "does not hold the identity"),
    ],
)
def test_wrong_shapes(x: Any, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        call(x)
    assert message in str(error.value)


@pytest.mark.parametrize("number", [300, -129, np.int64(300), np.uint8(200)], ids=repr)
def test_integers_do_not_wrap_around(number: Any) -> None:
    add = ElementwiseKernel("int8 a, int8 x", "int8 y", "y = x + a")
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        add(number, clarray.zeros(3, np.int8))
    assert add(np.int64(7), clarray.zeros(3, np.int8)).tolist() == [7, 7, 7]


def test_overflow_and_axes(x: Any) -> None:
    with pytest.raises(OverflowError):
        SUM(x, x, 2**40)
    with pytest.raises(np.exceptions.AxisError):
        ReductionKernel("T x", "T y", "x", "a + b", identity=0)(x, axis=1)
    fixed = clarray.broadcast_to(clarray.asarray(np.float32(1)), 5)
    with pytest.raises(ValueError, match="read-only"):
        SUM(x, x, 1, out=fixed)


# Compilers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "preamble", "line", "shown"),
    [
        ("z = x *\n   w + 1", "", "bad, line 2: ", "\n     w + 1\n     ^"),
        ("float q = 2;\n\nz = missing(x)", "", "bad, line 3: ", "missing(x)"),
        ("z = other(x)", "float other(float q) {\n  return q + r;\n}", "bad preamble, line 2: ", "return q + r"),
        ("z = x $ 3", "", "bad, line 1: ", "z = x $ 3"),
    ],
)
def test_the_compilers_word_at_the_users_line(x: Any, text: str, preamble: str, line: str, shown: str) -> None:
    kernel = ElementwiseKernel("T x", "T z", text, "bad", preamble=preamble)
    with pytest.raises(RuntimeError, match="kernel 'bad' does not compile on ") as error:
        kernel(x)
    assert line in str(error.value)
    assert shown in str(error.value)
    assert "HELPER" not in str(error.value)
    with pytest.raises(RuntimeError, match="does not compile"):
        kernel(x)


@pytest.mark.parametrize(
    ("kernel", "part"),
    [
        (lambda: ReductionKernel("T x", "T y", "x * w", "a + b", identity=0, name="r"), "r map, line 1"),
        (lambda: ReductionKernel("T x", "T y", "x", "a + c", identity=0, name="r"), "r combine, line 1"),
        (lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = q", 0, name="r"), "r post_map, line 1"),
        (lambda: ReductionKernel("T x", "T y", "x", "a + b", identity="NOTHING", name="r"), "r identity, line 1"),
        (lambda: ScanKernel("T x", "T y", "x", "a + c", name="s"), "s combine, line 1"),
    ],
)
def test_each_part_is_named(x: Any, kernel: Any, part: str) -> None:
    with pytest.raises(RuntimeError) as error:
        kernel()(x)
    assert part in str(error.value)


def test_a_compiler_that_heeds_no_line_directive() -> None:
    from clarray._engine.algorithms.snippet.source import check_source

    inputs, outputs = (("x", F, False),), (("z", F, False),)
    snippet = Snippet(
        name="bad", text="z = x *\n  w + g(x)", inputs=inputs, outputs=outputs, types=(("T", F),), preamble=""
    )
    source = check_source(snippet, current_device().capabilities)
    number = next(k for k, line in enumerate(source.split("\n"), 1) if "w + g" in line)
    log = (
        f"<kernel>:{number}:3: error: use of undeclared identifier 'w'\n  w + g(x)\n  ^\n"
        f"<kernel>:{number}:7: warning: implicit declaration of function 'g' is invalid in OpenCL\n"
        f"<kernel>:{number}:7: warning: of no matter\n<kernel>:1:1: note: nor this"
    )
    told = _format_diagnostics(log, source, snippet)
    assert told.splitlines()[::3] == [
        "bad, line 2: use of undeclared identifier 'w'",
        "bad, line 2: implicit declaration of function 'g' is invalid in OpenCL",
    ]
    assert "whole log" in _format_diagnostics("whole log", source, snippet)


def test_a_linker_that_names_no_line() -> None:
    snippet = Snippet(name="bad", text="float q;\nz = x + missing(x)", inputs=(), outputs=(), types=(), preamble="")
    told = _format_diagnostics("ptxas fatal   : Unresolved extern function 'missing'", "", snippet)
    assert told.splitlines() == [
        "bad, line 2: ptxas fatal   : Unresolved extern function 'missing'",
        "  z = x + missing(x)",
        "          ^",
    ]
    assert "extern function 'elsewhere'" in _format_diagnostics("Unresolved extern function 'elsewhere'", "", snippet)


def test_nothing_else_is_printed() -> None:
    script = (
        "import clarray\n"
        "try: clarray.ElementwiseKernel('T x', 'T z', 'z = w')(clarray.ones(3, 'float32'))\n"
        "except RuntimeError: print('raised')"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert result.stdout == "raised\n"
    assert result.stderr == ""


@pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device")
def test_arrays_on_two_devices(x: Any) -> None:
    other = next(d for d in clarray.devices() if d is not current_device())
    table = clarray.ones(5, np.float32, device=other)
    with pytest.raises(ValueError, match="different devices"):
        ElementwiseKernel("T x, raw T table", "T z", "z = x + table[i]", "looked_up")(x, table)
    with pytest.raises(ValueError, match="different devices"):
        ElementwiseKernel("T x, T y", "T z", "z = x + y", "total")(x, table)
