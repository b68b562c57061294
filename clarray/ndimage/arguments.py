"""What filters are called with: modes, outputs, origins, axes, as SciPy understands them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, SupportsIndex, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from clarray._core import callers, ufunc_calls
from clarray._core.device_array import DeviceArray, empty, wrap
from clarray._core.host_data import device_dtype
from clarray._engine.algorithms import launchers
from clarray._engine.expr.node import Node

_ALIASES = {
    "nearest": "nearest",
    "wrap": "wrap",
    "reflect": "reflect",
    "mirror": "mirror",
    "constant": "constant",
    "grid-mirror": "reflect",
    "grid-wrap": "wrap",
    "grid-constant": "constant",
}


class Target(NamedTuple):
    """Where a result goes: its dtype, and the array given for it."""

    dtype: np.dtype
    array: DeviceArray | None


def mode_of(mode: Any) -> str:
    """The mode that a name stands for.

    Raises
    ------
    RuntimeError
        There is no such mode.
    """
    found = _ALIASES.get(mode) if isinstance(mode, str) else None
    if found is None:
        raise RuntimeError("boundary mode not supported")
    return found


def sequence(value: Any, length: int) -> list[Any]:
    """One value per axis, of a scalar or of that many.

    Raises
    ------
    RuntimeError
        There are more, or fewer.
    """
    if isinstance(value, str) or not np.iterable(value):
        return [value] * length
    found = list(value)
    if len(found) != length:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return found


def axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes to filter along, none of them twice; all by default."""
    if axes is None:
        return tuple(range(ndim))
    if np.isscalar(axes):
        axes = (normalize_axis_index(operator.index(cast(SupportsIndex, axes)), ndim),)
    elif not isinstance(axes, Iterable):
        raise ValueError("axes must be an integer, iterable of integers, or None")
    axes = tuple(operator.index(axis) for axis in axes)
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range")
    axes = tuple(axis % ndim for axis in axes)
    if len(set(axes)) != len(axes):
        raise ValueError("axes must be unique")
    return axes


def target_of(output: Any, x: DeviceArray, *, complex_: bool = False) -> Target:
    """The dtype of the result, and the array it is written to if one is given.

    Parameters
    ----------
    output : None, dtype or DeviceArray
    complex_ : bool
        Whether the result is complex.

    Raises
    ------
    RuntimeError
        The array is of another shape, or cannot hold complex values.
    TypeError
        It is not on a device.
    """
    if output is None:
        dtype = np.promote_types(x.dtype, np.complex64) if complex_ else x.dtype
        return Target(device_dtype(dtype, x.device), None)
    if isinstance(output, type | np.dtype):
        dtype = np.dtype(output)
        if complex_ and dtype.kind != "c":
            callers.warn("promoting specified output dtype to complex", UserWarning)
            dtype = np.promote_types(dtype, np.complex64)
        return Target(device_dtype(dtype, x.device), None)
    if isinstance(output, str):
        dtype = np.dtype(output)
        if complex_ and dtype.kind != "c":
            raise RuntimeError("output must have complex dtype")
        if not issubclass(dtype.type, np.number):
            raise RuntimeError("output must have numeric dtype")
        return Target(device_dtype(dtype, x.device), None)
    if not isinstance(output, DeviceArray):
        raise TypeError(f"output must be a DeviceArray or a dtype, not {type(output).__name__}")
    if output.shape != x.shape:
        raise RuntimeError("output shape not correct")
    if complex_ and output.dtype.kind != "c":
        raise RuntimeError("output must have complex dtype")
    output.check_writeable()
    return Target(output.dtype, output)


class Pass(NamedTuple):
    """One slide of a window over the image."""

    window: launchers.stencil.Window
    modes: tuple[str, ...]
    cval: Any
    dtype: np.dtype

    def signed(self, cval: Any) -> Pass:
        """The pass with the zero that was given: passes are remembered, and -0.0 equals 0.0."""
        return self._replace(cval=cval) if isinstance(cval, float) and cval == 0 else self


