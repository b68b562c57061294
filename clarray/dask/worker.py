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
    """Prepare a worker of Dask to compute with clarray's arrays within its memory limit.

    Workers of `LocalOpenCLCluster` and `OpenCLNanny` have it. Register it for workers that were started in another way.

    Examples
    --------
    >>> import clarray.dask
    >>> from distributed import Client
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     _ = client.register_plugin(clarray.dask.OpenCLPlugin())
    ...     print(clarray.dask.ones(1000, chunks=100).sum().compute())
    1000.0
    """

    name = "clarray"

    def setup(self, worker: Worker) -> None:
        """Register arrays in the worker's process, and release memory that only waits for reuse.

        Dask calls this when the worker starts.

        Parameters
        ----------
        worker : distributed.Worker

        Raises
        ------
        MemoryError
            The process takes so much memory before the first task that Dask would pause the worker for good.

        Examples
        --------
        >>> import clarray.dask
        >>> from distributed import Client
        >>> with Client(processes=False, dashboard_address=None) as client:
        ...     (worker,) = client.cluster.workers.values()
        ...     clarray.dask.OpenCLPlugin().setup(worker)
        ...     print(clarray.dask.ones(1000, chunks=100).sum().compute())
        1000.0
        """
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
    """Prepare a worker that was started with ``dask worker --preload clarray.dask``.

    Dask calls this when the worker starts.

    Parameters
    ----------
    worker : distributed.Worker

    Raises
    ------
    MemoryError
        The process takes so much memory before the first task that Dask would pause the worker for good.

    Examples
    --------
    >>> import clarray.dask
    >>> from distributed import Client
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     (worker,) = client.cluster.workers.values()
    ...     clarray.dask.dask_setup(worker)
    ...     print(clarray.dask.ones(1000, chunks=100).sum().compute())
    1000.0
    """
    worker._clarray = OpenCLPlugin()
    worker._clarray.setup(worker)


class OpenCLNanny(Nanny):  # type: ignore[misc] # Dask has no annotations here
    """Start a worker on one device, in a process of its own, and restart it if it fails.

    Pass the class to whatever starts workers: ``SSHCluster(worker_class="clarray.dask.OpenCLNanny")``.

    Parameters
    ----------
    *args
        Arguments of `distributed.Nanny`.
    devices : sequence of int or str, optional
        Devices of the machine, as CLARRAY_DEVICE names them. The last number in the worker's name is the position of
        its device. None takes the default device.
    device_memory_limit : int, float or str, default 0.8
        Part of the device's own memory, or bytes of it, that results may take before they are moved to the host.
    memory_limit : int, float or str, default 'auto'
        Host memory of the worker, in Dask's notation.
    nthreads : int, optional
        Threads of the worker, 1 if None.
    env : dict, optional
        Environment variables of the worker's process.
    name : int or str, optional
        Name of the worker.
    **kwargs
        Arguments of `distributed.Nanny`.

    Examples
    --------
    >>> import clarray.dask
    >>> from distributed import Client, LocalCluster
    >>> with LocalCluster(n_workers=1, worker_class=clarray.dask.OpenCLNanny) as cluster:  # doctest: +SKIP
    ...     with Client(cluster):
    ...         print(clarray.dask.ones(1000, chunks=100).sum().compute())
    1000.0
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
