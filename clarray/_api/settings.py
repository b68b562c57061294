"""Select a device, wait for it, and query or free its memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, ContextDecorator
from typing import Any

from clarray._engine import runtime
from clarray._engine.launch.kernel_cache import forget
from clarray._engine.runtime import Device, MemoryInfo, current_device, find_device, opened_devices, use_device


class DeviceBlock(ContextDecorator):
    """Context manager and decorator that `clarray.device` returns. It is reusable and reentrant."""

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
    """Make new arrays on a given device for a block of code, in this thread or task only.

    Parameters
    ----------
    which : Device, str, int or None
        An index into `devices`. Or a part of a platform's or device's name, in any case. Or "cpu", "gpu" or
        "accelerator": the current device if it is one, else the first one. With ":1" at the end the second of those, as
        in "nvidia:1". None is the default device of the process: the one of `set_device`, else the one that
        CLARRAY_DEVICE names, else the first GPU, else the first device.

    Returns
    -------
    context manager
        For a ``with`` statement, which gives the `Device`. It can also decorate a function.

    Raises
    ------
    ValueError
        There is no such device. The message lists the devices.

    See Also
    --------
    set_device : Choose a device for the whole process.
    devices : List the devices.

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
    """Wait until a device has finished all work.

    Parameters
    ----------
    device : Device, str or int, optional
        The current device by default.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.ones(4).evaluate()
    >>> clarray.synchronize()
    """
    (current_device() if device is None else find_device(device)).synchronize()


def reset(device: Any = None) -> None:
    """Open a device again, with all its memory free, for example after a `DeviceLostError`.

    All arrays on the device are lost: any use of them raises `DeviceLostError`. `devices` then lists the new device in
    place of the old one, and a call with the old one as an argument uses the new one.

    Parameters
    ----------
    device : Device, str or int, optional
        The current device by default.

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
    old = current_device() if device is None else find_device(device)
    runtime.reset(old)
    forget(old)


def memory_info(device: Any = None) -> MemoryInfo:
    """Return how much of a device's memory this process uses, and how much is left.

    Parameters
    ----------
    device : Device, str or int, optional
        The current device by default.

    Returns
    -------
    MemoryInfo
        The attributes `used`, `pooled`, `peak`, `limit`, `left` and `total`, in bytes.

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
    """Return unused memory, which clarray keeps for new arrays, to the system.

    Waits for the launched kernels, which may still use that memory. clarray also returns memory without this call if
    other processes need it, or if it has not been used for a while. See the page "Memory" of the documentation.

    Parameters
    ----------
    device : Device, str or int, optional
        All devices by default.

    Returns
    -------
    int
        Number of bytes.

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
    selected = opened_devices() if device is None else [find_device(device)]
    return sum(selected_device.pool.empty() for selected_device in selected)
