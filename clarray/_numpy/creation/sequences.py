"""Numerical ranges, unit matrices and coordinate grids: values that are functions of their position."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from clarray._core import ufunc_calls
from clarray._core.callers import drop_imaginary
from clarray._core.creation import as_array, asarray, check_new_order, device_for, zeros
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import data_dtype, device_dtype, new_leaf, upload
from clarray._core.operands import weak_type
from clarray._engine.evaluate import evaluate
from clarray._engine.expr import node as nodes
from clarray._engine.expr.bounds import record_range
from clarray._engine.expr.view import as_count
from clarray._engine.ops.dtypes import wide_dtype
from clarray._engine.runtime import Device, use_device
from clarray._engine.speedups import captured
from clarray._numpy.manipulation.ranks import broadcast_arrays
from clarray._numpy.manipulation.shapes import expand_dims, moveaxis

__all__ = ["arange", "eye", "geomspace", "identity", "linspace", "logspace", "meshgrid"]

# Up to this length, NumPy computes the values faster than a kernel is launched.
HOST_LENGTH = 1 << 12


def _affine_index(shape: tuple[int, ...], steps: tuple[int, ...], first: int = 0) -> DeviceArray:
    """Return the pending int64 array ``first + sum(position * steps)``. It needs no memory."""
    return wrap(nodes.index(shape, steps, np.dtype(np.int64), first))


def _cast_on(array: DeviceArray, dtype: np.dtype, device: Any) -> DeviceArray:
    """Cast an array, and evaluate it at once if `device` is given: pending work runs on the current device."""
    converted = wrap(ufunc_calls.cast(array._node, dtype))
    if device is not None:
        with use_device(device):
            evaluate(converted._node)
    return converted


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
    target = device_for(device)
    # NumPy would call float() on an array, which fails for complex numbers
    start, stop, step = (x.get() if isinstance(x, DeviceArray) else x for x in (start, stop, step))
    if dtype is not None:
        device_dtype(dtype, target)
    if start is None and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if stop is None:
        start, stop = None, start
    bounds = (0 if start is None else start, stop, 1 if step is None else step)
    # on a device with its own memory, an upload costs more than a kernel that counts
    by_kernel = not target.capabilities.host_memory and _are_small_integers(bounds, dtype)
    kernel_range = _kernel_range(*bounds, dtype, 0 if by_kernel else HOST_LENGTH)
    if kernel_range is None:
        host_values = np.arange(0 if start is None else start, stop, step, dtype=dtype)
        uploaded = upload(host_values, data_dtype(host_values.dtype, target), target)
        if host_values.size and host_values.dtype.kind in "iu":
            low, high = sorted((int(host_values[0]), int(host_values[-1])))
            record_range(uploaded, low, high, distinct=high + 1 if low >= 0 else None)
        return wrap(uploaded)
    first, second, size = kernel_range
    out_dtype = device_dtype(first.dtype, target)
    if out_dtype.kind in "iu":
        stride = int(second) - int(first)
        return _cast_on(_affine_index((size,), (stride,), int(first)), out_dtype, device)
    work = wide_dtype(out_dtype)
    count = wrap(ufunc_calls.cast(_affine_index((size,), (1,))._node, work))
    step = work.type(second) - work.type(first)
    return _cast_on(count * step + work.type(first), out_dtype, device)


def _are_small_integers(bounds: tuple[Any, ...], dtype: Any) -> bool:
    """Return whether the bounds and the step are integers far from the ends of their dtype."""
    small = all(type(x) is int and -(2**30) < x < 2**30 for x in bounds)
    return small and (dtype is None or np.dtype(dtype) in (np.int32, np.int64))


def _kernel_range(
    start: Any, stop: Any, step: Any, dtype: Any, shortest: int
) -> tuple[np.generic, np.generic, int] | None:
    """Return the first two values and the length of a range longer than `shortest`, or None for other ranges."""
    bounds = (start, stop, step)
    if not all(isinstance(x, int | float | np.integer | np.floating) for x in bounds) or not step:
        return None
    length = (stop - start) / step
    if not shortest < length < 2**62:
        return None
    out_dtype = np.dtype(dtype or np.result_type(*(np.asarray(x).dtype for x in bounds)))
    if out_dtype.kind not in "iuf":
        return None
    first, second = np.array([start, start + step]).astype(out_dtype)
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
        samples, spacing = _linspace_on_device(start, stop, num, endpoint, dtype, axis, device)
        return (samples, spacing) if retstep else samples
    target = device_for(device)
    host_dtype = _host_dtype(dtype, start, stop)
    values, step = np.linspace(start, stop, num, endpoint, retstep=True, dtype=host_dtype, axis=axis)
    values = values if dtype is None else drop_imaginary(values, np.dtype(dtype))
    out_dtype = data_dtype(values.dtype, target) if dtype is None else device_dtype(dtype, target)
    samples = wrap(upload(values, out_dtype, target))
    return (samples, step) if retstep else samples


def _host_dtype(dtype: Any, *ends: Any) -> Any:
    """Return the `dtype` argument for NumPy: None, for NumPy's choice, if `dtype` would discard imaginary parts."""
    discards = dtype is not None and np.dtype(dtype).kind == "f" and any(map(np.iscomplexobj, ends))
    return None if discards else dtype


