"""Shared by the methods of `Generator`: the checks of arguments, and the random numbers of one call."""

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
from clarray.random.single_numbers import PrefetchedNumbers

__all__ = ["Draw", "Source", "apply", "as_host_double", "check_with_numpy", "as_host_or_device", "result_shape"]

INT64 = nodes.INT64
FLOAT64 = np.dtype(np.float64)
Number = DeviceArray | float | int

# NumPy's own generator says which parameters are valid, with its own errors.
_numpy = np.random.Generator(np.random.PCG64(0))


class Source:
    """Base class of generators: a bit generator, and the random numbers of a call."""

    def __init__(self, bit_generator: Philox4x32) -> None:
        self._bit_generator = bit_generator
        self._prefetched = PrefetchedNumbers()

    def _draw(
        self,
        method: str,
        values: tuple[Any, ...],
        size: Any,
        dtype: Any = FLOAT64,
        out: Any = None,
        *,
        kinds: tuple[np.dtype, ...] = (),
    ) -> Draw:
        """Check the arguments of a method as NumPy does, and prepare its random numbers.

        Parameters
        ----------
        kinds : tuple of dtype
            Dtypes of the parameters, unless all have `dtype`.
        """
        values = tuple(as_host_or_device(value) for value in values)
        check_with_numpy(method, values)
        return self._draw_unchecked(method, values, size, dtype, out, kinds)

    def _draw_unchecked(
        self,
        method: str,
        values: tuple[Any, ...],
        size: Any,
        dtype: Any,
        out: Any,
        kinds: tuple[np.dtype, ...],
    ) -> Draw:
        """Prepare the random numbers of a method whose parameters are valid."""
        float_kind = float_dtype(dtype, method)
        kinds = kinds or (float_kind,) * len(values)
        parameters = tuple(as_parameter(v, kind) for v, kind in zip(values, kinds, strict=True))
        return Draw(self._bit_generator.take, result_shape(parameters, size, out), float_kind, parameters, out)


class Draw:
    """Random numbers of one call. Each method draws new numbers, one for every element of `shape`.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        Dtype of the floating-point numbers.
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
        return wrap(nodes.apply_function(name, nodes.draw_words(self._take, self.shape, bits), self.dtype))

    def unit(self) -> DeviceArray:
        """Draw uniform numbers in [0, 1)."""
        return self._variate("unit")

    def open_unit(self) -> DeviceArray:
        """Draw uniform numbers in (0, 1)."""
        return self._variate("inside")

    def exponential(self) -> DeviceArray:
        """Draw exponential numbers with mean 1."""
        return self._variate("exponential")

    def normal(self) -> DeviceArray:
        """Draw normal numbers with mean 0 and standard deviation 1."""
        return self._variate("normal")

    def sample(self, name: str, *parameters: Number, out: np.dtype | None = None) -> DeviceArray:
        """Draw numbers from a distribution of templates/lib/distributions.mako."""
        parameter_nodes = [_parameter_node(p, self.dtype) for p in parameters]
        return wrap(nodes.draw_per_element(name, self._take, self.shape, parameter_nodes, out or self.dtype))

    def sample_integers(self, name: str, *parameters: Number) -> DeviceArray:
        """Draw integers from a distribution of templates/lib/distributions.mako."""
        return self.sample(name, *parameters, out=INT64)

    def gamma(self, shape: Number) -> DeviceArray:
        """Draw gamma variates with scale 1."""
        return self.sample("gamma", shape)

    def result(self, array: DeviceArray) -> DeviceArray:
        """Return the drawn array, or copy its values to ``out`` and return ``out``."""
        if self._out is None:
            evaluated: DeviceArray = ufunc_calls.evaluate_if_eager(array._node)
            return evaluated
        ufunc_calls.assign(self._out, array._node)
        return self._out


def apply(name: str, x: Number, dtype: np.dtype) -> DeviceArray:
    """Apply a function of templates/lib/portable.mako. It computes the same bits on every device."""
    return wrap(nodes.apply_function(f"portable_{name}", _parameter_node(x, dtype), dtype))


def _parameter_node(value: Number, dtype: np.dtype) -> Node:
    if isinstance(value, DeviceArray):
        return value._node
    return scalar_node(value, INT64 if isinstance(value, int) else dtype)


# Arguments ----------------------------------------------------------------------------------------


def float_dtype(dtype: Any, method: str) -> np.dtype:
    """Return float32 or float64 for an argument `dtype`. The device must have the dtype.

    Raises
    ------
    TypeError
        The dtype is neither float32 nor float64, or the device lacks float64.
    """
    resolved = np.dtype(dtype)
    if resolved not in (np.dtype(np.float32), FLOAT64):
        raise TypeError(f"Unsupported dtype {resolved!r} for {method}")
    return device_dtype(resolved, current_device())


def as_host_or_device(value: Any) -> Any:
    """Convert a parameter to a device array, an ndarray or a scalar. An array without axes becomes a scalar."""
    if isinstance(value, DeviceArray):
        return value if value.shape else value.item()
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        return array if array.ndim else array[()]
    return value


def _extremes(value: Any) -> Any:
    """Return the minimum and the maximum of a parameter, NaN if it has a NaN."""
    if isinstance(value, DeviceArray):
        return np.array([value.min().item(), value.max().item()], value.dtype)
    return np.array([value.min(), value.max()]) if isinstance(value, np.ndarray) else value


def check_with_numpy(method: str, values: tuple[Any, ...]) -> None:
    """Raise NumPy's error for invalid parameters. NumPy checks the extremes of arrays."""
    if values and all(not isinstance(v, DeviceArray | np.ndarray) or v.size for v in values):
        getattr(_numpy, method)(*(_extremes(value) for value in values))


def as_parameter(value: Any, dtype: np.dtype) -> Number:
    """Convert a parameter for kernels: to a float or int, or to a device array of `dtype`."""
    if isinstance(value, DeviceArray):
        return wrap(ufunc_calls.cast(value._node, dtype))
    if isinstance(value, np.ndarray):
        return creation.array(value.astype(dtype))
    return int(value) if dtype.kind == "i" else float(value)


def as_host_double(value: Any) -> Any:
    """Convert parameters that the host reads to an ndarray of float64."""
    return np.asarray(value.get() if isinstance(value, DeviceArray) else value, np.float64)


def result_shape(parameters: tuple[Any, ...], size: Any, out: Any = None) -> Shape:
    """Return the shape of a draw: `size`, the shape of `out`, or the broadcast shape of the parameters.

    Raises
    ------
    ValueError
        The shapes are incompatible.
    """
    shapes = [p.shape for p in parameters if isinstance(p, DeviceArray)]
    if size is None and out is not None:
        size = getattr(out, "shape", None)
    if size is None:
        return np.broadcast_shapes(*shapes)
    shape = nodes.as_size(size)
    if out is not None and shape != getattr(out, "shape", shape):
        raise ValueError("size must match out.shape when used together")
    broadcast = np.broadcast_shapes(shape, *shapes)
    if broadcast != shape:
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {broadcast}.")
    return shape


def _checked_out(out: Any, dtype: np.dtype) -> DeviceArray:
    if not isinstance(out, DeviceArray):
        raise TypeError(f"out must be a DeviceArray, not {type(out).__name__}")
    if out.dtype != dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {dtype}, got {out.dtype}")
    out.check_writeable("output array is read-only")
    return out
