"""Workers that compute on one device each: a process, its device, and its memory limit."""

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
from clarray.dask.spilling import make_storage

__all__ = ["OpenCLNanny", "OpenCLPlugin", "dask_setup"]

_CHECK_INTERVAL = 200  # in milliseconds, between checks of the process's memory: Dask's own interval


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
        """Register arrays in the worker's process, and release pooled memory above the limit.

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
            if name not in ("actor", "offload"):  # these two run no tasks
                watch_executor(executor)
        manager = worker.memory_manager
        pause, spill = manager.memory_pause_fraction, manager.memory_spill_fraction
        if not manager.memory_limit or worker.nanny is None:
            return  # the worker is a thread of a shared process
        uses_host_memory = clarray.zeros(()).device.capabilities.host_memory
        _raise_if_paused_for_good(worker.monitor.get_process_memory(), int(manager.memory_limit * (pause or 1.0)))
        if uses_host_memory:
            clarray.config.memory_limit = int(manager.memory_limit * (pause or 1.0))
        threshold = manager.memory_limit * (manager.memory_target_fraction or spill or 0.6)
        callback = PeriodicCallback(lambda: _release_pool_above(worker, threshold), _CHECK_INTERVAL)
        worker.periodic_callbacks["clarray"] = callback
        worker.loop.add_callback(callback.start)


def _raise_if_paused_for_good(used: int, limit: int) -> None:
    """Raise if Dask would pause an idle worker. It has no results to spill, so it would stay paused."""
    if used >= limit:
        used, limit = used >> 20, limit >> 20
        raise MemoryError(
            f"An idle worker takes {used} MiB (Python, Dask, the OpenCL runtime), and Dask would pause it for good at "
            f"{limit} MiB: give it a larger memory_limit"
        )


def _release_pool_above(worker: Worker, threshold: float) -> None:
    """Release pooled memory if the process uses more memory than the threshold."""
    if worker.monitor.get_process_memory() > threshold:
        for device in opened_devices():
            with contextlib.suppress(Exception):  # the next use of a lost device raises
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
            env = {**(env or {}), "CLARRAY_DEVICE": device_for_worker(name, devices)}
        kwargs.setdefault("data", (make_storage, {"memory_limit": limit, "device_limit": device_memory_limit}))
        kwargs["plugins"] = (*kwargs.get("plugins", ()), OpenCLPlugin())
        super().__init__(*args, memory_limit=limit or 0, nthreads=nthreads, env=env, name=name, **kwargs)


def device_for_worker(name: int | str | None, devices: Sequence[int | str]) -> str:
    """Return the device of a worker: the last number in the worker's name is its index, modulo their count."""
    numbers = re.findall(r"\d+", str(name))
    return str(devices[int(numbers[-1]) % len(devices) if numbers else 0])
