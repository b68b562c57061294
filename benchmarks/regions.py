"""Run region programs on NumPy, clarray, JAX, PyTorch and numexpr: the same text, whole and as one function.

    python benchmarks/regions.py
    python benchmarks/regions.py --sizes 4194304 seawater black_scholes

Each program at each size has fresh processes, one for each library, and clarray's caches of kernels are empty. The
first run includes compilation. Then the libraries run in turn, in short bursts, and the best run counts. clarray runs
the NumPy text without a decorator. JAX and PyTorch compile it. numexpr has the programs that are one expression.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clarray
from program_report import Row, geometric_mean, print_setting
from programs import is_ready, run_once, with_empty_caches
from region_programs import PROGRAMS, count_operations
from region_worker import DEVICE_KIND, Worker, has_text_for
from report import about, readable, write_json
from worker import Gone

PEERS = ("numpy", "clarray", "jax", "torch", "numexpr")
SIZES = "4096,1048576"  # --sizes 4194304 for a third one
LEAST_SIZE = 4096  # a head of attention_weights
BUDGET = 3.0  # seconds of bursts of all libraries together
ROUNDS = 5  # at least, even if they take longer
LIMIT = 120.0  # seconds after which a run is given up
NAME = "{:<26}{:>9}{:>5}"
COLUMN = "{:>24}"
COUNTS = "{:>9}{:>6}{:>9}{:>12}{:>8}"


@dataclass(kw_only=True)
class RegionRow(Row):
    """What one program of one size took, and what clarray launched and built for it."""

    operations: int
    counts: dict[str, Any] = field(default_factory=dict)

    @property
    def share_of_floor(self) -> float | None:
        """The floor's part of clarray's best time."""
        best, floor = self.best("clarray"), self.counts.get("floor_seconds")
        return floor / best if best and floor else None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="name the programs with their operations, and stop")
    parser.add_argument("--sizes", default=SIZES, help="elements, comma-separated (default: %(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--device", help="index, or part of a platform's or device's name")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of bursts per program and size")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds after which a run is given up")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder to write to")
    return parser.parse_args()


def measure(program: str, size: int, peers: list[str], budget: float, limit: float) -> RegionRow:
    """Run a program in a process for each library, in turn, NumPy first: the others are compared with it."""
    row = RegionRow(program=program, size=str(size), extents=(size,), operations=count_operations(program))
    with tempfile.TemporaryDirectory() as folder:
        workers = {p: Worker(p, program, str(size), Path(folder), limit) for p in peers if has_text_for(p, program)}
        try:
            ready = [peer for peer, worker in workers.items() if is_ready(worker, peer, row)]
            running = [peer for peer in ready if run_once(workers[peer], peer, row)]
            begin, rounds = time.monotonic(), 0
            while running and (rounds < ROUNDS or time.monotonic() - begin < budget):
                running = [peer for peer in running if run_burst(workers[peer], peer, row)]
                rounds += 1
            # Kernels may have been compiled beside the runs: the last results count as the first ones do.
            running = [peer for peer in running if check_again(workers[peer], peer, row)]
            if "clarray" in running:
                row.counts = workers["clarray"].ask("count")
        except Gone as error:
            row.errors["clarray"] = str(error)
        finally:
            for worker in workers.values():
                worker.stop()
    return row


def run_burst(worker: Worker, peer: str, row: RegionRow) -> bool:
    """Append the best run of a burst. Return False if the process gave no answer."""
    try:
        answer = worker.ask("burst")
    except Gone as error:
        row.errors[peer] = str(error)
        return False
    row.seconds[peer].append(answer["seconds"])
    row.cpu_seconds[peer].append(answer["cpu_seconds"])
    return True


def check_again(worker: Worker, peer: str, row: RegionRow) -> bool:
    return peer == "numpy" or run_once(worker, peer, row)


class Report:
    """Print each row, and write the JSON file and the Markdown table."""

    def __init__(self, peers: list[str], folder: Path) -> None:
        self.peers = peers
        self.rows: list[RegionRow] = []
        with clarray.device(None) as device:
            self.device = device
        self.path = folder / f"regions_{'cpu' if device.capabilities.kind == 'cpu' else 'gpu'}.json"

    def header(self, missing: list[str]) -> None:
        print_setting(self.device, missing)
        headings = (COLUMN.format(f"{peer}: first, best") for peer in self.peers)
        counts = COUNTS.format("launches", "host", "kernels", "floor", "of it")
        print("\n" + NAME.format("program", "size", "ops"), *headings, counts)

    def add(self, row: RegionRow) -> None:
        self.rows.append(row)
        write_json(self.data(), self.path)
        self.path.with_suffix(".md").write_text(self.markdown())
        times = [
            COLUMN.format(f"{readable(row.first(p))} {readable(row.best(p)):>11}" if p in row.seconds else "-")
            for p in self.peers
        ]
        counts = row.counts
        share = row.share_of_floor
        print(
            NAME.format(row.program, row.size, row.operations),
            *times,
            COUNTS.format(
                counts.get("launches", "-"),
                counts.get("host_launches", "-"),
                counts.get("kernels", "-"),
                readable(counts.get("floor_seconds")),
                f"{share:.1%}" if share else "-",
            ),
            flush=True,
        )
        for peer, why in row.errors.items():
            print(f"    {peer} failed: {why}")
        for peer, how in row.differs.items():
            print(f"    {peer}'s results differ from NumPy's: {how}")

    def summary(self) -> None:
        for size in dict.fromkeys(row.size for row in self.rows):
            rows = [row for row in self.rows if row.size == size]
            for peer in self.peers:
                ratios = [r for row in rows if (r := row.times_faster(peer, "numpy")) is not None]
                if peer != "numpy" and ratios:
                    ahead = sum(ratio > 1 for ratio in ratios)
                    mean = geometric_mean(ratios)
                    print(f"{size}: {peer} has {mean:.3g} times NumPy's speed, ahead on {ahead} of {len(ratios)}")
            launches = sum(row.counts.get("launches", 0) for row in rows)
            print(f"{size}: {launches} launches, {sum(row.counts.get('kernels', 0) for row in rows)} kernels built")
        print(f"wrote {self.path} and {self.path.with_suffix('.md')}")

    @property
    def right(self) -> bool:
        return not any("clarray" in row.errors | row.differs for row in self.rows)

    def data(self) -> dict[str, Any]:
        versions = {peer: version for row in self.rows for peer, version in row.versions.items()}
        rows = [
            dataclasses.asdict(row)
            | {
                "first_seconds": {p: first for p in self.peers if (first := row.first(p)) is not None},
                "best_seconds": {p: best for p in self.peers if (best := row.best(p)) is not None},
            }
            for row in self.rows
        ]
        return {**about(self.device, versions), "rows": rows}

    def markdown(self) -> str:
        """Return a table for each size: milliseconds, the first run and the best."""
        lines = []
        for size in dict.fromkeys(row.size for row in self.rows):
            rows = [row for row in self.rows if row.size == size]
            peers = [peer for peer in self.peers if any(peer in row.seconds for row in rows)]
            titles = ["operations", "launches", "kernels"]
            for peer in peers:
                titles += [f"{peer}, first", "best"] if peer != "numpy" else ["numpy"]
            lines += [f"{int(size):,} elements, milliseconds:", ""]
            lines.append(" | ".join(["| program", *titles, "floor", "speed |"]))
            lines.append("| --- |" + " ---: |" * (len(titles) + 2))
            for row in rows:
                cells = [f"`{row.program}`", str(row.operations), launch_text(row.counts)]
                cells.append(str(row.counts.get("kernels", "")))
                for peer in peers:
                    cells += [milliseconds(row.first(peer))] if peer != "numpy" else []
                    cells.append(milliseconds(row.best(peer)))
                ratio = row.times_faster("clarray", "numpy")
                cells += [milliseconds(row.counts.get("floor_seconds")), f"{ratio:.2f}" if ratio else ""]
                lines.append("| " + " | ".join(cells) + " |")
            lines.append("")
        return "\n".join(lines)


def launch_text(counts: dict[str, Any]) -> str:
    """Return the launches, and the calls that NumPy computes on the host if there are any."""
    host = counts.get("host_launches")
    return f"{counts.get('launches', '')}" + (f" + {host}" if host else "")


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def main() -> int:
    asked = arguments()
    wanted = [name for name in PROGRAMS if not asked.programs or any(part in name for part in asked.programs)]
    if asked.list:
        for name in wanted:
            print(f"{name:<26}{count_operations(name):>5}")
        return 0
    if asked.device:
        os.environ["CLARRAY_DEVICE"] = asked.device
    sizes, peers = [int(size) for size in asked.sizes.split(",")], asked.peers.split(",")
    for size in sizes:
        if size < LEAST_SIZE or size % LEAST_SIZE or round(size**0.5) ** 2 != size:
            raise SystemExit(f"{size} is no square number that {LEAST_SIZE} divides")
    for peer in peers:
        if peer not in PEERS:
            raise SystemExit(f"no peer is named {peer!r}; there are {', '.join(PEERS)}")
    missing = [peer for peer in peers if importlib.util.find_spec(peer) is None]
    report = Report([peer for peer in peers if peer not in missing], asked.output)
    kind = report.device.capabilities.kind
    os.environ |= {DEVICE_KIND: kind, "JAX_ENABLE_X64": "1"} | ({"JAX_PLATFORMS": "cpu"} if kind == "cpu" else {})
    report.header(missing)
    for size in sizes:
        for program in wanted:
            with tempfile.TemporaryDirectory() as folder:
                with_empty_caches(folder)
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/torch"
                report.add(measure(program, size, report.peers, asked.budget, asked.limit))
    report.summary()
    return 0 if report.right else 1


if __name__ == "__main__":
    sys.exit(main())
