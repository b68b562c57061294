"""Arrays between workers and on a worker's disk: Dask's own serialization, which gives the memory away as it is.

What arrives belongs to the array alone, so that expressions of it are fused; a pickle's buffers may be somebody's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed.protocol.serialize import dask_deserialize, dask_serialize

import clarray
from clarray import DeviceArray
from clarray._core.pickling import incoming, outgoing

__all__ = ["received", "sent"]


@dask_serialize.register(DeviceArray)  # type: ignore[untyped-decorator]
def sent(array: DeviceArray) -> tuple[dict[str, Any], list[memoryview]]:
    """Give header and frames; of what is repeated along an axis, one."""
    if type(array) is not DeviceArray:
        raise NotImplementedError("a subclass is pickled: its class matters")
    once = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)] if array.size else array
    host, layout = outgoing(once, copy=False)
    return {"layout": layout, "shape": array.shape}, [host.view(np.uint8).data]


@dask_deserialize.register(DeviceArray)  # type: ignore[untyped-decorator]
def received(header: dict[str, Any], frames: list[Any]) -> DeviceArray:
    """Make an array of what has arrived, on the current device."""
    dtype, shape, axes = header["layout"]
    frame = frames[0] if frames else b""
    if memoryview(frame).readonly:
        frame = bytearray(frame)
    array = incoming(frame, (dtype, tuple(shape), tuple(axes)), owned=True)
    whole = tuple(header["shape"])
    return array if whole == array.shape else clarray.broadcast_to(array, whole)
