"""Gradients and phases: `gradient`, `angle`, `unwrap`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.composing import Operand, apply_ufunc, as_operand, where
from clarray._core.creation import as_array
from clarray._core.creation_like import empty_like
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import assign, cast, device_of_operands, evaluate_if_eager
from clarray._engine.expr.axes import strict_axis
from clarray._engine.expr.node import Node
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.manipulation.shapes import imag, real, reshape
from clarray._numpy.reduction import scans

__all__ = ["angle", "gradient", "unwrap"]

_BOOL = np.dtype(bool)
_FLOAT64 = np.dtype(np.float64)

_add, _subtract, _multiply, _divide, _negative = (
    partial(apply_ufunc, ufunc) for ufunc in (np.add, np.subtract, np.multiply, np.true_divide, np.negative)
)


# Angles -------------------------------------------------------------------------------------------


@captured_growth(operands=1)
def angle(z: Any, deg: bool = False) -> DeviceArray:
    """Return the angle of each complex number, measured from the positive real axis.

    Parameters
    ----------
    z : array_like
        Complex or real numbers. Real numbers have the angle 0 or pi.
    deg : bool
        Return degrees instead of radians.

    Returns
    -------
    DeviceArray of float
        Has the same shape as `z`: between -pi and pi, or between -180 and 180 degrees.

    Examples
    --------
    >>> import clarray
    >>> clarray.angle([1j, -1j], deg=True).round(6).tolist()
    [90.0, -90.0]
    """
    array = as_array(z)
    # on a CPU, loads of the real and imaginary parts are vectorized, loads of complex numbers are not
    phase = apply_ufunc(np.arctan2, imag(array)._node if array.dtype.kind == "c" else 0, real(array)._node)
    if deg:
        phase = _multiply(phase, 180 / math.pi)
    angles: DeviceArray = evaluate_if_eager(phase)
    return angles


@captured(operands=1)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> DeviceArray:
    """Remove large jumps between neighbours by adding multiples of a period.

    A typical use is a sequence of angles that jumps from pi to -pi.

    Parameters
    ----------
    p : array_like
        Real numbers of at least one axis.
    discont : float, optional
        Smaller jumps stay as they are. The default is half the period, and no smaller value has an effect.
    axis : int
        Axis along which neighbours are compared.
    period : float
        Size of the jump that is removed. With an integer period, integers give integers.

    Returns
    -------
    DeviceArray
        Has the same shape as `p`.

    Raises
    ------
    ValueError
        `p` has no axis.
    AxisError
        `axis` does not exist.

    Notes
    -----
    One scan sums the corrections, which it computes as it reads `p`.

    Examples
    --------
    >>> import clarray
    >>> clarray.unwrap([0, 1, 2, -1, 0], period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    array = as_array(p)
    if array.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    unwrap_axis = strict_axis(axis, array.ndim)
    later, earlier = _neighbours(array, unwrap_axis)
    jump = apply_ufunc(np.not_equal, later, earlier) if array.dtype == _BOOL else _subtract(later, earlier)
    dtype = np.result_type(jump.dtype, period)
    correction = _correction(jump, period, period / 2 if discont is None else discont, dtype.kind in "iu")
    unwrapped = empty_like(array, device_dtype(dtype, array.device))
    leading = (slice(None),) * unwrap_axis
    first, rest = (*leading, slice(None, 1)), (*leading, slice(1, None))
    unwrapped[first] = array[first]
    total = scans.cumsum(wrap(correction), unwrap_axis)
    assign(unwrapped[rest], _add(later, total._node))
    return unwrapped


def _neighbours(array: DeviceArray, axis: int) -> tuple[Node, Node]:
    """Return all elements but the first along an axis, and all but the last."""
    leading = (slice(None),) * axis
    return array[(*leading, slice(1, None))]._node, array[(*leading, slice(None, -1))]._node


def _correction(jump: Node, period: Any, discont: Any, integer: bool) -> Node:
    """Return the correction that each element adds to its predecessors' corrections to make its jump small."""
    high, remainder = divmod(period, 2) if integer else (period / 2, 0)
    low = -high
    wrapped = _add(apply_ufunc(np.remainder, _subtract(jump, low), period), low)
    if not remainder:  # half a period up is as far as half a period down: keep the direction
        half_up = apply_ufunc(np.logical_and, apply_ufunc(np.equal, wrapped, low), apply_ufunc(np.greater, jump, 0))
        wrapped = where(half_up, high, wrapped)
    correction = _subtract(wrapped, jump)
    return where(apply_ufunc(np.less, apply_ufunc(np.absolute, jump), discont), 0, correction)


# Gradient -----------------------------------------------------------------------------------------


@captured(operands=1)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the slope along each axis.

    Inner slopes are central differences. Slopes at both ends are one-sided differences.

    Parameters
    ----------
    f : array_like
        Values of a function at regular or irregular positions.
    *varargs : scalar or (N,) array_like
        Positions of the values. Without any, neighbours have the distance 1. One scalar is the distance along all
        axes. Otherwise there is one argument per axis: a scalar for the distance, or an array of the coordinates.
    axis : int or tuple of int, optional
        Axes along which to differentiate. All axes by default.
    edge_order : {1, 2}
        Order of the differences at the ends.

    Returns
    -------
    DeviceArray or tuple of DeviceArray
        One array per axis, each of the shape of `f`. Float64 if `f` has integers.

    Raises
    ------
    TypeError
        The number of `varargs` is wrong, or `f` has bools.
    ValueError
        Coordinates do not fit their axis, an axis is too short, or `edge_order` is above 2.

    Examples
    --------
    >>> import clarray
    >>> clarray.gradient([1.0, 2.0, 4.0, 7.0]).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    array = as_array(f, device_of_operands((f, *varargs)))
    axes = tuple(range(array.ndim)) if axis is None else normalize_axis_tuple(axis, array.ndim)
    steps = _steps(varargs, axes, array)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    slopes = []
    for grad_axis, step in zip(axes, steps, strict=True):
        if array.shape[grad_axis] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        slopes.append(_axis_gradient(array, grad_axis, step, edge_order))
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def _steps(spacings: tuple[Any, ...], axes: tuple[int, ...], array: DeviceArray) -> list[Any]:
    """Return the spacing along each axis: a scalar, or an array of the distances between neighbours."""
    if not spacings:
        return [1.0] * len(axes)
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        return [_host_scalar(spacings[0])] * len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_spacing(spacing, array, spaced_axis) for spacing, spaced_axis in zip(spacings, axes, strict=True)]


