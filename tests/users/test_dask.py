"""Dask over clarray's arrays: what importing registers, and every kind of operation on the threaded scheduler."""

from __future__ import annotations

import doctest
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import clarray
from tests.users import dask_holders
from tests.users.dask_operations import OPERATIONS, SHAPE, VALUES, pair, values

pytest.importorskip("dask.array")

import dask
import dask.array as da
from dask.callbacks import Callback
from dask.sizeof import sizeof

import clarray.dask
from clarray.dask import results

ROOT = Path(__file__).resolve().parents[2]


def in_fresh_process(code: str, *places: Path) -> str:
    """Run code where the checkout, and what else is named, can be imported."""
    paths = [str(place) for place in (*places, ROOT)]
    code = f"import sys; sys.path[:0] = {paths!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the entry points of pyproject.toml, as an installation has them."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in each.items()) for group, each in declared.items()]
    info = tmp_path / "clarray_entries-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clarray-entries\nVersion: 1\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    return tmp_path


# Registration -------------------------------------------------------------------------------------


def test_clarray_imports_no_dask() -> None:
    code = "import clarray; x = clarray.ones(3).sum(); assert not {'dask', 'distributed'} & set(sys.modules)"
    in_fresh_process(code)


def test_dask_imports_no_clarray(installed: Path) -> None:
    code = (
        "import dask.array, dask.sizeof; assert '_clarray_sizeof' in sys.modules\n"
        "dask.sizeof.sizeof(dask.array.ones(3).compute())\n"
        "assert not {'clarray', 'pyopencl'} & set(sys.modules)\n"
        "import clarray\n"
        "assert 'clarray.dask' not in sys.modules\n"
        "print(dask.sizeof.sizeof(clarray.ones(1000)))\n"
        "assert 'clarray.dask' in sys.modules"
    )
    assert in_fresh_process(code, installed).strip() == "8000"


def test_the_entry_point_makes_a_backend(installed: Path) -> None:
    code = (
        "import dask.array as da\n"
        "x = da.arange(10, chunks=5).to_backend('clarray')\n"
        "print(type(x.compute()).__name__, type((x + 1).sum().compute()).__name__)"
    )
    assert in_fresh_process(code, installed).split() == ["DeviceArray", "DeviceArray"]


def test_registering_again_makes_no_difference() -> None:
    before = len(Callback.active)
    clarray.dask.register()
    assert len(Callback.active) == before


def test_examples() -> None:
    found = doctest.testmod(clarray.dask)
    assert (found.failed, found.attempted > 10) == (0, True)


# Creation -----------------------------------------------------------------------------------------

CREATIONS = {
    "ones": lambda xp, **kw: xp.ones((5, 6), **kw),
    "ones of no axes": lambda xp, **kw: xp.ones((), **{**kw, "chunks": ()}),
    "zeros": lambda xp, **kw: xp.zeros(7, **kw),
    "full": lambda xp, **kw: xp.full((5, 6), 3, **kw),
    "arange": lambda xp, **kw: xp.arange(3, 20, 2, **kw),
}


@pytest.mark.parametrize("dtype", [None, np.float32, np.int8, np.complex128])
@pytest.mark.parametrize("made", CREATIONS.values(), ids=CREATIONS)
def test_creation(made: Any, dtype: Any) -> None:
    expected = made(da, chunks=4, dtype=dtype).compute()
    with dask.config.set({"array.backend": "clarray"}):
        by_config = made(da, chunks=4, dtype=dtype)
    for lazy in (made(clarray.dask, chunks=4, dtype=dtype), by_config):
        found = lazy.compute()
        assert isinstance(lazy._meta, clarray.DeviceArray) or not lazy.ndim
        assert isinstance(found, clarray.DeviceArray)
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


def test_empty() -> None:
    found = clarray.dask.empty((5, 6), chunks=4, dtype=np.int16).compute()
    assert (type(found), found.shape, found.dtype) == (clarray.DeviceArray, (5, 6), np.int16)


@pytest.mark.parametrize("name", ["ones_like", "zeros_like", "empty_like"])
def test_creation_like(name: str) -> None:
    found = getattr(da, name)(pair("clarray")[0]).compute()
    assert (type(found), found.shape, found.dtype) == (clarray.DeviceArray, SHAPE, np.float64)


def test_random_numbers() -> None:
    def drawn(seed: int) -> Any:
        rng = clarray.dask.default_rng(seed)
        return dask.compute(rng.normal(size=(40, 30), chunks=16), rng.integers(0, 9, 100, chunks=30))

    normal, whole = drawn(1)
    assert {type(normal), type(whole)} == {clarray.DeviceArray}
    assert (abs(float(normal.mean())) < 0.15, abs(float(normal.std()) - 1) < 0.1) == (True, True)
    assert (int(whole.min()), int(whole.max())) == (0, 8)
    again, _ = drawn(1)
    other, _ = drawn(2)
    assert again.tolist() == normal.tolist() != other.tolist()
    blocks = [normal[:16, :16].tolist(), normal[16:32, :16].tolist()]
    assert blocks[0] != blocks[1]


