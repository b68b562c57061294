"""The same elements in another arrangement: NumPy's chapter "array manipulation routines".

What NumPy gives as a view is one here, of the same memory; only some reshaping copies. A
value still pending is computed first: a window needs memory to look at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core import callers
from clarray._core.creation import asarray, operand_array
from clarray._core.creation_like import zeros_like
from clarray._core.device_array import DeviceArray, is_numpys_scalar, keeps_numbers
from clarray._core.host_data import axis_order
from clarray._core.host_fallback import ClassWithHostFallback
from clarray._core.operands import refuse_subclass
from clarray._core.views import is_itself, make_view, read_only, transform_view, view_of
from clarray._engine.expr import view as views
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.expr.node import READONLY

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
    "broadcast",
    "broadcast_to",
    "broadcast_arrays",
    "broadcast_shapes",
    "flip",
    "fliplr",
    "flipud",
    "rot90",
    "diagonal",
    "real",
    "imag",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "astype",
    "ndim",
    "shape",
    "size",
]

broadcast_shapes = np.broadcast_shapes


# Reshaping ----------------------------------------------------------------------------------------


@keeps_numbers
def reshape(a: Any, /, shape: Any, order: str | None = "C", *, copy: bool | None = None) -> DeviceArray:
    """Give an array another shape, as a view where NumPy gives one.

    Parameters
    ----------
    a : array_like
    shape : int or sequence of int, or None
        One extent may be -1: it follows from the size. None keeps the shape and never copies.
    order : {'C', 'F', 'A'}, optional
        The order in which elements are read and placed.
    copy : bool, optional
        True copies always, False never, None where it is needed.

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
    letter = views.check_order(order)
    view = view_of(array)
    if shape is None:
        return make_view(array, view)
    found = views.reshape(view, shape, letter)
    if found is not None and not copy:
        return make_view(array, found)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    packed = array.copy("F" if letter == "F" or (letter == "A" and view.f_contiguous) else "C")
    found = views.reshape(view_of(packed), shape, letter)
    assert found is not None
    return make_view(packed, found)


def ravel(a: Any, order: str | None = "C") -> DeviceArray:
    """Flatten to one axis, as a view where NumPy gives one; see `numpy.ravel`."""
    array = operand_array(a)
    letter = views.check_order(order)
    found = views.ravel(view_of(array), letter)
    return _flattened(array, letter) if found is None else make_view(array, found)


def flatten(a: DeviceArray, order: str | None = "C") -> DeviceArray:
    """Copy to one axis; see `numpy.ndarray.flatten`."""
    return _flattened(a, views.check_order(order))


def _flattened(array: DeviceArray, order: str) -> DeviceArray:
    layout = view_of(array)
    axes = views.iteration_order(layout) if order == "K" else axis_order(layout, order)
    arranged = transform_view(array, views.transpose, axes).copy("C")
    return make_view(arranged, views.View((arranged.size,), (1,), 0))


# Axes ---------------------------------------------------------------------------------------------


@keeps_numbers
def transpose(a: Any, axes: Any = None) -> DeviceArray:
    """Permute the axes, or reverse their order, as a view; see `numpy.transpose`.

    Examples
    --------
    >>> import clarray
    >>> clarray.transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    return transform_view(operand_array(a), views.transpose, axes)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> DeviceArray:
    """Transpose the last two axes, as a view."""
    array = operand_array(x)
    if array.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {array.ndim}-dimensional")
    return transform_view(array, views.swapaxes, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> DeviceArray:
    """Interchange two axes, as a view; see `numpy.swapaxes`."""
    return transform_view(operand_array(a), views.swapaxes, axis1, axis2)


@keeps_numbers
def moveaxis(a: Any, source: Any, destination: Any) -> DeviceArray:
    """Move axes to new positions, as a view, while the others keep their order; see `numpy.moveaxis`."""
    return transform_view(operand_array(a), views.moveaxis, source, destination)


def rollaxis(a: Any, axis: int, start: int = 0) -> DeviceArray:
    """Move one axis before another one, as a view; see `numpy.rollaxis`."""
    array = operand_array(a)
    n = array.ndim
    axis = normalize_axis(axis, n)
    first = start + n if start < 0 else start
    if not 0 <= first <= n:
        raise np.exceptions.AxisError(f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in")
    if axis < first:
        first -= 1
    if axis == first:
        return array[...]
    order = [other for other in range(n) if other != axis]
    order.insert(first, axis)
    return transpose(array, order)


@keeps_numbers
def squeeze(a: Any, axis: Any = None) -> DeviceArray:
    """Drop axes of one element, as a view, or give the array itself where there are none; see `numpy.squeeze`."""
    array = operand_array(a)
    found = views.squeeze(view_of(array), axis)
    return array if found.shape == array.shape else make_view(array, found)


def expand_dims(a: Any, axis: Any) -> DeviceArray:
    """Insert axes of one element at positions of the result, as a view; see `numpy.expand_dims`."""
    return transform_view(operand_array(a), views.expand_dims, axis)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> DeviceArray:
    """Repeat an array along new axes and along those of one element, as a read-only view; see `numpy.broadcast_to`.

    Parameters
    ----------
    subok : bool, optional
        Accepted for NumPy's sake.

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
    return read_only(_repeated(source, extents))


