"""Fourier transforms by VkFFT, where its bindings pyvkfft are installed: a plan is compiled for one shape.

A plan is not trusted: with one CPU runtime and double precision, lengths 23 and 51 came out wrong. Whoever makes
one tries it before it is used (`clarray.fft.plans`).
"""

from __future__ import annotations

import importlib
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl.array as cl_array

from clarray._engine.runtime.capture import abort_capture
from clarray._engine.runtime.profiling import record, state

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device
    from clarray._engine.runtime.memory import Memory


@cache
def bindings() -> Any:
    """Import ``pyvkfft.opencl``; None where it is not installed, or its library does not load."""
    try:
        return importlib.import_module("pyvkfft.opencl")
    except (ImportError, OSError, AttributeError):
        return None


class Plan:
    """Transforms along one axis of C-contiguous arrays of one shape, between two memories.

    Parameters
    ----------
    device : Device
    shape : tuple of int
        Of the values; if they are real, their spectrum has half as many along the axis, and one.
    axis : int
        The last one for real values.
    dtype : dtype
        Of the values: float32, float64, complex64 or complex128.
    scaled : bool
        The backward transform divides by the number of values; else nothing is divided.

    Raises
    ------
    RuntimeError
        VkFFT cannot do it.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], axis: int, dtype: np.dtype, scaled: bool) -> None:
        self._device = device
        self._shape = shape
        self._dtype = dtype
        self._spectrum = shape, dtype
        real = dtype.kind == "f"
        if real:
            self._spectrum = (*shape[:-1], shape[-1] // 2 + 1), np.result_type(dtype, np.complex64)
        with device.lock:
            self._app = bindings().VkFFTApp(
                shape, dtype, device.main.commands, inplace=False, norm=int(scaled), r2c=real, axes=(axis,)
            )

    def run(self, source: Memory, target: Memory, inverse: bool) -> None:
        """Queue the transform of all lines, from the start of one memory to the start of another."""
        abort_capture()
        device = self._device
        values, spectrum = (self._shape, self._dtype), self._spectrum
        first, last = (spectrum, values) if inverse else (values, spectrum)
        with device.lock:
            queue = device.main.commands
            given = cl_array.Array(queue, *first, data=source.buffer)
            made = cl_array.Array(queue, *last, data=target.buffer)
            if state.recorder is not None or device.called:
                device.finish()
            device.pending = True
            start = time.perf_counter()
            try:
                (self._app.ifft if inverse else self._app.fft)(given, made, queue)
            except RuntimeError as error:
                device.check_alive(error)
                raise
            finally:
                device.pending = True  # again: a re-entrant call may have waited before the launch
            if state.recorder is not None:
                queue.finish()
                record("launch", "vkfft", given.nbytes + made.nbytes, time.perf_counter() - start)
            if source.shared:
                device.synchronize()
