"""Arrays from nothing and from host data: NumPy's chapter "array creation routines"."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.callers import without_lost_parts
from clarray._core.device_array import DeviceArray, is_number, no_number, wrap
from clarray._core.host_data import (
    SMALL,
    adopt,
    data_dtype,
    device_dtype,
    host_view,
    is_cl_array,
    new_leaf,
    share,
    upload,
)
from clarray._core.moving import computed_copy, converted, in_order, moved, order_of_copy
from clarray._core.operands import PYTHON_SCALARS, host_array, refuse_subclass
from clarray._core.sequences import MAX_NDIM, check_depth, holds_arrays, put_together
from clarray._core.views import make_view, view_of
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.view import as_shape, check_order
from clarray._engine.runtime import Device, current_device, different_devices, find_device
from clarray._engine.speedups import recorded

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "empty",
    "zeros",
    "ones",
    "full",
]


_NO_MEMORY = PYTHON_SCALARS | {list, tuple}  # kinds of what has no memory that could be shared


def device_for(device: Any) -> Device:
    """Give the device that the argument `device` of a creation function means."""
    return current_device() if device is None else find_device(device)


def as_array(value: Any, device: Device | None = None) -> DeviceArray:
    """An array of anything array-like; arrays as they are, which must be on the device where one is named."""
    if isinstance(value, DeviceArray):
        if Device.several and device is not None and value.device is not device:
            raise different_devices(device, value.device)
        return value
    refuse_subclass(value)
    return asarray(value, device=device)


def operand_array(value: Any) -> DeviceArray:
    """Return `asarray` of a function's operand; raise HostOnly for one whose class NumPy's functions keep."""
    refuse_subclass(value)
    return asarray(value)


# From objects -------------------------------------------------------------------------------------


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> DeviceArray:
    """Convert any array-like to an array on a device, sharing its memory if possible.

    On a device that works in host memory (a CPU), the result for an ndarray is a view of the ndarray: a write to one
    changes the other. On any other device, the result is a copy.

    Parameters
    ----------
    a : array_like
        A DeviceArray (returned as it is if nothing has to change), an ndarray of any strides and
        byte order, a ``pyopencl.array.Array`` (its memory is shared), a buffer, nested sequences or a scalar.
    dtype : dtype, optional
        Type of the result's elements. By default, it is the dtype of the data.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout. None is 'K', which keeps the layout of `a`.
    device : Device, str or int, optional
        Where to put the result: the device of a DeviceArray by default, else the current device.
    copy : bool, optional
        True always copies, False never copies, None copies only if needed.
    like : object, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        The device does not support the dtype.
    ValueError
        ``copy=False``, but a copy is needed.

    See Also
    --------
    array : Always make a new array.
    asnumpy : Copy an array to the host.

    Examples
    --------
    >>> import clarray
    >>> import numpy as np
    >>> clarray.asarray(np.arange(3)) + 1
    array([1, 2, 3])
    """
    return _make(a, dtype, order, device, copy)


def array(
    object: Any,  # NumPy's name for it
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = MAX_NDIM,
    like: Any = None,
    device: Any = None,
) -> DeviceArray:
    """Make a new array from any array-like. Further parameters as in `asarray`.

    Parameters
    ----------
    object : array_like
        The data: an array, nested sequences of numbers, or a scalar.
    copy : bool, optional
        True (the default) always copies, False never copies, None copies only if needed.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout. 'K' keeps the layout of `object`.
    subok : bool, optional
        True keeps the class of an array of a subclass of DeviceArray if no copy is needed.
    ndmin : int, optional
        Least number of axes. Axes of length 1 are put in front until there are so many.
    ndmax : int, optional
        Largest number of axes that nested sequences may have. Deeper ones raise ValueError.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> x = clarray.array([[1, 2], [3, 4]], clarray.float32)
    >>> x.sum(axis=0).tolist()
    [4.0, 6.0]
    """
    made = _make(object, dtype, order, device, copy, subok)
    if ndmax != MAX_NDIM:
        check_depth(object, made.ndim, ndmin, ndmax)
    missing = c_integer(ndmin, 32) - made.ndim
    return made.reshape((1,) * missing + made.shape) if missing > 0 else made


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> DeviceArray:
    """Convert any array-like to an array, and keep a subclass of DeviceArray. Parameters as in `asarray`.

    Examples
    --------
    >>> import clarray
    >>> clarray.asanyarray([1, 2, 3])
    array([1, 2, 3])
    """
    refuse_subclass(a)
    return _make(a, dtype, order, device, copy, True)


@recorded
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> DeviceArray:
    """Convert to a C-contiguous array of one axis or more, without a copy if possible.

    Further parameters as in `asarray`.

    Parameters
    ----------
    a : array_like
        A 0-d array gets an axis of length 1.
    dtype : dtype, optional
        Type of the result's elements. By default, it is the dtype of the data.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> clarray.ascontiguousarray(x.T).flags.c_contiguous
    True
    """
    made = _make(a, dtype, "C", None, None)
    return made if made.ndim else made.reshape((1,))


@recorded
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> DeviceArray:
    """Convert to a Fortran-contiguous array of one axis or more. Parameters as in `ascontiguousarray`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([[1, 2], [3, 4]])
    >>> clarray.asfortranarray(x).flags.f_contiguous
    True
    """
    made = _make(a, dtype, "F", None, None)
    return made if made.ndim else made.reshape((1,))


def copy(a: Any, order: str = "K", subok: bool = False) -> DeviceArray:
    """Copy any array-like to a new array.

    Parameters
    ----------
    a : array_like
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout of the copy. 'K' keeps the layout of `a`.
    subok : bool, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray
        An array with memory of its own.

    Raises
    ------
    TypeError
        The device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([1, 2, 3])
    >>> y = clarray.copy(x)
    >>> y[0] = 9
    >>> x
    array([1, 2, 3])
    """
    if type(a) is DeviceArray and order in ("C", "K"):
        made = computed_copy(a)
        if made is not None:
            return made
    return _copy(a, order)


@recorded
def _copy(a: Any, order: str) -> DeviceArray:
    return _make(a, None, order, None, True)


def _make(a: Any, dtype: Any, order: str | None, device: Any, copy: bool | None, subok: bool = False) -> DeviceArray:
    order = "K" if order is None else check_order(order)
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if isinstance(a, DeviceArray):
        if type(a) is not DeviceArray and not subok:
            a = make_view(a, view_of(a))
        return _from_device_array(a, dtype, order, device, copy)
    if is_cl_array(a):
        shared = no_number(wrap(adopt(a)))
        return _from_device_array(shared, dtype, order, device, copy)
    on = device_for(device)
    if copy is not False and holds_arrays(a):
        joined = put_together(a, dtype, on)
        if joined is not None:
            return joined if order != "F" else _from_device_array(joined, None, order, on, None)
    # an array has no dtype yet: NumPy decides whether the data can be converted, below in one pass
    host = np.asarray(a) if isinstance(a, np.ndarray) else host_array(a, dtype, False if copy is False else None)
    if isinstance(host, DeviceArray):
        return _from_device_array(host, dtype, order, device, copy)
    wanted = data_dtype(host.dtype, on) if dtype is None else device_dtype(dtype, on)
    # what NumPy has made of a list may be shared, which takes longer than to copy it where it is small
    new = type(a) in _NO_MEMORY and host.nbytes <= SMALL
    if copy is not True and not new and host.dtype == wanted and in_order(host_view(host), order):
        node = share(host, on)
        if node is not None:
            return no_number(wrap(node))
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: "
            f"{on.capabilities.name} cannot use this array's memory; leave copy=None"
        )
    return no_number(wrap(upload(host, wanted, on, order_of_copy(order, host.dtype, wanted))))


def _from_device_array(a: DeviceArray, dtype: Any, order: str, device: Any, copy: bool | None) -> DeviceArray:
    on = a.device if device is None else find_device(device)
    wanted = device_dtype(a.dtype if dtype is None else dtype, on)
    if on is not a.device:
        if copy is False:
            raise ValueError(
                f"Unable to avoid copy while creating an array as requested: the array is on "
                f"{a.device}, not on {on}; leave copy=None"
            )
        return moved(a, wanted, order, on)
    fits = wanted == a.dtype and (order == "K" or in_order(view_of(a), order))
    if fits and copy is not True and not is_number(a):  # NumPy copies its scalars into an array
        return a
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: dtype or order differ; leave copy=None"
        )
    return converted(a, wanted, order_of_copy(order, a.dtype, wanted))


# From nothing -------------------------------------------------------------------------------------


def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> DeviceArray:
    """Make a new array without setting its elements, which have arbitrary values.

    Parameters
    ----------
    shape : int or sequence of int
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
    TypeError
        The device does not support the dtype, such as float64 on some GPUs.
    MemoryError
        The device has not enough free memory. The message names the sizes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.empty((2, 3), clarray.float32)
    >>> x.shape, x.dtype
    ((2, 3), dtype('float32'))
    """
    return _made(shape, dtype, order, device, False)


def _made(shape: Any, dtype: Any, order: str | None, device: Any, zero: bool) -> DeviceArray:
    on = device_for(device)
    return no_number(wrap(new_leaf(on, as_shape(shape), device_dtype(dtype, on), plain_order(order), None, zero)))


def plain_order(order: str | None) -> str:
    """Check the argument `order` where nothing is there whose order could be kept."""
    if check_order(order) not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order or "C"


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> DeviceArray:
    """Make a new array of zeros. Parameters as in `empty`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.zeros((2, 3))
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """
    return _made(shape, dtype, order, device, True)


def ones(
    shape: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> DeviceArray:
    """Make a new array of ones. Parameters as in `empty`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.ones((2, 3), int)
    array([[1, 1, 1],
           [1, 1, 1]])
    """
    made = empty(shape, float if dtype is None else dtype, order, device=device)
    made[...] = 1
    return made


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> DeviceArray:
    """Make a new array filled with a value. Further parameters as in `empty`.

    Parameters
    ----------
    fill_value : scalar or array_like
        The value of every element. An array is broadcast to the shape.
    dtype : dtype, optional
        Type of the elements. By default, it is the dtype of `fill_value`.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    if dtype is None:
        given = fill_value if isinstance(fill_value, DeviceArray) else np.asarray(fill_value)
        dtype = data_dtype(given.dtype, device_for(device))
    made = empty(shape, dtype, order, device=device)
    is_kept = type(fill_value) in _KEPT.get(made.dtype.kind, ())
    made[...] = fill_value if is_kept else converted_fill(fill_value, made.dtype)
    return made


_KEPT = {"i": (int,), "u": (int,), "f": (float, int)}  # Python's numbers that are written as they are converted


def converted_fill(value: Any, dtype: np.dtype) -> Any:
    """Return the value that fills an array. Values of the host are converted to the dtype, even if much is lost."""
    if isinstance(value, DeviceArray):
        return value
    return np.full(np.shape(value), without_lost_parts(value, dtype), dtype)
