"""Errors about a device as a whole, and the replacement for the lock of a closed device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

import pyopencl as cl

from clarray._engine.runtime.host_memory import format_bytes, process_limits

if TYPE_CHECKING:
    from clarray._engine.runtime.device import Device
    from clarray._engine.runtime.launch import LaunchRecord

__all__ = [
    "UNLINKED",
    "ClosedLock",
    "CompilationError",
    "DeviceLostError",
    "compiler_hint",
    "reset_failed_message",
    "different_devices_error",
    "is_out_of_memory",
    "lost_message",
    "reset_message",
    "cannot_open_error",
]


UNLINKED = "nir_shader not fully linked"  # Mesa's message if its libclc lacks a function


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


class CompilationError(RuntimeError):
    """Report that the device's compiler crashes or needs too long. NumPy computes a public function that raises this.

    So only a kernel of an expression that is evaluated later, and one of the user's own, shows it to the user.
    """


class ClosedLock:
    """Replacement for the lock of a device that is lost, reset, or inherited through a fork.

    Every use of a device acquires its lock, so every use raises, and no thread waits for a lock that is never released.
    """

    def __init__(self, kind: type[RuntimeError], message: str) -> None:
        self._kind = kind
        self._message = message

    def error(self) -> RuntimeError:
        """Return the error that every use raises."""
        return self._kind(self._message)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> NoReturn:
        raise self.error()

    __enter__ = acquire

    def __exit__(self, *error: object) -> None:
        pass


def compiler_hint(log: str) -> str:
    """Return a line for an error of the compiler that `python -m clarray doctor` explains, or ''."""
    if UNLINKED in log:
        return "\nMesa's libclc lacks a function that this program calls: `python -m clarray doctor` says what helps"
    return ""


def is_out_of_memory(error: cl.Error) -> bool:
    """Return whether an error means that memory has run out, of the device for a buffer or of a driver for a launch."""
    return error.code in (cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_HOST_MEMORY)


def different_devices_error(first: Device, second: Device) -> Exception:
    """Return the error for operands on different devices, or on a closed device."""
    for device in (first, second):
        if device.closed:
            error: RuntimeError = device.lock.error()
            return error
    return ValueError(
        f"operands are on different devices ({first} and {second}): move one with to_device or asarray(..., device=...)"
    )


def lost_message(device: Device, error: Exception, recent: Iterable[LaunchRecord]) -> str:
    """Return the message about a lost device: the failure and the last launches."""
    launches = [
        f"{kernel.name} ({_extents(groups)} groups of {_extents(local)}, {format_bytes(nbytes)})"
        for kernel, groups, local, nbytes in recent
    ]
    last = f"; the last launches, the newest first: {', '.join(reversed(launches))}" if launches else ""
    return (
        f"{device} is lost, and its arrays with it: after '{error}' it does nothing any more. A kernel that reads or "
        "writes outside its arrays does that, or the driver's reset of the device. clarray.reset() opens it anew for "
        f"new arrays{last}"
    )


def _extents(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape))


def reset_message(device: Device) -> str:
    """Return the message about an array from before a reset."""
    return f"{device} was reset after this array was made, by clarray.reset: make the array again"


def cannot_open_error(device: Device, error: cl.Error) -> Exception:
    """Return the error for a device whose driver refuses a context."""
    limits = process_limits()
    if limits:
        advice = f"raise the limits of this process ({', '.join(limits)})"
    elif is_out_of_memory(error):
        advice = "other processes may have taken its memory: end them"
    else:
        advice = "see whether the vendor's own tools find it"
    kind = MemoryError if is_out_of_memory(error) else RuntimeError
    return kind(f"the driver of {device} cannot open it ({error}): {advice}, or choose another device")


def reset_failed_message(device: Device, error: Exception) -> str:
    """Return the message for a driver that refuses a new context after a device was lost."""
    return (
        f"{device} cannot be opened anew in this process, in which a device was lost: the driver says '{error}', "
        "as NVIDIA's does after a kernel has read or written outside its memory. Start a new process, or use another "
        "device"
    )
