"""Exchange arrays with other libraries by DLPack, without copies in host memory, and with JAX by its own protocol.

NumPy makes and reads the capsules: an ndarray on the device's memory is exported, and NumPy's import
becomes a device array. Either keeps the memory alive as long as its consumer. The other library may
write to the memory at any time, so it is treated as memory that an ndarray shares.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np

from clarray._core.conversion import asnumpy, host_array
from clarray._core.creation import asarray, device_for
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype, share, upload
from clarray._engine.runtime import devices

__all__ = ["from_dlpack"]

CPU, OPENCL = 1, 4  # of DLDeviceType
_HOST = (CPU, 0)
_FLAG_COPIED = 2  # DLPACK_FLAG_BITMASK_IS_COPIED
_FLAGS_OFFSET = 24  # in DLManagedTensorVersioned: behind the version and two pointers


class CopyNeededError(BufferError, ValueError):
    """A forbidden copy is needed. The Array API standard names either of the two base classes."""


def export(
    array: DeviceArray, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """Implement ``__dlpack__``: return a capsule of an array."""
    if stream is not None:
        raise RuntimeError("stream must be None: clarray orders the work of a device itself")
    own_device = dlpack_device(array)
    if dl_device is None:
        dl_device = own_device
    dl_device = (int(dl_device[0]), int(dl_device[1]))
    if dl_device != _HOST:
        raise BufferError(
            f"the array is on {array.device}, and clarray exports host memory only: "
            "ask for dl_device=(1, 0) (device='cpu' in NumPy's from_dlpack)"
        )
    version = {} if max_version is None else {"max_version": max_version}
    if copy is not True and own_device == _HOST:
        return host_array(array).__dlpack__(**version)
    if copy is False:
        raise CopyNeededError(f"the array is on {array.device}: it cannot be in host memory without a copy")
    capsule = asnumpy(array).__dlpack__(**version)
    _mark_copied(capsule)
    return capsule


def _mark_copied(capsule: Any) -> None:
    """Set the flag that only the consumer has the memory, if the capsule's version has flags."""
    name = b"dltensor_versioned"
    if ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), name):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        flags = ctypes.c_uint64.from_address(pointer(capsule, name) + _FLAGS_OFFSET)
        flags.value |= _FLAG_COPIED


def dlpack_device(array: DeviceArray) -> tuple[int, int]:
    """Implement ``__dlpack_device__``: the host if the device works in host memory, else an OpenCL device."""
    device = array.device
    if device.capabilities.host_memory:
        return _HOST
    all_devices = devices()
    return OPENCL, all_devices.index(device) if device in all_devices else len(all_devices)


def to_jax(array: DeviceArray) -> Any:
    """Implement ``__jax_array__`` by a copy: JAX's arrays are immutable, and shared memory would change."""
    jax: Any = importlib.import_module("jax.numpy")  # the caller has imported JAX
    return jax.asarray(asnumpy(array))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> DeviceArray:
    """Convert an array of another library, sharing its memory if possible.

    A device that works in host memory shares memory of the host. Any other device gets a copy. Arrays on another
    library's device are first copied to host memory by that library.

    Parameters
    ----------
    x : object
        An array with the methods ``__dlpack__`` and ``__dlpack_device__``.
    device : Device, str or int, optional
        Where to put the result: the device of a DeviceArray by default, else the current device.
    copy : bool, optional
        True always copies, False never copies, None copies only if needed.

    Returns
    -------
    DeviceArray
        A read-only array if `x` is read-only.

    Raises
    ------
    AttributeError
        `x` does not have these methods.
    BufferError
        `x` cannot be exported, or ``copy=False`` and a copy is needed (the error is then a ValueError as well).
    TypeError
        The device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> import numpy as np
    >>> clarray.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if isinstance(x, DeviceArray):
        if copy is False and device is not None and device_for(device) is not x.device:
            raise CopyNeededError(f"the array is on {x.device}: it cannot be on another device without a copy")
        array = asarray(x, device=device, copy=copy)
        return array[...] if array is x else array
    target = device_for(device)
    host = _import_to_host(x, copy)
    dtype = device_dtype(host.dtype, target)
    node = None if copy else share(host, target)
    if node is None:
        if copy is False and host.size:
            raise CopyNeededError(f"{target} cannot use this array's memory: it needs a copy; leave copy=None")
        node = upload(host, dtype, target)
    return wrap(node)


def _import_to_host(x: Any, copy: bool | None) -> np.ndarray:
    """Import an array of another library to host memory, without a copy if it is there."""
    if int(x.__dlpack_device__()[0]) == CPU:
        return np.from_dlpack(x)
    if copy is False:
        raise CopyNeededError("the array is on another library's device: it needs a copy; leave copy=None")
    return np.from_dlpack(x, device="cpu")
