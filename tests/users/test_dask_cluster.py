"""Dask's clusters over clarray's arrays: workers of a device each, what travels between them, and what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import clarray
from clarray._engine.runtime import current_device
from tests.users import dask_holders
from tests.users.dask_operations import CHUNKS, OPERATIONS, VALUES, pair, values

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

import dask
import dask.array as da
from distributed import Client, KilledWorker, LocalCluster
from distributed.protocol.serialize import deserialize, serialize

import clarray.dask
from clarray.dask.cluster import device_indices
from clarray.dask.worker import device_for_worker

LIMIT = 1 << 30


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two workers of two threads on the device in use."""
    where = {"devices": [current_device()], "n_workers": 2, "threads_per_worker": 2, "memory_limit": LIMIT}
    with (
        clarray.dask.LocalOpenCLCluster(**where, device_memory_limit="100MB", dashboard_address=":0") as cluster,
        Client(cluster) as found,
    ):
        yield found


def device_name() -> str:
    return str(current_device())


# Clusters -----------------------------------------------------------------------------------------


def test_workers_use_the_device(client: Client) -> None:
    assert list(client.run(device_name).values()) == [device_name()] * 2


def test_workers_have_a_limit(client: Client) -> None:
    host = current_device().capabilities.host_memory
    limits = client.run(lambda: clarray.config.memory_limit)
    assert set(limits.values()) == {int(LIMIT * 0.8) if host else None}
    kinds = client.run(lambda dask_worker: type(dask_worker.data).__name__)
    assert set(kinds.values()) == {"HostSpillBuffer" if host else "DeviceSpillBuffer"}


def test_a_worker_with_no_room_does_not_start() -> None:
    """Dask would pause it as soon as it stands there, and every computation would wait for it for good."""
    where = {"devices": [current_device()], "memory_limit": "64MiB", "silence_logs": "CRITICAL"}
    with pytest.raises(RuntimeError) as found:
        clarray.dask.LocalOpenCLCluster(**where, dashboard_address=":0")
    cause: BaseException | None = found.value
    while cause is not None and not isinstance(cause, MemoryError):
        cause = cause.__cause__
    assert "give it a larger memory_limit" in str(cause)


def test_devices_are_named_as_elsewhere() -> None:
    listed = clarray.devices()
    assert device_indices([listed[0], 0, "0"]) == [0, 0, 0]
    assert device_indices(0) == [0]
    default = device_indices(None)
    assert {listed[index].cl_device.type for index in default} == {clarray.devices()[default[0]].cl_device.type}
    with pytest.raises(ValueError, match="no device 99"):
        device_indices([99])


def test_workers_are_processes() -> None:
    with pytest.raises(ValueError, match="processes=False"):
        clarray.dask.LocalOpenCLCluster(processes=False)


# Operations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str, client: Client) -> None:
    operation = OPERATIONS[name]
    expected = np.asarray(operation(*pair("numpy")).compute(scheduler="sync"))
    found = client.compute(operation(*pair("clarray"))).result(timeout=60)
    assert isinstance(found, clarray.DeviceArray)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(values(found), expected, 1e-10, 1e-12)


def test_chunks_travel_and_stay_on_the_device(client: Client) -> None:
    x = pair("clarray")[0].persist()
    moved = x.rechunk((3, 30)).persist()
    assert np.array_equal(moved.compute().get(), VALUES)
    assert len({where for each in client.who_has(x).values() for where in each}) == 2
    kinds = client.run(lambda dask_worker: {type(value).__name__ for value in dask_worker.data.values()})
    assert set().union(*kinds.values()) == {"DeviceArray"}


def test_large_arrays_are_rechunked(client: Client) -> None:
    """By tasks: Dask would choose its other method, which takes memory of the host's only."""
    x = clarray.dask.arange(1_000_000, chunks=50_000).reshape(1000, 1000)
    found = client.compute(x.rechunk((1000, 20)).rechunk((20, 1000))).result(timeout=60)
    assert np.array_equal(found.get(), np.arange(1_000_000).reshape(1000, 1000))


