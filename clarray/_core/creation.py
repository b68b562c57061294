"""NumPy's array creation routines: new arrays, and arrays of host data."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.callers import drop_imaginary
from clarray._core.device_array import DeviceArray, is_scalar, mark_0d_array, wrap
from clarray._core.host_data import (
    SMALL,
    adopt,
    data_dtype,
    device_dtype,
    is_cl_array,
    ndarray_layout,
    new_leaf,
    share,
    upload,
)
from clarray._core.moving import computed_copy, convert_copy, copy_order, copy_to_device, has_order
from clarray._core.operands import PYTHON_SCALARS, host_array, refuse_subclass
from clarray._core.sequences import MAX_NDIM, check_depth, holds_arrays, join_sequence
from clarray._core.views import make_view, view_of
from clarray._engine.expr.axes import c_integer
from clarray._engine.expr.view import as_shape, check_order
from clarray._engine.runtime import Device, current_device, different_devices_error, find_device
from clarray._engine.runtime.capture import current_capture
from clarray._engine.speedups import captured

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


_UNSHARED_TYPES = PYTHON_SCALARS | {list, tuple}  # types without memory to share


def device_for(device: Any) -> Device:
    """Return the device of a creation function's argument `device`."""
    return current_device() if device is None else find_device(device)


def as_array(argument: Any, device: Device | None = None) -> DeviceArray:
    """Convert an array-like to an array. Return a device array unchanged. It must be on `device` if that is set."""
    if isinstance(argument, DeviceArray):
        if Device.several and device is not None and argument.device is not device:
            raise different_devices_error(device, argument.device)
        return argument
    refuse_subclass(argument)
    return asarray(argument, device=device)


def operand_array(argument: Any) -> DeviceArray:
    """Return `asarray` of a function's operand. HostOnly for subclasses of ndarray, which NumPy preserves."""
    refuse_subclass(argument)
    return asarray(argument)


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
    return _convert(a, dtype, order, device, copy)


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
    converted = _convert(object, dtype, order, device, copy, subok)
    if ndmax != MAX_NDIM:
        check_depth(object, converted.ndim, ndmin, ndmax)
    missing = c_integer(ndmin, 32) - converted.ndim
    return converted.reshape((1,) * missing + converted.shape) if missing > 0 else converted


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
    return _convert(a, dtype, order, device, copy, True)


@captured
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
    converted = _convert(a, dtype, "C", None, None)
    return converted if converted.ndim else converted.reshape((1,))


@captured
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
    converted = _convert(a, dtype, "F", None, None)
    return converted if converted.ndim else converted.reshape((1,))


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
        pending_copy = computed_copy(a)
        if pending_copy is not None:
            return pending_copy
    return _copy(a, order)


@captured
def _copy(a: Any, order: str) -> DeviceArray:
    return _convert(a, None, order, None, True)


def _convert(a: Any, dtype: Any, order: str | None, device: Any, copy: bool | None, subok: bool = False) -> DeviceArray:
    order = "K" if order is None else check_order(order)
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    if isinstance(a, DeviceArray):
        if type(a) is not DeviceArray and not subok:
            a = make_view(a, view_of(a))
        return _from_device_array(a, dtype, order, device, copy)
    if is_cl_array(a):
        adopted = mark_0d_array(wrap(adopt(a)))
        return _from_device_array(adopted, dtype, order, device, copy)
    target = device_for(device)
    if copy is not False and holds_arrays(a):
        joined = join_sequence(a, dtype, target)
        if joined is not None:
            return joined if order != "F" else _from_device_array(joined, None, order, target, None)
    # an ndarray is cast later, in the pass that copies it
    host = np.asarray(a) if isinstance(a, np.ndarray) else host_array(a, dtype, False if copy is False else None)
    if isinstance(host, DeviceArray):
        return _from_device_array(host, dtype, order, device, copy)
    element_dtype = data_dtype(host.dtype, target) if dtype is None else device_dtype(dtype, target)
    # copying a small new ndarray is faster than sharing it
    is_copied = host.nbytes <= SMALL and (type(a) in _UNSHARED_TYPES or _is_kept_by_program(copy))
    if copy is not True and not is_copied and host.dtype == element_dtype and has_order(ndarray_layout(host), order):
        node = share(host, target)
        if node is not None:
            return mark_0d_array(wrap(node))
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: "
            f"{target.capabilities.name} cannot use this array's memory; leave copy=None"
        )
    return mark_0d_array(wrap(upload(host, element_dtype, target, copy_order(order, host.dtype, element_dtype))))


def _is_kept_by_program(copy: bool | None) -> bool:
    """Return whether an ndarray is uploaded because the current call is captured: a program keeps its copy."""
    capture = current_capture()
    return capture is not None and copy is None and capture.is_recording


def _from_device_array(a: DeviceArray, dtype: Any, order: str, device: Any, copy: bool | None) -> DeviceArray:
    target = a.device if device is None else find_device(device)
    element_dtype = device_dtype(a.dtype if dtype is None else dtype, target)
    if target is not a.device:
        if copy is False:
            raise ValueError(
                f"Unable to avoid copy while creating an array as requested: the array is on "
                f"{a.device}, not on {target}; leave copy=None"
            )
        return copy_to_device(a, element_dtype, order, target)
    fits = element_dtype == a.dtype and (order == "K" or has_order(view_of(a), order))
    if fits and copy is not True and not is_scalar(a):  # NumPy copies its scalars into an array
        return a
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: dtype or order differ; leave copy=None"
        )
    return convert_copy(a, element_dtype, copy_order(order, a.dtype, element_dtype))


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
    return _allocate(shape, dtype, order, device, False)


def _allocate(shape: Any, dtype: Any, order: str | None, device: Any, zero: bool) -> DeviceArray:
    target = device_for(device)
    return mark_0d_array(
        wrap(new_leaf(target, as_shape(shape), device_dtype(dtype, target), check_new_order(order), None, zero))
    )


def check_new_order(order: str | None) -> str:
    """Check the argument `order` of a new array, which has no order to keep."""
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
    return _allocate(shape, dtype, order, device, True)


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
    filled = empty(shape, float if dtype is None else dtype, order, device=device)
    filled[...] = 1
    return filled


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
        host_value = fill_value if isinstance(fill_value, DeviceArray) else np.asarray(fill_value)
        dtype = data_dtype(host_value.dtype, device_for(device))
    filled = empty(shape, dtype, order, device=device)
    is_exact = type(fill_value) in _EXACT_FILLS.get(filled.dtype.kind, ())
    filled[...] = fill_value if is_exact else cast_fill_value(fill_value, filled.dtype)
    return filled


_EXACT_FILLS = {"i": (int,), "u": (int,), "f": (float, int)}  # Python types whose assignment casts like NumPy's fill


def cast_fill_value(fill_value: Any, dtype: np.dtype) -> Any:
    """Cast a fill value to an array's dtype by NumPy's unsafe cast. Device arrays are returned unchanged."""
    if isinstance(fill_value, DeviceArray):
        return fill_value
    return np.full(np.shape(fill_value), drop_imaginary(fill_value, dtype), dtype)
