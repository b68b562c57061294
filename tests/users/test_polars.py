"""polars asks for ndarrays by their class: what it refuses, what to write instead, and its columns as device arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clarray

pl = pytest.importorskip("polars")

VALUES = np.arange(12, dtype=np.float32) % 5
COLUMN = pl.Series("a", VALUES)

CALLS: dict[str, Callable[[Any], Any]] = {
    "series": lambda x: pl.Series("a", x),
    "frame": lambda x: pl.DataFrame({"a": x}),
    "frame of a matrix": lambda x: pl.from_numpy(x.reshape(3, 4)),
    "literal": lambda x: pl.select(pl.lit(x)),
    "filter": lambda x: COLUMN.filter(x > 2),
    "added": lambda x: COLUMN + x,
}


@pytest.mark.parametrize("name", CALLS)
def test_ndarrays_are_what_it_takes(name: str) -> None:
    x = clarray.array(VALUES)
    with pytest.raises(TypeError, match="DeviceArray"):
        CALLS[name](x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: pl.Series("a", x.get()),
        lambda x: pl.DataFrame({"a": x.get()}),
        lambda x: pl.from_numpy(x.reshape(3, 4).get()),
        lambda x: COLUMN.filter((x > 2).get()),
        lambda x: COLUMN + x.get(),
    ],
    ids=["series", "frame", "frame of a matrix", "filter", "added"],
)
def test_copied(call: Callable[[Any], Any]) -> None:
    class Host(np.ndarray):  # NumPy's own, with the method that copies
        def get(self) -> np.ndarray:
            return np.asarray(self)

    assert call(clarray.array(VALUES)).equals(call(VALUES.view(Host)))


def test_columns_as_device_arrays() -> None:
    x = clarray.asarray(COLUMN)
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x, VALUES)
    frame = pl.DataFrame({"a": VALUES, "b": VALUES * 2})
    np.testing.assert_array_equal(clarray.asarray(frame), frame.to_numpy())
