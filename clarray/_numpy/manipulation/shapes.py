"""Changes of shape and of the order of axes.

Results are views of the same memory if they are views in NumPy. Only some reshaping copies.
A pending array is evaluated first, because a view needs memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core.creation import operand_array
from clarray._core.creation_like import zeros_like
from clarray._core.device_array import DeviceArray, preserve_scalars
from clarray._core.host_data import axis_order
from clarray._core.views import is_same_memory, make_view, pending_reshape, read_only, transform_view, view_of
from clarray._engine.expr import view as views
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.expr.node import READONLY
from clarray._engine.speedups import captured

__all__ = [
    "reshape",
    "ravel",
    "transpose",
    "permute_dims",
    "matrix_transpose",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "squeeze",
    "expand_dims",
    "broadcast_to",
    "diagonal",
    "real",
    "imag",
]


# Reshaping ----------------------------------------------------------------------------------------


@preserve_scalars
def reshape(a: Any, /, shape: Any, order: str | None = "C", *, copy: bool | None = None) -> DeviceArray:
    """Return the array with another shape, as a view if NumPy returns one.

    Parameters
    ----------
    a : array_like
    shape : int or sequence of int, or None
        The new lengths. One of them may be -1: it follows from the size. None keeps the shape and never copies.
    order : {'C', 'F', 'A'}, optional
        The order in which elements are read and placed. 'A' is 'F' for a Fortran-contiguous array, else 'C'.
    copy : bool, optional
        True always copies, False never copies, None copies only if needed.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The sizes differ, or ``copy=False`` and a copy is needed.

    Examples
    --------
    >>> import clarray
    >>> clarray.reshape(clarray.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    array = operand_array(a)
    order_letter = views.check_order(order)
    if shape is not None and not copy:
        pending = pending_reshape(array, lambda view: view._replace(shape=views.resolve_shape(view.shape, shape)))
        if pending is not None:
            return pending
    view = view_of(array)
    if shape is None:
        return make_view(array, view)
    reshaped = views.reshape(view, shape, order_letter)
    if reshaped is not None and not copy:
        return make_view(array, reshaped)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return _reshaped_copy(array, shape, order_letter)


@captured
def _reshaped_copy(array: DeviceArray, shape: Any, order: str) -> DeviceArray:
    is_fortran = order == "F" or (order == "A" and view_of(array).f_contiguous)
    packed = array.copy("F" if is_fortran else "C")
    reshaped = views.reshape(view_of(packed), shape, order)
    assert reshaped is not None
    return make_view(packed, reshaped)


def ravel(a: Any, order: str | None = "C") -> DeviceArray:
    """Flatten an array to one axis, as a view if NumPy returns one. See `numpy.ravel`.

    Parameters
    ----------
    a : array_like
    order : {'C', 'F', 'A', 'K'}, optional
        The order in which elements are read. 'A' is 'F' for a Fortran-contiguous array, else 'C'. 'K' is their order in
        memory.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.ravel([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    array = operand_array(a)
    order_letter = views.check_order(order)
    raveled = views.ravel(view_of(array), order_letter)
    return _flat_copy(array, order_letter) if raveled is None else make_view(array, raveled)


def flatten(a: DeviceArray, order: str | None = "C") -> DeviceArray:
    """Copy the elements to a new array of one axis. See `numpy.ndarray.flatten`.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}, optional
        The order in which elements are read. 'A' is 'F' for a Fortran-contiguous array, else 'C'. 'K' is their order in
        memory.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([[1, 2], [3, 4]]).flatten("F")
    array([1, 3, 2, 4])
    """
    return _flat_copy(a, views.check_order(order))


@captured
def _flat_copy(array: DeviceArray, order: str) -> DeviceArray:
    layout = view_of(array)
    axes = views.iteration_order(layout) if order == "K" else axis_order(layout, order)
    arranged = transform_view(array, views.transpose, axes).copy("C")
    return make_view(arranged, views.View((arranged.size,), (1,), 0))


# Axes ---------------------------------------------------------------------------------------------


@preserve_scalars
def transpose(a: Any, axes: Any = None) -> DeviceArray:
    """Permute the axes of an array, or reverse their order, as a view. See `numpy.transpose`.

    Parameters
    ----------
    a : array_like
    axes : sequence of int, optional
        The array's axes in the order of the result. By default their order is reversed.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    return transform_view(operand_array(a), views.transpose, axes)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> DeviceArray:
    """Transpose the last two axes, as a view.

    Parameters
    ----------
    x : array_like
        An array of two axes or more.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        `x` has fewer than two axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.matrix_transpose(clarray.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    array = operand_array(x)
    if array.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {array.ndim}-dimensional")
    return transform_view(array, views.swapaxes, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> DeviceArray:
    """Exchange two axes, as a view. See `numpy.swapaxes`.

    Parameters
    ----------
    a : array_like
    axis1, axis2 : int

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.swapaxes(clarray.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return transform_view(operand_array(a), views.swapaxes, axis1, axis2)


@preserve_scalars
def moveaxis(a: Any, source: Any, destination: Any) -> DeviceArray:
    """Move axes to new positions, as a view. The other axes keep their order. See `numpy.moveaxis`.

    Parameters
    ----------
    a : array_like
    source : int or sequence of int
        The axes to move.
    destination : int or sequence of int
        Their positions in the result.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.moveaxis(clarray.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return transform_view(operand_array(a), views.moveaxis, source, destination)


def rollaxis(a: Any, axis: int, start: int = 0) -> DeviceArray:
    """Move one axis before another one, as a view. See `numpy.rollaxis`.

    Parameters
    ----------
    a : array_like
    axis : int
        The axis to move.
    start : int, optional
        The axis before which it is put.

    Returns
    -------
    DeviceArray

    Raises
    ------
    numpy.exceptions.AxisError
        `axis` or `start` is out of bounds.

    See Also
    --------
    moveaxis : Move axes to positions in the result, which is easier to read.

    Examples
    --------
    >>> import clarray
    >>> clarray.rollaxis(clarray.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    array = operand_array(a)
    n = array.ndim
    axis = normalize_axis(axis, n)
    target = start + n if start < 0 else start
    if not 0 <= target <= n:
        raise np.exceptions.AxisError(f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in")
    if axis < target:
        target -= 1
    if axis == target:
        return array[...]
    order = [other for other in range(n) if other != axis]
    order.insert(target, axis)
    return transpose(array, order)


@preserve_scalars
def squeeze(a: Any, axis: Any = None) -> DeviceArray:
    """Remove axes of length 1, as a view. If there are none, return the array itself. See `numpy.squeeze`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        The axes to remove. All of length 1 by default.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.squeeze(clarray.zeros((1, 3, 1))).shape
    (3,)
    """
    array = operand_array(a)
    shape = array.shape  # after which the array is no selection
    squeezed = views.squeeze(views.View(shape, views.contiguous(shape)), axis)
    return array if squeezed.shape == shape else transform_view(array, views.squeeze, axis)


def expand_dims(a: Any, axis: Any) -> DeviceArray:
    """Insert axes of length 1, as a view. See `numpy.expand_dims`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int
        Positions of the new axes in the result.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.expand_dims([1, 2], 0)
    array([[1, 2]])
    """
    return transform_view(operand_array(a), views.expand_dims, axis)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> DeviceArray:
    """Repeat an array to a shape, as a read-only view without new memory. See `numpy.broadcast_to`.

    Parameters
    ----------
    array : array_like
    shape : int or tuple of int
        The result's shape. New axes and axes of length 1 are repeated.
    subok : bool, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.broadcast_to([1, 2], (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    source = operand_array(array)
    try:
        extents = views.as_shape(shape)
    except TypeError:
        views.numpy_error(source.shape, lambda host: np.broadcast_to(host, shape))
    return read_only(transform_view(source, views.broadcast_to, extents))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DeviceArray:
    """Return the diagonal of two axes as the last axis, as a read-only view. See `numpy.diagonal`.

    Parameters
    ----------
    a : array_like
        An array of two axes or more.
    offset : int, optional
        The diagonal: 0 is the main one, positive numbers are above it.
    axis1, axis2 : int, optional
        The two axes, the first two by default.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    return read_only(transform_view(operand_array(a), views.diagonal, offset, axis1, axis2))


# Parts --------------------------------------------------------------------------------------------


_SCALAR_TYPES = (int, float, complex, np.generic)


@preserve_scalars
def real(val: Any) -> Any:
    """Return the real parts: a view of a complex array, or the array itself if it is not complex.

    Parameters
    ----------
    val : array_like

    Returns
    -------
    DeviceArray
        A number if `val` is a number.

    Examples
    --------
    >>> import clarray
    >>> clarray.real([1 + 2j, 3 + 4j])
    array([1., 3.])
    """
    if issubclass(type(val), _SCALAR_TYPES):
        return val.real
    array = val if isinstance(val, DeviceArray) else operand_array(val)
    return _part(array, 0) if array.dtype.kind == "c" else array


@preserve_scalars
def imag(val: Any) -> Any:
    """Return the imaginary parts: a view of a complex array, or read-only zeros if it is not complex.

    Parameters
    ----------
    val : array_like

    Returns
    -------
    DeviceArray
        A number if `val` is a number.

    Examples
    --------
    >>> import clarray
    >>> clarray.imag([1 + 2j, 3 + 4j])
    array([2., 4.])
    """
    if issubclass(type(val), _SCALAR_TYPES):
        return val.imag
    array = val if isinstance(val, DeviceArray) else operand_array(val)
    if array.dtype.kind == "c":
        return _part(array, 1)
    zeros = zeros_like(array, order="A")
    zeros._node.flags |= READONLY
    return zeros


def _part(array: DeviceArray, component: int) -> DeviceArray:
    """Return the real (0) or imaginary (1) parts as a view."""
    return make_view(array, views.part(view_of(array), component), _real_dtype(array.dtype))


def set_real(array: DeviceArray, value: Any) -> None:
    """Assign to ``array.real``."""
    _set_part(real(array), value, array.dtype)


def set_imag(array: DeviceArray, value: Any) -> None:
    """Assign to ``array.imag``."""
    if array.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    _set_part(imag(array), value, array.dtype)


def _set_part(part: DeviceArray, assigned: Any, dtype: np.dtype) -> None:
    """Assign to the real or imaginary parts. NumPy converts complex numbers and lists to the array's dtype."""
    if isinstance(assigned, complex | list | tuple):
        host = np.empty(np.shape(assigned), dtype)
        host.real = assigned
        assigned = host.real
    if not (isinstance(assigned, DeviceArray) and is_same_memory(assigned._node, part._node)):
        part[...] = assigned


def _real_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}")
