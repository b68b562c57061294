"""``DeviceArray(...)`` as NumPy's ``ndarray(...)`` is called, and the attributes by which an array's layout is set."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.creation import asarray, device_for, plain_order
from clarray._core.device_array import DeviceArray, no_number, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.reinterpreting import view
from clarray._core.views import make_view, view_of
from clarray._engine.expr import view as views
from clarray._engine.expr.node import READONLY, leaf
from clarray._engine.expr.overlap import SOMEWHERE, AddressRange
from clarray._engine.expr.view import View, as_shape

_NO_FIT = "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."


def construct(
    shape: Any, dtype: Any, buffer: Any, offset: Any, strides: Any, order: str | None, device: Any
) -> DeviceArray:
    """Make a new array, or one that looks at a buffer; see `DeviceArray`.

    Raises
    ------
    TypeError
        The buffer is too small, or the device has no such dtype.
    ValueError
        The strides leave the buffer, or are no multiples of the element's size.
    """
    if buffer is None:
        wanted = device_dtype(dtype, device_for(device))
        if strides is None:
            letter = plain_order("F" if order == "F" else "C")
            return no_number(wrap(new_leaf(device_for(device), as_shape(shape), wanted, letter)))
        like = np.ndarray(shape, wanted, strides=strides)  # judges the strides; nothing is written
        memory = device_for(device).allocate(like.nbytes)
        return no_number(wrap(leaf(memory, like.shape, _in_elements(like.strides, wanted), 0, wanted)))
    if offset < 0:
        raise ValueError("offset must be non-negative")  # NumPy reads before the buffer
    if isinstance(buffer, DeviceArray):
        return _looking_at(buffer, shape, device_dtype(dtype, buffer.device), offset, strides, order)
    host: np.ndarray = np.ndarray(shape, dtype, buffer, offset, strides, order)  # type: ignore[arg-type]
    return of_buffer(host, device)


def of_buffer(host: np.ndarray, device: Any = None) -> DeviceArray:
    """Make an array of one that looks at a buffer: read-only where it is, a copy too, so that devices do not differ."""
    made = asarray(host, device=device)
    if not host.flags.writeable:
        made._node.flags |= READONLY
    return made


def _looking_at(
    array: DeviceArray, shape: Any, dtype: np.dtype, offset: int, strides: Any, order: str | None
) -> DeviceArray:
    """Make a view of the memory of an array, which takes it for bytes."""
    layout = view_of(array)
    if not layout.contiguous:
        raise ValueError("ndarray is not contiguous")
    start = layout.offset * array.itemsize
    bytes_ = np.asarray(AddressRange(View((array.nbytes,), (1,), 0), 1, SOMEWHERE))
    like: np.ndarray = np.ndarray(shape, dtype, bytes_, offset, strides, order)  # type: ignore[arg-type] # judges it
    if (start + offset) % dtype.itemsize:
        raise _misplaced(dtype)
    return make_view(
        array, View(like.shape, _in_elements(like.strides, dtype), (start + offset) // dtype.itemsize), dtype
    )


def _in_elements(strides: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    if any(stride % dtype.itemsize for stride in strides):
        raise _misplaced(dtype)
    return tuple(stride // dtype.itemsize for stride in strides)


def _misplaced(dtype: np.dtype) -> ValueError:
    return ValueError(f"elements of {dtype} would not begin at multiples of {dtype.itemsize} bytes")


# Attributes ---------------------------------------------------------------------------------------


def set_shape(array: DeviceArray, shape: Any) -> None:
    """``array.shape = shape``: another shape on the same memory, where it needs no copy.

    Raises
    ------
    AttributeError
        It does.
    ValueError
        The sizes differ.
    """
    _warn_of_setting("shape", "reshape")
    found = views.reshape(view_of(array), shape)
    if found is None:
        raise AttributeError(_NO_FIT)
    array._node = make_view(array, found)._node
    no_number(array)


def set_dtype(array: DeviceArray, dtype: Any) -> None:
    """``array.dtype = dtype``: the same memory as elements of another dtype, as `view` has it."""
    _warn_of_setting("dtype", "view")
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise TypeError("invalid data-type for array") from None
    array._node = view(array, wanted)._node


def _warn_of_setting(attribute: str, method: str) -> None:
    """Warn that an attribute is set in place, as NumPy does from 2.5 on."""
    if callers.NUMPY_2_5:
        callers.warn(
            f"Setting the {attribute} on an array has been deprecated in NumPy 2.5; "
            f"the method `{method}` makes a new view",
            DeprecationWarning,
        )


def set_strides(array: DeviceArray, strides: Any) -> None:
    """``array.strides = strides``: other steps through the array's memory, all of them inside it."""
    callers.warn(
        "Setting the strides on an array has been deprecated in NumPy 2.4; clarray.lib.stride_tricks.as_strided "
        "makes a new view",
        DeprecationWarning,
    )
    layout, size, memory = view_of(array), array.itemsize, array._node.memory
    assert memory is not None
    if len(strides) != array.ndim:
        raise ValueError(f"strides must be same length as shape ({array.ndim})")
    bytes_ = np.asarray(AddressRange(View((memory.nbytes,), (1,), 0), 1, SOMEWHERE))
    try:
        like: np.ndarray = np.ndarray(layout.shape, array.dtype, bytes_, layout.offset * size, strides)
    except ValueError:
        raise ValueError("strides is not compatible with available memory") from None
    array._node = make_view(array, View(layout.shape, _in_elements(like.strides, array.dtype), layout.offset))._node
