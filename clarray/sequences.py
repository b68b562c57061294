"""Values that follow from their position: NumPy's numerical ranges, and unit matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from clarray import ufunc_calls
from clarray.array import DeviceArray, as_array, wrap
from clarray.creation import asarray, device_for, plain_order
from clarray.evaluate import evaluate
from clarray.expr import node as nodes
from clarray.hostdata import device_dtype, new_leaf, upload
from clarray.manipulation import broadcast_arrays
from clarray.runtime import use_device

__all__ = ["arange", "eye", "geomspace", "identity", "linspace", "logspace", "meshgrid"]

# Below this NumPy makes the values faster than a kernel is launched.
SMALL = 1 << 12


def _positions(shape: tuple[int, ...], steps: tuple[int, ...], first: int = 0) -> DeviceArray:
    """Grow ``first + sum(position * steps)`` in int64, a value that needs no memory."""
    return wrap(nodes.index(shape, steps, np.dtype(np.int64), first))


def _settled(array: DeviceArray, dtype: np.dtype, device: Any) -> DeviceArray:
    """Convert; compute at once for a given device: what is pending takes the current one."""
    made = wrap(ufunc_calls.cast(array._node, dtype))
    if device is not None:
        with use_device(device):
            evaluate(made._node)
    return made


def arange(
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
) -> DeviceArray:
    """Make evenly spaced values from `start` (0) to before `stop`.

    Parameters
    ----------
    start, stop, step : number
        With one of them, it is `stop`. Floats: `linspace` says how many values there will be.
    dtype : dtype, optional
        Of the numbers when None: int64 or float64 for Python's.
    device : Device, str or int, optional
        The current device when None.
    like : object, optional
        Accepted for NumPy's sake.
    """
    on = device_for(device)
    if start is None and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if stop is None:
        start, stop = None, start
    long = _long_range(0 if start is None else start, stop, 1 if step is None else step, dtype)
    if long is None:
        given = np.arange(0 if start is None else start, stop, step, dtype=dtype)
        return wrap(upload(given, device_dtype(given.dtype, on), on))
    first, second, size = long
    wanted = device_dtype(first.dtype, on)
    if wanted.kind in "iu":
        gap = int(second) - int(first)
        return _settled(_positions((size,), (gap,), int(first)), wanted, device)
    work = np.dtype(np.float32) if wanted == np.float16 else wanted
    count = wrap(ufunc_calls.cast(_positions((size,), (1,))._node, work))
    step = work.type(second) - work.type(first)
    return _settled(count * step + work.type(first), wanted, device)


def _long_range(
    start: Any, stop: Any, step: Any, dtype: Any
) -> tuple[np.generic, np.generic, int] | None:
    """Give the first two values and the length of a range worth a kernel, else None."""
    numbers = (start, stop, step)
    if not all(isinstance(x, int | float | np.integer | np.floating) for x in numbers) or not step:
        return None
    length = (stop - start) / step
    if not SMALL < length < 2**62:
        return None
    wanted = np.dtype(dtype or np.result_type(*(np.asarray(x).dtype for x in numbers)))
    if wanted.kind not in "iuf":
        return None
    first, second = np.array([start, start + step]).astype(wanted)
    return first, second, math.ceil(length)


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Make `num` evenly spaced values from `start` to `stop`.

    Parameters
    ----------
    start, stop : array_like
        The ends; arrays give as many sequences, laid along `axis`.
    num : int, optional
        How many values.
    endpoint : bool, optional
        Whether `stop` is the last one.
    retstep : bool, optional
        Whether to return the spacing too.
    dtype : dtype, optional
        Of the ends when None, at least float64.
    axis : int, optional
        Where the values lie when the ends are arrays.
    device : Device, str or int, optional
        The current device when None.

    Returns
    -------
    DeviceArray, or (DeviceArray, step)
    """
    on = device_for(device)
    ends = (_to_host(start), _to_host(stop))
    values, step = np.linspace(*ends, num, endpoint, retstep=True, dtype=dtype, axis=axis)
    made = wrap(upload(values, device_dtype(values.dtype, on), on))
    return (made, step) if retstep else made


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make `num` values from ``base**start`` to ``base**stop``, evenly spaced in the exponent."""
    ends = (_to_host(start), _to_host(stop))
    values = np.logspace(*ends, num, endpoint, _to_host(base), dtype, axis)
    return asarray(values, device=device, copy=True)


def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make `num` values from `start` to `stop`, each the same multiple of the one before."""
    values = np.geomspace(_to_host(start), _to_host(stop), num, endpoint, dtype, axis)
    return asarray(values, device=device, copy=True)


def _to_host(value: Any) -> Any:
    return value.get() if isinstance(value, DeviceArray) else value


# Matrices -----------------------------------------------------------------------------------------


def eye(
    N: Any,  # noqa: N803 - NumPy's names
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> DeviceArray:
    """Make an N x M matrix of zeros with ones on its `k`-th diagonal."""
    on = device_for(device)
    rows = operator.index(N)
    columns = rows if M is None else operator.index(M)
    wanted = device_dtype(dtype, on)
    shape = (max(rows, 0), max(columns, 0))
    made = wrap(new_leaf(on, shape, wanted, plain_order(order)))
    ones_at = _positions(shape, (-1, 1)) == operator.index(k)
    ufunc_calls.assign(made, ones_at._node)
    return made


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> DeviceArray:
    """Make the n x n unit matrix."""
    return eye(n, dtype=float if dtype is None else dtype)


# Coordinates --------------------------------------------------------------------------------------


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[DeviceArray, ...]:
    """Make coordinate matrices of coordinate vectors.

    Parameters
    ----------
    *xi : array_like
        The coordinates along each axis.
    copy : bool, optional
        False gives views in which elements are repeated; no memory is written.
    sparse : bool, optional
        Leave each one long along its own axis only, for broadcasting.
    indexing : {'xy', 'ij'}
        Whether the first two axes change places (Cartesian) or not (matrix indices).
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = 1, 0
    device = ufunc_calls.device_of_operands(xi)
    grids = [
        as_array(x, device).reshape(tuple(-1 if a == axis else 1 for a in range(len(xi))))
        for x, axis in zip(xi, order, strict=True)
    ]
    if not sparse:
        grids = list(broadcast_arrays(*grids))
    return tuple(grid.copy() for grid in grids) if copy else tuple(grids)
