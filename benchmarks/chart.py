"""Draw a run's figures: how many times NumPy's speed each library reaches."""

from __future__ import annotations

import json
import sys
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
    rows = [row for row in run["rows"] if {"numpy", "clarray"} <= row["median_seconds"].keys()]
    if not rows:
        return
    peers = [p for p in COLOURS if any(p in row["median_seconds"] for row in rows)]
    high = 0.8 / len(peers)
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.1 * len(rows) * (len(peers) + 1.2)))
    for k, peer in enumerate(peers):
        places, ratios = [], []
        for position, row in enumerate(rows):
            taken = row["median_seconds"]
            if peer in taken:
                places.append(position + k * high)
                ratios.append(taken["numpy"] / taken[peer])
        lengths = [ratio - 1 for ratio in ratios]
        axes.barh(places, lengths, high, left=1, color=COLOURS[peer], label=peer)
        if peer == "clarray":
            for place, ratio in zip(places, ratios, strict=True):
                axes.text(max(ratio, 1) * 1.03, place, f"{ratio:.3g}", va="center", fontsize=7)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks([p + 0.4 - high / 2 for p in range(len(rows))])
    axes.set_yticklabels([row["operation"] for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.2, -high)
    axes.set_xlabel("times NumPy's speed (more is better)")
    cores = f", {run['host']['cores']} cores" if run["device"]["kind"] == "cpu" else ""
    what = f"{run['device']['name']}{cores}, {run['device']['platform']}, {run['date']}"
    axes.set_title(what, fontsize=9)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
