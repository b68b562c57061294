"""Memory that is shared with NumPy or another library and begins at any address: kernels assume no more alignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import clarray
from clarray._engine.runtime import current_device

pytestmark = [pytest.mark.usefixtures("quick_builds"), pytest.mark.kernels_alone]

LARGE = 17 << 20  # bytes: from 16 MiB on results are written past the caches, by stores that need whole cache lines
SMALL = 1 << 16
ADDRESSES = [("f4", 4), ("f4", 16), ("f8", 8), ("f8", 16), ("f8", 64), ("c8", 8), ("c16", 8), ("c16", 16), ("i2", 2)]


def at_address(dtype: str, shift: int, nbytes: int) -> np.ndarray:
    """Return small integers at an address that is `shift` modulo 128."""
    raw = np.zeros(nbytes + 256, np.uint8)
    first = -raw.ctypes.data % 128 + shift
    values = raw[first : first + nbytes].view(dtype)
    values[:] = np.arange(values.size) % 7
    assert values.ctypes.data % 128 == shift
    return values


# The first operand is the array at the address, and is written to; the second has memory of its own.
STORES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x[...] = y": lambda xp, x, y: x.__setitem__(..., y),
    "x[8:] = y[8:] * 2": lambda xp, x, y: x.__setitem__(slice(8, None), y[8:] * 2),
    "add(out=x)": lambda xp, x, y: xp.add(y, y, out=x),
    "cumsum(out=x)": lambda xp, x, y: xp.cumsum(y, out=x),
    "concatenate(out=x)": lambda xp, x, y: xp.concatenate((y[:5], y[5:]), out=x),
    "matmul(out=x)": lambda xp, x, y: xp.matmul(y.reshape(-1, 16), xp.ones((16, 16), y.dtype), out=x.reshape(-1, 16)),
}
OTHERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + y": lambda xp, x, y: x + y,
    "x[:] = y[::-1]": lambda xp, x, y: x.__setitem__(slice(None), y[::-1]),
    "x += y": lambda xp, x, y: x.__iadd__(y),
    "x.fill(3)": lambda xp, x, y: x.fill(3),
    "x.sum()": lambda xp, x, y: x.sum(),
    "sum by rows": lambda xp, x, y: x.reshape(-1, 32).sum(axis=1),
    "sum by columns": lambda xp, x, y: x.reshape(-1, 32).sum(axis=0),
    "x[x == 2]": lambda xp, x, y: x[x == 2],
    "x.T.copy()": lambda xp, x, y: x.reshape(-1, 64).T.copy(),
    "copyto(x.T, y)": lambda xp, x, y: xp.copyto(x.reshape(-1, 64).T, y.reshape(64, -1)),
    "roll": lambda xp, x, y: xp.roll(x, 3),
    "take": lambda xp, x, y: x.take([5, 1, -1]),
}


def compare(name: str, dtype: str, shift: int, nbytes: int) -> None:
    results = []
    for xp in (clarray, np):
        x, y = xp.asarray(at_address(dtype, shift, nbytes)), xp.array(at_address(dtype, 0, nbytes)[::-1])
        result = (STORES | OTHERS)[name](xp, x, y)
        results.append([np.asarray(each) for each in (x, x if result is None else result)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, err_msg=name)


def need(dtype: str) -> None:
    if dtype in ("f8", "c16") and not current_device().capabilities.fp64:
        pytest.skip("the device has no float64")


@pytest.mark.parametrize(("dtype", "shift"), ADDRESSES)
def test_statements(dtype: str, shift: int) -> None:
    need(dtype)
    for name in STORES | OTHERS:
        compare(name, dtype, shift, SMALL)


@pytest.mark.parametrize(("dtype", "shift"), [("f4", 4), ("f8", 16)])
def test_large_stores(dtype: str, shift: int) -> None:
    need(dtype)
    for name in STORES:
        compare(name, dtype, shift, LARGE)


@pytest.mark.parametrize(("dtype", "shift"), ADDRESSES)
def test_memory_is_shared_unless_elements_lie_across(dtype: str, shift: int) -> None:
    host = at_address(dtype, shift, 1 << 12)
    x = clarray.asarray(host)
    shared = current_device().capabilities.host_memory and shift % host.itemsize == 0
    assert clarray.shares_memory(x, host) == shared
    before = host.base[: host.ctypes.data - host.base.ctypes.data].tolist()
    x += 1
    assert (host[1] == 2) == shared
    assert host.base[: len(before)].tolist() == before


@pytest.mark.parametrize("shift", [0, 4, 16, 68])
def test_buffers_of_pyopencl_over_memory_at_any_address(shift: int) -> None:
    device = current_device()
    if not device.capabilities.host_memory:
        pytest.skip("the device does not work in host memory")
    host = at_address("f4", shift, SMALL)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    theirs = cl_array.Array(device.main.commands, host.shape, np.float32, data=buffer)
    x = clarray.asarray(theirs)
    x[...] = clarray.array(host) * 2
    np.testing.assert_array_equal(clarray.asnumpy(x), np.arange(host.size) % 7 * 2)
    np.testing.assert_array_equal(theirs.get(), np.arange(host.size) % 7 * 2)
