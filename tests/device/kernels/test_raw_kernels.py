"""Kernels written whole, in OpenCL C: what they are given, what they write, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clarray

SCALED = """
kernel void scaled(global const float *x, global float *y, float by, int n) {
    int i = get_global_id(0);
    if (i < n)
        y[i] = by * x[i];
}
kernel void increased(global float *y) {
    y[get_global_id(0)] += 1;
}
"""


@pytest.fixture(scope="module")
def scaled() -> clarray.RawKernel:
    return clarray.RawKernel(SCALED, "scaled")


@pytest.fixture(scope="module")
def increased() -> clarray.RawKernel:
    return clarray.RawKernel(SCALED, "increased")


def floats(*values: float) -> Any:
    return clarray.array(values, dtype=np.float32)


@pytest.mark.parametrize(("grid", "block"), [((3,), (4,)), ((12, 1), (1,)), (2, (7,)), ([1, 1, 1], (16, 1, 1))])
def test_grid_times_block_items_run(grid: Any, block: Any, scaled: clarray.RawKernel) -> None:
    x, y = clarray.arange(10, dtype=np.float32), clarray.zeros(10, np.float32)
    assert scaled(grid, block, (x, y, 2, 10)) is None
    count = min(int(np.prod(grid)) * int(np.prod(block)), 10)
    np.testing.assert_array_equal(clarray.asnumpy(y), np.where(np.arange(10) < count, np.arange(10) * 2, 0))


def test_places_along_three_dimensions() -> None:
    places = clarray.RawKernel(
        """kernel void places(global int *out) {
            int at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
            out[at] = 100 * get_group_id(2) + 10 * get_local_id(1) + get_group_id(0);
        }""",
        "places",
    )
    out = clarray.zeros((2, 3, 8), np.int32)
    places((4, 1, 2), (2, 3), (out,))
    z, y, x = np.indices((2, 3, 8))
    np.testing.assert_array_equal(clarray.asnumpy(out), 100 * z + 10 * y + x // 2)


def test_arrays_begin_anywhere(scaled: clarray.RawKernel) -> None:
    x, y = clarray.arange(40, dtype=np.float32), clarray.zeros((5, 8), np.float32)
    for at in (0, 1, 3, 17):
        scaled((5,), (1,), (x[at:], y[2, 3:], 1, 5))
        expected = np.zeros((5, 8), np.float32)
        expected[2, 3:] = np.arange(at, at + 5)
        np.testing.assert_array_equal(clarray.asnumpy(y), expected)


def test_one_array_may_be_read_and_written(scaled: clarray.RawKernel) -> None:
    x = clarray.arange(8, dtype=np.float32)
    scaled((4,), (1,), (x, x[4:], 10, 4))
    assert x.tolist() == [0, 1, 2, 3, 0, 10, 20, 30]
    scaled((8,), (1,), (x, x, 2, 8))
    assert x.tolist() == [0, 2, 4, 6, 0, 20, 40, 60]


def test_what_is_pending_is_computed_before_it_is_read(scaled: clarray.RawKernel) -> None:
    x, y = clarray.arange(4, dtype=np.float32), clarray.zeros(4, np.float32)
    scaled((4,), (1,), (x * 2 + 1, y, 1, 4))
    assert y.tolist() == [1, 3, 5, 7]
    scaled((2,), (1,), (x[x > 1], y, 1, 2))
    assert y.tolist() == [2, 3, 5, 7]
    scaled((1,), (1,), (x.sum(), y, 1, 1))
    assert y.tolist() == [6, 3, 5, 7]
    scaled((1,), (1,), (x[1, ...], y[1:], 1, 1))
    assert y.tolist() == [6, 1, 5, 7]


def test_what_reads_written_memory_is_computed_before(scaled: clarray.RawKernel, increased: clarray.RawKernel) -> None:
    x, y = clarray.arange(4, dtype=np.float32), clarray.zeros(4, np.float32)
    pending, part, mask = y + 10, y[1:] * 2, y[y < 1]
    reads = x * 3
    scaled((4,), (1,), (x, y, 1, 4))
    assert reads._node.memory is None  # its operand is const there
    assert (pending.tolist(), part.tolist(), mask.tolist()) == ([10] * 4, [0] * 3, [0] * 4)
    assert (y + 10).tolist() == [10, 11, 12, 13]
    increased((4,), (1,), (y,))
    increased((4,), (1,), (y,))
    assert y.tolist() == [2, 3, 4, 5]
    assert reads.tolist() == [0, 3, 6, 9]


def test_what_is_known_of_values_is_forgotten() -> None:
    reversing = clarray.RawKernel("kernel void f(global long *i) { i[get_global_id(0)] = 7; }", "f")
    indices, x = clarray.arange(4), clarray.arange(5)
    assert x[indices].tolist() == [0, 1, 2, 3]
    assert int(indices[2]) == 2
    reversing((4,), (1,), (indices,))
    assert int(indices[2]) == 7
    with pytest.raises(IndexError):
        x[indices].evaluate()


def test_memory_of_the_host_is_written_when_the_call_returns(scaled: clarray.RawKernel) -> None:
    host = np.zeros(4, np.float32)
    shared = clarray.asarray(host)
    scaled((4,), (1,), (clarray.arange(4, dtype=np.float32), shared, 3, 4))
    expected = [0, 3, 6, 9]
    assert shared.tolist() == expected
    assert host.tolist() == (expected if shared.device.capabilities.host_memory else [0] * 4)


@pytest.mark.parametrize(
    ("word", "dtype", "value"),
    [
        ("char", np.int8, -3),
        ("uchar", np.uint8, 200),
        ("unsigned char", np.uint8, 200),
        ("short", np.int16, -300),
        ("unsigned short", np.uint16, 60000),
        ("const int", np.int32, -70000),
        ("unsigned int", np.uint32, 2**32 - 1),
        ("unsigned", np.uint32, 7),
        ("long", np.int64, -(2**40)),
        ("ulong", np.uint64, 2**64 - 1),
        ("float", np.float32, 0.1),
        ("double", np.float64, 0.1),
        ("float2", np.complex64, 1.5 - 2j),
    ],
)
def test_numbers_take_the_type_of_the_parameter(word: str, dtype: Any, value: Any) -> None:
    plain = word.replace("const ", "")
    code = f"kernel void f(global {plain} *out, {word} value) {{ out[1] = value; }}"
    kernel = clarray.RawKernel(code, "f")
    for given in (value, dtype(value)):
        out = clarray.zeros(3, dtype)
        kernel((1,), (1,), (out, given))
        np.testing.assert_array_equal(clarray.asnumpy(out), np.array([0, value, 0], dtype))
    other = np.float64 if dtype is not np.float64 else np.float32
    with pytest.raises(TypeError, match=f"value is {np.dtype(dtype)}, and {np.dtype(other)} was given"):
        kernel((1,), (1,), (out, other(1)))


def test_types_of_the_users_take_what_they_are_given() -> None:
    code = "typedef float real;\nkernel void f(global real *out, real value, COUNT n) { out[0] = value + n; }"
    kernel = clarray.RawKernel(code, "f", options=("-DCOUNT=long",))
    out = floats(0, 0)
    kernel((1,), (1,), (out, np.float32(2.5), 4))
    assert out.tolist() == [6.5, 0]


def test_values_that_do_not_fit() -> None:
    kernel = clarray.RawKernel("kernel void f(global int *x, uchar n) { x[0] = n; }", "f")
    x = clarray.zeros(1, np.int32)
    with pytest.raises(OverflowError, match="n is uint8, which does not hold 256"):
        kernel((1,), (1,), (x, 256))
    for wrong, kind in (("3", "str"), (None, "NoneType"), (x, "DeviceArray"), (np.ones(1), "ndarray")):
        with pytest.raises(TypeError, match=f"n is passed by value: a number is wanted, not {kind}"):
            kernel((1,), (1,), (x, wrong))


def test_memory_that_a_group_shares() -> None:
    kernel = clarray.RawKernel(
        """kernel void sums(global const float *x, local float *part, global float *out) {
            const int at = get_local_id(0);
            part[at] = x[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (at == 0)
                for (int k = 0; k < get_local_size(0); ++k)
                    out[get_group_id(0)] += part[k];
        }""",
        "sums",
    )
    x = clarray.arange(24, dtype=np.float32)
    for block in (4, 8, 4):
        out = clarray.zeros(24 // block, np.float32)
        kernel((24 // block,), (block,), (x, out), shared_mem=4 * block)
        np.testing.assert_array_equal(clarray.asnumpy(out), np.arange(24).reshape(-1, block).sum(1))
    with pytest.raises(ValueError, match="shared_mem= tells the bytes"):
        kernel((1,), (4,), (x, out))
    with pytest.raises(ValueError, match="one parameter may be local memory"):
        clarray.RawKernel("kernel void f(local float *a, local float *b) {}", "f")


def test_constant_memory_and_void() -> None:
    code = """kernel void f(constant int *table, global const void *bytes, global volatile uint *out) {
        out[0] = table[1] + ((global const uchar *)bytes)[0];
    }"""
    table, out = clarray.arange(5, dtype=np.int32) * 10, clarray.zeros(2, np.int32)
    x = clarray.array([7, 8], dtype=np.int16)
    clarray.RawKernel(code, "f")((1,), (1,), (table[2:], x[1:], out[1:]))
    assert out.tolist() == [0, 38]


def test_a_module_has_several_kernels(scaled: clarray.RawKernel) -> None:
    module = clarray.RawModule(code=SCALED)
    assert module.get_function("scaled") is module.get_function("scaled")
    x = clarray.zeros(3, np.float32)
    module.get_function("increased")((3,), (1,), (x,))
    module.get_function("scaled")((3,), (1,), (x, x, 5, 3))
    assert x.tolist() == [5, 5, 5]
    with pytest.raises(ValueError, match=r"no `kernel void missing\(...\)`"):
        module.get_function("missing")
    with pytest.raises(TypeError, match="code must be a string"):
        clarray.RawModule(code=b"")  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused(scaled: clarray.RawKernel, increased: clarray.RawKernel) -> None:
    x = clarray.zeros((4, 4), np.float32)
    for wrong in (x[:, 1], x.T, x[::-1], clarray.broadcast_to(floats(1), (4,))):
        with pytest.raises(ValueError, match=r"y: the array .* is not C-contiguous"):
            increased((1,), (1,), (wrong,))
    host = np.zeros(4, np.float32)
    host.flags.writeable = False
    fixed = clarray.asarray(host)
    if fixed.device.capabilities.host_memory:
        with pytest.raises(ValueError, match="y is read-only, and its pointer is not const"):
            increased((4,), (1,), (fixed,))
    y = clarray.zeros(4, np.float32)
    scaled((4,), (1,), (fixed, y, 1, 4))  # const
    with pytest.raises(TypeError, match="y points to float, and the array is float64"):
        increased((1,), (1,), (clarray.zeros(4),))
    with pytest.raises(TypeError, match="y is a pointer: an array of clarray's is wanted, not ndarray"):
        increased((1,), (1,), (np.zeros(4, np.float32),))
    with pytest.raises(TypeError, match="takes 4 arguments: 1 were given"):
        scaled((1,), (1,), (y,))
    with pytest.raises(ValueError, match="shared_mem= tells"):
        increased((1,), (1,), (y,), shared_mem=16)


@pytest.mark.parametrize(
    ("grid", "block", "what"),
    [
        ((), (1,), "grid must be one to three numbers from 0 on"),
        ((1, 1, 1, 1), (1,), "grid must be"),
        ((-1,), (1,), "grid must be"),
        ((1,), (0,), "block must be one to three numbers from 1 on"),
        ((1,), (1 << 20, 4), "takes up to [0-9]+ work-items in a block"),
    ],
)
def test_sizes_that_cannot_be(grid: Any, block: Any, what: str, increased: clarray.RawKernel) -> None:
    with pytest.raises(ValueError, match=what):
        increased(grid, block, (clarray.zeros(4, np.float32),))


@pytest.mark.kernels_alone
def test_nothing_runs_in_no_groups(scaled: clarray.RawKernel, increased: clarray.RawKernel) -> None:
    y = clarray.zeros(4, np.float32)
    with clarray.profile() as p:
        increased((0,), (4,), (y,))
        increased((2, 0), (4,), (y,))
    assert p.launches == 0
    scaled((1,), (4,), (y[:0], y[:0], 1, 0))
    empty = clarray.zeros(0, np.float32)
    scaled((1,), (4,), (empty, empty + 1, 1, 0))
    assert y.tolist() == [0] * 4


def test_errors_of_the_compiler_name_the_line() -> None:
    kernel = clarray.RawKernel("kernel void f(global int *x) {\n  x[0] = 1;\n  x[1] = unheard_of;\n}", "f", ("-DN=1",))
    with pytest.raises(RuntimeError, match=r"(?s)cannot compile.*:3:.*unheard_of.*\n   3   x\[1\] = unheard_of"):
        kernel((1,), (1,), (clarray.zeros(2, np.int32),))


def test_a_launch_is_in_the_profile(increased: clarray.RawKernel) -> None:
    y = clarray.zeros(4, np.float32).evaluate()
    with clarray.profile() as p:
        increased((4,), (1,), (y,))
    assert [(r.kind, r.name, r.nbytes) for r in p.records if r.kind == "launch"] == [("launch", "increased", 16)]


def test_it_says_what_it_is(scaled: clarray.RawKernel) -> None:
    assert repr(scaled) == "<RawKernel scaled(global const float *x, global float *y, float by, int n)>"
    assert (scaled.name, scaled.code, scaled.options) == ("scaled", SCALED, ())


@pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device")
def test_each_device_has_its_own_and_two_are_refused(scaled: clarray.RawKernel) -> None:
    here = clarray.ones(4, np.float32).device
    there = next(device for device in clarray.devices() if device is not here)
    x, y = (clarray.arange(4, dtype=np.float32, device=device) for device in (here, there))
    with pytest.raises(ValueError, match="device") as found:
        scaled((4,), (1,), (x, y, 1, 4))
    assert str(here) in str(found.value)
    assert str(there) in str(found.value)
    for array in (x, y):
        scaled((4,), (1,), (array, array, 3, 4))
        assert array.tolist() == [0, 3, 6, 9]
