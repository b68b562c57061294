"""``ndarray(...)`` and the attributes that are set: shape, dtype, strides, parts of complex numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

from ..conftest import assert_same, check_same

pytestmark = pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # each NumPy has its own
BYTES = bytes(range(1, 25))

NEW: dict[str, Callable[[Any], Any]] = {
    "shape": lambda xp: xp.ndarray((2, 3), "f4").shape,
    "int": lambda xp: xp.ndarray(3, "i2").shape,
    "0-d": lambda xp: xp.ndarray((), "f4").shape,
    "empty": lambda xp: xp.ndarray((0, 3), "i1"),
    "order": lambda xp: xp.ndarray((2, 3), "f4", order="F").strides,
    "another order": lambda xp: xp.ndarray((2, 3), "f4", order="K").strides,
    "strides": lambda xp: xp.ndarray((2, 3), "f4", strides=(4, 8)).strides,
    "strides outside": lambda xp: xp.ndarray((2, 3), "f4", strides=(400, 8)),
    "strides of another length": lambda xp: xp.ndarray(2, "f4", strides=(4, 4)),
    "negative": lambda xp: xp.ndarray(-1, "f4"),
    "no number": lambda xp: xp.ndarray("ab", "f4"),
    "bytes": lambda xp: xp.ndarray((2, 3), "u1", BYTES),
    "wider": lambda xp: xp.ndarray((2, 3), "<u4", BYTES),
    "offset": lambda xp: xp.ndarray(2, "<u2", BYTES, 2),
    "offset and strides": lambda xp: xp.ndarray((2, 2), "<u2", BYTES, 4, (8, 2)),
    "backwards": lambda xp: xp.ndarray(3, "u1", BYTES, 2, (-1,)),
    "Fortran order": lambda xp: xp.ndarray((2, 3), "u1", BYTES, order="F"),
    "too small": lambda xp: xp.ndarray((2, 3), "f8", BYTES),
    "too small behind the offset": lambda xp: xp.ndarray(6, "f4", BYTES, 4),
    "strides beyond": lambda xp: xp.ndarray(6, "u1", BYTES, 0, (8,)),
    "no buffer": lambda xp: xp.ndarray(2, "f4", 5),
    "read-only": lambda xp: xp.ndarray(2, "u1", BYTES).flags.writeable,
    "of an array": lambda xp: xp.ndarray((2, 2), "u1", xp.arange(1, 9, dtype="u1"), 1),
    "of an array's part": lambda xp: xp.ndarray(2, "i2", xp.arange(8, dtype="i2")[2:], 4),
    "of an array, strides": lambda xp: xp.ndarray((2, 2), "i2", xp.arange(8, dtype="i2"), 0, (8, 4)),
    "of an array, order": lambda xp: xp.ndarray((2, 3), "u1", xp.arange(8, dtype="u1"), order="F"),
    "of an array, too small": lambda xp: xp.ndarray(9, "u1", xp.arange(8, dtype="u1")),
    "of an array, strides beyond": lambda xp: xp.ndarray(5, "u1", xp.arange(8, dtype="u1"), 0, (2,)),
    "of an array that is not contiguous": lambda xp: xp.ndarray(2, "u1", xp.arange(8, dtype="u1")[::2]),
    "of a read-only array": lambda xp: xp.ndarray(2, "u1", xp.ones((4, 4), "u1").diagonal()[:1]).flags.writeable,
}


@pytest.mark.parametrize("body", NEW.values(), ids=NEW)
def test_new_arrays(body: Any) -> None:
    check_same(body, message=False)


def test_messages() -> None:
    for name in ("too small", "of an array, too small", "strides beyond", "of an array, strides beyond"):
        check_same(NEW[name])


def test_arrays_look_at_arrays(same: Any) -> None:
    def body(xp: Any) -> Any:
        x = xp.arange(8, dtype="f4")
        seen = xp.ndarray((2, 2), "f4", x, 8)
        pending = x * 2
        seen[0] = -1
        x[5] = 7
        return x, seen, pending, seen.base is x, seen.flags.owndata

    same(body)


def test_arrays_look_at_the_hosts_memory_where_they_can() -> None:
    memory = bytearray(16)
    made = clarray.ndarray(4, "i4", memory)
    made[1] = 5
    assert made.tolist() == [0, 5, 0, 0]
    assert np.frombuffer(memory, "i4").tolist() == ([0, 5, 0, 0] if made.device.capabilities.host_memory else [0] * 4)


def test_what_a_device_cannot_read_raises() -> None:
    for args in (((2,), "f4", clarray.zeros(16, "u1"), 1), ((2,), "f4", clarray.zeros(16, "u1"), 0, (6,))):
        with pytest.raises(ValueError, match="multiples of 4 bytes"):
            clarray.ndarray(*args)
    with pytest.raises(ValueError, match="offset"):
        clarray.ndarray(2, "u1", bytearray(8), -1)
    with pytest.raises(TypeError, match="no dtype"):
        clarray.ndarray(2, "O")
    with pytest.raises(TypeError, match="shape"):
        clarray.ndarray()


# Attributes that are set --------------------------------------------------------------------------


def start(xp: Any) -> Any:
    return xp.arange(12, dtype="i4").reshape(3, 4)


def after(statement: str, begin: Callable[[Any], Any] = start) -> Callable[[Any], Any]:
    """The array after a statement, and a view that was taken before it."""

    def body(xp: Any) -> Any:
        x = begin(xp)
        before = x[:1]
        exec(statement, {"x": x, "xp": xp})
        x[...] += 1
        return x, before, x.strides, x.flags.c_contiguous, x.flags.writeable

    return body


LINE: Callable[[Any], Any] = lambda xp: xp.arange(12, dtype="i4")  # noqa: E731
SET: dict[str, Callable[[Any], Any]] = {
    "shape": after("x.shape = (4, 3)"),
    "shape of one number": after("x.shape = 12"),
    "shape that follows": after("x.shape = (2, -1)"),
    "shape by a list": after("x.shape = [2, 6]"),
    "shape of another size": after("x.shape = (5,)"),
    "shape of a view": after("x.shape = (3, 2, 2)", lambda xp: start(xp)[::-1]),
    "shape that needs a copy": after("x.shape = (12,)", lambda xp: start(xp).T),
    "no shape": after("x.shape = 'ab'"),
    "dtype": after("x.dtype = 'u4'"),
    "narrower dtype": after("x.dtype = 'i2'"),
    "wider dtype": after("x.dtype = 'i8'"),
    "dtype that does not fit": after("x.dtype = 'i8'", lambda xp: xp.arange(3, dtype="i4")),
    "dtype of steps": after("x.dtype = 'i2'", lambda xp: start(xp)[:, ::2]),
    "strides": after("x.strides = (4, 12)"),
    "strides of a view": after("x.strides = (8,)", lambda xp: LINE(xp)[2:5]),
    "strides beyond": after("x.strides = (64, 4)"),
    "strides of another length": after("x.strides = (4,)"),
    "flat": after("x.flat = [7, 8, 9]"),
    "real": after("x.real = 3"),
    "imag": after("x.imag = 3"),
    "imag of complex": after("x.imag = 3", lambda xp: xp.ones(3, "c8")),
    "size": after("x.size = 3"),
    "delete the shape": after("del x.shape"),
}


@pytest.mark.parametrize("body", SET.values(), ids=SET)
def test_set(body: Any) -> None:
    check_same(body, message=False)


def test_a_shape_that_needs_a_copy_says_so() -> None:
    check_same(after("x.shape = (12,)", lambda xp: start(xp).T))


def test_the_shape_of_a_pending_value(same: Any) -> None:
    def body(xp: Any) -> Any:
        x = xp.arange(6, dtype="f4") * 2
        y = x + 1
        x.shape = 2, 3
        x += 1
        return x, y

    same(body)


def test_strides_warn_as_numpys() -> None:
    for xp in (np, clarray):
        x = xp.zeros((2, 3), "f4")
        if np.lib.NumpyVersion(np.__version__) >= "2.4.0" or xp is clarray:
            with pytest.warns(DeprecationWarning, match="strides"):
                x.strides = (4, 8)


@pytest.mark.filterwarnings("error:Setting the:DeprecationWarning")
@pytest.mark.parametrize("statement", ["x.shape = (4, 3)", "x.shape = 'ab'", "x.dtype = 'u4'", "x.dtype = 'none'"])
def test_attributes_warn_as_numpys(statement: str) -> None:
    check_same(after(statement), message=False)


# Bytes and parts ----------------------------------------------------------------------------------


def test_bytes(same: Any) -> None:
    for make in (start, lambda xp: start(xp).T, lambda xp: start(xp) + 1, lambda xp: xp.zeros((0, 2), "f4")):
        same(lambda xp, make=make: bytes(make(xp)))
        same(lambda xp, make=make: make(xp).data.tolist())
    assert clarray.zeros(2, "f4").data.readonly
    if sys.version_info < (3, 12):
        with pytest.raises(TypeError):
            memoryview(clarray.zeros(2, "f4"))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["bool", "i2", "f4", "c8"])
def test_parts_and_conjugates(dtype: str) -> None:
    def body(xp: Any) -> Any:
        x = xp.asarray([3, 0, 1]).astype(dtype)
        imag = x.imag
        found = [imag, imag.flags.writeable, xp.imag(x).flags.writeable, x.conj() is x, x.conjugate() is x]
        return [*found, x.conj(), x.real, x.real.flags.writeable]

    check_same(body)
    if dtype != "c8":
        check_same(lambda xp: xp.ones(3, dtype).imag.__setitem__(0, 1))
        assert_same(
            np.conjugate(clarray.ones(3, dtype)) + 0, np.conjugate(np.ones(3, dtype)) + 0
        ) if dtype != "bool" else None