def run(x: DeviceArray, passes: Sequence[Pass], target: Target) -> DeviceArray:
    """One pass after the other, each result in the output's dtype, as SciPy keeps it."""
    node = x._node
    if not passes or not node.size:
        return delivered(converted(node, target.dtype), target)
    if not node.shape:  # one element, and one tap
        for step in passes:
            if step.window.weights is not None:
                node = (wrap(converted(node, step.dtype)) * step.window.weights.sum())._node
        return delivered(converted(node, target.dtype), target)
    kept = intermediate(target.dtype)
    rest = list(passes)
    while rest:
        node, done = _next(node, rest, kept)
        del rest[:done]
    node = converted(node, target.dtype)
    return delivered(node, target)


def _next(node: Node, passes: Sequence[Pass], dtype: np.dtype) -> tuple[Node, int]:
    """One launch: of as many lines of weights as the device takes at once, or of one window."""
    first = passes[0]
    for some in (passes[:2], passes[:1]):
        if len(some) == 1 or _cross(*some):
            modes = tuple(
                next((p.modes[a] for p in some if p.window.axis == a), "nearest") for a in range(len(node.shape))
            )
            windows = tuple(p.window for p in some)
            found = launchers.stencil_separable.separable_stencil(node, windows, modes, first.cval, first.dtype, dtype)
            if found is not None:
                return found, len(some)
    return launchers.stencil.stencil(node, first.window, first.modes, first.cval, first.dtype, dtype), 1


def _cross(*passes: Pass) -> bool:
    """Whether two passes are lines along different axes, computed alike."""
    if len(passes) != 2 or any(p.window.shifts for p in passes):
        return False
    one, other = passes
    return one.window.axis != other.window.axis and one.dtype == other.dtype and one.window.exact == other.window.exact


def intermediate(dtype: np.dtype) -> np.dtype:
    """What a result is kept in between passes: SciPy takes a bool for the byte it is."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def converted(node: Node, dtype: np.dtype) -> Node:
    """Another dtype."""
    return ufunc_calls.cast(node, dtype)


def delivered(node: Node, target: Target) -> DeviceArray:
    """The result as an array, or in the one given."""
    if target.array is None:
        return wrap(node)
    ufunc_calls.assign(target.array, node)
    return target.array


def by_parts(
    function: Callable[..., DeviceArray],
    x: DeviceArray,
    weights: np.ndarray,
    target: Target,
    cval: Any,
) -> DeviceArray:
    """A linear filter of complex values: of real and imaginary parts, put together as SciPy does.

    Parameters
    ----------
    function : callable
        Takes an image, weights, a dtype and the constant beyond the ends.
    """
    found = target.array if target.array is not None else empty(x.shape, target.dtype, x.device)
    real = np.dtype(target.dtype.char.lower())
    if x.dtype.kind == "c":
        parts = (x.real, np.real(cval)), (x.imag, np.imag(cval))
        if weights.dtype.kind == "c":
            (a, ca), (b, cb) = parts
            first = function(a, weights.real, real, ca) - function(b, weights.imag, None, cb)
            second = function(a, weights.imag, real, ca) + function(b, weights.real, None, cb)
        else:
            first, second = (function(part, weights, real, c) for part, c in parts)
    else:
        if np.iscomplexobj(cval):
            raise ValueError("Cannot provide a complex-valued cval when the input is real.")
        first, second = (function(x, w, real, cval) for w in (weights.real, weights.imag))
    first.evaluate()
    second.evaluate()
    found.real = first
    found.imag = second
    return found


__all__ = [
    "Pass",
    "Target",
    "axes_of",
    "by_parts",
    "converted",
    "delivered",
    "mode_of",
    "run",
    "sequence",
    "target_of",
]
