"""Choosing between values element by element: `where`, `clip`, triangles, rounding."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from clarray import ufunc_calls
from clarray.array import DeviceArray, wrap
from clarray.creation import asarray, empty_like
from clarray.expr import build
from clarray.expr import node as nodes
from clarray.expr.node import Node
from clarray.manipulation import broadcast_to
from clarray.operands import array_node, scalar_node, weak_type
from clarray.ops.special import select_loop
from clarray.runtime import Device

__all__ = ["around", "clip", "round", "tri", "tril", "triu", "where"]

_BOOL = np.dtype(bool)


def _node(value: Any, dtype: np.dtype, device: Device) -> Node:
    """Make a node of `dtype` of any operand; Python scalars take the dtype as weak ones do."""
    if isinstance(value, DeviceArray):
        return ufunc_calls.cast(value._node, dtype)
    if weak_type(value) is not None:
        return scalar_node(value, dtype)
    return ufunc_calls.cast(array_node(value, device), dtype)


def _weak_or_dtype(value: Any) -> Any:
    if isinstance(value, DeviceArray):
        return value.dtype
    return value if weak_type(value) is not None else np.asarray(value).dtype


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Take the elements of `x` where the condition is true, those of `y` elsewhere.

    Parameters
    ----------
    condition, x, y : array_like
        Broadcast against each other. The result's dtype is that of ``x + y``, scalars being weak.

    Returns
    -------
    DeviceArray
        Without `x` and `y` the positions where the condition holds, as `nonzero` gives them.
    """
    if x is None and y is None:
        from clarray.compaction import nonzero

        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    device = ufunc_calls.device_of_operands((condition, x, y))
    dtype = np.result_type(_weak_or_dtype(x), _weak_or_dtype(y))
    mask = _node(bool(condition) if weak_type(condition) else condition, _BOOL, device)
    args = (mask, _node(x, dtype, device), _node(y, dtype, device))
    return ufunc_calls.settled(build.nary(select_loop(dtype), args))


def clip(
    a: Any, min: Any = None, max: Any = None, out: DeviceArray | None = None, *,
    a_min: Any = None, a_max: Any = None, **kwargs: Any,
) -> DeviceArray:  # fmt: skip
    """Limit values to a range.

    Parameters
    ----------
    a : array_like
    min, max : array_like, optional
        The limits; None is no limit.
    out : DeviceArray, optional
        Where to put the result.
    a_min, a_max : array_like, optional
        The same limits, by NumPy's older names.
    **kwargs
        ``where=``, ``dtype=``, ``casting=`` as in a ufunc.

    Raises
    ------
    ValueError
        A limit is given by both names.
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low = a_min if min is None else min
    high = a_max if max is None else max
    array = asarray(a)
    if out is not None:
        kwargs["out"] = out
    if low is None and high is None:
        return ufunc_calls.call(np.positive, (array,), **kwargs)
    if high is None:
        return ufunc_calls.call(np.maximum, (array, low), **kwargs)
    if low is not None:
        array = ufunc_calls.call(np.maximum, (array, low))
    return ufunc_calls.call(np.minimum, (array, high), **kwargs)


def round(a: Any, decimals: Any = 0, out: DeviceArray | None = None) -> DeviceArray:
    """Round to a number of decimals, halves to even; as NumPy it scales, rounds and scales back."""
    array = asarray(a)
    decimals = operator.index(decimals)
    kwargs: dict[str, Any] = {} if out is None else {"out": out}
    kind = array.dtype.kind
    if kind == "b" and decimals == 0 and out is None:
        return array.astype(np.float16)
    if decimals == 0 or (kind in "biu" and decimals > 0):
        return ufunc_calls.call(np.rint if kind in "fc" else np.positive, (array,), **kwargs)
    if kind == "c":
        made = empty_like(array) if out is None else out
        made.real = round(array.real, decimals)
        made.imag = round(array.imag, decimals)
        return made
    scale = float(10 ** abs(decimals))
    first, last = (np.multiply, np.true_divide) if decimals > 0 else (np.true_divide, np.multiply)
    scaled = ufunc_calls.call(np.rint, (ufunc_calls.call(first, (array, scale)),))
    result = ufunc_calls.call(last, (scaled, scale), **kwargs)
    return result.astype(array.dtype) if kind in "iu" and out is None else result


around = round


def tri(
    N: int,  # noqa: N803 - NumPy's names
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = float,
) -> DeviceArray:
    """Make an N x M matrix of ones at and below the `k`-th diagonal, zeros above it."""
    shape = (operator.index(N), operator.index(N if M is None else M))
    return _below(shape, k).astype(dtype)


def _below(shape: tuple[int, ...], k: int) -> DeviceArray:
    """Grow ``column - row <= k`` over the last two axes, a value without memory."""
    steps = (0,) * (len(shape) - 2) + (-1, 1)
    offsets = nodes.index(shape, steps, np.dtype(np.int64))
    return ufunc_calls.call(np.less_equal, (wrap(offsets), operator.index(k)))


def tril(m: Any, k: int = 0) -> DeviceArray:
    """Set the elements above the `k`-th diagonal to zero."""
    array = _square(asarray(m))
    return where(_below(array.shape, k), array, array.dtype.type(0))


def triu(m: Any, k: int = 0) -> DeviceArray:
    """Set the elements below the `k`-th diagonal to zero."""
    array = _square(asarray(m))
    return where(_below(array.shape, operator.index(k) - 1), array.dtype.type(0), array)


def _square(array: DeviceArray) -> DeviceArray:
    if array.ndim == 1:  # NumPy repeats a row for each of its elements
        return broadcast_to(array, (len(array), len(array)))
    if array.ndim == 0:
        raise IndexError("tuple index out of range")
    return array
