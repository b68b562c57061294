"""Conversions of the argument ``axis=``: one axis, the axes of a reduction, the axis of a function along lines.

NumPy's functions in C refuse a bool as an axis, its Python functions take it.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index


def normalize_axis(axis: Any, ndim: int, prefix: str | None = None) -> int:
    """Return an axis as 0 <= axis < ndim, or raise `numpy.exceptions.AxisError`."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    return normalize_axis_index(operator.index(axis), ndim, prefix)


def strict_axis(axis: Any, ndim: int) -> int:
    """Return an axis as `normalize_axis` does; TypeError for a bool."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    return normalize_axis(axis_number(axis), ndim)


def line_axis(axis: Any, ndim: int) -> int:
    """Return the axis of a function along lines: a 0-d array is a line of one element, whose axis is 0 or -1."""
    return strict_axis(axis, ndim or 1)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction, sorted: None means all, and 0-d arrays accept 0 and -1."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple):
        axes = sorted(strict_axis(number, ndim) for number in axis)
        if len(set(axes)) != len(axes):
            raise ValueError("duplicate value in 'axis'")
        return tuple(axes)
    axis = axis_number(axis)
    if ndim == 0 and axis in (0, -1):
        return ()
    return (normalize_axis(axis, ndim),)


def c_integer(value: Any, bits: int = 64) -> int:
    """Convert an integer that NumPy passes to C; OverflowError if it does not fit into `bits` bits."""
    number = operator.index(value)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise OverflowError(f"Python int too large to convert to C {'int' if bits == 32 else 'long'}")
    return number


def axis_number(value: Any) -> int:
    """Convert an axis, which may be negative or out of range, to int; TypeError for a bool."""
    if isinstance(value, bool | np.bool):
        raise TypeError("an integer is required for the axis")
    number = operator.index(value)
    if not -(2**31) <= number < 2**31 and -(2**63) <= number < 2**63:  # larger ones are an OverflowError
        raise ValueError("integer won't fit into a C int")
    return number
