"""Slopes, phases and turns: `gradient`, `angle`, `unwrap`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from clarray._core.composing import Operand, applied, as_operand, where
from clarray._core.creation import as_array
from clarray._core.creation_like import empty_like
from clarray._core.device_array import DeviceArray, wrap
from clarray._core.host_data import device_dtype
from clarray._core.ufunc_calls import assign, cast, device_of_operands, evaluate_if_eager
from clarray._engine.expr.axes import strict_axis
from clarray._engine.expr.node import Node
from clarray._engine.speedups import recorded
from clarray._numpy.manipulation.shapes import imag, real, reshape
from clarray._numpy.reduction import scans

__all__ = ["angle", "gradient", "unwrap"]

_BOOL = np.dtype(bool)
_FLOAT64 = np.dtype(np.float64)

_add, _subtract, _multiply, _divide, _negative = (
    partial(applied, ufunc) for ufunc in (np.add, np.subtract, np.multiply, np.true_divide, np.negative)
)


# Angles -------------------------------------------------------------------------------------------


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
    # views of the parts are computed in vectors on a CPU, whole complex numbers one by one
    turned = applied(np.arctan2, imag(array)._node if array.dtype.kind == "c" else 0, real(array)._node)
    if deg:
        turned = _multiply(turned, 180 / math.pi)
    found: DeviceArray = evaluate_if_eager(turned)
    return found


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
    place = strict_axis(axis, array.ndim)
    later, earlier = _neighbours(array, place)
    jump = applied(np.not_equal, later, earlier) if array.dtype == _BOOL else _subtract(later, earlier)
    dtype = np.result_type(jump.dtype, period)
    correction = _correction(jump, period, period / 2 if discont is None else discont, dtype.kind in "iu")
    made = empty_like(array, device_dtype(dtype, array.device))
    before = (slice(None),) * place
    first, rest = (*before, slice(None, 1)), (*before, slice(1, None))
    made[first] = array[first]
    summed = scans.cumsum(wrap(correction), place)
    assign(made[rest], _add(later, summed._node))
    return made


def _neighbours(array: DeviceArray, axis: int) -> tuple[Node, Node]:
    """The elements after the first along an axis, and those before the last."""
    before = (slice(None),) * axis
    return array[(*before, slice(1, None))]._node, array[(*before, slice(None, -1))]._node


def _correction(jump: Node, period: Any, discont: Any, whole: bool) -> Node:
    """Return the correction of each element, beyond that of its predecessors, that makes its jump small."""
    high, rest = divmod(period, 2) if whole else (period / 2, 0)
    low = -high
    small = _add(applied(np.remainder, _subtract(jump, low), period), low)
    if not rest:  # half a period up is as far as half a period down: keep the direction
        up = applied(np.logical_and, applied(np.equal, small, low), applied(np.greater, jump, 0))
        small = where(up, high, small)
    correction = _subtract(small, jump)
    return where(applied(np.less, applied(np.absolute, jump), discont), 0, correction)


# Gradient -----------------------------------------------------------------------------------------


@recorded(operands=1)
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
    for place, step in zip(axes, steps, strict=True):
        if array.shape[place] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        slopes.append(_slopes(array, place, step, edge_order))
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def _steps(given: tuple[Any, ...], axes: tuple[int, ...], array: DeviceArray) -> list[Any]:
    """For each axis its spacing: a scalar, or an array of the distances of neighbours."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [_scalar(given[0])] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_distances(each, array, place) for each, place in zip(given, axes, strict=True)]


def _scalar(value: Any) -> Any:
    """A scalar on the host, with the dtype it has."""
    return value.dtype.type(value.item()) if isinstance(value, DeviceArray) else value


def _distances(given: Any, array: DeviceArray, axis: int) -> Any:
    if np.ndim(given) == 0:
        return _scalar(given)
    places = as_array(given, array.device)
    if places.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if places.shape[0] != array.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if places.dtype.kind in "iu":
        places = places.astype(np.float64)
    steps = scans.diff(places)
    return _scalar(steps[0]) if bool((steps == steps[0]).all()) else steps


