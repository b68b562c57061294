"""Dask over the chunks of several libraries: clarray's, NumPy's, CuPy's where it is, and plain clarray beside them.

Every row runs on each library in turn, in rounds, and the best round counts. Then some rows run on one worker and on
several, with the same array (strong scaling) and with one that grows with them (weak). At the end the gates are printed
as reached or missed, and what 8 devices and 64 machines would take by a model fed with what was measured.

The file is not named dask.py because a script's folder is where Python looks first: `import dask` would find it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np

import clarray
from chunked.cluster import Said, Workers, plainly
from chunked.libraries import LIBRARIES, cores, finished, uniform
from chunked.model import Parts
from chunked.report import Gates, head_of_rows, head_of_scaled, show_model, show_row, show_scaled
from chunked.rows import ROWS, Row, wrong
from clarray.dask.cluster import MAX_THREADS

BUDGET = 12.0  # seconds after which a row has no further round
LARGER = 64  # times as large as measured are the chunks of the second model
TASKS = 400  # of nothing, whose time is the scheduler's


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--peers", default="clarray,numpy,cupy", help="comma-separated (default: %(default)s)")
    parser.add_argument("--bytes", default="512MiB", help="of each of the two arrays (default: %(default)s)")
    parser.add_argument("--blocks", type=int, default=4, help="chunks along each axis (default: %(default)s)")
    parser.add_argument(
        "--devices", type=int, default=0, help="workers of the scaling; 0: 2 on a CPU, all GPUs (at most 8)"
    )
    parser.add_argument(
        "--scaling", action="store_true", help="only one worker and several, not library beside library"
    )
    parser.add_argument("--rounds", type=int, default=3, help="the best counts (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="a JSON file to write the figures to")
    return parser.parse_args()


def parsed(text: str) -> int:
    """Bytes of a text such as 512MiB or 4GB."""
    from dask.utils import parse_bytes

    return int(parse_bytes(text))


class Run:
    """The libraries' clusters, and every row on each of them in turn."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        self.gpus = not clarray.devices()[0].capabilities.host_memory
        names = asked.peers.split(",")
        self.names = [name for name in names if LIBRARIES[name].there()]
        self.rows = [row for row in ROWS if not asked.rows or any(part in row.name for part in asked.rows)]
        self.devices = asked.devices or (min(len(clarray.devices()), 8) if self.gpus else 2)
        self.gates = Gates(self.gpus)
        self.figures: dict[str, Any] = {}
        self.said: dict[tuple[str, str], Said] = {}
        self.errors = [text for name in self.names for row in self.rows if (text := wrong(row, name))]

    def extent(self, nbytes: float) -> int:
        """Of a square array of float32 with whole chunks."""
        return int(math.sqrt(nbytes / 4)) // self.asked.blocks * self.asked.blocks

    def workers(self, name: str, count: int, share: int) -> Workers:
        """`count` workers, each with a device, or with this share of the CPU's cores."""
        own = max(cores() // share, 1)
        numpy = name == "numpy"  # whose tasks are a thread each; a device computes a task with all it has
        threads = own if numpy else 1 if self.gpus else min(own, MAX_THREADS)
        return Workers(name, count, threads=threads, cores=1 if numpy else own, gpus=self.gpus)

    def arrays(self, workers: Workers, nbytes: float, blocks: int) -> list[Any]:
        extent = self.extent(nbytes)
        return workers.persist([uniform(workers.name, (extent,) * 2, -(-extent // blocks), seed) for seed in (1, 2)])

    def once(self, workers: Workers, row: Row, data: list[Any]) -> tuple[Said, int]:
        _, said = workers.measured(lambda: finished(row.chunked(*data, workers.name), workers.name))
        return said, said.tasks

    def beside_each_other(self) -> None:
        """Each library on one worker with the whole machine, or one GPU; plain clarray in this process."""
        nbytes = parsed(self.asked.bytes)
        clusters = [self.workers(name, 1, 1) for name in self.names]
        try:
            data = {workers.name: self.arrays(workers, nbytes, self.asked.blocks) for workers in clusters}
            extent = self.extent(nbytes)
            whole = [LIBRARIES["clarray"].random([seed], (extent,) * 2, "float32").evaluate() for seed in (1, 2)]
            head_of_rows(4 * extent * extent)
            for row in (row for row in self.rows if row.plain is not None):
                best: dict[str, Said] = {}
                begun = time.perf_counter()
                for _ in range(self.asked.rounds + 1):  # of which the first makes the kernels
                    if best and time.perf_counter() - begun > BUDGET:
                        break
                    for workers in clusters:
                        said, _ = self.once(workers, row, data[workers.name])
                        best[workers.name] = min(best.get(workers.name, said), said, key=lambda s: s.seconds)
                    plain = Said(plainly(lambda row=row: row.plain(clarray, *whole)))
                    best["plain"] = min(best.get("plain", plain), plain, key=lambda s: s.seconds)
                self.said |= {(row.name, name): said for name, said in best.items()}
                self.figures[row.name] = {name: said.figures() for name, said in best.items()}
                show_row(row, best)
                self.gates.beside(row, best)
        finally:
            for workers in clusters:
                workers.close()

    def overhead(self, workers: Workers) -> float:
        """Seconds of the scheduler and the worker per task: of many that do nothing."""
        taken = []
        for turn in range(3):
            begun = time.perf_counter()
            workers.client.gather(workers.client.map(abs, range(turn * TASKS, (turn + 1) * TASKS)))
            taken.append(time.perf_counter() - begun)
        return min(taken) / TASKS

    def scaled(self, name: str) -> None:
        """Rows on one worker and on several: the same array, and one as many times as large."""
        nbytes, n = parsed(self.asked.bytes) / (1 if self.gpus else 2), self.devices
        more = math.isqrt(n) + 1  # times as many chunks along each axis of the larger array
        rows = [row for row in self.rows if row.moved is not None]
        taken: dict[tuple[str, str], Said] = {}
        parts: dict[str, tuple[int, float]] = {}
        overhead = 0.0
        for count, sizes in ((1, {"one": 1}), (n, {"strong": 1, "weak": n})):
            with self.workers(name, count, n) as workers:
                overhead = overhead or self.overhead(workers)
                for size, times in sizes.items():
                    data = self.arrays(workers, nbytes * times, self.asked.blocks * (1 if times == 1 else more))
                    for row in rows:
                        runs = [self.once(workers, row, data) for _ in range(2)]  # the first makes the kernels
                        taken[row.name, size] = min((said for said, _ in runs), key=lambda s: s.seconds)
                        parts.setdefault(row.name, (runs[0][1], nbytes))
                    del data
        moving = [said for said in taken.values() if said.moved and said.spent.get("transfer")]
        bandwidth = max((said.moved / said.spent["transfer"] for said in moving), default=1e9)
        head_of_scaled(name, n)
        for row in rows:
            one, strong, weak = (taken[row.name, size] for size in ("one", "strong", "weak"))
            # A product's work grows faster than its arrays, that of each chunk shrinks with the chunks.
            grown = {"x @ y": n**0.5, "chunk products": n**0.5 / more}.get(row.name, 1.0)
            show_scaled(row, n, one, strong, weak, grown)
            self.figures.setdefault(row.name, {}).setdefault("scaled", {})[name] = {
                size: taken[row.name, size].figures() for size in ("one", "strong", "weak")
            }
            self.gates.scaled(row, name, n, one, strong)
        if name == "clarray":
            print(f"\nscheduler {overhead * 1e3:.2f} ms per task, {bandwidth / 1e9:.2f} GB/s from worker to worker")
            rows_measured = [
                Parts(row, taken[row.name, "one"].seconds, int(nbytes), parts[row.name][0], overhead, bandwidth)
                for row in rows
            ]
            for times in (1, LARGER):
                show_model(rows_measured, times)

    def everything(self) -> int:
        print(
            f"clarray on {clarray.devices()[0]}, {cores()} cores, NumPy {np.__version__}, Dask {dask.__version__}, "
            f"chunks of {', '.join(self.names)}"
        )
        for text in self.errors:
            print("WRONG:", text)
        if not self.asked.scaling:
            self.beside_each_other()
        if self.devices > 1:
            for name in self.names:
                if name != "numpy" or not self.gpus:
                    self.scaled(name)
        self.gates.show()
        if self.asked.output:
            self.asked.output.write_text(json.dumps(self.figures, indent=1))
        return 1 if self.errors else 0


if __name__ == "__main__":
    sys.exit(Run(arguments()).everything())
