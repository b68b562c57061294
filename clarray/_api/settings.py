"""Choosing a device, waiting for it, and its memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, ContextDecorator
from typing import Any

from clarray._engine import runtime
from clarray._engine.launch.kernel_cache import forget
from clarray._engine.runtime import Device, MemoryInfo, current_device, find_device, opened_devices, use_device


class DeviceBlock(ContextDecorator):
    """The block of code that `clarray.device` begins. It can be entered again, also within itself, and decorates."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._entered: list[AbstractContextManager[Device]] = []

    def __enter__(self) -> Device:
        block = use_device(self._device)
        device = block.__enter__()
        self._entered.append(block)
        return device

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


def device(which: Device | str | int | None) -> DeviceBlock:
    """Make new arrays on this device for a block of code, in this thread or task only.

    Parameters
    ----------
    which : Device, str, int or None
        A number in `devices`; or a part, in any case, of a platform's or device's name; or "cpu", "gpu" or
        "accelerator": the device in use if it is one, else the first. With ":1" after it the second of those, and so
        on, as in "nvidia:1". None is the process's: what `set_device` has set, else CLARRAY_DEVICE, else the first GPU,
        else the first device.

    Returns
    -------
    context manager
        For ``with``, which gives the `Device`.

    Raises
    ------
    ValueError
        There is no such device. The message lists those that there are.

    Examples
    --------
    >>> import clarray
    >>> with clarray.device(None) as chosen:
    ...     x = clarray.zeros(4, clarray.float32)
    >>> x.device is chosen
    True
    """
    return DeviceBlock(find_device(which))


def synchronize(device: Any = None) -> None:
    """Wait until everything launched on a device has finished.

    Parameters
    ----------
    device : Device, str or int, optional
        The current device when None.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.ones(4).evaluate()
    >>> clarray.synchronize()
    """
    (current_device() if device is None else find_device(device)).synchronize()


def reset(device: Any = None) -> None:
    """Open a device anew, with nothing on it: after it was lost (`DeviceLostError`), or to give its memory back.

    What is used of its arrays from then on raises `DeviceLostError`; `devices` lists the fresh one where the old one
    was, and who names the old one gets it.

    Parameters
    ----------
    device : Device, str or int, optional
        The current device when None.
    """
    old = current_device() if device is None else find_device(device)
    runtime.reset(old)
    forget(old)


def memory_info(device: Any = None) -> MemoryInfo:
    """Tell what this process has taken of a device's memory, and what is left.

    Parameters
    ----------
    device : Device, str or int, optional
        The current device when None.

    Returns
    -------
    MemoryInfo
        `used`, `pooled`, `peak`, `limit`, `left` and `total`, in bytes.

    Examples
    --------
    >>> import clarray
    >>> before = clarray.memory_info().used
    >>> x = clarray.zeros(1 << 20, clarray.int8)
    >>> clarray.memory_info().used - before
    1048576
    """
    return (current_device() if device is None else find_device(device)).pool.info()


def free_memory(device: Any = None) -> int:
    """Give memory that waits for reuse back to the system, once nothing that has been launched uses it.

    It is given back without being asked when other processes need it, or when it has waited for long; see "Memory" in
    the page about devices.

    Parameters
    ----------
    device : Device, str or int, optional
        All devices when None.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(1 << 20, clarray.int8)
    >>> del x
    >>> clarray.free_memory() >= 1 << 20
    True
    >>> clarray.memory_info().pooled
    0
    """
    chosen = opened_devices() if device is None else [find_device(device)]
    return sum(each.pool.empty() for each in chosen)
