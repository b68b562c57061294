"""What a worker of Dask's keeps of its results, and where: on the device, in host memory, on disk; parts of arrays."""

from __future__ import annotations

import os
import pickle
import stat
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarray
from clarray._core.device_array import is_scalar
from clarray._engine.runtime import current_device

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

import dask
from dask.sizeof import sizeof
from distributed import Client

import clarray.dask
from clarray.dask import results, spilling

LIMIT = 1 << 30


# From device to host to disk ----------------------------------------------------------------------


def test_results_go_from_device_to_host_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilling, "device_bytes", lambda value: int(value.nbytes))
    kept = spilling.DeviceSpillBuffer(str(tmp_path / "storage"), target=25_000, device_limit=20_000)
    made = {f"x{i}": clarray.arange(1000.0) + i for i in range(7)}  # of 8000 bytes
    for key, value in made.items():
        kept[key] = value
    assert (list(kept.device), len(kept.fast), len(kept.slow)) == (["x5", "x6"], 3, 2)
    assert sorted(kept) == sorted(made)
    assert {key: float(value[1]) for key, value in kept.items()} == {f"x{i}": i + 1 for i in range(7)}
    assert sum(float(value[0]) for value in kept.values()) == 21
    assert (list(kept.device), len(kept.fast), len(kept.slow)) == (["x5", "x6"], 3, 2)
    assert ("x0" in kept, "x9" in kept, len(kept)) == (True, False, 7)
    for key, value in made.items():
        assert kept[key].tolist() == value.tolist()
    assert len(kept.device) == 2
    assert kept.evict() > 8000
    kept["x0"] = clarray.zeros(3)
    assert kept["x0"].tolist() == [0, 0, 0]
    for key in made:
        del kept[key]
    assert (len(kept), list(kept)) == (0, [])


def test_other_results_stay_on_the_host(tmp_path: Path) -> None:
    kept = spilling.DeviceSpillBuffer(str(tmp_path / "storage"), target=10_000, device_limit=20_000)
    kept["x"], kept["y"] = np.arange(1000.0), "text"
    assert (len(kept.device), len(kept.fast), kept["y"]) == (0, 2, "text")


def test_what_spilling_frees_is_given_back(tmp_path: Path) -> None:
    kept = spilling.HostSpillBuffer(str(tmp_path / "storage"), 1 << 30)
    kept["x"] = clarray.zeros(1 << 20).evaluate()
    assert kept.evict() == 8 << 20
    assert clarray.memory_info().pooled == 0
    assert kept["x"].sum() == 0


def test_a_result_off_the_device_is_pickled() -> None:
    value = (clarray.arange(1000.0), "text", [clarray.ones(3)])
    held = pickle.loads(pickle.dumps(spilling.SpilledResult(value), 5))
    assert sys.getsizeof(held) > 8000
    first, text, (second,) = held.value()
    assert (first.sum(), text, second.tolist()) == (499500, "text", [1, 1, 1])


def test_what_cannot_be_pickled_stays_on_the_device(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilling, "device_bytes", sizeof)
    kept = spilling.DeviceSpillBuffer(str(tmp_path / "storage"), target=1 << 20, device_limit=10_000)
    held = [clarray.arange(1000.0), threading.Lock()]
    kept["held"] = held
    kept["other"] = clarray.arange(1000.0)
    assert kept["held"] is held
    assert "Cannot pickle 'held'" in caplog.text
    assert kept.cumulative_metrics["device-write", "count"] == 0


# Parts --------------------------------------------------------------------------------------------

SMALL_PARTS = {
    "columns": lambda x: x[:, :4],
    "an element": lambda x: x[3:4, 5:6],
    "repeated": lambda x: clarray.broadcast_to(x[:1, :4], (70, 4)),
    "turned": lambda x: x[::-64, ::-2].T,
    "nothing": lambda x: x[:0],
}


@pytest.mark.parametrize("part", SMALL_PARTS.values(), ids=SMALL_PARTS)
def test_a_small_part_does_not_keep_the_whole(part: Any) -> None:
    x = clarray.arange(65536.0).reshape(256, 256).evaluate()
    found, expected = results.compact(part(x)), part(x)
    assert (found.dtype, found.shape, found.tolist()) == (expected.dtype, expected.shape, expected.tolist())
    assert is_scalar(found) == is_scalar(expected)
    assert found._node.memory.nbytes == results.nbytes(expected)


def test_other_results_are_not_copied() -> None:
    class Own(clarray.DeviceArray):
        pass

    x = clarray.arange(65536.0).reshape(256, 256).evaluate()
    for kept in (x, x.T, x[:200], x[:200, :1].view(Own), [x[:1]], "text", clarray.arange(9.0)[:2]):
        assert results.compact(kept) is kept


# More than a device holds -------------------------------------------------------------------------

OWN_MEMORY = {"CLARRAY_SIMULATE_OWN_MEMORY": "1", "CLARRAY_MEMORY_LIMIT": "48MiB"}


def test_more_than_a_device_may_hold() -> None:
    """Chunks of twice the device's memory, whose borders others need: what waits is moved to the host, and back."""
    where = {"devices": [current_device()], "threads_per_worker": 1, "memory_limit": LIMIT, "env": OWN_MEMORY}
    with (
        clarray.dask.LocalOpenCLCluster(**where, device_memory_limit=0.4, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        x = clarray.dask.default_rng(3).normal(size=(4096, 3072), chunks=512)
        found = x.map_overlap(lambda b: b[2:-2] + b[:-4] - b[4:], (2, 0), trim=False, boundary="periodic").persist()
        assert float(found.sum().compute()) == pytest.approx(float(x.sum().compute()))
        said = client.run(lambda dask_worker: (dict(dask_worker.data.cumulative_metrics), clarray.memory_info()))
    ((ways, memory),) = said.values()
    assert ways["device-write", "bytes"] > 48 << 20
    assert ways["device-read", "bytes"] > 0
    assert memory.peak <= memory.limit == 48 << 20


@pytest.mark.skipif(os.name != "posix", reason="modes of Unix")
@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_what_is_in_a_spill_folder_is_this_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """Dask loads what lies in the folder as results, and where others can write somebody else has put it there."""
    elsewhere = tmp_path / "temporary"
    local = tmp_path / "local"
    for folder in (elsewhere, local, local / "storage"):
        folder.mkdir()
    (local / "storage" / "planted").write_bytes(b"a pickle")
    local.chmod(mode)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    with dask.config.set({"distributed.worker.memory.target": 0.5}):
        kept = spilling.make_storage(str(local), 1 << 20, 0.5)
    assert not list(kept)
    (made,) = [path for path in (*local.iterdir(), *elsewhere.iterdir()) if path.name != "storage"]
    assert made.parent == (local if mode == 0o700 else elsewhere)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert ("--local-directory" in caplog.text) == (mode == 0o777)
