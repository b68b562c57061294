"""Kernels that users write, launched so often that the compiled core calls them itself, where it can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

TIMES = 6  # PoCL launches the first few
SIZES = [64, 1 << 14]

KERNELS = {
    "local memory, declared": """kernel void f(global int *x) {
        local int part[32];
        const int at = get_local_id(0);
        part[at] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] = part[31 - at] + 1;
    }""",
    "local memory, given": """kernel void f(global int *x, local int *part) {
        const int at = get_local_id(0);
        part[at] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] = part[31 - at] + 1;
    }""",
    "a table and a function": """constant int TABLE[4] = {1, 2, 3, 4};
    int looked_up(int at) { return TABLE[at & 3]; }
    kernel void f(global int *x) { x[get_global_id(0)] += looked_up(get_global_id(0)); }""",
    "atomics": "kernel void f(global int *x) { atomic_add(x + get_global_id(0) % 32, 1); }",
    "private memory": """kernel void f(global int *x) {
        int mine[64];
        for (int k = 0; k < 64; ++k) mine[k] = x[get_global_id(0)] + k;
        int sum = 0;
        for (int k = 0; k < 64; ++k) sum += mine[(k * 7 + x[get_global_id(0)]) & 63];
        x[get_global_id(0)] = sum - 63 * x[get_global_id(0)] - 2015;
    }""",
    "sizes and places": """kernel void f(global int *x) {
        x[get_global_id(0)] += get_global_size(0) + 2 * get_local_size(0) + 3 * get_num_groups(0) + get_group_id(0)
            + get_local_id(0) + get_work_dim() + get_global_offset(0) + get_global_size(1);
    }""",
}


def after(name: str, x: np.ndarray) -> np.ndarray:
    place = np.arange(x.size)
    if name.startswith("local memory"):
        return x.reshape(-1, 32)[:, ::-1].ravel() + 1
    if name == "a table and a function":
        return x + place % 4 + 1
    if name == "atomics":
        return x + np.where(place < 32, x.size // 32, 0)
    if name == "private memory":
        return x + 1
    return x + x.size + 64 + 3 * (x.size // 32) + place // 32 + place % 32 + 2


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_what_kernels_hold(name: str, size: int) -> None:
    kernel = clarray.RawKernel(KERNELS[name], "f")
    expected = np.arange(size, dtype=np.int32) % 40
    x = clarray.array(expected)
    shared = {"shared_mem": 128} if name.endswith("given") else {}
    for _ in range(TIMES):
        kernel((size // 32,), (32,), (x,), **shared)
        expected = after(name, expected).astype(np.int32)
        np.testing.assert_array_equal(clarray.asnumpy(x), expected)


WORDS = [("char", -3), ("ushort", 60000), ("int", -70000), ("ulong", 2**64 - 1), ("float", 0.1), ("float2", 1.5 - 2j)]


@pytest.mark.parametrize("size", SIZES)
def test_numbers_of_every_size(size: int) -> None:
    words = WORDS
    if current_device().capabilities.fp64:
        words = [*WORDS, ("double", 0.1), ("double2", 1e300 - 2j), ("char", 5)]
    dtypes = {"float2": np.complex64, "double2": np.complex128, "ulong": np.uint64, "ushort": np.uint16}
    dtypes |= {"char": np.int8, "int": np.int32, "float": np.float32, "double": np.float64}
    params = ", ".join(f"{word} v{k}, global {word} *out{k}" for k, (word, _) in enumerate(words))
    body = " ".join(f"out{k}[get_global_id(0)] = v{k};" for k in range(len(words)))
    kernel = clarray.RawKernel(f"kernel void f({params}) {{ {body} }}", "f")
    for _ in range(TIMES):
        outs = [clarray.zeros(size, dtypes[word]) for word, _ in words]
        kernel((size,), (1,), tuple(each for pair in zip([v for _, v in words], outs, strict=True) for each in pair))
        for out, (word, value) in zip(outs, words, strict=True):
            np.testing.assert_array_equal(clarray.asnumpy(out), np.full(size, value, dtypes[word]))


@pytest.mark.parametrize("size", SIZES)
def test_what_kernels_print(size: int, capfd: Any) -> None:
    """As often as they print it, from whatever thread."""
    code = """kernel void f(global int *x, int by) {
        const int at = get_global_id(0);
        x[at] += 1;
        if (at % by == 0) printf("item %d has %d%s\\n", at, x[at], "################################");
    }"""
    kernel = clarray.RawKernel(code, "f")
    by, x = size // 16, clarray.zeros(size, np.int32)
    for time in range(TIMES):
        kernel((size // 4,), (4,), (x, by))
        clarray.synchronize()
        printed = capfd.readouterr().out.splitlines()
        assert sorted(printed) == sorted(f"item {at} has {time + 1}" + "#" * 32 for at in range(0, size, by))


def test_a_snippet_that_prints(capfd: Any) -> None:
    """At least once for each element: the last vector may overlap the one before."""
    kernel = clarray.ElementwiseKernel("int32 x", "int32 y", 'y = x + 1; if (x == 3) printf("three\\n")', "three")
    for _ in range(TIMES):
        assert int(kernel(clarray.arange(10, dtype=np.int32))[3]) == 4
        clarray.synchronize()
        assert set(capfd.readouterr().out.splitlines()) == {"three"}
