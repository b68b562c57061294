"""DeviceArray: NumPy's ndarray with its elements on an OpenCL device, evaluated when needed.

An array is a node of an expression, pending or in memory. This module has its attributes only. `clarray._api.attaching`
attaches its operators, methods and protocols, which are functions of higher modules.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from clarray._engine.evaluate import device_of, evaluate
from clarray._engine.expr.node import MASKED, READONLY, Node, contiguous_leaf
from clarray._engine.expr.overlap import repeats_elements
from clarray._engine.ops.dtypes import HostOnly
from clarray._engine.runtime import Device
from clarray._engine.speedups import accelerated

if TYPE_CHECKING:
    from clarray._core.array_methods import Methods
else:
    Methods = object

__all__ = [
    "DeviceArray",
    "empty",
    "hold_for",
    "is_scalar",
    "is_numpy_scalar",
    "is_writeable",
    "preserve_scalars",
    "mark_0d_array",
    "may_run_user_code",
    "view_as_subclass",
    "wrap",
]


def wrap(node: Node, base: Any = None) -> DeviceArray:
    """Wrap a node as an array."""
    array = object.__new__(DeviceArray)
    array._node = node
    array._base = base
    return array


def empty(shape: tuple[int, ...], dtype: np.dtype, device: Device) -> DeviceArray:
    """Return a new C-contiguous array with arbitrary elements."""
    size = 1
    for extent in shape:
        size *= extent
    return wrap(contiguous_leaf(device.allocate(size * dtype.itemsize), shape, dtype))


@accelerated
def class_of(array: DeviceArray) -> type:
    """Return the class of NumPy's scalar for a scalar result. ``type(x)`` is DeviceArray for a pending scalar."""
    return array._node.dtype.type if is_scalar(array) else type(array)


class DeviceArray(Methods):
    """Hold an n-dimensional array on an OpenCL device. Usually created by `clarray.array` or `clarray.asarray`.

    It behaves as `numpy.ndarray` does. Operations return immediately: their result is pending until a value is needed.
    Pending operations are then computed in as few passes over memory as possible.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype, optional
        Type of the elements, float64 by default.
    buffer : DeviceArray or bytes-like, optional
        Memory to view, if `clarray.asarray` would share it. New memory with arbitrary values by default.
    offset : int, optional
        Position of the first element in the buffer, in bytes.
    strides : sequence of int, optional
        Bytes from one element to the next along each axis. Contiguous by default.
    order : {'C', 'F'}, optional
        Memory layout if no strides are given.
    device : Device, str or int, optional
        Where to make the array: the buffer's device by default, or the current device without a buffer.

    Examples
    --------
    >>> import clarray
    >>> import numpy as np
    >>> x = clarray.asarray([1.0, 4.0, 9.0])
    >>> np.sqrt(x) + 1
    array([2., 3., 4.])
    """

    __module__ = "clarray"  # where users find it
    __slots__ = ("_node", "_base", "_no_number", "__weakref__")
    __array_priority__ = 1000.0

    _node: Node
    _base: Any
    _no_number: bool  # set by `mark_0d_array` only

    # Attributes ---------------------------------------------------------------------------------

    __class__ = property(class_of)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis, as a tuple of int.

        The size of ``x[mask]`` depends on the mask. Reading its shape computes it and waits.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros((2, 3)).shape
        (2, 3)
        """
        return self._node.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements, as a `numpy.dtype`.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros(3, clarray.float32).dtype
        dtype('float32')
        """
        return self._node.dtype

    @property
    def ndim(self) -> int:
        """The number of axes.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros((2, 3)).ndim
        2
        """
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros((2, 3)).size
        6
        """
        return self._node.size

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros(3, clarray.float32).itemsize
        4
        """
        return self._node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements together in bytes.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros((2, 3), clarray.float32).nbytes
        24
        """
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next along each axis, as a tuple of int. Computes a pending array.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros((2, 3), clarray.float32).strides
        (12, 4)
        """
        itemsize = self.itemsize
        return tuple(s * itemsize for s in evaluate(self._node).strides)

    @property
    def base(self) -> Any:
        """The array whose memory this array is a view of, or None if it is no view.

        Examples
        --------
        >>> import clarray
        >>> x = clarray.arange(4).evaluate()
        >>> x[1:].base is x, x.base
        (True, None)
        """
        return self._base

    @property
    def device(self) -> Device:
        """The device that the array is on.

        Examples
        --------
        >>> import clarray
        >>> clarray.zeros(3, device=0).device is clarray.devices()[0]
        True
        """
        return device_of(self._node)

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def check_writeable(self, message: str = "assignment destination is read-only") -> None:
        """Raise ValueError if the array is read-only, such as a broadcast view or an array on read-only host memory.

        Parameters
        ----------
        message : str, optional
            The text of the error.

        Raises
        ------
        ValueError
            The array is read-only.

        Examples
        --------
        >>> import clarray
        >>> clarray.broadcast_to([1, 2], (3, 2)).check_writeable()
        Traceback (most recent call last):
            ...
        ValueError: assignment destination is read-only
        """
        if not is_writeable(self):
            raise ValueError(message)

    def evaluate(self) -> DeviceArray:
        """Start to compute a pending array now, without waiting for the result.

        Returns
        -------
        DeviceArray
            The array itself. Its value is in memory as soon as the device has finished.

        Examples
        --------
        >>> import clarray
        >>> x = (clarray.arange(3) * 2).evaluate()
        >>> x
        array([0, 2, 4])
        """
        evaluate(self._node)
        return self


