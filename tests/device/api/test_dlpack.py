"""DLPack: the same memory seen by two libraries, in the order of the program, as long as either lives."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy's capsules have no versions and copies before 2.1"
)
CPU = (1, 0)


@pytest.fixture
def on_host() -> None:
    """The device works in host memory."""
    if not current_device().capabilities.host_memory:
        pytest.skip("the device has memory of its own")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The device has memory of its own, or says so."""
    device = current_device()
    apart = dataclasses.replace(device.capabilities, host_memory=False)
    monkeypatch.setattr(device, "capabilities", apart)
    yield
    monkeypatch.undo()


def name_of(capsule: Any) -> str:
    return repr(capsule).split('"')[1]


def flags_of(capsule: Any) -> int:
    """The flags of a versioned capsule: 1 for read-only, 2 for copied."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_uint64.from_address(pointer(capsule, b"dltensor_versioned") + 24).value


class Foreign:
    """Another library's array, whose device is not the host's."""

    def __init__(self, host: np.ndarray) -> None:
        self.host = host

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, dl_device: Any = None, **kwargs: Any) -> Any:
        if dl_device != CPU:
            raise BufferError("only a copy on the host can be had")
        return self.host.__dlpack__(**kwargs)


# Export -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_every_dtype_both_ways(dtype: str, shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    ours = clarray.from_dlpack(host)
    assert (ours.dtype, ours.shape) == (host.dtype, host.shape)
    theirs = np.from_dlpack(ours, device="cpu")
    assert theirs.dtype == host.dtype
    np.testing.assert_array_equal(theirs, host)


@pytest.mark.usefixtures("on_host")
def test_memory_is_shared_in_both_directions() -> None:
    x = clarray.arange(12, dtype=np.float32).reshape(3, 4)
    part = x[:, ::-2]
    host = np.from_dlpack(part)
    assert host.strides == (16, -8)
    host[1] = -1
    assert x[1].tolist() == [4, -1, 6, -1]
    part[2] = 50
    assert host[2].tolist() == [50, 50]


@pytest.mark.usefixtures("on_host")
def test_what_was_pending_keeps_its_value() -> None:
    x = clarray.arange(6, dtype=np.float32)
    doubled, chosen = x * 2, x[x > 2]
    np.from_dlpack(x)[:] = 0
    assert doubled.tolist() == [0, 2, 4, 6, 8, 10]
    assert chosen.tolist() == [3, 4, 5]


@pytest.mark.usefixtures("on_host")
def test_no_view_of_the_memory_stays_behind() -> None:
    """Whichever array was exported, later results of all of them are safe from the consumer's writes."""
    x = clarray.arange(6, dtype=np.float32)
    left, right = x[:3], x[3:]
    host = np.from_dlpack(left)
    results = [x + 1, left + 1, right + 1, x[::2] + 1, x.sum(), right[right > 3]]
    host[:] = 100
    x[3:] = 200
    expected = [[1, 2, 3, 4, 5, 6], [1, 2, 3], [4, 5, 6], [1, 3, 5], 15, [4, 5]]
    assert [r.tolist() for r in results] == expected


@pytest.mark.usefixtures("on_host")
def test_a_pending_array_is_computed_and_shared() -> None:
    x = clarray.arange(4, dtype=np.int32) + 1
    host = np.from_dlpack(x)
    x += 10
    assert host.tolist() == [11, 12, 13, 14]


@pytest.mark.usefixtures("on_host")
def test_memory_lives_as_long_as_the_consumer() -> None:
    x = clarray.full(1000, 7, dtype=np.int32)
    host = np.from_dlpack(x)
    memory = weakref.ref(x._node.memory)
    block = x._node.memory._block
    del x
    gc.collect()
    others = [clarray.zeros(1000, dtype=np.int32) for _ in range(4)]
    assert (host == 7).all()
    assert all(other._node.memory._block is not block for other in others)
    del host
    gc.collect()
    assert memory() is None
    assert not any(clarray.zeros(1000, dtype=np.int32)._node.memory.shared for _ in range(8))


