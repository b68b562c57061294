"""Devices, programs, memory and launches: alone imports pyopencl."""

from clarray._engine.runtime.capabilities import Capabilities
from clarray._engine.runtime.compiling import BackgroundCompilation, compile_in_background
from clarray._engine.runtime.device import Device
from clarray._engine.runtime.discovery import (
    adopt,
    current_device,
    describe_devices,
    devices,
    find_device,
    hold_at_fork,
    opened_devices,
    reset,
    set_device,
    use_device,
)
from clarray._engine.runtime.errors import CompilationError, DeviceLostError, different_devices_error
from clarray._engine.runtime.launch import Kernel
from clarray._engine.runtime.memory import Memory
from clarray._engine.runtime.pool import MemoryInfo
from clarray._engine.runtime.profiling import Profile
from clarray._engine.runtime.programs import ArgType, Program
from clarray._engine.runtime.steps import KernelStep

__all__ = [
    "ArgType",
    "Capabilities",
    "BackgroundCompilation",
    "Device",
    "CompilationError",
    "DeviceLostError",
    "Kernel",
    "KernelStep",
    "Memory",
    "MemoryInfo",
    "Profile",
    "Program",
    "adopt",
    "compile_in_background",
    "current_device",
    "describe_devices",
    "devices",
    "different_devices_error",
    "find_device",
    "hold_at_fork",
    "opened_devices",
    "reset",
    "set_device",
    "use_device",
]
