"""Methods with other parameters than the function of the same name. `clarray._api.attaching` attaches them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from clarray._core import conversion, creation, reinterpreting
from clarray._core.device_array import DeviceArray, is_scalar
from clarray._engine.expr.view import check_order
from clarray._numpy.indexing import gathering, masking, selecting, subscripts
from clarray._numpy.manipulation import shapes

__all__ = [
    "reshape",
    "transpose",
    "to_numpy",
    "set_from_host",
    "copy",
    "fill",
    "compress",
    "put",
    "choose",
    "clip",
    "conj",
    "tolist",
    "tobytes",
    "dumps",
    "setfield",
    "resize",
    "to_device",
]


def reshape(self: DeviceArray, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceArray:
    """Return the array with another shape, as a view if NumPy returns one. See `clarray.reshape`.

    Parameters
    ----------
    *shape : int, or one sequence of int
        The new lengths. One of them may be -1: it follows from the size.
    order : {'C', 'F', 'A'}, optional
        The order in which elements are read and placed.
    copy : bool, optional
        True always copies, False never copies, None copies only if needed.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.arange(6).reshape(2, -1)
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    new_shape = shape[0] if len(shape) == 1 else shape
    return shapes.reshape(self, new_shape, order, copy=copy)


def transpose(self: DeviceArray, *axes: Any) -> DeviceArray:
    """Permute the axes, or reverse their order, as a view. See `clarray.transpose`.

    Parameters
    ----------
    *axes : int, or one sequence of int
        The array's axes in the order of the result. By default their order is reversed.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.zeros((2, 3, 4)).transpose(2, 0, 1).shape
    (4, 2, 3)
    """
    order = axes[0] if len(axes) == 1 else (axes or None)
    return shapes.transpose(self, order)


def to_numpy(self: DeviceArray, dtype: Any = None, copy: bool = True) -> np.ndarray:
    """Copy the array to the host as a NumPy array, as `get` does: the name that pandas, Polars and matplotlib use.

    Parameters
    ----------
    dtype : dtype, optional
        Type of the result's elements. The array's own by default.
    copy : bool, optional
        Ignored: the result is always a copy.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import clarray
    >>> clarray.arange(3).to_numpy(clarray.float32)
    array([0., 1., 2.], dtype=float32)
    """
    host = conversion.asnumpy(self)
    return host if dtype is None else host.astype(dtype, copy=False)


def set_from_host(self: DeviceArray, arr: Any) -> None:
    """Write the elements of an ndarray of the same shape to the array: CuPy's name for ``x[...] = arr``.

    Parameters
    ----------
    arr : ndarray

    Raises
    ------
    ValueError
        The shapes differ, or the array is read-only.

    Examples
    --------
    >>> import clarray
    >>> import numpy as np
    >>> x = clarray.zeros(3)
    >>> x.set(np.array([1.0, 2.0, 3.0]))
    >>> x
    array([1., 2., 3.])
    """
    if np.shape(arr) != self.shape:
        raise ValueError(f"shape mismatch: an array of {self.shape} takes no values of {np.shape(arr)}")
    subscripts.setitem(self, ..., arr)


def copy(self: DeviceArray, order: str = "C") -> DeviceArray:
    """Copy the array to new memory.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}, optional
        Memory layout of the copy. 'K' keeps the array's.

    Returns
    -------
    DeviceArray
        A number (the result of a full reduction) is returned itself, as nothing can change it.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([1, 2, 3])
    >>> y = x.copy()
    >>> y[0] = 9
    >>> x
    array([1, 2, 3])
    """
    if not self._node.shape and is_scalar(self):
        return self
    return creation.copy(self, check_order(order))


def fill(self: DeviceArray, value: Any) -> None:
    """Set all elements to one value, in place.

    Parameters
    ----------
    value : scalar

    Examples
    --------
    >>> import clarray
    >>> x = clarray.empty(3)
    >>> x.fill(7)
    >>> x
    array([7., 7., 7.])
    """
    if np.ndim(value):  # NumPy raises its error, or accepts the value
        cell = np.empty((), self.dtype)
        cell.fill(np.empty(value.shape) if isinstance(value, DeviceArray) else value)
        value = cell
    subscripts.setitem(self, ..., value)


def compress(self: DeviceArray, condition: Any, axis: Any = None, out: Any = None) -> DeviceArray:
    """Take the elements, or the slices along an axis, for which a condition is true. See `clarray.compress`.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([10, 20, 30]).compress([True, False, True])
    array([10, 30])
    """
    return masking.compress(condition, self, axis, out)


