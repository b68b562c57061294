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
    """Make an array of any array-like, sharing its memory where that is possible.

    On a device that works in host memory (a CPU's) the result of an ndarray is a view of it:
    a write to one shows in the other. Elsewhere it is a copy.

    Parameters
    ----------
    a : array_like
        A DeviceArray (returned as it is when nothing has to change), an ndarray of any strides and
        byte order, a ``pyopencl.array.Array`` (shared), a buffer, nested sequences or a scalar.
    dtype : dtype, optional
        The result's; of the data when None.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout; 'K' when None: as it is.
    device : Device, str or int, optional
        Where the result shall be; the current device when None.
    copy : bool, optional
        True copies always, False never, None where it is needed.
    like : object, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        The device has no such dtype.
    ValueError
        ``copy=False`` and a copy is needed.

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
    """Make a new array of any array-like; it copies unless told otherwise. Further parameters as in `asarray`.

    Parameters
    ----------
    object : array_like
    copy : bool, optional
        True copies always, False never, None where it is needed.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout; 'K': as it is.
    subok : bool, optional
        Whether an array of a subclass of DeviceArray that need not be copied keeps its class.
    ndmin : int, optional
        Axes of one element are put in front until there are so many.
    ndmax : int, optional
        The most axes that nested sequences may have: ValueError where they have more.

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
    """Make an array of any array-like, parameters as in `asarray`; one of a subclass of DeviceArray keeps its class."""
    refuse_subclass(a)
    return _make(a, dtype, order, device, copy, True)


@recorded
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> DeviceArray:
    """Make a C-contiguous array of at least one axis, sharing memory where possible; parameters as in `asarray`."""
    made = _make(a, dtype, "C", None, None)
    return made if made.ndim else made.reshape((1,))


@recorded
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> DeviceArray:
    """Make a Fortran-contiguous array of at least one axis; parameters as in `ascontiguousarray`."""
    made = _make(a, dtype, "F", None, None)
    return made if made.ndim else made.reshape((1,))


def copy(a: Any, order: str = "K", subok: bool = False) -> DeviceArray:
    """Copy any array-like to a new array.

    Parameters
    ----------
    a : array_like
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout; 'K': as it is.
    subok : bool, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray
        C-contiguous or in the order asked for, with memory of its own.

    Raises
    ------
    TypeError
        The device has no such dtype.
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
    """Make an array whose elements are whatever the memory held.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype, optional
        float64 when not given; a device without it raises TypeError.
    order : {'C', 'F'}, optional
        Memory layout.
    device : Device, str or int, optional
        The current device when None.
    like : object, optional
        Accepted for NumPy's sake.

    Returns
    -------
    DeviceArray

    Raises
    ------
    MemoryError
        The device has no room; the message has the sizes.
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
    """Make an array of zeros; parameters as in `empty`."""
    return _made(shape, dtype, order, device, True)


def ones(
    shape: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> DeviceArray:
    """Make an array of ones; parameters as in `empty`."""
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
    """Make an array filled with a value; further parameters as in `empty`.

    Parameters
    ----------
    fill_value : scalar or array_like
        Broadcast to the shape.
    dtype : dtype, optional
        The value's when None.

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
    """What an array is filled with; whatever the host has is converted even where much is lost."""
    if isinstance(value, DeviceArray):
        return value
    return np.full(np.shape(value), without_lost_parts(value, dtype), dtype)
