"""Resolve the arguments of filters as SciPy does (modes, outputs, axes), and run passes of windows over images."""

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
    """Destination of a filter: the dtype of the output, and the array that the caller passed for it."""

    dtype: np.dtype
    array: DeviceArray | None


def resolve_mode(mode: Any) -> str:
    """Return the canonical name of a boundary mode.

    Raises
    ------
    RuntimeError
        The mode is unknown.
    """
    canonical = _ALIASES.get(mode) if isinstance(mode, str) else None
    if canonical is None:
        raise RuntimeError("boundary mode not supported")
    return canonical


def per_axis(argument: Any, length: int) -> list[Any]:
    """Return one argument per axis, from a scalar or from a sequence of `length` arguments.

    Raises
    ------
    RuntimeError
        The sequence has another length.
    """
    if isinstance(argument, str) or not np.iterable(argument):
        return [argument] * length
    values = list(argument)
    if len(values) != length:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def resolve_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the distinct, non-negative axes to filter along: all axes by default."""
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


def resolve_target(output: Any, x: DeviceArray, *, complex_: bool = False) -> Target:
    """Resolve the argument `output` of a filter: the dtype of the output, and an array to write to.

    Parameters
    ----------
    output : None, dtype or DeviceArray
    complex_ : bool
        Whether the result is complex.

    Raises
    ------
    RuntimeError
        The array has another shape, or a real dtype for a complex output.
    TypeError
        The output is not a device array.
    """
    if output is None:
        dtype = np.promote_types(x.dtype, np.complex64) if complex_ else x.dtype
        return Target(device_dtype(dtype, x.device), None)
    if isinstance(output, type | np.dtype):
        dtype = np.dtype(output)
        if complex_ and dtype.kind != "c":
            callers.warn_user("promoting specified output dtype to complex", UserWarning)
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


class Image(NamedTuple):
    """Properties of an image and of the output that a pass is specialised on."""

    ndim: int
    device: Any
    dtype: np.dtype
    output: np.dtype


class Boundary(NamedTuple):
    """Values beyond the ends of the axes, as the caller passed them: SciPy's mode, and the constant of "constant"."""

    mode: Any
    cval: Any


class Pass(NamedTuple):
    """A pass of a window over an image."""

    window: launchers.stencil.Window
    modes: tuple[str, ...]
    cval: Any
    dtype: np.dtype

    def with_zero_sign(self, cval: Any) -> Pass:
        """Return the pass with the sign of a zero constant. Cached passes do not distinguish 0.0 and -0.0."""
        return self._replace(cval=cval) if isinstance(cval, float) and cval == 0 else self


def run_passes(x: DeviceArray, passes: Sequence[Pass], target: Target) -> DeviceArray:
    """Run passes one after the other. As in SciPy, each pass rounds to the dtype of the output."""
    node = x._node
    if not passes or not node.size:
        return store(ufunc_calls.cast(node, target.dtype), target)
    if not node.shape:  # one element, and one tap
        for next_pass in passes:
            if next_pass.window.weights is not None:
                node = (wrap(ufunc_calls.cast(node, next_pass.dtype)) * next_pass.window.weights.sum())._node
        return store(ufunc_calls.cast(node, target.dtype), target)
    stored_dtype = intermediate_dtype(target.dtype)
    remaining = list(passes)
    while remaining:
        node, count = _launch_next(node, remaining, stored_dtype)
        del remaining[:count]
    node = ufunc_calls.cast(node, target.dtype)
    return store(node, target)


def _launch_next(node: Node, passes: Sequence[Pass], dtype: np.dtype) -> tuple[Node, int]:
    """Launch the first passes: two lines of weights at once if the device can, else one window. Return their count."""
    head = passes[0]
    for candidates in (passes[:2], passes[:1]):
        if len(candidates) == 1 or _are_separable(*candidates):
            modes = tuple(
                next((p.modes[a] for p in candidates if p.window.axis == a), "nearest") for a in range(len(node.shape))
            )
            windows = tuple(p.window for p in candidates)
            filtered = launchers.stencil_separable.separable_stencil(node, windows, modes, head.cval, head.dtype, dtype)
            if filtered is not None:
                return filtered, len(candidates)
    return launchers.stencil.stencil(node, head.window, head.modes, head.cval, head.dtype, dtype), 1


def _are_separable(*passes: Pass) -> bool:
    """Return whether two passes are lines along different axes, computed in the same dtype."""
    if len(passes) != 2 or any(p.window.shifts for p in passes):
        return False
    first, second = passes
    return (
        first.window.axis != second.window.axis
        and first.dtype == second.dtype
        and first.window.exact == second.window.exact
    )


def intermediate_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of images between passes: SciPy stores bool as bytes."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def store(node: Node, target: Target) -> DeviceArray:
    """Write a node to the array of the target, or wrap the node if the target has no array."""
    if target.array is None:
        return wrap(node)
    ufunc_calls.assign(target.array, node)
    return target.array


def filter_complex(
    function: Callable[..., DeviceArray],
    x: DeviceArray,
    weights: np.ndarray,
    target: Target,
    cval: Any,
) -> DeviceArray:
    """Apply a linear filter to complex values: filter real and imaginary parts, and combine them as SciPy does.

    Parameters
    ----------
    function : callable
        The filter of an image, weights, a dtype and the constant beyond the ends.
    """
    output = target.array if target.array is not None else empty(x.shape, target.dtype, x.device)
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
    output.real = first
    output.imag = second
    return output


__all__ = [
    "Pass",
    "Target",
    "resolve_axes",
    "filter_complex",
    "store",
    "resolve_mode",
    "run_passes",
    "per_axis",
    "resolve_target",
]
