"""Print the versions, and then the time of ``x + x`` for each size, each as a line of JSON: ``times.py 100 50000``.

This file runs in the chroot, with the Python that has clarray. Each line is printed at once, so that a process that
dies has printed the results so far.
"""

from __future__ import annotations

import json
import platform
import sys
import time

import numpy as np

import clarray

WARM = 0.5  # seconds before the measurement
ROUND = 2e-3  # seconds
ROUNDS = 200


def measure(size: int) -> float:
    """Return the microseconds of ``x + x`` of float32, computed and waited for: the best of several rounds."""
    x = clarray.array(np.arange(size, dtype=np.float32))
    synchronize = x.device.synchronize

    def run(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            (x + x).evaluate()
            synchronize()
        return time.perf_counter() - start

    start = time.perf_counter()
    while time.perf_counter() - start < WARM:
        run(20)
    count = max(1, int(ROUND / (run(20) / 20)))
    return min(run(count) for _ in range(ROUNDS)) / count * 1e6


def main() -> None:
    with clarray.device(None) as device:
        cl_device = device.cl_device
        versions = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "device": cl_device.name.strip(),
            "platform": cl_device.platform.version,
            "driver": cl_device.driver_version,
        }
        print(json.dumps(versions), flush=True)
        for size in map(int, sys.argv[1:]):
            print(json.dumps({"size": size, "microseconds": measure(size)}), flush=True)


if __name__ == "__main__":
    main()
