"""Fourier transforms by VkFFT, if its bindings pyvkfft are installed. A plan is compiled for one shape.

Plans need a self-test: with one CPU runtime and double precision, the results for lengths 23 and 51 were wrong.
`clarray.fft.plans` tests each plan before its first use.
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
    """Import ``pyvkfft.opencl``, or return None if it is not installed or its library does not load."""
    try:
        return importlib.import_module("pyvkfft.opencl")
    except (ImportError, OSError, AttributeError):
        return None


class Plan:
    """A plan for transforms along one axis of C-contiguous arrays of one shape.

    Parameters
    ----------
    device : Device
    shape : tuple of int
        The shape of the values. The spectrum of n real values along the axis has n // 2 + 1.
    axis : int
        The axis, for real values the last one.
    dtype : dtype
        The type of the values: float32, float64, complex64 or complex128.
    scaled : bool
        Whether the backward transform divides by the number of values.

    Raises
    ------
    RuntimeError
        VkFFT does not support the transform.
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
        """Queue the transform of all lines from the memory `source` to the memory `target`."""
        abort_capture()
        device = self._device
        values, spectrum = (self._shape, self._dtype), self._spectrum
        first, last = (spectrum, values) if inverse else (values, spectrum)
        with device.lock:
            queue = device.main.commands
            operand = cl_array.Array(queue, *first, data=source.buffer)
            transformed = cl_array.Array(queue, *last, data=target.buffer)
            if state.recorder is not None or device.called:
                device.finish()
            device.pending = True
            start = time.perf_counter()
            try:
                (self._app.ifft if inverse else self._app.fft)(operand, transformed, queue)
            except RuntimeError as error:
                device.check_alive(error)
                raise
            finally:
                device.pending = True  # set again: a re-entrant call may have waited before the launch
            if state.recorder is not None:
                queue.finish()
                record("launch", "vkfft", operand.nbytes + transformed.nbytes, time.perf_counter() - start)
            if source.shared:
                device.synchronize()