def _first_device(ends: tuple[Any, ...]) -> Device:
    return next(x.device for x in ends if isinstance(x, DeviceArray))


def _linspace_on_device(
    start: Any, stop: Any, num: Any, endpoint: bool, dtype: Any, axis: int, device: Any
) -> tuple[DeviceArray, Any]:
    """Compute `linspace` between ends on the device, in NumPy's order of operations, so that it rounds alike."""
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    target = device_for(device) if device is not None else _first_device((start, stop))
    first, last = (as_array(x, target) for x in (start, stop))
    end_types = (end if weak_type(end) is not None else x.dtype for end, x in ((start, first), (stop, last)))
    floating = np.result_type(*end_types)
    if floating.kind not in "fc":
        floating = np.dtype(np.float64)
    first, last = (x.astype(floating, copy=False) for x in (first, last))
    out_dtype = floating if dtype is None else np.dtype(dtype)
    intervals = count - 1 if endpoint else count
    width = last - first
    values = arange(count, dtype=floating, device=target).reshape(-1, *(1,) * width.ndim)
    step: Any = np.nan
    if intervals > 0:
        step = width / intervals
        underflows = bool((step == 0).any())  # a quotient is zero although the width may not be
        values = values / intervals * width if underflows else values * step
    else:
        values = values * width
    values = values + first
    if endpoint and count > 1:
        values[-1, ...] = last
    if axis != 0:
        values = moveaxis(values, 0, axis)
    if out_dtype.kind in "iu":
        values = ufunc_calls.call(np.floor, (values,))
    return values.astype(out_dtype, copy=False), step


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
        if np.ndim(base):  # all three are broadcast, and the samples get their own axis
            ndim = max(map(np.ndim, (start, stop, base)))
            start, stop, base = (_prepend_axes(x, ndim) for x in (start, stop, base))
        exponents: DeviceArray = linspace(start, stop, num, endpoint, axis=axis, device=device)
        if np.ndim(base):
            base = expand_dims(as_array(base, exponents.device), axis)
        powers: DeviceArray = ufunc_calls.call(np.power, (base, exponents))
        return powers if dtype is None else powers.astype(dtype, copy=False)
    values = np.logspace(start, stop, num, endpoint, base, _host_dtype(dtype, start, stop, base), axis)
    return _upload_values(values, dtype, device)


def _prepend_axes(end: Any, ndim: int) -> Any:
    """Return the array with axes of length 1 in front, `ndim` axes in all."""
    array = end if isinstance(end, DeviceArray) else np.asarray(end)
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
        return _geomspace_on_device(start, stop, operator.index(num), endpoint, dtype, axis, device)
    values = np.geomspace(start, stop, num, endpoint, _host_dtype(dtype, start, stop), axis)
    return _upload_values(values, dtype, device)


def _upload_values(values: np.ndarray, dtype: Any, device: Any) -> DeviceArray:
    """Upload values that the host has computed, cast to `dtype` unless it is None."""
    values = values if dtype is None else drop_imaginary(values, np.dtype(dtype))
    return asarray(values, dtype, device=device, copy=True)


def _geomspace_on_device(
    start: Any, stop: Any, count: int, endpoint: bool, dtype: Any, axis: int, device: Any
) -> DeviceArray:
    """Compute `geomspace` between ends on the device: the first end's sign or direction, times powers of ten."""
    target = device_for(device) if device is not None else _first_device((start, stop))
    first, last = broadcast_arrays(as_array(start, target), as_array(stop, target))
    if (first == 0).any() or (last == 0).any():
        raise ValueError("Geometric sequence cannot include zero")
    floating = np.result_type(first.dtype, last.dtype, float(count), np.zeros((), dtype))
    first, last = first.astype(floating), last.astype(floating)
    sign = ufunc_calls.call(np.sign, (first,))
    first, last = first / sign, last / sign
    exponents = [ufunc_calls.call(np.log10, (x,)) for x in (first, last)]
    values = logspace(exponents[0], exponents[1], count, endpoint, 10.0, floating)
    if count > 0:
        values[0] = first
        if count > 1 and endpoint:
            values[-1] = last
    samples: DeviceArray = moveaxis(values * sign, 0, axis)
    return samples if dtype is None else samples.astype(dtype, copy=False)


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
    target = device_for(device)
    rows = as_count(N)
    columns = rows if M is None else as_count(M)
    out_dtype = device_dtype(dtype, target)
    if k >= columns:  # compared before it is read as an integer, as NumPy does
        return zeros((rows, columns), out_dtype, order, device=target)
    matrix = wrap(new_leaf(target, (rows, columns), out_dtype, check_new_order(order)))
    shape = matrix.shape
    on_diagonal = _affine_index(shape, (-1, 1)) == operator.index(k)
    ufunc_calls.assign(matrix, on_diagonal._node)
    return matrix


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


@captured
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
