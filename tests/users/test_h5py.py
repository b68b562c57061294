"""h5py: device arrays are stored as ndarrays are; masks must be ndarrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import clarray

h5py = pytest.importorskip("h5py")

VALUES = (np.arange(48, dtype=np.float32) * 7 % 13).reshape(6, 8)


def test_stored_and_read(tmp_path: Path) -> None:
    x = clarray.array(VALUES)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made, filled = file.create_dataset("made", data=x), file.create_dataset("filled", VALUES.shape, "f4")
        filled[...] = x
        filled[1:3] = x[1:3] * 2
        np.testing.assert_array_equal(made[...], VALUES)
        np.testing.assert_array_equal(filled[1:3], VALUES[1:3] * 2)
        found = clarray.asarray(made)
        assert isinstance(found, clarray.DeviceArray)
        np.testing.assert_array_equal(found, VALUES)


def test_masks(tmp_path: Path) -> None:
    x = clarray.array(VALUES)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        stored = file.create_dataset("x", data=x)
        with pytest.raises(TypeError):
            stored[x > 5]
        np.testing.assert_array_equal(stored[(x > 5).get()], VALUES[VALUES > 5])
