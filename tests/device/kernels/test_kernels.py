"""Elementwise kernels of the user's: every dtype, any shape, fused as the built-ins are."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import clarray
from clarray import ElementwiseKernel

from ..conftest import by_dtype

pytestmark = pytest.mark.usefixtures("quick_builds")

DIFFERENCE = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
POSITION = ElementwiseKernel("int32 x", "int64 z", "z = x % 2 ? i : -n", "position")
TWO = ElementwiseKernel("T x, raw T table", "T s, bool late", "s = x + table[table_size - 1 - i]; late = i > 4", "two")
SHIFTED = ElementwiseKernel("raw T x", "raw T z", "if (i > 0) z[i] = x[i - 1]", "shifted")


def check(found: Any, expected: np.ndarray) -> None:
    assert isinstance(found, clarray.DeviceArray)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(clarray.asnumpy(found), expected)


@pytest.fixture
def numbers() -> np.ndarray:
    return np.arange(37, dtype=np.int32)


@by_dtype("policy", ["own"], ["tiny-cpu", "tiny-gpu"])
def test_every_dtype(dtype: str, policy: str) -> None:
    copy = ElementwiseKernel("T x, bool keep", "T z", "if (keep) z = x", "copied")
    x = (np.arange(37) % 5).astype(dtype)
    keep = np.arange(37) % 3 > 0
    check(copy(clarray.array(x), clarray.array(keep)), np.where(keep, x, np.zeros((), dtype)))


@pytest.mark.optimized
def test_arithmetic_is_cs(policy: str, numbers: np.ndarray) -> None:
    x, y = clarray.array(numbers), clarray.array(numbers[::-1])
    check(DIFFERENCE(x, y), (numbers - numbers[::-1]) ** 2)
    halves = clarray.array(numbers.astype(np.float16) / 3)
    third = ElementwiseKernel("T x", "T z", "z = x * x", "square")
    check(third(halves), (numbers.astype(np.float16) / 3) ** 2)
    wide = ElementwiseKernel("uint8 x", "uint8 z", "z = (x + 255) / 2", "wide")  # promoted to int, as in C
    small = (numbers * 7 % 256).astype(np.uint8)
    check(wide(clarray.array(small)), ((small.astype(int) + 255) // 2 % 256).astype(np.uint8))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (4, 6)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    check(DIFFERENCE(clarray.array(x), 1), (x - 1) ** 2)
    check(POSITION(clarray.array(x)), np.where(x % 2, x, -x.size).astype(np.int64))


def test_broadcasting_and_strides(policy: str, numbers: np.ndarray) -> None:
    host = numbers[:24].reshape(4, 6)
    x = clarray.array(host)
    check(DIFFERENCE(x.T, x[:, 0]), (host.T - host[:, 0]) ** 2)
    check(DIFFERENCE(x[::-1, ::2], 3), (host[::-1, ::2] - 3) ** 2)
    check(DIFFERENCE(x[:, None, :1], x[0]), (host[:, None, :1] - host[0]) ** 2)
    check(POSITION(x.T), np.where(host.T % 2, np.arange(24).reshape(6, 4), -24))


@pytest.mark.kernels_alone
def test_results_are_pending_and_fuse(numbers: np.ndarray) -> None:
    x = clarray.array(numbers)
    DIFFERENCE(x * 2, 1).sum().item()
    with clarray.profile() as p:
        found = (DIFFERENCE(x * 2, 1) + 1).sum()
        assert p.launches == 0
        assert found.item() == ((numbers * 2 - 1) ** 2 + 1).sum()
    assert p.launches == 1
    assert "squared_difference" in DIFFERENCE(x, 1).explain()
    selected = DIFFERENCE(x, 1)[x > 30]
    check(selected, ((numbers - 1) ** 2)[numbers > 30])
    check(DIFFERENCE(x[x > 30], 1), ((numbers - 1) ** 2)[numbers > 30])
    check(POSITION(x[x > 30]), np.array([0, -6, 2, -6, 4, -6][:6], np.int64)[[0, 1, 2, 3, 4, 5]])
    total = DIFFERENCE(x, 1).reshape(37, 1).sum(axis=1, dtype=np.int32)
    check(total, (numbers - 1) ** 2)


def test_what_is_pending_keeps_its_value(numbers: np.ndarray) -> None:
    x = clarray.array(numbers)
    pending = DIFFERENCE(x, 1)
    x[:] = 0
    check(pending, (numbers - 1) ** 2)
    shared = numbers.copy()
    pending = DIFFERENCE(clarray.asarray(shared), 1)
    shared[:] = 0
    check(pending, (numbers - 1) ** 2)


def test_scalars(numbers: np.ndarray) -> None:
    scale = ElementwiseKernel("T x, float32 factor", "T z", "z = x * factor", "scaled")
    x = clarray.array(numbers)
    check(scale(x, 0.5), numbers // 2)
    check(scale(x, np.float64(0.5)), numbers // 2)
    check(DIFFERENCE(3, 1), np.array(4))
    check(DIFFERENCE(np.float32(3), np.float32(1)), np.array(4, np.float32))
    seven = ElementwiseKernel("", "float32 z", "z = 7", "seven")
    check(seven(size=5), np.full(5, 7, np.float32))
    check(seven(size=(2, 3)), np.full((2, 3), 7, np.float32))


def test_complex_numbers_are_pairs() -> None:
    swapped = ElementwiseKernel("complex64 x", "complex64 z, float32 size", "z = x.yx; size = length(x)", "swapped")
    x = np.array([3 + 4j, 5 - 12j], np.complex64)
    z, size = swapped(clarray.array(x))
    check(z, np.array([4 + 3j, -12 + 5j], np.complex64))
    np.testing.assert_allclose(size.get(), [5, 13], rtol=1e-6)  # length is not correctly rounded everywhere


@pytest.mark.kernels_alone
def test_several_outputs_and_whole_arrays(policy: str, numbers: np.ndarray) -> None:
    table = clarray.array(numbers * 10)
    x = clarray.array(numbers)
    with clarray.profile() as p:
        s, late = TWO(x + 1, table)
    assert p.launches == 1
    check(s, numbers + 1 + numbers[::-1] * 10)
    check(late, numbers > 4)
    s, late = TWO(x.reshape(37, 1)[::-1], table[::-1])
    check(s, (numbers[::-1] + numbers * 10).reshape(37, 1))
    check(late, (numbers > 4).reshape(37, 1))
    grid = numbers[:36].reshape(6, 6)
    s, late = TWO(clarray.array(grid).T, table)
    check(s, grid.T + numbers[::-1][:36].reshape(6, 6) * 10)


def test_outputs_that_are_given(policy: str, numbers: np.ndarray) -> None:
    x = clarray.array(numbers)
    out = clarray.zeros(37, np.int32)
    assert DIFFERENCE(x, 1, out) is out
    check(out, (numbers - 1) ** 2)
    assert DIFFERENCE(out, out, out=out) is out
    check(out, numbers * 0)
    expected = numbers.copy()
    expected[1:] = (expected[:-1] - 1) ** 2
    check(DIFFERENCE(x[:-1], 1, x[1:]), expected[1:])
    check(x, expected)
    whole = clarray.zeros((37, 2), np.int32)
    late = clarray.zeros(37, bool)
    TWO(x, x, out=(whole[:, 1], late))
    check(whole[:, 1], expected + expected[::-1])
    check(whole[:, 0], numbers * 0)
    forwards = clarray.array(numbers)
    TWO(forwards[::-1], forwards, out=(forwards[::-1], late))
    assert late.sum() == 32


def test_raw_outputs_keep_what_is_not_written(numbers: np.ndarray) -> None:
    x = clarray.array(numbers)
    pending = x + 0
    z = clarray.full((37, 2), -1, np.int32)
    assert SHIFTED(x, z[:, 0], size=37) is not None
    check(z[:, 0], np.concatenate([[-1], numbers[:-1]]).astype(np.int32))
    check(z[:, 1], np.full(37, -1, np.int32))
    check(SHIFTED(x + 1, clarray.zeros(37, np.int32), size=5)[:6], np.array([0, 1, 2, 3, 4, 0], np.int32))
    check(pending, numbers)


def test_preambles_do_not_meet(numbers: np.ndarray) -> None:
    one = ElementwiseKernel(
        "T x", "T z", "z = helper(x) + ONE", "one", preamble="#define ONE 1\nT helper(T q) { return q + ONE; }"
    )
    two = ElementwiseKernel(
        "T x",
        "T z",
        "z = helper(x) + ONE",
        "two",
        preamble="typedef struct { int v; } pair;\n#define ONE 10\n__constant int table[2] = {2, 3};\n"
        "__constant float root = 4.0f / 2;\n__attribute__((aligned(4))) typedef int number;\n"
        "/* two( */ T helper(T q) { pair p; p.v = q * table[1] + (number)root - 2; return p.v; }",
    )
    x = clarray.array(numbers)
    check(one(x) + two(x), numbers + 2 + numbers * 3 + 10)
    wide = clarray.array(numbers.astype(np.float32))
    check(one(two(x)), numbers * 3 + 12)
    check(one(wide), (numbers + 2).astype(np.float32))


def test_own_loops_and_names(numbers: np.ndarray) -> None:
    text = """
    // the largest power of two below x: a } in a comment
    T found = 1;
    for (int i = 0; i < 8 && found * 2 <= x; ++i) { found *= 2; }
    z = found;"""
    power = ElementwiseKernel("T x", "T z", text, "power")
    expected = 2 ** np.log2(np.maximum(numbers, 1)).astype(np.int32)
    check(power(clarray.array(numbers)), expected.astype(np.int32))


def test_equal_kernels_share_programs_in_every_process() -> None:
    script = (
        "import clarray\n"
        "other = clarray.ElementwiseKernel('T x', 'T z', 'z = x', 'other')\n"
        "k = clarray.ElementwiseKernel('T x, T y', 'T z', 'z = (x - y) * (x - y)', 'squared_difference')\n"
        "print(k(clarray.zeros(3, 'int32'), 1).explain())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", s], capture_output=True, text=True)
        for s in (script, script.replace("other = ", "# "))
    ]
    assert runs[0].stdout == runs[1].stdout
    assert "cu_squared_difference_" in runs[0].stdout
    same = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
    x = clarray.zeros(3, "int32")
    assert same(x, 1)._node.sig == DIFFERENCE(x, 1)._node.sig


def test_threads(numbers: np.ndarray) -> None:
    x = clarray.array(numbers)
    found: list[int] = []

    def work() -> None:
        kernel = ElementwiseKernel("T x", "T z", "z = 3 * x", "tripled")
        found.extend(int(kernel(x + k).sum()) for k in range(20))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted(2 * [3 * int((numbers + k).sum()) for k in range(20)])


@pytest.mark.parametrize(
    "text",
    [
        "(x - y) * x / (y + 0.5f)",
        "-x * 3 + 2",
        "fmax(x, y) - fmin(x, 1.f) + fabs(y) * floor(x) + rint(y) - trunc(x) * ceil(y)",
        "max(x, y) * 2 - min(x, y)",
        "sqrt(fabs(x)) + hypot(y, 3)",
    ],
)
@pytest.mark.optimized
def test_vectors_and_lanes_agree(policy: str, text: str) -> None:
    lanes = ElementwiseKernel("float32 x, float32 y", "float32 z", f"z = {text} /* kept from vectors */", "lanes")
    vectors = ElementwiseKernel("float32 x, float32 y", "float32 z", f"z = {text}", "vectors")
    special = np.array([0, -0.0, 1, -1, 0.5, np.inf, 1e-40, 3e38, -7.25, 1e10], np.float32)
    x, y = (clarray.array(a.reshape(-1)) for a in np.broadcast_arrays(special[:, None], special))
    np.testing.assert_array_equal(clarray.asnumpy(vectors(x, y)), clarray.asnumpy(lanes(x, y)))