def _repeated(array: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
    return transform_view(array, views.broadcast_to, shape)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Broadcast arrays against each other, as views; see `numpy.broadcast_arrays`.

    Parameters
    ----------
    *args : array_like
    subok : bool, optional
        Accepted for NumPy's sake.

    Returns
    -------
    tuple of DeviceArray
        Those that have the shape already as they are. What no device computes with (strings, objects, None) stays on
        the host, and gives NumPy's views.
    """
    arrays = [_on_device_or_host(a) for a in args]
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else _broadcast(a, shape) for a in arrays)


def _on_device_or_host(a: Any) -> Any:
    try:
        return operand_array(a)
    except TypeError:
        host = np.asarray(a)
        if host.dtype.kind in "biufc":  # of a dtype that the device lacks
            raise
        return host


def _broadcast(array: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(array, shape) if isinstance(array, np.ndarray) else _repeated(array, shape)


class broadcast(metaclass=ClassWithHostFallback):  # noqa: N801 - NumPy's name
    """What arrays have in common when they are broadcast, and an iterator over their elements.

    Attributes
    ----------
    shape, size, ndim, nd : of the result
    numiter : int
        How many arrays.
    index : int
        How many elements have been given.
    """

    numpys = np.broadcast

    def __init__(self, *args: Any) -> None:
        arrays = [operand_array(a) for a in args]
        self._common = np.broadcast(*(np.broadcast_to(np.uint8(0), a.shape) for a in arrays))
        self._arrays = broadcast_arrays(*arrays)
        self.index = 0

    def __getattr__(self, name: str) -> Any:
        if name not in ("shape", "size", "ndim", "nd", "numiter"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._common, name)

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[DeviceArray, ...]:
        if self.index >= self.size:
            raise StopIteration
        position = tuple(int(i) for i in np.unravel_index(self.index, self.shape)) if self.shape else ()
        self.index += 1
        return tuple(array[position] for array in self._arrays)

    def reset(self) -> None:
        """Begin again."""
        self.index = 0


_WHOLE, _REVERSED = slice(None), slice(None, None, -1)


def flip(m: Any, axis: Any = None) -> DeviceArray:
    """Reverse the order along axes, or all of them, as a view; of a 0-d array it is its value. See `numpy.flip`."""
    array = operand_array(m)
    ndim = array.ndim
    axes = range(ndim) if axis is None else normalize_axis_tuple(axis, ndim)
    flipped: DeviceArray = array[tuple([_REVERSED if k in axes else _WHOLE for k in range(ndim)])]
    return flipped


def _of_ndim(array: DeviceArray, ndim: int) -> DeviceArray:
    if array.ndim < ndim:
        raise ValueError(f"Input must be >= {ndim}-d.")
    return array


def fliplr(m: Any) -> DeviceArray:
    """Reverse the order along axis 1, as a view."""
    return flip(_of_ndim(operand_array(m), 2), 1)


def flipud(m: Any) -> DeviceArray:
    """Reverse the order along axis 0, as a view."""
    return flip(_of_ndim(operand_array(m), 1), 0)


_TURNED = np.array([[0, 1], [3, 2]])  # after k quarters the first element is k


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> DeviceArray:
    """Rotate by `k` quarters in the plane of two axes, as a view; see `numpy.rot90`."""
    array = operand_array(m)
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == array.ndim:
        raise ValueError("Axes must be different.")
    if not all(-array.ndim <= axis < array.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={array.ndim}.")
    k = k % 4 if type(k) is int else int(callers.relay(np.rot90, _TURNED, k)[0, 0])
    if k == 0:
        return array[...]
    if k == 2:
        return flip(flip(array, axes[0]), axes[1])
    order = np.arange(array.ndim)
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    if k == 1:
        return transpose(flip(array, axes[1]), order)
    return flip(transpose(array, order), axes[1])


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DeviceArray:
    """Take the diagonal of two axes as the last axis, as a read-only view; see `numpy.diagonal`."""
    return read_only(transform_view(operand_array(a), views.diagonal, offset, axis1, axis2))


# Parts --------------------------------------------------------------------------------------------


_NUMBERS = (int, float, complex, np.generic)


@keeps_numbers
def real(val: Any) -> Any:
    """Take the real parts: a view of a complex array, any other array itself, of a number a number."""
    if issubclass(type(val), _NUMBERS):
        return val.real
    array = val if isinstance(val, DeviceArray) else operand_array(val)
    return _part(array, 0) if array.dtype.kind == "c" else array


@keeps_numbers
def imag(val: Any) -> Any:
    """Take the imaginary parts: a view of a complex array, read-only zeros for any other, of a number a number."""
    if issubclass(type(val), _NUMBERS):
        return val.imag
    array = val if isinstance(val, DeviceArray) else operand_array(val)
    if array.dtype.kind == "c":
        return _part(array, 1)
    made = zeros_like(array, order="A")
    made._node.flags |= READONLY
    return made


def _part(array: DeviceArray, which: int) -> DeviceArray:
    """Return the real (0) or imaginary (1) parts as a view."""
    return make_view(array, views.part(view_of(array), which), _real_dtype(array.dtype))


def set_real(array: DeviceArray, value: Any) -> None:
    """``array.real = value``."""
    _set_part(real(array), value, array.dtype)


def set_imag(array: DeviceArray, value: Any) -> None:
    """``array.imag = value``."""
    if array.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    _set_part(imag(array), value, array.dtype)


def _set_part(part: DeviceArray, value: Any, dtype: np.dtype) -> None:
    """Set the parts of an array of a dtype: of a complex value NumPy takes the real one, its truth, or nothing."""
    if isinstance(value, complex | list | tuple):
        host = np.empty(np.shape(value), dtype)
        host.real = value
        value = host.real
    if not (isinstance(value, DeviceArray) and is_itself(value._node, part._node)):
        part[...] = value


def _real_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}")


# Ranks and dtypes ---------------------------------------------------------------------------------


def _at_least(arys: tuple[Any, ...], shapes: dict[int, Any]) -> Any:
    made = []
    for a in arys:
        array = operand_array(a)
        key = shapes.get(array.ndim)
        made.append(array if key is None else array[key])
    return made[0] if len(made) == 1 else tuple(made)


def atleast_1d(*arys: Any) -> Any:
    """Give 0-d arrays an axis."""
    return _at_least(arys, {0: None if not arys else (np.newaxis,)})


def atleast_2d(*arys: Any) -> Any:
    """Give arrays two axes or more, added in front."""
    return _at_least(arys, {0: (None, None), 1: (None,)})


def atleast_3d(*arys: Any) -> Any:
    """Give arrays three axes or more, added as NumPy does."""
    return _at_least(arys, {0: (None, None, None), 1: (None, slice(None), None), 2: (..., None)})


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert to a dtype; see `clarray.DeviceArray.astype`.

    Parameters
    ----------
    x : DeviceArray, ndarray or NumPy's number

    Raises
    ------
    TypeError
        `x` is no array, or the device has no such dtype.
    AttributeError
        `x` is Python's number.
    """
    if np.isscalar(x) and not isinstance(x, np.generic):
        raise AttributeError(f"'{type(x).__name__}' object has no attribute 'astype'")
    if not isinstance(x, DeviceArray | np.ndarray | np.generic):  # lists are refused, as NumPy does
        raise TypeError(f"Input should be a clarray array. It is a {type(x)} instead.")
    if is_numpys_scalar(x) and device is None:
        return x.astype(dtype)
    refuse_subclass(x)
    return asarray(x, device=device).astype(dtype, copy=copy)


def ndim(a: Any) -> int:
    """Count the axes."""
    return a.ndim if hasattr(a, "ndim") else np.ndim(a)


def shape(a: Any) -> tuple[int, ...]:
    """Give the extents."""
    return a.shape if hasattr(a, "shape") else np.shape(a)


def size(a: Any, axis: Any = None) -> int:
    """Count the elements, along axes or in all; see `numpy.size`."""
    if axis is None:
        return a.size if hasattr(a, "size") else np.size(a)
    extents = shape(a)
    count = 1
    for one in normalize_axis_tuple(axis, len(extents)):
        count *= extents[one]
    return count
