"""Serialization of arrays between workers and on a worker's disk, by Dask's own protocol, without copies.

A received array owns its memory, so its expressions are fused. The buffers of a pickle may have other owners.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed.protocol.serialize import dask_deserialize, dask_serialize

import clarray
from clarray import DeviceArray
from clarray._core.pickling import incoming, outgoing

__all__ = ["deserialize_array", "serialize_array"]


@dask_serialize.register(DeviceArray)  # type: ignore[untyped-decorator]
def serialize_array(array: DeviceArray) -> tuple[dict[str, Any], list[memoryview]]:
    """Return header and frames. Elements repeated along an axis (stride 0) are sent once."""
    if type(array) is not DeviceArray:
        raise NotImplementedError("a subclass is pickled: its class matters")  # Dask then pickles the array
    unrepeated = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)] if array.size else array
    host, layout = outgoing(unrepeated, copy=False)
    return {"layout": layout, "shape": array.shape}, [host.view(np.uint8).data]


@dask_deserialize.register(DeviceArray)  # type: ignore[untyped-decorator]
def deserialize_array(header: dict[str, Any], frames: list[Any]) -> DeviceArray:
    """Make an array from header and frames, on the current device."""
    dtype, shape, axes = header["layout"]
    frame = frames[0] if frames else b""
    if memoryview(frame).readonly:
        frame = bytearray(frame)
    array = incoming(frame, (dtype, tuple(shape), tuple(axes)), owned=True)
    full_shape = tuple(header["shape"])
    return array if full_shape == array.shape else clarray.broadcast_to(array, full_shape)
