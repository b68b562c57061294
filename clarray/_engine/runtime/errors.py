"""Errors about a device as a whole, and what stands where the lock of one that is gone was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

import pyopencl as cl

from clarray._engine.runtime.host_memory import in_units, process_limits

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device
    from clarray._engine.runtime.launch import Launched

__all__ = [
    "Closed",
    "DeviceLostError",
    "beyond_reset_message",
    "different_devices",
    "is_out_of_memory",
    "lost_message",
    "reset_message",
    "unopened",
]


class DeviceLostError(RuntimeError):
    """Report that a device has stopped working, or that an array was created before a reset of its device.

    All arrays on this device are lost. The first error after a failure names the last launches. Any later use of such
    an array raises the error again. `clarray.reset` opens the device again.

    Examples
    --------
    >>> import clarray
    >>> try:
    ...     total = int(clarray.arange(4).sum())
    ... except clarray.DeviceLostError:
    ...     clarray.reset()  # and make the arrays again
    >>> total
    6
    """


class Closed:
    """Stands where the lock of a device was that can no longer be used: lost, reset, or inherited through a fork.

    Every use of a device takes its lock, so every use raises, and none waits for a lock that nobody will release.
    """

    def __init__(self, kind: type[RuntimeError], message: str) -> None:
        self._kind = kind
        self._message = message

    def error(self) -> RuntimeError:
        """The error that every use raises."""
        return self._kind(self._message)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> NoReturn:
        raise self.error()

    __enter__ = acquire

    def __exit__(self, *error: object) -> None:
        pass


def is_out_of_memory(error: cl.Error) -> bool:
    """Whether memory has run out: the device's for a buffer, or what a driver takes of it for a launch."""
    return error.code in (cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_HOST_MEMORY)


def different_devices(one: Device, other: Device) -> Exception:
    """Make the error for operands that are not all on one device, or are on one that is gone."""
    for device in (one, other):
        if device.closed:
            error: RuntimeError = device.lock.error()
            return error
    return ValueError(
        f"operands are on different devices ({one} and {other}): move one with to_device or asarray(..., device=...)"
    )


def lost_message(device: Device, error: Exception, recent: Iterable[Launched]) -> str:
    """Say that a device is lost, after which failure, and what was launched on it last."""
    launches = [
        f"{kernel.name} ({' x '.join(map(str, groups))} groups of {' x '.join(map(str, local))}, {in_units(nbytes)})"
        for kernel, groups, local, nbytes in recent
    ]
    said = f"; the last launches, the newest first: {', '.join(reversed(launches))}" if launches else ""
    return (
        f"{device} is lost, and its arrays with it: after '{error}' it does nothing any more. A kernel that reads or "
        "writes outside its arrays does that, or the driver's reset of the device. clarray.reset() opens it anew for "
        f"new arrays{said}"
    )


def reset_message(device: Device) -> str:
    """Say that an array is from before a reset."""
    return f"{device} was reset after this array was made, by clarray.reset: make the array again"


def unopened(device: Device, error: cl.Error) -> Exception:
    """Make the error for a device whose driver gives this process no context."""
    limits = process_limits()
    if limits:
        advice = f"raise the limits of this process ({', '.join(limits)})"
    elif is_out_of_memory(error):
        advice = "other processes may have taken its memory: end them"
    else:
        advice = "see whether the vendor's own tools find it"
    kind = MemoryError if is_out_of_memory(error) else RuntimeError
    return kind(f"the driver of {device} cannot open it ({error}): {advice}, or choose another device")


def beyond_reset_message(device: Device, error: Exception) -> str:
    """Say that the driver gives the process no other context after it has lost one."""
    return (
        f"{device} cannot be opened anew in this process, in which a device was lost: the driver says '{error}', "
        "as NVIDIA's does after a kernel has read or written outside its memory. Start a new process, or use another "
        "device"
    )
