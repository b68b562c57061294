"""Dask's tables know clarray's arrays, in this process."""

from __future__ import annotations

from typing import Any

from dask.array import backends, chunk_types, dispatch
from dask.sizeof import sizeof

import clarray


def evaluated_size(x: Any) -> int:
    """Bytes of what a task gave: a worker asks in the task's own thread, so what is pending is computed there."""
    nbytes = int(x.evaluate().nbytes)
    clarray.synchronize()
    return nbytes


def register() -> None:
    kind = clarray.DeviceArray
    chunk_types.register_chunk_type(kind)
    dispatch.concatenate_lookup.register(kind, clarray.concatenate)
    dispatch.take_lookup.register(kind, clarray.take)
    dispatch.tensordot_lookup.register(kind, clarray.tensordot)
    dispatch.einsum_lookup.register(kind, clarray.einsum)
    dispatch.empty_lookup.register(kind, clarray.empty)
    dispatch.divide_lookup.register(kind, backends.np_divide)
    dispatch.percentile_lookup.register(kind, backends.percentile)
    dispatch.numel_lookup.register(kind, backends._numel_arraylike)
    dispatch.nannumel_lookup.register(kind, backends._nannumel)
    dispatch.to_numpy_dispatch.register(kind, lambda data, **kwargs: clarray.asnumpy(data))
    sizeof.register(kind, evaluated_size)
