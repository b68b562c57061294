"""Values that follow from their position: NumPy's numerical ranges, and unit matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.callers import without_lost_parts
from clarray._core.creation import as_array, asarray, device_for, plain_order, zeros
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import data_dtype, device_dtype, new_leaf, upload
from clarray._core.operands import weak_type
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import node as nodes
from clarray._engine.expr.bounds import remember
from clarray._engine.expr.view import as_count
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.runtime import Device, use_device
from clarray._engine.speedups import recorded
from clarray._numpy.manipulation.ranks import broadcast_arrays
from clarray._numpy.manipulation.shapes import expand_dims, moveaxis

__all__ = ["arange", "eye", "geomspace", "identity", "linspace", "logspace", "meshgrid"]

# Below this NumPy makes the values faster than a kernel is launched.
SMALL = 1 << 12


def _positions(shape: tuple[int, ...], steps: tuple[int, ...], first: int = 0) -> DeviceArray:
    """Grow ``first + sum(position * steps)`` in int64, a value that needs no memory."""
    return wrap(nodes.index(shape, steps, np.dtype(np.int64), first))


def _converted(array: DeviceArray, dtype: np.dtype, device: Any) -> DeviceArray:
    """Convert an array, and compute it at once for a given device, because pending work takes the current one."""
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
    """Make evenly spaced values from `start` up to, but not including, `stop`.

    Parameters
    ----------
    start, stop, step : number
        A single number is `stop`. `start` is 0 and `step` is 1 by default. With floats use `linspace`, as rounding may
        add or drop the last value.
    dtype : dtype, optional
        Type of the values. By default, it is the dtype of the numbers: int64 or float64 for Python numbers.
    device : Device, str or int, optional
        Where to make the array. The current device by default.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        `stop` is missing, or the device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.arange(2, 11, 3).tolist()
    [2, 5, 8]
    """
    on = device_for(device)
    # NumPy would ask an array for a float, which a complex number is not
    start, stop, step = (x.get() if isinstance(x, DeviceArray) else x for x in (start, stop, step))
    if dtype is not None:
        device_dtype(dtype, on)
    if start is None and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if stop is None:
        start, stop = None, start
    numbers = (0 if start is None else start, stop, 1 if step is None else step)
    # elsewhere than in host memory an upload costs more than counting in a kernel
    counted = not on.capabilities.host_memory and _are_plain(numbers, dtype)
    long = _long_range(*numbers, dtype, 0 if counted else SMALL)
    if long is None:
        given = np.arange(0 if start is None else start, stop, step, dtype=dtype)
        made = upload(given, data_dtype(given.dtype, on), on)
        if given.size and given.dtype.kind in "iu":
            low, high = sorted((int(given[0]), int(given[-1])))
            remember(made, low, high, apart=high + 1 if low >= 0 else None)
        return wrap(made)
    first, second, size = long
    wanted = device_dtype(first.dtype, on)
    if wanted.kind in "iu":
        gap = int(second) - int(first)
        return _converted(_positions((size,), (gap,), int(first)), wanted, device)
    work = wide_dtype(wanted)
    count = wrap(ufunc_calls.cast(_positions((size,), (1,))._node, work))
    step = work.type(second) - work.type(first)
    return _converted(count * step + work.type(first), wanted, device)


def _are_plain(numbers: tuple[Any, ...], dtype: Any) -> bool:
    """Whether a range is one of integers that are far from the ends of their dtype."""
    plain = all(type(x) is int and -(2**30) < x < 2**30 for x in numbers)
    return plain and (dtype is None or np.dtype(dtype) in (np.int32, np.int64))


def _long_range(
    start: Any, stop: Any, step: Any, dtype: Any, shortest: int
) -> tuple[np.generic, np.generic, int] | None:
    """Give the first two values and the length of a range worth a kernel, longer than `shortest`, else None."""
    numbers = (start, stop, step)
    if not all(isinstance(x, int | float | np.integer | np.floating) for x in numbers) or not step:
        return None
    length = (stop - start) / step
    if not shortest < length < 2**62:
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
        The ends. Arrays make one sequence per element, along `axis`.
    num : int, optional
        Number of values.
    endpoint : bool, optional
        Whether `stop` is the last value.
    retstep : bool, optional
        Whether to return the spacing as well.
    dtype : dtype, optional
        Type of the values. By default, it is the dtype of the ends, and at least float64.
    axis : int, optional
        Axis of the sequences if the ends are arrays.
    device : Device, str or int, optional
        Where to make the array. By default, it is the device of the ends, or the current device.

    Returns
    -------
    DeviceArray, or (DeviceArray, step)

    Raises
    ------
    ValueError
        `num` is negative.

    Examples
    --------
    >>> import clarray
    >>> clarray.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if isinstance(start, DeviceArray) or isinstance(stop, DeviceArray):
        made, spacing = _between(start, stop, num, endpoint, dtype, axis, device)
        return (made, spacing) if retstep else made
    on = device_for(device)
    computed = _dtype_on_host(dtype, start, stop)
    values, step = np.linspace(start, stop, num, endpoint, retstep=True, dtype=computed, axis=axis)
    values = values if dtype is None else without_lost_parts(values, np.dtype(dtype))
    wanted = data_dtype(values.dtype, on) if dtype is None else device_dtype(dtype, on)
    made = wrap(upload(values, wanted, on))
    return (made, step) if retstep else made


def _dtype_on_host(dtype: Any, *ends: Any) -> Any:
    """Return the dtype in which NumPy computes: None, its own choice, if `dtype` would discard imaginary parts."""
    discards = dtype is not None and np.dtype(dtype).kind == "f" and any(map(np.iscomplexobj, ends))
    return None if discards else dtype


def _device_of(ends: tuple[Any, ...]) -> Device:
    return next(x.device for x in ends if isinstance(x, DeviceArray))


def _between(
    start: Any, stop: Any, num: Any, endpoint: bool, dtype: Any, axis: int, device: Any
) -> tuple[DeviceArray, Any]:
    """`linspace` between ends that are on the device, step by step as NumPy rounds it."""
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    on = device_for(device) if device is not None else _device_of((start, stop))
    first, last = (as_array(x, on) for x in (start, stop))
    kinds = (given if weak_type(given) is not None else x.dtype for given, x in ((start, first), (stop, last)))
    floating = np.result_type(*kinds)
    if floating.kind not in "fc":
        floating = np.dtype(np.float64)
    first, last = (x.astype(floating, copy=False) for x in (first, last))
    wanted = floating if dtype is None else np.dtype(dtype)
    gaps = count - 1 if endpoint else count
    width = last - first
    values = arange(count, dtype=floating, device=on).reshape(-1, *(1,) * width.ndim)
    step: Any = np.nan
    if gaps > 0:
        step = width / gaps
        flat = bool((step == 0).any())  # the width may be too small to be divided
        values = values / gaps * width if flat else values * step
    else:
        values = values * width
    values = values + first
    if endpoint and count > 1:
        values[-1, ...] = last
    if axis != 0:
        values = moveaxis(values, 0, axis)
    if wanted.kind in "iu":
        values = ufunc_calls.call(np.floor, (values,))
    return values.astype(wanted, copy=False), step


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
    """Make `num` values from ``base**start`` to ``base**stop``, evenly spaced in the exponent.

    Further parameters as in `linspace`.

    Parameters
    ----------
    start, stop : array_like
        The exponents of the ends.
    endpoint : bool, optional
        Whether ``base**stop`` is the last value.
    base : array_like, optional
        The base of the powers.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.logspace(0, 3, 4)
    array([   1.,   10.,  100., 1000.])
    """
    if any(isinstance(x, DeviceArray) for x in (start, stop, base)):
        if np.ndim(base):  # it counts as an end does: all three are broadcast, and the values lie along another axis
            ndim = max(map(np.ndim, (start, stop, base)))
            start, stop, base = (_with_axes(x, ndim) for x in (start, stop, base))
        exponents: DeviceArray = linspace(start, stop, num, endpoint, axis=axis, device=device)
        if np.ndim(base):
            base = expand_dims(as_array(base, exponents.device), axis)
        found: DeviceArray = ufunc_calls.call(np.power, (base, exponents))
        return found if dtype is None else found.astype(dtype, copy=False)
    values = np.logspace(start, stop, num, endpoint, base, _dtype_on_host(dtype, start, stop, base), axis)
    return _kept_as(values, dtype, device)


def _with_axes(value: Any, ndim: int) -> Any:
    """An array with axes of one element in front, so that it has as many."""
    array = value if isinstance(value, DeviceArray) else np.asarray(value)
    return array[(None,) * (ndim - array.ndim)]


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
    """Make `num` values from `start` to `stop`, each one a constant multiple of the one before.

    Further parameters as in `linspace`.

    Parameters
    ----------
    start, stop : array_like
        The ends. They are not zero.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        An end is zero.

    Examples
    --------
    >>> import clarray
    >>> clarray.geomspace(1, 8, 4)
    array([1., 2., 4., 8.])
    """
    if isinstance(start, DeviceArray) or isinstance(stop, DeviceArray):
        return _between_powers(start, stop, operator.index(num), endpoint, dtype, axis, device)
    values = np.geomspace(start, stop, num, endpoint, _dtype_on_host(dtype, start, stop), axis)
    return _kept_as(values, dtype, device)


def _kept_as(values: np.ndarray, dtype: Any, device: Any) -> DeviceArray:
    """Return what the host has computed as an array of a dtype; its own when None."""
    values = values if dtype is None else without_lost_parts(values, np.dtype(dtype))
    return asarray(values, dtype, device=device, copy=True)


def _between_powers(
    start: Any, stop: Any, count: int, endpoint: bool, dtype: Any, axis: int, device: Any
) -> DeviceArray:
    """`geomspace` between ends that are on the device: the first end's sign or direction, times powers of ten."""
    on = device_for(device) if device is not None else _device_of((start, stop))
    first, last = broadcast_arrays(as_array(start, on), as_array(stop, on))
    if (first == 0).any() or (last == 0).any():
        raise ValueError("Geometric sequence cannot include zero")
    floating = np.result_type(first.dtype, last.dtype, float(count), np.zeros((), dtype))
    first, last = first.astype(floating), last.astype(floating)
    sign = ufunc_calls.call(np.sign, (first,))
    first, last = first / sign, last / sign
    powers = [ufunc_calls.call(np.log10, (x,)) for x in (first, last)]
    values = logspace(powers[0], powers[1], count, endpoint, 10.0, floating)
    if count > 0:
        values[0] = first
        if count > 1 and endpoint:
            values[-1] = last
    found: DeviceArray = moveaxis(values * sign, 0, axis)
    return found if dtype is None else found.astype(dtype, copy=False)


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
    """Make a matrix of zeros with ones on one diagonal.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns. `N` by default.
    k : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.
    dtype : dtype, optional
        Type of the elements, float64 by default.
    order : {'C', 'F'}, optional
        Memory layout: row-major ('C') or column-major ('F').
    device : Device, str or int, optional
        Where to make the array. The current device by default.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `N` or `M` is negative.
    TypeError
        The device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.eye(2, 3, dtype=int)
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    on = device_for(device)
    rows = as_count(N)
    columns = rows if M is None else as_count(M)
    wanted = device_dtype(dtype, on)
    if k >= columns:  # compared before it is read as an integer, as NumPy does
        return zeros((rows, columns), wanted, order, device=on)
    made = wrap(new_leaf(on, (rows, columns), wanted, plain_order(order)))
    shape = made.shape
    ones_at = _positions(shape, (-1, 1)) == operator.index(k)
    ufunc_calls.assign(made, ones_at._node)
    return made


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> DeviceArray:
    """Make the square matrix with ones on the main diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    dtype : dtype, optional
        Type of the elements, float64 by default.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=float if dtype is None else dtype)


# Coordinates --------------------------------------------------------------------------------------


@recorded
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[DeviceArray, ...]:
    """Make coordinate arrays of a grid from the coordinates along each axis.

    Parameters
    ----------
    *xi : array_like
        The coordinates along each axis, of one axis each.
    copy : bool, optional
        False returns views with repeated elements, for which no memory is written.
    sparse : bool, optional
        True leaves the other axes at length 1, so that the results broadcast.
    indexing : {'xy', 'ij'}, optional
        'xy' (Cartesian, the default) exchanges the first two axes. 'ij' (matrix indices) keeps their order.

    Returns
    -------
    tuple of DeviceArray

    Raises
    ------
    ValueError
        `indexing` is neither 'xy' nor 'ij'.

    Examples
    --------
    >>> import clarray
    >>> x, y = clarray.meshgrid([1, 2], [3, 4])
    >>> (x + 10 * y).tolist()
    [[31, 32], [41, 42]]
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
