"""Backends: the interfaces to OpenCL implementations beyond OpenCL.

In: pyopencl's devices and programs, and names of kernels. Out: binaries, settings, and machine code to call. Imports
modules of `runtime` that know no `Device`. Only this package imports the folder of a backend.
"""

from __future__ import annotations

import pyopencl as cl

from clarray._engine.runtime.backends.backend import Backend, Compiled, MachineCode, Trials
from clarray._engine.runtime.backends.pocl.backend import Pocl

__all__ = ["BACKENDS", "Backend", "Compiled", "MachineCode", "Trials", "backend_of"]

_PLAIN, _POCL = Backend(), Pocl()
BACKENDS = (_POCL,)  # that take part in the discovery


def backend_of(device: cl.Device) -> Backend:
    """Return the backend of a device."""
    return _POCL if _POCL.owns(device) else _PLAIN
