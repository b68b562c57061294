"""Programs as their authors wrote them: with ``python``, with ``python -m clarray run``, and with the import changed.

    python benchmarks/as_is.py [names ...] [--rounds 3] [--fast] [--show]

Each program of `benchmarks/as_is` runs in processes of its own. Its output must be the same, byte by byte. `whole` is
the time of the process in seconds, `inside` the least of the program's second to fifth run in one process: without
imports, and without compiling as a rule. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
WAYS = ("python", "run", "changed")


class Result(NamedTuple):
    """What a program did in one way."""

    status: int
    output: str
    errors: str
    whole: float
    inside: float


def changed(source: str) -> str:
    """Return a program's text with NumPy's imports replaced by clarray's."""
    source = re.sub(r"(?m)^(\s*)import numpy$", r"\1import clarray as numpy", source)
    return re.sub(r"(?m)^(\s*)(import|from) numpy\b(?!\.random)", r"\1\2 clarray", source)


def command(way: str, *arguments: str) -> list[str]:
    return [sys.executable, *(("-m", "clarray", "run") if way == "run" else ()), *arguments]


def timed(arguments: list[str], folder: str) -> tuple[subprocess.CompletedProcess[str], float]:
    start = time.perf_counter()
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        arguments, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    return done, time.perf_counter() - start


def run(way: str, program: Path, rounds: int, fast: bool) -> Result:
    """Run a program in one way."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, program.name)
        source = program.read_text()
        script.write_text(changed(source) if way == "changed" else source)
        runs = [timed(command(way, str(script)), folder) for _ in range(rounds)]
        inside = []
        for _ in range(0 if fast else rounds):
            done, _seconds = timed(command(way, str(Path(__file__).resolve()), "--time", str(script)), folder)
            inside += [float(done.stderr.splitlines()[-1])] if done.returncode == 0 else []
    done = runs[0][0]
    median = statistics.median(inside) if inside else float("nan")
    return Result(done.returncode, done.stdout, done.stderr, statistics.median(t for _, t in runs), median)


def later_run(path: str) -> float:
    """Run a program five times in this process; return the least seconds of all but the first time."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(path, run_name="__main__")
        times.append(time.perf_counter() - start)
    return min(times[1:])


def verdict(theirs: Result, ours: Result) -> str:
    """Say how a program's outcome differs from that with ``python``."""
    if ours.status != theirs.status:
        return "fails: " + (ours.errors.strip().splitlines() or ["?"])[-1][:70]
    if ours.output == theirs.output:
        return "same"
    before, after = theirs.output.splitlines(), ours.output.splitlines()
    lines = sum(a != b for a, b in zip(before, after, strict=False)) + abs(len(before) - len(after))
    return f"{lines} lines differ"


def differences(theirs: Result, ours: Result) -> str:
    if ours.status != theirs.status:
        return ours.errors
    return "\n".join(difflib.unified_diff(theirs.output.splitlines(), ours.output.splitlines(), "python", "ours", n=0))


def main() -> int:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of the programs; all if none is given")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--fast", action="store_true", help="do not time later runs")
    parser.add_argument("--show", action="store_true", help="show what differs")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--time", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.time:
        print(later_run(asked.time), file=sys.stderr)
        return 0
    programs = sorted(p for p in HERE.joinpath("as_is").glob("*.py") if not asked.names or p.stem in asked.names)
    ways = [way for way in asked.ways if way != "python"]
    print(f"{'program':24}" + "".join(f"{way:>9}{'inside':>9}" for way in ("python", *ways)) + "  outcome")
    same = dict.fromkeys(ways, 0)
    totals: dict[str, list[float]] = {way: [] for way in ("python", *ways)}
    for program in programs:
        results = {way: run(way, program, asked.rounds, asked.fast) for way in ("python", *ways)}
        theirs = results["python"]
        outcomes = {way: verdict(theirs, results[way]) for way in ways}
        times = "".join(f"{r.whole:9.3f}{r.inside:9.4f}" for r in results.values())
        print(f"{program.stem:24}{times}  " + ", ".join(f"{way}: {text}" for way, text in outcomes.items()), flush=True)
        for way in ways:
            same[way] += outcomes[way] == "same"
            if asked.show and outcomes[way] != "same":
                print(differences(theirs, results[way]))
        for way, result in results.items():
            totals[way].append(result.whole)
    print("".join(f"{way}: {sum(t):.1f} s, median {statistics.median(t):.3f} s. " for way, t in totals.items()))
    print(f"of {len(programs)} programs the output is the same: " + ", ".join(f"{w} {n}" for w, n in same.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