def _host_scalar(number: Any) -> Any:
    """Return a scalar on the host, with its dtype."""
    return number.dtype.type(number.item()) if isinstance(number, DeviceArray) else number


def _spacing(spacing: Any, array: DeviceArray, axis: int) -> Any:
    if np.ndim(spacing) == 0:
        return _host_scalar(spacing)
    coordinates = as_array(spacing, array.device)
    if coordinates.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if coordinates.shape[0] != array.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if coordinates.dtype.kind in "iu":
        coordinates = coordinates.astype(np.float64)
    steps = scans.diff(coordinates)
    first = steps[0, ...]
    return _host_scalar(first) if bool((steps == first).all()) else steps


class _Line:
    """An array with the spacing along one axis. Its methods return the slices that finite differences combine."""

    def __init__(self, array: DeviceArray, axis: int, step: Any) -> None:
        self.array = array
        self.axis = axis
        self.step = step
        self.uniform = not isinstance(step, DeviceArray)
        # differences of integers would wrap around. For bools, np.subtract raises NumPy's error
        self.dtype = device_dtype(_FLOAT64, array.device) if array.dtype.kind in "iu" else array.dtype

    def window(self, start: int | None, stop: int | None) -> tuple[slice, ...]:
        """Return the key of a slice of the axis."""
        return (slice(None),) * self.axis + (slice(start, stop),)

    def values(self, start: int | None, stop: int | None) -> Node:
        return cast(self.array[self.window(start, stop)]._node, self.dtype)

    def distances(self, start: int | None = None, stop: int | None = None) -> Operand:
        """Return the spacing, or its slice, in a shape that broadcasts against the array."""
        if self.uniform:
            return as_operand(self.step, self.array.device)
        shape = [1] * self.array.ndim
        shape[self.axis] = -1
        return reshape(self.step[start:stop], tuple(shape))._node


def _axis_gradient(array: DeviceArray, axis: int, step: Any, edge_order: int) -> DeviceArray:
    """Compute the slopes along one axis: one pass over the inner elements and one over each end."""
    dtype = array.dtype if array.dtype.kind in "fc" else device_dtype(_FLOAT64, array.device)
    slopes = empty_like(array, dtype)
    line = _Line(array, axis, step)
    edge = _first_order_edge if edge_order == 1 else _second_order_edge
    assign(slopes[line.window(1, -1)], _inner_slopes(line))
    assign(slopes[line.window(None, 1)], edge(line, first=True))
    assign(slopes[line.window(-1, None)], edge(line, first=False))
    return slopes


def _inner_slopes(line: _Line) -> Node:
    before, centre, after = line.values(None, -2), line.values(1, -1), line.values(2, None)
    if line.uniform:
        return _divide(_subtract(after, before), _multiply(2.0, line.distances()))
    near, far = line.distances(None, -1), line.distances(1, None)
    span = _add(near, far)
    weights = (
        _divide(_negative(far), _multiply(near, span)),
        _divide(_subtract(far, near), _multiply(near, far)),
        _divide(near, _multiply(far, span)),
    )
    if line.array.ndim > 1:  # many elements share a weight, so it is computed once
        for weight in weights:
            wrap(weight).evaluate()
    return _weighted_sum(weights, (before, centre, after))


def _first_order_edge(line: _Line, first: bool) -> Node:
    """Return the slope at an end from its two outermost elements."""
    a, b, step = ((0, 1), (1, 2), (0, 1)) if first else ((-2, -1), (-1, None), (-1, None))
    return _divide(_subtract(line.values(*b), line.values(*a)), line.distances(*step))


def _second_order_edge(line: _Line, first: bool) -> Node:
    """Return the slope at an end of the parabola through its three outermost elements."""
    parts = ((0, 1), (1, 2), (2, 3)) if first else ((-3, -2), (-2, -1), (-1, None))
    near, far = (line.distances(*part) for part in (((0, 1), (1, 2)) if first else ((-1, None), (-2, -1))))
    if line.uniform:
        weights = tuple(_divide(weight, near) for weight in (-1.5, 2.0, -0.5))
    else:
        span = _add(near, far)
        weights = (
            _divide(_negative(_add(_multiply(2.0, near), far)), _multiply(near, span)),
            _divide(span, _multiply(near, far)),
            _divide(_negative(near), _multiply(far, span)),
        )
    if not first:
        weights = tuple(map(_negative, reversed(weights)))
    return _weighted_sum(weights, tuple(line.values(*part) for part in parts))


def _weighted_sum(weights: tuple[Operand, ...], values: tuple[Node, ...]) -> Node:
    first, second, third = map(_multiply, weights, values)
    return _add(_add(first, second), third)
