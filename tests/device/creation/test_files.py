"""Arrays in files: what NumPy writes is read, and the other way round."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

import clarray

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_arrays_by_themselves(tmp_path: Path) -> None:
    clarray.save(tmp_path / "x.npy", clarray.asarray(X).T)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X.T)
    found = clarray.load(tmp_path / "x.npy")
    assert isinstance(found, clarray.DeviceArray)
    assert (found.dtype, found.tolist()) == (X.dtype, X.T.tolist())


def test_a_mapped_file_is_read_where_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    found = clarray.load(tmp_path / "x.npy", mmap_mode="r")
    assert found.tolist() == X.tolist()
    if found.device.capabilities.host_memory:
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1


@pytest.mark.parametrize("name", ["savez", "savez_compressed"])
def test_several_arrays(name: str, tmp_path: Path) -> None:
    x = clarray.asarray(X)
    getattr(clarray, name)(tmp_path / "two.npz", x, more=x > 3, text=np.array("a"))
    with clarray.load(tmp_path / "two.npz") as archive:
        assert sorted(archive) == sorted(archive.files) == ["arr_0", "more", "text"]
        assert len(archive) == 3
        assert archive["arr_0"].tolist() == X.tolist()
        assert archive["more"].dtype == bool
        assert isinstance(archive["text"], np.ndarray)


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    clarray.savetxt(path, clarray.asarray(X), delimiter=",", fmt="%g")
    np.savetxt(path, clarray.asarray(X), delimiter=",", fmt="%g")
    for read in (clarray.loadtxt, clarray.genfromtxt):
        found = read(path, delimiter=",", dtype=np.float32)
        assert isinstance(found, clarray.DeviceArray)
        assert found.tolist() == X.tolist()
    columns = clarray.loadtxt(path, delimiter=",", dtype=np.float32, unpack=True)
    assert columns.tolist() == X.T.tolist()


def test_bytes_and_pickles(tmp_path: Path) -> None:
    x = clarray.asarray(X)[:, ::2]
    x.tofile(tmp_path / "x.bin")
    assert clarray.fromfile(tmp_path / "x.bin", np.float32, offset=4).tolist() == X[:, ::2].ravel()[1:].tolist()
    x.tofile(tmp_path / "x.txt", sep=" ")
    assert clarray.fromfile(tmp_path / "x.txt", np.float32, sep=" ").tolist() == X[:, ::2].ravel().tolist()
    x.dump(tmp_path / "x.pickle")
    file = io.BytesIO()
    x.dump(file)
    assert (tmp_path / "x.pickle").read_bytes() == file.getvalue()
    assert pickle.loads(x.dumps()).tolist() == x.tolist()