@pytest.mark.parametrize(
    ("max_version", "name"),
    [(None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"), ((2, 5), "dltensor_versioned")],
)
def test_versions(max_version: Any, name: str) -> None:
    x = clarray.arange(3)
    assert name_of(x.__dlpack__(max_version=max_version, dl_device=CPU)) == name
    assert name_of(x.__dlpack__(max_version=max_version, dl_device=CPU, copy=True)) == name


@pytest.mark.usefixtures("on_host")
def test_read_only_arrays_are_told() -> None:
    x = clarray.broadcast_to(clarray.arange(3), (2, 3))
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()


@pytest.mark.usefixtures("on_host")
def test_a_copy_is_the_consumers_alone() -> None:
    x = clarray.arange(3)
    assert [flags_of(x.__dlpack__(max_version=(1, 0), copy=copy)) for copy in (True, False)] == [2, 0]
    x = clarray.arange(3)
    host = np.from_dlpack(x, copy=True)
    host[:] = 9
    assert x.tolist() == [0, 1, 2]
    assert not x._node.memory.shared
    assert np.from_dlpack(x, copy=False).base is not None
    assert x.__dlpack_device__() == CPU


def test_what_cannot_be_exported() -> None:
    x = clarray.arange(3)
    with pytest.raises(RuntimeError, match="stream must be None"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"dl_device=\(1, 0\)"):
        x.__dlpack__(dl_device=(2, 0))


@pytest.mark.usefixtures("elsewhere")
def test_export_from_a_device_with_memory_of_its_own() -> None:
    x = clarray.arange(6, dtype=np.float32)[::2]
    kind, number = x.__dlpack_device__()
    assert (kind, clarray.devices()[number]) == (4, x.device)
    with pytest.raises(BufferError, match="host memory only"):
        x.__dlpack__()
    with pytest.raises(BufferError, match="without a copy"):
        np.from_dlpack(x, device="cpu", copy=False)
    host = np.from_dlpack(x, device="cpu")
    host += 1
    assert (x.tolist(), host.tolist()) == ([0, 2, 4], [1, 3, 5])


# Import -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_host")
def test_imported_memory_is_shared() -> None:
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = clarray.from_dlpack(host[:, ::2])
    before = x + 1
    host[:] = 7
    assert (x.tolist(), before.tolist()) == ([[7, 7], [7, 7]], [[1, 3], [4, 6]])
    x[0] = 1
    assert host[0].tolist() == [1, 7, 1]


@pytest.mark.usefixtures("on_host")
def test_imported_read_only_memory_is_not_written() -> None:
    host = np.arange(3.0, dtype=np.float32)
    host.flags.writeable = False
    x = clarray.from_dlpack(host)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1


def test_imports_that_copy() -> None:
    host = np.arange(3, dtype=np.int32)
    x = clarray.from_dlpack(host, copy=True)
    host[:] = 9
    assert x.tolist() == [0, 1, 2]
    x = clarray.from_dlpack(Foreign(host))
    assert x.tolist() == [9, 9, 9]
    for error in (BufferError, ValueError):
        with pytest.raises(error, match="it needs a copy"):
            clarray.from_dlpack(Foreign(host), copy=False)


@pytest.mark.usefixtures("elsewhere")
def test_imports_to_a_device_with_memory_of_its_own() -> None:
    host = np.arange(3, dtype=np.int32)
    assert clarray.from_dlpack(host).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="it needs a copy"):
        clarray.from_dlpack(host, copy=False)


def test_imports_of_our_own_arrays() -> None:
    x = clarray.arange(4)
    same = clarray.from_dlpack(x)
    same[0] = 5
    assert x[0] == 5
    assert same is not x
    assert not x._node.memory.shared, "both go on fusing"
    clarray.from_dlpack(x, copy=True)[0] = 6
    assert x[0] == 5
    for device in clarray.devices():
        there = clarray.from_dlpack(x, device=device)
        assert (there.device, there.tolist()) == (device, [5, 1, 2, 3])
        if device is not x.device:
            with pytest.raises(BufferError, match="without a copy"):
                clarray.from_dlpack(x, device=device, copy=False)


def test_what_cannot_be_imported() -> None:
    with pytest.raises(AttributeError, match="__dlpack_device__"):
        clarray.from_dlpack([1, 2])


# Other libraries ----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.usefixtures("on_host")
def test_libraries_share_memory(library: str) -> None:
    xp = pytest.importorskip(library)
    x = clarray.arange(6, dtype=np.float32)
    theirs = xp.from_dlpack(x)
    assert float(theirs.sum() if library != "array_api_strict" else xp.sum(theirs)) == 15
    back = clarray.from_dlpack(theirs)
    assert (back.tolist(), back.dtype) == ([0, 1, 2, 3, 4, 5], np.float32)
    if library == "torch":
        theirs[0] = 10
        assert x[0] == back[0] == 10
