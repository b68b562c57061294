"""What one statement costs on small arrays: NumPy, clarray as users have it, and clarray with parts of it turned off.

    python benchmarks/statements.py --turns 4

==============  ==============================================================================================
default         nothing is set, and kernels have been compiled by an earlier process
empty cache     nothing is set, and this process compiles the kernels: the steady state should be the same
kernels         kernels compute everything, NumPy nothing (``CLARRAY_TIER=0``)
no core         Python alone, without the compiled core (``CLARRAY_PURE=1``)
runtime         the OpenCL runtime launches, where the core would call machine code (``CLARRAY_DIRECT=0``)
==============  ==============================================================================================

Each turn is a process of its own for each of them, one after the other. A statement is repeated for half a second
before it counts. Then the best of many short rounds counts, over all turns: other programs on the machine, of which a
round may be free, only lengthen it. The times asked for stand beside, and a time that is longer is marked.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

ROUND = 1e-3  # seconds
ROUNDS = 150
WARM = 0.5  # seconds before a statement counts
KINDS = {  # the library, and the environment
    "NumPy": ("numpy", {}),
    "default": ("clarray", {}),
    "empty cache": ("clarray", {}),
    "kernels": ("clarray", {"CLARRAY_TIER": "0"}),
    "no core": ("clarray", {"CLARRAY_PURE": "1"}),
    "runtime": ("clarray", {"CLARRAY_DIRECT": "0"}),
}


class Row(NamedTuple):
    """A statement, what was asked for it in microseconds, and how many steps it takes.

    Parameters
    ----------
    python, core : float or None
        Asked for in Python alone, and by default.
    statement : str
        About the names of `names`.
    steps : int
        Of a loop: what counts is one of them.
    """

    python: float | None
    core: float | None
    statement: str
    steps: int = 1


ROWS = {
    "x + x, evaluated": Row(5, 1.5, "done(x + x)"),
    "x[1:]": Row(0.8, 0.15, "x[1:]"),
    "a step of `for e in x`": Row(0.6, 0.15, "for e in x: pass", 100),
    "float(x[3])": Row(0.8, 0.15, "float(x[3])"),
    "x[3] = 1.0": Row(0.5, 0.12, "x[3] = 1.0"),
    "x[1:-1] = y[2:]": Row(5.2, 1.5, "x[1:-1] = y[2:]"),
    "x += 1": Row(4.8, 1.5, "x += 1"),
    "x @ y, evaluated": Row(11, 3, "done(x @ y)"),
    "A @ x, evaluated, 40 x 40": Row(15, 4, "done(A @ z)"),
    "A @ x, evaluated, 100 x 100": Row(15, 4, "done(B @ x)"),
    "x[1:-1] = (y[1:-1] + y[2:] + y[:-2]) * .3": Row(12, 3, "x[1:-1] = (y[1:-1] + y[2:] + y[:-2]) * 0.3"),
    "5-point, 40 x 40, into another array": Row(
        22, 5, "u[1:-1, 1:-1] = (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]) * 0.25"
    ),
    "float(x.sum())": Row(6, 2.5, "float(x.sum())"),
    "float(x.mean())": Row(None, None, "float(x.mean())"),
    "float(x.var())": Row(None, None, "float(x.var())"),
    "np.allclose(x, y)": Row(None, None, "xp.allclose(x, y)"),
    "np.where(x > .5, x, y), evaluated": Row(8, 3, "done(xp.where(x > 0.5, x, y))"),
    "x[x > .5], evaluated": Row(25, 10, "done(x[x > 0.5])"),
    "x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]": Row(20, 6, "s[50] = (b[50] - L[50, :50] @ s[:50]) / L[50, 50]"),
}


def names(xp: Any) -> dict[str, Any]:
    """What the statements are about: 100 elements, and tables."""
    r = np.random.default_rng(0)
    shapes: dict[str, Any] = {**dict.fromkeys("xybs", 100), "z": 40}
    shapes |= {**dict.fromkeys("Auv", (40, 40)), **dict.fromkeys("BL", (100, 100))}
    made = {name: xp.array(r.random(shape, dtype=np.float32) + 1) for name, shape in shapes.items()}
    return made | {"xp": xp, "done": (lambda a: a) if xp is np else lambda a: a.evaluate()}


def loop_of(statement: str, given: dict[str, Any], end: str = "pass") -> Callable[[int], float]:
    """Return a function that runs a statement so many times, then `end` once, and returns the seconds."""
    head = f"def run(count, {', '.join(given)}):\n start = now()\n"
    made: dict[str, Any] = {"now": time.perf_counter}
    exec(f"{head} for _ in range(count):\n  {statement}\n {end}\n return now() - start", made)
    return lambda count: float(made["run"](count, **given))


def measure(library: str) -> dict[str, float]:
    """Microseconds of each statement, in this process."""
    found = {}
    for name, row in ROWS.items():
        run = loop_of(row.statement, names(importlib.import_module(library)))
        start = time.perf_counter()
        while time.perf_counter() - start < WARM:
            run(50)
        count = max(1, int(ROUND / max(run(20) / 20, 1e-9)))
        found[name] = min(run(count) for _ in range(ROUNDS)) / count / row.steps * 1e6
    return found


def measure_by_turns(turns: int) -> dict[str, dict[str, float]]:
    """The best of several processes of each kind."""
    best: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
    for _ in range(turns):
        for kind, (library, settings) in KINDS.items():
            with tempfile.TemporaryDirectory() as empty:
                environment = os.environ | settings
                if kind == "empty cache":
                    environment |= {"CLARRAY_CACHE_DIR": empty}
                command = [sys.executable, __file__, "--measure", library]
                printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            for name, took in json.loads(printed).items():
                best[kind][name] = min(took, best[kind].get(name, took))
    return best


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="What one statement costs on small arrays.")
    parser.add_argument("--turns", type=int, default=4, help="processes of each kind")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    best = measure_by_turns(options.turns)
    width = max(map(len, ROWS))
    print(f"{'statement':{width}}" + "".join(f"{kind:>12}" for kind in KINDS) + "  asked: default, no core")
    for name, row in ROWS.items():
        asked = {"default": row.core, "no core": row.python}
        line = f"{name:{width}}"
        for kind, found in best.items():
            limit = asked.get(kind)
            line += f"{found[name]:11.2f}{'*' if limit is not None and found[name] > limit else ' '}"
        print(line + "".join(f"{'-' if limit is None else limit:>7}" for limit in asked.values()))


if __name__ == "__main__":
    main()
