"""Draw a run's figures: how many times NumPy's speed each library reaches."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {
    "clarray": "#c0392b",
    "numexpr": "#7f8c8d",
    "torch": "#2c7fb8",
    "jax": "#41ab5d",
    "pyopencl": "#8c6bb1",
    "cupy": "#e6ab02",
}


def draw(run: dict[str, Any], path: Path) -> None:
    """Draw one group of bars per operation, on a logarithmic axis with NumPy at 1."""
    taken = {row["operation"]: row["median_seconds"] for row in run["rows"]}
    rows = {name: seconds for name, seconds in taken.items() if {"numpy", "clarray"} <= seconds.keys()}
    if not rows:
        return
    peers = drawn_peers(rows)
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.1 * len(rows) * (len(peers) + 1.2)))
    bars(axes, rows, peers)
    axes.set_title(title(run), fontsize=9)
    save(figure, path)


def draw_programs(run: dict[str, Any], path: Path) -> None:
    """Draw the programs' best runs, a column for each size."""
    columns = {
        size: {row["program"]: row["best_seconds"] for row in run["rows"] if row["size"] == size}
        for size in dict.fromkeys(row["size"] for row in run["rows"])
    }
    names = list(dict.fromkeys(row["program"] for row in run["rows"]))
    peers = drawn_peers({(row["program"], row["size"]): row["best_seconds"] for row in run["rows"]})
    if not peers:
        return
    high = 1.5 + 0.1 * len(names) * (len(peers) + 1.2)
    figure, places = plt.subplots(1, len(columns), sharey=True, squeeze=False, figsize=(3 + 3.2 * len(columns), high))
    for axes, (size, rows) in zip(places[0], columns.items(), strict=True):
        bars(axes, {name: rows.get(name, {}) for name in names}, peers)
        axes.set_title(size, fontsize=9)
    figure.suptitle(title(run), fontsize=9)
    save(figure, path)


def drawn_peers(rows: Mapping[Any, Mapping[str, float]]) -> list[str]:
    return [peer for peer in COLOURS if any(peer in seconds for seconds in rows.values())]


def bars(axes: Any, rows: Mapping[str, Mapping[str, float]], peers: Sequence[str]) -> None:
    """Draw the peers' bars of each row, clarray's with its figure, where NumPy was measured too."""
    high = 0.8 / len(peers)
    for k, peer in enumerate(peers):
        ratios = {
            place: taken["numpy"] / taken[peer]
            for place, taken in enumerate(rows.values())
            if peer in taken and "numpy" in taken
        }
        places, lengths = [place + k * high for place in ratios], [ratio - 1 for ratio in ratios.values()]
        axes.barh(places, lengths, high, left=1, color=COLOURS[peer], label=peer)
        if peer == "clarray":
            for place, ratio in ratios.items():
                axes.text(max(ratio, 1) * 1.03, place + k * high, f"{ratio:.3g}", va="center", fontsize=7)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    least, most = axes.get_xlim()
    axes.set_xlim(least, most * (most / least) ** 0.1)  # room for the figures beside the bars
    axes.set_yticks([p + 0.4 - high / 2 for p in range(len(rows))])
    axes.set_yticklabels(rows, fontsize=8)
    axes.set_ylim(len(rows) - 0.2, -high)
    axes.set_xlabel("times NumPy's speed (more is better)")
    axes.legend(fontsize=8)


def title(run: Mapping[str, Any]) -> str:
    cores = f", {run['host']['cores']} cores" if run["device"]["kind"] == "cpu" else ""
    return f"{run['device']['name']}{cores}, {run['device']['platform']}, {run['date']}"


def save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text())
    (draw_programs if "program" in found["rows"][0] else draw)(found, Path(sys.argv[2]))
