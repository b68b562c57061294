"""Register clarray's functions in Dask's dispatch tables, and the backend ``array.backend: clarray``."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import dask.array as da
import numpy as np
from dask import config
from dask.array import backends, chunk_types, dispatch
from dask.sizeof import sizeof
from dask.utils import Dispatch

import clarray
from clarray import DeviceArray
from clarray.dask import results

__all__ = ["ClarrayBackend", "arange", "default_rng", "empty", "full", "ones", "register", "zeros"]

to_clarray = Dispatch("to_clarray_dispatch")


def _same_array(data: DeviceArray) -> DeviceArray:
    return data


def _copy_to_device(data: Any) -> DeviceArray:
    """Copy to the device even if the memory could be shared: expressions of shared memory are not fused."""
    return clarray.array(data)


to_clarray.register(DeviceArray, _same_array)
to_clarray.register(object, _copy_to_device)


def _asnumpy(data: DeviceArray, **kwargs: Any) -> np.ndarray:
    return clarray.asnumpy(data)


def _count_elements(x: DeviceArray, axis: Any = None, keepdims: bool = False, dtype: Any = float, **_: Any) -> Any:
    """Return the number of reduced elements, in the shape of a reduction's result."""
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    count = np.dtype(dtype).type(prod(x.shape[dimension] for dimension in axes))
    result_shape = tuple(
        1 if dimension in axes else n for dimension, n in enumerate(x.shape) if keepdims or dimension not in axes
    )
    return clarray.full_like(x, count, shape=result_shape, dtype=dtype) if result_shape else count


def _count_without_nan(x: DeviceArray, **kwargs: Any) -> Any:
    return clarray.sum(~clarray.isnan(x), **kwargs)


IMPLEMENTATIONS: dict[Dispatch, Callable[..., Any]] = {
    dispatch.concatenate_lookup: clarray.concatenate,
    dispatch.take_lookup: clarray.take,
    dispatch.tensordot_lookup: clarray.tensordot,
    dispatch.einsum_lookup: clarray.einsum,
    dispatch.empty_lookup: clarray.empty,
    dispatch.divide_lookup: backends.np_divide,
    dispatch.percentile_lookup: backends.percentile,
    dispatch.numel_lookup: _count_elements,
    dispatch.nannumel_lookup: _count_without_nan,
    dispatch.to_numpy_dispatch: _asnumpy,
    sizeof: results.nbytes,
}


def register() -> None:
    """Register `DeviceArray` with Dask. Importing `clarray.dask` does it, and a second call has no effect.

    Examples
    --------
    >>> import clarray
    >>> import clarray.dask
    >>> clarray.dask.register()
    >>> import dask.array as da
    >>> type(da.from_array(clarray.arange(4), chunks=2).sum().compute()).__module__
    'clarray'
    """
    chunk_types.register_chunk_type(DeviceArray)
    for table, function in IMPLEMENTATIONS.items():
        table.register(DeviceArray, function)
    backends.array_creation_dispatch.register_backend("clarray", ClarrayBackend())
    results.watch_tasks()
    # The other method, "p2p", needs the buffer protocol, which device arrays lack.
    config.update_defaults({"array": {"rechunk": {"method": "tasks"}}})


# Creation -----------------------------------------------------------------------------------------


def _create(name: str, kwargs: dict[str, Any], *args: Any) -> da.Array:
    """Call Dask's creation function with a clarray array as the pattern of its chunks."""
    results.watch_tasks()  # Dask drops its callbacks after two simultaneous computations
    pattern = "like" if name == "arange" else "meta"
    if kwargs.get(pattern) is None:
        kwargs[pattern] = clarray.empty((0,))  # not 0-d: Dask indexes the pattern, and x[()] of a 0-d array is a scalar
    with config.set({"array.backend": "numpy"}):
        array: da.Array = getattr(da, name)(*args, **kwargs)
    return array if array.ndim else array.map_blocks(clarray.asarray, dtype=array.dtype)


def ones(shape: Any, **kwargs: Any) -> da.Array:
    """Make a Dask array of ones whose chunks are clarray's, as `dask.array.ones`.

    Parameters
    ----------
    shape : int or tuple of int
    **kwargs
        Arguments of Dask's function: `dtype`, `chunks`, `name`.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import clarray.dask
    >>> x = clarray.dask.ones((4, 6), chunks=(2, 3))
    >>> x.chunks, float(x.sum().compute())
    (((2, 2), (3, 3)), 24.0)
    """
    return _create("ones", kwargs, shape)


