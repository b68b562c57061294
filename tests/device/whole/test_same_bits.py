"""Sums of weights have the same bits: first and sixth time, with empty and full caches, with any number of threads.

NumPy computes some first and small calls, kernels the others, and both must agree. A child process makes each call six
times and reports a hash of each result. The parent compares the hashes within one process and between processes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import clarray

TIMES = 6


def weighted() -> dict[str, Any]:
    """Return the calls that sum weights, of sizes around every way to divide them."""
    random = np.random.default_rng(0)
    calls: dict[str, Any] = {}
    for size in (100, 5_000, 50_000, 300_000):
        weights = random.random(size) * 10.0 ** random.integers(-6, 6, size)
        w, single, values = clarray.array(weights), clarray.array(weights, "f4"), clarray.array(random.random(size))
        for bins in (3, 100, 4095, 4097, 20_000):
            given = random.integers(0, bins, size)
            of = f"{size} values, {bins} bins"
            k = clarray.array(given)
            calls[f"bincount of {of}"] = lambda k=k, w=w: clarray.bincount(k, w)
            calls[f"bincount of {of} anew"] = lambda k=given, w=w: clarray.bincount(clarray.array(k), w)
            calls[f"bincount of pending {of}"] = lambda k=k, w=w: clarray.bincount(k + 1, w * 2)
            calls[f"bincount of reversed {of}"] = lambda k=k, w=w: clarray.bincount(k[::-1], w[::-1] * 2)
            calls[f"histogram of {of}"] = lambda x=values, b=bins, w=w: clarray.histogram(x, b, weights=w)
            calls[f"histogram of {of}, float32"] = lambda x=values, b=bins, w=single: clarray.histogram(x, b, weights=w)
            calls[f"histogram of {of}, complex"] = lambda x=values, b=bins, w=w: clarray.histogram(x, b, weights=w * 1j)
        matrix = [each.reshape(10, -1)[:, :-1] for each in (values, w)]
        calls[f"histogram of rows of {size}"] = lambda x=matrix[0], w=matrix[1]: clarray.histogram(x, 9, weights=w)
        calls[f"histogram2d of {size}"] = lambda x=values, w=w: clarray.histogram2d(x, x * x, 20, weights=w)
    return calls


def bits(value: Any) -> bytes:
    if isinstance(value, clarray.DeviceArray):
        return clarray.asnumpy(value).tobytes()
    if isinstance(value, tuple | list):
        return b"|".join(map(bits, value))
    return value.tobytes() if isinstance(value, np.ndarray) else b""


def report() -> dict[str, list[str]]:
    """Return the hashes of the results of each call's first times."""
    found: dict[str, list[str]] = {}
    for name, call in weighted().items():
        hashes = found[name] = []
        for _ in range(TIMES):
            hashes.append(hashlib.sha256(bits(call())).hexdigest()[:12])
    return found


def in_process(cache: Path, threads: int) -> dict[str, list[str]]:
    changes = {"CLARRAY_CACHE_DIR": str(cache), "POCL_MAX_PTHREAD_COUNT": str(threads), "CLARRAY_TIER": "1"}
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, env=os.environ | changes, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_sums_of_weights(tmp_path: Path) -> None:
    threads = (2, 2, 1, 4, 11)  # the second of the same cache
    runs = [in_process(tmp_path, number) for number in threads]
    unlike = [
        f"{name}: {number} threads: {hashes}"
        for number, run in zip(threads, runs, strict=True)
        for name, hashes in run.items()
        if set(hashes) != {runs[0][name][0]}
    ]
    assert not unlike, "\n".join(unlike)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(report()))
