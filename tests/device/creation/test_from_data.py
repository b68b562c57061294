"""Arrays from functions, iterators, buffers and text; parts of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

Same = Callable[..., None]


def test_from_function(same: Same) -> None:
    same(lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (3, 4), dtype="int32"))
    same(lambda xp: xp.fromfunction(lambda i, scale: i * scale, (5,), dtype="float32", scale=2))
    same(lambda xp: xp.fromfunction(lambda i, j: 7, (3, 4), dtype="int64"))


def test_from_iterators_and_text(same: Same) -> None:
    same(lambda xp: xp.fromiter((k * k for k in range(9)), "int16"))
    same(lambda xp: xp.fromiter(range(9), "float32", 4))
    same(lambda xp: xp.fromiter(range(3), "float32", 4))
    same(lambda xp: xp.fromstring("1, 2, 3", "int32", sep=","))
    same(lambda xp: xp.fromstring("1 2 3", "float32", 2, sep=" "))
    same(lambda xp: xp.fromstring("1 2 3", "int8", sep=""))


def test_from_buffers(same: Same) -> None:
    text = bytes(range(24))
    same(lambda xp: xp.frombuffer(text, "int16"))
    same(lambda xp: xp.frombuffer(bytearray(text), "uint32", 3, 4))
    same(lambda xp: xp.frombuffer(text, "float32", offset=1), message=False)
    same(lambda xp: xp.frombuffer(text, "int32", 99))


def test_iterable() -> None:
    assert clarray.iterable(clarray.arange(2))
    assert not clarray.iterable(clarray.asarray(2))


@pytest.mark.parametrize("step", [1, 2])
def test_fields(same: Same, step: int) -> None:
    z = (np.arange(12) + 1j * np.arange(12)[::-1]).astype("complex64").reshape(3, 4)[:, ::step]

    def body(xp: Any) -> Any:
        array = xp.array(z)
        part = array[:, ::step].getfield("float32", 4)
        part[0] += 50
        array.setfield(7, "int16", 2)
        return array, part

    same(body)
    same(lambda xp: xp.arange(3).getfield("int32", 6))
    with pytest.raises(ValueError, match="multiples of 4 bytes"):
        clarray.arange(3).getfield("int32", 2)
