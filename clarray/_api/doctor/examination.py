"""List devices, or run all families of kernels on a device, in a subprocess that a driver may crash.

python -m clarray._api.doctor.examination            print a line of JSON for each device
python -m clarray._api.doctor.examination INDEX      print a line for each family of kernels: its name and its error
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from clarray._api.doctor.families import FAMILIES, agrees, compute
from clarray._core.creation import array
from clarray._engine.runtime import Device, current_device, devices, use_device

__all__ = ["EXCLUDED_READ", "main"]


def _print_record(**record: Any) -> None:
    print(json.dumps(record), flush=True)


def _list() -> None:
    try:
        all_devices, chosen = devices(), current_device()
    except (RuntimeError, ValueError) as error:
        _print_record(error=str(error))
        return
    for number, device in enumerate(all_devices):
        try:
            has = device.capabilities
        except Exception as error:  # the driver's compiler may fail on the first kernel
            _print_record(number=number, name=repr(device), wrong=f"{type(error).__name__}: {error}")
            continue
        memory = device.pool.info()
        _print_record(
            number=number,
            name=has.name,
            kind=has.kind,
            platform=f"{has.platform}, {has.platform_version.strip()}",
            driver=has.driver,
            units=has.compute_units,
            memory=has.global_bytes,
            largest=has.max_alloc_bytes,
            left=memory.left,
            limit=memory.limit,
            fp64=has.fp64,
            fma=has.fma,
            subnormals=has.subnormals,
            trusted=not device.backend.compiles_in_child(device.cl_device),
            chosen=device is chosen,
        )


EXCLUDED_READ = "a read that a condition excludes"
_FAR = 1 << 34  # elements behind a buffer
_READING = """
kernel void reading(global const float *x, global long *y, const long n, const long far) {
  y[0] = n > 1 ? (long)x[far] : n;
  for (long i = 1; i < n; ++i) y[0] += x[far + i];
}
"""


def _run_excluded_read(device: Device) -> None:
    """Run a kernel that would read far behind a buffer if its condition held. Mesa 26 reads there all the same."""
    _print_record(begun=EXCLUDED_READ)
    program = device.program(_READING, {"reading": ("buffer", "buffer", "int64", "int64")})
    x, y = (device.upload(np.zeros(8, np.int64)) for _ in range(2))
    program.kernel("reading").launch((1,), (1,), (x.buffer, y.buffer, 1, _FAR))
    device.synchronize()


def _examine(number: int) -> None:
    with use_device(number) as device, np.errstate(all="ignore"):
        for name in FAMILIES:
            _print_record(begun=name)
            start = time.perf_counter()
            try:
                wrong = "" if agrees(compute(name, array), compute(name, np.array)) else "the answer is not NumPy's"
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            _print_record(family=name, wrong=wrong, seconds=round(time.perf_counter() - start, 4))
        _run_excluded_read(device)


def main(words: list[str]) -> None:
    """List the devices, or examine the device with the given index."""
    if words:
        _examine(int(words[0]))
    else:
        _list()


if __name__ == "__main__":
    main(sys.argv[1:])
