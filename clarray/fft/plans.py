"""Plans of VkFFT, each self-tested on its device before its first use.

VkFFT is an external library. A plan is refused if its transform differs from NumPy's on sample lines, or if the inverse
does not restore the input on all lines. The host then computes the transform.
"""

from __future__ import annotations

import atexit
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from clarray._core.device_array import DeviceArray, empty
from clarray._engine.runtime import Device, Memory, use_device
from clarray._engine.runtime.vkfft import Plan, bindings
from clarray._numpy.creation import sequences

__all__ = ["Key", "available", "find_plan"]

# On a CPU NumPy's library is about as fast as VkFFT, and a plan takes 0.3 to 4 s to compile.
KINDS = ("gpu", "accelerator")
_CAPACITY = 64  # plans of a device; some hold memory

_NAME = "plans of VkFFT's"


@atexit.register
def _free_plans() -> None:
    """Free the plans at exit, while the functions of pyvkfft still exist. A forked process frees nothing."""
    for device in list(Device.alive):
        if not (device.inherited or device.lost):
            device.attached.pop(_NAME, None)


class Key(NamedTuple):
    """Cache key of a plan: it transforms `n` values along the middle axis of (outer, n, inner)."""

    outer: int
    n: int
    inner: int
    dtype: np.dtype
    scaled: bool


def available(device: Device) -> bool:
    """Return whether VkFFT is installed and computes the transforms of a device."""
    return device.capabilities.kind in KINDS and bindings() is not None


def find_plan(device: Device, key: Key) -> Plan | None:
    """Return the plan for a key, or None if no plan passes its self-test. A new plan is compiled and tested first."""
    with device.lock:
        plans: OrderedDict[Key, Plan | None] = device.attached.setdefault(_NAME, OrderedDict())
        if key not in plans:
            plans[key] = _compiled_plan(device, key)
            if len(plans) > _CAPACITY:
                plans.popitem(last=False)
        plans.move_to_end(key)
        return plans[key]


def _compiled_plan(device: Device, key: Key) -> Plan | None:
    shape: tuple[int, ...] = (key.outer, key.n) if key.inner == 1 else (key.outer, key.n, key.inner)
    try:
        plan = Plan(device, shape, 1, key.dtype, key.scaled)
        return plan if _is_right(plan, device, key) else None
    except (MemoryError, RuntimeError):
        return None


def _is_right(plan: Plan, device: Device, key: Key) -> bool:
    """Return whether a plan matches NumPy on sample lines, leaves its input unchanged, and its inverse restores it."""
    shape = (key.outer, key.n, key.inner)
    with use_device(device):
        values = _values(shape, key.dtype).evaluate()
        real = key.dtype.kind == "f"
        half = (key.outer, key.n // 2 + 1, key.inner) if real else shape
        spectrum = empty(half, np.result_type(key.dtype, np.complex64), device)
        restored = empty(shape, key.dtype, device)
        plan.run(_memory(values), _memory(spectrum), inverse=False)
        if float(abs(values - _values(shape, key.dtype)).max()) > 0:
            return False
        transform = np.fft.rfft if real else np.fft.fft
        for outer, inner in {(0, 0), (key.outer - 1, key.inner - 1), (key.outer // 2, key.inner // 3)}:
            expected = transform(values[outer, :, inner].get().astype(np.result_type(key.dtype, np.float64)))
            computed = spectrum[outer, :, inner].get()
            if not np.linalg.norm(computed - expected) <= _tolerance(key) * np.linalg.norm(expected):
                return False
        plan.run(_memory(spectrum), _memory(restored), inverse=True)
        factor = 1.0 if key.scaled else 1.0 / key.n
        return float(abs(restored * factor - values).max()) <= 16 * _tolerance(key)


def _tolerance(key: Key) -> float:
    """Return the largest relative error that a transform may have: ten times the measured error of right plans."""
    return float(np.finfo(key.dtype).eps) * (8 + 4 * np.log2(key.n))


def _values(shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
    """Return an expression of values between -1 and 1, without a period that could hide an error of a transform."""
    number = sequences.arange(int(np.prod(shape))) % 65521
    real = (number * number * 48271 + number) % 65537
    parts = real.astype(dtype) * (2 / 65537) - 1
    if dtype.kind == "c":
        parts = parts + ((number * number * 16807 + number) % 65539).astype(dtype) * (2j / 65539) - 1j
    return parts.reshape(shape)


def _memory(array: DeviceArray) -> Memory:
    memory = array._node.memory
    assert memory is not None
    return memory