_SAFE_OPERANDS = (DeviceArray, np.ndarray, np.generic, int, float, complex, str, slice)
_CONVERSIONS = ("__array__", "__array_interface__", "__float__")


def may_run_user_code(operand: Any) -> bool:
    """Return whether the conversion of an operand may call other code, as a lazy array of another library does.

    That code may wait for threads that use the device, so the caller must not hold the device's lock.
    """
    if isinstance(operand, _SAFE_OPERANDS):
        return False
    if isinstance(operand, list | tuple):
        return any(map(may_run_user_code, operand))
    operand_type = type(operand)  # an operand may be a NumPy class, whose instances have these methods
    return any(hasattr(operand_type, name) for name in _CONVERSIONS)


def hold_for(target: Any, *operands: Any) -> AbstractContextManager[Any]:
    """Return the lock of the target's device, for a statement to hold from its first read to its last write.

    Return a null context if the target is no array, or if the conversion of an operand may run other code.
    """
    if not isinstance(target, DeviceArray) or any(map(may_run_user_code, operands)):
        return nullcontext()
    lock: AbstractContextManager[Any] = target.device.lock
    return lock


def view_as_subclass(array: DeviceArray, subclass: type, source: Any) -> Any:
    """Return a new array as an instance of a subclass. ``__array_finalize__`` gets `source`."""
    if not (isinstance(subclass, type) and issubclass(subclass, DeviceArray)):
        raise TypeError("Type must be a sub-type of DeviceArray")
    view = object.__new__(subclass)
    view._node = array._node
    view._base = array._base
    finalize = getattr(view, "__array_finalize__", None)
    if finalize is not None:
        finalize(source)
    return view


def mark_0d_array(array: DeviceArray) -> DeviceArray:
    """Mark a new 0-d result as an array. NumPy returns a 0-d array here, where most functions return a scalar."""
    node = array._node
    if not node.flags & MASKED and not node.shape:
        array._no_number = True
    return array


def is_scalar(array: DeviceArray) -> bool:
    """Return whether NumPy returns a scalar here, which no operator changes in place: ``t += 1`` makes a new one.

    Scalars are elements, full reductions, and results computed from scalars only. 0-d arrays of creation functions and
    views are arrays.
    """
    node = array._node
    return (
        array._base is None
        and not node.flags & MASKED
        and not node.shape
        and type(array) is DeviceArray
        and not hasattr(array, "_no_number")
    )


def preserve_scalars(function: Callable[..., DeviceArray]) -> Callable[..., DeviceArray]:
    """Decorator: make the 0-d result of a function a scalar if its operand is a scalar."""
    name = next(iter(signature(function).parameters))

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> DeviceArray:
        result = function(*args, **kwargs)
        if not isinstance(result, DeviceArray) or result._node.shape:
            return result
        operand = args[0] if args else kwargs[name]
        from_scalar = is_scalar(operand) if isinstance(operand, DeviceArray) else is_numpy_scalar(operand)
        return wrap(result._node) if from_scalar else result

    return call


def is_numpy_scalar(operand: Any) -> bool:
    """Return whether an operand is a NumPy scalar. `isinstance` is also true for scalar results of clarray."""
    return issubclass(type(operand), np.generic)


def check_target(target: Any, message: str) -> DeviceArray:
    """Return an output that is a device array.

    Raises
    ------
    HostOnly
        The output is an ndarray of a dtype that no device supports, to which NumPy writes.
    TypeError
        The output is no array. ``{}`` in the message is replaced by its type.
    """
    if isinstance(target, DeviceArray):
        return target
    message = message.format(type(target).__name__)
    if isinstance(target, np.ndarray):
        raise HostOnly(message, target.dtype)
    raise TypeError(message)


def is_writeable(array: DeviceArray) -> bool:
    """Return whether elements may be written. Read-only memory and repeated elements are not writeable."""
    node = array._node
    if node.memory is None:
        return True
    if not node.memory.writeable or node.flags & READONLY:
        return False
    return node.contiguous or not repeats_elements(node)