class _Line:
    """An array and the spacing along one of its axes, cut into the parts that differences are made of."""

    def __init__(self, array: DeviceArray, axis: int, step: Any) -> None:
        self.array = array
        self.axis = axis
        self.step = step
        self.uniform = not isinstance(step, DeviceArray)
        # differences of integers would wrap around; those of bools are for NumPy's subtract to refuse
        self.dtype = device_dtype(_FLOAT64, array.device) if array.dtype.kind in "iu" else array.dtype

    def window(self, start: int | None, stop: int | None) -> tuple[slice, ...]:
        """The key of a part of the axis."""
        return (slice(None),) * self.axis + (slice(start, stop),)

    def values(self, start: int | None, stop: int | None) -> Node:
        return cast(self.array[self.window(start, stop)]._node, self.dtype)

    def distances(self, start: int | None = None, stop: int | None = None) -> Operand:
        """The spacing, or that between neighbours in a part, in a shape that broadcasts against the array."""
        if self.uniform:
            return as_operand(self.step, self.array.device)
        shape = [1] * self.array.ndim
        shape[self.axis] = -1
        return reshape(self.step[start:stop], tuple(shape))._node


def _slopes(array: DeviceArray, axis: int, step: Any, edge_order: int) -> DeviceArray:
    """Slopes along one axis: a pass over the inner elements and one over each end."""
    dtype = array.dtype if array.dtype.kind in "fc" else device_dtype(_FLOAT64, array.device)
    made = empty_like(array, dtype)
    line = _Line(array, axis, step)
    edge = _edge if edge_order == 1 else _curved_edge
    assign(made[line.window(1, -1)], _inside(line))
    assign(made[line.window(None, 1)], edge(line, first=True))
    assign(made[line.window(-1, None)], edge(line, first=False))
    return made


def _inside(line: _Line) -> Node:
    before, here, after = line.values(None, -2), line.values(1, -1), line.values(2, None)
    if line.uniform:
        return _divide(_subtract(after, before), _multiply(2.0, line.distances()))
    near, far = line.distances(None, -1), line.distances(1, None)
    both = _add(near, far)
    weights = (
        _divide(_negative(far), _multiply(near, both)),
        _divide(_subtract(far, near), _multiply(near, far)),
        _divide(near, _multiply(far, both)),
    )
    if line.array.ndim > 1:  # one of each for many elements: cheaper kept than computed each time
        for weight in weights:
            wrap(weight).evaluate()
    return _weighted(weights, (before, here, after))


def _edge(line: _Line, first: bool) -> Node:
    """The difference of the two elements at an end."""
    a, b, step = ((0, 1), (1, 2), (0, 1)) if first else ((-2, -1), (-1, None), (-1, None))
    return _divide(_subtract(line.values(*b), line.values(*a)), line.distances(*step))


def _curved_edge(line: _Line, first: bool) -> Node:
    """The slope, at an end, of the parabola through the three elements there."""
    parts = ((0, 1), (1, 2), (2, 3)) if first else ((-3, -2), (-2, -1), (-1, None))
    near, far = (line.distances(*part) for part in (((0, 1), (1, 2)) if first else ((-1, None), (-2, -1))))
    if line.uniform:
        weights = tuple(_divide(weight, near) for weight in (-1.5, 2.0, -0.5))
    else:
        both = _add(near, far)
        weights = (
            _divide(_negative(_add(_multiply(2.0, near), far)), _multiply(near, both)),
            _divide(both, _multiply(near, far)),
            _divide(_negative(near), _multiply(far, both)),
        )
    if not first:
        weights = tuple(map(_negative, reversed(weights)))
    return _weighted(weights, tuple(line.values(*part) for part in parts))


def _weighted(weights: tuple[Operand, ...], values: tuple[Node, ...]) -> Node:
    first, second, third = map(_multiply, weights, values)
    return _add(_add(first, second), third)
