"""Run whole NumPy programs on NumPy, clarray and CuPy, unchanged.

Each program at each size has fresh processes, one for each library: its first run is what a new process pays
(import and upload are not in it), and a crash or a hang takes nothing else along. The libraries run in turn,
with equal inputs that are on the device already, until all that the program returns is computed; the best run counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from program_report import Report, Row
from worker import Gone, Worker
from workloads import PROGRAMS, SIZES, Program

PEERS = ("numpy", "clarray", "cupy")
RUNS = 300  # at most: kernels of small programs are compiled within the first hundred; fewer if the budget ends
BUDGET = 3.0  # seconds that each library may take for one program of one size
PATIENCE = 10.0  # a second run comes after the budget's end too, unless the first took so many budgets
LIMIT = 120.0  # seconds after which a run is given up


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="name the programs with their sizes, and stop")
    parser.add_argument("--sizes", default=",".join(SIZES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--device", help="index, or part of a platform's or device's name")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds per program, size and library")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a run is given up")
    parser.add_argument("--cold", action="store_true", help="start each program with empty caches of compiled kernels")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run wrote, and measure the rest")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder to write to")
    return parser.parse_args()


def chosen(text: str, known: tuple[str, ...], what: str) -> list[str]:
    """Take a comma-separated choice apart."""
    names = text.split(",")
    for name in names:
        if name not in known:
            raise SystemExit(f"no {what} is named {name!r}; there are {', '.join(known)}")
    return names


def measure(program: Program, size: str, peers: list[str], budget: float, limit: float) -> Row:
    """Run a program in a process for each library, in turn, NumPy first: the others are compared with it."""
    row = Row(program=program.name, size=size, extents=program.sizes[size])
    with tempfile.TemporaryDirectory() as folder:
        workers = {peer: Worker(peer, program.name, size, Path(folder), limit) for peer in peers}
        try:
            left = [peer for peer in peers if is_ready(workers[peer], peer, row)]
            for done in range(RUNS):
                may_take = budget * (PATIENCE if done == 1 else 1)
                left = [p for p in left if done == 0 or sum(row.seconds[p]) < may_take]
                left = [p for p in left if run_once(workers[p], p, row)]
        finally:
            for worker in workers.values():
                worker.stop()
    return row


def is_ready(worker: Worker, peer: str, row: Row) -> bool:
    """Wait until a process has its inputs. Return False if it gave no answer, and so will not give another."""
    try:
        row.versions[peer] = worker.ready()
    except Gone as error:
        row.errors[peer] = str(error)
        return False
    return True


def run_once(worker: Worker, peer: str, row: Row) -> bool:
    """Note what one run took; False where there was no answer, and so will not be another."""
    try:
        seconds, cpu_seconds, differs = worker.run()
    except Gone as error:
        row.errors[peer] = str(error)
        return False
    row.seconds.setdefault(peer, []).append(seconds)
    row.cpu_seconds.setdefault(peer, []).append(cpu_seconds)
    if differs is not None:
        row.differs[peer] = differs
    return True


def with_empty_caches(folder: str) -> None:
    """Point clarray, the runtimes and CuPy to a folder of their own; processes started from now on see it."""
    os.environ |= {
        "CLARRAY_CACHE_DIR": f"{folder}/clarray",
        "POCL_CACHE_DIR": f"{folder}/pocl",
        "CUDA_CACHE_PATH": f"{folder}/cuda",
        "CUPY_CACHE_DIR": f"{folder}/cupy",
    }


def main() -> int:
    asked = arguments()
    wanted = [p for p in PROGRAMS.values() if not asked.programs or any(k in p.name for k in asked.programs)]
    sizes, peers = chosen(asked.sizes, SIZES, "size"), chosen(asked.peers, PEERS, "peer")
    if asked.list:
        for program in wanted:
            print(f"{program.name:<24}", "  ".join(f"{size} {program.sizes[size]}" for size in sizes))
        return 0
    if asked.device:
        os.environ["CLARRAY_DEVICE"] = asked.device
    missing = [peer for peer in peers if importlib.util.find_spec(peer) is None]
    peers = [peer for peer in peers if peer not in missing]
    report = Report(peers, asked.output, cold=asked.cold)
    report.header(missing)
    if asked.resume:
        report.resume()
    for size in sizes:
        for program in wanted:
            if report.has(program.name, size):
                continue
            with tempfile.TemporaryDirectory() as folder:
                if asked.cold:
                    with_empty_caches(folder)
                report.add(measure(program, size, peers, asked.budget, asked.limit))
        report.summary(size)
    report.draw()
    return 0 if report.right else 1


if __name__ == "__main__":
    sys.exit(main())