def zeros(shape: Any, **kwargs: Any) -> da.Array:
    """Make a Dask array of zeros whose chunks are clarray's, as `dask.array.zeros`; further parameters as in `ones`.

    Parameters
    ----------
    shape : int or tuple of int
    **kwargs

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import clarray.dask
    >>> clarray.dask.zeros(4, chunks=2, dtype="int32").compute().tolist()
    [0, 0, 0, 0]
    """
    return _create("zeros", kwargs, shape)


def empty(shape: Any, **kwargs: Any) -> da.Array:
    """Make a Dask array of arbitrary values, as `dask.array.empty`; further parameters as in `ones`.

    Parameters
    ----------
    shape : int or tuple of int
    **kwargs

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import clarray.dask
    >>> clarray.dask.empty((4, 6), chunks=(2, 3)).compute().shape
    (4, 6)
    """
    return _create("empty", kwargs, shape)


def full(shape: Any, fill_value: Any, **kwargs: Any) -> da.Array:
    """Make a Dask array of one value whose chunks are clarray's, as `dask.array.full`; further parameters as in `ones`.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : scalar
    **kwargs

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import clarray.dask
    >>> clarray.dask.full(4, 7, chunks=2).compute().tolist()
    [7, 7, 7, 7]
    """
    return _create("full", kwargs, shape, fill_value)


def arange(*args: Any, **kwargs: Any) -> da.Array:
    """Make a Dask array of evenly spaced values whose chunks are clarray's, as `dask.array.arange`.

    Parameters
    ----------
    *args
        ``start, stop, step`` as in NumPy.
    **kwargs
        Arguments of Dask's function: `dtype`, `chunks`.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import clarray.dask
    >>> clarray.dask.arange(1, 6, chunks=2).compute().tolist()
    [1, 2, 3, 4, 5]
    """
    return _create("arange", kwargs, *args)


def default_rng(seed: Any = None) -> da.random.Generator:
    """Make a generator of random Dask arrays, as `dask.array.random.default_rng`.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional

    Returns
    -------
    dask.array.random.Generator
        Each chunk is drawn on the device, by `clarray.random.Philox`.

    Examples
    --------
    >>> import clarray.dask
    >>> x = clarray.dask.default_rng(1).normal(size=1000, chunks=100)
    >>> bool(abs(x.mean().compute()) < 0.1)
    True
    """
    with config.set({"array.backend": "clarray"}):
        return da.random.default_rng(seed)


class ClarrayBackend(backends.ArrayBackendEntrypoint):  # type: ignore[misc] # Dask has no annotations here
    """Make Dask's own functions create clarray's arrays.

    Dask finds this class by the name ``"clarray"``: in ``dask.config.set({"array.backend": "clarray"})`` and in
    ``x.to_backend("clarray")``. A program does not call it.

    Examples
    --------
    >>> import clarray.dask
    >>> import dask
    >>> import dask.array as da
    >>> with dask.config.set({"array.backend": "clarray"}):
    ...     x = da.ones(4, chunks=2)
    >>> type(x.compute()).__name__
    'DeviceArray'
    """

    RandomState = clarray.random.RandomState
    default_bit_generator = clarray.random.Philox
    ones = staticmethod(ones)
    zeros = staticmethod(zeros)
    empty = staticmethod(empty)
    full = staticmethod(full)
    arange = staticmethod(arange)

    @classmethod
    def to_backend_dispatch(cls) -> Dispatch:
        """Return the function that converts a chunk to an array of clarray's.

        Returns
        -------
        dask.utils.Dispatch

        Examples
        --------
        >>> import clarray.dask
        >>> to_clarray = clarray.dask.ClarrayBackend.to_backend_dispatch()
        >>> type(to_clarray([1, 2])).__name__
        'DeviceArray'
        """
        return to_clarray

    @classmethod
    def to_backend(cls, data: da.Array, **kwargs: Any) -> da.Array:
        """Return a Dask array whose chunks are clarray's. Chunks that are clarray's already are not copied.

        Parameters
        ----------
        data : dask.array.Array
        **kwargs
            Arguments of `dask.array.map_blocks`.

        Returns
        -------
        dask.array.Array

        Examples
        --------
        >>> import clarray.dask
        >>> import dask.array as da
        >>> x = da.arange(4, chunks=2).to_backend("clarray")
        >>> type(x.compute()).__name__
        'DeviceArray'
        """
        results.watch_tasks()
        if isinstance(data._meta, DeviceArray):
            return data
        return data.map_blocks(to_clarray, **kwargs)
