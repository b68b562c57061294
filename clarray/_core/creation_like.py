"""New arrays with the shape, dtype and layout of another array."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import cast_fill_value, device_for
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.host_data import data_dtype, device_dtype, ndarray_layout, new_leaf
from clarray._core.operands import refuse_subclass
from clarray._core.views import view_of
from clarray._engine.expr.view import as_shape, check_order
from clarray._engine.runtime import find_device
from clarray._engine.speedups import captured

__all__ = ["empty_like", "full_like", "ones_like", "zeros_like"]


def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make a new array with the shape, dtype and layout of another one, without setting its elements.

    Parameters
    ----------
    prototype : array_like
        The array to imitate. Its elements are not read.
    dtype : dtype, optional
        Type of the elements. By default, it is the dtype of the prototype.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout. 'K' keeps the prototype's.
    subok : bool, optional
        Ignored. Accepted for compatibility with NumPy.
    shape : int or sequence of int, optional
        Shape of the result. By default, it is the shape of the prototype.
    device : Device, str or int, optional
        Where to make the array: the prototype's device by default, or the current device if it has none.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        The device does not support the dtype.
    MemoryError
        The device has not enough free memory. The message names the sizes.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.ones((2, 3), clarray.float32)
    >>> clarray.empty_like(x).shape
    (2, 3)
    """
    return _allocate_like(prototype, dtype, order, shape, device, False)


def _allocate_like(prototype: Any, dtype: Any, order: str | None, shape: Any, device: Any, zero: bool) -> DeviceArray:
    if isinstance(prototype, DeviceArray):
        target = prototype.device if device is None else find_device(device)
        like = view_of(prototype)
    else:
        refuse_subclass(prototype)
        target = device_for(device)
        prototype = np.asarray(prototype)
        like = ndarray_layout(prototype)
    element_dtype = data_dtype(prototype.dtype, target) if dtype is None else device_dtype(dtype, target)
    new_shape = prototype.shape if shape is None else as_shape(shape)
    memory_order = "K" if order is None else check_order(order)
    if memory_order != "F" and like.contiguous:  # the usual case
        return mark_0d_array(wrap(new_leaf(target, new_shape, element_dtype, "C", None, zero)))
    return mark_0d_array(wrap(new_leaf(target, new_shape, element_dtype, memory_order, like, zero)))


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make an array of zeros with the shape, dtype and layout of another one. Further parameters as in `empty_like`.

    Parameters
    ----------
    a : array_like
        The array to imitate.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.zeros_like([[1, 2], [3, 4]])
    array([[0, 0],
           [0, 0]])
    """
    return _allocate_like(a, dtype, order, shape, device, True)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make an array of ones with the shape, dtype and layout of another one. Further parameters as in `empty_like`.

    Parameters
    ----------
    a : array_like
        The array to imitate.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.ones_like([0.5, 2.5])
    array([1., 1.])
    """
    filled = empty_like(a, dtype, order, subok, shape, device=device)
    filled.fill(1)
    return filled


@captured
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make an array like another one, filled with one value. Further parameters as in `empty_like`.

    Parameters
    ----------
    a : array_like
        The array to imitate.
    fill_value : scalar or array_like
        The value of every element. It is converted to the dtype, and an array is broadcast to the shape.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.full_like([1, 2, 3], 7)
    array([7, 7, 7])
    """
    filled = empty_like(a, dtype, order, subok, shape, device=device)
    filled[...] = cast_fill_value(fill_value, filled.dtype)
    return filled
