"""Draw a run's figures: how many times NumPy's speed each library reaches."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

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
DPI = 120
MARGIN = 4  # pixels between a figure and the frame


def draw(run: dict[str, Any], path: Path) -> None:
    """Draw one group of bars per operation, on a logarithmic axis with NumPy at 1."""
    taken = {row["operation"]: row["median_seconds"] for row in run["rows"]}
    rows = {name: seconds for name, seconds in taken.items() if {"numpy", "clarray"} <= seconds.keys()}
    if not rows:
        return
    peers = drawn_peers(rows)
    figure, axes = plt.subplots(figsize=(9, 1.8 + len(rows) * row_inches(peers)), dpi=DPI)
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
    high = 2.1 + len(names) * row_inches(peers)
    figure, places = plt.subplots(
        1, len(columns), sharey=True, squeeze=False, figsize=(3 + 3.2 * len(columns), high), dpi=DPI
    )
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
    least, most = 1.0, 1.0
    for k, peer in enumerate(peers):
        ratios = {
            place: taken["numpy"] / taken[peer]
            for place, taken in enumerate(rows.values())
            if peer in taken and "numpy" in taken
        }
        places, lengths = [place + k * high for place in ratios], [ratio - 1 for ratio in ratios.values()]
        axes.barh(places, lengths, high, left=1, color=COLOURS[peer], label=peer)
        least, most = min([least, *ratios.values()]), max([most, *ratios.values()])
        if peer == "clarray":
            for place, ratio in ratios.items():
                at = (max(ratio, 1), place + k * high)
                axes.annotate(readable(ratio), at, (3, 0), textcoords="offset points", va="center", fontsize=7)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    beside = max(1.1, (most / least) ** 0.03)
    axes.set_xlim(least / beside, most * beside)
    axes.set_yticks([p + 0.4 - high / 2 for p in range(len(rows))])
    axes.set_yticklabels(rows, fontsize=8)
    columns = min(len(peers), 3)
    lines = -(-len(peers) // columns)
    axes.set_ylim(len(rows) - 0.2, -high - (0.12 + 0.18 * lines) / row_inches(peers))  # the legend lies above all bars
    axes.set_xlabel("times NumPy's speed (more is better)")
    axes.legend(fontsize=8, ncols=columns, loc="upper right", borderaxespad=0.3)


def row_inches(peers: Sequence[str]) -> float:
    """Give the height of a row, with a bar for each peer."""
    return 0.1 * (len(peers) + 1.2)


def readable(ratio: float) -> str:
    """Give three digits of a ratio, as readers write it: 4980 is 4,980."""
    rounded = float(f"{ratio:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def make_room(axes: Any) -> None:
    """Move the end of a logarithmic axis to where the figures beside the bars end, so that none leaves the frame.

    A figure that begins at `p` and takes the part `w` of the axis's length ends within it if `p + w * (end - start)` is
    no more than `end`. Nothing moves the frame afterwards: the layout is made before.
    """
    frame = axes.get_window_extent()
    start, end = np.log10(axes.get_xlim())
    for text in axes.texts:
        extent = text.get_window_extent()
        begins = np.log10(text.xy[0])
        offset = extent.x0 - axes.transData.transform(text.xy)[0]
        part = min((offset + extent.width + MARGIN) / frame.width, 0.9)
        end = max(end, (begins - part * start) / (1 - part))
    axes.set_xlim(10**start, 10**end)


def title(run: Mapping[str, Any]) -> str:
    cores = f", {run['host']['cores']} cores" if run["device"]["kind"] == "cpu" else ""
    return f"{run['device']['name']}{cores}, {run['device']['platform']}, {run['date']}"


def save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    for axes in figure.axes:
        make_room(axes)
    figure.savefig(path, dpi="figure")  # at which the figures were measured
    plt.close(figure)


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text())
    (draw_programs if "program" in found["rows"][0] else draw)(found, Path(sys.argv[2]))
