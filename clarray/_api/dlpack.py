"""DLPack: arrays to and from other libraries, in the same memory where that is host memory; and JAX's own protocol.

NumPy makes and reads the capsules: an ndarray on the device's memory is exported, and what NumPy
imports becomes an array of ours. Either keeps the memory as long as its consumer lives. From then on
somebody else may write to the memory at any time, so it is treated as memory that an ndarray shares.
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
_COPIED = 2  # DLPACK_FLAG_BITMASK_IS_COPIED
_FLAGS_AT = 24  # in DLManagedTensorVersioned: behind the version and two pointers


class CopyNeededError(BufferError, ValueError):
    """A copy was forbidden and is needed; the array API standard asks for either of the two."""


def export(
    array: DeviceArray, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """``__dlpack__``: a capsule of an array."""
    if stream is not None:
        raise RuntimeError("stream must be None: clarray orders the work of a device itself")
    where = place_of(array)
    if dl_device is None:
        dl_device = where
    dl_device = (int(dl_device[0]), int(dl_device[1]))
    if dl_device != _HOST:
        raise BufferError(
            f"the array is on {array.device}, and clarray exports host memory only: "
            "ask for dl_device=(1, 0) (device='cpu' in NumPy's from_dlpack)"
        )
    version = {} if max_version is None else {"max_version": max_version}
    if copy is not True and where == _HOST:
        return host_array(array).__dlpack__(**version)
    if copy is False:
        raise CopyNeededError(f"the array is on {array.device}: it cannot be in host memory without a copy")
    capsule = asnumpy(array).__dlpack__(**version)
    _mark_copied(capsule)
    return capsule


def _mark_copied(capsule: Any) -> None:
    """Set the flag that the memory is the consumer's alone, where the capsule's version has flags."""
    name = b"dltensor_versioned"
    if ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), name):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        flags = ctypes.c_uint64.from_address(pointer(capsule, name) + _FLAGS_AT)
        flags.value |= _COPIED


def place_of(array: DeviceArray) -> tuple[int, int]:
    """``__dlpack_device__``: the host for a device that works in its memory, else an OpenCL device."""
    device = array.device
    if device.capabilities.host_memory:
        return _HOST
    listed = devices()
    return OPENCL, listed.index(device) if device in listed else len(listed)


def to_jax(array: DeviceArray) -> Any:
    """``__jax_array__``: a copy, since JAX's arrays never change, and what shares memory with ours would."""
    jax: Any = importlib.import_module("jax.numpy")  # who asks has imported it
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
        made = asarray(x, device=device, copy=copy)
        return made[...] if made is x else made
    on = device_for(device)
    host = _imported(x, copy)
    dtype = device_dtype(host.dtype, on)
    node = None if copy else share(host, on)
    if node is None:
        if copy is False and host.size:
            raise CopyNeededError(f"{on} cannot use this array's memory: it needs a copy; leave copy=None")
        node = upload(host, dtype, on)
    return wrap(node)


def _imported(x: Any, copy: bool | None) -> np.ndarray:
    """Give host memory that holds an array of any library's, its own if it is on the host."""
    if int(x.__dlpack_device__()[0]) == CPU:
        return np.from_dlpack(x)
    if copy is False:
        raise CopyNeededError("the array is on another library's device: it needs a copy; leave copy=None")
    return np.from_dlpack(x, device="cpu")
