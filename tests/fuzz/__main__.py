"""Random programs on NumPy and on clarray: `python -m tests.fuzz --seconds 600 --jobs 4 --device pocl --seed 1`."""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("POCL_SIGFPE_HANDLER", "0")  # a division by zero ends the process, as tests/conftest.py says

from tests import both_ways

from .run import SHRINKING, Job, run_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="which programs: the same number gives the same ones")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--device", default="", help="what CLARRAY_DEVICE takes")
    parser.add_argument("--out", default="fuzz-findings", help="the folder of the programs that differ")
    parser.add_argument("--programs", type=int, default=0, help="skeletons for each process; 0: while there is time")
    parser.add_argument("--shrinking", type=float, default=SHRINKING, help="seconds to make one program smaller")
    parser.add_argument("--repeats", type=int, default=0, help="runs of each program before one is compared: 1100")
    parser.add_argument("--policy", default="own", help="plan as this row of clarray/_engine/tuning/rows.py: tiny-gpu")
    parser.add_argument("--ignore", action="append", default=[], help="a pattern of differences to pass over")
    for name in ("--job", "--first"):  # what a process is told by the one that started it
        parser.add_argument(name, type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job is None:
        return run_all(options)
    if os.environ.get("CLARRAY_TIER", "1") not in ("", "0"):
        both_ways.install()
    Job(options).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
