"""Which device new arrays are made on: the process's, a block's, and what comes from a pickle."""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import Device, current_device

pytestmark = pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device")


@pytest.fixture
def two() -> Iterator[tuple[Device, Device]]:
    """The device in use and another one; what a test sets is taken back."""
    first = current_device()
    yield first, next(d for d in clarray.devices() if d is not first)
    clarray.set_device(first)


def test_it_lasts(two: tuple[Device, Device]) -> None:
    first, other = two
    assert clarray.set_device(other) is other
    gc.collect()
    assert clarray.zeros(3, clarray.int8).device is other
    assert clarray.set_device(first) is first
    assert clarray.zeros(3, clarray.int8).device is first


def test_it_is_named_as_everywhere(two: tuple[Device, Device]) -> None:
    for number, device in enumerate(clarray.devices()):
        assert clarray.set_device(number) is device
        assert clarray.set_device(str(number)) is device
        assert clarray.set_device(device) is device
    with pytest.raises(ValueError, match="no device"):
        clarray.set_device("a device that nobody has")
    assert current_device() is clarray.devices()[-1]


def test_none_takes_it_back(two: tuple[Device, Device], monkeypatch: pytest.MonkeyPatch) -> None:
    for device in two:
        monkeypatch.setenv("CLARRAY_DEVICE", str(clarray.devices().index(device)))
        assert clarray.set_device(None) is device


def test_it_is_all_threads(two: tuple[Device, Device]) -> None:
    first, other = two
    ready, done = threading.Event(), threading.Event()

    def look() -> list[Device]:
        found = [current_device()]
        ready.set()
        done.wait(30)
        return [*found, current_device()]

    with ThreadPoolExecutor(1) as threads:
        looking = threads.submit(look)
        assert ready.wait(30)
        clarray.set_device(other)
        done.set()
        assert looking.result(30) == [first, other]


def test_a_block_goes_before_it(two: tuple[Device, Device]) -> None:
    first, other = two
    with clarray.device(first):
        clarray.set_device(other)
        assert current_device() is first
        with ThreadPoolExecutor(1) as threads:  # the block is this thread's
            assert threads.submit(current_device).result(30) is other
    assert current_device() is other


def test_a_pickle_goes_to_the_device_in_use(two: tuple[Device, Device]) -> None:
    first, other = two
    x = clarray.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4).T)
    pickles = [pickle.dumps(x, protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    clarray.set_device(other)
    for each in pickles:
        y = pickle.loads(each)
        assert y.device is other
        np.testing.assert_array_equal(y.get(), x.get())
        with clarray.device(first):
            assert pickle.loads(each).device is first
        z = y.to_device(first)
        assert z.device is first
        np.testing.assert_array_equal((z + x).get(), 2 * x.get())
