"""Backends: interfaces to features of OpenCL implementations that OpenCL does not have.

In: pyopencl's devices and programs, and names of kernels. Out: binaries, settings, and machine code to call. Imports
modules of `runtime` that do not import `Device`. Only this package imports the folder of a backend.
"""

from __future__ import annotations

import pyopencl as cl

from clarray._engine.runtime.backends.backend import Backend, MachineCode, ProbeResult, TrialCompiler
from clarray._engine.runtime.backends.pocl.backend import Pocl

__all__ = ["BACKENDS", "Backend", "ProbeResult", "MachineCode", "TrialCompiler", "find_backend"]

_PLAIN, _POCL = Backend(), Pocl()
BACKENDS = (_POCL,)  # backends that take part in the discovery


def find_backend(device: cl.Device) -> Backend:
    """Return the backend of a device."""
    return _POCL if _POCL.owns(device) else _PLAIN
