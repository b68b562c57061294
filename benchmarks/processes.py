"""Time whole processes, as a user sees them: Python starts, imports, computes a program once and prints its answer.

    python benchmarks/processes.py --sizes small,medium --turns 5

Each turn has three processes for each program, one after the other: NumPy's, clarray's with an empty cache of kernels,
and clarray's with the cache that this has filled. The best turn counts; the seconds are those of the whole process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from statistics import geometric_mean
from typing import Any

import numpy as np

from workloads import PROGRAMS, SIZES, answers, difference

KINDS = ("numpy", "empty cache", "filled cache")
LIMIT = 300.0  # seconds of one process


def run_once(library: str, program: str, size: str, path: str) -> None:
    """Be the user's process; the answer goes to a file."""
    import importlib

    xp: Any = importlib.import_module(library)
    row = PROGRAMS[program]
    given = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in row.inputs(size)]
    np.savez(path, *answers(row.run(xp, *given), np.asarray if xp is np else xp.asnumpy))


def seconds_of(library: str, program: str, size: str, cache: str, path: str) -> float:
    """Start a process and wait for its end."""
    line = [sys.executable, __file__, "--run", library, program, size, path]
    environment = os.environ | {"CLARRAY_CACHE_DIR": f"{cache}/clarray", "POCL_CACHE_DIR": f"{cache}/pocl"}
    start = time.perf_counter()
    subprocess.run(line, env=environment, check=True, timeout=LIMIT, stderr=subprocess.PIPE)
    return time.perf_counter() - start


def measure(program: str, size: str, turns: int) -> tuple[dict[str, float], str | None]:
    """Give the seconds of each kind, and how clarray's answer differs from NumPy's."""
    best: dict[str, float] = dict.fromkeys(KINDS, np.inf)
    differs = None
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):
            cache = f"{folder}/{turn}"
            os.mkdir(cache, 0o700)
            for kind in KINDS:
                path = f"{folder}/{kind}.npz"
                library = "numpy" if kind == "numpy" else "clarray"
                best[kind] = min(best[kind], seconds_of(library, program, size, cache, path))
        with np.load(f"{folder}/numpy.npz") as expected:
            for kind in KINDS[1:]:
                with np.load(f"{folder}/{kind}.npz") as found:
                    row = PROGRAMS[program]
                    differs = differs or difference([*found.values()], [*expected.values()], row.differing)
    return best, differs


def table(programs: Iterable[str], size: str, turns: int) -> bool:
    """Print one size's rows, and their means; give whether all answers are right."""
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS[1:]}
    slower, right = [], True
    for program in programs:
        try:
            best, differs = measure(program, size, turns)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            last = (error.stderr or b"").decode(errors="replace").strip().splitlines()[-1:]
            print(f"{size:8} {program:22} failed: {error} {''.join(last)}", flush=True)
            right = False
            continue
        for kind, found in ratios.items():
            found.append(best["numpy"] / best[kind])
        if ratios["filled cache"][-1] < 1:
            slower.append(program)
        right = right and differs is None
        times = "".join(f"{best[kind]:14.3f}" for kind in KINDS)
        print(f"{size:8} {program:22}{times} {differs or ''}", flush=True)
    for kind, found in ratios.items():
        if found:
            print(f"{size}: with {kind} {geometric_mean(found):.2f} of NumPy's speed (geometric mean)")
    print(f"{size}: slower than NumPy with a filled cache: {', '.join(slower) or 'none'}\n", flush=True)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--sizes", default="small,medium", help=f"of {', '.join(SIZES)} (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="processes of each kind (default: %(default)s)")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_once(*options.run)
        return 0
    wanted = [name for name in PROGRAMS if not options.programs or any(k in name for k in options.programs)]
    print(f"{'size':8} {'program':22}" + "".join(f"{kind:>14}" for kind in KINDS) + "   seconds")
    right = [table(wanted, size, options.turns) for size in options.sizes.split(",")]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
