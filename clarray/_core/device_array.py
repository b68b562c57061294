"""DeviceArray: NumPy's ndarray with its elements on an OpenCL device, evaluated when needed.

An array is a node of an expression, pending or in memory. Here it is bare: what it is and where it lies. Its operators,
methods and protocols are functions of the modules above, which `clarray._api.attaching` makes its own.
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
    "is_number",
    "is_numpys_scalar",
    "is_writeable",
    "keeps_numbers",
    "no_number",
    "runs_other_code",
    "seen_as",
    "wrap",
]


def wrap(node: Node, base: Any = None) -> DeviceArray:
    """Make an array of a node."""
    array = object.__new__(DeviceArray)
    array._node = node
    array._base = base
    return array


def empty(shape: tuple[int, ...], dtype: np.dtype, device: Device) -> DeviceArray:
    """A new C-contiguous array with whatever the memory held."""
    size = 1
    for extent in shape:
        size *= extent
    return wrap(contiguous_leaf(device.allocate(size * dtype.itemsize), shape, dtype))


@accelerated
def class_of(array: DeviceArray) -> type:
    """The class of NumPy's scalar for a number; ``type(x)`` tells a number that waits from one at hand."""
    return array._node.dtype.type if is_number(array) else type(array)


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
    _no_number: bool  # set by `no_number` alone

    # What it is ---------------------------------------------------------------------------------

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
        return device_of(self._node.inputs or (self._node,))

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


_PLAIN_OPERANDS = (DeviceArray, np.ndarray, np.generic, int, float, complex, str, slice)
_CONVERSIONS = ("__array__", "__array_interface__", "__float__")


def runs_other_code(value: Any) -> bool:
    """Return whether the conversion of an operand may call other code, as a lazy array of another library does.

    That code may wait for threads that use the device, so no lock is held meanwhile.
    """
    if isinstance(value, _PLAIN_OPERANDS):
        return False
    if isinstance(value, list | tuple):
        return any(map(runs_other_code, value))
    kind = type(value)  # a dtype may be given as NumPy's class, whose instances have such methods
    return any(hasattr(kind, name) for name in _CONVERSIONS)


def hold_for(target: Any, *operands: Any) -> AbstractContextManager[Any]:
    """Return what a statement holds from its first read to its last write: the lock of the target's device.

    It holds nothing if the target is no array, or if the conversion of an operand may run other code.
    """
    if not isinstance(target, DeviceArray) or any(map(runs_other_code, operands)):
        return nullcontext()
    lock: AbstractContextManager[Any] = target.device.lock
    return lock


def seen_as(array: DeviceArray, kind: type, source: Any) -> Any:
    """Give an array of a subclass with the value of another, which nobody else uses, made from `source`."""
    if not (isinstance(kind, type) and issubclass(kind, DeviceArray)):
        raise TypeError("Type must be a sub-type of DeviceArray")
    made = object.__new__(kind)
    made._node = array._node
    made._base = array._base
    finalize = getattr(made, "__array_finalize__", None)
    if finalize is not None:
        finalize(source)
    return made


def no_number(array: DeviceArray) -> DeviceArray:
    """Note of a new array that NumPy has an array there, even of no axes: it gives numbers of other results."""
    node = array._node
    if not node.flags & MASKED and not node.shape:
        array._no_number = True
    return array


def is_number(array: DeviceArray) -> bool:
    """Tell whether NumPy has a number there, which no operator changes in place: ``t += 1`` makes another.

    So are elements, reductions to none of the axes, and what is computed of both; not what has been made as an array,
    nor a view.
    """
    node = array._node
    return (
        array._base is None
        and not node.flags & MASKED
        and not node.shape
        and type(array) is DeviceArray
        and not hasattr(array, "_no_number")
    )


def keeps_numbers(function: Callable[..., DeviceArray]) -> Callable[..., DeviceArray]:
    """Make a function of an array give a number for a number, where its result has no axes."""
    name = next(iter(signature(function).parameters))

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> DeviceArray:
        made = function(*args, **kwargs)
        if not isinstance(made, DeviceArray) or made._node.shape:
            return made
        given = args[0] if args else kwargs[name]
        number = is_number(given) if isinstance(given, DeviceArray) else is_numpys_scalar(given)
        return wrap(made._node) if number else made

    return call


def is_numpys_scalar(value: Any) -> bool:
    """Return whether a value is one of NumPy's scalars itself; an array that is a number only answers as one."""
    return issubclass(type(value), np.generic)


def checked_target(target: Any, message: str) -> DeviceArray:
    """Return an output that is a device array.

    Raises
    ------
    HostOnly
        It is an ndarray of a dtype that no device holds, into which NumPy writes.
    TypeError
        It is no array. ``{}`` in the message stands for its type.
    """
    if isinstance(target, DeviceArray):
        return target
    message = message.format(type(target).__name__)
    if isinstance(target, np.ndarray):
        raise HostOnly(message, target.dtype)
    raise TypeError(message)


def is_writeable(array: DeviceArray) -> bool:
    """Tell whether elements may be written: not those of read-only host memory or repeated ones."""
    node = array._node
    if node.memory is None:
        return True
    if not node.memory.writeable or node.flags & READONLY:
        return False
    return node.contiguous or not repeats_elements(node)