def put(self: DeviceArray, indices: Any, values: Any, mode: str = "raise") -> None:
    """Write values at given positions in place, counting all elements in C order. See `clarray.put`.

    Parameters
    ----------
    indices : array_like of int
        The positions. If one occurs several times, its last value stays.
    values : array_like
        The values, repeated if there are fewer than positions.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with a position out of bounds: raise IndexError, wrap around, or use the nearest position.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.zeros(4, int)
    >>> x.put([0, -1], [5, 7])
    >>> x
    array([5, 0, 0, 7])
    """
    gathering.put(self, indices, values, mode)


def choose(self: DeviceArray, *choices: Any, out: Any = None, mode: str = "raise") -> DeviceArray:
    """Take each element from one of several arrays, which this array of indices selects. See `clarray.choose`.

    Parameters
    ----------
    *choices : array_like
        The arrays to choose from, one after another or as one sequence.
    out : DeviceArray, optional
        Where to write the result.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with an index out of bounds: raise ValueError, wrap around, or use the nearest index.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([0, 1, 0]).choose([1, 2, 3], [10, 20, 30])
    array([ 1, 20,  3])
    """
    return selecting.choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


def clip(self: DeviceArray, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> DeviceArray:
    """Limit the values to a range. Parameters as in `clarray.clip`.

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([1, 5, 9]).clip(2, 8)
    array([2, 5, 8])
    """
    return selecting.clip(self, min, max, out, **kwargs)


def conj(self: DeviceArray) -> DeviceArray:
    """Return the complex conjugates, or the array itself if it is not complex.

    Returns
    -------
    DeviceArray

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([1 + 2j, 3 - 4j]).conj()
    array([1.-2.j, 3.+4.j])
    """
    array: Any = self
    return np.conjugate(array) if array.dtype.kind == "c" else array


def tolist(self: DeviceArray) -> Any:
    """Convert the array to nested lists of Python numbers. Waits for the value.

    Returns
    -------
    list, or a number for an array without axes

    Examples
    --------
    >>> import clarray
    >>> clarray.asarray([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return conversion.asnumpy(self).tolist()


def tobytes(self: DeviceArray, order: Any = "C") -> bytes:
    """Copy the elements to the host as bytes.

    Parameters
    ----------
    order : {'C', 'F', 'A'}, optional
        The order of the elements. 'A' is 'F' for a Fortran-contiguous array, else 'C'.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import clarray
    >>> list(clarray.asarray([1, 2, 3], clarray.uint8).tobytes())
    [1, 2, 3]
    """
    if order in ("A", "a"):  # the order of the array, not of its contiguous copy
        order = "F" if self.flags.fnc else "C"
    return np.asarray(self).tobytes(order)


def dumps(self: DeviceArray) -> bytes:
    """Return the array's pickle as bytes.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import clarray, pickle
    >>> pickle.loads(clarray.arange(3).dumps())
    array([0, 1, 2])
    """
    return pickle.dumps(self)


def setfield(self: DeviceArray, val: Any, dtype: Any, offset: int = 0) -> None:
    """Write values to the part of every element that `getfield` views.

    Parameters
    ----------
    val : array_like
        The values, broadcast to the array's shape.
    dtype : dtype
        Type of the part.
    offset : int, optional
        Where the part begins within the element, in bytes.

    Raises
    ------
    ValueError
        The part is not inside the element, or does not begin at a multiple of its size, which a device cannot write.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([1 + 2j, 3 + 4j])
    >>> x.setfield(0, clarray.float64, 8)
    >>> x
    array([1.+0.j, 3.+0.j])
    """
    subscripts.setitem(reinterpreting.getfield(self, dtype, offset), ..., val)


def resize(self: DeviceArray, *new_shape: Any, refcheck: bool = True) -> None:
    """Change the shape and the size of the array in place. New elements at the end are zero.

    Views of the array keep its old memory.

    Parameters
    ----------
    *new_shape : int, or one sequence of int
    refcheck : bool, optional
        Ignored. Accepted for compatibility with NumPy.

    Raises
    ------
    ValueError
        A length is negative, the array is not contiguous, or its size changes but its memory is not its own.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([1, 2, 3])
    >>> x.resize(5)
    >>> x
    array([1, 2, 3, 0, 0])
    """
    reinterpreting.resize(self, new_shape)


def to_device(self: DeviceArray, device: Any, /, *, stream: None = None) -> DeviceArray:
    """Copy the array to another device, or return the array itself if it is already there. See the Array API standard.

    Parameters
    ----------
    device : Device, str or int
    stream : None
        Must be None: clarray itself orders the work on a device.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        There is no such device, or a stream is given.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(3)
    >>> x.to_device(clarray.devices()[0]).tolist()
    [0, 1, 2]
    """
    if stream is not None:
        raise ValueError("stream must be None: clarray orders the work of a device itself")
    return creation.asarray(self, device=device)
