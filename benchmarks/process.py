"""What a new Python process pays: import, and the first result with and without cached programs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

CHILD = """
import json, time
start = time.perf_counter()
import numpy, pyopencl
base = time.perf_counter()
import clarray
ready = time.perf_counter()
x = numpy.arange(1000, dtype=numpy.float32)
found = float(((clarray.asarray(x) - 1) ** 2).sum())
done = time.perf_counter()
assert abs(found / ((x.astype(float) - 1) ** 2).sum() - 1) < 1e-6, found
print(json.dumps({"peers": base - start, "clarray": ready - base, "first": done - ready}))
"""


def child(cache: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=os.environ | {"CLARRAY_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a fresh interpreter failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def first_results(processes: int) -> dict[str, float]:
    """Seconds of an import, and of a first result: with an empty cache, then from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        cold = child(cache)
        cached = [child(cache) for _ in range(processes)]
    return {
        "import numpy, pyopencl": statistics.median(c["peers"] for c in cached),
        "import clarray after them": statistics.median(c["clarray"] for c in cached),
        "first result, nothing cached": cold["first"],
        "first result, programs cached": statistics.median(c["first"] for c in cached),
    }
