"""What the runtime's tests share: the device under test, a small program, and fresh processes."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clarray._engine.runtime import Device, Kernel, current_device

from ..caches import copy_device_record

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """
kernel void scale(global const float *x, const long n, global float *y, const float by)
{
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] = by * x[i];
}
kernel void count(global int *x)
{
    x[0] += 1;
}
"""
ARGUMENTS = {"scale": ("buffer", "int64", "buffer", "float32"), "count": ("buffer",)}


class Scale:
    """The small program, in NumPy's terms."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.kernel: Kernel = device.program(SOURCE, ARGUMENTS).kernel("scale")

    def __call__(self, x: np.ndarray, by: float, inline: bool) -> np.ndarray:
        device = self.device
        source, target = device.upload(x), device.allocate(x.nbytes)
        args = (source.buffer, x.size, target.buffer, by)
        self.kernel.launch((3,), (1,), args, inline, nbytes=2 * x.nbytes)
        out = np.empty_like(x)
        device.read(target, 0, out)
        return out


@pytest.fixture(scope="session")
def device() -> Device:
    return current_device()


@pytest.fixture(scope="session")
def scale(device: Device) -> Scale:
    return Scale(device)


Fresh = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def fresh_in() -> Fresh:
    """Run code in a process of its own, with its cache in this folder; None takes a variable away."""

    def run(folder: Path, code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        wanted = {**os.environ, "CLARRAY_CACHE_DIR": str(folder), "PYTHONPATH": paths}
        for name, value in environment.items():
            wanted.pop(name, None)
            if value is not None:
                wanted[name] = value
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env=wanted,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def fresh_cold(fresh_in: Fresh, tmp_path: Path) -> Fresh:
    """Run code in a process of its own, with an empty cache; None takes a variable away."""
    return functools.partial(fresh_in, tmp_path)


@pytest.fixture
def fresh(fresh_cold: Fresh, tmp_path: Path) -> Fresh:
    """Run code in a process of its own, whose cache has no kernels; None takes a variable away."""
    copy_device_record(tmp_path)
    return fresh_cold
