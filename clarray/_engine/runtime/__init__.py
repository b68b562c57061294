"""Devices, programs, memory and launches: alone imports pyopencl."""

from clarray.runtime.capabilities import Capabilities
from clarray.runtime.device import Device
from clarray.runtime.discovery import (
    adopt,
    current_device,
    devices,
    find_device,
    held_at_fork,
    reset,
    use_device,
)
from clarray.runtime.errors import DeviceLostError, different_devices
from clarray.runtime.launch import Kernel
from clarray.runtime.memory import Memory
from clarray.runtime.profile import Profile
from clarray.runtime.programs import ArgType, Program

__all__ = [
    "ArgType",
    "Capabilities",
    "Device",
    "DeviceLostError",
    "Kernel",
    "Memory",
    "Profile",
    "Program",
    "adopt",
    "current_device",
    "devices",
    "different_devices",
    "find_device",
    "held_at_fork",
    "reset",
    "use_device",
]
