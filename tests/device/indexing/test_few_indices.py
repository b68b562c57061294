"""Reading few elements by an array of indices, which the compiled core copies where they lie in host memory."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._engine.launch.host_tier import kernels_only

Same = Callable[..., None]

SOURCES: dict[str, Callable[[Any], Any]] = {
    "vector": lambda x: x[0],
    "every second": lambda x: x[0, ::2],
    "backwards": lambda x: x[1, ::-1],
    "rows": lambda x: x,
    "rows apart": lambda x: x[::3],
    "columns": lambda x: x.T,
    "parts of rows": lambda x: x[:, 1:4],
    "a repeated row": lambda x: x[:1].repeat(5, 0),
    "boxes": lambda x: x.reshape(6, 2, 10),
    "nothing": lambda x: x[:0],
    "empty rows": lambda x: x[:, :0],
}
INDICES: dict[str, Callable[[Any], Any]] = {
    "one": lambda i: i[:1],
    "few": lambda i: i,
    "every second": lambda i: i[::2],
    "backwards": lambda i: i[::-1],
    "a table": lambda i: i.reshape(2, 3),
    "turned": lambda i: i.reshape(2, 3).T,
    "none": lambda i: i[:0],
    "no axes": lambda i: i[2],
}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def read(xp: ModuleType, source: str, index: str, dtype: str = "float32", integer: str = "int64") -> Any:
    x = xp.asarray((np.arange(120).reshape(6, 20) * 7 % 31).astype(dtype))
    i = xp.asarray(np.array([0, 3, 1, 4, 1, 2], integer))
    return SOURCES[source](x)[INDICES[index](i)]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("source", SOURCES)
def test_layouts(same: Same, source: str, index: str) -> None:
    same(lambda xp: read(xp, source, index))


@pytest.mark.parametrize("integer", INTEGERS)
def test_dtypes(same: Same, dtype: str, integer: str) -> None:
    same(lambda xp: [read(xp, source, "turned", dtype, integer) for source in ("vector", "rows")])


NUMBERS = (-6, -7, 6, 127, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**63, 2**64 - 1)
HELD = [(each, n) for each in INTEGERS for n in NUMBERS if np.iinfo(each).min <= n <= np.iinfo(each).max]


@pytest.mark.parametrize(("integer", "number"), HELD)
def test_bounds(same: Same, integer: str, number: int) -> None:
    """What is out of bounds raises, and what wraps around an integer's range does not come to be within them."""
    given, index = np.arange(6) + 0.5, np.array([2, number], integer)
    same(lambda xp: xp.asarray(given)[xp.asarray(index)])


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025])
@pytest.mark.parametrize("width", [1, 2, 1024, 1025])
def test_as_many_as_are_few(same: Same, size: int, width: int) -> None:
    table, index = np.arange(3.0 * width).reshape(3, width), np.arange(size) % 3
    same(lambda xp: xp.asarray(table)[xp.asarray(index)])


def test_what_is_read_is_what_was_written_before(same: Same) -> None:
    def body(xp: ModuleType) -> Any:
        x, i = xp.zeros(8), xp.asarray([1, 5, -1])
        found = [x[i]]
        x[5] = 2
        found.append(x[i])
        x += 1
        found.append(x[i] + x[i])
        i += 1
        return [*found, x[i - 1], x[i[:2]]]

    same(body)


def test_a_result_is_its_own(same: Same) -> None:
    def body(xp: ModuleType) -> Any:
        x = xp.asarray([1.0, 2.0, 3.0])
        y = x[xp.asarray([0, 2])]
        y[0] = 9
        return [x, y, y.base is None, y.flags.writeable]

    same(body)


@pytest.mark.parametrize("source", ["rows", "columns", "vector"])
def test_kernels_lay_out_the_same(source: str) -> None:
    found = read(clarray, source, "turned")
    with kernels_only():
        expected = read(clarray, source, "turned")
    assert found.strides == expected.strides
    assert found.tolist() == expected.tolist()
