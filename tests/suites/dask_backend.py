"""A plugin of pytest: Dask's dispatch knows clarray, as its own backends.py and cupy_entry_point.py know CuPy."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from dask import config
from dask.array import backends, chunk_types, dispatch
from dask.sizeof import sizeof

import clarray

to_clarray = dispatch.Dispatch("to_clarray_dispatch")


def register() -> None:
    """Each table of Dask's with the function for device arrays."""
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
    to_clarray.register((np.ndarray, kind), lambda data, **kwargs: clarray.asarray(data, **kwargs))
    backends.array_creation_dispatch.register_backend("clarray", Entrypoint())
    backends.register_clarray = lambda: None  # a test calls CuPy's
    sizeof.register(kind, lambda x: int(x.nbytes))


def made(name: str):
    """Give a function of dask.array whose blocks are device arrays."""

    def make(*args, **kwargs):
        key = "like" if name == "arange" else "meta"
        if kwargs.get(key) is None:
            kwargs[key] = clarray.empty(())
        with config.set({"array.backend": "numpy"}):
            return getattr(da, name)(*args, **kwargs)

    return staticmethod(make)


class Entrypoint(backends.ArrayBackendEntrypoint):
    """What `array.backend: clarray` means."""

    ones, zeros, empty, full, arange = (made(name) for name in ("ones", "zeros", "empty", "full", "arange"))
    RandomState = clarray.random.RandomState
    default_bit_generator = clarray.random.Philox

    @classmethod
    def to_backend_dispatch(cls):
        return to_clarray

    @classmethod
    def to_backend(cls, data, **kwargs):
        if isinstance(data._meta, clarray.DeviceArray):
            return data
        return data.map_blocks(to_clarray, **kwargs)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is skipped for what CuPy cannot do is run."""
    for item in items:
        item.own_markers = [
            mark for mark in item.own_markers if mark.name != "skip" or "CuPy" not in mark.kwargs.get("reason", "")
        ]


register()
