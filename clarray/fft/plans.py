"""Plans of VkFFT's, each tried on the device it is for before it is used.

It is a compiled program of a library that is not ours: a plan whose transform is not NumPy's on some lines, or does not
lead back to its input on all of them, is refused, and the host transforms instead.
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

# On a CPU the library on the host is about as quick, and a plan takes it 0.3 to 4 s to compile.
KINDS = ("gpu", "accelerator")
_KEPT = 64  # plans of a device; some hold memory

_NAME = "plans of VkFFT's"


@atexit.register
def _drop() -> None:
    """Free the plans while pyvkfft, whose functions that takes, is still whole; a forked process frees nothing."""
    for device in list(Device.alive):
        if not (device.inherited or device.lost):
            device.attached.pop(_NAME, None)


class Key(NamedTuple):
    """What a plan is for: transforms of `n` values along the middle axis of (outer, n, inner)."""

    outer: int
    n: int
    inner: int
    dtype: np.dtype
    scaled: bool


def available(device: Device) -> bool:
    """Whether transforms on a device may be VkFFT's."""
    return device.capabilities.kind in KINDS and bindings() is not None


def find_plan(device: Device, key: Key) -> Plan | None:
    """Give the plan for a key, compiled and tried now if it is new; None where there is none that is right."""
    with device.lock:
        known: OrderedDict[Key, Plan | None] = device.attached.setdefault(_NAME, OrderedDict())
        if key not in known:
            known[key] = _made(device, key)
            if len(known) > _KEPT:
                known.popitem(last=False)
        known.move_to_end(key)
        return known[key]


def _made(device: Device, key: Key) -> Plan | None:
    shape: tuple[int, ...] = (key.outer, key.n) if key.inner == 1 else (key.outer, key.n, key.inner)
    try:
        plan = Plan(device, shape, 1, key.dtype, key.scaled)
        return plan if _right(plan, device, key) else None
    except (MemoryError, RuntimeError):
        return None


def _right(plan: Plan, device: Device, key: Key) -> bool:
    """Whether a plan gives NumPy's result on some lines, and its inverse the values, which were left as they were."""
    shape = (key.outer, key.n, key.inner)
    with use_device(device):
        values = _values(shape, key.dtype).evaluate()
        real = key.dtype.kind == "f"
        half = (key.outer, key.n // 2 + 1, key.inner) if real else shape
        spectrum = empty(half, np.result_type(key.dtype, np.complex64), device)
        again = empty(shape, key.dtype, device)
        plan.run(_memory(values), _memory(spectrum), inverse=False)
        if float(abs(values - _values(shape, key.dtype)).max()) > 0:
            return False
        transform = np.fft.rfft if real else np.fft.fft
        for outer, inner in {(0, 0), (key.outer - 1, key.inner - 1), (key.outer // 2, key.inner // 3)}:
            exact = transform(values[outer, :, inner].get().astype(np.result_type(key.dtype, np.float64)))
            found = spectrum[outer, :, inner].get()
            if not np.linalg.norm(found - exact) <= _tolerance(key) * np.linalg.norm(exact):
                return False
        plan.run(_memory(spectrum), _memory(again), inverse=True)
        factor = 1.0 if key.scaled else 1.0 / key.n
        return float(abs(again * factor - values).max()) <= 16 * _tolerance(key)


def _tolerance(key: Key) -> float:
    """The relative error that a transform may have; right ones were within a tenth of it."""
    return float(np.finfo(key.dtype).eps) * (8 + 4 * np.log2(key.n))


def _values(shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
    """Values between -1 and 1 without a period that a wrong transform might keep, as an expression."""
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
