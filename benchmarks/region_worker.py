"""Run one region program with one library in a process of its own, as `worker` does with whole programs."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import worker
from peers import KINDS, Peer
from region_programs import PROGRAMS, draw
from workloads import difference

BURST = 0.03  # seconds of runs, one after the other, of which the best counts
COPYING = 0.2  # seconds of copies, of which the best counts
LEAST_COPY = 1 << 20  # bytes
DEVICE_KIND = "REGIONS_DEVICE_KIND"  # the variable that says whether the other libraries compute on a GPU


class Worker(worker.Worker):
    script = __file__


def plain(peer: Peer, program: ModuleType) -> Callable[..., Any]:
    """Return the program's text as this library runs it, without a compiler of its own."""
    return functools.partial(program.compute, peer.xp)


def jitted_by_jax(peer: Peer, program: ModuleType) -> Callable[..., Any]:
    return peer.module.jit(plain(peer, program))


def compiled_by_torch(peer: Peer, program: ModuleType) -> Callable[..., Any]:
    """Return the program compiled from its calls of NumPy, which PyTorch replaces by its own functions.

    `fullgraph` refuses a program of which PyTorch would leave a part to NumPy.
    """
    run = peer.module.compiler.wrap_numpy(functools.partial(program.compute, np))
    return peer.module.compile(run, fullgraph=True, dynamic=False)


def expression_of_numexpr(peer: Peer, program: ModuleType) -> Callable[..., Any]:
    count = program.compute.__code__.co_argcount
    names = program.compute.__code__.co_varnames[1:count]
    return lambda *arrays: (peer.module.evaluate(program.NUMEXPR, local_dict=dict(zip(names, arrays, strict=True))),)


CALLS = {"jax": jitted_by_jax, "torch": compiled_by_torch, "numexpr": expression_of_numexpr}


def has_text_for(peer: str, program: str) -> bool:
    """Return whether a library can run a program: numexpr has only those that are one expression."""
    return peer != "numexpr" or hasattr(PROGRAMS[program], "NUMEXPR")


class Inside:
    """The object in the process: one library with one program."""

    def __init__(self, peer: str, program: str, size: str, folder: str) -> None:
        kind = os.environ.get(DEVICE_KIND, "cpu")
        self.peer = KINDS[peer](SimpleNamespace(capabilities=SimpleNamespace(kind=kind)))
        host = draw(program, int(size))
        self.given = [self.peer.upload(x) for x in host]
        self.finish(tuple(self.given))
        self.call = CALLS.get(peer, plain)(self.peer, PROGRAMS[program])
        self.expected = Path(folder, "expected.npz")
        self.moved = sum(x.nbytes for x in host)  # and the results, after the first run

    def finish(self, results: tuple[Any, ...]) -> None:
        if self.peer.name == "jax":
            self.peer.module.block_until_ready(results)
        else:
            self.peer.finish(results)

    def timed(self) -> tuple[float, tuple[Any, ...]]:
        start = time.perf_counter()
        results = self.call(*self.given)
        self.finish(results)
        return time.perf_counter() - start, results

    def run(self) -> dict[str, Any]:
        """Run once, and compare the results with NumPy's."""
        worked = time.process_time()
        seconds, results = self.timed()
        worked = time.process_time() - worked
        mine = [self.peer.host(x) if hasattr(x, "dtype") else np.asarray(x) for x in results]
        self.moved = sum(x.nbytes for x in (*map(self.peer.host, self.given), *mine))
        return {"seconds": seconds, "cpu_seconds": worked, "differs": self.compare(mine)}

    def burst(self) -> dict[str, Any]:
        """Run for a short while, and return the best time and the processors' seconds per run."""
        begin, worked, times = time.perf_counter(), time.process_time(), []
        while not times or time.perf_counter() - begin < BURST:
            times.append(self.timed()[0])
        return {"seconds": min(times), "cpu_seconds": (time.process_time() - worked) / len(times)}

    def compare(self, mine: list[np.ndarray]) -> str | None:
        """Return how the results differ from NumPy's, which NumPy's process has written to a file."""
        if not self.expected.exists():
            if self.peer.name == "numpy":
                np.savez(self.expected, *mine)
            return None
        with np.load(self.expected) as kept:
            theirs = list(kept.values())
        if self.peer.name != "clarray":  # other libraries have other rules for dtypes
            mine = [x.astype(y.dtype) for x, y in zip(mine, theirs, strict=True)]
        return difference(mine, theirs)

    def count(self) -> dict[str, Any]:
        """Return the launches of one more run of clarray, the kernels built so far, and the floor in seconds."""
        if self.peer.name != "clarray":
            return {}
        with self.peer.module.profile() as profile:
            self.timed()
        built = Path(os.environ["CLARRAY_CACHE_DIR"], "programs")
        return {
            "launches": profile.launches,
            "host_launches": profile.first_calls + profile.small_calls,
            "kernels": len(list(built.iterdir())) if built.exists() else 0,
            "least_bytes": self.moved,
            "floor_seconds": self.moved / self.copy_bandwidth(),
        }

    def copy_bandwidth(self) -> float:
        """Return the bytes that a copy reads and writes in a second, where it moves as many as the program."""
        array = self.peer.upload(np.ones(max(self.moved, LEAST_COPY) // 16))
        begin, times = time.perf_counter(), []
        while len(times) < 10 or time.perf_counter() - begin < COPYING:
            start = time.perf_counter()
            self.peer.finish(array.copy())
            times.append(time.perf_counter() - start)
        return 2 * array.nbytes / min(times)


if __name__ == "__main__":
    worker.main(Inside)
