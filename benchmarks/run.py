"""Measure every operation beside its peers, in one process and in turn.

The median of interleaved rounds is what counts: machines drift, and a ratio of two medians taken in
the same rounds drifts least. The floor is the least bytes an operation must move over the device's
measured copy bandwidth.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

# The search space. Sizes are elements; the kind is that of the device that clarray chose.
SIZES = {
    "cpu": {"large": 1 << 25, "math": 1 << 23, "rows": (4096, 8192), "square": (4096, 4096)},
    "gpu": {"large": 1 << 28, "math": 1 << 28, "rows": (16384, 16384), "square": (16384, 16384)},
}
# Of matrices and of transforms: `factor` is a square matrix's side, `tall` a narrow one's shape, `many` and `many64`
# how many matrices of 8 x 8 and 64 x 64 there are.
MATRICES = {
    "cpu": {
        "factor": 512,
        "tall": (20_000, 64),
        "many": 100_000,
        "many64": 1000,
        "product": 1024,
        "wide_product": 1024,
        "vector": 4096,
        "line": 1 << 20,
        "image": 1024,
    },
    "gpu": {
        "factor": 2048,
        "tall": (200_000, 64),
        "many": 100_000,
        "many64": 10_000,
        "product": 8192,
        "wide_product": 4096,
        "vector": 8192,
        "line": 1 << 24,
        "image": 4096,
    },
}
SMALL = 100  # elements where only overhead counts
PEERS = ("clarray", "numpy", "scipy", "numexpr", "torch", "jax", "pyopencl", "cupy", "reikna", "pyvkfft")
ROUNDS = 9  # at most; fewer where the budget ends first, but never fewer than three
BUDGET = 12.0  # seconds that one operation may take, all peers together
LEAST_SAMPLE = 0.002  # seconds; shorter calls are repeated until one sample lasts this long
WARM_UP = {"cpu": 0.0, "gpu": 0.02}  # seconds of calls before each sample
PROCESSES = 5  # fresh interpreters for the first result

# JAX would otherwise take three quarters of the GPU's memory before the others come to run.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operations", nargs="*", help="only operations whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="name the operations and stop")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--device", help="index, or part of a platform's or device's name")
    parser.add_argument("--large", type=int, help="elements, instead of 2^25 (CPU) or 2^28 (GPU)")
    parser.add_argument("--math", type=int, help="elements for exp, log, sin and pow")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds per operation")
    parser.add_argument("--no-process", action="store_true", help="start no fresh interpreters")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder to write to")
    return parser.parse_args()


def sizes(kind: str, asked: argparse.Namespace) -> dict[str, Any]:
    """Give the sizes in force; `--large` scales the matrices with the vectors."""
    named = "cpu" if kind == "cpu" else "gpu"
    chosen: dict[str, Any] = SIZES[named] | MATRICES[named]
    if asked.large:
        side = 1 << (asked.large.bit_length() // 2)
        chosen |= {
            "large": asked.large,
            "rows": (side, max(asked.large // side, 1)),
            "square": (side, side),
        }
    if asked.math:
        chosen["math"] = asked.math
    return chosen | {"small": SMALL}


def main() -> int:
    from operations import OPERATIONS

    asked = arguments()
    wanted = [o for o in OPERATIONS if not asked.operations or any(k in o.name for k in asked.operations)]
    if asked.list:
        print("\n".join(operation.name for operation in wanted))
        return 0
    import clarray
    from measure import Bench
    from report import Report

    with clarray.device(asked.device) as device:
        kind = device.capabilities.kind
        bench = Bench(
            peers=asked.peers.split(","),
            device=device,
            sizes=sizes(kind, asked),
            rounds=asked.rounds,
            budget=asked.budget,
            least_sample=LEAST_SAMPLE,
            warm_up=WARM_UP["cpu" if kind == "cpu" else "gpu"],
        )
        report = Report(bench, kind)
        report.header()
        for operation in bench.progress(wanted):
            report.add(operation, bench.measure(operation))
            report.write_rows(asked.output)  # a run takes long: what ends it early leaves these
    report.footer()
    if not asked.no_process and not asked.operations:
        from process import first_results

        report.add_process(first_results(PROCESSES))
    report.write(asked.output)
    return 0 if report.right else 1


if __name__ == "__main__":
    sys.exit(main())
