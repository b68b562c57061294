"""Numbers in a structure: laid out as the compiler does it, by whichever way they are given."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clarray._engine.argument_struct import IN_STRUCT, struct_dtype, struct_order
from clarray._engine.codegen.arguments import Fields, signature
from clarray._engine.runtime import Device
from clarray._engine.runtime.argument_layout import ArgumentLayout

# type in OpenCL C, and a value that no other type holds
NUMBERS = {
    "int8": ("char", -7),
    "uint8": ("uchar", 200),
    "int16": ("short", -30000),
    "uint16": ("ushort", 60000),
    "int32": ("int", -(2**31)),
    "uint32": ("uint", 2**32 - 1),
    "int64": ("long", -(2**53)),
    "uint64": ("ulong", 2**52 + 1),
    "float32": ("float", 0.5),
    "float64": ("double", 1 + 2.0**-40),
}
ORDERS = [
    tuple(NUMBERS),
    tuple(NUMBERS)[::-1],
    ("uint8", "int64", "int8", "float32", "uint16", "int64", "int8", "int32", "int8"),
]


@pytest.mark.parametrize("order", ORDERS, ids=["up", "down", "mixed"])
@pytest.mark.parametrize("together", [False, True])
def test_a_kernel_gets_its_numbers(device: Device, order: tuple[str, ...], together: bool) -> None:
    kinds = [kind for kind in order if kind != "float64" or device.capabilities.fp64]
    real = "double" if device.capabilities.fp64 else "float"
    params = [f"const {NUMBERS[kind][0]} n{k}" for k, kind in enumerate(kinds)]
    params.insert(3, f"__global {real} *out")
    taken = signature(Fields(*params), together)
    assert bool(taken.definition) == together
    stores = " ".join(f"out[{k}] = n{k};" for k in range(len(kinds)))
    text = f"{taken.definition}__kernel void store({taken.declared}) {{ {taken.opening} {stores} }}"
    host = np.zeros(len(kinds), "float64" if real == "double" else "float32")
    out = device.upload(host)
    args: list[object] = [NUMBERS[kind][1] for kind in kinds]
    args.insert(3, out.buffer)
    kernel = device.program(
        f"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n{text}" if real == "double" else text, {"store": taken.types}
    ).kernel("store")
    kernel.launch((1,), (1,), args)
    device.read(out, 0, host)
    np.testing.assert_array_equal(host, np.array([NUMBERS[kind][1] for kind in kinds], host.dtype))


def test_what_is_laid_out_has_no_holes() -> None:
    for kinds in itertools.permutations(("int8", "int64", "int32", "uint16")):
        assert [kinds[k] for k in struct_order(kinds)] == ["int64", "int32", "uint16", "int8"]
        assert struct_dtype(kinds).itemsize == 16


def test_all_numbers_are_in_the_structure_or_none() -> None:
    with pytest.raises(TypeError, match="some are not"):
        ArgumentLayout(["buffer", f"{IN_STRUCT}int32", "int32"])


def test_few_numbers_are_given_one_by_one() -> None:
    taken = signature(Fields("__global float *x", "const long n"), in_structure=True)
    assert taken == ("", "__global float *x, const long n", "", ("buffer", "int64"))
