"""Application of user functions to parts of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import frompyfunc

from clarray._core import ufunc_calls
from clarray._core.conversion import asnumpy
from clarray._core.creation import as_array, operand_array, zeros
from clarray._core.creation_like import zeros_like
from clarray._core.device_array import DeviceArray
from clarray._core.fallback import by_numpy
from clarray._engine.expr.axes import normalize_axis
from clarray._engine.ops.dtypes import HostOnly
from clarray._numpy.manipulation.shapes import expand_dims, moveaxis, transpose

__all__ = ["apply_along_axis", "apply_over_axes", "frompyfunc", "piecewise", "vectorize"]


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> DeviceArray:
    """Call a function on each 1-d line along an axis.

    Parameters
    ----------
    func1d : callable
        Called as ``func1d(line, *args, **kwargs)`` with an array on the device. All results have the shape and dtype of
        the first one.
    axis : int
    arr : array_like
    *args, **kwargs
        Passed to the function.

    Returns
    -------
    DeviceArray
        The axes of a result are in the place of `axis`.

    Raises
    ------
    ValueError
        There is no line to call the function on.

    Notes
    -----
    There is one call per line. A function that takes an ``axis`` itself is faster.

    Examples
    --------
    >>> import clarray
    >>> clarray.apply_along_axis(lambda row: row.max() - row.min(), 1, [[1, 4], [2, 9]]).tolist()
    [3, 7]
    """
    source = operand_array(arr)
    axis = normalize_axis(axis, source.ndim)
    lines = moveaxis(source, axis, -1)
    shape = lines.shape[:-1]
    output: DeviceArray | None = None
    for position in np.ndindex(shape):
        line_result = func1d(lines[(*position, ...)], *args, **kwargs)
        if output is None:
            try:
                line_result = as_array(line_result, source.device)
            except HostOnly:
                return _continue_on_host(line_result, lambda line: func1d(line, *args, **kwargs), axis, source)
            inner_ndim = line_result.ndim
            output = zeros(shape + line_result.shape, line_result.dtype, device=source.device)
        output[position] = line_result
    if output is None:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    outer_ndim = len(shape)
    order = (*range(axis), *range(outer_ndim, outer_ndim + inner_ndim), *range(axis, outer_ndim))
    return transpose(output, order)


def _continue_on_host(first_result: Any, func1d: Callable[[Any], Any], axis: int, source: DeviceArray) -> Any:
    """Let NumPy call a function on all lines but the first one, whose result is passed."""
    pending_first = [first_result]
    return np.apply_along_axis(
        lambda line: pending_first.pop() if pending_first else func1d(line), axis, asnumpy(source)
    )


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> DeviceArray:
    """Call ``func(array, axis)`` for one axis after the other, each time on the previous result.

    Parameters
    ----------
    func : callable
        Its result has as many axes as the array, or one fewer. A missing axis is put back with length 1.
    a : array_like
    axes : int or sequence of int

    Returns
    -------
    DeviceArray
        An array with as many axes as `a`.

    Raises
    ------
    ValueError
        A result has another number of axes.

    Examples
    --------
    >>> import clarray
    >>> clarray.apply_over_axes(clarray.sum, [[1, 2], [3, 4]], [0, 1])
    array([[10]])
    """
    partial = operand_array(a)
    ndim = partial.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        position = axis + ndim if axis < 0 else axis
        reduced = func(partial, position)
        if reduced.ndim != partial.ndim:
            reduced = expand_dims(reduced, position)
        if reduced.ndim != partial.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        partial = reduced
    return partial


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> DeviceArray:
    """Apply a separate function to each part of an array.

    Parameters
    ----------
    x : array_like
    condlist : sequence of array_like of bool
        The part of each function. An element in several parts is computed by the last function.
    funclist : sequence of callable or scalar
        Called as ``function(x[condition], *args, **kw)`` if any element is in the part. One more function than
        conditions computes the elements for which no condition is true.
    *args, **kw
        Passed to the functions.

    Returns
    -------
    DeviceArray
        An array of the shape and dtype of `x`. It is zero where no function applies.

    Raises
    ------
    ValueError
        The number of functions is neither that of the conditions nor one more.

    Examples
    --------
    >>> import clarray
    >>> x = clarray.asarray([-2.0, -1.0, 1.0, 2.0])
    >>> clarray.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: 10 * v])
    array([ 2.,  1., 10., 20.])
    """
    device = ufunc_calls.device_of_operands((x, *condlist) if isinstance(condlist, list | tuple) else (x, condlist))
    source = as_array(x, device)
    if not np.ndim(condlist) or (not _is_array(condlist[0]) and source.ndim):
        condlist = [condlist]
    conditions = [as_array(c, device).astype(bool, copy=False) for c in condlist]
    if len(conditions) == len(funclist) - 1:
        covered = conditions[0]
        for condition in conditions[1:]:
            covered = covered | condition
        conditions.append(~covered)
    elif len(conditions) != len(funclist):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    output = zeros_like(source)
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            values = source[condition]
            if values.size:
                output[condition] = function(values, *args, **kw)
        else:
            output[condition] = function
    return output


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray) or (isinstance(value, DeviceArray) and value.ndim > 0)


class vectorize(np.vectorize):  # noqa: N801 - NumPy's name
    """Make a function of arrays from a Python function of numbers. Parameters as in `numpy.vectorize`.

    Notes
    -----
    Python runs on the host, on copies of the arrays, unless `clarray.config.host_library` forbids it. A function
    of ufuncs, or an `ElementwiseKernel`, stays on the device.

    Examples
    --------
    >>> import clarray
    >>> clamp = clarray.vectorize(lambda value, limit: min(value, limit))
    >>> clamp(clarray.arange(4), 2)
    array([0, 1, 2, 2])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = super().__call__
        if not callable(self.pyfunc):  # a decorator with arguments: the call passes the function
            return call(*args, **kwargs)
        return by_numpy(call, args, kwargs, "clarray.vectorize")
