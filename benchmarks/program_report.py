"""The table on the terminal, the JSON file and the chart of whole programs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clarray
from clarray._engine.runtime import Device
from report import about, device_line, readable, write_chart, write_json

NAME = "{:<8}{:<22}"
COLUMN = "{:>22}"


@dataclass(kw_only=True)
class Row:
    """What one program of one size took on every library: the runs in their order."""

    program: str
    size: str
    extents: tuple[int, ...]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)  # of all the process's threads
    errors: dict[str, str] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def best(self, peer: str) -> float | None:
        """The best run, the first not counted unless there is no other; None where the answer is wrong or missing."""
        runs = self.seconds.get(peer, [])
        return min(runs[1:] or runs) if runs and peer not in self.differs else None

    def first(self, peer: str) -> float | None:
        """The first run; None where the answer is wrong or missing."""
        runs = self.seconds.get(peer)
        return runs[0] if runs and peer not in self.differs else None

    def times_faster(self, peer: str, other: str, first: bool = False) -> float | None:
        """How many times `other`'s speed `peer` reaches, in the best run or the first."""
        mine, theirs = (self.first(one) if first else self.best(one) for one in (peer, other))
        return theirs / mine if mine and theirs else None


def geometric_mean(ratios: Iterable[float]) -> float:
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def print_setting(device: Device, missing: Iterable[str]) -> None:
    """Print the device, and the libraries that the tables lack."""
    print(device_line(device))
    for peer in missing:
        print(f"  without {peer}, which is not installed")


class Report:
    """Collects what the programs took, and shows each as it comes."""

    def __init__(self, peers: list[str], folder: Path, *, cold: bool) -> None:
        self.peers = peers
        self.cold = cold
        self.rows: list[Row] = []
        with clarray.device(None) as device:
            self.device = device
        self.path = folder / f"programs_{'cpu' if device.capabilities.kind == 'cpu' else 'gpu'}.json"

    def resume(self) -> None:
        """Take over the rows of an earlier run that was written to the same folder."""
        if self.path.exists():
            names = {f.name for f in dataclasses.fields(Row)}
            earlier = json.loads(self.path.read_text())["rows"]
            self.rows = [Row(**{name: row[name] for name in names}) for row in earlier]

    def has(self, program: str, size: str) -> bool:
        return any((row.program, row.size) == (program, size) for row in self.rows)

    @property
    def right(self) -> bool:
        return not any("clarray" in row.errors | row.differs for row in self.rows)

    def header(self, missing: Iterable[str]) -> None:
        print_setting(self.device, missing)
        headings = (COLUMN.format(f"{peer}: first, best") for peer in self.peers)
        print("\n" + NAME.format("size", "program"), *headings, "  ratio")

    def add(self, row: Row) -> None:
        self.rows.append(row)
        write_json(self.data(), self.path)  # at once: a run of an hour may be ended from outside
        times = [
            COLUMN.format(f"{readable(row.seconds[p][0])} {readable(row.best(p)):>10}" if p in row.seconds else "-")
            for p in self.peers
        ]
        ratio = row.times_faster("clarray", "numpy")
        print(NAME.format(row.size, row.program), *times, f"{ratio:7.2f}" if ratio else "      -", flush=True)
        for peer, why in row.errors.items():
            print(f"    {peer} failed: {why}")
        for peer, how in row.differs.items():
            print(f"    {peer}'s answer differs from NumPy's: {how}")

    def summary(self, size: str) -> None:
        """Print the means of one size, and where clarray stands beside CuPy."""
        rows = [row for row in self.rows if row.size == size]
        for peer in self.peers:
            lost = [row.program for row in rows if row.best(peer) is None]
            if lost:
                print(f"{size}: {peer} has no answer, or a wrong one, for {', '.join(lost)}")
        for peer in self.peers:
            ratios = [ratio for row in rows if (ratio := row.times_faster(peer, "numpy")) is not None]
            if peer != "numpy" and ratios:
                mean = geometric_mean(ratios)
                ahead = sum(ratio > 1 for ratio in ratios)
                print(
                    f"{size}: {peer} has {mean:.3g} of NumPy's speed (geometric mean), {ahead} of {len(ratios)} ahead"
                )
        for first in (False, True):
            found = {row.program: row.times_faster("clarray", "numpy", first) for row in rows}
            ratios = [ratio for ratio in found.values() if ratio is not None]
            if ratios:
                slower = ", ".join(f"{name} {ratio:.2f}" for name, ratio in found.items() if ratio and ratio < 1)
                run = "first" if first else "best"
                print(f"{size}: {run} runs {geometric_mean(ratios):.3g} of NumPy's speed; below 1: {slower or 'none'}")
        beside = [ratio for row in rows if (ratio := row.times_faster("clarray", "cupy")) is not None]
        if beside:
            ahead, mean = sum(ratio > 1 for ratio in beside), geometric_mean(beside)
            print(f"{size}: clarray is ahead of CuPy on {ahead} of {len(beside)}, at {mean:.3g} of its speed")
        print()

    def data(self) -> dict[str, Any]:
        versions = {peer: version for row in self.rows for peer, version in row.versions.items()}
        rows = [
            dataclasses.asdict(row)
            | {
                "first_seconds": {p: runs[0] for p, runs in row.seconds.items()},
                "best_seconds": {p: best for p in self.peers if (best := row.best(p)) is not None},
            }
            for row in self.rows
        ]
        return {**about(self.device, versions), "cold": self.cold, "rows": rows}

    def draw(self) -> None:
        """Name the JSON file, and draw the chart beside it where matplotlib is importable."""
        print(f"wrote {self.path}")
        write_chart(self.data(), self.path.with_suffix(".svg"), "draw_programs")
