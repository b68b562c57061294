"""Turn each mechanism off, and name the statements that are quicker without it.

    python benchmarks/mechanisms.py --repetitions 3

Statements of many kinds, over arrays of 1 to 100,000 elements, are timed in pairs of processes: one as users have it,
one with a mechanism off. A statement loses where the first takes over 10 % longer in each repetition. The exit status
is 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from math import inf
from typing import Any

import numpy as np

from statements import loop_of

MECHANISMS = {
    "NumPy for small calls": {"CLARRAY_TIER": "0"},
    "compiled core": {"CLARRAY_PURE": "1"},
    "calls of machine code": {"CLARRAY_DIRECT": "0"},
}
SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
MOST = 1.10
WARM = 0.3  # seconds before a statement counts: some 50 ms of calls by NumPy come before a kernel
ROUND = 1e-3  # seconds
ROUNDS = 30

STATEMENTS = (
    *(
        "done(x + y)",
        "done(x * 2 + y)",
        "done(xp.sqrt(x))",
        "done(xp.exp(x))",
        "done(x > y)",
        "done(x.astype(xp.float64))",
    ),
    *(
        "x += 1",
        "x[:] = y",
        "x[1:] = y[:-1]",
        "x[0] = 1.0",
        "float(x[0])",
        "done(x[::2] + y[::2])",
        "xp.add(x, y, out=z)",
    ),
    *("float(x.sum())", "float(x.max())", "float(x.mean())", "float(x.var())", "int(x.argmax())", "done(x.cumsum())"),
    *(
        "float(x @ y)",
        "done(xp.where(x > 0.5, x, y))",
        "done(xp.clip(x, 0.2, 0.8))",
        "xp.allclose(x, y)",
        "xp.array_equal(x, y)",
    ),
    *(
        "done(x[i])",
        "x[i] = y",
        "done(x[m])",
        "x[m] = 0",
        "done(x.take(i))",
        "done(x.repeat(2))",
        "done(xp.roll(x, 1))",
    ),
    *(
        "done(xp.concatenate([x, y]))",
        "done(xp.stack([x, y]))",
        "done(xp.compress(m, x))",
        "done(xp.sort(x))",
        "done(x.argsort())",
    ),
    *(
        "done(xp.unique(k))",
        "done(xp.searchsorted(s, x))",
        "done(xp.bincount(k))",
        "done(xp.isin(k, k))",
        "done(k + k)",
    ),
)


def names(xp: Any, size: int) -> dict[str, Any]:
    """What the statements are about."""
    r = np.random.default_rng(0)
    x = r.random(size, dtype=np.float32)
    made: dict[str, Any] = {"x": x, "y": x[::-1].copy(), "z": x.copy(), "s": np.sort(x), "m": x > 0.5}
    made |= {"i": r.permutation(size), "k": r.integers(0, size, size)}
    return {name: xp.array(value) for name, value in made.items()} | {"xp": xp, "done": lambda a: a.evaluate()}


def measure(size: int, statements: list[str]) -> dict[str, float]:
    """Return the microseconds of each statement in this process, with the wait for all that it launched."""
    import clarray

    found = {}
    for statement in statements:
        # without the wait, a statement that is only enqueued would look quicker than one that is computed
        run = loop_of(statement, names(clarray, size), "xp.synchronize()")
        start, count = time.perf_counter(), 1
        while time.perf_counter() - start < WARM:
            run(count)
            count = min(2 * count, 64)
        count = max(1, int(ROUND / max(run(2) / 2, 1e-9)))
        found[statement] = min(run(count) for _ in range(ROUNDS)) / count * 1e6
    return found


def in_a_process(settings: dict[str, str], size: int, statements: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", json.dumps([size, statements])]
    environment = os.environ | settings
    printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


def losing(settings: dict[str, str], size: int, repetitions: int) -> dict[str, tuple[float, float]]:
    """Return the statements that lose in each repetition, with the best microseconds of both kinds of processes.

    Only what has lost so far is repeated, so that a pair of processes takes the shorter, the more pairs there were.
    """
    best: dict[str, tuple[float, float]] = dict.fromkeys(STATEMENTS, (inf, inf))
    for _ in range(repetitions):
        statements = list(best)
        if not statements:
            break
        on, off = (in_a_process(each, size, statements) for each in ({}, settings))
        best = {
            name: (min(on[name], best[name][0]), min(off[name], best[name][1]))
            for name in statements
            if on[name] > MOST * off[name]
        }
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3, help="pairs of processes (default: %(default)s)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="comma-separated (default: %(default)s)")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*json.loads(options.measure))))
        return 0
    lost = 0
    for mechanism, settings in MECHANISMS.items():
        for size in map(int, options.sizes.split(",")):
            rows = losing(settings, size, options.repetitions)
            lost += len(rows)
            print(f"{mechanism}, {size} elements: {len(rows)} statements quicker without it", flush=True)
            for name, (on, off) in rows.items():
                print(f"  {name:40} {on:9.2f} us, {off:9.2f} without", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
