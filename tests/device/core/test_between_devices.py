"""Arrays that go from one device to another: any dtype, layout and size, and both ways at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import Device, current_device

from ..conftest import DTYPES

pytestmark = [
    pytest.mark.usefixtures("quick_builds"),
    pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device"),
]

ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20


def pair() -> tuple[Device, Device]:
    first = current_device()
    return first, next(d for d in clarray.devices() if d is not first)


def place(device: Device) -> str:
    """The name of a device's platform, and which of its devices it is."""
    platform = device.cl_device.platform
    return f"{platform.name.strip().lower()}:{platform.get_devices().index(device.cl_device)}"


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "axes": lambda x: x.transpose(1, 2, 0),
    "part": lambda x: x[1:, 1:3],
    "block": lambda x: x[1:2],
    "steps": lambda x: x[:, ::2],
    "back": lambda x: x[::-1, :, ::-1],
    "row": lambda x: x[1, 2],
    "column": lambda x: x[1, :, 3],
    "one": lambda x: x[2, 3, 4, ...],
    "none": lambda x: x[1:1],
    "new axis": lambda x: x[:, None, 1:],
    "repeated": lambda x: x[:1].repeat(1, 0)[:, :1, :1] + x[0] * 0,
    "pending": lambda x: (x + x).T,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_dtype_and_layout(dtype: str, layout: str) -> None:
    first, other = pair()
    host = (np.arange(60) % 7).astype(dtype).reshape(3, 4, 5)
    expected = LAYOUTS[layout](host).copy("K")
    for here, there in ((first, other), (other, first)):
        x = LAYOUTS[layout](clarray.array(host, device=here))
        y = x.to_device(there)
        assert y.device is there
        assert x.device is here
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
        if y.size:
            assert y.flags.c_contiguous == expected.flags.c_contiguous
            assert y.flags.f_contiguous == expected.flags.f_contiguous
        np.testing.assert_array_equal(y.get(), expected)
        np.testing.assert_array_equal((y + y).get(), expected + expected)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize(
    ("given", "wanted"),
    [("float32", "float64"), ("float64", "float32"), ("int64", "float64"), ("float32", "int8"), ("uint8", "complex64")],
)
def test_another_dtype_and_order(given: str, wanted: str, order: Any) -> None:
    first, other = pair()
    host = np.arange(24).astype(given).reshape(2, 3, 4).transpose(2, 0, 1)
    for source in (host, host.T, np.ascontiguousarray(host), host[::2]):
        for dtype in (given, wanted):
            found = clarray.asarray(clarray.asarray(source, device=first), dtype, order, device=other)
            expected = np.array(source, dtype, order=order)
            assert found.device is other
            assert found.dtype == expected.dtype
            assert found.flags.c_contiguous == expected.flags.c_contiguous
            assert found.flags.f_contiguous == expected.flags.f_contiguous
            np.testing.assert_array_equal(found.get(), expected)


# Around every change of method: one call, several pinned slots, several threads, a last piece of one byte.
@pytest.mark.parametrize("nbytes", [1, 4097, 14 * MIB - 1, 14 * MIB, 16 * MIB + 1, 70_000_003])
def test_any_size(nbytes: int) -> None:
    first, other = pair()
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes + 12, np.uint8)
    for here, there in ((first, other), (other, first)):
        source = here.upload(data)
        memory = there.receive(source, 5, nbytes)
        assert memory.device is there
        found = np.empty(nbytes, np.uint8)
        there.read(memory, 0, found)
        np.testing.assert_array_equal(found, data[5:-7])


def test_only_bytes_that_are_there() -> None:
    first, other = pair()
    source = first.upload(np.zeros(100, np.uint8))
    for at, nbytes in ((-1, 4), (97, 4), (0, 101)):
        with pytest.raises(ValueError, match="outside"):
            other.receive(source, at, nbytes)


def test_what_is_sent_is_of_its_time() -> None:
    """It waits for what is queued on the source, and later writes to either do not show in the other."""
    first, other = pair()
    x = clarray.zeros(1 << 20, clarray.float32, device=first)
    for turn in range(1, 6):
        x += turn
        y = x.to_device(other)
        x[:] = 0
        y += 1
        assert (y == turn + 1).all()
        assert not x.any()


def test_it_is_one_transfer() -> None:
    first, other = pair()
    x = clarray.ones(1 << 20, clarray.float32, device=first).evaluate()
    with clarray.profile() as p:
        x.to_device(other)
    moved = [(r.name, r.nbytes) for r in p.records if r.kind == "transfer"]
    assert moved == [("between devices", x.nbytes)]


def test_both_ways_at_once() -> None:
    """Two threads that copy towards each other wait for one another, and never for good."""
    pairs = (pair(), pair()[::-1])
    failed: list[BaseException] = []

    def work(here: Device, there: Device) -> None:
        try:
            data = np.random.default_rng(1).integers(0, 256, 15 * MIB, np.uint8)
            source = here.upload(data)
            for _ in range(8):
                found = np.empty_like(data)
                there.read(there.receive(source, 0, data.size), 0, found)
                np.testing.assert_array_equal(found, data)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=each, daemon=True) for each in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert failed == []


WITHOUT_DOUBLES = """
import numpy as np, clarray
has, lacks = (next(d for d in clarray.devices() if d.capabilities.fp64 is wanted) for wanted in (True, False))
x = clarray.asarray([1.5, 2.5], device=has)
try:
    x.to_device(lacks)
except TypeError as error:
    print("float64" in str(error))
for wanted in ("float32", "int64", "complex64"):
    y = clarray.asarray(x, wanted, device=lacks)
    print(y.device is lacks, y.dtype, (y + y).tolist())
print(clarray.asarray(clarray.ones(2, "f4", device=lacks), "f8", device=has).dtype)
"""


def test_a_device_without_doubles() -> None:
    """What it has no elements of is converted where they are, or refused."""
    environment = {**os.environ, "CLARRAY_SIMULATE_NO_FP64": place(pair()[1])}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DOUBLES],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "True",
        "True float32 [3.0, 5.0]",
        "True int64 [2, 4]",
        "True complex64 [(3+0j), (5+0j)]",
        "float64",
    ], done.stderr[-2000:]