def test_to_backend() -> None:
    x = da.from_array(VALUES, 7)
    ours = x.to_backend("clarray")
    assert ours.to_backend("clarray") is ours
    assert isinstance(ours._meta, clarray.DeviceArray)
    theirs = ours.to_backend("numpy")
    assert isinstance(theirs._meta, np.ndarray)
    assert type(theirs.compute()) is np.ndarray
    assert np.array_equal(theirs.compute(), VALUES)


def test_to_backend_copies() -> None:
    """Expressions of memory that others may write to are not fused."""
    blocks = da.from_array(VALUES, 7).to_backend("clarray").persist()
    first = blocks.blocks[0, 0].compute()
    assert not clarray.shares_memory(first, VALUES)


# Operations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str) -> None:
    operation = OPERATIONS[name]
    expected = np.asarray(operation(*pair("numpy")).compute())
    found = operation(*pair("clarray")).compute()
    assert isinstance(found, clarray.DeviceArray)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(values(found), expected, 1e-10, 1e-12)


def test_solve_is_right_on_the_host() -> None:
    """Dask asks SciPy for triangular solutions unless blocks are CuPy's. docs/engineering/dask.md has the patch."""
    code = (
        "import os; os.environ.pop('SCIPY_ARRAY_API', None)\n"
        "import numpy as np, dask.array as da, clarray.dask\n"
        "a = np.random.default_rng(1).normal(size=(24, 24)) + 9 * np.eye(24); b = a[:, 0] * 2\n"
        "x, y = (da.from_array(v, 12).to_backend('clarray') for v in (a, b))\n"
        "print(np.allclose(np.asarray(da.linalg.solve(x, y).compute()), np.linalg.solve(a, b)))"
    )
    assert in_fresh_process(code).strip() == "True"


def test_files(tmp_path: Path) -> None:
    x = pair("clarray")[0]
    da.to_npy_stack(tmp_path / "stack", x.rechunk((7, -1)).to_backend("numpy"))
    assert np.array_equal(da.from_npy_stack(tmp_path / "stack").to_backend("clarray").compute().get(), VALUES)


def test_zarr(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    pair("clarray")[0].to_backend("numpy").to_zarr(str(tmp_path / "x.zarr"))
    assert np.array_equal(da.from_zarr(str(tmp_path / "x.zarr")).to_backend("clarray").compute().get(), VALUES)


def test_hdf5(tmp_path: Path) -> None:
    pair("clarray")[0].to_backend("numpy").to_hdf5(tmp_path / "x.h5", "/x")
    with h5py.File(tmp_path / "x.h5") as file:
        found = da.from_array(file["/x"]).to_backend("clarray")
        assert np.array_equal(found.compute().get(), VALUES)
        assert np.allclose(found.sum(axis=0).compute().get(), VALUES.sum(0), rtol=1e-14)


# A task's result is computed ----------------------------------------------------------------------


def is_computed(array: clarray.DeviceArray) -> bool:
    return array._node.memory is not None


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_results_are_computed_as_tasks_end(scheduler: str) -> None:
    x = clarray.dask.default_rng(1).normal(size=(40, 40), chunks=20)
    with dask.config.set(scheduler=scheduler):
        chunks = x.sum(axis=1).persist()
    assert [is_computed(block) for block in chunks.dask.values()] == [True] * 2


@pytest.mark.parametrize("name", dask_holders.HOLDERS)
def test_results_within_others_are_computed(name: str) -> None:
    found = dask.delayed(dask_holders.made)(name).compute(scheduler="threads")
    assert dask_holders.computed(name, found) == dask_holders.NUMBER


def test_what_holds_no_arrays_is_not_searched_for_long() -> None:
    """A program's own objects may hang on a result: its modules, functions and frames are not gone through."""
    began = time.perf_counter()
    assert list(results.arrays_within([results, results.compute, clarray, sys._getframe(), [0] * 10**6])) == []
    assert time.perf_counter() - began < 5


def test_without_the_callback_results_are_pending() -> None:
    """Without the callback, the results that the tests above ask for are pending."""
    results._CALLBACK.unregister()
    try:
        found = dask.delayed(lambda: clarray.arange(10.0) + 1)().compute(scheduler="threads")
    finally:
        results.watch_tasks()
    assert not is_computed(found)


def test_creating_brings_a_lost_callback_back() -> None:
    results._CALLBACK.unregister()
    clarray.dask.ones(3)
    assert results._CALLBACK._callback in Callback.active


def test_the_size_is_of_what_is_computed() -> None:
    x = clarray.arange(1000.0) + 1
    assert (sizeof(x), is_computed(x)) == (8000, True)
    assert sizeof(clarray.broadcast_to(x[:1], (50, 1))) == 8
    assert sizeof(x.reshape(10, 100).T[::2]) == 4000
    assert sizeof(clarray.zeros((0, 3))) == 0
