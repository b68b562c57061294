"""What the methods of `Generator` share: their arguments, and the numbers that one call draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarray._core import creation, ufunc_calls
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.operands import scalar_node
from clarray._engine.expr.node import Node, Shape
from clarray._engine.runtime import current_device
from clarray.random import nodes
from clarray.random.bit_generator import Philox4x32
from clarray.random.single_numbers import NumbersAhead

__all__ = ["Draw", "Source", "apply", "as_double", "check", "given", "result_shape"]

INT64 = nodes.INT64
FLOAT64 = np.dtype(np.float64)
Number = DeviceArray | float | int

# NumPy's own generator says which parameters are valid, with its own errors.
_numpy = np.random.Generator(np.random.PCG64(0))


class Source:
    """A bit generator, and how methods draw from it."""

    def __init__(self, bit_generator: Philox4x32) -> None:
        self._bit_generator = bit_generator
        self._ahead = NumbersAhead()

    def _draw(
        self,
        method: str,
        values: tuple[Any, ...],
        size: Any,
        dtype: Any = FLOAT64,
        out: Any = None,
        *,
        kinds: tuple[np.dtype, ...] = (),
        checked: bool = False,
    ) -> Draw:
        """Check the arguments of a method as NumPy does, and get ready to draw.

        Parameters
        ----------
        kinds : tuple of dtype
            Of the parameters, where they are not all of `dtype`.
        checked : bool
            Whether the parameters are known to be good.
        """
        values = tuple(given(value) for value in values)
        if not checked:
            check(method, values)
        wanted = float_dtype(dtype, method)
        kinds = kinds or (wanted,) * len(values)
        parameters = tuple(parameter(v, kind) for v, kind in zip(values, kinds, strict=True))
        return Draw(self._bit_generator.take, result_shape(parameters, size, out), wanted, parameters, out)


class Draw:
    """One call's numbers: each method draws anew, for every element of `shape`.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        Of floating-point numbers.
    parameters : tuple
        Floats, or arrays of `dtype` that broadcast to `shape`.
    """

    def __init__(
        self, take: nodes.Take, shape: Shape, dtype: np.dtype, parameters: tuple[Any, ...] = (), out: Any = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.parameters = parameters
        self._take = take
        self._out = None if out is None else _checked_out(out, dtype)

    def _variate(self, name: str) -> DeviceArray:
        bits = nodes.UINT32 if self.dtype.itemsize == 4 else nodes.UINT64
        return wrap(nodes.converted(name, nodes.words(self._take, self.shape, bits), self.dtype))

    def unit(self) -> DeviceArray:
        """Uniform in [0, 1)."""
        return self._variate("unit")

    def inside(self) -> DeviceArray:
        """Uniform in (0, 1)."""
        return self._variate("inside")

    def exponential(self) -> DeviceArray:
        """Exponential of mean 1."""
        return self._variate("exponential")

    def normal(self) -> DeviceArray:
        """Normal of mean 0 and deviation 1."""
        return self._variate("normal")

    def drawn(self, name: str, *parameters: Number, out: np.dtype | None = None) -> DeviceArray:
        """Numbers of a distribution of templates/lib/distributions.mako."""
        given = [_parameter_node(p, self.dtype) for p in parameters]
        return wrap(nodes.drawn(name, self._take, self.shape, given, out or self.dtype))

    def counted(self, name: str, *parameters: Number) -> DeviceArray:
        """Integers of such a distribution."""
        return self.drawn(name, *parameters, out=INT64)

    def gamma(self, shape: Number) -> DeviceArray:
        """Gamma of scale 1."""
        return self.drawn("gamma", shape)

    def result(self, array: DeviceArray) -> DeviceArray:
        """What the method returns: the array, or the one given as ``out`` after it took the values."""
        if self._out is None:
            made: DeviceArray = ufunc_calls.evaluate_if_eager(array._node)
            return made
        ufunc_calls.assign(self._out, array._node)
        return self._out


def apply(name: str, x: Number, dtype: np.dtype) -> DeviceArray:
    """A function of templates/lib/portable.mako, the same bits on every device."""
    return wrap(nodes.converted(f"portable_{name}", _parameter_node(x, dtype), dtype))


def _parameter_node(value: Number, dtype: np.dtype) -> Node:
    if isinstance(value, DeviceArray):
        return value._node
    return scalar_node(value, INT64 if isinstance(value, int) else dtype)


# Arguments ----------------------------------------------------------------------------------------


def float_dtype(dtype: Any, method: str) -> np.dtype:
    """float32 or float64, which the device must have.

    Raises
    ------
    TypeError
        It is another dtype, or the device lacks float64.
    """
    wanted = np.dtype(dtype)
    if wanted not in (np.dtype(np.float32), FLOAT64):
        raise TypeError(f"Unsupported dtype {wanted!r} for {method}")
    return device_dtype(wanted, current_device())


def given(value: Any) -> Any:
    """A parameter as an array of the device's or the host's, or as it is where it is a scalar."""
    if isinstance(value, DeviceArray):
        return value if value.shape else value.item()
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        return array if array.ndim else array[()]
    return value


def _ends(value: Any) -> Any:
    """The extreme values of a parameter, NaN if there is one."""
    if isinstance(value, DeviceArray):
        return np.array([value.min().item(), value.max().item()], value.dtype)
    return np.array([value.min(), value.max()]) if isinstance(value, np.ndarray) else value


def check(method: str, values: tuple[Any, ...]) -> None:
    """Let NumPy judge the parameters: the extremes stand for an array."""
    if values and all(not isinstance(v, DeviceArray | np.ndarray) or v.size for v in values):
        getattr(_numpy, method)(*(_ends(value) for value in values))


def parameter(value: Any, dtype: np.dtype) -> Number:
    """A parameter for kernels: a float or int, or an array of `dtype`."""
    if isinstance(value, DeviceArray):
        return wrap(ufunc_calls.cast(value._node, dtype))
    if isinstance(value, np.ndarray):
        return creation.array(value.astype(dtype))
    return int(value) if dtype.kind == "i" else float(value)


def as_double(value: Any) -> Any:
    """A table of parameters that the host looks at, in float64."""
    return np.asarray(value.get() if isinstance(value, DeviceArray) else value, np.float64)


def result_shape(parameters: tuple[Any, ...], size: Any, out: Any = None) -> Shape:
    """The shape of a draw: that of the parameters broadcast, unless `size` or `out` says.

    Raises
    ------
    ValueError
        They do not fit.
    """
    shapes = [p.shape for p in parameters if isinstance(p, DeviceArray)]
    if size is None and out is not None:
        size = getattr(out, "shape", None)
    if size is None:
        return np.broadcast_shapes(*shapes)
    shape = nodes.shape_of(size)
    if out is not None and shape != getattr(out, "shape", shape):
        raise ValueError("size must match out.shape when used together")
    whole = np.broadcast_shapes(shape, *shapes)
    if whole != shape:
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {whole}.")
    return shape


def _checked_out(out: Any, dtype: np.dtype) -> DeviceArray:
    if not isinstance(out, DeviceArray):
        raise TypeError(f"out must be a DeviceArray, not {type(out).__name__}")
    if out.dtype != dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {dtype}, got {out.dtype}")
    out.check_writeable("output array is read-only")
    return out
