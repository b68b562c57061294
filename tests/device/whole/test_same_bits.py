"""The same call gives the same bits, whoever computes it.

NumPy computes some first and small calls, kernels the others, and both must agree: for every function, with zeros of
both signs, infinities and NaN among the operands. The bits of NaN are open.

Sums of weights have the same bits first and sixth time, with empty and full caches, with any number of threads. A child
process makes each call six times and reports a hash of each result. The parent compares the hashes within one process
and between processes.
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
from clarray._engine.launch.host_tier import kernels_only, setting
from clarray._engine.launch.kernel_cache import kernel_cache_of
from clarray._engine.runtime import current_device

from ...both_ways import bits_of
from ..closeness import on_device
from .test_every_function import FUNCTIONS, KEYWORDS, NO_CALL, fresh, sample

TIMES = 6
SPECIAL = np.array([0.0, -0.0, 1.5, -0.0, 0.0, -1.5, 1.5, np.inf, -np.inf, np.nan])
NO_BITS = {"ndarray", "info", "show_runtime", "histogramdd"}  # a class, what prints, and a table of 16 axes
IN_PLACE = {
    "x.sort()": lambda x: x.sort(),
    "x.sort(0)": lambda x: x.sort(0),
    "x.partition(1)": lambda x: x.partition(1),
    "x.argsort()": lambda x: x.argsort(),
    "x.argpartition(1)": lambda x: x.argpartition(1),
}


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


def operand(value: Any, dtype: str, times: int, special: bool) -> Any:
    """Return an argument of a sample with arrays of floats replaced, `times` as long along each axis."""
    if type(value) in (tuple, list):
        return type(value)(operand(each, dtype, times, special) for each in value)
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    made = value if times == 1 or value.dtype == bool else np.kron(value, np.ones((times,) * value.ndim, value.dtype))
    if value.dtype.kind != "f":
        return made
    random = np.random.default_rng(made.size)
    ascending = made.ndim == 1 and bool((np.diff(value) >= 0).all())
    if special:
        made = SPECIAL[random.integers(0, SPECIAL.size, made.shape)]
        made = made + 1j * SPECIAL[random.integers(0, 7, made.shape)] if dtype[0] == "c" else made
    else:
        made = (made + random.random(made.shape)) * np.pi
    return np.sort(made.astype(dtype)) if ascending else made.astype(dtype)


def called(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the bits of a call's results and of its operands, or its error."""
    given = on_device(fresh(args))
    try:
        return bits_of((function(*given, **kwargs), given))
    except (ArithmeticError, MemoryError, TypeError, ValueError, IndexError) as error:
        return type(error)


@pytest.mark.parametrize(
    ("dtype", "times", "special"), [("f4", 1, False), ("f4", 4, True), ("f8", 4, True), ("c8", 4, True)]
)
def test_every_function(dtype: str, times: int, special: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy computes all that it ever computes, then the kernels compute the same."""
    monkeypatch.setattr(setting, "on", True)
    for name in ("prefetch_after", "compile_after"):
        monkeypatch.setattr(setting, name, 1e9)
    cache = kernel_cache_of(current_device())
    monkeypatch.setattr(cache, "prepared", {})
    monkeypatch.setattr(cache, "rendered", {})
    rows = [
        (name, getattr(clarray, name), sample(name), KEYWORDS.get(name, {}))
        for name in sorted(FUNCTIONS)
        if name not in NO_CALL and name not in NO_BITS
    ]
    rows += [(name, method, (np.ones((3, 4), "f4"),), {}) for name, method in IN_PLACE.items()]
    unlike = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, args, kwargs in rows:
            args = operand(args, dtype, times, special)
            first = called(function, args, kwargs)
            with kernels_only():
                if called(function, args, kwargs) != first:
                    unlike.append(name)
    assert not unlike


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(report()))
