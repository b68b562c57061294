"""A cluster on this machine: one worker for each device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask.system import CPU_COUNT
from distributed import LocalCluster

import clarray
from clarray._engine.runtime import Device, find_device
from clarray._engine.runtime.capabilities import kind
from clarray.dask.worker import OpenCLNanny

__all__ = ["LocalOpenCLCluster", "device_indices"]

MAX_THREADS = 4  # of a worker on a CPU: NumPy's share of the work holds the interpreter's lock


class LocalOpenCLCluster(LocalCluster):  # type: ignore[misc] # Dask has no annotations here
    """Start a scheduler, and one worker for each device of this machine.

    Parameters
    ----------
    devices : sequence of Device, int or str, optional
        Devices of the workers, as `clarray.device` names them. A device may be named several times. None takes all
        GPUs if the default device is a GPU. Otherwise, it takes the default device.
    n_workers : int, optional
        Number of workers. None starts one for each device. More workers share the devices.
    threads_per_worker : int, optional
        None means 1 on a GPU, and on CPUs up to 4, depending on the number of cores.
    memory_limit : int, float, str or None, default 'auto'
        Host memory of each worker, in Dask's notation. Results beyond a part of it go to disk.
    device_memory_limit : int, float or str, default 0.8
        Part of each GPU's memory, or bytes of it, that results may take before they go to host memory.
    **kwargs
        Arguments of `distributed.LocalCluster`: `dashboard_address`, `local_directory`, `asynchronous`.

    Raises
    ------
    ValueError
        A device does not exist, or `processes` is False.

    Examples
    --------
    >>> import clarray.dask
    >>> from distributed import Client
    >>> with clarray.dask.LocalOpenCLCluster() as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     print(clarray.dask.ones(10**9).sum().compute())
    1000000000.0
    """

    def __init__(
        self,
        devices: Sequence[Any] | None = None,
        n_workers: int | None = None,
        threads_per_worker: int | None = None,
        memory_limit: Any = "auto",
        device_memory_limit: int | float | str = 0.8,
        **kwargs: Any,
    ) -> None:
        if not kwargs.get("processes", True):
            raise ValueError("workers on devices are processes: leave out processes=False")
        indices = device_indices(devices)
        workers = len(indices) if n_workers is None else n_workers
        all_devices = clarray.devices()
        if threads_per_worker is None:
            on_cpus = all(kind(all_devices[index].cl_device) == "cpu" for index in indices)
            threads_per_worker = max(1, min(MAX_THREADS, CPU_COUNT // max(workers, 1))) if on_cpus else 1
        if memory_limit == "auto":
            memory_limit = 1.0 / max(workers, 1)
        if isinstance(device_memory_limit, float) and device_memory_limit <= 1:
            device_memory_limit /= max(indices.count(index) for index in indices)
        super().__init__(
            n_workers=workers,
            threads_per_worker=threads_per_worker,
            memory_limit=memory_limit,
            worker_class=OpenCLNanny,
            devices=indices,
            device_memory_limit=device_memory_limit,
            **kwargs,
        )


def device_indices(devices: Sequence[Any] | None) -> list[int]:
    """Return the indices of the requested devices in `clarray.devices`."""
    all_devices = clarray.devices()
    if devices is None:
        default = find_device(None)
        selected = [d for d in all_devices if kind(d.cl_device) == kind(default.cl_device) == "gpu"] or [default]
    else:
        selected = [
            find_device(device) for device in ([devices] if isinstance(devices, str | int | Device) else devices)
        ]
    return [all_devices.index(device) for device in selected]
