"""Views of an array's bytes as another dtype, byte swaps, and resizing in place."""

from __future__ import annotations

from inspect import isclass
from typing import Any

import numpy as np

from clarray._core.creation import asarray, zeros
from clarray._core.device_array import DeviceArray, hold_for, mark_0d_array, preserve_scalars, view_as_subclass
from clarray._core.host_data import device_dtype
from clarray._core.views import make_view, view_of
from clarray._engine.expr.overlap import FAKE_ADDRESS, AddressRange
from clarray._engine.expr.view import Shape, View, as_shape, contiguous


@preserve_scalars
def view(array: DeviceArray, dtype: Any = None, type: Any = None) -> DeviceArray:
    """View the array's memory as another dtype or class, without a copy. See `numpy.ndarray.view`.

    Parameters
    ----------
    dtype : dtype or class, optional
        Type of the view's elements. The array's own by default. A subclass of DeviceArray is taken as `type`.
    type : class, optional
        Class of the view: a subclass of DeviceArray.

    Returns
    -------
    DeviceArray
        An array that shares the memory. The bytes are the same, the elements are not converted.

    Raises
    ------
    ValueError
        As in NumPy: the last axis is not contiguous, or its bytes are no whole number of elements. Also if an element
        would not begin at a multiple of its size, which a device cannot read.
    TypeError
        The device does not support the dtype, or the class is no subclass of DeviceArray.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([1.0], clarray.float32).view(clarray.uint32).tolist()
    [1065353216]
    """
    dtype, kind = dtype_and_class(dtype, type)
    reinterpreted = _view_dtype(array, dtype)
    if kind is None or kind in (DeviceArray, np.ndarray):
        return reinterpreted
    instance: DeviceArray = view_as_subclass(reinterpreted, kind, array)
    return instance


def dtype_and_class(dtype: Any, array_class: Any) -> tuple[Any, Any]:
    """Return the dtype and the class of a call of `view`, or None. The dtype argument may be a class."""
    if array_class is None and isclass(dtype) and (issubclass(dtype, np.ndarray | DeviceArray) or dtype == DeviceArray):
        return None, dtype  # `clarray.ndarray` only compares equal to DeviceArray
    return dtype, array_class


def _view_dtype(array: DeviceArray, dtype: Any) -> DeviceArray:
    layout = view_of(array)
    if dtype is None:
        return make_view(array, layout)
    new_dtype = device_dtype(dtype, array.device)
    old_size, new_size = array.dtype.itemsize, new_dtype.itemsize
    if old_size == new_size:
        return make_view(array, layout, new_dtype)
    # NumPy's `view` of an array with the same layout, at an address that is never read, raises the errors
    probe = np.asarray(AddressRange(layout, old_size, FAKE_ADDRESS)).view(array.dtype)
    probe_view = probe.view(new_dtype)
    if not array.size:
        return _empty_view(array, probe_view.shape, new_dtype)
    used_strides = [step for step, extent in zip(probe_view.strides, probe_view.shape, strict=True) if extent > 1]
    if any(step % new_size for step in used_strides) or layout.offset * old_size % new_size:
        raise ValueError(
            f"elements of {new_dtype} would not begin at multiples of {new_size} bytes: copy the array first"
        )
    steps = tuple(step // new_size for step in probe_view.strides)
    return make_view(array, View(probe_view.shape, steps, layout.offset * old_size // new_size), new_dtype)


def _empty_view(array: DeviceArray, shape: Shape, dtype: np.dtype) -> DeviceArray:
    """Return a view without elements, for which no alignment is checked."""
    return make_view(array, View(shape, contiguous(shape), 0), dtype)


@preserve_scalars
def getfield(array: DeviceArray, dtype: Any, offset: int = 0) -> DeviceArray:
    """View a part of every element as another dtype. See `numpy.ndarray.getfield`.

    Parameters
    ----------
    dtype : dtype
        Type of the part.
    offset : int, optional
        Where the part begins within the element, in bytes.

    Returns
    -------
    DeviceArray
        A view.

    Raises
    ------
    ValueError
        The part is not inside the element, or does not begin at a multiple of its size, which a device cannot read.
    TypeError
        The device does not support the dtype.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([1 + 2j, 3 + 4j]).getfield(clarray.float64, 8)
    array([2., 4.])
    """
    layout, size = view_of(array), array.dtype.itemsize
    field_dtype = device_dtype(dtype, array.device)
    np.empty(0, array.dtype).getfield(field_dtype, offset)  # raises for an invalid offset
    if not array.size:
        return _empty_view(array, layout.shape, field_dtype)
    field_size = field_dtype.itemsize
    if (layout.offset * size + offset) % field_size or size % field_size:
        raise ValueError(
            f"elements of {field_dtype} would not begin at multiples of {field_size} bytes: copy the array first"
        )
    strides = tuple(s * (size // field_size) for s in layout.strides)
    return make_view(array, View(layout.shape, strides, (layout.offset * size + offset) // field_size), field_dtype)


@preserve_scalars
def byteswap(array: DeviceArray, inplace: bool = False) -> DeviceArray:
    """Reverse the bytes of every element, in a copy or in place. See `numpy.ndarray.byteswap`.

    Parameters
    ----------
    inplace : bool, optional
        True writes to the array itself and returns it. False (the default) returns a copy.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `inplace` is true, but the array is read-only.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([1, 256], clarray.int16).byteswap().tolist()
    [256, 1]
    """
    if not inplace:
        array = asarray(array)  # an array for a scalar, so that its parts may be written
        layout = view_of(array)
        return mark_0d_array(_swap_bytes(array if layout.contiguous or layout.f_contiguous else array.copy()))
    array.check_writeable()
    with hold_for(array):
        array[...] = _swap_bytes(array)
    return array


def _swap_bytes(array: DeviceArray) -> DeviceArray:
    dtype = array.dtype
    if dtype.kind == "c":
        swapped = array.copy("A")
        swapped.real = _swap_bytes(array.real)
        swapped.imag = _swap_bytes(array.imag)
        return swapped
    size = dtype.itemsize
    if size == 1:
        return array.copy("K")
    unsigned = np.dtype(f"u{size}")
    bits: Any = view(array, unsigned)
    half = 4 * size
    while half >= 8:  # exchange the halves, then the halves of halves, down to bytes
        low = np.array(sum(((1 << half) - 1) << position for position in range(0, 8 * size, 2 * half)), unsigned)[()]
        shift = unsigned.type(half)
        bits = ((bits >> shift) & low) | ((bits & low) << shift)
        half //= 2
    return view(bits.evaluate(), dtype)


def resize(array: DeviceArray, shape: Any) -> None:
    """Change the shape and size of an array in place. Elements stay in C order, and zeros follow them.

    Views of the array keep its old memory.
    """
    new_shape = as_shape(shape[0] if len(shape) == 1 and shape[0] is not None else shape)
    layout = view_of(array)
    if min(new_shape, default=0) < 0:
        raise ValueError("negative dimensions not allowed")
    if not (layout.contiguous or layout.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    size = int(np.prod(new_shape, dtype=object))
    flat_view = View((array.size,), (1,), layout.offset)
    if size == array.size:
        resized = make_view(array, flat_view).reshape(new_shape)
    else:
        if array.base is not None or array._node.memory.shared:  # type: ignore[union-attr]
            raise ValueError("cannot resize this array: it does not own its data")
        resized = zeros(new_shape, array.dtype, device=array.device)
        common = min(size, array.size)
        resized.reshape(-1)[:common] = make_view(array, flat_view)[:common]
    array._node = resized._node
    mark_0d_array(array)
