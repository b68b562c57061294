"""Select values element by element: `where`, `choose`, `select`, `clip`, rounding."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from clarray._core import composing, ufunc_calls
from clarray._core.creation import as_array, operand_array
from clarray._core.creation_like import empty_like
from clarray._core.device_array import DeviceArray, mark_0d_array, wrap
from clarray._core.operands import array_node, scalar_node, weak_type
from clarray._core.ufunc_keywords import check_keywords
from clarray._core.writes import with_device_lock
from clarray._engine.expr import build
from clarray._engine.expr.node import Node
from clarray._engine.expr.result_layout import result_view
from clarray._engine.ops.special import select_loop
from clarray._engine.ops.ufuncs import clip_ufunc
from clarray._engine.runtime import Device
from clarray._engine.speedups import captured, captured_growth
from clarray._numpy.indexing.gathering import check_is_array, normalize_mode
from clarray._numpy.indexing.masking import nonzero

__all__ = ["around", "choose", "clip", "round", "select", "where"]

_NO: Any = np._NoValue
_BOOL = np.dtype(bool)


def _wrap_integer(value: int, dtype: np.dtype) -> Any:
    """Cast an int out of the dtype's range as an element of an array: it wraps around."""
    return np.asarray(value).astype(dtype)[()]


def _wrap_as_where(value: int, dtype: np.dtype) -> Any:
    """Cast an int out of the dtype's range as NumPy's `where` does, which raises from NumPy 2.5 on."""
    return np.where(True, value, np.empty((), dtype))[()]


def _operand_node(
    value: Any, dtype: np.dtype, device: Device, on_overflow: Callable[[int, np.dtype], Any] = _wrap_integer
) -> Node:
    """Return an operand as a node of a dtype. Python scalars are weak: `on_overflow` casts an int out of range."""
    if isinstance(value, DeviceArray):
        return ufunc_calls.cast(value._node, dtype)
    if weak_type(value) is not None:
        try:
            return scalar_node(value, dtype)
        except OverflowError:
            return scalar_node(on_overflow(value, dtype), dtype)
    return ufunc_calls.cast(array_node(value, device), dtype)


def _weak_or_dtype(value: Any) -> Any:
    if isinstance(value, DeviceArray):
        return value.dtype
    return value if weak_type(value) is not None else np.asarray(value).dtype


@captured_growth(operands=3)
def where(condition: Any, x: Any = _NO, y: Any = _NO, /) -> Any:
    """Take elements of `x` where a condition is true, and elements of `y` elsewhere.

    Parameters
    ----------
    condition, x, y : array_like
        Broadcast against each other. The result has the dtype of ``x + y``. Python's numbers adapt to the other's
        dtype.

    Returns
    -------
    DeviceArray
        Without `x` and `y` the indices at which the condition is true, as from `nonzero`.

    Raises
    ------
    ValueError
        Only one of `x` and `y` is given.
    TypeError
        `x` or `y` has a dtype that clarray lacks, as None has.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(5)
    >>> clarray.where(x < 3, x, -1).tolist()
    [0, 1, 2, -1, -1]
    """
    if x is _NO and y is _NO:
        return nonzero(condition)
    if x is _NO or y is _NO:
        raise ValueError("either both or neither of x and y should be given")
    return mark_0d_array(lazy_where(condition, x, y))


def lazy_where(condition: Any, x: Any, y: Any) -> DeviceArray:
    """Return `where` of three operands, maybe pending. The result of scalars is a scalar."""
    device = ufunc_calls.device_of_operands((condition, x, y))
    dtype = np.result_type(_weak_or_dtype(x), _weak_or_dtype(y))
    mask = _operand_node(bool(condition) if weak_type(condition) else condition, _BOOL, device)
    args = (mask, _operand_node(x, dtype, device, _wrap_as_where), _operand_node(y, dtype, device, _wrap_as_where))
    return ufunc_calls.evaluate_if_eager(build.nary(select_loop(dtype), args))


