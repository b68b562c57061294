"""Workers that compute on one device each: a process, its device, and what memory it may take."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from typing import Any

from dask.utils import parse_bytes
from distributed import Nanny, Worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.worker_memory import parse_memory_limit
from tornado.ioloop import PeriodicCallback

import clarray
from clarray._engine.runtime import opened_devices
from clarray.dask.backend import register
from clarray.dask.results import watch_executor
from clarray.dask.spilling import storage

__all__ = ["OpenCLNanny", "OpenCLPlugin", "dask_setup"]

_MILLISECONDS = 200  # between two looks at the process's memory: as often as Dask looks


class OpenCLPlugin(WorkerPlugin):  # type: ignore[misc] # Dask has no annotations here
    """What a worker needs to compute with clarray's arrays within its memory limit.

    ``client.register_plugin(clarray.dask.OpenCLPlugin())`` gives it to workers that others have started.
    """

    name = "clarray"

    def setup(self, worker: Worker) -> None:
        """Make arrays known in the worker's process, and give back memory that only waits for reuse."""
        register()
        for name, executor in worker.executors.items():
            if name not in ("actor", "offload"):  # which run no tasks
                watch_executor(executor)
        manager = worker.memory_manager
        pause, spill = manager.memory_pause_fraction, manager.memory_spill_fraction
        if not manager.memory_limit or worker.nanny is None:
            return  # threads of a process that others use, too
        shared = clarray.zeros(()).device.capabilities.host_memory
        _check_room(worker.monitor.get_process_memory(), int(manager.memory_limit * (pause or 1.0)))
        if shared:
            clarray.config.memory_limit = int(manager.memory_limit * (pause or 1.0))
        above = manager.memory_limit * (manager.memory_target_fraction or spill or 0.6)
        callback = PeriodicCallback(lambda: _give_back(worker, above), _MILLISECONDS)
        worker.periodic_callbacks["clarray"] = callback
        worker.loop.add_callback(callback.start)


def _check_room(taken: int, limit: int) -> None:
    """Raise where an idle worker would be paused, as it then stays so: nothing that could be spilled is there."""
    if taken >= limit:
        taken, limit = taken >> 20, limit >> 20
        raise MemoryError(
            f"An idle worker takes {taken} MiB (Python, Dask, the OpenCL runtime), and Dask would pause it for good at "
            f"{limit} MiB: give it a larger memory_limit"
        )


def _give_back(worker: Worker, above: float) -> None:
    """Keep nothing for reuse where the process has taken more than it should."""
    if worker.monitor.get_process_memory() > above:
        for device in opened_devices():
            with contextlib.suppress(Exception):  # a device that is lost says so where it is used
                device.pool.release_unless_busy(0)


def dask_setup(worker: Worker) -> None:
    """Set a worker up: ``dask worker --preload clarray.dask``."""
    worker._clarray = OpenCLPlugin()
    worker._clarray.setup(worker)


class OpenCLNanny(Nanny):  # type: ignore[misc] # Dask has no annotations here
    """A worker on one device, in a process of its own, that a nanny looks after.

    For whatever starts workers by their class: ``SSHCluster(worker_class="clarray.dask.OpenCLNanny")``.

    Parameters
    ----------
    *args
        What `distributed.Nanny` takes.
    devices : sequence of int or str, optional
        Devices of the machine, as CLARRAY_DEVICE names them; the worker takes the one at the place of its name's last
        number. The default device when None.
    device_memory_limit : int, float or str, default 0.8
        How much of a device's own memory results may take before they are moved to the host: bytes, or a part.
    memory_limit : int, float or str, default 'auto'
        Host memory of the worker, as Dask takes it.
    nthreads : int, optional
    env : dict, optional
    name : int or str, optional
    **kwargs
        What `distributed.Nanny` takes.
    """

    def __init__(
        self,
        *args: Any,
        devices: Sequence[int | str] | None = None,
        device_memory_limit: int | float | str = 0.8,
        memory_limit: int | float | str | None = "auto",
        nthreads: int | None = None,
        env: dict[str, str] | None = None,
        name: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        nthreads = nthreads or 1
        limit = parse_memory_limit(memory_limit, nthreads, logger=logging.getLogger("distributed.nanny.memory"))
        if isinstance(device_memory_limit, str):
            device_memory_limit = parse_bytes(device_memory_limit)
        if devices:
            env = {**(env or {}), "CLARRAY_DEVICE": device_of(name, devices)}
        kwargs.setdefault("data", (storage, {"memory_limit": limit, "device_limit": device_memory_limit}))
        kwargs["plugins"] = (*kwargs.get("plugins", ()), OpenCLPlugin())
        super().__init__(*args, memory_limit=limit or 0, nthreads=nthreads, env=env, name=name, **kwargs)


def device_of(name: int | str | None, devices: Sequence[int | str]) -> str:
    """Give the device at the place of the last number in a worker's name."""
    found = re.findall(r"\d+", str(name))
    return str(devices[int(found[-1]) % len(devices) if found else 0])
