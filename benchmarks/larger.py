"""Arrays that no memory here holds: made on the device chunk by chunk, computed by Dask, and gone again.

Each computation runs over `--bytes` of uniform numbers with `--limit` of memory for the worker, prints its seconds, the
most memory that the worker took and what it spilled, and is compared with what such numbers are known to give. On a CPU
the memory is the process's, Python and the OpenCL runtime among it; on a GPU it is the device's, from which results go
to the host's memory (`--host-limit`) and from there to disk: for twice the memory of a GPU of 80 GiB
`--bytes 160GiB --limit 70GiB --chunk 1GiB`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from dask.utils import parse_bytes
from distributed.system import MEMORY_LIMIT

import clarray
from chunked.cluster import Workers
from chunked.libraries import LIBRARIES, cores, uniform
from chunked.rows import RADIUS, gaussian

ROWS = 1024  # of the matrix whose rows are multiplied with each other
COLUMNS = 64  # of the tall matrix
PERCENTILES = [1, 25, 50, 75, 99]
BINS = 100
RESULTS = 0.6  # of a GPU's limit: a task's arguments and what it makes need the rest

Made = Callable[[tuple[int, ...], tuple[int, ...]], da.Array]


class Task:
    """One computation over so many numbers, in chunks of so many: what is built, and what it must give."""

    def __init__(self, name: str, peer: str, elements: int, chunk: int) -> None:
        self.name, self.peer, self.elements, self.chunk = name, peer, elements, chunk

    def uniform(self, shape: tuple[int, ...], chunks: tuple[int, ...]) -> da.Array:
        return uniform(self.peer, shape, chunks)

    def flat(self) -> da.Array:
        return self.uniform((self.elements,), (self.chunk,))

    def square(self) -> da.Array:
        side = math.isqrt(self.chunk)
        return self.uniform((max(self.elements // (4 * side), 1), 4 * side), (side, side))


def near(found: Any, expected: Any, tolerance: float) -> bool:
    return bool(np.all(np.abs(np.asarray(found) / expected - 1) < tolerance))


def total(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    x = task.flat()
    return x.sum(), lambda found: near(found, x.size / 2, 1e-3)


def deviation(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    return task.flat().std(), lambda found: near(found, 12**-0.5, 1e-3)


def histogram(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    x = task.flat()
    return (
        da.histogram(x, bins=BINS, range=(0, 1))[0],
        lambda found: int(found.sum()) == x.size and near(found, x.size / BINS, 0.02),
    )


def gram(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    columns = task.elements // ROWS
    x = task.uniform((ROWS, columns), (ROWS, task.chunk // ROWS))
    expected = np.where(np.eye(ROWS, dtype=bool), columns / 3, columns / 4)
    return x @ x.T, lambda found: near(found, expected, 0.05)


def smoothed(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    filtered = gaussian(task.square(), None, task.peer)
    return filtered.std(), lambda found: near(found, 12**-0.5 / (2 * 2.0 * math.pi**0.5), 0.05)  # of sigma 2


def singular_values(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    rows = task.elements // COLUMNS
    x = task.uniform((rows, COLUMNS), (task.chunk // COLUMNS, COLUMNS))
    squares = np.full(COLUMNS, rows / 12)
    squares[0] += rows * COLUMNS / 4
    return da.linalg.svd(x)[1], lambda found: near(np.asarray(found) ** 2, squares, 0.05)


def percentile(task: Task) -> tuple[da.Array, Callable[[Any], bool]]:
    expected = np.array(PERCENTILES) / 100
    return da.percentile(task.flat(), PERCENTILES), lambda found: near(found, expected, 0.05)


COMPUTATIONS = {
    "sum": total,
    "std": deviation,
    "histogram": histogram,
    "x @ x.T": gram,
    f"gaussian of radius {RADIUS}": smoothed,
    f"svd of {COLUMNS} columns": singular_values,
    "percentile": percentile,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("computations", nargs="*", help="only those whose name contains one of these")
    parser.add_argument("--library", dest="peer", choices=LIBRARIES, default="clarray")
    parser.add_argument("--bytes", type=parse_bytes, default="3GiB", help="of all chunks (default: %(default)s)")
    parser.add_argument("--chunk", type=parse_bytes, default="48MiB", help="of one chunk (default: %(default)s)")
    parser.add_argument("--limit", type=parse_bytes, default="1.5GiB", help="of all workers (default: %(default)s)")
    parser.add_argument(
        "--host-limit", default="auto", help="of host memory for a GPU's workers (default: %(default)s, all there is)"
    )
    parser.add_argument("--devices", type=int, default=1, help="workers, one for each device (default: %(default)s)")
    return parser.parse_args()


def workers(asked: argparse.Namespace) -> Workers:
    """Workers that share the limit: on a GPU of its memory, of which results may take a part and tasks need the rest.

    On a CPU Python, Dask and the runtime need some of it beside the arrays.
    """
    gpus = not clarray.devices()[0].capabilities.host_memory
    limit = int(asked.limit) // asked.devices
    own = limit if gpus else limit - min(limit // 4, 1 << 29)
    host = MEMORY_LIMIT if asked.host_limit == "auto" else parse_bytes(asked.host_limit)
    name = asked.peer
    threads = cores() // asked.devices if name == "numpy" else 1
    extra = {"CLARRAY_MEMORY_LIMIT": str(own), "MALLOC_TRIM_THRESHOLD_": "65536"}
    return Workers(
        name,
        asked.devices,
        threads=threads,
        cores=max(cores() // asked.devices, 1),
        gpus=gpus,
        limit=host // asked.devices if gpus else limit,
        device_limit=int(limit * RESULTS),
        extra=extra,
    )


def main() -> int:
    asked = arguments()
    limit, missed = int(asked.limit), 0
    print(f"{asked.peer}: {int(asked.bytes) >> 20:,} MiB of float32 in chunks of {int(asked.chunk) >> 20:,} MiB")
    print(f"clarray's device: {clarray.devices()[0]}; limit {limit >> 20:,} MiB, {asked.devices} workers\n")
    heads = ("seconds", "GB/s", "peak MiB", "MiB to host", "MiB to disk")
    print(f"{'computation':24}" + "".join(f"{head:>12}" for head in heads))
    for name, computation in COMPUTATIONS.items():
        if asked.computations and not any(part in name for part in asked.computations):
            continue
        with workers(asked) as cluster:  # of its own, so that no row has another's memory
            array, right = computation(Task(name, asked.peer, int(asked.bytes) // 4, int(asked.chunk) // 4))
            future, said = cluster.measured(lambda array=array: array)
            found = LIBRARIES[asked.peer].to_host(cluster.client.compute(future).result())
        verdict = "" if right(found) else "  WRONG"
        if said.peak * asked.devices > limit:
            verdict += "  over the limit"
        missed += bool(verdict)
        print(
            f"{name:24}{said.seconds:12.1f}{int(asked.bytes) / said.seconds / 1e9:12.2f}"
            + "".join(f"{size >> 20:12,}" for size in (said.peak, said.to_host, said.spilled))
            + verdict,
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
