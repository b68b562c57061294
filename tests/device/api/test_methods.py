"""Methods that are functions under another spelling give what NumPy's methods give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

CALLS: dict[str, Callable[[Any], Any]] = {
    "clip": lambda a: a.clip(2, 5),
    "clip by name": lambda a: a.clip(max=3),
    "round": lambda a: a.round(1),
    "conj": lambda a: a.conj(),
    "conjugate": lambda a: a[::-1].conjugate(),
    "repeat": lambda a: a.repeat(2, axis=1),
    "repeat all": lambda a: a.repeat(3),
    "trace": lambda a: a.trace(),
    "trace of others": lambda a: a.trace(1, 2, 0),
    "no such axis": lambda a: a.trace(axis1=5),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["int32", "float32", "complex64"])
def test_as_numpys(same: Callable[..., None], name: str, kind: str) -> None:
    host = (np.arange(24) % 7).astype(kind).reshape(2, 3, 4) / (1 if kind == "int32" else np.float32(3))
    host = host.astype(kind)
    same(lambda xp: CALLS[name](xp.asarray(host)))


LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda xp, a: a,
    "columns": lambda xp, a: a.T,
    "every other": lambda xp, a: a[:, ::2],
    "backwards": lambda xp, a: a[::-1].T,
    "repeated rows": lambda xp, a: xp.broadcast_to(a[0], (3, 4)),
    "repeated columns": lambda xp, a: xp.broadcast_to(a[:, :1], (3, 4)),
    "repeated everywhere": lambda xp, a: xp.broadcast_to(a[0, 0], (2, 3)),
    "columns, repeated": lambda xp, a: xp.broadcast_to(a.T, (2, 4, 3)),
    "one column": lambda xp, a: a.T[:, :1],
    "pending": lambda xp, a: a.T + 1,
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_orders(same: Callable[..., None], name: str, order: Any) -> None:
    """The order 'A' is the array's own, whatever its copy on the host lies in."""

    def body(xp: Any) -> Any:
        a = LAYOUTS[name](xp, xp.arange(12, dtype=np.uint16).reshape(3, 4))
        return a.tobytes(order), a.ravel(order), a.flatten(order), a.copy(order).strides, a.flags.fnc

    same(body)


@pytest.mark.parametrize("value", [1.0, 3, 1j, "1", np.float32(2), [1.0], None])
def test_astype_of_no_array(same: Callable[..., None], value: Any) -> None:
    def body(xp: Any) -> Any:
        return xp.astype(value, np.float64)

    same(body, message=False)


@pytest.mark.parametrize("value", [0, 3, -1, True, 2.5, 1j, [3], [[1, 2], [3, 4]], [], [[5]]])
@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float16", "complex64"])
def test_bytes_of_an_array(same: Any, value: Any, kind: str) -> None:
    """Of a 0-d array of integers as many zeros, as of any index; of another its memory in C order."""
    if kind == "uint64" and value == -1:
        value = 7
    host = np.array(np.real(value) if kind != "complex64" else value).astype(kind)
    same(lambda xp: bytes(xp.array(host)), message=False)
    same(lambda xp: bytes(xp.array(host).T), message=False)


def test_to_device() -> None:
    array = clarray.arange(5)
    assert array.to_device(array.device) is array
    for device in clarray.devices():
        moved = array.to_device(device)
        assert moved.device is device
        assert moved.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="stream must be None"):
        array.to_device(array.device, stream=1)


def test_elements_cannot_be_deleted(same: Callable[..., None]) -> None:
    def body(xp: Any) -> None:
        array = xp.arange(3)
        del array[0]

    same(body)


def test_arrays_as_annotations() -> None:
    alias = clarray.ndarray[tuple[int, int], np.dtype[np.float32]]
    assert alias.__origin__ is clarray.DeviceArray
