"""An array's own bytes, taken for another dtype, another byte order or another length."""

from __future__ import annotations

from inspect import isclass
from typing import Any

import numpy as np

from clarray._core.creation import asarray, zeros
from clarray._core.device_array import DeviceArray, hold_for, keeps_numbers, no_number, seen_as
from clarray._core.host_data import device_dtype
from clarray._core.views import make_view, view_of
from clarray._engine.expr.overlap import SOMEWHERE, AddressRange
from clarray._engine.expr.view import Shape, View, as_shape, contiguous


@keeps_numbers
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
    made = _of_dtype(array, dtype)
    if kind is None or kind in (DeviceArray, np.ndarray):
        return made
    seen: DeviceArray = seen_as(made, kind, array)
    return seen


def dtype_and_class(dtype: Any, kind: Any) -> tuple[Any, Any]:
    """What a call of `view` asks for, where a class may stand in the place of the dtype; None for what it does not."""
    if kind is None and isclass(dtype) and (issubclass(dtype, np.ndarray | DeviceArray) or dtype == DeviceArray):
        return None, dtype  # equal to DeviceArray is `clarray.ndarray`, which derives from none
    return dtype, kind


def _of_dtype(array: DeviceArray, dtype: Any) -> DeviceArray:
    layout = view_of(array)
    if dtype is None:
        return make_view(array, layout)
    wanted = device_dtype(dtype, array.device)
    old, new = array.dtype.itemsize, wanted.itemsize
    if old == new:
        return make_view(array, layout, wanted)
    # NumPy judges an array of the same layout at an address that nobody follows
    bytes_ = np.asarray(AddressRange(layout, old, SOMEWHERE)).view(array.dtype)
    found = bytes_.view(wanted)
    if not array.size:
        return _nothing(array, found.shape, wanted)
    apart = [step for step, extent in zip(found.strides, found.shape, strict=True) if extent > 1]
    if any(step % new for step in apart) or layout.offset * old % new:
        raise ValueError(f"elements of {wanted} would not begin at multiples of {new} bytes: copy the array first")
    steps = tuple(step // new for step in found.strides)
    return make_view(array, View(found.shape, steps, layout.offset * old // new), wanted)


def _nothing(array: DeviceArray, shape: Shape, dtype: np.dtype) -> DeviceArray:
    """A view without elements: whatever its strides, none begins anywhere."""
    return make_view(array, View(shape, contiguous(shape), 0), dtype)


@keeps_numbers
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
    wanted = device_dtype(dtype, array.device)
    np.empty(0, array.dtype).getfield(wanted, offset)  # judges the place of the part
    if not array.size:
        return _nothing(array, layout.shape, wanted)
    step = wanted.itemsize
    if (layout.offset * size + offset) % step or size % step:
        raise ValueError(f"elements of {wanted} would not begin at multiples of {step} bytes: copy the array first")
    strides = tuple(s * (size // step) for s in layout.strides)
    return make_view(array, View(layout.shape, strides, (layout.offset * size + offset) // step), wanted)


@keeps_numbers
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
        array = asarray(array)  # of a number an array, whose parts may be written
        lies = view_of(array)
        return no_number(_swapped(array if lies.contiguous or lies.f_contiguous else array.copy()))
    array.check_writeable()
    with hold_for(array):
        array[...] = _swapped(array)
    return array


def _swapped(array: DeviceArray) -> DeviceArray:
    dtype = array.dtype
    if dtype.kind == "c":
        made = array.copy("A")
        made.real = _swapped(array.real)
        made.imag = _swapped(array.imag)
        return made
    size = dtype.itemsize
    if size == 1:
        return array.copy("K")
    unsigned = np.dtype(f"u{size}")
    bits: Any = view(array, unsigned)
    half = 4 * size
    while half >= 8:  # halves change places, then halves of halves, down to bytes
        low = np.array(sum(((1 << half) - 1) << at for at in range(0, 8 * size, 2 * half)), unsigned)[()]
        by = unsigned.type(half)
        bits = ((bits >> by) & low) | ((bits & low) << by)
        half //= 2
    return view(bits.evaluate(), dtype)


def resize(array: DeviceArray, shape: Any) -> None:
    """Give an array another shape and size in place: elements in C order, and zeros after them.

    Views of it keep the memory that it had.
    """
    wanted = as_shape(shape[0] if len(shape) == 1 and shape[0] is not None else shape)
    layout = view_of(array)
    if min(wanted, default=0) < 0:
        raise ValueError("negative dimensions not allowed")
    if not (layout.contiguous or layout.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    size = int(np.prod(wanted, dtype=object))
    flat = View((array.size,), (1,), layout.offset)
    if size == array.size:
        made = make_view(array, flat).reshape(wanted)
    else:
        if array.base is not None or array._node.memory.shared:  # type: ignore[union-attr]
            raise ValueError("cannot resize this array: it does not own its data")
        made = zeros(wanted, array.dtype, device=array.device)
        kept = min(size, array.size)
        made.reshape(-1)[:kept] = make_view(array, flat)[:kept]
    array._node = made._node
    no_number(array)