@captured_growth
def select(condlist: Any, choicelist: Any, default: Any = 0) -> DeviceArray:
    """Take each element from the first choice whose condition is true.

    Parameters
    ----------
    condlist : sequence of array_like of bool
        The conditions.
    choicelist : sequence of array_like
        One choice per condition. Conditions and choices are broadcast against each other.
    default : array_like, optional
        The elements for which no condition is true.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        The lists are empty, or have different lengths.
    TypeError
        A condition does not have the dtype bool. Or a choice is a Python number that does not fit the result's dtype,
        as the int 3 if all others are uint8 or bool.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.arange(6)
    >>> clarray.select([x < 2, x < 4], [x, 10 * x], default=-1)
    array([ 0,  1, 20, 30, -1, -1])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    device = ufunc_calls.device_of_operands((*condlist, *choicelist, default))
    dtype = np.result_type(*map(_weak_or_dtype, (*choicelist, default)))
    conditions = [as_array(condition, device)._node for condition in condlist]
    for number, condition in enumerate(conditions):
        if condition.dtype != _BOOL:
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    for choice in choicelist:
        if weak_type(choice) is not None:  # NumPy has converted it to an array, whose dtype must cast by 'same_kind'
            np.copyto(np.empty(1, dtype), np.array([choice]))
    try:
        result = _operand_node(default, dtype, device)
    except OverflowError:
        if 0 not in np.broadcast_shapes(*map(np.shape, (*condlist, *choicelist))):
            raise
        result = _operand_node(0, dtype, device)  # the result has no elements
    for condition, choice in zip(reversed(conditions), reversed(list(choicelist)), strict=True):
        result = composing.where(condition, _operand_node(choice, dtype, device), result)
    return mark_0d_array(ufunc_calls.in_order(result, "C"))


_MAX_CHOICES = 63


@captured(operands=1)
@with_device_lock("out")
def choose(a: Any, choices: Any, out: DeviceArray | None = None, mode: str = "raise") -> DeviceArray:
    """Take each element from one of several arrays, which an array of indices selects.

    Parameters
    ----------
    a : array_like of int
        The index of the choice from which each element of the result comes.
    choices : sequence of array_like, or an array whose first axis counts them
        The arrays to choose from. They are broadcast against each other and against `a`.
    out : DeviceArray, optional
        Where to write the result.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with an index out of bounds: raise ValueError, wrap around, or use the nearest index.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        An index is out of bounds and the mode is 'raise'.

    Examples
    --------
    >>> import clarray
    >>> clarray.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    array([ 1, 20,  3])
    """
    choices = list(choices)
    if not choices:
        raise ValueError("0-length sequence.")
    if len(choices) > _MAX_CHOICES:
        raise ValueError("Need at least 0 and at most 64 array objects.")
    device = ufunc_calls.device_of_operands((a, *choices, out))
    indices = as_array(a, device)
    if not np.can_cast(indices.dtype, np.intp, "safe"):
        np.empty(0, indices.dtype).astype(np.intp, casting="safe")  # raises
    dtype = np.result_type(*map(_weak_or_dtype, choices))
    values = [_operand_node(choice, dtype, device) for choice in choices]
    shape = np.broadcast_shapes(indices.shape, *(value.shape for value in values))
    if out is not None:
        check_is_array(out)
        if out.shape != shape:
            raise TypeError("choose: invalid shape for output array.")
    index = _bounded_indices(indices, len(choices), normalize_mode(mode))
    result = values[-1]
    for position in reversed(range(len(values) - 1)):
        is_chosen = composing.apply_ufunc(np.equal, index, scalar_node(position, index.dtype))
        result = composing.where(is_chosen, values[position], result)
    if len(values) == 1:
        result = ufunc_calls.broadcast(result, shape)
    if out is None:
        ordered: DeviceArray = ufunc_calls.in_order(result, "C")
        return ordered
    out.check_writeable("output array is read-only")
    ufunc_calls.assign(out, result)
    return out


def _bounded_indices(indices: DeviceArray, count: int, mode: str) -> Node:
    """Cast the indices of choices to int64, and apply the mode to indices out of bounds."""
    wide = ufunc_calls.cast(indices._node, np.dtype(np.int64))
    if mode == "wrap":
        return composing.apply_ufunc(np.remainder, wide, count)
    if mode == "clip":
        return composing.apply_ufunc(np.minimum, composing.apply_ufunc(np.maximum, wide, 0), count - 1)
    below, above = (composing.apply_ufunc(f, wide, n) for f, n in ((np.less, 0), (np.greater_equal, count)))
    if bool(wrap(composing.apply_ufunc(np.logical_or, below, above)).any()):
        raise ValueError("invalid entry in choice array")
    return wide


@captured_growth(operands=3)
@with_device_lock("out")
def clip(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: DeviceArray | None = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
    **kwargs: Any,
) -> DeviceArray:
    """Limit values to a range.

    Parameters
    ----------
    a : array_like
    min, max : array_like, optional
        The limits. None is no limit.
    out : DeviceArray, optional
        Where to write the result.
    a_min, a_max : array_like, optional
        The same limits, by NumPy's older names.
    **kwargs
        ``where=``, ``dtype=``, ``casting=`` as in a ufunc.

    Returns
    -------
    DeviceArray

    Raises
    ------
    ValueError
        A limit is given by both names.

    Examples
    --------
    >>> import clarray
    >>> clarray.clip([1, 5, 9], 2, 8).tolist()
    [2, 5, 8]
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low = a_min if min is None else min
    high = a_max if max is None else max
    check_keywords(clip_ufunc, kwargs)
    array = operand_array(a)
    if array.dtype.kind in "iu":  # a limit at the end of the dtype's range has no effect
        info = np.iinfo(array.dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    if out is not None:
        kwargs["out"] = out
    if low is None and high is None:
        return ufunc_calls.call(np.positive, (array,), **kwargs)
    if high is None:
        return ufunc_calls.call(np.maximum, (array, low), **kwargs)
    if low is None:
        return ufunc_calls.call(np.minimum, (array, high), **kwargs)
    return ufunc_calls.call(clip_ufunc, (array, low, high), **kwargs)


@captured_growth(operands=1)
@with_device_lock("out")
def round(a: Any, decimals: Any = 0, out: DeviceArray | None = None) -> DeviceArray:
    """Round to a given number of decimals. Halves round to the nearest even digit.

    Parameters
    ----------
    a : array_like
    decimals : int, optional
        Number of decimals. Negative numbers round to tens, hundreds and so on.
    out : DeviceArray, optional
        Where to write the result.

    Returns
    -------
    DeviceArray
        Has the same dtype as `a`, but float16 if bools are rounded to no decimals.

    Raises
    ------
    ValueError
        `out` has another size.
    OverflowError
        `decimals` does not fit into a 32-bit integer.

    Notes
    -----
    As NumPy does, it multiplies by a power of ten, rounds and divides.

    Examples
    --------
    >>> import clarray
    >>> clarray.round([0.5, 1.5, 2.25], 1)
    array([0.5, 1.5, 2.2])
    """
    array = operand_array(a)
    decimals = operator.index(decimals)
    if not -(2**31) <= decimals < 2**31:
        raise OverflowError(f"decimals must fit a 32-bit integer, not {decimals}")
    if isinstance(out, DeviceArray) and out.size != array.size:
        raise ValueError("invalid output shape")
    kwargs: dict[str, Any] = {} if out is None else {"out": out}
    kind = array.dtype.kind
    if kind == "b" and decimals == 0 and out is None:
        array = array.astype(np.rint(np.False_).dtype)
    if decimals == 0 or (kind in "iu" and decimals > 0):
        rounded = ufunc_calls.call(np.positive if kind in "iu" else np.rint, (array,), **kwargs)
        if kind not in "iuc" or out is not None:
            return rounded
        copied: DeviceArray = ufunc_calls.in_order(rounded._node, "K", result_view(array._node))
        return copied
    if kind == "c":
        rounded = empty_like(array) if out is None else out
        rounded.real = round(array.real, decimals)
        rounded.imag = round(array.imag, decimals)
        return rounded if rounded.ndim or out is not None else rounded[()]
    scale = float(10 ** abs(decimals)) if abs(decimals) <= sys.float_info.max_10_exp else math.inf
    scale_up, scale_back = (np.multiply, np.true_divide) if decimals > 0 else (np.true_divide, np.multiply)
    if out is not None or kind == "b":  # each step is rounded to the output's dtype
        scaled = ufunc_calls.call(scale_up, (array, scale), out=empty_like(array) if out is None else out)
        return ufunc_calls.call(scale_back, (ufunc_calls.call(np.rint, (scaled,), out=scaled), scale), out=scaled)
    scaled = ufunc_calls.call(np.rint, (ufunc_calls.call(scale_up, (array, scale)),))
    result = ufunc_calls.cast(ufunc_calls.call(scale_back, (scaled, scale))._node, array.dtype)
    ordered: DeviceArray = ufunc_calls.in_order(result, "A", result_view(array._node))
    return ordered


around = round
