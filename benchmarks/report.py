"""The table on the terminal, the JSON file and the chart."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clarray._engine.runtime import Device
from measure import Bench, Measurement
from operations import Aim, Operation

COLUMNS = "{:<38} {:>10} {:>10} {:>7} {:>7}  {:<22} {}"
HEADINGS = ("operation", "clarray", "NumPy", "ratio", "floor", "best other", "asked")
SMALLEST_WITH_FLOOR = 1 << 20  # bytes; below, the caches answer
PROCESS_AIMS = {
    "import clarray after them": Aim("seconds", 0.25),
    "first result, programs cached": Aim("seconds", 0.15),
}


def readable(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} us"


def device_line(device: Device) -> str:
    """Return the line at the top of a table: the device, and the runtime that it was measured with."""
    what = device.capabilities
    return f"{what.name} ({what.platform} {what.platform_version}, driver {what.driver})"


def met(aim: Aim, seconds: float, numpy: float | None, floor: float | None) -> bool | None:
    """Whether a figure was reached; None where what it is relative to was not measured."""
    if aim.measure == "seconds":
        return seconds <= aim.value
    if aim.measure == "NumPy":
        return None if numpy is None else numpy / seconds >= aim.value
    return None if floor is None else seconds / floor <= aim.value


class Report:
    """Collects measurements, and shows each as it comes."""

    def __init__(self, bench: Bench, kind: str) -> None:
        self.bench = bench
        self.kind = kind
        self.rows: list[dict[str, Any]] = []
        self.process: dict[str, float] = {}
        self.right = True

    def header(self) -> None:
        print(device_line(self.bench.device))
        peers = ", ".join(f"{p.name} {p.version}" for p in self.bench.peers)
        print(f"peers: {peers}")
        for name, why in self.bench.missing.items():
            print(f"  without {name}: {why}")
        print(f"copy bandwidth {self.bench.bandwidth / 1e9:.1f} GB/s, read and written\n")
        print(COLUMNS.format(*HEADINGS))

    def add(self, operation: Operation, found: Measurement) -> None:
        mine, numpy = found.median("clarray"), found.median("numpy")
        leaves_device = operation.from_host and not self.bench.device.capabilities.host_memory
        has_floor = found.moved >= SMALLEST_WITH_FLOOR and not leaves_device
        floor = found.moved / self.bench.bandwidth if has_floor else None
        others = {p: found.median(p) for p in found.seconds if p not in ("clarray", "numpy")}
        best = min(others, key=lambda p: others[p] or float("inf"), default=None)
        aim = operation.aims.get("cpu" if self.kind == "cpu" else "gpu")
        reached = met(aim, mine, numpy, floor) if aim and mine else None
        self.right = self.right and found.right and "clarray" not in found.errors
        print(
            COLUMNS.format(
                operation.name,
                readable(mine),
                readable(numpy),
                f"{numpy / mine:.2f}" if mine and numpy else "-",
                f"{floor / mine:.0%}" if mine and floor else "-",
                f"{best} {readable(others[best])}" if best else "-",
                f"{aim} {verdict(reached)}" if aim else "",
            ),
            flush=True,
        )
        if not found.right:
            print("    clarray's answer differs from NumPy's")
        for peer, error in found.errors.items():
            print(f"    {peer} failed: {error}")
        self.rows.append(
            {
                "operation": operation.name,
                "shapes": {name: self.bench.host(name).shape for name in operation.inputs},
                "median_seconds": {p: found.median(p) for p in found.seconds},
                "seconds": found.seconds,
                "errors": found.errors,
                "least_bytes": found.moved,
                "floor_seconds": floor,
                "agrees_with_numpy": found.right,
                "asked": str(aim) if aim else None,
                "reached": reached,
            }
        )

    def add_process(self, seconds: dict[str, float]) -> None:
        print("\na new process")
        self.process = seconds
        for name, taken in seconds.items():
            aim = PROCESS_AIMS.get(name)
            asked = f"{aim} {verdict(met(aim, taken, None, None))}" if aim else ""
            print(f"  {name:<36} {readable(taken):>12}  {asked}")

    def footer(self) -> None:
        judged = [row for row in self.rows if row["reached"] is not None]
        missed = [row["operation"] for row in judged if not row["reached"]]
        print(f"\n{len(judged) - len(missed)} of {len(judged)} figures reached")
        if missed:
            print("missed: " + ", ".join(missed))

    def write_rows(self, folder: Path) -> tuple[dict[str, Any], Path]:
        """Write <kind>.json, of as many rows as there are by now."""
        data = {
            **about(self.bench.device, {p.name: p.version for p in self.bench.peers}),
            "copy_bytes_per_second": self.bench.bandwidth,
            "rows": self.rows,
            "process": self.process,
        }
        path = folder / f"{self.kind}.json"
        write_json(data, path)
        return data, path

    def write(self, folder: Path) -> None:
        """Write <kind>.json and, where matplotlib is importable, <kind>.png."""
        data, path = self.write_rows(folder)
        print(f"wrote {path}")
        write_chart(data, path.with_suffix(".png"), "draw")


def about(device: Any, peers: Mapping[str, str]) -> dict[str, Any]:
    """Say when and where a run was, and with which releases."""
    return {
        "date": datetime.date.today().isoformat(),
        "device": dataclasses.asdict(device.capabilities),
        "host": {"machine": platform.machine(), "cores": os.cpu_count()},
        "python": platform.python_version(),
        "peers": dict(peers),
    }


def write_json(data: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")


def write_chart(data: Mapping[str, Any], path: Path, drawing: str) -> None:
    """Draw a run by the function of `chart` that is named, where matplotlib is importable."""
    try:
        chart = importlib.import_module("chart")
    except ImportError as error:
        print(f"no chart: {error}")
        return
    getattr(chart, drawing)(data, path)
    print(f"wrote {path}")


def verdict(reached: bool | None) -> str:
    return {None: "", True: "(reached)", False: "(missed)"}[reached]