def test_random_numbers(client: Client) -> None:
    """Those that the threads of one process draw: of the seed and the chunk, whoever draws it."""

    def drawn(seed: int) -> list[Any]:
        rng = clarray.dask.default_rng(seed)
        return [
            rng.normal(size=(40, 30), chunks=16),
            rng.integers(0, 9, 100, chunks=30),
            rng.poisson(4.0, 50, chunks=20),
        ]

    found = client.gather(client.compute(drawn(1)))
    for array, here in zip(found, dask.compute(*drawn(1), scheduler="threads"), strict=True):
        assert isinstance(array, clarray.DeviceArray)
        assert array.tolist() == here.tolist()
    assert client.compute(drawn(2)[0]).result(timeout=60).tolist() != found[0].tolist()


def test_zarr(client: Client, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    client.compute(pair("clarray")[0].to_backend("numpy").to_zarr(str(tmp_path / "x.zarr"), compute=False)).result()
    read = da.from_zarr(str(tmp_path / "x.zarr")).to_backend("clarray")
    assert np.array_equal(client.compute(read).result(timeout=60).get(), VALUES)
    assert np.allclose(client.compute(read.sum(axis=0)).result(timeout=60).get(), VALUES.sum(0), rtol=1e-14)


def test_hdf5(client: Client, tmp_path: Path) -> None:
    """Workers open the file themselves to read; who writes has it open, and so is one process."""
    with dask.config.set(scheduler="threads"):
        pair("clarray")[0].to_backend("numpy").to_hdf5(tmp_path / "x.h5", "/x")
    with h5py.File(tmp_path / "x.h5") as file:
        read = da.from_array(file["/x"], chunks=CHUNKS).to_backend("clarray")
        assert np.array_equal(client.compute(read).result(timeout=60).get(), VALUES)
        assert np.allclose(client.compute(read.std(axis=1)).result(timeout=60).get(), VALUES.std(1), rtol=1e-14)


def test_files(client: Client, tmp_path: Path) -> None:
    with client.as_current():
        da.to_npy_stack(tmp_path / "stack", pair("clarray")[0].rechunk((7, -1)).to_backend("numpy"))
        assert np.array_equal(da.from_npy_stack(tmp_path / "stack").to_backend("clarray").compute().get(), VALUES)


def test_results_are_computed_on_workers(client: Client) -> None:
    future = client.submit(lambda: clarray.arange(10.0) + 1)
    computed = client.submit(lambda x: x._node.memory is not None, future)
    assert computed.result(timeout=60)


@pytest.mark.parametrize("name", dask_holders.HOLDERS)
def test_results_within_others_are_computed_on_workers(name: str, client: Client) -> None:
    """All of them: Dask asks ten of a longer list for their size, and no field of an object."""
    holder = client.submit(dask_holders.made, name)
    found = client.submit(dask_holders.computed, name, holder)
    assert found.result(timeout=60) == dask_holders.NUMBER


def test_an_error_of_a_pending_result_is_its_tasks(client: Client) -> None:
    def failing() -> Any:
        class Fails(clarray.DeviceArray):
            def evaluate(self) -> Any:
                raise RuntimeError("the device is lost")

        return [0] * 50 + [clarray.arange(3).view(Fails)]

    made = client.submit(failing)
    with pytest.raises(RuntimeError, match="the device is lost"):
        made.result(timeout=60)


def test_too_little_memory_says_so(client: Client) -> None:
    if not current_device().capabilities.host_memory:
        pytest.skip("the limit is of host memory")
    future = client.submit(lambda: clarray.zeros(LIMIT // 8).evaluate().shape)
    with pytest.raises(MemoryError, match=r"limit|left"):
        future.result(timeout=60)
    assert client.submit(lambda: float(clarray.ones(10).sum())).result(timeout=60) == 10


# What travels -------------------------------------------------------------------------------------

LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "strided": lambda x: x[::2, ::-1],
    "repeated": lambda x: clarray.broadcast_to(x[0], (50, 6)),
    "empty": lambda x: x[:0],
    "one": lambda x: x[1, 2, ...],
    "pending": lambda x: x * 2 + 1,
    "complex": lambda x: (x + 1j).astype(np.complex64),
    "half": lambda x: x.astype(np.float16),
    "bool": lambda x: x > 3,
}


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_messages(layout: Any, kind: type) -> None:
    x = layout(clarray.arange(24.0).reshape(4, 6))
    header, frames = serialize(x)
    assert header["serializer"] == "dask"
    found = deserialize(header, [kind(bytes(frame)) for frame in frames])
    assert (found.dtype, found.shape, found.tolist()) == (x.dtype, x.shape, x.tolist())
    assert sum(memoryview(frame).nbytes for frame in frames) <= 24 * 8


def test_messages_are_the_memory_itself() -> None:
    if not current_device().capabilities.host_memory:
        pytest.skip("another device's memory is copied once each way")
    x = clarray.arange(1000.0).evaluate()
    header, (frame,) = serialize(x)
    assert clarray.shares_memory(x, np.frombuffer(frame))
    arrived = bytearray(frame)
    found = deserialize(header, [arrived])
    assert clarray.shares_memory(found, np.frombuffer(arrived))
    assert not found._node.memory.shared


def test_subclasses_are_pickled() -> None:
    class Own(clarray.DeviceArray):
        pass

    header, _ = serialize(clarray.arange(3).view(Own))
    assert header["serializer"] == "pickle"


# Spilling -----------------------------------------------------------------------------------------


def test_parts_of_chunks_do_not_keep_the_chunks(client: Client) -> None:
    """Dask copies what it slices itself; what tasks of others slice keeps all of the memory otherwise."""
    part = client.submit(lambda: clarray.arange(65536.0)[5:9])
    assert client.submit(lambda x: x._node.memory.nbytes, part).result(timeout=60) == 32
    assert part.result(timeout=60).tolist() == [5, 6, 7, 8]


@pytest.mark.slow
def test_more_than_the_workers_may_hold(client: Client) -> None:
    x = clarray.dask.default_rng(3).normal(size=(16_000, 16_000), chunks=(2000, 2000)).persist()  # 2 GB
    found = (float(x.mean().compute()), float((x**2).mean().compute()))
    assert found == pytest.approx((0, 1), abs=1e-3)
    spilled = client.run(lambda dask_worker: len(dask_worker.data.slow))
    assert sum(spilled.values()) > 0


# What goes wrong ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_worker_that_is_killed(client: Client) -> None:
    def once(block: Any, flag: str) -> Any:
        time.sleep(0.1)
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block + 1
        os._exit(1)

    flag = f"{client.cluster.workers[0].local_directory}/killed"
    x = pair("clarray")[0].map_blocks(once, flag, dtype=float, meta=clarray.empty((0, 0)))
    found = client.compute(x.sum(axis=0)).result(timeout=60)
    np.testing.assert_allclose(found.get(), (VALUES + 1).sum(axis=0), 1e-12)
    assert Path(flag).exists()
    client.wait_for_workers(2, timeout=60)


@pytest.mark.slow
def test_a_worker_killed_for_its_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By its nanny, for memory that is not clarray's: tasks run again; of one that always needs it the log says why."""

    def greedy(x: Any, flag: str, always: bool) -> float:
        if always or not os.path.exists(flag):
            open(flag, "w").close()
            held = []
            for _ in range(100):
                held.append(np.ones(1 << 24))  # 128 MiB
                time.sleep(0.05)
        return float((x + 1).sum())

    # A cluster gives up a worker that it finds missing so long after a death, though its nanny is starting it anew.
    settings = {"distributed.scheduler.allowed-failures": 2, "distributed.deploy.lost-worker-timeout": "10 minutes"}
    # a worker at rest takes 0.2 GB on a CPU, 0.6 with NVIDIA's driver; beyond four fifths of its limit it takes no task
    where = {"devices": [current_device()], "n_workers": 1, "threads_per_worker": 1, "memory_limit": "2GiB"}
    with (
        dask.config.set(settings),
        clarray.dask.LocalOpenCLCluster(**where, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        caplog.at_level("WARNING"),
    ):
        x = client.submit(clarray.arange, 10.0)
        assert client.submit(greedy, x, str(tmp_path / "once"), False).result(timeout=120) == 55
        assert "exceeded 95% memory budget" in caplog.text
        caplog.clear()
        with pytest.raises(KilledWorker, match="greedy"):
            client.submit(greedy, x, str(tmp_path / "always"), True).result(timeout=120)
        assert "exceeded 95% memory budget" in caplog.text
        assert client.submit(lambda x: float(x.sum()), x).result(timeout=120) == 45


# Workers elsewhere --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Client]:
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, Client(cluster) as found:
        yield found


STARTED = {
    "the command": ["clarray.dask", "worker", "{}", "--nthreads", "2", "--memory-limit", "1GiB", "--name", "w"],
    "its class": ["distributed.cli.dask_spec", "{}", "--spec", '{{"cls": "clarray.dask.OpenCLNanny", "opts": {{}}}}'],
    "a preload": ["dask", "worker", "{}", "--preload", "clarray.dask", "--nthreads", "2", "--no-dashboard"],
}


LONG = dict.fromkeys(("its class", "a preload"), pytest.mark.slow)


@pytest.mark.parametrize("words", [pytest.param(STARTED[k], id=k, marks=LONG.get(k, ())) for k in STARTED])
def test_workers_that_others_start(words: list[str], scheduler: Client) -> None:
    command = [sys.executable, "-m", *(word.format(scheduler.cluster.scheduler_address) for word in words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            scheduler.wait_for_workers(1, timeout=60)
            prepared = scheduler.run(lambda dask_worker: "clarray" in dask_worker.periodic_callbacks)
            found = scheduler.compute(pair("clarray")[0].sum(axis=0)).result(timeout=60)
            np.testing.assert_allclose(found.get(), VALUES.sum(axis=0), 1e-12)
            # the command starts a worker for each GPU
            assert prepared
            assert all(prepared.values())
        finally:
            process.terminate()
            said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    while scheduler.scheduler_info()["workers"]:
        time.sleep(0.05)


def device_number() -> int:
    return clarray.devices().index(current_device())


def computes_on(names: list[str]) -> None:
    """Workers on two devices, whose chunks travel from one to the other."""
    with (
        clarray.dask.LocalOpenCLCluster(devices=names, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        assert sorted(client.run(device_number).values()) == sorted(device_indices(names))
        for name in ("sum", "rechunk", "matmul", "mask", "block", "std", "cumsum"):
            expected = np.asarray(OPERATIONS[name](*pair("numpy")).compute(scheduler="sync"))
            result = client.compute(OPERATIONS[name](*pair("clarray"))).result(timeout=60)
            np.testing.assert_allclose(values(result), expected, 1e-10, 1e-12)


@pytest.mark.slow
def test_pocl_beside_intel() -> None:
    names = [str(device) for device in clarray.devices()]
    if not all(any(word in name for name in names) for word in ("Portable", "Intel(R) OpenCL")):
        pytest.skip("needs both runtimes")
    computes_on(["pocl", "intel"])


@pytest.mark.slow
@pytest.mark.skipif(len(clarray.devices()) < 2, reason="there is one device")
def test_a_worker_on_each_of_two_devices() -> None:
    computes_on([str(device_number()), str(next(n for n in range(2) if n != device_number()))])


def test_a_worker_takes_the_device_of_its_number() -> None:
    assert [device_for_worker(name, [3, "intel"]) for name in (0, "1", "host-3", None)] == ["3", "intel", "intel", "3"]
