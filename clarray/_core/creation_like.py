"""New arrays in the shape, dtype and layout of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import converted_fill, device_for
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import data_dtype, device_dtype, host_view, new_leaf
from clarray._core.operands import refuse_subclass
from clarray._core.views import view_of
from clarray._engine.expr.view import as_shape, check_order
from clarray._engine.runtime import find_device

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
    """Make an array of the shape, dtype and layout of another, its elements undefined.

    Parameters
    ----------
    prototype : array_like
    dtype : dtype, optional
        Instead of the prototype's.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout; 'K': the prototype's.
    subok : bool, optional
        Accepted for NumPy's sake.
    shape : int or sequence of int, optional
        Instead of the prototype's.
    device : Device, str or int, optional
        The prototype's, or the current device, when None.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        The device has no such dtype.
    MemoryError
        The device has no room; the message has the sizes.
    """
    return _made_like(prototype, dtype, order, shape, device, False)


def _made_like(prototype: Any, dtype: Any, order: str | None, shape: Any, device: Any, zero: bool) -> DeviceArray:
    if isinstance(prototype, DeviceArray):
        on = prototype.device if device is None else find_device(device)
        like = view_of(prototype)
    else:
        refuse_subclass(prototype)
        on = device_for(device)
        prototype = np.asarray(prototype)
        like = host_view(prototype)
    wanted = data_dtype(prototype.dtype, on) if dtype is None else device_dtype(dtype, on)
    new = prototype.shape if shape is None else as_shape(shape)
    kept = "K" if order is None else check_order(order)
    if kept != "F" and like.contiguous:  # as most are
        return no_number(wrap(new_leaf(on, new, wanted, "C", None, zero)))
    return no_number(wrap(new_leaf(on, new, wanted, kept, like, zero)))


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make an array of zeros in the shape, dtype and layout of another; further parameters as in `empty_like`.

    Parameters
    ----------
    a : array_like
    """
    return _made_like(a, dtype, order, shape, device, True)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceArray:
    """Make an array of ones in the shape, dtype and layout of another; further parameters as in `empty_like`.

    Parameters
    ----------
    a : array_like
    """
    made = empty_like(a, dtype, order, subok, shape, device=device)
    made.fill(1)
    return made


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
    """Make an array of one value in the shape, dtype and layout of another; further parameters as in `empty_like`.

    Parameters
    ----------
    a : array_like
    fill_value : scalar or array_like
        Broadcast to the shape.
    """
    made = empty_like(a, dtype, order, subok, shape, device=device)
    made[...] = converted_fill(fill_value, made.dtype)
    return made
