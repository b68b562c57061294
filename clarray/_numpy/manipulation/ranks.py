"""Shapes, broadcasting and conversion of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.creation import asarray, operand_array
from clarray._core.device_array import DeviceArray, is_numpy_scalar
from clarray._core.host_fallback import ClassWithHostFallback
from clarray._core.operands import refuse_subclass
from clarray._core.views import transform_view
from clarray._engine.expr import view as views

__all__ = [
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast",
    "broadcast_arrays",
    "broadcast_shapes",
    "ndim",
    "shape",
    "size",
]

broadcast_shapes = np.broadcast_shapes


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Broadcast arrays against each other, as views. See `numpy.broadcast_arrays`.

    Parameters
    ----------
    *args : array_like
    subok : bool, optional
        Ignored. Accepted for compatibility with NumPy.

    Returns
    -------
    tuple of DeviceArray
        Arrays that already have the common shape are returned themselves. Data that no device holds (strings, objects,
        None) stays on the host, as NumPy's views.

    Examples
    --------
    >>> import clarray
    >>> a, b = clarray.broadcast_arrays([1, 2], [[3], [4]])
    >>> a.tolist(), b.tolist()
    ([[1, 2], [1, 2]], [[3, 3], [4, 4]])
    """
    arrays = [_on_device_or_host(a) for a in args]
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else _broadcast(a, shape) for a in arrays)


def _on_device_or_host(a: Any) -> Any:
    try:
        return operand_array(a)
    except TypeError:
        host = np.asarray(a)
        if host.dtype.kind in "biufc":  # the device lacks this dtype
            raise
        return host


def _broadcast(array: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(array, np.ndarray):
        return np.broadcast_to(array, shape)
    return transform_view(array, views.broadcast_to, shape)


class broadcast(metaclass=ClassWithHostFallback):  # noqa: N801 - NumPy's name
    """Iterate over the elements of arrays that are broadcast against each other, and describe their common shape.

    Attributes
    ----------
    shape, size, ndim, nd
        Shape, size and number of axes after broadcasting. `nd` is an older name of `ndim`.
    numiter : int
        Number of arrays.
    index : int
        Number of elements that have been returned.

    Examples
    --------
    >>> import clarray
    >>> pairs = clarray.broadcast([1, 2], [[3], [4]])
    >>> pairs.shape
    (2, 2)
    >>> [(int(a), int(b)) for a, b in pairs]
    [(1, 3), (2, 3), (1, 4), (2, 4)]
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
        """Begin again with the first elements.

        Examples
        --------
        >>> import clarray
        >>> pairs = clarray.broadcast([1, 2], 3)
        >>> elements = next(pairs)
        >>> pairs.reset()
        >>> pairs.index
        0
        """
        self.index = 0


def _add_axes(arys: tuple[Any, ...], shapes: dict[int, Any]) -> Any:
    views = []
    for a in arys:
        array = operand_array(a)
        key = shapes.get(array.ndim)
        views.append(array if key is None else array[key])
    return views[0] if len(views) == 1 else tuple(views)


def atleast_1d(*arys: Any) -> Any:
    """View arrays with at least one axis: 0-d arrays get one.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    DeviceArray, or tuple of DeviceArray
        A tuple if there are several arrays.

    Examples
    --------
    >>> import clarray
    >>> clarray.atleast_1d(5)
    array([5])
    """
    return _add_axes(arys, {0: None if not arys else (np.newaxis,)})


def atleast_2d(*arys: Any) -> Any:
    """View arrays with at least two axes: new axes of length 1 come first.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    DeviceArray, or tuple of DeviceArray
        A tuple if there are several arrays.

    Examples
    --------
    >>> import clarray
    >>> clarray.atleast_2d([1, 2])
    array([[1, 2]])
    """
    return _add_axes(arys, {0: (None, None), 1: (None,)})


def atleast_3d(*arys: Any) -> Any:
    """View arrays with at least three axes.

    Parameters
    ----------
    *arys : array_like
        A shape ``(n,)`` becomes ``(1, n, 1)``, and ``(m, n)`` becomes ``(m, n, 1)``.

    Returns
    -------
    DeviceArray, or tuple of DeviceArray
        A tuple if there are several arrays.

    Examples
    --------
    >>> import clarray
    >>> clarray.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _add_axes(arys, {0: (None, None, None), 1: (None, slice(None), None), 2: (..., None)})


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert the elements of an array to a dtype. Further parameters as in `clarray.DeviceArray.astype`.

    Parameters
    ----------
    x : DeviceArray, ndarray or NumPy scalar

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        `x` is not an array, or the device does not support the dtype.
    AttributeError
        `x` is a Python number.

    Examples
    --------
    >>> import clarray
    >>> clarray.astype(clarray.asarray([1.7, -2.3]), int)
    array([ 1, -2])
    """
    if np.isscalar(x) and not isinstance(x, np.generic):
        raise AttributeError(f"'{type(x).__name__}' object has no attribute 'astype'")
    if not isinstance(x, DeviceArray | np.ndarray | np.generic):  # lists are refused, as NumPy does
        raise TypeError(f"Input should be a clarray array. It is a {type(x)} instead.")
    if is_numpy_scalar(x) and device is None:
        return x.astype(dtype)
    refuse_subclass(x)
    array = x if isinstance(x, DeviceArray) else asarray(x, device=device)
    return array.astype(dtype, copy=copy, device=device)


def ndim(a: Any) -> int:
    """Return the number of axes.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    int

    Examples
    --------
    >>> import clarray
    >>> clarray.ndim([[1, 2, 3], [4, 5, 6]])
    2
    """
    return a.ndim if hasattr(a, "ndim") else np.ndim(a)


def shape(a: Any) -> tuple[int, ...]:
    """Return the length of each axis.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> import clarray
    >>> clarray.shape([[1, 2, 3], [4, 5, 6]])
    (2, 3)
    """
    return a.shape if hasattr(a, "shape") else np.shape(a)


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, of the whole array or along axes. See `numpy.size`.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes along which to count. All by default.

    Returns
    -------
    int

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros((2, 3))
    >>> clarray.size(x), clarray.size(x, axis=1)
    (6, 3)
    """
    if axis is None:
        return a.size if hasattr(a, "size") else np.size(a)
    extents = shape(a)
    count = 1
    for counted_axis in normalize_axis_tuple(axis, len(extents)):
        count *= extents[counted_axis]
    return count
