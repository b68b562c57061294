"""Workers, one for each device or each share of a CPU's cores, and what they say of a computation."""

from __future__ import annotations

import dataclasses
import gc
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
from distributed import Client, Scheduler, SpecCluster, get_task_stream, wait

from chunked.libraries import LIBRARIES


@dataclass
class Said:
    """What one computation took, of all workers together."""

    seconds: float
    moved: int = 0
    to_host: int = 0  # from devices with memory of their own
    spilled: int = 0  # to disk
    peak: int = 0
    tasks: int = 0
    spent: dict[str, float] = field(default_factory=dict)  # seconds of threads by Dask's kind of work

    def transferring(self, workers: int) -> float:
        """Share of the time in which workers wait for chunks of others."""
        return min(self.spent.get("transfer", 0.0) / (self.seconds * workers), 1.0)

    def figures(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def plainly(work: Callable[[], Any]) -> float:
    """Seconds of a computation of clarray's in this process, until the device is done."""
    synchronize = LIBRARIES["clarray"].finish
    synchronize()
    begun = time.perf_counter()
    kept = work().evaluate()
    synchronize()
    seconds = time.perf_counter() - begun
    del kept
    return seconds


def counters(name: str, dask_worker: Any) -> dict[str, float]:
    """Bytes sent to other workers, bytes moved to the host and written to disk, peak memory; runs in a worker."""
    metrics = getattr(dask_worker.data, "cumulative_metrics", {})
    return {
        "moved": dask_worker.transfer_outgoing_bytes_total,
        "to_host": metrics.get(("device-write", "bytes"), 0),
        "spilled": metrics.get(("disk-write", "bytes"), 0),
        "peak": LIBRARIES[name].peak(),
    }


def settle(name: str) -> None:
    """Forget what is garbage and count the peak anew; runs in a worker."""
    gc.collect()
    LIBRARIES[name].finish()
    LIBRARIES[name].reset_peak()


def started(name: str) -> str:
    """Register the library; runs in a worker, and says what it computes on."""
    library = LIBRARIES[name]
    library.register()
    return str(library.module.current_device()) if hasattr(library.module, "current_device") else name


class Workers:
    """A cluster on this machine: `count` workers of one library, alone or in several threads each.

    `limit` bounds each worker's host memory, `device_limit` the results that it keeps in its device's own.
    """

    def __init__(
        self,
        name: str,
        count: int,
        *,
        threads: int,
        cores: int,
        gpus: bool,
        limit: int | str | None = None,
        device_limit: int | None = None,
        extra: Any = None,
    ) -> None:
        self.name, self.count, self.threads = name, count, threads
        library = LIBRARIES[name]
        logging.getLogger("distributed").setLevel(logging.ERROR)
        nanny, options = library.nanny(device_limit)
        spec = {
            place: {
                "cls": nanny,
                "options": options
                | {
                    "nthreads": threads,
                    "memory_limit": limit or 0,
                    "env": library.environment(place if gpus else None, cores) | (extra or {}),
                    "dashboard_address": ":0",
                    "silence_logs": logging.ERROR,
                },
            }
            for place in range(count)
        }
        scheduler = {"cls": Scheduler, "options": {"dashboard": False, "dashboard_address": ":0", "port": 0}}
        with dask.config.set({"distributed.worker.memory.terminate": False}):
            self.cluster = SpecCluster(spec, scheduler=scheduler, silence_logs=logging.ERROR)
        self.client = Client(self.cluster, set_as_default=False)
        self.client.wait_for_workers(count)
        library.register()
        self.client.run(started, name)

    def persist(self, arrays: list[da.Array]) -> list[da.Array]:
        """Leave arrays in the workers' memory, rows of chunks dealt out evenly, of all arrays alike.

        Dask gives tasks that need nothing to whichever worker asks first, seven of sixteen chunks to one of two workers
        and nine to the other, and chunks of two arrays that meet to different ones.
        """
        addresses = list(self.client.scheduler_info(n_workers=-1)["workers"])
        with self.client.as_current():
            made = [self._dealt(array, addresses) for array in arrays]
            wait(made)
        return made

    def _dealt(self, array: da.Array, addresses: list[str]) -> da.Array:
        rows, count = array.numblocks[0], len(addresses)
        bounds = [rows * place // count for place in range(count + 1)]
        parts = [
            self.client.persist(array.blocks[low:high], workers=[address])
            for address, (low, high) in zip(addresses, pairwise(bounds), strict=True)
            if high > low
        ]
        return da.concatenate(parts)

    def measured(self, make: Callable[[], Any]) -> tuple[Any, Said]:
        """Compute an array and leave its chunks in the workers' memory; the clock stops when the devices are done."""
        self.client.run(settle, self.name)
        before = self.client.run(counters, self.name)
        with self.client.as_current(), get_task_stream(self.client) as stream:
            begun = time.perf_counter()
            futures = self.client.persist(make())
            wait(futures)
            self.client.run(finish, self.name)
            seconds = time.perf_counter() - begun
        after = self.client.run(counters, self.name)
        spent: dict[str, float] = defaultdict(float)
        for task in stream.data:
            for part in task["startstops"]:
                spent[part["action"]] += part["stop"] - part["start"]
        grown = {
            key: int(sum(after[w][key] - before[w][key] for w in after)) for key in ("moved", "to_host", "spilled")
        }
        return futures, Said(
            seconds,
            **grown,
            peak=int(max(said["peak"] for said in after.values())),
            tasks=len(stream.data),
            spent=dict(spent),
        )

    def close(self) -> None:
        self.client.close()
        self.cluster.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def finish(name: str) -> None:
    """Wait for a worker's device; runs in the worker."""
    LIBRARIES[name].finish()
