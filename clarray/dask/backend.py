"""What Dask knows of clarray: the functions of its tables, and what ``array.backend: clarray`` means."""

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


def _as_it_is(data: DeviceArray) -> DeviceArray:
    return data


def _copied(data: Any) -> DeviceArray:
    """A copy, also where the memory could be shared: expressions of shared memory are not fused."""
    return clarray.array(data)


to_clarray.register(DeviceArray, _as_it_is)
to_clarray.register(object, _copied)


def _asnumpy(data: DeviceArray, **kwargs: Any) -> np.ndarray:
    return clarray.asnumpy(data)


def _number_of_elements(x: DeviceArray, axis: Any = None, keepdims: bool = False, dtype: Any = float, **_: Any) -> Any:
    """Count as a reduction does: per place of what is left of the shape."""
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    number = np.dtype(dtype).type(prod(x.shape[each] for each in axes))
    left = tuple(1 if each in axes else n for each, n in enumerate(x.shape) if keepdims or each not in axes)
    return clarray.full_like(x, number, shape=left, dtype=dtype) if left else number


def _number_of_numbers(x: DeviceArray, **kwargs: Any) -> Any:
    return clarray.sum(~clarray.isnan(x), **kwargs)


TABLES: dict[Dispatch, Callable[..., Any]] = {
    dispatch.concatenate_lookup: clarray.concatenate,
    dispatch.take_lookup: clarray.take,
    dispatch.tensordot_lookup: clarray.tensordot,
    dispatch.einsum_lookup: clarray.einsum,
    dispatch.empty_lookup: clarray.empty,
    dispatch.divide_lookup: backends.np_divide,
    dispatch.percentile_lookup: backends.percentile,
    dispatch.numel_lookup: _number_of_elements,
    dispatch.nannumel_lookup: _number_of_numbers,
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
    for table, function in TABLES.items():
        table.register(DeviceArray, function)
    backends.array_creation_dispatch.register_backend("clarray", ClarrayBackend())
    results.watch_tasks()
    # The other method, "p2p", asks for the buffer of each piece, which an array of a device is not.
    config.update_defaults({"array": {"rechunk": {"method": "tasks"}}})


# Creation -----------------------------------------------------------------------------------------


def _made(name: str, kwargs: dict[str, Any], *args: Any) -> da.Array:
    """Call Dask's function with an array of clarray's as the pattern of its blocks."""
    results.watch_tasks()  # two computations at the same time make Dask forget its callbacks
    pattern = "like" if name == "arange" else "meta"
    if kwargs.get(pattern) is None:
        kwargs[pattern] = clarray.empty((0,))  # Dask converts a pattern of no axes, of which x[()] is a number
    with config.set({"array.backend": "numpy"}):
        made: da.Array = getattr(da, name)(*args, **kwargs)
    return made if made.ndim else made.map_blocks(clarray.asarray, dtype=made.dtype)


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
    return _made("ones", kwargs, shape)


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
    return _made("zeros", kwargs, shape)


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
    return _made("empty", kwargs, shape)


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
    return _made("full", kwargs, shape, fill_value)


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
    return _made("arange", kwargs, *args)


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
