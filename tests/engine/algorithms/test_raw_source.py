"""Kernels that users write whole: what is read of their source, and what is made of it."""

from __future__ import annotations

import pytest

from clarray._engine.algorithms.snippet.source_raw import macros, read_kernel


@pytest.mark.parametrize(
    ("text", "name", "space", "const", "type_"),
    [
        ("global float *x", "x", "global", False, "float"),
        ("__global const float4* restrict x", "x", "global", True, "float4"),
        ("float const __global *x", "x", "global", True, "float"),
        ("global\n  unsigned int\t* const x", "x", "global", False, "uint"),
        ("__constant double x[]", "x", "constant", True, "double"),
        ("local uchar *x_1", "x_1", "local", False, "uchar"),
        ("global struct pair *x", "x", "global", False, "struct pair"),
        ("const unsigned long n", "n", "", False, "ulong"),
        ("int n", "n", "", False, "int"),
        ("image2d_t picture", "picture", "", False, "image2d_t"),
    ],
)
def test_parameters(text: str, name: str, space: str, const: bool, type_: str) -> None:
    (found,) = read_kernel(f"kernel void f({text}) {{}}", "f").parameters
    assert (found.name, found.space, found.const, found.type) == (name, space, const, type_)


@pytest.mark.parametrize(
    "text", ["float *x", "global float x", "global float **x", "ARGUMENTS(3)", "global float *", "3"]
)
def test_parameters_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"kernel 'f': the parameter .* cannot be read; write"):
        read_kernel(f"kernel void f({text}) {{}}", "f")


@pytest.mark.parametrize("nothing", ["", " ", "void", "\n void "])
def test_no_parameters(nothing: str) -> None:
    assert read_kernel(f"__kernel void f({nothing}) {{}}", "f").parameters == ()


def test_the_kernel_is_found_among_others() -> None:
    code = """
    // kernel void f(int a) {}
    /* kernel void f(int b) {} */
    constant char text[] = "kernel void f(int c) {";
    void f_not(int d) {}
    kernel void f2(int e) { f_not(e); }
    kernel void f(int g);
    __kernel __attribute__((reqd_work_group_size(4, 1, 1))) void f(int h /* , int i */, // int j,
        int k) { f_not(h); }
    """
    assert [p.name for p in read_kernel(code, "f").parameters] == ["h", "k"]


def test_a_source_without_it() -> None:
    with pytest.raises(ValueError, match=r"there is no `kernel void f\(...\)`"):
        read_kernel("void f(int x) {}", "f")
    with pytest.raises(ValueError, match="'f' is CUDA C; OpenCL C is wanted"):
        read_kernel('extern "C" __global__ void f(float *x) {}', "f")


def test_lines_keep_their_numbers() -> None:
    code = (
        "// first\n\nkernel void f(global float *x, // an array\n    int n,\n    local int *s)\n{\n  x[n] = here;\n}\n"
    )
    found = read_kernel(code, "f").text(["buffer", "int64", "int32"], 64)
    before, after = (["here" in line for line in text.splitlines()] for text in (code, found))
    assert after.index(True) == before.index(True)
    assert "__local uchar clarray_shared_2[64]" in found
    assert found.endswith("// f: buffer, int64, int32\n")


def test_sources_of_other_types_are_others() -> None:
    kernel = read_kernel("kernel void f(T n) {}", "f")
    assert kernel.text(["int32"], 0) != kernel.text(["int64"], 0)


def test_macros() -> None:
    assert macros(("-DN", "-D M=f(a, b)")) == "#define N 1\n#define M f(a, b)\n#line 1\n"
    assert macros(()) == ""
    for wrong in ("-O3", "--std=c++11", "-D1=2", ""):
        with pytest.raises(ValueError, match="has no meaning here"):
            macros((wrong,))
