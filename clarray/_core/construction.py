"""The constructor of `DeviceArray`, with the arguments of `numpy.ndarray`, and the setters of an array's layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import callers
from clarray._core.creation import asarray, check_new_order, device_for
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.host_data import device_dtype, new_leaf
from clarray._core.reinterpreting import view
from clarray._core.views import make_view, view_of
from clarray._engine.expr import view as views
from clarray._engine.expr.node import READONLY, leaf
from clarray._engine.expr.overlap import FAKE_ADDRESS, AddressRange
from clarray._engine.expr.view import View, as_shape

_INCOMPATIBLE_SHAPE = (
    "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
)


def construct(
    shape: Any, dtype: Any, buffer: Any, offset: Any, strides: Any, order: str | None, device: Any
) -> DeviceArray:
    """Make a new array, or an array on a buffer. See `DeviceArray`.

    Raises
    ------
    TypeError
        The buffer is too small, or the device lacks the dtype.
    ValueError
        The strides leave the buffer, or are not multiples of the element's size.
    """
    if buffer is None:
        element_dtype = device_dtype(dtype, device_for(device))
        if strides is None:
            memory_order = check_new_order("F" if order == "F" else "C")
            return mark_0d_array(wrap(new_leaf(device_for(device), as_shape(shape), element_dtype, memory_order)))
        strided = np.ndarray(shape, element_dtype, strides=strides)  # raises for invalid strides and writes nothing
        memory = device_for(device).allocate(strided.nbytes)
        return mark_0d_array(
            wrap(leaf(memory, strided.shape, _strides_in_elements(strided.strides, element_dtype), 0, element_dtype))
        )
    if offset < 0:
        raise ValueError("offset must be non-negative")  # NumPy would read memory before the buffer
    if isinstance(buffer, DeviceArray):
        return _reinterpret_bytes(buffer, shape, device_dtype(dtype, buffer.device), offset, strides, order)
    host: np.ndarray = np.ndarray(shape, dtype, buffer, offset, strides, order)  # type: ignore[arg-type]
    return from_buffer(host, device)


def from_buffer(host: np.ndarray, device: Any = None) -> DeviceArray:
    """Convert an ndarray on a buffer. A copy of read-only memory is read-only, too: all devices behave alike."""
    wrapped = asarray(host, device=device)
    if not host.flags.writeable:
        wrapped._node.flags |= READONLY
    return wrapped


def _reinterpret_bytes(
    array: DeviceArray, shape: Any, dtype: np.dtype, offset: int, strides: Any, order: str | None
) -> DeviceArray:
    """Make a view of an array's memory as bytes, with another dtype, shape and strides."""
    layout = view_of(array)
    if not layout.contiguous:
        raise ValueError("ndarray is not contiguous")
    start = layout.offset * array.itemsize
    bytes_ = np.asarray(AddressRange(View((array.nbytes,), (1,), 0), 1, FAKE_ADDRESS))
    strided: np.ndarray = np.ndarray(shape, dtype, bytes_, offset, strides, order)  # type: ignore[arg-type] # raises
    if (start + offset) % dtype.itemsize:
        raise _misalignment_error(dtype)
    return make_view(
        array,
        View(strided.shape, _strides_in_elements(strided.strides, dtype), (start + offset) // dtype.itemsize),
        dtype,
    )


def _strides_in_elements(strides: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    if any(stride % dtype.itemsize for stride in strides):
        raise _misalignment_error(dtype)
    return tuple(stride // dtype.itemsize for stride in strides)


def _misalignment_error(dtype: np.dtype) -> ValueError:
    return ValueError(f"elements of {dtype} would not begin at multiples of {dtype.itemsize} bytes")


# Attributes ---------------------------------------------------------------------------------------


def set_shape(array: DeviceArray, shape: Any) -> None:
    """Assign to ``array.shape``.

    Raises
    ------
    AttributeError
        The new shape needs a copy.
    ValueError
        The sizes differ.
    """
    _warn_setting_deprecated("shape", "reshape")
    reshaped = views.reshape(view_of(array), shape)
    if reshaped is None:
        raise AttributeError(_INCOMPATIBLE_SHAPE)
    array._node = make_view(array, reshaped)._node
    mark_0d_array(array)


def set_dtype(array: DeviceArray, dtype: Any) -> None:
    """Assign to ``array.dtype``: view the memory as elements of another dtype."""
    _warn_setting_deprecated("dtype", "view")
    try:
        new_dtype = np.dtype(dtype)
    except TypeError:
        raise TypeError("invalid data-type for array") from None
    array._node = view(array, new_dtype)._node


def _warn_setting_deprecated(attribute: str, method: str) -> None:
    """Warn that setting an attribute is deprecated, as NumPy 2.5 and later do."""
    if callers.NUMPY_2_5:
        callers.warn_user(
            f"Setting the {attribute} on an array has been deprecated in NumPy 2.5; "
            f"the method `{method}` makes a new view",
            DeprecationWarning,
        )


def set_strides(array: DeviceArray, strides: Any) -> None:
    """Assign to ``array.strides``. ValueError for strides that leave the array's memory."""
    callers.warn_user(
        "Setting the strides on an array has been deprecated in NumPy 2.4; clarray.lib.stride_tricks.as_strided "
        "makes a new view",
        DeprecationWarning,
    )
    layout, size, memory = view_of(array), array.itemsize, array._node.memory
    assert memory is not None
    if len(strides) != array.ndim:
        raise ValueError(f"strides must be same length as shape ({array.ndim})")
    bytes_ = np.asarray(AddressRange(View((memory.nbytes,), (1,), 0), 1, FAKE_ADDRESS))
    try:
        strided: np.ndarray = np.ndarray(layout.shape, array.dtype, bytes_, layout.offset * size, strides)
    except ValueError:
        raise ValueError("strides is not compatible with available memory") from None
    array._node = make_view(
        array, View(layout.shape, _strides_in_elements(strided.strides, array.dtype), layout.offset)
    )._node
