"""Pickles of protocol 5, with the elements inside the pickle and in buffers beside it."""

from __future__ import annotations

import copy
import mmap
import pickle
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core import pickling
from clarray._engine.runtime import current_device

ARRAYS = {
    "C": lambda xp: xp.arange(24.0).reshape(4, 6),
    "F": lambda xp: xp.arange(24.0).reshape(4, 6).T,
    "strided": lambda xp: xp.arange(24.0).reshape(4, 6)[::2, ::-1],
    "part": lambda xp: xp.arange(24.0).reshape(4, 6)[1:3],
    "half": lambda xp: xp.arange(7).astype(np.float16),
    "complex": lambda xp: (xp.arange(6) + 1j).astype(np.complex64).reshape(2, 3).T,
    "bool": lambda xp: xp.arange(5) > 2,
    "empty": lambda xp: xp.zeros((0, 3), np.int8),
    "none": lambda xp: xp.array(2.5),
    "pending": lambda xp: xp.arange(9) * 3 + 1,
}


def works_in_host_memory() -> bool:
    return current_device().capabilities.host_memory


def mapped(buffer: pickle.PickleBuffer) -> mmap.mmap:
    """The bytes in a memory of its own, which a file would be mapped to."""
    found = mmap.mmap(-1, memoryview(buffer).nbytes)
    found[:] = bytes(buffer)
    return found


def carried(array: Any, change: Any = lambda buffer: buffer) -> Any:
    """Through protocol 5 with the buffers beside the pickle, each changed on its way."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(array, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[change(buffer) for buffer in buffers])


@pytest.mark.parametrize("way", [lambda x: pickle.loads(pickle.dumps(x, 5)), carried], ids=["inside", "beside"])
@pytest.mark.parametrize("made", ARRAYS.values(), ids=ARRAYS)
def test_values_and_layout_are_kept(made: Any, way: Any, same: Any) -> None:
    def body(xp: Any) -> Any:
        found = way(made(xp))
        return found, found.strides, found.flags.f_contiguous, found + 1

    same(body)


def test_only_messages_are_the_memory_itself() -> None:
    x = clarray.arange(1000.0).evaluate()
    for copied in (True, False):
        host, _ = pickling.outgoing(x[100:], copied)
        assert host.tolist() == np.arange(100.0, 1000.0).tolist()
        assert clarray.shares_memory(x, host) == (works_in_host_memory() and not copied)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("kind", [lambda b: b, memoryview, bytearray, lambda b: np.frombuffer(bytearray(b)), mapped])
def test_a_write_to_a_buffer_changes_no_result(kind: Any) -> None:
    """Neither of what has been pickled, nor of what has been loaded; the same buffer may be loaded twice."""
    x = clarray.arange(1000.0)
    x.evaluate()
    sent: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, 5, buffer_callback=sent.append)
    arrived = kind(sent[0])
    one, other = (pickle.loads(data, buffers=[arrived]) for _ in range(2))
    results = [x + 1, one + 1, other[::-1][::-1] + 1, np.add(1, one), clarray.cumsum(one * 0 + 1)]
    np.frombuffer(sent[0])[:] = 0.5
    np.frombuffer(arrived)[:] = 0.5
    other[...] = -1
    for result in results:
        assert result.tolist() == np.arange(1.0, 1001.0).tolist()
    assert x.tolist() == np.arange(1000.0).tolist()


def test_the_buffer_outlives_the_array() -> None:
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(clarray.arange(1000.0), 5, buffer_callback=buffers.append)
    others = [clarray.full(1000, -1.0).evaluate() for _ in range(4)]  # would take the memory if it were free
    assert np.frombuffer(buffers[0]).tolist() == np.arange(1000.0).tolist()
    assert len(others) == 4


@pytest.mark.parametrize("offset", [0, 8, 3], ids=["aligned", "by an element", "by no element"])
def test_buffers_are_adopted_where_elements_are_aligned(offset: int) -> None:
    arrived = np.zeros(8000 + offset, np.uint8)[offset:]  # as a slice of a message

    def change(buffer: pickle.PickleBuffer) -> np.ndarray:
        arrived[:] = np.frombuffer(buffer, np.uint8)
        return arrived

    found = carried(clarray.arange(1000.0), change)
    assert clarray.shares_memory(found, arrived) == (works_in_host_memory() and offset % 8 == 0)
    assert (found * 2).tolist() == (np.arange(1000.0) * 2).tolist()


def test_a_buffer_of_somebody_else_may_be_written_to() -> None:
    arrived = bytearray(8000)

    def change(buffer: pickle.PickleBuffer) -> memoryview:
        arrived[:] = buffer
        return memoryview(arrived)

    found = carried(clarray.arange(1000.0), change)
    sums = found + 1
    arrived[:] = bytes(8000)
    assert sums.tolist() == (np.arange(1000.0) + 1).tolist()


def test_read_only_buffers_give_read_only_arrays() -> None:
    """Where they are adopted: NumPy's are, too."""
    found = carried(clarray.arange(1000.0), lambda buffer: bytes(buffer))
    assert found.flags.writeable != works_in_host_memory()
    theirs = carried(np.arange(1000.0), lambda buffer: bytes(buffer))
    assert not theirs.flags.writeable
    assert found.sum() == theirs.sum()


@pytest.mark.kernels_alone
def test_what_is_owned_stays_pending() -> None:
    """An expression of an adopted array is fused: the memory is nobody else's."""
    host, layout = pickling.outgoing(clarray.arange(1000.0))
    found = pickling.incoming(bytearray(host), layout, owned=True)
    with clarray.profile() as profile:
        total = float(((found * 2 + 1) * found).sum())
    assert total == float(((np.arange(1000.0) * 2 + 1) * np.arange(1000.0)).sum())
    assert profile.launches == 1


def test_a_subclass_pickles_in_its_own_way() -> None:
    found = pickle.loads(pickle.dumps(Named(clarray.arange(3)), 5))
    assert (found.tolist(), found.name) == ([0, 1, 2], "kept")


class Named(clarray.DeviceArray):
    """At module level, to be pickled."""

    def __new__(cls, data: Any) -> Any:
        return data.view(cls)

    def __reduce__(self) -> Any:
        return _named, (self.tolist(),)


def _named(values: list[int]) -> Named:
    found = Named(clarray.asarray(values))
    found.name = "kept"
    return found


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy, lambda ufunc: pickle.loads(pickle.dumps(ufunc))])
def test_ufuncs_are_copied(made: Any) -> None:
    found = made(clarray.add)
    assert found([1, 2], 3).tolist() == [4, 5]
    assert found.reduce([1, 2]).tolist() == 3
    assert found.nin == 2
