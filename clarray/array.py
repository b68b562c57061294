"""DeviceArray: NumPy's ndarray with its elements on an OpenCL device, evaluated when needed.

An array is a node of an expression, pending or in memory. Methods are one-line delegations: operators to
`clarray.operators`, everything else to the chapters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray.evaluate import device_of, evaluate
from clarray.expr.node import Node, contiguous_leaf
from clarray.methods import ArrayMethods
from clarray.operands import NO_MASKS
from clarray.operators import binary, binary_any, in_place, matmul_in_place, power, short_calls, unary
from clarray.runtime import Device, different_devices

__all__ = ["DeviceArray", "wrap"]

_NO = np._NoValue


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


def as_array(value: Any, device: Device | None = None) -> DeviceArray:
    """An array of anything array-like; arrays as they are, which must be on the device where one is named."""
    if isinstance(value, DeviceArray):
        if Device.several and device is not None and value.device is not device:
            raise different_devices(device, value.device)
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(NO_MASKS)
    return creation.asarray(value, device=device)


class DeviceArray(ArrayMethods):
    """An n-dimensional array on an OpenCL device; see `clarray.array` and `clarray.asarray`.

    It behaves as `numpy.ndarray` does. Operations return at once: their result is pending until a value is needed,
    and what is pending is computed in as few passes over memory as possible.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype, optional
    buffer : DeviceArray or bytes-like, optional
        Whose memory the array looks at, where `clarray.asarray` would share it; without one the memory is new, and
        its elements are whatever it held.
    offset : int, optional
        Where in the buffer the first element is, in bytes.
    strides : sequence of int, optional
        Bytes from one element to the next along each axis.
    order : {'C', 'F'}, optional
        Layout, where no strides are given.
    device : Device, str or int, optional
        The buffer's, or the current device, when None.
    """

    __slots__ = ("_node", "_base", "__weakref__")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    _node: Node
    _base: Any

    def __new__(
        cls, shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None,
        order: str | None = None, *, device: Any = None,
    ) -> Any:  # fmt: skip
        made = construction.construct(shape, dtype, buffer, offset, strides, order, device)
        return made if cls is DeviceArray else subclasses.seen_as(made, cls, None)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__ != "clarray.subclasses":
            subclasses.keep_class(cls)

    def __array_finalize__(self, obj: Any, /) -> None:
        """Called by subclasses with the array that a new one is made from, or None; see NumPy's."""

    # What it is ---------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes. Asking for it evaluates a value whose size a mask decides."""
        return self._node.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        construction.set_shape(self, shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self._node.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        construction.set_dtype(self, dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._node.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis; evaluates the array."""
        itemsize = self.itemsize
        return tuple(s * itemsize for s in evaluate(self._node).strides)

    @strides.setter
    def strides(self, strides: Any) -> None:
        construction.set_strides(self, strides)

    @property
    def data(self) -> memoryview:
        """A copy of the elements on the host as a read-only memoryview; `clarray.asarray` shares memory."""
        return memoryview(self.get()).toreadonly()  # type: ignore[arg-type] # before Python 3.12 no ndarray is a Buffer

    def __bytes__(self) -> bytes:
        return self.tobytes()

    @property
    def base(self) -> Any:
        """The array whose memory this one is a view of, or None."""
        return self._base

    @property
    def device(self) -> Device:
        """The device the array is on."""
        return device_of(self._node.inputs or (self._node,))

    @property
    def flags(self) -> Any:
        """Memory layout and whether it may be written, as NumPy's ``flags``."""
        return layout_flags.Flags(self)

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def check_writeable(self, message: str = "assignment destination is read-only") -> None:
        """Raise ValueError for a read-only array (a broadcast view, a read-only host array)."""
        node = self._node
        if node.memory is not None and not indexing.is_writeable(self):
            raise ValueError(message)

    # Operators ----------------------------------------------------------------------------------

    __add__ = binary(np.add)
    __radd__ = binary(np.add, reflected=True)
    __iadd__ = in_place(np.add)
    __sub__ = binary(np.subtract)
    __rsub__ = binary(np.subtract, reflected=True)
    __isub__ = in_place(np.subtract)
    __mul__ = binary(np.multiply)
    __rmul__ = binary(np.multiply, reflected=True)
    __imul__ = in_place(np.multiply)
    __truediv__ = binary(np.true_divide)
    __rtruediv__ = binary(np.true_divide, reflected=True)
    __itruediv__ = in_place(np.true_divide)
    __floordiv__ = binary(np.floor_divide)
    __rfloordiv__ = binary(np.floor_divide, reflected=True)
    __ifloordiv__ = in_place(np.floor_divide)
    __mod__ = binary(np.remainder)
    __rmod__ = binary(np.remainder, reflected=True)
    __imod__ = in_place(np.remainder)
    __pow__, __ipow__ = power()
    __rpow__ = binary(np.power, reflected=True)
    __and__ = binary(np.bitwise_and)
    __rand__ = binary(np.bitwise_and, reflected=True)
    __iand__ = in_place(np.bitwise_and)
    __or__ = binary(np.bitwise_or)
    __ror__ = binary(np.bitwise_or, reflected=True)
    __ior__ = in_place(np.bitwise_or)
    __xor__ = binary(np.bitwise_xor)
    __rxor__ = binary(np.bitwise_xor, reflected=True)
    __ixor__ = in_place(np.bitwise_xor)
    __lshift__ = binary(np.left_shift)
    __rlshift__ = binary(np.left_shift, reflected=True)
    __ilshift__ = in_place(np.left_shift)
    __rshift__ = binary(np.right_shift)
    __rrshift__ = binary(np.right_shift, reflected=True)
    __irshift__ = in_place(np.right_shift)
    __divmod__ = binary_any(np.divmod)
    __rdivmod__ = binary_any(np.divmod, reflected=True)
    __matmul__ = binary_any(np.matmul)
    __rmatmul__ = binary_any(np.matmul, reflected=True)
    __imatmul__ = matmul_in_place
    __lt__ = binary(np.less)
    __le__ = binary(np.less_equal)
    __gt__ = binary(np.greater)
    __ge__ = binary(np.greater_equal)
    __eq__ = binary(np.equal)
    __ne__ = binary(np.not_equal)
    __neg__ = unary(np.negative)
    __pos__ = unary(np.positive)
    __abs__ = unary(np.absolute)
    __invert__ = unary(np.invert)

    # Scalars ------------------------------------------------------------------------------------

    def item(self, *args: Any) -> Any:
        """One element as a Python scalar; evaluates the array and waits for it."""
        return conversion.item(self, *args)

    def __float__(self) -> float:
        return float(conversion.scalar(self, "float"))

    def __int__(self) -> int:
        return int(conversion.scalar(self, "int"))

    def __complex__(self) -> complex:
        return complex(conversion.scalar(self, "complex"))

    def __bool__(self) -> bool:
        return conversion.truth(self)

    def __index__(self) -> int:
        return conversion.as_index(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return conversion.round_scalar(self, ndigits)

    def __format__(self, spec: str) -> str:
        return conversion.format_array(self, spec)

    def __repr__(self) -> str:
        return printing.array_repr(self)

    def __str__(self) -> str:
        return printing.array_str(self)

    def _repr_inline_(self, max_width: int) -> str:
        return printing.inline(self, max_width)

    # To the host --------------------------------------------------------------------------------

    def get(self) -> np.ndarray:
        """Copy to a new ndarray, waiting for the value."""
        return conversion.asnumpy(self)

    def tolist(self) -> Any:
        """Nested lists of Python scalars."""
        return self.get().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return conversion.to_ndarray(self, dtype, copy)

    def evaluate(self) -> DeviceArray:
        """Compute the value into memory now; returns the array itself, without waiting."""
        evaluate(self._node)
        return self

    def explain(self) -> str:
        """The plan and the OpenCL source that evaluating this array would use."""
        from clarray.explain import explain

        return explain(self)

    # Views and copies ---------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> DeviceArray:
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.setitem(self, key, value)

    def __iter__(self) -> Any:
        return indexing.iterate(self)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    @property
    def T(self) -> DeviceArray:  # noqa: N802 - NumPy's name
        """The transpose, as a view."""
        return manipulation.transpose(self)

    @property
    def mT(self) -> DeviceArray:  # noqa: N802 - the Array API's name
        """The transpose of the last two axes, as a view."""
        return manipulation.matrix_transpose(self)

    @property
    def real(self) -> DeviceArray:
        """The real part, as a view."""
        return manipulation.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        manipulation.write_part(manipulation.real(self), value)

    @property
    def imag(self) -> DeviceArray:
        """The imaginary part: a view where there is one, else read-only zeros."""
        return manipulation.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        manipulation.write_part(manipulation.imag(self), value)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceArray:
        """Another shape, as a view where possible; see `clarray.reshape`."""
        wanted = shape[0] if len(shape) == 1 else shape
        return manipulation.reshape(self, wanted, order, copy=copy)

    def ravel(self, order: str = "C") -> DeviceArray:
        """One axis, as a view where possible."""
        return manipulation.ravel(self, order)

    def flatten(self, order: str = "C") -> DeviceArray:
        """One axis, always a copy."""
        return manipulation.flatten(self, order)

    def transpose(self, *axes: Any) -> DeviceArray:
        """Permuted axes, as a view."""
        wanted = axes[0] if len(axes) == 1 else (axes or None)
        return manipulation.transpose(self, wanted)

    def swapaxes(self, axis1: int, axis2: int) -> DeviceArray:
        """Two axes interchanged, as a view."""
        return manipulation.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> DeviceArray:
        """Without axes of one element, as a view."""
        return manipulation.squeeze(self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DeviceArray:
        """A diagonal, as a read-only view."""
        return manipulation.diagonal(self, offset, axis1, axis2)

    def copy(self, order: str = "C") -> DeviceArray:
        """A copy with memory of its own."""
        return creation.copy(self, order)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
        copy: bool = True, *, device: Any = None,
    ) -> DeviceArray:  # fmt: skip
        """Converted to a dtype; see `numpy.ndarray.astype`."""
        return conversion.astype(self, dtype, order, casting, copy, device)

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[...] = value

    def __copy__(self) -> DeviceArray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return self.copy("K")

    # Protocols ----------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and method == "__call__":  # what most calls are
            short = short_calls.get(ufunc)
            if short is not None and len(inputs) == ufunc.nin:
                if len(inputs) == 1:
                    return short[0](inputs[0])
                a, b = inputs
                return short[0](a, b) if a.__class__ is DeviceArray else short[1](b, a)
        return protocols.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.array_function(self, func, types, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return protocols.array_namespace(api_version)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.place_of(self)

    def __reduce__(self) -> Any:
        return protocols.rebuild, (conversion.portable(self),)


# The chapters build on DeviceArray and its methods on them: they are imported once it exists.
from clarray import (  # noqa: E402
    construction,
    conversion,
    creation,
    dlpack,
    indexing,
    layout_flags,
    manipulation,
    printing,
    protocols,
    subclasses,
)
