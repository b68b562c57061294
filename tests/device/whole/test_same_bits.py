"""The same call gives the same bits: first and sixth time, with empty and full caches, with any number of threads.

NumPy computes some first and small calls, kernels the others, and both must agree. A child process makes every call six
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
import pytest

import clarray

from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, fresh, sample

TIMES = 6
# Classes, and what prints about this machine.
NO_BITS = {"ndarray", "info", "show_runtime"}
SQUARED = {"diagflat"}  # of large operands they need gigabytes
# Reductions whose last bits depend on how many parts a CPU divides the elements into: Guarantees, 7.
BY_UNITS = {"prod", "nanprod", "var", "std", "nanvar", "nanstd", "cov", "corrcoef", "cumprod", "nancumprod"}
BY_UNITS |= {"cumulative_prod", "logaddexp.reduce", "matmul", "dot", "inner", "tensordot", "einsum", "vecmat", "matvec"}


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


def large(value: Any) -> Any:
    """Return an argument with 64 times as many elements along each axis, and with fractions where it is of floats."""
    if isinstance(value, np.ndarray) and value.ndim:
        made = np.kron(value, np.ones((64,) * value.ndim, value.dtype)) if value.dtype != bool else None
        if made is None:
            made = value.repeat(64, 0) if value.ndim == 1 else value.repeat(64, 0).repeat(64, 1)
        if made.dtype.kind == "f":
            made = (made + np.random.default_rng(1).random(made.shape)).astype(made.dtype)
            made = np.sort(made) if value.ndim == 1 and (np.diff(value) > 0).all() else made
        return made
    return type(value)(map(large, value)) if type(value) in (tuple, list) else value


def on_device(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return clarray.array(value)
    return type(value)(map(on_device, value)) if type(value) in (tuple, list) else value


def every() -> dict[str, Any]:
    """Return a call of each public function, with small and with large operands."""
    calls: dict[str, Any] = {}
    for name in FUNCTIONS:
        if name in NO_CALL or name in NO_BITS:
            continue
        function, kwargs = getattr(clarray, name), KEYWORDS.get(name, {})
        for size, change in (("", lambda x: x), (", large", large))[: 1 + (name not in SQUARED)]:
            args = change(sample(name))
            given = on_device(fresh(args))
            calls[name + size] = lambda f=function, a=given, k=kwargs: (f(*a, **k), a)
    random = np.random.default_rng(2)
    x = clarray.array(random.random(200_000) * 10.0 ** random.integers(-6, 6, 200_000))
    for name in ("sum", "mean", "cumsum", "nansum", "nanmean", "average", "median", "ptp", "sort", "prod", "var"):
        calls[f"{name}, of many"] = lambda name=name: getattr(clarray, name)(x)
    return calls


def bits(value: Any) -> bytes:
    if isinstance(value, clarray.DeviceArray):
        return clarray.asnumpy(value).tobytes()
    if isinstance(value, tuple | list):
        return b"|".join(map(bits, value))
    return value.tobytes() if isinstance(value, np.ndarray) else b""


def report(which: str) -> dict[str, list[str]]:
    """Return the hashes of the results of each call's first times."""
    found: dict[str, list[str]] = {}
    for name, call in {"weighted": weighted, "every": every}[which]().items():
        hashes = found[name] = []
        for _ in range(TIMES):
            try:
                hashes.append(hashlib.sha256(bits(call())).hexdigest()[:12])
            except (TypeError, ValueError, IndexError, np.linalg.LinAlgError) as error:
                hashes.append(type(error).__name__)  # an operand that is too large for this one
    return found


def in_process(which: str, cache: Path, threads: int) -> dict[str, list[str]]:
    changes = {"CLARRAY_CACHE_DIR": str(cache), "POCL_MAX_PTHREAD_COUNT": str(threads), "CLARRAY_TIER": "1"}
    command = [sys.executable, "-m", __name__, which]
    done = subprocess.run(command, env=os.environ | changes, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def check(which: str, tmp_path: Path, threads: tuple[int, ...]) -> None:
    runs = {
        f"{n} threads, run {k}": in_process(which, tmp_path, n) for n in threads for k in range(1 + (n == threads[0]))
    }
    first = next(iter(runs.values()))
    written = {"put", "place", "putmask", "put_along_axis", "fill_diagonal", "copyto"}
    unlike = [
        f"{name}: {run}: {hashes}"
        for run, report_ in runs.items()
        for name, hashes in report_.items()
        if (len(set(hashes)) > 1 and name.split(",")[0] not in written)
        or (hashes != first[name] and name.split(",")[0] not in BY_UNITS)
    ]
    assert not unlike, "\n".join(unlike)


def test_sums_of_weights(tmp_path: Path) -> None:
    check("weighted", tmp_path, (2, 1, 4, 11))


@pytest.mark.slow
def test_every_function(tmp_path: Path) -> None:
    check("every", tmp_path, (2, 1, 4, 11))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(report(sys.argv[1])))
