"""zarr: what is stored of device arrays, what it takes only as ndarrays, and its arrays as device arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray

zarr = pytest.importorskip("zarr")

VALUES = (np.arange(64, dtype=np.float32) * 7 % 13).reshape(8, 8)


def stored(chunks: tuple[int, int], **options: Any) -> Any:
    return zarr.create_array(zarr.storage.MemoryStore(), shape=VALUES.shape, dtype="f4", chunks=chunks, **options)


def written(array: Any, x: Any, at: Any = ...) -> np.ndarray:
    array[at] = x[at]
    return array[...]


TAKEN: dict[str, Callable[[Any], np.ndarray]] = {
    "several chunks": lambda x: written(stored((3, 8)), x),
    "a part": lambda x: written(stored((4, 4)), x, (slice(2, 5), slice(1, 7))),
    "one chunk that is kept when it is empty": lambda x: written(
        stored((8, 8), config={"write_empty_chunks": True}), x
    ),
    "one chunk, which is compared with zero": lambda x: written(stored((8, 8)), x),
    "array": lambda x: zarr.array(x)[...],
    "create_array": lambda x: zarr.create_array(zarr.storage.MemoryStore(), data=x)[...],
    "converted": lambda x: np.asarray(clarray.asarray(zarr.array(np.asarray(x)))),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken_as_ndarrays_are(name: str) -> None:
    np.testing.assert_array_equal(TAKEN[name](clarray.array(VALUES)), TAKEN[name](VALUES))


def test_saved(tmp_path: Path) -> None:
    zarr.save(str(tmp_path / "x.zarr"), clarray.array(VALUES))
    found = clarray.asarray(zarr.load(str(tmp_path / "x.zarr")))
    np.testing.assert_array_equal(found, VALUES)
